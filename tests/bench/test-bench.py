# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the benchmarks of pipelines and of searches briefly on small cases. Checks that their JSON
has the fields that docs/internals/benchmarks.md uses."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tool

PIPELINE, GALLERY = (pathlib.Path(__file__).parent / name for name in ("pipeline.py", "gallery.py"))
SKIPPED = 77


class Benchmark(unittest.TestCase):
    """A run of the benchmark."""

    def play(self, *arguments):
        """Runs it; it must succeed. Returns its table and its only result."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            said = subprocess.run(
                [sys.executable, PIPELINE, *arguments, "--seconds", "0", "--json", path],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                check=False)
            if said.returncode == SKIPPED:
                self.skipTest(said.stderr.strip())
            self.assertEqual(said.returncode, 0, said.stderr)
            (result,) = json.loads(path.read_text("utf-8"))
        self.assertLessEqual(result["lower_quartile"], result["median"])
        self.assertLessEqual(result["median"], result["upper_quartile"])
        self.assertGreaterEqual(result["rounds"], 5)
        for side in ("their_us", "element_us"):
            self.assertTrue(0 < result[side] < 1e6, result)
        self.assertIn(result["case"], said.stdout)
        return result

    def test_plan(self):
        """The element against the plan with the smallest buffer."""
        result = self.play("--case", "1 float")
        self.assertEqual((result["case"], result["against"]), ("1 float", "plan"))
        self.assertEqual((result["figure"], result["goal"]), ("us more", "< 30 us"))
        self.assertIn(result["verdict"], ("met", "missed"))

    def test_chain(self):
        """Three elements in a row, with OpenCL memory and with system memory between them."""
        result = self.play("--case", "1280x720 RGB, pixels, 3 times")
        self.assertEqual((result["against"], result["figure"]), ("system", "ratio"))

    def test_other_element(self):
        """The element against another one, whose results have another format than its input."""
        result = self.play("--case", "1280x720 RGB to GRAY8")
        self.assertEqual((result["against"], result["goal"]), ("videoconvert", ">= 5.00"))

    def test_onnxruntime(self):
        """The element against onnxruntime with a layer that no tile divides, and its results."""
        result = self.play("5x7x9")
        self.assertEqual((result["case"], result["against"]), ("5x7x9", "onnxruntime"))

    def test_gallery(self):
        """A search in a small gallery, whose results the benchmark checks."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            said = subprocess.run(
                [sys.executable, GALLERY, "--vectors", "3000", "--size", "40", "--queries", "1",
                 "3", "--rounds", "2", "--json", path],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                check=False)
            if said.returncode == SKIPPED:
                self.skipTest(said.stderr.strip())
            self.assertEqual(said.returncode, 0, said.stderr)
            results = json.loads(path.read_text("utf-8"))
        found = {(result["queries"], result["search"]) for result in results}
        self.assertLessEqual({(1, "gemmcl"), (1, "NumPy"), (3, "gemmcl"), (3, "NumPy")}, found)
        for result in results:
            self.assertLessEqual(result["lower_quartile"], result["ratio"])
            self.assertGreater(result["queries_per_second"], 0)

    def test_usage(self):
        """An unknown option is wrong usage."""
        said = subprocess.run([sys.executable, PIPELINE, "--jsn"], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if said.returncode == SKIPPED:
            self.skipTest(said.stderr.strip())
        self.assertEqual(said.returncode, 2, said.stderr)
        self.assertIn("--jsn", said.stderr)


if __name__ == "__main__":
    tool.main()
