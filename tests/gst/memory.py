# SPDX-License-Identifier: LGPL-2.1-or-later
"""The element's OpenCL memory: each side reads what the other side wrote, in any order of commands.
Also the layout of frames in its pool. test-context.c tests threads that read at once. On GPUs a
search for a faster kernel would copy, too, and keep a context for later streams."""

import contextlib
import ctypes
from ctypes import byref, c_size_t, c_ubyte, c_void_p

from cl_memory import (CL, MAX_EVENTS, OPENCL, READ, WRITE, Memory, Unmapped, count_copies,
                       pretend_discrete, reset_copies)
from gemmcl import Gate, get_device, get_info
from stream import Gst, GstVideo, TestCase, main, tensors

BYTES = 4096
CAPS = tensors("1:1024").replace("tensors,", "tensors(memory:OpenCL),", 1)
FORMATS = [("RGB", 5 * 3 * 3, [15], [0]), ("GRAY16_LE", 5 * 3 * 2, [10], [0]),
           ("NV12", 5 * 3 + 2 * 6, [5, 6], [0, 15]),
           ("I420", 5 * 3 + 2 * 2 * 3, [5, 3, 3], [0, 15, 21])]


def frames(pixels, size="width=5,height=3"):
    return f"video/x-raw(memory:OpenCL),format={pixels},{size},framerate=1/1"


def configure(pool, caps, size=0):
    config = pool.get_config()
    Gst.BufferPool.config_set_params(config, Gst.Caps.from_string(caps), size, 0, 0)
    return pool.set_config(config)


