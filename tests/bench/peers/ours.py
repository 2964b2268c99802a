# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders on the OpenCL device: gemmcl in several ways, CLBlast, and the link to it."""

import os
import time
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p, cast

import gemmcl
from contenders import SEARCH, TOP
from library import (AUTO, CPU, IN_BUFFER, PROFILING_END, PROFILING_START, Context, Data, good,
                     load, memory)

ROW_SUM, ROW_MAX, ROW_ARG_MAX, ROW_TOP_K = 1, 2, 4, 8  # GemmclRowOutput
NORMALIZE_A = 1  # GemmclNormalize
ROW_MAJOR, NO_TRANS, TRANS = 101, 111, 112  # of clblast_c.h
PINNED = 1 | 1 << 4  # CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR
READ_WRITE = 3  # CL_MAP_READ | CL_MAP_WRITE


class OnDevice:
    """A contender with A and D in buffers of the device."""

    def __init__(self, problem):
        platform = problem.options.platform
        self.problem = problem
        self.context = Context(AUTO if platform else CPU, platform)
        self.a = self.context.buffer(problem.m * problem.k * problem.item, problem.a)
        # D is zeros, since CLBlast's GEMV reads it even if beta is 0.
        self.d = [self.context.buffer(problem.d_bytes, problem.d) for _ in range(2)]

    def read(self):
        """Copies the result to the problem's D."""
        self.context.read(self.d[0], self.problem.d_bytes, self.problem.d)


class Gemmcl(OnDevice):
    """gemmcl. The variants:

    device  a run is timed from its enqueueing until it is done
    clock   the same, timed by the device's clock, from the kernel's start to its end
    stream  two runs are in flight, as in the element: a run is enqueued, with another D, and then
            the one before is waited for
    host    the call on host memory, with copies
    apart   as device; softmax and row outputs are computed in separate steps
    """

    def __init__(self, problem):
        super().__init__(problem)
        words = problem.form.split("+")
        rows = (ROW_SUM | ROW_MAX | ROW_ARG_MAX if "rows" in words
                else ROW_ARG_MAX if "argmax" in words else 0)
        search = {}
        if problem.form == SEARCH:
            rows = ROW_TOP_K
            search = {"trans_b": 1, "normalize": NORMALIZE_A, "top_k": TOP}
        kind = "u8" if problem.form == "u8" else "f32"
        if problem.options.variant == "apart":
            os.environ["GEMMCL_ROWS"] = "apart"
        m, n, k = problem.shape
        gemm = gemmcl.describe(
            m, n, k, a_type=kind, d_type=kind, row_outputs=rows, bias=problem.layer,
            activation=("relu" if problem.layer else "softmax" if "softmax" in words else "none"),
            **search)
        operands = {"b": problem.array("b", *((n, k) if search else (k, n)))}
        if problem.layer:
            operands["bias"] = problem.array("bias", n)
        self.plan = gemmcl.Plan(gemm, problem.options.kernel, self.context.context, **operands)
        size = m * 2 * TOP * 4
        found = self.context.buffer(size, memory(size)[0]) if rows else None
        a, *ds, rows = map(self._in_buffer, (self.a, *self.d, found))
        self.runs = [byref(self.plan.make_run(a=a, d=d, rows=rows)) for d in ds]
        self.about = (f"{self.plan.kernel} on {self.context.name}, {self.context.platform}"
                      f" ({self.context.driver}), vectors of {self.context.width} floats")
        self.run = getattr(self, "_" + problem.options.variant, self._device)
        if problem.options.variant == "stream":
            self.play = self._stream
        if problem.form == SEARCH:
            self.read = lambda: self.context.read(found, size, problem.d)
        if problem.options.variant == "host":
            a, d = problem.array("a", m, k, dtype=kind), problem.array("d", m, n, dtype=kind)
            self.runs = [byref(self.plan.make_run(a=a, d=d))]
            self.read = lambda: None

    @staticmethod
    def _in_buffer(buffer):
        data = (Data * 1)(Data(kind=IN_BUFFER))
        data[0].objects[0] = buffer
        return cast(data, c_void_p) if buffer else None

    def _submit(self, first=None, last=None):
        self.context.call("plan_submit", self.plan, self.runs[0], first, last)

    def _device(self):
        self._submit()
        self.context.finish()

    def _host(self):
        self.context.call("plan_run", self.plan, self.runs[0])

    def _stream(self, count):
        begin = time.perf_counter()
        last = None
        for _ in range(count):
            event = c_void_p()
            self._submit(None, byref(event))
            self.runs.reverse()
            if last:
                self.context.wait(last)
            last = event
        self.context.wait(last)
        return time.perf_counter() - begin

    def _clock(self):
        first, last = c_void_p(), c_void_p()
        self._submit(byref(first), byref(last))
        self.context.finish()
        seconds = 1e-9 * (self.context.profile(last, PROFILING_END)
                          - self.context.profile(first, PROFILING_START))
        self.context.cl.clReleaseEvent(first)
        self.context.cl.clReleaseEvent(last)
        return seconds


class ClBlast(OnDevice):
    """CLBlast; for M = 1 its GEMV, which its GEMM does not use by itself."""

    def __init__(self, problem):
        super().__init__(problem)
        library = load("libclblast.so.1")
        m, n, k, none = map(c_size_t, (*problem.shape, 0))
        a, d = self.a, self.d[0]
        b = self.context.buffer(problem.k * problem.n * 4, problem.b)
        one, zero, queue = c_float(1), c_float(0), byref(self.context.queue)
        step = c_size_t(1)
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
        """Runs it, and waits."""
        good(self.function(*self.arguments), "CLBlast")
        self.context.finish()


class Link(OnDevice):
    """Copies of A from pinned memory of the host to the device and of D back, in two queues, both
    directions at once."""

    def __init__(self, problem):
        super().__init__(problem)
        cl = self.context.cl
        self.ways = [self._make(*way) for way in (
            (cl.clEnqueueWriteBuffer, self.a, problem.m * problem.k * problem.item),
            (cl.clEnqueueReadBuffer, self.d[0], problem.d_bytes))]
        self.about = f"{self.context.name}, {self.context.driver}"

    def _make(self, enqueue, on_device, size):
        """The enqueueing function with its arguments."""
        cl, context = self.context.cl, self.context.cl_context
        status, size = c_int(), c_size_t(size)
        queue = c_void_p(cl.clCreateCommandQueue(context, self.context.device, c_uint64(0),
                                                 byref(status)))
        good(status.value, "clCreateCommandQueue")
        pinned = c_void_p(cl.clCreateBuffer(context, c_uint64(PINNED), size, None, byref(status)))
        good(status.value, "clCreateBuffer")
        address = c_void_p(cl.clEnqueueMapBuffer(queue, pinned, 1, c_uint64(READ_WRITE),
                                                 c_size_t(0), size, 0, None, None, byref(status)))
        good(status.value, "clEnqueueMapBuffer")
        return enqueue, queue, on_device, 0, c_size_t(0), size, address, 0, None, None

    def play(self, count):
        """The seconds of that many copies each way."""
        begin = time.perf_counter()
        for _ in range(count):
            for enqueue, queue, *arguments in self.ways:
                good(enqueue(queue, *arguments), "A copy")
                self.context.cl.clFlush(queue)
        for _, queue, *_ in self.ways:
            good(self.context.cl.clFinish(queue), "clFinish")
        return time.perf_counter() - begin
