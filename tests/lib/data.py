# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs with A or D in buffers of the device, for all problems of a batch or for some."""

import os
import unittest
from ctypes import byref, c_int, c_size_t, c_void_p

from gemmcl import Buffer, Plan, TestCase, allocate, ask, call, describe, get_device, get_info, np
from library import CPU, IN_BUFFER, ON_HOST, Data
from pixels import make_frame
from problem import Problem
from tap_unittest import main

NONE, BATCH, _, _, SMALL, GAPS, OFFSET, ALIGNMENT = range(8)  # GemmclCopyReason
RUNS = 3
INVALID_VALUE = -30


def make_data(operand, buffer, sides):
    """The GemmclData of an operand: in the buffer where the bit of sides is set, or on the host."""
    data = (Data * len(operand.elements))()
    for i, (each, elements) in enumerate(zip(data, operand.elements)):
        each.kind = IN_BUFFER if sides >> i & 1 else ON_HOST
        each.host[0], each.objects[0] = elements.ctypes.data, buffer._as_parameter_
        each.offset[0] = elements.ctypes.data - operand.flat.ctypes.data
    return data


def explain(plan, run):
    why_a, why_d = c_int(), c_int()
    call("plan_explain_copies", plan, byref(run), byref(why_a), byref(why_d))
    return why_a.value, why_d.value


class Sides(TestCase):
    def solve(self, a_sides, d_sides, **fields):
        """A and D of problem i are on the device where bit i of the sides is set."""
        problem = Problem(37, 21, 19, **fields)
        gemm, flat = problem.gemm, problem.d.flat
        batch = len(problem.d.elements)
        plan = problem.make_plan()
        # The buffer ends with D's last element, so that the last row has no gap.
        end = flat[:(problem.d.elements[-1, -1, -1:].ctypes.data - flat.ctypes.data) // 4 + 1]
        a, d = Buffer(problem.a.flat), Buffer(end)
        run = plan.make_run(a=make_data(problem.a, a, a_sides), d=make_data(problem.d, d, d_sides))
        why = explain(plan, run)
        for reason in why:
            self.assertEqual(reason == BATCH, batch > 1)
        for _ in range(RUNS):
            ask("plan_run", plan, byref(run))
        on_host = problem.d.elements.copy()
        d.read(end)
        for i in range(batch):
            if not d_sides >> i & 1:
                problem.d.elements[i] = on_host[i]
        self.assertIsNone(problem.check(), (a_sides, d_sides, fields))
        stats = plan.get_stats()
        self.assertEqual((stats.runs, stats.copies),
                         (RUNS, RUNS * batch * sum(reason != NONE for reason in why)))
        for size, sides, found in ((gemm.m * gemm.k, a_sides, stats.bytes_in),
                                   (gemm.m * gemm.n, d_sides, stats.bytes_out)):
            count = sum(not sides >> i & 1 for i in range(batch))
            self.assertEqual(found, RUNS * count * size * 4)

    def test_sides(self):
        """Matrices without gaps, and with gaps, which stay; batches partly on the host."""
        for fields in ({}, {"lda": 23, "ldd": 30},
                       {"lda": 23, "ldd": 30, "a_start": 5, "d_start": 7},
                       {"a_start": 5, "d_start": 7}, {"trans_a": True, "lda": 40}):
            for a_sides in 0, 1:
                for d_sides in 0, 1:
                    self.solve(a_sides, d_sides, **fields)
        for a_sides in 0, 7, 2, 5:
            for d_sides in 0, 7, 2, 5:
                self.solve(a_sides, d_sides, batch=3, a_stride=37 * 19 + 3, d_stride=37 * 21 + 1)

    def test_reasons(self):
        device = get_info()
        if device.type != CPU or not device.host_unified:
            self.skipTest("the device is no CPU that shares the host's memory")
        memory = allocate(2 * 64 * 64 * 4, "u1")
        buffer = Buffer(memory)
        for kind, offset, ld, why_a, why_d in [
                (ON_HOST, 0, 0, NONE, SMALL), (ON_HOST, 4, 0, ALIGNMENT, SMALL),
                (ON_HOST, 0, 68, GAPS, SMALL), (IN_BUFFER, 0, 0, NONE, NONE),
                (IN_BUFFER, 64, 0, OFFSET, OFFSET), (IN_BUFFER, 0, 68, GAPS, GAPS)]:
            data = buffer.describe(offset=(offset,))
            if kind == ON_HOST:
                data = Data(host=(memory.ctypes.data + offset,))
            plan = Plan(describe(64, 64, 64, lda=ld, ldd=ld), "gemm_naive", b=np.zeros((64, 64)))
            for alpha, expected in (1, why_a), (0, NONE):
                run = plan.make_run(a=data, d=data, alpha=alpha)
                self.assertEqual(explain(plan, run), (expected, why_d))

    def test_frames(self):
        nv12, grey = make_frame(6, 4, "NV12", kr=0.299, kb=0.114), make_frame(6, 4, "GRAY8")
        plan = Plan(describe(24, 1, 3, a_frame=nv12, d_frame=grey), b=[[0.299], [0.587], [0.114]])
        frame, found = np.full(100, 128, "u1"), np.full(40, 7, "u1")
        luma = 9 * np.arange(24).reshape(4, 6)
        np.lib.stride_tricks.as_strided(frame[3:], (4, 6), (10, 1))[...] = 16 + luma
        pixels = np.lib.stride_tricks.as_strided(found[1:], (4, 6), (7, 1))
        a, d = Buffer(frame), Buffer(found)
        of_a = a.describe(offset=(3, 60), stride=(10, 8))
        of_a.objects[1] = of_a.objects[0]
        plan.run(a=of_a, d=d.describe(offset=(1,), stride=(7,)))
        d.read(found)
        np.testing.assert_allclose(pixels, np.minimum(255, luma * 255 / 219), atol=1)
        pixels[...] = 7
        self.assertTrue((found == 7).all())


@unittest.skipUnless("OPENCL_LAYERS" in os.environ, "built without OpenCL layers")
class Strict(TestCase):
    def test_refuses(self):
        """The layer that makes the device of these tests strict is loaded: it refuses a rectangle
        whose last row has no gap, and accepts one whose last row has a gap."""
        device = get_device()
        found = np.zeros(16, "u1")
        sizes = [(c_size_t * 3)(*size) for size in ((0, 0, 0), (4, 2, 1))]
        for size, status in (12, INVALID_VALUE), (16, 0):
            buffer = Buffer(np.arange(size, dtype="u1"))
            self.assertEqual(device.cl.clEnqueueReadBufferRect(
                device.queue, buffer, 1, sizes[0], sizes[0], sizes[1], c_size_t(8), c_size_t(0),
                c_size_t(8), c_size_t(0), found.ctypes.data_as(c_void_p), 0, None, None), status)
        self.assertEqual(found.tolist(), [0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11, 0, 0, 0, 0])


main()
