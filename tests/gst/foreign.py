#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory of another owner under the names of gemmcl's (foreign.c), in caps with memory:OpenCL, is
read as the host has it."""

import ctypes
import itertools
from ctypes import c_int, c_size_t, c_void_p

from cl_memory import Memory
from gemmcl import get_info
from stream import (ERROR, OK, GObject, Gst, TestCase, audio, get_rows, main, np, tensors, video)

LIB = ctypes.CDLL(None)
LIB.foreign_allocator_get_type.restype = c_size_t
LIB.foreign_allocator_get_type()
RGB, SIZE = video("RGB", 53, 9), 9 * 160
COLOUR = "weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]]"
# Caps, settings, and the bytes of a buffer.
INPUTS = [
    (RGB, f"{COLOUR} queue-depth=3", SIZE),
    (video("NV12", 64, 8), COLOUR, 64 * 12),
    (RGB, f"{COLOUR} batch-size=3 batch-timeout=0", SIZE),
    (RGB, f"{COLOUR} alpha=.5 beta=.5", SIZE),
    (audio("S16LE", 2), "weight=[[.5],[.25]]", 4 * 100),
    (tensors("3:5"), COLOUR, 60),
]
TYPES = ["OpenCL", "GemmclMemory"]
REFUSED = 'The host cannot map|" of ForeignAllocator|Expected'


def name_opencl(caps):
    media, fields = caps.split(",", 1)
    return f"{media}(memory:OpenCL),{fields}"


class Pool(Gst.BufferPool):
    """A pool of such memory."""

    allocator = None

    def do_alloc_buffer(self, _params):
        buffer = Gst.Buffer.new()
        append(buffer, self.allocator, bytes(SIZE))
        return OK, buffer


def count(name):
    return c_int.in_dll(LIB, f"foreign_{name}").value


def append(buffer, allocator, data):
    LIB.foreign_append(c_void_p(hash(buffer)), c_void_p(hash(allocator)), data,
                       c_size_t(len(data)))


class Foreign(TestCase):
    def make_allocator(self, kind, is_mappable=True):
        allocator = GObject.new(GObject.type_from_name("ForeignAllocator"))
        LIB.foreign_allocator_set(c_void_p(hash(allocator)), kind.encode(), is_mappable)
        return allocator

    def make_buffer(self, *parts):
        """A buffer with memories of allocators and their bytes."""
        buffer = Gst.Buffer.new()
        for allocator, data in parts:
            append(buffer, allocator, data)
        return buffer

    def is_clean(self):
        """Nothing asked for handles, and nothing is mapped or left over."""
        self.doCleanups()
        self.assertEqual([count(name) for name in ("handles", "mapped", "alive")], [0, 0, 0])

    def is_refused(self, stream, buffer):
        self.assertEqual(stream.push(buffer), ERROR)
        self.says(stream, REFUSED)

    def end(self, stream):
        """What came out, without the gaps between rows of 53 pixels."""
        has_gaps = "width=(int)53" in stream.sink.get_current_caps().to_string()
        return [get_rows(output, 53, 9).tobytes() if has_gaps else
                output.extract_dup(0, output.get_size()) for output in stream.end()]

    def test_inputs(self):
        """The results are those of system memory."""
        for (caps, settings, size), kind in itertools.product(INPUTS, TYPES):
            with self.subTest(settings=settings, kind=kind):
                rng, allocator = np.random.default_rng(1), self.make_allocator(kind)
                plain = self.start(caps, f"gemmcl {settings}")
                foreign = self.start(name_opencl(caps), f"gemmcl {settings}")
                for _ in range(7):
                    data = (rng.random(size // 4, "f4").tobytes() if "tensors" in caps else
                            rng.bytes(size))
                    self.assertEqual(plain.push(data), OK)
                    self.assertEqual(foreign.push(self.make_buffer((allocator, data))), OK)
                expected = self.end(plain)
                self.assertEqual(self.end(foreign), expected)
                self.assertEqual(len(expected), 7)
                self.assertEqual(foreign.get_stat("memory"), "system")
                self.is_quiet(foreign)
                self.is_clean()

    def test_unmappable(self):
        """Memory that the host cannot map is an error that names it."""
        allocator = self.make_allocator("OpenCL", False)
        for caps, settings, size in INPUTS:
            stream = self.start(name_opencl(caps), f"gemmcl {settings} batch-size=1")
            self.is_refused(stream, self.make_buffer((allocator, bytes(size))))
            self.is_clean()

    def test_passed_tensor(self):
        """A tensor that passes by is copied: the caps of the output promise gemmcl's memory."""
        for kind, is_mappable in itertools.product(TYPES, (True, False)):
            stream = self.start(name_opencl(tensors("7,2:1", "uint8,float32")),
                                "gemmcl weight=[[1],[1]] tensor-index=1 ! "
                                "capsfilter caps=other/tensors(memory:OpenCL)")
            buffer = self.make_buffer((self.make_allocator(kind, is_mappable), b"passing"),
                               (self.make_allocator(kind), np.array([1, 2], "f4").tobytes()))
            if is_mappable:
                self.assertEqual(stream.push(buffer), OK)
                output = stream.pull_buffer()
                for i in range(2):
                    self.assertTrue(Memory(output.peek_memory(i)).context)
                self.assertEqual(output.extract_dup(0, 7), b"passing")
                del output
            else:
                self.is_refused(stream, buffer)
            del buffer, stream
            self.is_clean()

    def test_offered(self):
        """Downstream offers its allocator and pool. Output of memory:OpenCL is gemmcl's own all the
        same; in system memory, the pool is used by a device that shares the memory of the host."""
        data, plain = np.random.default_rng(1).bytes(SIZE), self.start(RGB, f"gemmcl {COLOUR}")
        self.assertEqual(plain.push(data), OK)
        expected = self.end(plain)
        for caps, is_mappable in itertools.product(
                (RGB, "video/x-raw(memory:OpenCL),format=RGB"), (True, False)):
            with self.subTest(caps=caps, is_mappable=is_mappable):
                is_used = caps == RGB and get_info().host_unified
                pool, stream = Pool(), self.make(f"gemmcl {COLOUR}", caps)
                pool.allocator = self.make_allocator("OpenCL", is_mappable)

                def offer(query, pool=pool):
                    query.add_allocation_param(pool.allocator, None)
                    query.add_allocation_pool(pool, SIZE, 2, 0)

                stream.answer_allocation(offer)
                self.assertTrue(stream.play(RGB))
                if is_used and not is_mappable:
                    self.is_refused(stream, data)
                else:
                    self.assertEqual(stream.push(data), OK)
                    self.assertEqual(count("alive") > 0, is_used)
                    self.assertEqual(self.end(stream), expected)
                del stream
                self.is_clean()


main()
