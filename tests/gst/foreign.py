# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory of another owner in caps with memory:OpenCL is read on the host. The memory resembles that
of DL Streamer: it has the type name of gemmcl's memory, a map with the value of
GST_GEMMCL_MAP_OPENCL gives a handle instead of bytes, memories cannot be shared, and the allocator
does not allocate."""

import ctypes
import itertools
import threading
from ctypes import CFUNCTYPE, c_int, c_size_t, c_ssize_t, c_void_p

from cl_memory import OPENCL, READ, WRITE, Memory
from doubles import GstAllocators, make_file
from gemmcl import get_info
from library import fields
from medium import Medium
from stream import ERROR, OK, Gst, TestCase, audio, main, np, tensors, video

RGB, SIZE = video("RGB", 53, 9), 9 * 160
COLOUR = "weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]]"
# Each stream: the caps, the settings, and the bytes of a buffer.
INPUTS = [
    (RGB, f"{COLOUR} queue-depth=3", SIZE), (video("NV12", 64, 8), COLOUR, 64 * 12),
    (RGB, f"{COLOUR} batch-size=3 batch-timeout=0", SIZE),
    (RGB, f"{COLOUR} alpha=.5 beta=.5", SIZE), (audio("S16LE", 2), "weight=[[.5],[.25]]", 4 * 100),
    (tensors("3:5"), COLOUR, 60),
]
TYPES = ["OpenCL", "GemmclMemory"]
LIMIT = 60  # seconds for pushes that do not wait
REFUSED = 'The host cannot map|" of GstFdAllocator|Expected'


def name_opencl(caps):
    media, fields = caps.split(",", 1)
    return f"{media}(memory:OpenCL),{fields}"


class Functions(ctypes.Structure):
    """The functions of a GstAllocator, which an allocator of another kind may replace."""
    _fields_ = fields("pointer type_instance, int references, pointer data lock name parent,"
                      " int flags, pointer bindings, size rate sync, pointer unused kind map unmap"
                      " copy share")


MAP = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_int)
UNMAP = CFUNCTYPE(None, c_void_p)
SHARE = CFUNCTYPE(c_void_p, c_void_p, c_ssize_t, c_ssize_t)


class Owner:
    """An allocator of files in memory. It maps them only for the host, or not at all.

    handles: number of maps for a handle; mapped: number of current maps"""

    def __init__(self, kind, is_mappable=True):
        self.allocator, self.is_mappable = GstAllocators.FdAllocator.new(), is_mappable
        self.handles = self.mapped = 0
        own = Functions.from_address(hash(self.allocator))
        self.map_file, self.unmap_file = MAP(own.map), UNMAP(own.unmap)
        self.used = (ctypes.create_string_buffer(kind.encode()), MAP(self.map), UNMAP(self.unmap),
                     SHARE(lambda *_: None))
        own.kind, own.map, own.unmap, own.share = (ctypes.cast(each, c_void_p).value
                                                   for each in self.used)

    def map(self, memory, size, flags):
        self.handles += bool(flags & OPENCL)
        if flags & ~(READ | WRITE) or not self.is_mappable:
            return None
        self.mapped += 1
        return self.map_file(memory, size, flags)

    def unmap(self, memory):
        self.mapped -= 1
        self.unmap_file(memory)

    def make(self, data):
        return GstAllocators.FdAllocator.alloc(self.allocator, make_file(data), len(data),
                                               GstAllocators.FdMemoryFlags.NONE)


def make_buffer(*memories):
    buffer = Gst.Buffer.new()
    for memory in memories:
        buffer.append_memory(memory)
    return buffer


class Pool(Gst.BufferPool):
    owner, made = None, 0

    def do_alloc_buffer(self, _params):
        self.made += 1
        return OK, make_buffer(self.owner.make(bytes(SIZE)))


class Foreign(TestCase):
    def is_clean(self, owner):
        """Nothing has asked for a handle, and nothing is mapped or left over."""
        self.doCleanups()
        self.assertEqual((owner.handles, owner.mapped, owner.allocator.__grefcount__), (0, 0, 1))

    def is_refused(self, stream, buffer):
        self.assertEqual(stream.push(buffer), ERROR)
        self.says(stream, REFUSED)

    def end(self, stream):
        """Ends the stream. Returns the outputs, without the gaps between rows."""
        medium = Medium(stream.sink.get_current_caps())
        return [medium.read(output) for output in stream.end()]

    def test_inputs(self):
        for (caps, settings, size), kind in itertools.product(INPUTS, TYPES):
            with self.subTest(settings=settings, kind=kind):
                rng, owner = np.random.default_rng(1), Owner(kind)
                plain = self.start(caps, f"gemmcl {settings}")
                foreign = self.start(name_opencl(caps), f"gemmcl {settings}")
                for _ in range(7):
                    data = (rng.random(size // 4, "f4").tobytes() if "tensors" in caps else
                            rng.bytes(size))
                    self.assertEqual(plain.push(data), OK)
                    self.assertEqual(foreign.push(make_buffer(owner.make(data))), OK)
                expected = self.end(plain)
                self.assertEqual(self.end(foreign), expected)
                self.assertEqual(len(expected), 7)
                self.assertEqual(foreign.get_stat("memory"), "system")
                self.is_quiet(foreign)
                self.is_clean(owner)

    def test_unmappable(self):
        """For memory that the host cannot map, the element posts an error that names the memory."""
        owner = Owner("OpenCL", False)
        for caps, settings, size in INPUTS:
            stream = self.start(name_opencl(caps), f"gemmcl {settings} batch-size=1")
            self.is_refused(stream, make_buffer(owner.make(bytes(size))))
            self.is_clean(owner)

    def test_passed_tensor(self):
        """A tensor that passes through is copied, because the caps promise gemmcl's memory."""
        for kind, is_mappable in itertools.product(TYPES, (True, False)):
            stream = self.start(name_opencl(tensors("7,2:1", "uint8,float32")),
                                "gemmcl weight=[[1],[1]] tensor-index=1 ! "
                                "capsfilter caps=other/tensors(memory:OpenCL)")
            passed, read = Owner(kind, is_mappable), Owner(kind)
            buffer = make_buffer(passed.make(b"passing"),
                                 read.make(np.array([1, 2], "f4").tobytes()))
            if is_mappable:
                output = self.run_buffer(stream, buffer)
                for i in range(2):
                    self.assertTrue(Memory(output.peek_memory(i)).context)
                self.assertEqual(output.extract_dup(0, 7), b"passing")
                del output
            else:
                self.is_refused(stream, buffer)
            del buffer, stream
            for owner in passed, read:
                self.is_clean(owner)

    def test_offered(self):
        """Downstream offers its allocator and pool. Outputs in memory:OpenCL are in gemmcl's memory
        nevertheless; for others, a device that shares the host's memory uses the pool."""
        data, plain = np.random.default_rng(1).bytes(SIZE), self.start(RGB, f"gemmcl {COLOUR}")
        self.assertEqual(plain.push(data), OK)
        expected = self.end(plain)
        for caps, is_mappable in itertools.product(
                (RGB, "video/x-raw(memory:OpenCL),format=RGB"), (True, False)):
            with self.subTest(caps=caps, is_mappable=is_mappable):
                is_used = caps == RGB and get_info().host_unified
                pool, stream = Pool(), self.make(f"gemmcl {COLOUR}", caps)
                pool.owner = owner = Owner("OpenCL", is_mappable)

                def offer(query, pool=pool):
                    query.add_allocation_param(pool.owner.allocator, None)
                    query.add_allocation_pool(pool, SIZE, 2, 0)
                stream.answer_allocation(offer)
                self.assertTrue(stream.play(RGB))
                if is_used and not is_mappable:
                    self.is_refused(stream, data)
                else:
                    self.assertEqual(stream.push(data), OK)
                    self.assertEqual(self.end(stream), expected)
                self.assertEqual(pool.made > 0, is_used)
                del stream, pool, offer
                self.is_clean(owner)

    def start_limited(self, settings):
        """Returns a stream, and the pool of two buffers that downstream offers."""
        if not get_info().host_unified:
            self.skipTest("the device does not share the host's memory")
        pool, stream = Pool(), self.make(f"gemmcl {COLOUR} {settings}", RGB)
        pool.owner = Owner("OpenCL")
        stream.answer_allocation(lambda query: query.add_allocation_pool(pool, SIZE, 2, 2))
        self.assertTrue(stream.play(RGB))
        return stream, pool

    def pushes(self, stream, pool, count):
        """The element must not wait for a buffer of the pool."""
        def push():
            for _ in range(count):
                stream.push(bytes(SIZE))
        thread = threading.Thread(target=push)
        thread.start()
        thread.join(LIMIT)
        waits = thread.is_alive()
        pool.set_flushing(waits)  # ends the wait
        thread.join()
        self.assertFalse(waits)

    def test_limited(self):
        """Of a pool with a limit, the element keeps no output in case beta is set."""
        stream, pool = self.start_limited("queue-depth=1")
        self.assertEqual(stream.push(bytes(SIZE)), OK)
        shown = stream.pull_buffer()
        self.assertIs(shown.pool, pool)
        self.assertEqual(stream.push(bytes(SIZE)), OK)
        stream.pull_buffer()  # dropped
        self.pushes(stream, pool, 1)
        self.assertEqual(stream.pull_buffer().get_size(), shown.get_size())

    def test_limited_batch(self):
        """A batch, whose outputs exist at the same time, needs no buffer of such a pool."""
        stream, pool = self.start_limited("batch-size=3 batch-timeout=0")
        self.pushes(stream, pool, 6)
        self.assertEqual(len(stream.end()), 6)


main()
