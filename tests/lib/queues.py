#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs on device buffers, strided: queues in order and out of order, events, operands of a run's
own."""

from ctypes import byref, c_uint64, c_void_p

from gemmcl import Plan, Refused, TestCase, ask, call, describe, get_device, pointer, np
from library import IN_BUFFER, Data, good
from tap_unittest import main

SIZE = 20
OUT_OF_ORDER = 1  # CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE


class Buffer:
    """A buffer of SIZE x SIZE numbers, or wider."""

    def __init__(self, value, width=SIZE):
        self.array = np.full((SIZE, width), value, "f4")
        self._as_parameter_ = get_device().buffer(self.array.nbytes, self.array.ctypes.data)
        self.data = Data(kind=IN_BUFFER)
        self.data.objects[0] = self._as_parameter_

    def release(self):
        get_device().cl.clReleaseMemObject(self._as_parameter_)


class Queues(TestCase):
    def setUp(self):
        super().setUp()
        self.cl, self.queue = get_device().cl, get_device().queue
        self.cl.clCreateUserEvent.restype = c_void_p

    def make_buffer(self, value, width=SIZE):
        buffer = Buffer(value, width)
        self.addCleanup(buffer.release)
        return buffer

    def make_queue(self, properties):
        queue = c_void_p(self.cl.clCreateCommandQueue(
            get_device().cl_context, get_device().device, c_uint64(properties), None))
        if queue:
            self.addCleanup(self.cl.clReleaseCommandQueue, queue)
        return queue

    def make_gate(self):
        gate = c_void_p(self.cl.clCreateUserEvent(get_device().cl_context, None))
        self.addCleanup(self.cl.clReleaseEvent, gate)
        return gate

    def open_gate(self, gate, done):
        good(self.cl.clSetUserEventStatus(gate, 0), "clSetUserEventStatus")
        get_device().wait(done)

    def make_plan(self, b, **fields):
        return Plan(describe(SIZE, SIZE, SIZE, **fields), b=np.full((SIZE, SIZE), b))

    def submit(self, plan, a, d, beta=0, queue=None, wait=None, b=None, c=None):
        """Enqueues a run. Returns its first and its last event."""
        events = c_void_p(), c_void_p()
        waits = (c_void_p * 1)(wait)
        run = plan.make_run(a=pointer(a.data), d=pointer(d.data), strided=True, beta=beta,
                            queue=queue, n_wait=bool(wait), wait=pointer(waits),
                            b=b and b._as_parameter_, c=c and c._as_parameter_)
        ask("plan_submit", plan, byref(run), *map(byref, events))
        return events

    def enqueue(self, *arguments, **others):
        """Enqueues a run. Returns its last event, which the end of the test releases."""
        first, done = self.submit(*arguments, **others)
        for event in first, done:
            self.addCleanup(self.cl.clReleaseEvent, event)
        self.cl.clRetainEvent(done)
        return done

    def holds(self, buffer, value):
        get_device().read(buffer, buffer.array.nbytes, buffer.array.ctypes.data)
        np.testing.assert_allclose(buffer.array, value, 1e-6)

    def test_in_order(self):
        """D of a run is A of the next; buffers may be released as soon as all is enqueued."""
        plan, last = self.make_plan(0.1), self.make_buffer(1)
        a, d = Buffer(5), Buffer(0)
        for run in (a, d), (d, a), (a, last):
            self.enqueue(plan, *run, queue=self.queue)
        a.release()
        d.release()
        self.holds(last, 40)

    def test_out_of_order(self):
        """Steps of a run (pack, multiply, softmax) wait for each other, and a run for what it is
        told."""
        queue = self.make_queue(OUT_OF_ORDER)
        if not queue:
            self.skipTest("the device has no queues that run out of order")
        a, b, d = map(self.make_buffer, (1, 3, 7))
        start, plan = self.make_gate(), self.make_plan(9, activation="softmax")
        done = self.enqueue(plan, a, d, b=b, queue=queue, wait=start)
        good(self.cl.clFlush(queue), "clFlush")
        self.holds(d, 7)
        self.open_gate(start, done)
        self.holds(d, 1 / SIZE)

    def test_own_operands(self):
        """B and C of a run's own go before the plan's, for that run only."""
        plan = self.make_plan(1, addend="matrix")
        a, b, c, d = map(self.make_buffer, (1, 2, 5, 0))
        for own, expected in (({}, SIZE), ({"b": b, "c": c}, 2 * SIZE + 5), ({}, SIZE)):
            self.enqueue(plan, a, d, beta=1, queue=self.queue, **own)
            self.holds(d, expected)

    def test_accumulate(self):
        """C <- A B + C, in place."""
        plan, a, d = self.make_plan(1, addend="output"), self.make_buffer(1), self.make_buffer(100)
        for _ in range(3):
            self.enqueue(plan, a, d, beta=1, queue=self.queue)
        self.holds(d, 100 + 3 * SIZE)

    def test_without_profiling(self):
        """The last run that has a time stands for runs in a queue without profiling."""
        plan, queue = self.make_plan(1), self.make_queue(0)
        a, d = self.make_buffer(1), self.make_buffer(0)
        times = []
        for each in None, queue, queue, queue:
            get_device().wait(self.enqueue(plan, a, d, queue=each))
            times.append(plan.get_stats().kernel_ns)
        self.assertGreater(times[0], 0)
        self.assertEqual(plan.get_stats().runs, 4)
        self.assertAlmostEqual(times[3], 4 * times[0], delta=4)

    def test_set_while_waiting(self):
        """Weights that are set while a run that uses the old ones has not started yet."""
        plan, queue, start = self.make_plan(1), self.make_queue(0), self.make_gate()
        a, d = self.make_buffer(1), self.make_buffer(0)
        done = self.enqueue(plan, a, d, queue=queue, wait=start)
        plan.set("b", np.full((SIZE, SIZE), 2))
        self.open_gate(start, done)
        self.holds(d, SIZE)
        self.enqueue(plan, a, d, queue=queue)
        good(self.cl.clFinish(queue), "clFinish")
        self.holds(d, 2 * SIZE)

    def test_wrong_queue(self):
        """An OpenCL error is reported by its name; drivers differ in which one it is here."""
        other = c_void_p(ask("context_new", None))
        self.addCleanup(get_device().lib.g_object_unref, other)
        queue = c_void_p(call("context_get_cl_queue", other))
        plan, a, d = self.make_plan(1), self.make_buffer(1), self.make_buffer(1)
        try:
            self.enqueue(plan, a, d, queue=queue)
        except Refused as error:
            self.assertEqual(error.code, "opencl")
            self.assertIn("CL_INVALID_", str(error))
            return
        good(self.cl.clFinish(queue), "clFinish")
        self.skipTest("the driver takes a queue of another context")

    def test_first_and_last(self):
        """A run in two steps has two events, which tell its start and its end."""
        for kernel, one in ("gemm_naive", True), ("gemm_naive/2", False):
            plan = Plan(describe(SIZE, SIZE, 32, lda=32), kernel)
            a, d = self.make_buffer(0, 32), self.make_buffer(0)
            first, last = self.submit(plan, a, d, b=a)
            self.assertEqual(first.value == last.value, one)
            get_device().wait(last)
            self.cl.clReleaseEvent(first)


if __name__ == "__main__":
    main()
