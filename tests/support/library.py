# SPDX-License-Identifier: LGPL-2.1-or-later
"""The parts of gemmcl's and OpenCL's C interfaces that the benchmarks call, through ctypes.

The environment variable GEMMCL_LIBRARY names the library (default: the installed one). Matrices are
row-major. Structures have the library's names, without Gemmcl."""

import ctypes
import os
from ctypes import byref, c_double, c_int, c_size_t, c_ssize_t, c_void_p

MISSING = 77  # the exit status if a library or a device is missing
AUTO, CPU, GPU = 0, 1, 2  # GemmclDeviceType
ON_HOST, IN_BUFFER, IN_IMAGES = range(3)  # GemmclDataKind
COPY_HOST_PTR = 1 | 1 << 5  # CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR
PROFILING_START, PROFILING_END = 0x1282, 0x1283


def fields(text):
    """The _fields_ of a structure, from "TYPE NAME ..., TYPE NAME ..."."""
    types = {"int": c_int, "size": c_size_t, "double": c_double, "pointer": c_void_p,
             "text": ctypes.c_char_p, "planes": c_void_p * 3, "offsets": c_size_t * 3,
             "strides": c_ssize_t * 3, "reserved": c_void_p * 4}
    return [(name, types[words[0]]) for words in map(str.split, text.split(","))
            for name in words[1:]]


class Query(ctypes.Structure):
    _fields_ = fields("text platform, int type, text device, reserved reserved")


class Info(ctypes.Structure):
    """The first fields of GemmclDeviceInfo."""
    _fields_ = fields("text platform name vendor version driver extensions, int type intel"
                      " capability compute_units clock_mhz float_width")


class Frame(ctypes.Structure):
    _fields_ = fields(
        "int format, size width height, int features, size patch_width patch_height patch_stride"
        " patch_padding patch_dilation, double kr kb, int full_range interlaced left top"
        " channels type,"
        " reserved reserved")


class Gemm(ctypes.Structure):
    _fields_ = fields(
        "size m n k, int layout trans_a trans_b, size lda ldb ldc ldd, size a_start b_start"
        " c_start d_start batch, size a_stride b_stride c_stride d_stride, int a_type d_type"
        " precision, double a_scale a_shift d_scale d_shift, int addend bias activation normalize"
        " row_outputs top_k omit_d, double alpha beta, pointer a_frame d_frame,"
        " int pool, size pool_across pool_down pool_width pool_height pool_stride_x pool_stride_y,"
        " reserved reserved")


class Data(ctypes.Structure):
    _fields_ = fields("int kind, planes host objects, offsets offset, strides stride, size x y,"
                      " int acquired,"
                      " reserved reserved")


class Run(ctypes.Structure):
    _fields_ = fields("size size m batch, double alpha beta, pointer a d row_outputs, int strided,"
                      " pointer b c previous acquire release queue, int n_wait, pointer wait,"
                      " int progressive")


class Error(ctypes.Structure):
    _fields_ = fields("int domain code, text message")


class Failure(Exception):
    """A call that failed."""


class Missing(Exception):
    """A library or a device that is not there."""


def load(*names):
    """The first of these libraries that can be loaded; raises Missing."""
    reason = ""
    for name in names:
        try:
            return ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
        except OSError as error:
            reason = reason or str(error)
    raise Missing(reason)


def good(status, what):
    if status:
        raise Failure(f"{what} failed: {status}.")


class Context:
    """gemmcl's context on a device, with its OpenCL objects; raises Missing without a device."""

    def __init__(self, kind, platform=None):
        self.lib = load(os.environ.get("GEMMCL_LIBRARY", "libgemmcl.so.0"))
        self.cl = load("libOpenCL.so.1")
        for name in ("context_new", "context_get_device_info", "context_get_cl_context",
                     "context_get_cl_device", "context_get_cl_queue"):
            getattr(self.lib, "gemmcl_" + name).restype = c_void_p
        for name in ("clCreateBuffer", "clCreateProgramWithSource", "clCreateKernel",
                     "clCreateCommandQueue", "clEnqueueMapBuffer", "clCreateContext",
                     "clCreateImage", "clCreateUserEvent",
                     "clGetExtensionFunctionAddressForPlatform"):
            getattr(self.cl, name).restype = c_void_p
        error = ctypes.POINTER(Error)()
        query = Query(platform.encode() if platform else None, kind, None)
        context = self.lib.gemmcl_context_new(byref(query), byref(error))
        if not context:
            raise Missing(error.contents.message.decode())
        self.context = c_void_p(context)
        self.cl_context, self.device, self.queue = (
            c_void_p(getattr(self.lib, "gemmcl_context_get_cl_" + name)(self.context))
            for name in ("context", "device", "queue"))
        info = Info.from_address(self.lib.gemmcl_context_get_device_info(self.context))
        self.type, self.width = info.type, info.float_width
        self.name, self.platform, self.driver = (
            getattr(info, name).decode() for name in ("name", "platform", "driver"))

    def call(self, function, *arguments):
        """Calls a function of gemmcl, with a GError; raises Failure."""
        error = ctypes.POINTER(Error)()
        if not getattr(self.lib, "gemmcl_" + function)(*arguments, byref(error)):
            raise Failure(error.contents.message.decode())

    def buffer(self, size, address):
        status = c_int()
        result = self.cl.clCreateBuffer(self.cl_context, ctypes.c_uint64(COPY_HOST_PTR),
                                        c_size_t(size), c_void_p(address), byref(status))
        good(status.value, "clCreateBuffer")
        return c_void_p(result)

    def finish(self):
        good(self.cl.clFinish(self.queue), "clFinish")

    def wait(self, event):
        good(self.cl.clWaitForEvents(1, byref(event)), "clWaitForEvents")
        self.cl.clReleaseEvent(event)

    def read(self, buffer, size, address):
        good(self.cl.clEnqueueReadBuffer(self.queue, buffer, 1, c_size_t(0), c_size_t(size),
                                         c_void_p(address), 0, None, None), "Reading D")

    def profile(self, event, which):
        """A time of the device's clock, in nanoseconds."""
        result = ctypes.c_uint64()
        good(self.cl.clGetEventProfilingInfo(event, which, c_size_t(8), byref(result), None),
             "The profile of an event")
        return result.value
