# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders on the OpenCL device: gemmcl in several ways, CLBlast, and an empty kernel."""

import ctypes
import os
from ctypes import byref, c_float, c_int, c_size_t, c_void_p

from library import (AUTO, CPU, F32, IN_BUFFER, ON_HOST, PROFILING_END, PROFILING_START, RELU,
                     ROW_ARG_MAX, ROW_MAX, ROW_SUM, SOFTMAX, U8, Context, Plan, good, load,
                     memory)

ROW_MAJOR, NO_TRANS, TRANS = 101, 111, 112  # of clblast_c.h
# The condition is never true, which the compiler does not know.
NOTHING = b"""kernel void nothing (global int *x)
{
  if (get_global_id (0) == 0x7fffffff)
    x[0] = 1;
}
"""


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
        kind = U8 if problem.form == "u8" else F32
        if problem.options.variant == "apart":
            os.environ["GEMMCL_ROWS"] = "apart"
        self.plan = Plan(
            self.context, problem.b, problem.bias if problem.layer else None,
            problem.options.kernel, m=problem.m, n=problem.n, k=problem.k, a_type=kind,
            d_type=kind, row_outputs=rows,
            activation=RELU if problem.layer else SOFTMAX if "softmax" in words else 0)
        size = problem.m * 3 * 4
        rows = self.context.buffer(size, memory(size)[0]) if rows else None
        self.runs = [self.plan.make_run(IN_BUFFER, self.a, d, rows) for d in self.d]
        self.about = (f"{self.plan.kernel} on {self.context.name}, {self.context.platform}"
                      f" ({self.context.driver}), vectors of {self.context.width} floats")
        self.last = None
        self.run = getattr(self, "_" + problem.options.variant, self._device)
        if problem.options.variant == "stream":
            self.drain = self._drain
        if problem.options.variant == "host":
            self.runs = [self.plan.make_run(ON_HOST, problem.a, problem.d, None)]
            self.read = lambda: None

    def _device(self):
        self.plan.submit(self.runs[0])
        self.context.finish()

    def _host(self):
        self.plan.run(self.runs[0])

    def _stream(self):
        event = c_void_p()
        self.plan.submit(self.runs[0], None, event)
        self.runs.reverse()
        self._drain()
        self.last = event

    def _drain(self):
        if self.last:
            self.context.wait(self.last)
        self.last = None

    def _clock(self):
        first, last = c_void_p(), c_void_p()
        self.plan.submit(self.runs[0], first, last)
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


class Launch(OnDevice):
    """A kernel without effect, with M work-groups of one work-item."""

    def __init__(self, problem):
        super().__init__(problem)
        cl = self.context.cl
        program = c_void_p(cl.clCreateProgramWithSource(
            self.context.cl_context, 1, byref(ctypes.c_char_p(NOTHING)), None, None))
        good(cl.clBuildProgram(program, 0, None, None, None, None), "clBuildProgram")
        self.kernel = c_void_p(cl.clCreateKernel(program, b"nothing", byref(c_int())))
        good(cl.clSetKernelArg(self.kernel, 0, c_size_t(8), byref(self.a)), "clSetKernelArg")
        self.groups, self.local = c_size_t(problem.m), c_size_t(1)
        self.about = f"{self.context.name}, {self.context.driver}"

    def run(self):
        """Runs it, and waits."""
        good(self.context.cl.clEnqueueNDRangeKernel(
            self.context.queue, self.kernel, 1, None, byref(self.groups), byref(self.local), 0,
            None, None), "clEnqueueNDRangeKernel")
        self.context.finish()
