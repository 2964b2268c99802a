# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays elements under the doubles (tests/doubles), which count and fail calls of OpenCL and VA."""

import contextlib
import ctypes
import gc
import os
from collections import namedtuple
from ctypes import byref, c_int, c_size_t, c_ssize_t, c_void_p

import stream
from gemmcl import get_device
from library import fields
from medium import crop
from stream import OK, Gst, GstVideo, np
from tap_unittest import tap
import gi  # after stream, which skips the test if gi is missing

gi.require_version("GstAllocators", "1.0")
from gi.repository import GstAllocators

EXTENSIONS = 0x1030  # CL_DEVICE_EXTENSIONS
USER_SYNC = 0x1085  # CL_CONTEXT_INTEROP_USER_SYNC
EXECUTION = 0x1029  # CL_DEVICE_EXECUTION_CAPABILITIES
RUNS_NATIVE_KERNELS = 2
DMABUFS = GstAllocators.DmaBufAllocator.new()
ERROR, WARNING = Gst.MessageType.ERROR, Gst.MessageType.WARNING
HAS_DRM_FORMATS = Gst.version() >= (1, 24)

# outputs: the bytes of each output; memory: that stat; error, warning: the first text, or "".
Result = namedtuple("Result", "outputs memory error warning")


class Counts(ctypes.Structure):
    _fields_ = fields("int live_surfaces live_contexts live_objects surface_readbacks"
                      " surface_exports va_objects dmabuf_objects acquires")


class Fault(ctypes.Structure):
    """A call of an OpenCL function that fails, the calls left until then, and its error."""
    _fields_ = fields("text function, int left error")


class Fences(ctypes.Structure):
    _fields_ = fields("int unknown pending broken exports starts ends")


if "GEMMCL_DOUBLES" in os.environ:
    FENCES = Fences.in_dll(ctypes.CDLL(None), "doubles_fences")
    MODULE = ctypes.CDLL(os.environ["GEMMCL_DOUBLES"])
    COUNTS = Counts.in_dll(MODULE, "doubles_counts")
    FAULT = Fault.in_dll(MODULE, "doubles_fault")


def fail(function, number, error):
    """Makes a call of an OpenCL function fail: number 1 is the next call."""
    FAULT.function, FAULT.error, FAULT.left = function.encode(), error, number


@contextlib.contextmanager
def without(extensions):
    """Hides these extensions. mock.patch.dict() would write variables that threads may read."""
    os.environ["GEMMCL_DOUBLES_WITHOUT"] = extensions
    try:
        yield
    finally:
        del os.environ["GEMMCL_DOUBLES_WITHOUT"]


def get_video_info(caps):
    return GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(caps))


def draw(info, seed):
    rng, planes = np.random.default_rng(seed), []
    for plane in range(info.finfo.n_planes):
        part = info.finfo.plane.index(plane)  # the first component in it
        rows = -(-info.height >> info.finfo.h_sub[part])
        size = -(-info.width >> info.finfo.w_sub[part]) * info.finfo.pixel_stride[part]
        planes.append(rng.integers(0, 256, (rows, size), "u1"))
    return planes


def lay_out(planes, size, offsets, strides):
    data = np.zeros(size, "u1")
    for plane, offset, stride in zip(planes, offsets, strides):
        for y, row in enumerate(plane):
            data[offset + y * stride:][:len(row)] = row
    return data.tobytes()


def make_frame(caps, seed):
    info = get_video_info(caps)
    return Gst.Buffer.new_wrapped(lay_out(draw(info, seed), info.size, info.offset, info.stride))


def make_cropped(caps, seed, place):
    info, frame = get_video_info(caps), make_frame(caps, seed)
    GstVideo.buffer_add_video_meta_full(frame, 0, info.finfo.format, info.width, info.height,
                                        info.finfo.n_planes, info.offset, info.stride)
    return crop(frame, *place)


def make_file(data):
    file = os.memfd_create("frame")
    os.write(file, data)
    return file


def make_memory(file, start, end):
    """Returns a memory of these bytes of a dma-buf. The memory owns the file."""
    memory = GstAllocators.DmaBufAllocator.alloc(DMABUFS, file, end)
    memory.resize(start, end - start)
    return memory


class TestCase(stream.TestCase):
    def setUp(self):
        super().setUp()
        self.needs_doubles()

    def needs_doubles(self):
        if "GEMMCL_DOUBLES" not in os.environ:
            self.skipTest("it does not run under tests/doubles/run.sh")
        if b"cl_intel_va_api_media_sharing" not in self.ask_device(EXTENSIONS, 8192):
            self.skipTest("OpenCL's loader does not load the layer")
        if not self.ask_device(EXECUTION, 8)[0] & RUNS_NATIVE_KERNELS:
            self.skipTest("the device does not run native kernels")

    def ask_device(self, name, size):
        value = ctypes.create_string_buffer(size)
        device = get_device()
        device.cl.clGetDeviceInfo(device.device, name, c_size_t(size), value, None)
        return value.raw

    def is_clean(self):
        """No object or context of OpenCL or VA is left, after a moment for OpenCL's threads."""
        def has_none():
            gc.collect()
            return COUNTS.live_objects + COUNTS.live_contexts == 0
        tap.wait_until(has_none)
        self.assertEqual((COUNTS.live_objects, COUNTS.live_contexts), (0, 0))

    def make_context(self, *properties):
        cl, status = get_device().cl, c_int()
        context = cl.clCreateContext((c_ssize_t * 5)(USER_SYNC, 1, *properties), 1,
                                     byref(get_device().device), None, None, byref(status))
        self.assertEqual(status.value, 0)
        self.addCleanup(cl.clReleaseContext, c_void_p(context))
        return context

    def play(self, text, caps, buffers, set_up=lambda stream: None):
        """Pushes buffers through elements until one is refused. The element "g" gives the stats.
        set_up is called before the elements start. Returns a Result."""
        played, posted = stream.Stream(text), {ERROR: "", WARNING: ""}
        try:
            set_up(played)
            if played.play(caps):
                all(played.push(buffer) == OK for buffer in buffers)
            outputs = [output.extract_dup(0, output.get_size()) for output in played.end()]
            memory = played.get_stat("memory", "g" if "!" in text else None)
            while (message := played.bus.pop_filtered(ERROR | WARNING)) is not None:
                parse = message.parse_error if message.type == ERROR else message.parse_warning
                posted[message.type] = posted[message.type] or parse()[0].message
            return Result(outputs, memory, *posted.values())
        finally:
            played.stop()

    def is_well(self, result, number, memory, expected=None):
        """The result has this number of outputs and this memory, and neither an error nor a
        warning. Its outputs are those of the expected result."""
        self.assertEqual((len(result.outputs), result.error, result.warning, result.memory),
                         (number, "", "", memory))
        self.assertTrue(expected is None or result.outputs == expected.outputs)

    def has_words(self, text, words):
        for word in words.split("|"):
            self.assertIn(word, text)
