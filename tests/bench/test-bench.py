# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the benchmarks that have no other test, each briefly on its smallest case. Checks that their
JSON has the fields that docs/internals/benchmarks.md uses.

Its argument is the folder of their programs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tool

HERE = pathlib.Path(__file__).parent
PROGRAMS = pathlib.Path(sys.argv[1])
SKIPPED = 77


class Benchmark(unittest.TestCase):
    """A run of each benchmark."""

    def play(self, *command):
        """Runs a benchmark, which must succeed. Returns its table and its list of results."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            said = subprocess.run(
                [*command, "--json", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, check=False)
            if said.returncode == SKIPPED:
                self.skipTest(said.stderr.strip())
            self.assertEqual(said.returncode, 0, said.stderr)
            return said.stdout, json.loads(path.read_text("utf-8"))

    def check_quartiles(self, result):
        """The figure is the middle one of its three."""
        self.assertLessEqual(result["lower_quartile"], result["median"])
        self.assertLessEqual(result["median"], result["upper_quartile"])
        self.assertGreaterEqual(result["rounds"], 5)

    def program(self, name):
        """A program, which is not built if a dependency is missing."""
        path = PROGRAMS / name
        if not path.exists():
            self.skipTest(f"{name} was not built")
        return path

    def test_pipeline(self):
        """The element against the plan with the smallest buffer."""
        table, (result,) = self.play(
            self.program("bench-pipeline"), "--case", "1 float", "--seconds", "0")
        self.check_quartiles(result)
        self.assertEqual((result["case"], result["against"], result["bytes_in"]),
                         ("1 float", "plan", 4))
        self.assertEqual((result["figure"], result["goal"]), ("us more", "< 30 us"))
        self.assertIn(result["verdict"], ("met", "missed"))
        for side in ("their_us", "element_us"):
            self.assertTrue(0 < result[side] < 1e6, result)
        self.assertIn("1 float", table)

    def test_onnxruntime(self):
        """The element against onnxruntime with a layer that no tile divides, and its results."""
        self.program("bench-pipeline")
        table, (result,) = self.play(
            sys.executable, HERE / "pipeline-onnxruntime.py", "--seconds", "0", "5x7x9")
        self.check_quartiles(result)
        self.assertEqual((result["case"], result["against"]), ("5x7x9", "onnxruntime"))
        self.assertGreater(result["their_us"], 0)
        self.assertGreater(result["element_us"], 0)
        self.assertIn("5x7x9", table)

    def test_rows(self):
        """Softmax in the kernel with few columns."""
        table, (result,) = self.play(
            self.program("bench-rows"), "--case", "4096x10x64", "--seconds", "0")
        self.assertEqual(result["case"], "4096x10x64 softmax row outputs")
        self.assertEqual(result["rounds"], 5)
        self.assertGreater(result["whole_us"], 0)
        self.assertGreater(result["apart_us"], 0)
        self.assertGreater(result["ratio"], 0)
        self.assertIn(result["kernel"], table)

    def test_usage(self):
        """An unknown option is wrong usage."""
        for command in ([self.program("bench-pipeline")], [self.program("bench-rows")]):
            said = subprocess.run([*command, "--jsn"], stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(said.returncode, 2, said.stderr)
            self.assertIn("--jsn", said.stderr)


if __name__ == "__main__":
    tool.main()
