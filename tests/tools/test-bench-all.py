#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl bench -k all -v`: every kernel that takes a problem is right. TAP out.

usage: test-bench-all.py 'MxNxK [OPTION...]'...

Each argument is a test: sizes, and options for bench.
"""

import sys

import tool


class Problem(tool.TestCase):
    def check(self, sizes, *options):
        m, n, k = map(int, sizes.split("x"))
        problem = "-M", m, "-N", n, "-K", k, *options
        results = self.read("bench", *problem, "-k", "all", "-v", "-i", "1", "--json", "-")
        self.assertIn("gemm_naive", [result["kernel"] for result in results])
        for result in results:
            with self.subTest(kernel=result["kernel"]):
                self.assertEqual((result["m"], result["n"], result["k"]), (m, n, k))
                self.assertIs(result["verified"], True)
                self.assertGreaterEqual(result["max_error"], 0)
                self.assertGreater(result["error_bound"], 0)


for problem in sys.argv[1:]:
    setattr(
        Problem,
        "test_" + problem.replace(" ", "_"),
        lambda self, words=problem.split(): self.check(*words),
    )

tool.main()
