# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans and their runs: operands that do not fit, smaller runs, several in-flight runs, events to
wait for, queues, statistics, refused runs, and data in buffers of the device. Each operand is full
of one number, but for problems with data in buffers."""

import os
import unittest
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p, cast

from gemmcl import (OPERANDS, Buffer, Gate, Plan, Refused, TestCase, allocate, ask, call, describe,
                    get_context, get_device, get_info, get_status, make, np, on_host)
from library import CPU, IN_BUFFER, IN_IMAGES, ON_HOST, PROFILING_END, Data, Run, good
from pixels import make_frame
from problem import Problem
from tap_unittest import main

M, N, K, RUNS, SIZE = 33, 5, 17, 6, 20
UNWRITTEN = -77
B, BIAS = 0, 1  # GemmclPlanOperand
FAILED = -1  # the status of an event
OUT_OF_ORDER = 1  # CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
NONE, BATCH, _, _, SMALL, GAPS, OFFSET, ALIGNMENT = range(8)  # GemmclCopyReason
TIMES = 3  # that a problem runs
INVALID_VALUE = -30


def full(value, *shape):
    return np.full(shape, value, "f4")


def make_plan(*sizes, b=1, kernel=None, **fields):
    gemm = describe(*sizes, **fields)
    return Plan(gemm, kernel, **({} if b is None else {"b": full(b, gemm.k, gemm.n)}))


def solve(plan, **fields):
    """Runs with an A of ones. Returns D, with UNWRITTEN where the run wrote nothing."""
    gemm = plan.gemm
    batch, values = max(gemm.batch, 1), {"alpha": gemm.alpha, "beta": gemm.beta, **fields}
    a, d = full(1, batch, gemm.m, gemm.k), full(UNWRITTEN, batch, gemm.m, gemm.n)
    plan.run(a=list(a) if values["alpha"] else None, d=list(d), **values)
    return d


def after(event):
    return {"n_wait": 1, "wait": cast((c_void_p * 1)(event), c_void_p)}


class Plans(TestCase):
    def refuses_operands(self, plan, cases):
        """Checks that operands full of 9 are refused; cases are (operand, rows, cols, words)."""
        for name, rows, cols, words in cases:
            code = "invalid" if "has no" in words else "shape"
            operand = OPERANDS.index(name)
            self.refuses(code, words, "plan_set", plan, operand, make(full(9, rows, cols)))

    def test_shapes(self):
        """A refused operand changes nothing."""
        plan = make_plan(2, 3, 4, bias=True, addend="matrix", beta=1)
        self.refuses_operands(plan, [
            ("b", 3, 4, "B must be 4 x 3 but is 3 x 4. Transpose it."), ("b", 4, 4, "4 x 4."),
            ("b", 12, 1, "12 x 1"), ("bias", 1, 4, "bias must be 1 x 3"),
            ("bias", 4, 1, "bias must be 3 x 1"), ("bias", 3, 3, "bias"),
            ("c", 3, 2, "C must be 2 x 3"), ("c", 1, 3, "C must be 2 x 3")])
        np.testing.assert_array_equal(solve(plan), 4)
        self.refuses_operands(make_plan(2, 3, 4), [("bias", 1, 3, "has no bias"),
                                                   ("c", 2, 3, "has no C")])

    def test_operands_of_a_batch(self):
        """A plan's B and C are shared by a batch, so strides from one to the next are refused."""
        fields = dict(addend="matrix", beta=1, a_stride=8)
        for batch, refused in (2, "invalid"), (1, None):
            plan = make_plan(2, 3, 4, batch=batch, b_stride=12, c_stride=6, b=None, **fields)
            for name, shape in ("b", (4, 3)), ("c", (2, 3)):
                operand = OPERANDS.index(name), make(full(9, *shape))
                if refused:
                    words = f"share the plan's {name.upper()}"
                    self.refuses(refused, words, "plan_set", plan, *operand)
                else:
                    plan.set(name, full(9, *shape))
        make_plan(2, 3, 4, batch=2, addend="row", c_stride=6).set("c", full(9, 1, 3))

    def test_row_shapes(self):
        plan = make_plan(2, 3, 4, bias=True, addend="row", beta=2)
        self.refuses_operands(plan, [("c", 2, 3, "C must be 1 x 3")])
        np.testing.assert_array_equal(solve(plan), 4)
        for shape, value in ((3, 1), 5), ((1, 3), 6):
            for name in "c", "bias":
                plan.set(name, full(value, *shape))
            np.testing.assert_array_equal(solve(plan), 4 + 3 * value)

    def test_without_b(self):
        plan = make_plan(2, 3, 4, b=None)
        with self.assertRaisesRegex(Refused, "no B yet"):
            solve(plan)
        np.testing.assert_array_equal(solve(plan, alpha=0), 0)
        plan.set("b", full(3, 4, 3))
        np.testing.assert_array_equal(solve(plan, alpha=2), 24)

    def test_smaller(self):
        plan = make_plan(5, 3, 4, batch=3, a_stride=5 * 4)
        rows = 0
        for m in range(1, 6):
            for batch in range(1, 4):
                expected = full(UNWRITTEN, 3, 5, 3)
                expected[:batch, :m] = 4
                np.testing.assert_array_equal(solve(plan, m=m, batch=batch), expected)
                rows += m * batch
        stats = plan.get_stats()
        self.assertEqual((stats.runs, stats.flops, stats.bytes_in, stats.bytes_out),
                         (15, 2 * rows * 3 * 4, rows * 4 * 4, rows * 3 * 4))
        for fields, words in (({"m": 6}, "at most 5 rows and 3 problems, found 6 and 3"),
                              ({"batch": 4}, "found 5 and 4")):
            with self.assertRaisesRegex(Refused, words):
                solve(plan, **fields)

    def test_smaller_by_column(self):
        """Fewer rows of matrices that lie column by column, or of a transposed A, with gaps."""
        for by_column in False, True:
            for trans_a in False, True:
                plan = make_plan(5, 3, 4, layout=by_column, trans_a=trans_a, lda=6, ldd=6)
                a, d = full(np.nan, 6, 6), full(UNWRITTEN, 6, 6)
                rows = a.T if by_column != trans_a else a
                rows[:2, :4] = [[1], [2]]
                expected = d.copy()
                (expected.T if by_column else expected)[:2, :3] = [[4], [8]]
                plan.run(a=a, d=d, m=2)
                np.testing.assert_array_equal(d, expected)


