# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCL memory as other elements use it, through gst/memory/gstgemmclmemory.h; OpenCL's copies,
which hooks.c counts; and devices that pretend to have memory of their own."""

import contextlib
import ctypes
import os
from collections import namedtuple
from ctypes import CFUNCTYPE, byref, c_int, c_size_t, c_uint, c_void_p
from unittest import mock

from gemmcl import list_searches
from library import fields
from stream import GST, tap

READ, WRITE, OPENCL = 1, 2, 1 << 17  # GstMapFlags
MAX_EVENTS = 8
CL = ctypes.CDLL("libOpenCL.so.1")
OBJECTS = ctypes.CDLL("libgobject-2.0.so.0")
OBJECTS.g_object_get_data.restype = c_void_p
CL.clCreateCommandQueue.restype = c_void_p
Copies = namedtuple("Copies", "writes reads copies")
COUNTS = [ctypes.c_int.in_dll(ctypes.CDLL(None), f"count_{kind}") for kind in Copies._fields]


def count_copies():
    return Copies(*(count.value for count in COUNTS))


def reset_copies():
    for count in COUNTS:
        count.value = 0


def pretend_discrete(discrete=True):
    """Makes devices report that they do not share the memory of the host. Waits for a search, which
    keeps the context of an earlier test: elements would share it."""
    tap.wait_until(lambda: not list_searches())
    return mock.patch.dict(os.environ, {"GEMMCL_TEST_DISCRETE": "1"} if discrete else {})


class Methods(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("get_context", CFUNCTYPE(c_void_p, c_void_p)),
                ("get_events", CFUNCTYPE(c_uint, c_void_p, c_int, ctypes.POINTER(c_void_p))),
                ("add_event", CFUNCTYPE(None, c_void_p, c_int, c_void_p))]


class Map(ctypes.Structure):
    _fields_ = fields("pointer memory, int flags, pointer data, size size maxsize, reserved user"
                      " reserved")


class Unmapped(Exception):
    """A map failed."""


class Memory:
    def __init__(self, memory):
        self.memory, self.address = memory, hash(memory)
        self._as_parameter_ = c_void_p(self.address)
        self.methods = Methods.from_address(OBJECTS.g_object_get_data(
            c_void_p(hash(memory.allocator)), b"gst-gemmcl-memory-methods"))
        assert self.methods.size == ctypes.sizeof(Methods)
        self.context = self.methods.get_context(self)

    @contextlib.contextmanager
    def map(self, flags):
        info = Map()
        if not GST.gst_memory_map(self, byref(info), flags):
            raise Unmapped
        try:
            yield info
        finally:
            GST.gst_memory_unmap(self, byref(info))

    def read(self):
        with self.map(READ) as info:
            return ctypes.string_at(info.data, info.size)

    def fill(self, value, offset=0, size=None):
        with self.map(WRITE) as info:
            ctypes.memset(info.data + offset, value, size or info.size - offset)

    def get_events(self, access):
        """Returns the events to wait for with this access. The caller releases them."""
        events = (c_void_p * MAX_EVENTS)()
        return events[:self.methods.get_events(self, access, events)]

    def count_events(self, access):
        events = self.get_events(access)
        for event in events:
            CL.clReleaseEvent(c_void_p(event))
        return len(events)

    def use(self, access, gate):
        """Records a command with this access that ends with the gate."""
        with self.map(access | OPENCL):
            self.methods.add_event(self, access, gate)
