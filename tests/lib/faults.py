# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each OpenCL call of a plan's life fails, alone or with all later calls. The library reports an
error, or its results are right; nothing leaks or hangs, and the same plan works afterwards."""

import ctypes
import os
import shutil
import sys
import tempfile
from ctypes import byref, c_int, c_uint64, c_void_p
from functools import partial

from clock import Clock
from failing import DEAD, LAYER, LOST, MODES, NONE, ONE, REST, FailingTestCase
from gemmcl import (ENVIRONMENT, IS_BRIEF, LIB, Options, Plan, Refused, Result, allocate, ask,
                    call, describe, enter_cache, get_info, get_matrix, make, np)
from library import CPU, Frame
from tap_unittest import main, tap

RUNS = 3  # in flight at once; one more follows, with other weights
MAX = 2  # GEMMCL_ROW_MAX
UNWRITTEN = 77
# A is u8 and D f32 or a frame, with a gap between their rows. The rules choose where there is no
# kernel.
PROBLEMS = {
    "plain": dict(m=33, n=5, k=17), "split": dict(m=4, n=8, k=64, kernel="gemm_naive/2"),
    "added": dict(m=4, n=8, k=64, kernel="staged_4x8_4x16/2"),
    "previous": dict(m=9, n=5, k=17, addend="previous"),
    "batch": dict(m=9, n=5, k=17, batch=3, gap=2), "bytes": dict(m=16, n=16, k=32, precision="i8"),
    "rows": dict(m=9, n=5, k=17, row_outputs=MAX),
    "parts": dict(m=1, n=1 << 16, k=3, row_outputs=MAX),
    "omitted": dict(m=9, n=5, k=17, row_outputs=MAX, omit_d=1, kernel="gemm_naive"),
    "pool": dict(m=9, n=5, k=17, pool="max", pool_across=3, pool_width=1, pool_height=1, gap=2),
    "operands": dict(m=9, n=5, k=17, bias=True, addend="matrix"),
    "scales": dict(m=16, n=16, k=32, precision="i8", kernel="vector_i8_1x64_1x1", scale=2),
    "frame": dict(m=20, n=4, k=3, a_frame=Frame(format=2, width=5, height=4)),
    "picture": dict(m=20, n=4, k=17, d_frame=Frame(format=4, width=5, height=4)),
    "large": dict(m=512, n=96, k=16),
}
CL = ctypes.CDLL("libOpenCL.so.1")
# Calls exit() while a thread builds. Another thread then tries to build; argv[1]: it also lets the
# first one go on.
EXITS = """
import ctypes, sys, threading, time
from failing import LAYER
from gemmcl import Plan, Refused, describe, get_context
from tap_unittest import tap

def build(activation):
    try:
        return Plan(describe(5, 5, 5, activation=activation))
    except Refused as error:
        return error

def build_late():
    leaving.wait()
    time.sleep(1)
    print(build(1), flush=True)
    if sys.argv[1:]:
        print("built", flush=True)
        LAYER.hold(True, False)

get_context()
leaving = threading.Event()
LAYER.hold(True, True)
for function in lambda: build(0), build_late:
    threading.Thread(target=function, daemon=True).start()
assert tap.wait_until(lambda: LAYER.get_state().held)
leaving.set()
ctypes.CDLL(None).exit(3)
"""
# Calls exit() before a thread compiles, with a compiler that has compiled before.
COMPILES = """
import ctypes, threading, time
from failing import LAYER
from gemmcl import Plan, describe
from tap_unittest import tap

def release():
    leaving.wait()
    time.sleep(1)
    LAYER.hold(True, False)

def build(activation):
    Plan(describe(5, 5, 5, activation=activation), "gemm_naive")

build(0)
leaving = threading.Event()
LAYER.hold(True, True)
for function in release, lambda: build(1):
    threading.Thread(target=function, daemon=True).start()
