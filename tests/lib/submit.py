#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs of a plan that are under way at once, what they wait for and what is refused."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_void_p

from gemmcl import (Plan, TestCase, ask, call, describe, get_device, make, np, on_host)
from library import IN_BUFFER, Data, Run, good
from tap_unittest import main

M, N, K, RUNS = 33, 5, 17, 6
IN_IMAGES, B, BIAS = 2, 0, 1  # GemmclDataKind, GemmclPlanOperand
EXECUTION_STATUS, FAILED = 0x11d3, -1  # CL_EVENT_COMMAND_EXECUTION_STATUS


def fill(value):
    return np.full((K, N), value, "f4")


def keep(struct):
    """The address of a structure, or of an event, which stays as long as the address."""
    return ctypes.cast((type(struct) * 1)(struct), c_void_p)


class Submit(TestCase):
    def setUp(self):
        super().setUp()
        self.cl = get_device().cl
        self.cl.clCreateUserEvent.restype = c_void_p
        self.plan = Plan(describe(M, N, K), b=fill(1))
        # Run i has an A full of i + 1.
        self.a = [np.full((M, K), i + 1, "f4") for i in range(RUNS)]
        self.d = [np.zeros((M, N), "f4") for i in range(RUNS)]
        self.done = {}

    def submit(self, i, **fields):
        done = c_void_p()
        run = self.plan.make_run(**{"a": self.a[i], "d": self.d[i], **fields})
        ask("plan_submit", self.plan, byref(run), None, byref(done))
        self.addCleanup(self.cl.clReleaseEvent, done)
        self.done[i] = done

    def finish(self, i, expected):
        good(self.cl.clWaitForEvents(1, byref(self.done[i])), "clWaitForEvents")
        self.same(self.d[i], np.full((M, N), expected))

    def submit_gated(self, i, **fields):
        """A run that waits until somebody opens the gate."""
        gate = c_void_p(self.cl.clCreateUserEvent(get_device().cl_context, None))
        self.submit(i, n_wait=1, wait=keep(gate), **fields)
        return gate

    def check_waits(self, i):
        status = c_int()
        self.cl.clGetEventInfo(self.done[i], EXECUTION_STATUS, c_size_t(4), byref(status), None)
        self.assertGreater(status.value, 0)

    def open_gate(self, gate, status=0):
        good(self.cl.clSetUserEventStatus(gate, status), "clSetUserEventStatus")
        self.cl.clReleaseEvent(gate)

    def test_order(self):
        for order in range(RUNS), reversed(range(RUNS)):
            for i in order:
                self.submit(i)
            for i in range(RUNS):
                self.finish(i, K * (i + 1))
        stats = self.plan.get_stats()
        self.assertEqual((stats.runs, stats.bytes_in, stats.bytes_out, stats.flops),
                         (2 * RUNS, 2 * RUNS * M * K * 4, 2 * RUNS * M * N * 4,
                          2.0 * M * N * K * 2 * RUNS))

    def test_many(self):
        """Nobody waits for them but the plan that is dropped: statistics have only those that are
        done."""
        for i in range(500):
            self.submit(i % RUNS)
        for i in range(RUNS):
            self.finish(i, K * (i + 1))
        self.assertEqual(self.plan.get_stats().runs, 500)
        self.submit(0)
        self.submit(1)
        self.plan = None

    def test_changes(self):
        """Each has what was set when it was submitted."""
        self.submit(0)
        self.plan.set("b", fill(10))
        self.submit(1)
        self.submit(2, alpha=0.5)
        for i, expected in enumerate((K, 20 * K, 15 * K)):
            self.finish(i, expected)

    def test_prepare(self):
        """Operands are prepared while a run cannot go on, and are those of the next one."""
        gate = self.submit_gated(0)
        prepared, dropped = (c_void_p(ask("plan_prepare", self.plan, B, make(fill(value))))
                             for value in (3, 4))
        self.refuses("invalid", "without a bias", "plan_prepare", self.plan, BIAS, make(fill(3)))
        self.submit(1)
        call("plan_use", self.plan, prepared)
        call("prepared_free", prepared)
        self.submit(2)
        self.check_waits(0)
        self.open_gate(gate)
        for i, expected in enumerate((K, 2 * K, 9 * K)):
            self.finish(i, expected)
        call("prepared_free", dropped)

    def test_wait(self):
        """A run waits for what it is told, and fails with it; and so do those that are told of its
        end. It is no end of the plan."""
        for fails in False, True:
            # An odd address is copied, and not worked in.
            for shift in 0, 1:
                self.setUp()
                d = np.zeros(M * N + 1, "f4")[shift:]
                gate = self.submit_gated(0, d=d)
                self.check_waits(0)
                self.open_gate(gate, FAILED if fails else 0)
                self.assertEqual(bool(self.cl.clWaitForEvents(1, byref(self.done[0]))), fails)
                run = self.plan.make_run(a=self.a[1], d=self.d[1], n_wait=1,
                                         wait=keep(self.done[0]))
                if fails:
                    self.refuses("invalid", "failed", "plan_run", self.plan, byref(run))
                else:
                    ask("plan_run", self.plan, byref(run))
                self.submit(2)
                self.finish(2, 3 * K)
                self.assertEqual(self.plan.get_stats().runs, 1 if fails else 3)

    def test_refused(self):
        """A refused run does not affect in-flight runs."""
        self.submit(0)
        a, d = on_host([self.a[1]]), on_host([self.d[1]])
        for words, fields in [
                ("34 rows", {"m": M + 1}), ("2 batches", {"batch": 2}),
                ("shorter", {"size": Run.wait.offset}),
                ("D of problem 0", {"d": keep(Data(kind=IN_BUFFER))}),
                ("D of problem 0", {"d": keep(Data(kind=IN_IMAGES))}),
                ("D of problem 0", {"d": keep(Data())}),
                ("a buffer, from its start", {"strided": True})]:
            done = c_void_p()
            self.refuses("invalid", words, "plan_submit", self.plan,
                         byref(self.plan.make_run(**{"a": a, "d": d, **fields})), None, byref(done))
            self.assertIsNone(done.value)
        self.finish(0, K)

    def test_large(self):
        """Large ones in the caller's memory, or with copies where it lies at an odd address: alike,
        and nothing around them is written."""
        m, n, k = 200, 96, 16
        a = np.repeat(np.arange(m, dtype="f4")[:, None], k, 1)
        self.plan = Plan(describe(m, n, k), b=np.ones((k, n)))
        memory = np.full((RUNS, m * n + 2), -1, "f4")
        for i in range(RUNS):
            self.submit(i, a=a, d=memory[i, i % 3 // 2:])
            if i % 3 == 2:
                for done in range(i - 2, i + 1):
                    good(self.cl.clWaitForEvents(1, byref(self.done[done])), "clWaitForEvents")
        for i, each in enumerate(memory):
            shift = i % 3 // 2
            np.testing.assert_array_equal(each[shift:][:m * n].reshape(m, n), k * a[:, :1] +
                                          np.zeros(n))
            np.testing.assert_array_equal(np.delete(each, np.s_[shift:m * n + shift]), -1)


if __name__ == "__main__":
    main()
