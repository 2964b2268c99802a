# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCL memory as other elements use it, through gst/memory/gstgemmclmemory.h."""

import contextlib
import ctypes
import threading
from ctypes import CFUNCTYPE, byref, c_int, c_size_t, c_uint, c_void_p

from library import fields
from stream import GST

READ, WRITE, OPENCL = 1, 2, 1 << 17  # GstMapFlags
MAX_EVENTS = 8
LATE = 0.05  # s
CL = ctypes.CDLL("libOpenCL.so.1")
OBJECTS = ctypes.CDLL("libgobject-2.0.so.0")
OBJECTS.g_object_get_data.restype = c_void_p
for function in "clCreateUserEvent", "clCreateCommandQueue":
    getattr(CL, function).restype = c_void_p


class Methods(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("get_context", CFUNCTYPE(c_void_p, c_void_p)),
                ("get_events", CFUNCTYPE(c_uint, c_void_p, c_int, ctypes.POINTER(c_void_p))),
                ("add_event", CFUNCTYPE(None, c_void_p, c_int, c_void_p))]


class Map(ctypes.Structure):
    _fields_ = fields("pointer memory, int flags, pointer data, size size maxsize, reserved user"
                      " reserved")


class Unmapped(Exception):
    """A map failed."""


class Gate:
    """A user event; commands that wait for it do not start before it ends."""

    def __init__(self, context):
        self.event = CL.clCreateUserEvent(c_void_p(context), None)
        self._as_parameter_, self.is_open = c_void_p(self.event), False

    def open(self, status=0):
        """Ends the event. With a negative status it ends like a failed command."""
        self.is_open = True
        assert CL.clSetUserEventStatus(self, status) == 0
        CL.clReleaseEvent(self)

    def open_late(self):
        threading.Timer(LATE, self.open).start()


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