assert tap.wait_until(lambda: LAYER.get_state().held)
leaving.set()
ctypes.CDLL(None).exit(3)
"""


class Life:
    """A plan's life. All numbers are integers, exact as floats."""

    def __init__(self, m, n, k, kernel=None, gap=0, scale=0, **fields):
        self.kernel, self.n, self.context, self.plan, self.done = kernel, n, None, None, {}
        self.faulty = 0  # candidates of the search
        lda = k + gap if gap else 0
        self.gemm = describe(m, n, k, lda=lda, ldd=n + gap, a_type="u8", **{"batch": 1, **fields})
        rng = np.random.default_rng(1)
        shape = RUNS + 1, self.gemm.batch, m
        self.a = allocate((*shape, k + gap), "u1")
        self.d = allocate((*shape, n + gap), "u1" if self.gemm.d_frame else "f4")
        self.rows = np.zeros((*shape, 1), "f4")
        self.a[..., :k] = rng.integers(0, 256, (*shape, k))
        self.b = rng.integers(-127, 128, (2, k, n))
        # Quantised anew, such rows of A and columns of B are exact.
        self.a[..., :2], self.b[:, 0] = (0, 255), 127
        self.scale, self.adds = scale, fields.get("addend") == "previous"
        self.bias, self.c = rng.integers(-9, 10, n), rng.integers(-9, 10, (m, n))
        self.expected = self.compute(slice(None), [0] * RUNS + [1])
        if self.adds:
            self.expected = self.expected.cumsum(0)

    def compute(self, runs, which):
        """Returns the results with these of the two B."""
        product = self.a[runs, ..., :self.gemm.k].astype(int) @ self.b[which][..., None, :, :]
        if self.gemm.d_frame:
            return product.clip(0, 255)
        if not self.gemm.bias:
            return product * (self.scale or 1)
        return product + self.c + self.bias

    def make_context(self):
        self.context = c_void_p(ask("context_new", None))

    def make_plan(self):
        self.plan = Plan(self.gemm, self.kernel, self.context)

    def submit(self, run, **others):
        done = c_void_p()
        a = [each.reshape(4, -1) if self.gemm.a_frame else each for each in self.a[run]]
        rows = {"row_outputs": list(self.rows[run])} if self.gemm.row_outputs else {}
        if not self.gemm.omit_d:
            others["d"] = [each.reshape(4, -1) if self.gemm.d_frame else each
                           for each in self.d[run]]
        made = self.plan.make_run(a=a, beta=int(self.gemm.addend > 0), **rows, **others)
        ask("plan_submit", self.plan, byref(made), None, byref(done))
        self.done[run] = done

    def wait(self, run):
        done = self.done.pop(run)
        status = call("context_wait", self.context, done, result=c_int)
        CL.clReleaseEvent(done)
        return not status

    def finish(self, run):
        """Returns whether it succeeded, with right results."""
        if not self.wait(run):
            return False
        if not self.gemm.omit_d:
            np.testing.assert_array_equal(self.d[run][..., :self.n], self.expected[run])
        if self.gemm.row_outputs:
            np.testing.assert_array_equal(self.rows[run][..., 0], self.expected[run].max(-1))
        return True

    def set_operands(self, which):
        b = self.b[which]
        if self.scale:
            b = get_matrix("matrix_new_quantized", make(b, "i8"), make([self.scale]), None)
        self.plan.set("b", b)
        if self.gemm.bias:
            self.plan.set("bias", self.bias)
            self.plan.set("c", self.c)

    def live(self):
        """Returns whether all runs succeeded."""
        self.make_plan()
        self.set_operands(0)
        for run in range(RUNS):
            self.submit(run)
        if not all([self.finish(run) for run in range(RUNS)]):  # even after one failed
            return False
        self.set_operands(1)
        self.submit(RUNS)
        return self.finish(RUNS)

    def search(self):
        """A kernel that fails costs the search only that candidate. The clock has five turns."""
        options = Options(size=ctypes.sizeof(Options), candidates=3, share=1, seconds=4e-3, runs=1,
                          dry_run=True)
        address = ask("tuning_search", self.context, byref(self.gemm), byref(options), None)
        result = Result.from_address(address)
        best = result.best and result.best[0].name
        for each in result.list():
            assert not each.faulty or (each.why and each.name != best), (each.name, each.why)
        self.faulty = sum(each.faulty for each in result.list())
        call("tuning_result_free", c_void_p(address))
        return True

    def recover(self):
        """After a failed call others succeed. Nothing writes to the memory of failed runs."""
        failed = [run for run in range(RUNS) if run not in self.done]
        self.d[failed] = UNWRITTEN
        for run in list(self.done):
            self.wait(run)
        if not self.plan:
            self.make_plan()
        call("plan_reset_previous", self.plan)
        self.expected[RUNS] = self.compute(RUNS, 1)
        self.set_operands(1)
        self.submit(RUNS)
        assert self.finish(RUNS)
        assert (self.d[failed] == UNWRITTEN).all()

    def end(self):
        for run in list(self.done):
            self.wait(run)
        self.plan = None
        if self.context:
            LIB.g_object_unref(self.context)


