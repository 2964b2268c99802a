#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl bench`: its output is consistent, and its errors. TAP out."""

import json
import os
import re
import subprocess

import tool

KEYS = {"device", "requested", "kernel", "choice", "precision", "layout", "trans_a", "trans_b",
        "alpha", "beta", "m", "n", "k", "iterations", "time_ms", "gflops", "peak_gflops",
        "peak_source", "efficiency", "bandwidth_gbs", "bandwidth_source", "verified", "max_error",
        "error_bound"}


class Bench(tool.FolderTestCase):
    def measure(self, m, n, k, *arguments):
        return self.read("bench", "-M", m, "-N", n, "-K", k, "--json", "-", *arguments)


class Results(Bench):
    def test_no_time_is_no_speed(self):
        """A driver without a GPU, whose commands begin and end at once."""
        double = tool.faults(GEMMCL_NO_TIME="")
        shape = ("-k", "gemm_naive", "-M", 16, "-N", 16, "-K", 16, "-i", 2)
        said = self.ends(0, "bench", *shape, **double).stdout
        self.assertIn("The device measured no time.", said)
        self.assertNotRegex(said, r"run 1 +[0-9]")
        result, = json.loads(self.ends(0, "bench", *shape, "--json", "-", **double).stdout)
        self.assertIsNone(result["gflops"])
        self.assertIsNone(result["time_ms"]["median"])

    def test_json_has_what_was_agreed(self):
        result, = self.measure(
            32, 16, 8, "-k", "naive", "-i", "5", "--peak", "100", "--bandwidth", "7.5", "--layout",
            "col", "--beta", "3", "--transpose-b"
        )
        self.assertEqual(set(result), KEYS)
        time = result["time_ms"]
        self.assertEqual(set(time), {"min", "median", "max"})
        for key, value in (
            ("kernel", "gemm_naive"), ("requested", "gemm_naive"), ("precision", "f32"),
            ("layout", "col"), ("trans_a", False), ("trans_b", True), ("alpha", 1), ("beta", 3),
            ("iterations", 5), ("peak_gflops", 100), ("peak_source", "set with --peak"),
            ("bandwidth_gbs", 7.5), ("bandwidth_source", "set with --bandwidth"),
        ):
            self.assertEqual(result[key], value, key)
        self.assertLessEqual(time["min"], time["median"])
        self.assertLessEqual(time["median"], time["max"])
        self.assertGreater(time["min"], 0)
        gflops = 2 * 32 * 16 * 8 / (time["median"] * 1e6)
        self.assertAlmostEqual(result["gflops"] / gflops, 1, places=5)
        self.assertAlmostEqual(result["efficiency"] / (gflops / 100), 1, places=5)
        for key in ("verified", "max_error", "error_bound"):
            self.assertIsNone(result[key])

    def test_no_iterations_run_nothing(self):
        names = "gemm_naive,vector_8x8_1x1,tiled_4x4_8x8"
        for result in self.measure(9, 9, 9, "-i", "0", "-k", names, "-v"):
            self.assertEqual(result["time_ms"], {"min": None, "median": None, "max": None})
            for key in ("gflops", "efficiency", "verified", "max_error", "error_bound"):
                self.assertIsNone(result[key])

    def test_file_and_table(self):
        path = self.path("bench.json")
        said = self.ends(0, "bench", "-M", 7, "-N", 13, "-K", 5, "-k", "all", "-v", "--json", path
                         ).stdout
        results = self.load(path)
        self.assertRegex(said, r"(?m)^Device +\S")
        self.assertRegex(said, r"(?m)^f32 peak \S")
        for result in results:
            self.assertRegex(said, rf"(?m)^{result['kernel']} .* ok$")
        names = [kernel["name"] for kernel in self.read("kernels", "--json")]
        measured = [result["kernel"] for result in results]
        for name in names:
            if name not in measured:
                self.assertRegex(said, rf"(?m)^{name} +[A-Za-z].*\.$")

    def test_one_kernel_shows_every_run(self):
        said = self.ends(0, "bench", "-M", "8", "-N", "8", "-K", "8", "-k", "naive", "-i", "3")
        rows = re.findall(r"(?m)^  run (\d+) +\d+\.\d+ +\d+\.\d+", said.stdout)
        self.assertEqual(rows, ["1", "2", "3"])

    def test_stated_peak(self):
        said = self.ends(0, "bench", "-M", "8", "-i", "1", "--peak", "123.5").stdout
        self.assertRegex(said, r"(?m)^Peak +123\.5 GFLOPS: .*--peak")
        self.refuses(2, "more than 0", "bench", "--peak", "0")

    def test_bandwidth(self):
        said = self.ends(0, "bench", "-M", 8, "-i", 1, "--bandwidth", "measure", "--json", "-")
        result, = json.loads(said.stdout)
        rate, = re.findall(r"(?m)^Memory +([\d.]+) GB/s: .*clEnqueueCopyBuffer", said.stderr)
        self.assertGreater(float(rate), 0)
        self.assertAlmostEqual(result["bandwidth_gbs"], float(rate), delta=0.051)
        self.assertIn("clEnqueueCopyBuffer", result["bandwidth_source"])
        self.refuses(2, "--bandwidth takes more than 0", "bench", "--bandwidth", "-1")
        self.refuses(2, "--bandwidth takes a finite number", "bench", "--bandwidth", "much")

    def test_several_kernels_by_name(self):
        names = [kernel["name"] for kernel in self.read("kernels", "--json") if kernel["here"]]
        for asked in (names[:2], names[::-1][:2]):
            # Sizes that fit every row, also those for narrow products.
            results = self.measure(1, 16, 16, "-i", "1", "-k", ",".join(asked))
            self.assertEqual([result["kernel"] for result in results], asked)

    def test_automatic_choice_is_named(self):
        names = [kernel["name"] for kernel in self.read("kernels", "--json")]
        for arguments in ((), ("-k", "auto"), ("-k", "rules")):
            said = self.ends(
                0, "bench", "-M", 64, "-N", 64, "-K", 64, "-i", "1", "--json", "-", *arguments
            )
            result, = json.loads(said.stdout)
            self.assertIn(result["kernel"].split("/")[0], names)
            self.assertEqual(result["requested"], arguments[1] if arguments else "auto")
            self.assertIn(result["choice"], ("tuned", "shipped", "rules"))
            self.assertRegex(said.stderr, rf"(?m)^{result['kernel']} +{result['choice']} +\d")
        self.assertEqual(result["choice"], "rules")

    def test_a_kernel_that_is_named_is_no_choice(self):
        said = self.ends(0, "bench", "-M", 8, "-i", "1", "-k", "gemm_naive", "--json", "-")
        result, = json.loads(said.stdout)
        self.assertEqual(result["choice"], "named")
        self.assertIsNone(result["bandwidth_gbs"])
        self.assertIsNone(result["bandwidth_source"])
        self.assertNotIn("choice", said.stderr)

    def test_sweep(self):
        for sweep, fixed, shapes in (
            ("5,3:13,3", (), [(3, 3, 3), (5, 5, 5), (6, 6, 6), (12, 12, 12)]),
            ("4:10:3", ("-M", 2), [(2, 4, 4), (2, 7, 7), (2, 10, 10)]),
            ("9", ("-N", 1, "-K", 5), [(9, 1, 5)]),
        ):
            said = self.ends(
                0, "bench", "--sweep", sweep, *fixed, "-i", "1", "-v", "-k",
                "gemm_naive,vector_8x8_1x1", "--json", "-"
            )
            results = json.loads(said.stdout)
            kernels = ("gemm_naive", "vector_8x8_1x1")
            self.assertEqual(
                [(r["m"], r["n"], r["k"], r["kernel"], r["verified"]) for r in results],
                [(*shape, kernel, True) for shape in shapes for kernel in kernels],
            )
            for m, n, k in shapes[1:]:
                self.assertRegex(said.stderr, rf"(?m)^{m} x {n} x {k} +gemm_naive .* ok$")

    def test_sweeps_that_are_none(self):
        for sweep in ("", "0", "8:4", "1:2:3:4", "1,,2", "a", "-3", "1:4:0", "99999999999", "8:"):
            with self.subTest(sweep=sweep):
                self.refuses(2, "--sweep takes sizes", "bench", f"--sweep={sweep}")
        self.refuses(2, "256 sizes at most", "bench", "--sweep", "1:2147483647:1")
        self.refuses(
            2, "Leave at least one out", "bench", "--sweep", 8, "-M", 1, "-N", 1, "-K", 1
        )


