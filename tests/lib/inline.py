# SPDX-License-Identifier: LGPL-2.1-or-later
"""PoCL's inline device, which runs small plans in the caller's thread: which runs it does, that it
is hidden, and the results."""

import os
import threading
from ctypes import byref, c_size_t, c_void_p, cast

os.environ["POCL_DEVICES"] = "pthread basic"  # read once, at the first OpenCL call

# pylint: disable=wrong-import-position
from gemmcl import (Buffer, Plan, Refused, TestCase, ask, call, describe,  # noqa: E402
                    get_context, get_device, get_info, get_status, np)
from library import good  # noqa: E402
from tap_unittest import main  # noqa: E402

SMALL, LARGE = (16, 8, 12), (512, 512, 512)


def draw(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).integers(-8, 9, shape).astype("f4")


class Inline(TestCase):
    def setUp(self):
        super().setUp()
        self.needs_inline()
        self.cl = get_device().cl

    def solve(self, plan, b, **fields):
        """Runs the plan and compares D with NumPy's product: integers, so both are exact."""
        gemm = plan.gemm
        a, d = draw(gemm.m, gemm.k), np.zeros((gemm.m, gemm.n), "f4")
        plan.run(a=a, d=d, **fields)
        np.testing.assert_array_equal(d, a @ b)

    def count(self, plan):
        stats = plan.get_stats()
        return stats.inline_runs, stats.runs

    def test_small(self):
        """Small plans are inline with each operand, also after it was replaced; large ones not."""
        b = draw(SMALL[2], SMALL[1])
        plan = Plan(describe(*SMALL), b=b)
        for i in range(3):
            self.solve(plan, b)
            self.assertEqual(self.count(plan), (i + 1, i + 1))
        b = b[::-1] + 1
        plan.set("b", b)
        self.solve(plan, b)
        gemm = describe(*SMALL, bias=True, addend="row", beta=2)
        plan = Plan(gemm, b=b, bias=np.full((1, gemm.n), 3, "f4"), c=np.full((1, gemm.n), 5, "f4"))
        a, d = draw(gemm.m, gemm.k), np.zeros((gemm.m, gemm.n), "f4")
        plan.run(a=a, d=d, beta=2)
        np.testing.assert_array_equal(d, a @ b + 13)
        self.assertEqual(self.count(plan), (1, 1))
        b = draw(LARGE[2], LARGE[1])
        plan = Plan(describe(*LARGE), b=b)
        self.solve(plan, b)
        self.assertEqual(self.count(plan), (0, 1))

    def test_previous(self):
        """A plan that adds its previous result stays on the threads."""
        b = draw(SMALL[2], SMALL[1])
        plan = Plan(describe(*SMALL, addend="previous", beta=1), b=b)
        a, d = draw(SMALL[0], SMALL[2]), np.zeros(SMALL[:2], "f4")
        for i in range(1, 4):
            plan.run(a=a, d=d, beta=1)
            np.testing.assert_array_equal(d, i * (a @ b))
        self.assertEqual(self.count(plan), (0, 3))

    def test_waiting(self):
        """A run that waits for an event is on the threads, and so is a later one, which it
        precedes. When they are done, runs are inline again."""
        b = draw(SMALL[2], SMALL[1])
        plan = Plan(describe(*SMALL), b=b)
        a, d = Buffer(draw(SMALL[0], SMALL[2])), Buffer(np.zeros(SMALL[:2], "f4"))
        gate, done = c_void_p(self.cl.clCreateUserEvent(get_device().cl_context, None)), []
        try:
            for wait in (gate,), ():
                event = c_void_p()
                run = plan.make_run(a=a, d=d, n_wait=len(wait),
                                    wait=cast((c_void_p * 1)(*wait), c_void_p))
                ask("plan_submit", plan, byref(run), None, byref(event))
                done.append(event)
            self.assertEqual(self.count(plan), (0, 0))
        finally:
            good(self.cl.clSetUserEventStatus(gate, 0), "clSetUserEventStatus")
        for event in done:
            good(self.cl.clWaitForEvents(1, byref(event)), "clWaitForEvents")
            self.cl.clReleaseEvent(event)
        self.cl.clReleaseEvent(gate)
        self.assertEqual(self.count(plan), (0, 2))
        self.solve(plan, b)
        self.assertEqual(self.count(plan), (1, 3))

    def test_threads(self):
        """Threads with plans of one context replace their operands and run."""
        b = draw(SMALL[2], SMALL[1])
        plans, faults = [Plan(describe(*SMALL), b=b) for _ in range(4)], []

        def play(plan):
            try:
                for i in range(100):
                    plan.set("b", b + i)
                    self.solve(plan, b + i)
            except (AssertionError, Refused) as error:
                faults.append(str(error))

        threads = [threading.Thread(target=play, args=(plan,)) for plan in plans]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        for plan in plans:
            self.assertEqual(self.count(plan), (100, 100))

    def test_queue(self):
        """Commands in a queue of the inline device are done when the call returns."""
        queue = c_void_p(call("context_create_inline_queue", get_context()))
        self.addCleanup(self.cl.clReleaseCommandQueue, queue)
        data, event = Buffer(draw(16)), c_void_p()
        for _ in range(100):
            good(self.cl.clEnqueueFillBuffer(queue, data, bytes(4), c_size_t(4), c_size_t(0),
                                             c_size_t(64), 0, None, byref(event)), "fill")
            self.assertEqual(get_status(event), 0)
            self.cl.clReleaseEvent(event)


class Hidden(TestCase):
    def test_hidden(self):
        """The device of the tests is not the inline one."""
        self.assertNotRegex(get_info().name, b"^(basic|cpu-minimal)-")


if __name__ == "__main__":
    main()
