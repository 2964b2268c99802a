# SPDX-License-Identifier: LGPL-2.1-or-later
"""The benchmarks on small problems: their output, checks and verdicts."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import unittest
from unittest import mock

try:
    import numpy
except ImportError:
    print("1..0 # SKIP NumPy is not installed (python3-numpy)")
    sys.exit(0)
import tool

HERE = pathlib.Path(__file__).parent
BUILD = sys.argv[1]

# pylint: disable=wrong-import-position
import library
from contenders import CLBLAST, EARLIER, KINDS, OURS
from match import GOALS, Match
from problem import BYTES, LAYER, PLAIN, QUANTIZED, SEARCH, TOP, Problem
# pylint: enable=wrong-import-position

ALWAYS = [kind for kind in KINDS if not kind.install or kind.name == "NumPy"]


def run(script, *arguments):
    return subprocess.run([sys.executable, HERE / script, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


class Peers(tool.FolderTestCase):
    def play(self, status, *arguments):
        said = run("main.py", "--build", BUILD, "--seconds", "0", *arguments)
        if said.returncode == 77:
            self.skipTest(said.stderr.strip())
        self.assertEqual(said.returncode, status, said.stderr)
        return said

    def test_rows(self):
        names = [kind.name for kind in KINDS if kind in ALWAYS or kind.is_ours]
        path = self.path("peers.json")
        said = self.play(0, "--contenders", ",".join(names), "--json", path, "33x20x17",
                         "33x20x17+layer", "64x3x3+u8", "33x20x17+softmax+rows", "3x3000x40+search",
                         "3x3000x40+search+i8")
        rows = self.load(path)["rows"]
        self.assertEqual([row["form"] for row in rows],
                         [PLAIN, LAYER, BYTES, "softmax+rows", SEARCH, QUANTIZED])
        for row in rows:
            always = {kind.name for kind in ALWAYS if row["form"] in kind.forms}
            self.assertLessEqual(always, set(row["seconds"]))
            self.assertGreater(min(row["seconds"].values()), 0)
            self.assertGreaterEqual(row["rounds"], 5)
            for name in row["seconds"]:
                if name.startswith(OURS):
                    self.assertEqual(set(row["ratios"][name]), set(row["seconds"]) - {name})
        self.assertEqual(rows[2]["of_best_peer"]["name"], "memcpy")
        self.assertIn("33x20x17 bias, ReLU", said.stdout)
        self.assertIn("The contenders, ", said.stdout)

    def test_earlier(self):
        said = self.play(0, "--earlier", BUILD, "--json", self.path("peers.json"), "33x20x17")
        row, = self.load(self.path("peers.json"))["rows"]
        self.assertEqual(set(row["seconds"]), {OURS, EARLIER}, said.stdout)
        self.assertEqual(row["of_best_peer"]["goal"], 0.98)
        self.assertIn("/no has no lib", self.play(2, "--earlier", self.path("no")).stderr)

    def test_missing(self):
        said = self.play(0, "--contenders", "memcpy", "8x3x5+u8")
        self.assertRegex(said.stdout, "Missing: memcpy: A and D differ")

    def test_missing_typelib(self):
        """Without GStreamer's typelibs the element is missing, like any module of Python."""
        if not importlib.util.find_spec("gi"):
            self.skipTest("PyGObject is not installed (python3-gi)")
        with mock.patch("gi.require_version", side_effect=ValueError("Namespace Gst")):
            with self.assertRaisesRegex(ImportError, "Namespace Gst"):
                importlib.import_module("element")

    def test_usage(self):
        for row in ("8x8", "0x8x8", "8x8x8+f64", "8xax8", "8x4x8+search", "8x4x8+search+i8"):
            self.play(2, row)

    def test_kernel_unknown(self):
        """A failing contender ends the benchmark, with the contender's error."""
        self.assertIn("vectro", self.play(1, "--kernel", "vectro_4x64_1x1", "8x8x8").stderr)


class Elements(tool.TestCase):
    def test_case(self):
        if not shutil.which("gst-inspect-1.0"):
            self.skipTest("there is no gst-inspect-1.0")
        for element in "gemmcl", "videoconvert", "imagefreeze":
            if subprocess.run(["gst-inspect-1.0", "--exists", "--atleast-version=0.1", element],
                              check=False).returncode:
                self.skipTest(f"there is no element {element}")
        try:
            library.Context(library.AUTO)
        except library.Missing as missing:
            self.skipTest(str(missing))
        said = run("../elements.py", "--rounds", "2", "--case", "160x120 RGB to GRAY8")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout,
                         r"RGB to GRAY8 +videoconvert +[\d.]+ +[\d.]+  \d+\.\d+, goal 1 ")


class Check(unittest.TestCase):
    def test_products(self):
        """A right result passes. One wrong element fails, and so does NaN."""
        for form in PLAIN, LAYER, BYTES:
            problem = Problem((9, 5, 7), form)
            d = problem.a.astype(float) @ problem.b.astype(float)
            if form == LAYER:
                d = (d + problem.bias).clip(0)
            d = d.round().clip(0, 255).astype("u1") if form == BYTES else d.astype("f4")
            self.assertIsNone(problem.check(d), form)
            d[8, 4] += 2
            self.assertRegex(problem.check(d), r"element \(8, 4\)")
            if form != BYTES:
                d[8, 4] = float("nan")
                self.assertRegex(problem.check(d), "nan")

    def test_search(self):
        """Vectors that are not the nearest, a vector found twice, and a wrong cosine fail."""
        problem = Problem((3, 9, 7), SEARCH)
        exact = problem.a @ problem.b.T / numpy.linalg.norm(problem.a, axis=1, keepdims=True)
        columns = numpy.argsort(-exact)[:, :TOP]
        right = numpy.hstack([numpy.take_along_axis(exact, columns, 1), columns]).astype("f4")
        self.assertIsNone(problem.check(right))
        for row, places, values in ((2, slice(TOP, None), (columns[2] + 1) % 9),
                                    (0, TOP + 1, columns[0, 0]), (1, 0, right[1, 0] + 0.001)):
            wrong = right.copy()
            wrong[row, places] = values
            self.assertIsNotNone(problem.check(wrong))


class Judge(unittest.TestCase):
    def judge(self, others, seconds):
        """The row of the first goal for turns of these seconds; ours take one."""
        match = Match(next(iter(GOALS)), PLAIN, None)
        match.fastest = {OURS: 1, **seconds}
        match.turns = {name: [second] * 3 for name, second in match.fastest.items()}
        match.about, match.others = {OURS: "kernel on device"}, others
        return match.judge()

    def test_verdicts(self):
        """The best peer, none of ours, has the least ratio. On busy machines none is judged."""
        for others, seconds, verdicts in (
                (0.0, {"MKL": 2, "OpenBLAS": 0.97, CLBLAST: 9, "gemmcl element": 0.8},
                 [True, True]),
                (0.0, {"OpenBLAS": 0.94, CLBLAST: 6.9}, [False, False]),
                (0.5, {"OpenBLAS": 0.97}, [None])):
            with self.subTest(seconds=seconds, others=others):
                row = self.judge(others, seconds)
                self.assertEqual(row["of_best_peer"]["name"], "OpenBLAS")
                self.assertEqual([row[key]["reached"] for key in ("of_best_peer", "of_clblast")
                                  if key in row], verdicts)


if __name__ == "__main__":
    tool.main()