class Failures(Bench):
    def test_unknown_kernel_lists_near_ones(self):
        self.refuses(2, "gemm_naiv.*gemm_naive", "bench", "-M", "8", "-k", "gemm_naiv")
        self.refuses(2, "gemm_naiv.*gemm_naive", "bench", "-M", "8", "-k", "gemm_naive,gemm_naiv")

    def test_mismatch(self):
        said = self.ends(
            1, "bench", "-M", "8", "-i", "1", "-k", "gemm_naive", "-v", "--json", "-",
            **tool.faults(GEMMCL_WRONG_RESULTS="")
        )
        self.assertRegex(said.stderr, r"(?m)^gemm_naive .* 0\.5 +0\.25  MISMATCH$")
        self.assertIn("1 of 1 results are outside their error bounds", said.stderr)
        result, = json.loads(said.stdout)
        self.assertIs(result["verified"], False)
        self.assertEqual((result["max_error"], result["error_bound"]), (0.5, 0.25))

    def test_too_large(self):
        self.refuses(1, "too large", "bench", "-M", 2147483647, "-K", 2147483647, "-i", "0")
        most = self.read("devices", "--json")[0]["max_alloc_bytes"] // 4
        # The largest buffer of a device can exceed the range of sizes.
        rows = most // 2**30 + 1
        self.refuses(
            1, "too large", "bench", "-M", rows, "-N", 1, "-K", most // rows + 1, "-i", "0"
        )

    def test_output_that_cannot_be_written(self):
        for path in ("/nonexistent/directory/bench.json", self.folder):
            says = rf"^gemmcl bench: .*{path}.*: \S.*\n$"
            self.refuses(1, says, "bench", "-M", 8, "--json", path)

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            said = subprocess.run(
                [tool.TOOL, "kernels"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        self.assertEqual(said.returncode, 1)
        self.assertIn("written", said.stderr)

    def test_interrupt(self):
        path = self.path("bench.json")
        with tool.start("bench", "-M", "8", "-k", "gemm_naive,gemm_naive", "-i", "1000000000",
                        "--json", path) as process:
            # The runs begin after the titles are printed.
            self.wait_for(process, process.stdout, "kernel ")
            self.interrupted(process)
        self.assertEqual(self.load(path), [])


tool.main()
