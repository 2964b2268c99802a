#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""gemmcl_gemm_run() over sizes, layouts, transposes, gaps between rows and addends, each with each,
by one kernel: how operands lie, and not how they are multiplied. Then random problems, half of them
by the kernel that the rules choose, through the blocking call and through plans."""

import itertools
import math
import random

from gemmcl import ACTIVATIONS, TestCase
from problem import Problem
from tap_unittest import main

KERNEL = "gemm_naive"
LARGEST = 33
GAP = 3
# Each size in each dimension, beside two others; and the corners.
SIZES = [(i + 1, i * 13 % LARGEST + 1, i * 23 % LARGEST + 1) for i in range(LARGEST)]
SIZES += itertools.product((1, LARGEST), repeat=3)


class Sweep(TestCase):
    def solve(self, run, kernel, seed, **fields):
        problem = Problem(**fields, seed=seed)
        getattr(problem, run)(kernel)
        self.assertIsNone(problem.check(), (run, kernel, fields))

    def sweep(self, layout, trans_a, trans_b, addend):
        with_c = addend == "matrix"
        for (m, n, k), gaps in itertools.product(SIZES, range(16 if with_c else 8)):
            def ld(bit, rows, cols, transposed=False, gaps=gaps):
                length = rows if layout != transposed else cols
                return length + GAP if gaps & bit else 0
            self.solve("run_host", KERNEL, m, m=m, n=n, k=k, layout=layout, trans_a=trans_a,
                       trans_b=trans_b, addend=addend, alpha=1.25,
                       beta=0 if addend == "none" else -0.5, lda=ld(1, m, k, trans_a),
                       ldb=ld(2, k, n, trans_b), ldd=ld(4, m, n), ldc=ld(8, m, n))

    def place(self, rng, name, by_column, rows, cols, shared):
        """Where a batch of matrices lies. An ld is odd, so that kernels do not read vectors of 4,
        for which they are compiled once more. shared: the probability that all are one"""
        runs, length = (cols, rows) if by_column else (rows, cols)
        ld = (length + rng.randrange(1, 9)) | 1 if rng.randrange(2) else 0
        stride = (runs - 1) * max(ld, length) + length + rng.randrange(9)
        return {"ld" + name: ld, name + "_offset": rng.randrange(20) * rng.randrange(2),
                name + "_stride": 0 if rng.random() < shared else stride}

    def draw(self, rng, naive):
        """A random problem; the naive kernel's with all that makes other programs, of which there
        are too many for other kernels."""
        # Small sizes and large ones alike; the product is what takes time.
        m, n, k = (int(math.exp(rng.uniform(0, math.log(301)))) for _ in range(3))
        by_column, trans_b = rng.random() < 0.5, rng.random() < 0.5
        trans_a = naive and rng.random() < 0.5
        return {
            "m": m, "n": n, "k": k, "layout": by_column, "trans_a": trans_a, "trans_b": trans_b,
            **self.place(rng, "a", by_column != trans_a, m, k, 0.2),
            **self.place(rng, "b", by_column != trans_b, k, n, 0.6),
            **self.place(rng, "c", by_column, m, n, 0.6),
            **self.place(rng, "d", by_column, m, n, 0),
            "batch": rng.choice((0, 0, 1, 2, 5)),
            "alpha": rng.choice((1, 1, 0, -0.5, rng.uniform(-2, 2))),
            "beta": rng.choice((0, 1, rng.uniform(-2, 2))),
            "addend": rng.choice(("none", "matrix", "row", "output")),
            "bias": rng.random() < 0.5,
            "activation": rng.choice(ACTIVATIONS) if naive and not trans_a else "none"}

    def test_random(self):
        """A plan runs problems whose batches have no B and C of their own, and that need nothing of
        D."""
        rng = random.Random(20240229)
        planned = 0
        for i in range(200):
            fields = self.draw(rng, i % 2)
            kernel = KERNEL if i % 2 else None
            self.solve("run_host", kernel, i, **fields)
            if (fields["batch"] > 1 and (fields["b_stride"] or fields["c_stride"]) or
                    fields["addend"] == "output" and fields["beta"]):
                continue
            planned += 1
            self.solve("run_plan", kernel, i, **fields)
        self.assertGreater(planned, 60)


def add_test(name, *case):
    setattr(Sweep, "test_" + name, lambda self: self.sweep(*case))


if __name__ == "__main__":
    for case in itertools.product((False, True), (False, True), (False, True),
                                  ("none", "matrix", "row", "output")):
        words = ["column" if case[0] else "row", *("a_transposed" for _ in range(case[1])),
                 *("b_transposed" for _ in range(case[2])), case[3]]
        add_test("_".join(words), *case)
    main()
