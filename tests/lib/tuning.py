# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tuning file: results are stored, merged and used for the problems that they cover; wrong
files are refused. The library's cache directory is the test's own."""

import fcntl
import os
import signal
from ctypes import byref

from gemmcl import (Entry, Plan, TestCase, ask, call, describe, enter_cache, get_array, get_context,
                    get_name, list_candidates, take)
from tap_unittest import main

M, N, K = 96, 64, 128
NAIVE = "gemm_naive"
SUBGROUPS = "L3_SIMD_16x2_1x8"
NAMED, TUNED, SHIPPED, RULES = ("named", "tuned", "shipped", "rules")


def list_entries():
    return [entry for entry in get_array("tuning_list", get_context(), Entry)
            if get_name("choice_source_get_name", entry.source) == TUNED]


def store(gemm, kernel=NAIVE, gflops=12.5):
    ask("tuning_store", get_context(), byref(gemm), kernel, gflops, None)


class Tuning(TestCase):
    def setUp(self):
        super().setUp()
        self.path = take(call("tuning_get_path"))
        self.dir = os.path.dirname(self.path)
        ask("tuning_forget", get_context())
        self.gemm = describe(M, N, K)
        self.candidates = list_candidates(self.gemm)

    def read_file(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def write_file(self, text):
        with open(self.path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.chmod(self.path, 0o600)

    def chooses(self, source, kernel=None, gemm=None, asked=None):
        plan = Plan(gemm or self.gemm, asked)
        self.assertEqual((plan.source, plan.kernel), (source, kernel or plan.kernel))

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


if __name__ == "__main__":
    enter_cache()
    main()
