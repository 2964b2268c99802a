# SPDX-License-Identifier: LGPL-2.1-or-later
"""The search for the fastest kernel. The test sets the device's clock (clock.py), so that no
machine decides; all else is the library's, but for a cache directory of the test."""

import ctypes
import threading
import time
from ctypes import CFUNCTYPE, POINTER, byref, c_int, c_void_p

from clock import Clock
from gemmcl import (LIB, PRECISIONS, Candidate, Options, Plan, Result, TestCase, ask, call,
                    describe, enter_cache, get_context, list_candidates)
from library import Error
from pixels import PATCH, PIXEL, get_shape, make_frame
from problem import ARG_MAX, SUM
from tap_unittest import main

FAST, SLOW = 100, 900  # microseconds; kernels that were not set take 200
NOTIFY = CFUNCTYPE(None, c_int, c_void_p, c_void_p)
CANCELLED = 19  # G_IO_ERROR_CANCELLED


class Search(TestCase):
    def setUp(self):
        super().setUp()
        get_context()
        self.clock = Clock(self)
        self.forget()
        self.gemm = describe(96, 64, 128)
        self.names = list_candidates(self.gemm)
        self.first, self.second, self.third = self.names[:3]

    def forget(self):
        self.clock.reset()
        ask("tuning_forget", get_context())

    def search(self, gemm=None, **others):
        """The result with all of the device's time, so that nothing sleeps."""
        options = Options(**{"size": ctypes.sizeof(Options), "candidates": 5, "seconds": 0.25,
                             "share": 1, "runs": 9, **others})
        address = ask("tuning_search", get_context(), byref(gemm or self.gemm), byref(options),
                      None)
        self.addCleanup(call, "tuning_result_free", c_void_p(address))
        return Result.from_address(address)

    def find(self, result, kernel):
        return next(each for each in result.list() if each.name == kernel)

    def chooses(self, source, kernel, gemm=None):
        plan = Plan(gemm or self.gemm)
        self.assertEqual((plan.source, plan.kernel), (source, kernel))

    def test_faster(self):
        """A faster kernel is found and stored, and the next plan uses it."""
        self.chooses("rules", self.first)
        self.clock.times[self.third] = FAST
        result = self.search()
        self.assertEqual(len(result.list()), 5)
        self.assertEqual((result.first[0].name, result.best[0].name), (self.first, self.third))
        self.assertAlmostEqual(result.gain, 2, delta=1e-9)
        self.assertAlmostEqual(result.best[0].seconds, FAST * 1e-6, delta=1e-12)
        self.assertIsNone(self.find(result, self.first).why)
        self.assertIsNone(result.why_not_stored)
        self.assertTrue(result.stored)
        self.chooses("tuned", self.third)

    def is_first_best(self, result):
        self.assertEqual(ctypes.addressof(result.best[0]), ctypes.addressof(result.first[0]))

    def test_kept(self):
        """If nothing is faster, the rules' choice is stored: a gain of a hundredth is noise."""
        self.clock.times[self.second] = 198
        result = self.search()
        self.is_first_best(result)
        self.assertEqual(result.gain, 1)
        self.assertTrue(result.stored)
        self.chooses("tuned", self.first)

    def test_clear(self):
        """Turns end early if each of them shows the same clear difference."""
        runs = []
        for other in FAST, 198, 215:
            self.forget()
            self.clock.times[self.second] = other
            self.assertTrue(self.search(candidates=2, runs=1).best)
            runs.append(self.clock.counts[self.second])
        self.assertEqual(runs, [runs[0], runs[0] + 10, runs[0]])

    def test_slow_leave(self):
        self.clock.times[self.second] = 300
        self.clock.times[self.third] = SLOW
        result = self.search()
        self.assertEqual(self.find(result, self.second).why, b"Others were faster.")
        self.assertEqual(self.find(result, self.third).why, b"Its first run was slow.")
        self.assertFalse(self.find(result, self.third).faulty)
        self.assertEqual(self.clock.counts[self.third], 1)
        self.assertLess(self.clock.counts[self.second], self.clock.counts[self.first])

    def test_part(self):
        """If runs are long, one on a sixteenth of the rows shows that a kernel is too slow."""
        self.clock.times[self.first] = 2000
        self.clock.times[self.second] = 30000
        result = self.search(candidates=2)
        self.assertEqual(self.find(result, self.second).why, b"Its first run was slow.")
        self.assertEqual(self.clock.counts[self.second], 1)
        for kernel, rows in (self.second, 6), (self.first, 0):
            self.assertEqual(self.clock.rows[kernel], rows)

    def test_part_of_previous(self):
        """The run on a sixteenth of the rows leaves no previous result to the checked run."""
        self.clock.reset(usual=2000)
        result = self.search(describe(96, 64, 128, addend="previous"), candidates=2)
        self.assertEqual([each.why if each.faulty else None for each in result.list()], [None] * 2)

    def test_dry_run(self):
        result = self.search(dry_run=True)
        self.assertTrue(result.best)
        self.assertFalse(result.stored)
        self.chooses("rules", self.first)

    def test_wrong(self):
        """A wrong kernel drops out, however fast: the first by a check, others by comparison."""
        for wrong in self.names[:3]:
            self.forget()
            self.clock.times[wrong] = FAST
            self.clock.broken = wrong
            result = self.search()
            found = self.find(result, wrong)
            self.assertTrue(found.faulty)
            self.assertIn(b"The result is wrong: ", found.why)
            self.assertEqual(self.clock.counts[wrong], 1)
            self.assertNotEqual(result.best[0].name, wrong)

    def test_one_element(self):
        for at in 0, 64 + 1, 40 * 64 + 33, 96 * 64 - 1:
            self.forget()
            self.clock.spoilt = self.second, at
            result = self.search(candidates=2)
            found = self.find(result, self.second)
            self.assertTrue(found.faulty)
            self.assertFalse(found.lost)
            self.is_first_best(result)

    def test_notify(self):
        """The caller is notified of each candidate before it is built, and before its turns."""
        steps = []

        def notify(step, candidate, _):
            self.assertTrue(Candidate.from_address(candidate).kernel)
            if step != 2 or steps[-1:] != [2]:
                steps.append(step)
        function = NOTIFY(notify)
        self.search(candidates=3, notify=ctypes.cast(function, c_void_p))
        self.assertEqual(steps, [0, 1, 0, 1, 0, 1, 2])

    def test_limits(self):
        """A turn has no more runs than the limit: here one in each of 15 turns, after the first
        run. After try_seconds no candidate is tried, and nothing is compared."""
        self.search(candidates=2, runs=1)
        self.assertEqual(self.clock.counts[self.first], 16)
        self.forget()
        result = self.search(candidates=2, runs=1, try_seconds=1e-9)
        self.assertEqual(result.list()[1].why, b"There was no time to try it.")
        self.assertFalse(result.best)
        self.assertFalse(result.stored)

    def test_wrong_bytes(self):
        """Integers in D are not verified row by row, but compared with the first kernel's."""
        gemm = describe(96, 64, 128, a_type="u8", d_type="u8")
        wrong = list_candidates(gemm)[1]
        self.clock.broken = wrong
        found = self.find(self.search(gemm), wrong)
        self.assertTrue(found.faulty)
        self.assertIn(b"The result is wrong: element ", found.why)

    def test_time(self):
        """The search keeps to its time. If that is too short to compare kernels, none is stored."""
        for seconds, is_enough in (1e-3, False), (3e-3, True):
            self.forget()
            self.clock.times[self.second] = FAST
            result = self.search(seconds=seconds)
            self.assertLessEqual(result.device_seconds, seconds)
            self.assertEqual(result.first[0].name, self.first)
            self.assertEqual(bool(result.best), is_enough)
            if is_enough:
                self.assertEqual(result.best[0].name, self.second)
            else:
                self.assertFalse(result.stored)
                self.chooses("rules", self.first)

    def test_cancel(self):
        """A search that would sleep for hours ends when it is cancelled, also before it began."""
        for name in "g_cancellable_new", "gemmcl_tuning_search":
            getattr(LIB, name).restype = c_void_p
        cancellable = c_void_p(LIB.g_cancellable_new())
        timer = threading.Timer(0.5, LIB.g_cancellable_cancel, [cancellable])
        # The first step comes after the only check before the first run.
        begin = NOTIFY(lambda step, *_: None if step else timer.start())
        options = Options(size=ctypes.sizeof(Options), candidates=5, seconds=0.25, share=1e-9,
                          runs=9, notify=ctypes.cast(begin, c_void_p))
        for _ in range(2):
            error = POINTER(Error)()
            self.assertIsNone(LIB.gemmcl_tuning_search(
                get_context(), byref(self.gemm), byref(options), cancellable, byref(error)))
            self.assertEqual(error[0].code, CANCELLED)
            LIB.g_error_free(error)
        timer.join()
        self.assertEqual(self.clock.counts[self.first], 1)
        self.chooses("rules", self.first)
        LIB.g_object_unref(cancellable)

    def test_share(self):
        """A search sleeps between runs, so that it takes only its share of the device's time."""
        begin = time.monotonic()
        result = self.search(share=0.02, seconds=0.01)
        self.assertGreater(time.monotonic() - begin, 0.98 * result.device_seconds / 0.02)

    def check_problem(self, *sizes, is_stored=True, **others):
        """Checks that the search finds no kernel of the library wrong, and that it also searches if
        the result cannot be stored. Most of the time goes to compiling."""
        with self.subTest(sizes=sizes, **others):
            self.forget()
            result = self.search(describe(*sizes, **others), candidates=3)
            self.assertEqual([each.why for each in result.list() if each.faulty], [])
            self.assertTrue(result.best)
            self.assertEqual(bool(result.stored), is_stored, result.why_not_stored)

    def test_problems(self):
        for precision in PRECISIONS:
            self.check_problem(40, 48, 200, precision=precision)
        for activation in "gelu", "softmax":
            self.check_problem(40, 48, 100, activation=activation, bias=True)
        for kind in "f16", "bf16", "u8", "i16":
            self.check_problem(33, 20, 65, a_type=kind, d_type=kind, a_scale=0.5, a_shift=-3)
        for addend in "matrix", "row", "output", "previous":
            self.check_problem(33, 20, 65, addend=addend)
        self.check_problem(40, 48, 100, layout="column", trans_a=True, trans_b=True, lda=128,
                           ldd=50, d_start=3)
        self.check_problem(40, 48, 100, row_outputs=SUM | ARG_MAX, batch=3)  # a tall problem
        self.check_problem(9, 12, 40, a_type="u8", normalize=3, row_outputs=ARG_MAX)
        self.check_problem(40, 48, 100, is_stored=False, batch=3, addend="matrix")

    def test_frames(self):
        for form, planes in ("GRAY16_LE", 1), ("BGRx", 1), ("P010_10LE", 2):
            colours = {"kr": 0.299, "kb": 0.114}
            frame = make_frame(32, 24, form, (8, 8), features=PATCH, **colours)
            m, k = get_shape(frame)
            self.check_problem(m, 3, k, a_frame=frame)
            frame = make_frame(32, 24, form, features=PIXEL, **colours)
            m, k = get_shape(frame)
            self.check_problem(m, k if planes == 1 else 3, k, is_stored=False, batch=2,
                               a_frame=frame, **({"d_frame": frame} if planes == 1 else {}))


if __name__ == "__main__":
    enter_cache()
    main()
