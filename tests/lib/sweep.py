# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random problems: sizes, layouts, transposes, gaps between rows, batches, addends and pooling,
through the blocking call and through plans. Most run with the fallback, since they test where
operands lie, not how they are multiplied. A fourth runs with the kernel that the rules choose."""

import math
import random

from gemmcl import ACTIVATIONS, describe
from problem import ProblemTestCase, count_rows_of_d
from tap_unittest import main

KERNEL = "gemm_naive"


class Sweep(ProblemTestCase):
    def place(self, rng, name, by_column, rows, cols, shared):
        """The place of a batch of matrices. An ld is odd, so that no kernel is compiled once more
        for vectors of 4. shared: the probability that the batch shares one matrix"""
        runs, length = (cols, rows) if by_column else (rows, cols)
        ld = (length + rng.randrange(1, 9)) | 1 if rng.randrange(2) else 0
        stride = (runs - 1) * max(ld, length) + length + rng.randrange(9)
        return {"ld" + name: ld, name + "_start": rng.randrange(20) * rng.randrange(2),
                name + "_stride": 0 if rng.random() < shared else stride}

    def draw_pool(self, rng, m):
        """A kind of pooling, with windows in a grid that divides M rows."""
        across = rng.choice([each for each in range(1, m + 1) if m % each == 0])
        grid = across, rng.choice([each for each in range(1, m // across + 1)
                                   if m // across % each == 0])
        size = [rng.choice((0, 1, min(2, most), rng.randint(1, most))) for most in grid]
        return {"pool": rng.choice(("max", "average")), "pool_across": across, "pool_down": grid[1],
                "pool_width": size[0], "pool_height": size[1],
                "pool_stride_x": rng.randrange(4), "pool_stride_y": rng.randrange(4)}

    def draw(self, rng, naive):
        """A random problem. Fields that need another program vary only for the naive kernel."""
        # Small sizes and large ones alike; the product is what takes time.
        m, n, k = (int(math.exp(rng.uniform(0, math.log(301)))) for _ in range(3))
        addend = rng.choice(("none", "matrix", "row", "output"))
        pool = self.draw_pool(rng, m) if addend != "output" and rng.random() < 0.1 else {}
        d_rows = count_rows_of_d(describe(m, n, k, **pool))
        by_column, trans_b = rng.random() < 0.5, rng.random() < 0.5
        trans_a = naive and rng.random() < 0.5
        return {
            "m": m, "n": n, "k": k, "layout": by_column, "trans_a": trans_a, "trans_b": trans_b,
            **self.place(rng, "a", by_column != trans_a, m, k, 0.2),
            **self.place(rng, "b", by_column != trans_b, k, n, 0.6),
            **self.place(rng, "c", by_column, m, n, 0.6),
            **self.place(rng, "d", by_column, d_rows, n, 0), **pool,
            "batch": rng.choice((0, 0, 1, 2, 5)),
            "alpha": rng.choice((1, 1, 0, -0.5, rng.uniform(-2, 2))),
            "beta": rng.choice((0, 1, rng.uniform(-2, 2))),
            "addend": addend, "bias": rng.random() < 0.5,
            "activation": rng.choice(ACTIVATIONS) if naive and not trans_a else "none"}

    def test_random(self):
        """Plans also run the problems whose batches share B and C and that do not read D."""
        rng = random.Random(20240229)
        planned = 0
        for i in range(800):
            fields = self.draw(rng, i % 4)
            kernel = KERNEL if i % 4 else None
            self.solve("run_host", kernel, seed=i, **fields)
            if (fields["batch"] > 1 and (fields["b_stride"] or fields["c_stride"]) or
                    fields["addend"] == "output" and fields["beta"]):
                continue
            planned += 1
            self.solve("run_plan", kernel, seed=i, **fields)
        self.assertGreater(planned, 200)


main()
