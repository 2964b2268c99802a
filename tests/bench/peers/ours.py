# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders on the OpenCL device: gemmcl in several ways, CLBlast, and the link to it."""

import os
import time
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p, cast

import gemmcl
from library import (AUTO, CPU, IN_BUFFER, PROFILING_END, PROFILING_START, Context, Data, good,
                     load)
from problem import BYTES, QUANTIZED, SEARCH, TOP

ROW_SUM, ROW_MAX, ROW_ARG_MAX, ROW_TOP_K = 1, 2, 4, 8  # GemmclRowOutput
# The row outputs of forms. With top-k the rows of A are normalized, and B is transposed.
ROW_OUTPUTS = {"rows": ROW_SUM | ROW_MAX | ROW_ARG_MAX, "argmax": ROW_ARG_MAX, SEARCH: ROW_TOP_K}
TOP_K = {"trans_b": 1, "normalize": 1, "top_k": TOP}
ROW_MAJOR, NO_TRANS, TRANS = 101, 111, 112  # of clblast_c.h
PINNED = 1 | 1 << 4  # CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR
READ_WRITE = 3  # CL_MAP_READ | CL_MAP_WRITE


def in_buffer(buffer):
    data = (Data * 1)(Data(kind=IN_BUFFER))
    data[0].objects[0] = buffer
    return cast(data, c_void_p)


class OnDevice:
    def __init__(self, problem, settings):
        self.problem = problem
        self.context = Context(AUTO if settings.platform else CPU, settings.platform)
        self.a = self.copy(problem.a)
        # D is zeros, since CLBlast's GEMV reads it even if beta is 0.
        self.results = [(self.copy(problem.d), problem.d)]

    def copy(self, array):
        return self.context.buffer(array.nbytes, array.ctypes.data)

    def read(self):
        for buffer, array in self.results:
            self.context.read(buffer, array.nbytes, array.ctypes.data)


class Gemmcl(OnDevice):
    """gemmcl. A run is timed from its enqueueing until it is done."""

    omits_d, is_quantized = False, True

    def __init__(self, problem, settings):
        super().__init__(problem, settings)
        words = problem.form.split("+")
        kind = "u8" if problem.form == BYTES else "f32"
        rows = sum(ROW_OUTPUTS.get(word, 0) for word in words)
        activation = ("relu" if problem.is_layer else "softmax" if "softmax" in words else "none")
        b, precision = gemmcl.make(problem.b), "f32"
        if problem.form == QUANTIZED and self.is_quantized:
            b, precision = gemmcl.get_matrix("matrix_quantize", b, True, None), "i8"
        operands = {"bias": problem.bias} if problem.is_layer else {}
        gemm = gemmcl.describe(
            *problem.shape, a_type=kind, d_type=kind, row_outputs=rows, bias=problem.is_layer,
            activation=activation, omit_d=self.omits_d, precision=precision,
            **(TOP_K if problem.is_search else {}))
        self.plan = gemmcl.Plan(gemm, settings.kernel, self.context.context, b=b, **operands)
        del problem.b  # A gallery is large.
        if rows:
            self.results.append((self.copy(problem.found), problem.found))
        found = in_buffer(self.results[1][0]) if rows else None
        if self.omits_d:
            del self.results[0]
            ds = None, None
        else:  # Runs in flight must not write to the same D.
            ds = in_buffer(self.results[0][0]), in_buffer(self.copy(problem.d))
        self.runs = [self.make_run(in_buffer(self.a), d, found) for d in ds]
        size = sum(array.nbytes for _, array in self.results)
        self.about = (f"{self.plan.kernel} on {self.context.name}, {self.context.platform}"
                      f" ({self.context.driver}), vectors of {self.context.width} floats;"
                      f" {size} bytes of results")

    def make_run(self, a, d, rows=None):
        return byref(self.plan.make_run(a=a, d=d, row_outputs=rows))

    def submit(self, first=None, last=None):
        self.context.call("plan_submit", self.plan, self.runs[0], first, last)

    def run(self):
        self.submit()
        self.context.finish()


