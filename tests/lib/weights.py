# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans of one context share equal weights, and never different ones."""

import os

from gemmcl import (FIRST_OF_METHOD, IS_BRIEF, KERNELS, Plan, Refused, TestCase, ask, count_weights,
                    describe, get_matrix, make, np)
from tap_unittest import main

M, N, K = 5, 24, 40


def make_b(seed):
    """Whole numbers from -2 to 2, which every type holds and whose sums are exact."""
    k, n = np.indices((K, N))
    return (k * 7 + n * 3 + seed) % 5 - 2.0


class Weights(TestCase):
    def setUp(self):
        super().setUp()
        self.context = self.make_context()  # without weights of other tests

    def make_plan(self, b, kernel="gemm_naive", m=M, **fields):
        return Plan(describe(m, N, K, **fields), kernel, self.context, b=b)

    def has(self, count):
        found, size = count_weights(self.context)
        self.assertEqual((found, size > 0), (count, count > 0))

    def runs(self, plan, seed):
        """Checks a run: row i of A picks row 7 i of B."""
        a, d = np.zeros((M, K), "f4"), np.zeros((M, N), "f4")
        a[np.arange(M), np.arange(M) * 7] = 1
        plan.run(a=a, d=d, m=M)
        np.testing.assert_array_equal(d, make_b(seed)[:7 * M:7], plan.kernel)

    def test_one_file(self):
        path = self.path("b.npy")
        ask("matrix_save_npy", make(make_b(1)), path)
        first, second = (get_matrix("matrix_load", path) for _ in range(2))
        self.has(0)
        small = self.make_plan(first)
        self.assertEqual(count_weights(self.context), (1, K * N * 4))
        large = self.make_plan(second, m=100 * M)
        self.assertEqual(count_weights(self.context), (1, K * N * 4))
        del small
        self.has(1)
        self.runs(large, 1)
        del large
        self.has(0)

    def test_transposed(self):
        one = self.make_plan(make_b(1))
        other = self.make_plan(make_b(1).T, trans_b=True)
        self.has(1)
        self.runs(other, 1)
        self.runs(one, 1)

    def test_changed(self):
        one, other = (self.make_plan(make_b(1), None) for _ in range(2))
        other.set("b", make_b(2))
        self.has(2)
        self.runs(one, 1)
        self.runs(other, 2)
        one.set("b", make_b(2))
        self.has(1)
        self.runs(one, 2)

    def test_rewritten(self):
        """A file that was rewritten with the same size and times has other weights."""
        path = self.path("b.npy")
        plans = []
        for seed in range(2):
            ask("matrix_save_npy", make(make_b(seed)), path)
            os.utime(path, (10**9, 10**9))
            plans.append(self.make_plan(get_matrix("matrix_load", path), None))
        for seed, plan in enumerate(plans):
            self.runs(plan, seed)

    def test_kernels(self):
        """Every kernel, with and without a split of K, has weights in its own packing.
        With GEMMCL_TEST_BRIEF only the first kernel of a method, and kernels that compile fast."""
        plans = []
        for kernel in KERNELS:
            is_tried = not IS_BRIEF or kernel.method == b"vector" or \
                FIRST_OF_METHOD[kernel.method] is kernel
            for parts in ("", "/2") if is_tried else ():
                try:
                    plans.append(self.make_plan(make_b(3), kernel.name.decode() + parts))
                except Refused as error:
                    self.assertEqual(error.code, "kernel")
        self.assertGreaterEqual(len(plans), 20)
        self.assertTrue(1 < count_weights(self.context)[0] < len(plans))
        for plan in plans:
            self.runs(plan, 3)
        del plan
        plans.clear()
        self.has(0)


main()
