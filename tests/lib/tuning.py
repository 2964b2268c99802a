# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tuning file: results are stored, merged and used for the problems that they cover; wrong
files are refused. The search for the fastest kernel, with a clock of the test (clock.py), so that
no machine decides. The library's cache directory is the test's own."""

import ctypes
import fcntl
import os
import signal
import threading
import time
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_void_p

from clock import Clock
from gemmcl import (LIB, PRECISIONS, Candidate, Entry, Options, Plan, Result, TestCase, ask, call,
                    describe, enter_cache, get_array, get_context, get_name, list_candidates, take)
from library import Error
from pixels import PATCH, PIXEL, get_shape, make_frame
from problem import ARG_MAX, SUM
from tap_unittest import main

M, N, K = 96, 64, 128
NAIVE = "gemm_naive"
SUBGROUPS = "L3_SIMD_16x2_1x8"
NAMED, TUNED, SHIPPED, RULES = ("named", "tuned", "shipped", "rules")
FAST, SLOW = 100, 900  # microseconds; kernels that were not set take 200
NOTIFY = CFUNCTYPE(None, c_int, c_void_p, c_void_p)
CANCELLED = 19  # G_IO_ERROR_CANCELLED


def list_entries():
    return [entry for entry in get_array("tuning_list", get_context(), Entry)
            if get_name("choice_source_get_name", entry.source) == TUNED]


def store(gemm, kernel=NAIVE, gflops=12.5):
    ask("tuning_store", get_context(), byref(gemm), kernel, gflops, None)


class TuningTestCase(TestCase):
    def setUp(self):
        super().setUp()
        ask("tuning_forget", get_context())
        self.gemm = describe(M, N, K)
        self.candidates = list_candidates(self.gemm)

    def chooses(self, source, kernel=None, gemm=None, asked=None):
        plan = Plan(gemm or self.gemm, asked)
        self.assertEqual((plan.source, plan.kernel), (source, kernel or plan.kernel))


class Tuning(TuningTestCase):
    def setUp(self):
        super().setUp()
        self.path = take(call("tuning_get_path"))
        self.dir = os.path.dirname(self.path)

    def read_file(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def write_file(self, text):
        with open(self.path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.chmod(self.path, 0o600)

    def cannot_store(self, words=""):
        with self.refused("io", words):
            store(self.gemm)

    def test_candidates(self):
        self.chooses(RULES, self.candidates[0], asked="rules")
        self.assertEqual(len(set(self.candidates)), len(self.candidates))
        for name in self.candidates:
            ask("kernel_fits", get_context(), name, byref(self.gemm))

    def test_use(self):
        first, other = self.candidates[:2]
        self.chooses(RULES, first)
        store(self.gemm, other)
        self.chooses(TUNED, other)
        self.chooses(TUNED, other, asked="auto")
        self.chooses(NAMED, NAIVE, asked=NAIVE)
        self.chooses(RULES, first, asked="rules")
        entry, = list_entries()
        self.assertEqual((entry.kernel.decode(), entry.m, entry.n, entry.k, entry.gflops),
                         (other, M, N, K, 12.5))
        ask("tuning_forget", get_context())
        self.chooses(RULES, first)

    def test_batch(self):
        """A batch of problems that share B runs as one tall problem."""
        store(self.gemm, self.candidates[1])
        self.chooses(TUNED, self.candidates[1], describe(M // 4, N, K, batch=4))
        self.chooses(RULES, None, describe(M // 4, N, K, batch=4, b_stride=K * N))

    def test_near(self):
        store(self.gemm)
        for near in describe(M, N, K * 5 // 4), describe(M * 4 // 3, N, K):
            self.chooses(TUNED, NAIVE, near)
        transposed = describe(M, N, K, trans_b=True)
        for far in (describe(M, N, K * 3 // 2), describe(M, N // 2, K), describe(3 * M, N, K),
                    describe(M, N, K, layout="column"), describe(M, N, K, trans_a=True),
                    transposed):
            self.chooses(RULES, None, far)
        store(transposed)
        self.chooses(TUNED, NAIVE, transposed)

    def test_padding(self):
        """gemm_naive has tiles of 8 x 8: a D of 9 x 9 would cost four times too much."""
        gemm = describe(8, 8, K)
        store(gemm)
        self.chooses(TUNED, NAIVE, gemm)
        self.chooses(RULES, None, describe(9, 9, K))

    def test_nearest(self):
        store(self.gemm)
        store(describe(M, N, K * 4 // 3), self.candidates[1])
        self.chooses(TUNED, self.candidates[1], describe(M, N, K * 5 // 4))
        self.chooses(TUNED, NAIVE)

    def test_emulated(self):
        """An entry whose kernel would be emulated is not used."""
        self.addCleanup(os.environ.pop, "GEMMCL_SUBGROUPS", None)
        os.environ["GEMMCL_SUBGROUPS"] = "emulated"
        store(self.gemm, SUBGROUPS)
        self.chooses(NAMED, SUBGROUPS, asked=SUBGROUPS)
        self.chooses(RULES)

    def test_merge(self):
        store(self.gemm)
        text = self.read_file()
        entries = text[text.index("{", text.index("[")):]
        self.write_file('{"version": 1, "entries": [17, {"device": "another"}, ' + entries)
        for _ in range(2):
            store(describe(M, N, 4 * K))
        self.assertEqual(len(list_entries()), 2)
        self.assertIn('"another"', self.read_file())
        self.assertNotIn("17", self.read_file())
        ask("tuning_forget", get_context())
        self.assertEqual(list_entries(), [])
        self.assertIn('"another"', self.read_file())

    WRONG = [  # replacements in a sound entry that make it invalid
        *(('"kernel": "gemm_naive"', f'"kernel": {kernel}') for kernel in (
            '"gemm_clever"', '"gemm_naive/3"', '"gemm_naive/99999999999"', '"gemv_1x4_64x4"',
            'null')),
        ('"gflops": 12.5', '"gflops": -1'), ('"gflops": 12.5', '"gflops": "fast"'),
        ('"driver": "', '"driver": "other '), ('"device": "', '"device": "other '),
        ('"units": ', '"units": 1'), ('"m": ', '"m": -'), ('"m": ', '"m": 99999999999999'),
        ('"n": ', '"n": 0.'), ('"k": ', '"l": '), ('"layout": "row"', '"layout": "diagonal"'),
        ('"precision": "f32"', '"precision": "f31"'), ('"transposed": ""', '"transposed": 3'),
        ('"version": 1', '"version": 2'), ('"version": 1', '"version": "1"'),
        ('"entries": [', '"entries": {'), (']', '')]

    def test_wrong(self):
        self.write_file("")
        store(self.gemm)
        text = self.read_file()
        for old, new in self.WRONG:
            self.assertIn(old, text)
            self.write_file(text.replace(old, new, 1))
            self.chooses(RULES)
        self.write_file(text)
        self.chooses(TUNED, NAIVE)

    def test_damaged(self):
        """A damaged file is replaced; the file of a newer library is not."""
        for damaged in "", "{", "[]", "\udcff\udcfe", '{"version": 1}', "null":
            self.write_file(damaged)
            self.chooses(RULES)
            store(self.gemm)
            self.chooses(TUNED, NAIVE)
        newer = '{"version": 2, "entries": [], "more": 1}'
        self.write_file(newer)
        self.cannot_store("newer")
        self.assertEqual(self.read_file(), newer)
        self.write_file("")

    def test_of_others(self):
        """A file or directory that others can write to is not used, and keeps its content."""
        store(self.gemm)
        text = self.read_file()
        self.assertEqual(os.stat(self.path).st_mode, 0o100600)

        def link(path):
            os.rename(path, os.path.join(self.folder, "aside"))
            os.symlink(os.path.join(self.folder, "aside"), path)

        def unlink(path):
            os.unlink(path)
            os.rename(os.path.join(self.folder, "aside"), path)
        ways = [(os.chmod, (self.path, 0o620), os.chmod, (self.path, 0o600)),
                (os.chmod, (self.dir, 0o702), os.chmod, (self.dir, 0o700)),
                (link, (self.path,), unlink, (self.path,)),
                (link, (self.dir,), unlink, (self.dir,))]
        if os.geteuid() == 0:
            ways.append((os.chown, (self.path, 1, -1), os.chown, (self.path, 0, -1)))
        for spoil, arguments, restore, restored in ways:
            spoil(*arguments)
            self.chooses(RULES)
            self.cannot_store()
            self.assertEqual(self.read_file(), text)
            restore(*restored)
            self.chooses(TUNED, NAIVE)

    def test_locked(self):
        """A process that keeps the lock stops nobody. The alarm ends a wait without end."""
        store(self.gemm)
        with open(os.path.join(self.dir, "tuning.lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            signal.alarm(300)
            self.cannot_store("tuning.lock: Cannot lock the file: another process holds the lock")
            self.refuses("io", "another process holds", "tuning_forget", get_context())
            signal.alarm(0)
            self.chooses(TUNED, NAIVE)
        ask("tuning_forget", get_context())
        self.chooses(RULES)

    def test_pipe(self):
        """A pipe in place of the file, for which nobody writes, is not waited for."""
        self.write_file("")
        os.unlink(self.path)
        os.mkfifo(self.path, 0o600)
        self.addCleanup(os.unlink, self.path)
        self.chooses(RULES)
        self.cannot_store("Expected a regular file")

    def test_refused(self):
        for code, kernel, gflops in (("kernel", "gemm_clever", 1.0),
                                     ("kernel", "gemv_1x4_64x4", 1.0),
                                     ("invalid", NAIVE, float("inf"))):
            self.refuses(code, "", "tuning_store", get_context(), byref(self.gemm), kernel, gflops,
                         None)
        store(self.gemm)
        os.unlink(self.path)
        os.mkdir(self.path, 0o700)
        self.addCleanup(os.rmdir, self.path)
        self.chooses(RULES)
        self.cannot_store(self.path)


class Search(TuningTestCase):
    def setUp(self):
        super().setUp()
        self.clock = Clock(self)
        self.first, self.second, self.third = self.candidates[:3]

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

    def test_faster(self):
        """A faster kernel is found and stored, and the next plan uses it."""
        self.chooses(RULES, self.first)
        self.clock.times[self.third] = FAST
        result = self.search()
        self.assertEqual(len(result.list()), 5)
        self.assertEqual((result.first[0].name, result.best[0].name), (self.first, self.third))
        self.assertAlmostEqual(result.gain, 2, delta=1e-9)
        self.assertAlmostEqual(result.best[0].seconds, FAST * 1e-6, delta=1e-12)
        self.assertIsNone(self.find(result, self.first).why)
        self.assertIsNone(result.why_not_stored)
        self.assertTrue(result.stored)
        self.chooses(TUNED, self.third)

    def is_first_best(self, result):
        self.assertEqual(ctypes.addressof(result.best[0]), ctypes.addressof(result.first[0]))

    def test_kept(self):
        """If nothing is faster, the rules' choice is stored: a gain of a hundredth is noise."""
        self.clock.times[self.second] = 198
        result = self.search()
        self.is_first_best(result)
        self.assertEqual(result.gain, 1)
        self.assertTrue(result.stored)
        self.chooses(TUNED, self.first)

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
        result = self.search(describe(M, N, K, addend="previous"), candidates=2)
        self.assertEqual([each.why if each.faulty else None for each in result.list()], [None] * 2)

    def test_dry_run(self):
        result = self.search(dry_run=True)
        self.assertTrue(result.best)
        self.assertFalse(result.stored)
        self.chooses(RULES, self.first)

    def test_wrong(self):
        """A wrong kernel drops out, however fast: the first by a check, others by comparison."""
        for wrong in self.candidates[:3]:
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

    def test_half(self):
        """Large integers make no elements around the largest f16, which roundings make infinite."""
        names = (c_char_p * 3)(b"vector_4x64_1x1", b"vector_bf16_4x64_1x1")
        gemm = describe(256, 256, 64, a_type="u16", d_type="f16", precision="bf16")
        result = self.search(gemm, names=ctypes.cast(names, c_void_p).value, seconds=0.02)
        self.assertEqual([each.why for each in result.list()], [None, None])

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
        gemm = describe(M, N, K, a_type="u8", d_type="u8")
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
                self.chooses(RULES, self.first)

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
        self.chooses(RULES, self.first)
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