class OnHost(Gemmcl):
    def __init__(self, problem, settings):
        super().__init__(problem, settings)
        self.runs = [self.make_run(problem.a, problem.d)]
        self.results = []

    def run(self):
        self.context.call("plan_run", self.plan, self.runs[0])


class Omitting(Gemmcl):
    """Only row outputs leave the device."""

    omits_d = True


class InF32(Gemmcl):
    """The vectors in f32."""

    is_quantized = False


class Stream(Gemmcl):
    """Two runs are in flight: it enqueues a run, and then waits for the one before."""

    def play(self, count):
        begin = time.perf_counter()
        last = None
        for _ in range(count):
            event = c_void_p()
            self.submit(None, byref(event))
            self.runs.reverse()
            if last:
                self.context.wait(last)
            last = event
        self.context.wait(last)
        return time.perf_counter() - begin


class Clock(Gemmcl):
    """Runs are timed by the device's clock, from the kernel's start to its end."""

    def run(self):
        first, last = c_void_p(), c_void_p()
        self.submit(byref(first), byref(last))
        self.context.finish()
        nanoseconds = (self.context.profile(last, PROFILING_END)
                       - self.context.profile(first, PROFILING_START))
        for event in first, last:
            self.context.cl.clReleaseEvent(event)
        return 1e-9 * nanoseconds


class Apart(Gemmcl):
    def __init__(self, problem, settings):
        os.environ["GEMMCL_ROWS"] = "apart"
        super().__init__(problem, settings)


class ClBlast(OnDevice):
    """CLBlast; for M = 1 its GEMV, which its GEMM does not use by itself."""

    def __init__(self, problem, settings):
        super().__init__(problem, settings)
        library = load("libclblast.so.1")
        m, n, k, none, step = map(c_size_t, (*problem.shape, 0, 1))
        a, b, d = self.a, self.copy(problem.b), self.results[0][0]
        one, zero, queue = c_float(1), c_float(0), byref(self.context.queue)
        if problem.m == 1:
            self.function = library.CLBlastSgemv
            self.arguments = (ROW_MAJOR, TRANS, k, n, one, b, none, n, a, none, step, zero, d, none,
                              step, queue, None)
        else:
            self.function = library.CLBlastSgemm
            self.arguments = (ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, one, a, none, k, b, none, n,
                              zero, d, none, n, queue, None)
        self.about = f"CLBlast on {self.context.name}, {self.context.platform}"

    def run(self):
        good(self.function(*self.arguments), "CLBlast")
        self.context.finish()


class Link(OnDevice):
    """Copies of A from pinned memory to the device and of D back, in both directions at once."""

    def __init__(self, problem, settings):
        super().__init__(problem, settings)
        cl = self.context.cl
        self.ways = [self._prepare(cl.clEnqueueWriteBuffer, self.a, problem.a.nbytes),
                     self._prepare(cl.clEnqueueReadBuffer, self.results[0][0], problem.d.nbytes)]
        self.about = f"{self.context.name}, {self.context.driver}"

    def _create(self, name, *arguments):
        status = c_int()
        result = c_void_p(getattr(self.context.cl, name)(*arguments, byref(status)))
        good(status.value, name)
        return result

    def _prepare(self, enqueue, on_device, size):
        """A function that enqueues the copy, and its queue."""
        context, size = self.context, c_size_t(size)
        queue = self._create("clCreateCommandQueue", context.cl_context, context.device,
                             c_uint64(0))
        pinned = self._create("clCreateBuffer", context.cl_context, c_uint64(PINNED), size, None)
        address = self._create("clEnqueueMapBuffer", queue, pinned, 1, c_uint64(READ_WRITE),
                               c_size_t(0), size, 0, None, None)

        def copy():
            good(enqueue(queue, on_device, 0, c_size_t(0), size, address, 0, None, None), "A copy")
            context.cl.clFlush(queue)
        return copy, queue

    def play(self, count):
        begin = time.perf_counter()
        for _ in range(count):
            for copy, _ in self.ways:
                copy()
        for _, queue in self.ways:
            good(self.context.cl.clFinish(queue), "clFinish")
        return time.perf_counter() - begin