class Tests:
    """is_staged: the device reports memory of its own, so contents are copied between sides."""

    is_staged = False

    def setUp(self):
        super().setUp()
        if not self.is_staged and not get_info().host_unified:
            self.skipTest("the device has memory of its own")
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(pretend_discrete(self.is_staged))
        self.stream = self.start(CAPS, "gemmcl auto-tune=off weight=[1]")
        self.allocator = self.stream.ask_allocation(CAPS).parse_nth_allocation_param(0)[0]
        self.queue = c_void_p(CL.clCreateCommandQueue(
            c_void_p(self.allocate().context), get_device().device, ctypes.c_uint64(0), None))
        self.addCleanup(CL.clReleaseCommandQueue, self.queue)

    def allocate(self, size=BYTES, **parameters):
        params = Gst.AllocationParams()
        for name, value in parameters.items():
            setattr(params, name, value)
        memory = self.allocator.alloc(size, params)
        return memory and Memory(memory)

    def enqueue(self, memory, access, gate, command):
        """Enqueues command(buffer, offset, size, n, waits, done) on the device."""
        with memory.map(access | OPENCL) as info:
            events, done = memory.get_events(access), c_void_p()
            waits = (c_void_p * (MAX_EVENTS + 1))(*events, *([gate.event] if gate else []))
            n = len(events) + (gate is not None)
            self.assertEqual(command(c_void_p(info.data), c_size_t(memory.memory.get_sizes()[1]),
                                     c_size_t(info.size), n, waits if n else None, byref(done)), 0)
            CL.clFlush(self.queue)
            memory.methods.add_event(memory, access, done)
            for event in (*events, done.value):
                CL.clReleaseEvent(c_void_p(event))

    def device_fill(self, memory, value, gate=None):
        self.enqueue(memory, WRITE, gate, lambda buffer, *rest: CL.clEnqueueFillBuffer(
            self.queue, buffer, byref(c_ubyte(value)), c_size_t(1), *rest))

    def device_read(self, memory):
        data = ctypes.create_string_buffer(memory.memory.get_sizes()[0])
        self.enqueue(memory, READ, None, lambda buffer, offset, size, *rest: CL.clEnqueueReadBuffer(
            self.queue, buffer, 1, offset, size, data, *rest))
        return data.raw

    def has(self, data, *parts):
        self.assertTrue(data == b"".join(bytes([value]) * number for value, number in parts))

    def test_late_write(self):
        """A map of the host waits for the device; a map for the device does not."""
        memory = self.allocate()
        gate = Gate(memory.context)
        memory.fill(1)
        self.device_fill(memory, 2, gate)
        with memory.map(READ | OPENCL):
            self.assertEqual(memory.count_events(READ), 1)
        gate.open_late()
        self.has(memory.read(), (2, BYTES))

    def test_partial_write(self):
        """Bytes that a map does not write stay, whichever side wrote them."""
        memory = self.allocate()
        self.device_fill(memory, 1)
        memory.fill(2, 100, 10)
        self.has(self.device_read(memory), (1, 100), (2, 10), (1, BYTES - 110))

    def test_traffic(self):
        """A change by one side is copied to the other side once."""
        memory = self.allocate()
        reset_copies()
        self.device_fill(memory, 1)
        self.assertEqual(count_copies().reads, 0)
        for _ in range(3):
            self.has(memory.read(), (1, BYTES))
        self.assertEqual(count_copies().reads, self.is_staged)
        memory.fill(2)
        self.assertEqual(count_copies().writes, 0)
        for _ in range(3):
            self.device_read(memory)
        self.assertEqual(count_copies().writes, self.is_staged)

    def test_many_readers(self):
        """A map that writes waits for all of many readers, one that reads for none."""
        memory = self.allocate()
        self.device_fill(memory, 1)
        gates = [Gate(memory.context) for _ in range(3 * MAX_EVENTS)]
        for gate in gates:
            memory.use(READ, gate)
            if gate is gates[0]:
                self.has(memory.read(), (1, BYTES))
            self.assertLessEqual(memory.count_events(WRITE), MAX_EVENTS)
        for gate in gates[1:]:
            gate.open()
        self.assertEqual(memory.count_events(WRITE), 1)
        gates[0].open_late()
        memory.fill(1)
        self.assertTrue(gates[0].is_open)
        self.assertLessEqual(memory.count_events(WRITE), 1)

    def test_copy(self):
        """Copies are made on the device, behind the commands that still write the content."""
        memory = self.allocate()
        gate = Gate(memory.context)
        memory.fill(1)
        memory.fill(2, 100, 10)
        part, none = (Memory(memory.memory.copy(*range_)) for range_ in ((100, 10), (BYTES, -1)))
        self.device_fill(memory, 3, gate)
        late = Memory(memory.memory.copy(0, -1))
        gate.open()
        self.has(part.read(), (2, 10))
        self.assertTrue(part.memory.is_type("GemmclMemory"))
        self.has(late.read(), (3, BYTES))
        self.assertEqual(none.memory.get_sizes()[0], 0)
        late.fill(4)
        self.has(memory.read(), (3, BYTES))

    def test_share(self):
        """A part of a memory has the same cl_mem, and is read-only."""
        memory = self.allocate()
        self.device_fill(memory, 1)
        memory.fill(2, 100, 10)
        part = Memory(memory.memory.share(90, 30))
        smaller = Memory(part.memory.share(10, -1))
        self.has(self.device_read(part), (1, 10), (2, 10), (1, 10))
        self.has(smaller.read(), (2, 10), (1, 10))
        with memory.map(READ | OPENCL) as whole, part.map(READ | OPENCL) as info:
            self.assertEqual((info.data, info.size), (whole.data, 30))
        with self.assertRaises(Unmapped), part.map(WRITE):
            pass
        del memory
        self.has(self.device_read(smaller), (2, 10), (1, 10))

    def test_free_while_pending(self):
        memory, read = self.allocate(), self.allocate()
        gate = Gate(memory.context)
        memory.fill(1)
        read.fill(1)
        self.device_fill(memory, 2, gate)
        read.use(READ, gate)
        del memory, read
        gate.open()

    def test_failed_write(self):
        """After a kernel failed, every read of its result fails, and nothing else."""
        memory = self.allocate()
        gate = Gate(memory.context)
        memory.use(WRITE, gate)
        gate.open(-1)
        for access in READ, READ | WRITE:
            with self.assertRaises(Unmapped), memory.map(access):
                pass
        self.assertIsNone(memory.memory.copy(0, -1))
        memory.fill(1)
        self.has(memory.read(), (1, BYTES))

    def test_failed_read(self):
        memory = self.allocate()
        gate = Gate(memory.context)
        self.device_fill(memory, 1)
        memory.use(READ, gate)
        gate.open(-1)
        self.device_fill(memory, 2)
        self.has(self.device_read(memory), (2, BYTES))

    def test_no_memory(self):
        most = ctypes.c_size_t(-1).value
        self.assertIsNone(self.allocate(most // 4))
        self.assertIsNone(self.allocate(prefix=most - 1))
        self.assertIsNone(self.allocate(align=4095))

    def test_prefix(self):
        memory = self.allocate(align=63, prefix=64, padding=32)
        self.assertEqual(list(memory.memory.get_sizes()), [BYTES, 64, 64 + BYTES + 32])
        with memory.map(READ) as info:
            self.assertEqual(info.data % 64, 0)
        memory.fill(3)
        self.has(self.device_read(memory), (3, BYTES))

    def test_outlives(self):
        """A memory can be used after the element and the allocator were released."""
        memory = self.allocate()
        self.device_fill(memory, 5)
        self.stream = self.allocator = None
        self.doCleanups()
        self.has(memory.read(), (5, BYTES))

    def test_recycles(self):
        """A pool gives the same memory again, at its full size. A map that writes it fetches
        nothing. The next writer waits for pending commands; events of others are released."""
        pool, found = self.stream.ask_allocation(CAPS).parse_nth_allocation_pool(0)[0], set()
        self.assertTrue(configure(pool, CAPS, BYTES) and pool.set_active(True))
        self.addCleanup(pool.set_active, False)
        reset_copies()
        for i in range(5):
            buffer, memory = self.acquire(pool)
            found.add(memory.address)
            self.assertEqual(buffer.get_size(), BYTES)
            memory.fill(1, 0, 10)
            self.assertEqual(count_copies().writes, i if self.is_staged else 0)
            with memory.map(WRITE | OPENCL):
                pass
            self.assertEqual(count_copies().writes, i + 1 if self.is_staged else 0)
            buffer.set_size(100)
            del memory, buffer
        self.assertEqual((len(found), count_copies().reads), (1, 0))
        gate = Gate(self.allocate().context)
        self.acquire(pool)[1].use(WRITE, gate)
        buffer, memory = self.acquire(pool)
        self.assertEqual(memory.count_events(WRITE), 1)
        gate.open()
        del memory, buffer
        self.assertEqual(self.acquire(pool)[1].count_events(READ | WRITE), 0)

    def acquire(self, pool):
        buffer = pool.acquire_buffer(None)[1]
        return buffer, Memory(buffer.peek_memory(0))


class Mapped(Tests, TestCase):
    pass


class Staged(Tests, TestCase):
    is_staged = True


class Pool(TestCase):
    def setUp(self):
        super().setUp()
        stream = self.start(frames("RGB"), "gemmcl weight=[[1],[1],[1]]")
        self.pool = stream.ask_allocation(frames("RGB")).parse_nth_allocation_pool(0)[0]

    def test_layout(self):
        """Rows follow one another without gaps, and a map of the frame gives their places."""
        for pixels, size, strides, offsets in FORMATS:
            with self.subTest(pixels=pixels):
                self.assertTrue(configure(self.pool, frames(pixels)) and self.pool.set_active(True))
                buffer = self.pool.acquire_buffer(None)[1]
                self.assertEqual(buffer.get_size(), size)
                info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(frames(pixels)))
                mapped, frame = GstVideo.VideoFrame.map(info, buffer, Gst.MapFlags.READ)
                self.assertTrue(mapped)
                planes = frame.info.finfo.n_planes
                self.assertEqual([frame.info.stride[:planes], frame.info.offset[:planes]],
                                 [strides, offsets])
                frame.unmap()
                del frame, buffer
                self.assertTrue(self.pool.set_active(False))

    def test_refused(self):
        for caps in (frames("YUY2"), frames("RGBA", "width=65535,height=65535"),
                     "video/x-raw(memory:OpenCL),width=65535"):
            self.assertFalse(configure(self.pool, caps))


main()
