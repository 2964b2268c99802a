# SPDX-License-Identifier: LGPL-2.1-or-later
"""A device clock whose times a test sets."""

import ctypes
from collections import Counter
from ctypes import c_size_t, c_uint64, c_void_p

from gemmcl import get_device, get_name
from library import PROFILING_END, Data, Run, good

USUAL = 200


class Clock:
    """Replaces the device's clock until the test ends: a run of a kernel takes the microseconds
    that the test sets.

    times: of the kernels that do not take the usual time
    counts, rows: the library's own runs of each kernel since reset(), and M of the last one; 0 is
        all rows
    broken: a kernel that computes twice what it should
    spoilt: a kernel and the element of its f32 D that is a hundredth too large"""

    def __init__(self, test):
        self.kernels = {}  # of events
        self.reset()
        test.replace("gemmcl_plan_submit", self.submit)
        test.replace("clGetEventProfilingInfo", self.get_time)

    def reset(self, usual=USUAL):
        self.times, self.counts, self.rows = {}, Counter(), {}
        self.usual, self.broken, self.spoilt = usual, None, (None, 0)

    def submit(self, submit, plan, run, first, done, error):
        kernel = get_name("plan_get_kernel", c_void_p(plan))
        run = Run.from_buffer_copy(Run.from_address(run))
        if kernel == self.broken:
            run.alpha *= 2
        if not submit(plan, ctypes.addressof(run), first, done, error):
            return 0
        self.counts[kernel] += 1
        self.rows[kernel] = run.m
        for event in filter(None, (first, done)):
            self.kernels[c_void_p.from_address(event).value] = kernel
        if kernel == self.spoilt[0]:
            self.spoil(run)
        return 1

    def spoil(self, run):
        """Adds a hundredth to the element of D after the run."""
        value, at, d = ctypes.c_float(), c_size_t(4 * self.spoilt[1]), Data.from_address(run.d)
        for name, step in ("Read", 0.01), ("Write", 0):
            enqueue = getattr(get_device().cl, f"clEnqueue{name}Buffer")
            good(enqueue(c_void_p(run.queue), c_void_p(d.objects[0]), 1, at, c_size_t(4),
                         ctypes.byref(value), 0, None, None), enqueue.__name__)
            value.value += step

    def get_time(self, get_time, event, name, room, value, size):
        status = get_time(event, name, room, value, size)
        kernel = self.kernels.get(event)
        if kernel and value and not status:
            time = 1000 * self.times.get(kernel, self.usual) if name == PROFILING_END else 0
            c_uint64.from_address(value).value = time
        return status
