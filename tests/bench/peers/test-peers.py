# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The benchmarks on small problems: their output, checks and verdicts.

Its argument is the build directory.
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

try:
    import numpy
except ImportError:
    print("1..0 # SKIP NumPy is not installed (python3-numpy)")
    sys.exit(0)
import tool

HERE = pathlib.Path(__file__).parent
BUILD = sys.argv[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

# pylint: disable=wrong-import-position
import library
from contenders import (APART, BYTES, CLBLAST, CLOCK, ELEMENT, LAYER, LINK, OURS, PLAIN, POOLED,
                        SEARCH, STREAM)
from problem import Problem
from report import GOALS, make_row
# pylint: enable=wrong-import-position


def play(*arguments):
    """Runs the benchmark. Returns its exit status and output."""
    return subprocess.run(
        [sys.executable, HERE / "main.py", "--build", BUILD, "--seconds", "0", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)


class Library(tool.TestCase):
    """The structures of library.py."""

    def test_sizes(self):
        for structure in library.Image, library.Gemm, library.Data, library.Run:
            with self.subTest(structure=structure.__name__):
                size = int(os.environ[f"GEMMCL_SIZE_{structure.__name__.upper()}"])
                self.assertEqual(ctypes.sizeof(structure), size)


class Run(tool.TestCase):
    """The whole benchmark, with contenders that are always available."""

    def test_rows(self):
        """Each form of a row is played, its results are checked, and the JSON has the ratios."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "peers.json"
            said = play("--contenders", f"memcpy,{CLOCK},{APART},{ELEMENT},{POOLED},{LINK},NumPy",
                        "--json", path, "33x20x17", "33x20x17+layer", "64x3x3+u8",
                        "33x20x17+softmax+rows", "3x3000x40+search")
            if said.returncode == 77:
                self.skipTest(said.stderr.strip())
            self.assertEqual(said.returncode, 0, said.stderr)
            rows = json.loads(path.read_text("utf-8"))["rows"]
        self.assertEqual([row["form"] for row in rows],
                         [PLAIN, LAYER, BYTES, "softmax+rows", SEARCH])
        for row in rows:
            others = {"softmax+rows": (APART,), SEARCH: ("NumPy",)}.get(
                row["form"], (CLOCK, ELEMENT, POOLED, LINK))
            for name in (OURS, *others):
                if name not in (ELEMENT, POOLED) or name not in row["missing"]:
                    self.assertGreater(row["seconds"][name], 0)
            self.assertGreaterEqual(row["rounds"], 5)
            if ELEMENT in row["seconds"]:
                self.assertGreater(row["ratios"][ELEMENT][OURS]["median"], 0)
        self.assertIn("33x20x17 bias, ReLU", said.stdout)

    def test_missing(self):
        """Missing contenders are named, with the way to install them."""
        said = play("--contenders", "memcpy", "8x3x5+u8")
        if said.returncode == 77:
            self.skipTest(said.stderr.strip())
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, "memcpy is missing.*A and D differ")

    def test_elements(self):
        """The element against another one, by gst-launch-1.0."""
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
        said = subprocess.run(
            [sys.executable, HERE.parent / "elements.py", "--rounds", "2", "--case",
             "160x120 RGB to GRAY8"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, r"RGB to GRAY8 +videoconvert +[\d.]+ +[\d.]+  \d+\.\d+ \(")

    def test_usage(self):
        """An invalid row is wrong usage."""
        for row in ("8x8", "0x8x8", "8x8x8+f64", "8xax8", "8x4x8+search"):
            self.assertEqual(play(row).returncode, 2, row)

    def test_kernel_unknown(self):
        """A failing contender ends the benchmark, with the contender's output."""
        said = play("--kernel", "vectro_4x64_1x1", "8x8x8")
        self.assertIn(said.returncode, (1, 77))
        self.assertIn("vectro" if said.returncode == 1 else "", said.stderr)


class Check(unittest.TestCase):
    """Results are compared with double precision."""

    def result_of(self, form, spoil):
        """The result of check() for the right result after spoil()."""
        with tempfile.TemporaryDirectory() as folder:
            problem = Problem((9, 5, 7), form, folder)
            d = problem.a.astype(float) @ problem.b.astype(float)
            if form == LAYER:
                d = (d + problem.bias).clip(0)
            d = d.round().clip(0, 255).astype("u1") if form == BYTES else d.astype("f4")
            spoil(d)
            d.tofile(folder + "/d")
            return problem.check("it", folder + "/d")

    def test_right(self):
        """A right result passes."""
        for form in (PLAIN, LAYER, BYTES):
            self.assertIsNone(self.result_of(form, lambda d: None), form)

    def test_wrong(self):
        """One wrong element fails, and so does NaN."""
        def add(d):
            d[8, 4] += 2

        def invalidate(d):
            d[0, 0] = float("nan")
        for form in (PLAIN, LAYER, BYTES):
            self.assertRegex(self.result_of(form, add), r"it: element \(8, 4\) of 9x5x7")
        self.assertRegex(self.result_of(PLAIN, invalidate), "nan")

    def test_search(self):
        """Vectors that are not the nearest, a vector found twice, and a wrong cosine fail."""
        def shift(d):
            d[2, 5:] = (d[2, 5:] + 1) % 9

        def repeat(d):
            d[0, 6] = d[0, 5]

        def add(d):
            d[1, 0] += 0.001
        with tempfile.TemporaryDirectory() as folder:
            problem = Problem((3, 9, 7), SEARCH, folder)
            exact = problem.a @ problem.b.T / numpy.linalg.norm(problem.a, axis=1, keepdims=True)
            columns = numpy.argsort(-exact)[:, :5]
            right = numpy.hstack([numpy.take_along_axis(exact, columns, 1), columns]).astype("f4")
            for spoil in (None, shift, repeat, add):
                d = right.copy()
                if spoil:
                    spoil(d)
                d.tofile(folder + "/d")
                self.assertEqual(problem.check("it", folder + "/d") is None, spoil is None)


class Judge(unittest.TestCase):
    """The choice of the best peer, and of reached goals."""

    def row(self, others, medians):
        """The row of the first goal for a match with these ratios."""
        contenders = [types.SimpleNamespace(name=name) for name in (OURS, *medians)]
        match = types.SimpleNamespace(
            problem=types.SimpleNamespace(shape=next(iter(GOALS)), form=PLAIN),
            ratios=lambda name, own: {"median": medians.get(name, 1) / medians.get(own, 1)},
            contenders=contenders, about={OURS: "kernel on device"}, missing={}, others=others,
            turns={OURS: [1.0]}, seconds=lambda name: 1.0)
        return make_row(match)

    def test_verdicts(self):
        """The best peer is the one with the smallest ratio, and none of ours. Without the peer, or
        on a busy machine, no goal is judged."""
        for others, medians, verdicts in (
                (0.0, {"slow": 2, "fast": 0.97, CLBLAST: 9, STREAM: 0.8}, [True, True]),
                (0.0, {"fast": 0.94, CLBLAST: 6.9}, [False, False]),
                (0.5, {"fast": 0.97}, [None])):
            with self.subTest(medians=medians, others=others):
                row = self.row(others, medians)
                self.assertEqual(row["best_peer"], "fast")
                self.assertEqual([row[key]["reached"] for key in ("of_best_peer", "of_clblast")
                                  if key in row], verdicts)


if __name__ == "__main__":
    tool.main()