class Runs(TestCase):
    def setUp(self):
        super().setUp()
        self.cl = get_device().cl

    def submit(self, plan, **fields):
        """Returns the first and the last event of a run, which the end of the test releases."""
        events = c_void_p(), c_void_p()
        ask("plan_submit", plan, byref(plan.make_run(**fields)), *map(byref, events))
        for event in events:
            self.addCleanup(self.cl.clReleaseEvent, event)
        return events

    def wait(self, event):
        good(self.cl.clWaitForEvents(1, byref(event)), "clWaitForEvents")


class Submit(Runs):
    def setUp(self):
        super().setUp()
        self.plan = make_plan(M, N, K)
        self.a = [full(i + 1, M, K) for i in range(RUNS)]
        self.d = [full(0, M, N) for i in range(RUNS)]
        self.done = {}

    def start(self, i, **fields):
        self.done[i] = self.submit(self.plan, **{"a": self.a[i], "d": self.d[i], **fields})[1]

    def finish(self, i, expected):
        self.wait(self.done[i])
        np.testing.assert_array_equal(self.d[i], expected)

    def check_waits(self, i):
        self.assertGreater(get_status(self.done[i]), 0)

    def test_many(self):
        """Runs in any order, which mostly only the end waits for. Completed ones are counted."""
        for i in range(500):
            self.start(i * 5 % RUNS)
        for i in range(RUNS):
            self.finish(i, K * (i + 1))
        stats = self.plan.get_stats()
        self.assertEqual((stats.runs, stats.bytes_in, stats.bytes_out, stats.flops),
                         (500, 500 * M * K * 4, 500 * M * N * 4, 2.0 * M * N * K * 500))
        self.start(0)
        self.start(1)
        self.plan = None

    def test_prepare(self):
        """Operands are prepared while a run waits. The next run uses them, and its own scalars."""
        gate = Gate()
        self.start(0, **after(gate.event))
        prepared, dropped = (c_void_p(ask("plan_prepare", self.plan, B, make(full(value, K, N))))
                             for value in (3, 4))
        self.refuses("invalid", "no bias", "plan_prepare", self.plan, BIAS, make(full(3, K, N)))
        self.start(1)
        call("plan_use", self.plan, prepared)
        call("prepared_free", prepared)
        self.start(2, alpha=0.5)
        self.check_waits(0)
        gate.open()
        for i, expected in enumerate((K, 2 * K, 4.5 * K)):
            self.finish(i, expected)
        call("prepared_free", dropped)

    def test_wait(self):
        """A run waits for its events, and fails if one of them fails, as do runs that wait for it.
        The plan works afterwards. Data at an odd address is copied, not used in place."""
        for fails in False, True:
            for shift in 0, 1:
                self.setUp()
                gate = Gate()
                self.start(0, d=full(0, M * N + 1)[shift:], **after(gate.event))
                self.check_waits(0)
                gate.open(FAILED if fails else 0)
                self.assertEqual(bool(self.cl.clWaitForEvents(1, byref(self.done[0]))), fails)
                run = self.plan.make_run(a=self.a[1], d=self.d[1], **after(self.done[0]))
                if fails:
                    self.refuses("invalid", "failed", "plan_run", self.plan, byref(run))
                else:
                    ask("plan_run", self.plan, byref(run))
                self.start(2)
                self.finish(2, 3 * K)
                self.assertEqual(self.plan.get_stats().runs, 1 if fails else 3)

    def test_dead_queue(self):
        """After a real failure the next run succeeds, also where a queue dies with its command."""
        queue = c_void_p(call("context_get_cl_queue", get_context()))
        gate = Gate()
        self.start(0, **after(gate.event))
        gate.open(FAILED)
        self.assertNotEqual(self.cl.clWaitForEvents(1, byref(self.done[0])), 0)
        self.start(1)
        self.finish(1, 2 * K)
        marker = c_void_p()
        good(self.cl.clEnqueueMarkerWithWaitList(queue, 0, None, byref(marker)), "clEnqueueMarker")
        self.addCleanup(self.cl.clReleaseEvent, marker)
        if self.cl.clWaitForEvents(1, byref(marker)) == 0:
            self.skipTest("the driver's queues outlive a failed command")
        self.assertNotEqual(call("context_get_cl_queue", get_context()), queue.value)

    def test_refused(self):
        self.start(0)
        a, d = on_host([self.a[1]]), on_host([self.d[1]])
        wrong = [Data(kind=kind) for kind in (IN_BUFFER, IN_IMAGES, 0)]
        for words, fields in [("found 34 and 1", {"m": M + 1}), ("found 33 and 2", {"batch": 2}),
                              ("shorter", {"size": Run.wait.offset}),
                              *(("D of problem 0", {"d": data}) for data in wrong),
                              ("a buffer, from its start", {"strided": True})]:
            done = c_void_p()
            self.refuses("invalid", words, "plan_submit", self.plan,
                         byref(self.plan.make_run(**{"a": a, "d": d, **fields})), None, byref(done))
            self.assertIsNone(done.value)
        self.finish(0, K)

    def test_large(self):
        """Large matrices are used in place, or copied from an odd address, without other writes."""
        m, n, k = 200, 96, 16
        a = np.repeat(np.arange(m, dtype="f4")[:, None], k, 1)
        self.plan = make_plan(m, n, k)
        memory = full(-1, RUNS, m * n + 2)
        for i in range(RUNS):
            self.start(i, a=a, d=memory[i, i % 3 // 2:])
            if i % 3 == 2:
                for done in range(i - 2, i + 1):
                    self.wait(self.done[done])
        for i, each in enumerate(memory):
            shift = i % 3 // 2
            np.testing.assert_array_equal(each[shift:][:m * n].reshape(m, n), k * a[:, :1] +
                                          np.zeros(n))
            np.testing.assert_array_equal(np.delete(each, np.s_[shift:m * n + shift]), -1)


def make_buffer(value, width=SIZE):
    return Buffer(full(value, SIZE, width))


class Queues(Runs):
    """Runs on device buffers: in-order and out-of-order queues, and operands of a run's own."""

    def make_queue(self, properties):
        queue = c_void_p(self.cl.clCreateCommandQueue(
            get_device().cl_context, get_device().device, c_uint64(properties), None))
        if queue:
            self.addCleanup(self.cl.clReleaseCommandQueue, queue)
        return queue

    def make_plan(self, b, **fields):
        return make_plan(SIZE, SIZE, SIZE, b=b, **fields)

    def enqueue(self, plan, a, d, **fields):
        return self.submit(plan, a=a, d=d, strided=True, **fields)

    def holds(self, buffer, value):
        found = full(UNWRITTEN, SIZE, SIZE)
        buffer.read(found)
        np.testing.assert_allclose(found, value, 1e-6)

    def test_in_order(self):
        """D of a run is A of the next; buffers may be released as soon as all is enqueued."""
        plan = self.make_plan(0.1)
        a, d, last = map(make_buffer, (5, 0, 1))
        for run in (a, d), (d, a), (a, last):
            self.enqueue(plan, *run, queue=get_device().queue)
        del a, d, run
        self.holds(last, 40)

    def test_out_of_order(self):
        """Steps of a run (pack, multiply, softmax) wait for each other, and for its events."""
        queue = self.make_queue(OUT_OF_ORDER)
        if not queue:
            self.skipTest("the device has no queues that run out of order")
        a, b, d = map(make_buffer, (1, 3, 7))
        gate, plan = Gate(), self.make_plan(9, activation="softmax")
        _, done = self.enqueue(plan, a, d, b=b, queue=queue, **after(gate.event))
        good(self.cl.clFlush(queue), "clFlush")
        self.holds(d, 7)
        gate.open()
        self.wait(done)
        self.holds(d, 1 / SIZE)

    def test_own_operands(self):
        """B and C of a run's own replace the plan's, for that run only."""
        plan = self.make_plan(1, addend="matrix")
        a, b, c, d = map(make_buffer, (1, 2, 5, 0))
        for own, expected in (({}, SIZE), ({"b": b, "c": c}, 2 * SIZE + 5), ({}, SIZE)):
            self.enqueue(plan, a, d, beta=1, queue=get_device().queue, **own)
            self.holds(d, expected)

    def test_without_profiling(self):
        """The time of runs in a queue without profiling is estimated by the last timed run."""
        plan, queue = self.make_plan(1), self.make_queue(0)
        a, d = make_buffer(1), make_buffer(0)
        times = []
        for each in None, queue, queue, queue:
            self.wait(self.enqueue(plan, a, d, queue=each)[1])
            times.append(plan.get_stats().kernel_ns)
        self.assertGreater(times[0], 0)
        self.assertEqual(plan.get_stats().runs, 4)
        self.assertAlmostEqual(times[3], 4 * times[0], delta=4)

    def test_impossible_time(self):
        """A time of 1 ns, which some drivers report for every command, counts as none."""
        def get_time(_next, _event, name, _room, value, _size):
            c_uint64.from_address(value).value = 7 + (name == PROFILING_END)
            return 0
        plan = self.make_plan(1)
        a, d = make_buffer(1), make_buffer(0)
        self.wait(self.enqueue(plan, a, d)[1])
        time = plan.get_stats().kernel_ns
        self.replace("clGetEventProfilingInfo", get_time)
        self.wait(self.enqueue(plan, a, d)[1])
        self.assertAlmostEqual(plan.get_stats().kernel_ns, 2 * time, delta=2)

    def test_wrong_queue(self):
        """An OpenCL error is reported by its name, which here depends on the driver."""
        queue = c_void_p(call("context_get_cl_queue", self.make_context()))
        plan, a, d = self.make_plan(1), make_buffer(1), make_buffer(1)
        try:
            self.enqueue(plan, a, d, queue=queue)
        except Refused as error:
            self.assertEqual(error.code, "opencl")
            self.assertIn("CL_INVALID_", str(error))
            return
        good(self.cl.clFinish(queue), "clFinish")
        self.skipTest("the driver takes a queue of another context")

    def test_first_and_last(self):
        """A run of two steps has two events: the first step's and the last one's."""
        for kernel, one in ("gemm_naive", True), ("gemm_naive/2", False):
            plan = make_plan(SIZE, SIZE, 32, b=None, kernel=kernel, lda=32)
            a, d = make_buffer(0, 32), make_buffer(0)
            first, last = self.enqueue(plan, a, d, b=a)
            self.assertEqual(first.value == last.value, one)
            self.wait(last)


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
    """A or D in buffers of the device, for all problems of a batch or for some."""

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
        for _ in range(TIMES):
            ask("plan_run", plan, byref(run))
        on_host = problem.d.elements.copy()
        d.read(end)
        for i in range(batch):
            if not d_sides >> i & 1:
                problem.d.elements[i] = on_host[i]
        self.assertIsNone(problem.check(), (a_sides, d_sides, fields))
        stats = plan.get_stats()
        self.assertEqual((stats.runs, stats.copies),
                         (TIMES, TIMES * batch * sum(reason != NONE for reason in why)))
        for size, sides, found in ((gemm.m * gemm.k, a_sides, stats.bytes_in),
                                   (gemm.m * gemm.n, d_sides, stats.bytes_out)):
            count = sum(not sides >> i & 1 for i in range(batch))
            self.assertEqual(found, TIMES * count * size * 4)

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