class Faults(FailingTestCase):
    def try_life(self, life, makes_context, searches):
        try:
            if makes_context:
                life.make_context()
            return None if (life.search() if searches else life.live()) else "a run failed"
        except Refused as error:
            self.assertTrue(str(error))
            return str(error)

    def run_case(self, problem, mode, n, makes_context=False, compiles=False, searches=False):
        """Returns whether the library reported an error."""
        if compiles:
            shutil.rmtree(os.path.join(os.environ["XDG_CACHE_HOME"], "gemmcl"), True)
        print(f"# {problem}, mode {mode}, call {n}", flush=True)
        life = Life(**PROBLEMS[problem])
        if not makes_context:
            life.make_context()
        LAYER.set(mode, n)
        try:
            error = self.try_life(life, makes_context, searches)
            self.assertLessEqual(life.faulty, 1 if mode != REST else 3)
            if error and mode != REST and not makes_context:
                LAYER.set(NONE, 0)
                life.recover()
        finally:
            life.end()
            LAYER.set(NONE, 0)
        return bool(error)

    def test_exit(self):
        """exit() waits for a build, though not for ever. Meanwhile no other build begins."""
        refusal = "The process exits, so OpenCL is not used any more."
        for words in ["built"], []:
            process = tap.run(sys.executable, "-c", EXITS, *words, env=ENVIRONMENT)
            self.assertEqual((process.returncode, process.stdout.split("\n")[:-1]),
                             (3, [refusal, *words]))

    def test_exit_while_compiling(self):
        """A compiler's static objects outlive what it compiles when the process exits."""
        with tempfile.TemporaryDirectory() as folder:
            caches = dict.fromkeys(("XDG_CACHE_HOME", "POCL_CACHE_DIR"), folder)
            process = tap.run(sys.executable, "-c", COMPILES, env={**ENVIRONMENT, **caches})
        self.assertEqual(process.returncode, 3, process.stderr)

    def test_build(self):
        """A compiler that runs out of memory is no fault of the kernel."""
        life, code, n = Life(9, 5, 17, "gemm_naive"), None, 0
        life.make_context()
        self.addCleanup(life.end)
        self.addCleanup(LAYER.set, NONE, 0)
        # The failure of the compiler's first build, of an empty kernel, has no effect.
        while code is None or LAYER.get_state().failed != b"clBuildProgram":
            code, n = None, n + 1
            shutil.rmtree(os.path.join(os.environ["XDG_CACHE_HOME"], "gemmcl"), True)
            LAYER.set(ONE, n)
            try:
                life.make_plan()
            except Refused as error:
                code = error.code
        self.assertEqual(code, "opencl")

    def test_dead_queue(self):
        """After a run failed, the next run on the context succeeds, even if the driver fails all
        later commands of a queue, and even another plan's. The caller's queue stays valid."""
        failing, other = (Life(**PROBLEMS["plain"]) for _ in range(2))
        failing.make_context()
        other.context = failing.context
        self.addCleanup(failing.end)
        self.addCleanup(setattr, other, "plan", None)
        self.addCleanup(LAYER.set, NONE, 0)
        for life in failing, other:
            life.make_plan()
            life.set_operands(0)
        queue = call("context_get_cl_queue", failing.context)
        LAYER.set(DEAD, 1)
        failing.submit(0)
        self.assertFalse(failing.wait(0))
        LAYER.set(NONE, 0)
        other.submit(0)
        self.assertTrue(other.finish(0))
        failing.submit(1)
        self.assertTrue(failing.finish(1))
        self.assertNotEqual(call("context_get_cl_queue", failing.context), queue)
        self.assertEqual(CL.clFinish(c_void_p(queue)), 0)

    def test_private_queue(self):
        """A failure in the caller's queue leaves that of the context as it is."""
        life, create = Life(**PROBLEMS["plain"]), CL.clCreateCommandQueue
        create.restype = c_void_p
        life.make_context()
        self.addCleanup(life.end)
        self.addCleanup(LAYER.set, NONE, 0)
        life.make_plan()
        life.set_operands(0)
        context, device, queue = (c_void_p(call(f"context_get_cl_{each}", life.context))
                                  for each in ("context", "device", "queue"))
        own = c_void_p(create(context, device, c_uint64(0), None))
        self.addCleanup(CL.clReleaseCommandQueue, own)
        LAYER.set(LOST, 1)
        life.submit(0, queue=own)
        self.assertFalse(life.wait(0))
        LAYER.set(NONE, 0)
        life.submit(1)
        self.assertTrue(life.finish(1))
        self.assertEqual(call("context_get_cl_queue", life.context), queue.value)

    def test_counts(self):
        """The counts of a split K's groups are cleared by the first run and by the run after one
        that failed. No other run has a command for it."""
        life = Life(**PROBLEMS["added"])
        life.make_context()
        self.addCleanup(life.end)
        self.addCleanup(LAYER.set, NONE, 0)
        life.make_plan()
        life.set_operands(0)

        def count_commands(run):
            LAYER.set(LOST, 0)
            life.submit(run)
            self.assertTrue(life.finish(run))
            LAYER.set(NONE, 0)
            return LAYER.get_state().calls

        first, second = count_commands(0), count_commands(1)
        self.assertEqual(first, second + 1)
        LAYER.set(LOST, 1)
        life.submit(0)
        self.assertFalse(life.wait(0))
        life.plan.get_stats()  # asks for the run's state, which the next mode forgets
        self.assertEqual([count_commands(run) for run in (0, 1)], [first, second])

    def test_warm_up(self):
        """A new plan ends with a warm-up. Each of its calls may fail, and the plan still works."""
        life = Life(**PROBLEMS["plain"])
        life.make_context()
        self.addCleanup(life.end)
        self.addCleanup(LAYER.set, NONE, 0)
        if get_info(life.context).type != CPU:
            self.skipTest("only CPUs are warmed up")
        life.make_plan()  # compiles, which others need not
        LAYER.set(ONE, 0)
        life.make_plan()
        failed, n = [], LAYER.get_state().calls
        while b"clCreateCommandQueue" not in failed[-1:]:
            life.plan = None
            LAYER.set(ONE, n)
            life.make_plan()
            failed.append(LAYER.get_state().failed)
            LAYER.set(NONE, 0)
            life.recover()
            n -= 1
        buffers = failed.count(b"clCreateBuffer")
        self.assertGreaterEqual(buffers, 3)  # A, B and D
        self.assertGreater(len(failed), buffers + 1)


def add_test(name, modes, problem, **how):
    """Adds a test for each mode. A search has a clock of the test, since on a busy machine it does
    fewer runs, of which none might fail. If a few calls fail alone, all may be harmless."""
    for mode in modes:
        def test(self, mode=MODES[mode]):
            if "searches" in how:
                Clock(self)
            reported = self.sweep(partial(self.run_case, problem, **how), mode)
            if not IS_BRIEF or mode != ONE:
                self.assertGreater(reported, 0)
        setattr(Faults, f"test_{name}_{mode}", test)


if __name__ == "__main__":
    for name in PROBLEMS:
        add_test(name, MODES, name)
    add_test("search", MODES, "plain", searches=True)
    add_test("context", ("one", "rest"), "plain", makes_context=True)
    add_test("compile", ("one", "rest"), "plain", makes_context=True, compiles=True)
    enter_cache()
    main()
