# SPDX-License-Identifier: LGPL-2.1-or-later
"""gemmcl_plan_auto_tune(): a plan runs without a pause while a faster kernel, by the test's clock
(clock.py), is found and takes over. Each result is compared with a reference."""

import fcntl
import os
import time
from collections import deque
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_int64, c_void_p

from clock import Clock
from gemmcl import (LIB, Plan, Result, TestCase, ask, call, describe, enter_cache, get_context,
                    get_device, get_name, list_candidates, list_searches, make, np, obstructed)
from library import CPU
from tap_unittest import main

M, N, K = 32, 64, 32
DEPTH = 3  # in-flight runs
LIMIT = 600  # seconds that a step may take on a busy machine
FOREVER = 2**63 - 1  # microseconds
FAST = 10  # microseconds: a search rests 49 times as long
USUAL = 20  # of kernels that are neither fast nor slow
SLOW = 900  # so long that its first run is not repeated
AUTO, ON, OFF = range(3)  # GemmclAutoTune
LOG_FUNCTION = CFUNCTYPE(None, c_char_p, c_int, c_char_p, c_void_p)
OPERANDS = {"b": (K, N), "bias": (1, N), "c": (M, N)}  # in the order of GemmclPlanOperand


def draw(shape, seed):
    """Integers so small that f32 is exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype("f4")


class Flow:
    """Runs of a plan, each with another A."""

    def __init__(self, kernel=None, mode=ON, addend="none", context=None):
        self.plan = Plan(describe(M, N, K, bias=True, addend=addend), kernel, context)
        self.first, self.source = self.plan.kernel, self.plan.source
        call("plan_auto_tune", self.plan, mode)
        self.previous = np.zeros((M, N), "f4") if addend == "previous" else None
        self.operands = {"bias": 0, "c": 0}
        self.set("b", 1)
        self.runs, self.count = deque(), 0

    def set(self, name, seed):
        self.operands[name] = draw(OPERANDS[name], seed)
        self.plan.set(name, self.operands[name])

    def prepare(self, name, seed):
        return c_void_p(ask("plan_prepare", self.plan, list(OPERANDS).index(name),
                            make(draw(OPERANDS[name], seed))))

    def use(self, prepared, name, seed):
        call("plan_use", self.plan, prepared)
        self.operands[name] = draw(OPERANDS[name], seed)

    def get_tuning(self):
        result, why = POINTER(Result)(), c_char_p()
        state = call("plan_get_tuning", self.plan, byref(result), byref(why), result=c_int)
        return get_name("tuning_state_get_name", state), result, why.value

    def is_final(self):
        return self.get_tuning()[0] in ("kept", "swapped", "failed")

    def has_result(self):
        return bool(self.get_tuning()[1])

    def run(self, count=40):
        """Submits runs; waits for the oldest of DEPTH, and checks it."""
        for _ in range(count):
            if len(self.runs) == DEPTH:
                self.check()
            a, d, done = draw((M, K), self.count), np.empty((M, N), "f4"), c_void_p()
            expected = a @ self.operands["b"] + self.operands["bias"] + self.operands["c"]
            if self.previous is not None:
                self.previous = expected = expected + self.previous
            run = self.plan.make_run(a=a, d=d, beta=1)
            ask("plan_submit", self.plan, byref(run), None, byref(done))
            self.runs.append((done, a, d, expected))
            self.count += 1

    def check(self, count=1):
        for _ in range(count):
            done, _, d, expected = self.runs.popleft()
            get_device().wait(done)
            np.testing.assert_array_equal(d, expected)

    def run_until(self, is_so, change=lambda: None):
        """Calls change() and runs in turns, with pauses for other threads, until is_so()."""
        end = time.monotonic() + LIMIT
        while not is_so():
            assert time.monotonic() < end, (self.get_tuning(), self.count)
            change()
            self.run(1)
            time.sleep(2e-4)

    def cancel(self, microseconds=FOREVER):
        """Cancels the search. Returns whether its thread has ended."""
        return call("plan_cancel_tuning", self.plan, c_int64(microseconds), result=c_int)


class AutoTune(TestCase):
    def setUp(self):
        super().setUp()
        get_context()
        self.clock = Clock(self)
        self.begin()

    def begin(self):
        """Forgets earlier results, and makes another kernel than the rules' choice the fastest."""
        ask("tuning_forget", get_context())
        self.slow, self.kernel = list_candidates(describe(M, N, K, bias=True))[1:3]
        self.clock.reset(USUAL)
        self.clock.times[self.kernel] = FAST

    def is_first(self, flow, state):
        self.assertEqual((flow.get_tuning()[0], flow.plan.kernel), (state, flow.first))

    def is_swapped(self, flow):
        self.assertEqual((flow.get_tuning()[0], flow.plan.kernel, flow.plan.source),
                         ("swapped", self.kernel, "tuned"))

    def finish(self, flow):
        """All runs are right, and were counted."""
        flow.run()
        flow.check(len(flow.runs))
        self.assertTrue(flow.cancel())
        stats = flow.plan.get_stats()
        self.assertEqual((stats.runs, stats.flops), (flow.count, 2 * M * N * K * flow.count))

    def swap(self, flow, change=lambda: None):
        flow.run_until(flow.is_final, change)
        self.is_swapped(flow)
        self.finish(flow)

    def test_swap(self):
        """A plan with all operands changes its kernel. The next plan takes it from the file."""
        flow = Flow(addend="matrix")
        flow.set("bias", 2)
        flow.set("c", 3)
        self.assertEqual(flow.source, "rules")
        self.swap(flow)
        self.is_swapped(flow)
        _, result, why = flow.get_tuning()
        self.assertEqual((result[0].first[0].name, result[0].best[0].name, result[0].stored, why),
                         (flow.first, self.kernel, True, None))
        self.clock.reset()
        flow = Flow(addend="matrix")
        self.finish(flow)
        self.assertEqual((flow.first, flow.get_tuning()[0]), (self.kernel, "known"))
        self.assertFalse(self.clock.counts)

    def test_previous(self):
        """The new kernel continues with the previous result."""
        self.swap(Flow(addend="previous"))

    def test_operands(self):
        """Operands that change during the search pass to the new kernel, too."""
        flow = Flow()

        def change():
            if flow.count % 10 == 0:
                flow.set("b", flow.count)
            if flow.count % 35 == 0:
                flow.set("bias", flow.count)
        self.swap(flow, change)
        flow.set("b", 1000)
        flow.set("bias", 1000)
        flow.run()
        flow.check(len(flow.runs))

    def test_prepared(self):
        """A prepared operand delays the new kernel until the operand is used or freed. After its
        use it holds the operand that it replaced, which delays nothing."""
        for is_used in True, False:
            self.begin()
            with obstructed("clCreateBuffer"):  # The search cannot end.
                flow = Flow()
                prepared = flow.prepare("b", 2)
            flow.run_until(flow.has_result)
            for _ in range(5):
                flow.run()
                time.sleep(0.1)
            self.is_first(flow, "searching")
            if is_used:
                flow.use(prepared, "b", 2)
                flow.run_until(flow.is_final)
            call("prepared_free", prepared)
            self.swap(flow)

    def use_bias(self, fails=False):
        """Changes the bias of a flow after the search, while clCreateBuffer is obstructed for the
        thread that prepares the bias for the new kernel. Returns the flow."""
        with obstructed("clCreateBuffer"):  # The search cannot end.
            flow = Flow()
            prepared = flow.prepare("bias", 5)
        flow.run_until(flow.has_result)
        with obstructed("clCreateBuffer", fails) as is_reached:
            flow.use(prepared, "bias", 5)
            call("prepared_free", prepared)
            flow.run_until(is_reached)
            flow.run()
            if fails:
                flow.run_until(flow.is_final)
            else:
                self.is_first(flow, "searching")
        return flow

    def test_block(self):
        """Runs go on while the thread prepares an operand that changed, however long that takes."""
        self.swap(self.use_bias())

    def test_stuck(self):
        """A compiler that does not return holds up the search alone; others compile, too."""
        context = self.make_context()  # which has built no candidate yet
        with obstructed("clBuildProgram") as is_reached:
            flow = Flow(context=context)
            flow.run_until(is_reached)
            flow.run()
            flow.check(len(flow.runs))
            self.is_first(flow, "searching")
            flow.set("b", 2)
            self.finish(Flow("gemm_naive", context=context))
            self.assertFalse(flow.cancel(0))
            begun = time.monotonic()
            self.assertFalse(flow.cancel(100000))
            self.assertGreaterEqual(time.monotonic() - begun, 0.1)
            self.is_first(flow, "off")
            del flow

    def test_drop(self):
        """A plan is dropped, or its search cancelled, at any moment."""
        for i in range(8):
            self.begin()
            flow = Flow()
            flow.run(1)
            time.sleep(i * i * 5e-3)
            if i % 2 == 0:
                self.assertTrue(flow.cancel())
                if not flow.is_final():
                    self.is_first(flow, "off")
                self.finish(flow)
            flow.check(len(flow.runs))
            del flow
            while list_searches():  # Meson's limit ends an endless search.
                time.sleep(1e-3)

    def test_turns(self):
        """Searches take turns, and a plan whose kernel another search stored does not search again.
        The slow kernel drops out after one run, so that its runs count the searches."""
        self.clock.times[self.slow] = SLOW
        with obstructed("clCreateBuffer"):
            one = Flow()
            one.run_until(lambda: one.get_tuning()[0] == "searching")
            two, three = Flow(), Flow()
            one.run_until(lambda: list_searches() == ["S"] * 3)
            self.is_first(two, "waiting")
            self.is_first(three, "waiting")
            self.assertTrue(three.cancel())
            self.is_first(three, "off")
            self.is_first(one, "searching")
        for flow in one, two:
            flow.run_until(flow.is_final)
        self.assertTrue(one.has_result())
        self.assertFalse(two.has_result())
        self.assertEqual(self.clock.counts[self.slow], 1)
        for flow in one, two:
            self.swap(flow)
        self.finish(three)
        self.is_first(three, "off")

    def test_kept(self):
        self.clock.times.clear()
        flow = Flow()
        flow.run_until(flow.is_final)
        self.is_first(flow, "kept")
        self.assertEqual(flow.plan.source, "rules")
        self.finish(flow)

    def test_locked(self):
        """If another process keeps the lock of the file, the kernel is used and not stored."""
        with open(os.path.join(os.environ["XDG_CACHE_HOME"], "gemmcl/tuning.lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            flow = Flow()
            self.swap(flow)
        result = flow.get_tuning()[1][0]
        self.assertFalse(result.stored)
        self.assertIn(b"another process holds the lock", result.why_not_stored)

    def test_failures(self):
        """The plan keeps its kernel and works if candidates do not build, if the search finds no
        memory, or if an operand cannot be prepared for the new kernel."""
        for name, in_search, state in (("clBuildProgram", True, "kept"),
                                       ("clCreateBuffer", True, "failed"),
                                       ("clCreateBuffer", False, "failed")):
            self.begin()
            if in_search:
                with obstructed(name, True):
                    flow = Flow(context=self.make_context())
                    flow.run_until(flow.is_final)
            else:
                flow = self.use_bias(fails=True)
            self.is_first(flow, state)
            _, result, why = flow.get_tuning()
            self.assertEqual((bool(result), why and b"CL_OUT_OF_RESOURCES" in why),
                             (state == "kept" or not in_search, state == "failed" or None))
            if state == "kept":
                self.assertTrue(all(each.faulty for each in result[0].list()[1:]))
            flow.set("b", 2)
            self.finish(flow)
            self.is_first(flow, state)

    def test_early(self):
        """A plan that has an operand before its search has no matrix of it for another kernel."""
        messages = []
        handler = LOG_FUNCTION(lambda domain, level, message, data: messages.append(message))
        fatal = LIB.g_log_set_always_fatal(1 << 2)  # G_LOG_LEVEL_ERROR
        LIB.g_log_set_default_handler(handler, None)
        self.addCleanup(LIB.g_log_set_always_fatal, fatal)
        self.addCleanup(LIB.g_log_set_default_handler, LIB.g_log_default_handler, None)
        for name, shape in OPERANDS.items():
            plan = Plan(describe(M, N, K, bias=True, addend="matrix"))
            plan.set(name, draw(shape, 1))
            call("plan_auto_tune", plan, ON)
            self.assertIn(b"gemmcl_plan_auto_tune", messages.pop())
            self.assertTrue(call("plan_cancel_tuning", plan, c_int64(FOREVER), result=c_int))
            self.assertFalse(self.clock.counts)

    def test_off(self):
        """By default there is no search on CPUs. A kernel that was named is never changed."""
        cases = [(None, OFF), ("gemm_naive", ON)]
        if get_device().type == CPU:
            cases.append((None, AUTO))
        for case in cases:
            flow = Flow(*case)
            self.finish(flow)
            self.is_first(flow, "off")
            self.assertFalse(self.clock.counts)


if __name__ == "__main__":
    enter_cache()
    main()
