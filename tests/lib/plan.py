#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans: operands that do not fit, smaller runs, statistics."""

from gemmcl import Plan, Refused, TestCase, describe, make, np
from tap_unittest import main

UNWRITTEN = -77


class Fixture(Plan):
    """A plan with an A of ones, a B of ones unless said, and room for D."""

    def __init__(self, m, n, k, b=1, **fields):
        gemm = describe(m, n, k, **fields)
        super().__init__(gemm, **({} if b is None else {"b": np.full((k, n), b)}))
        batch = max(gemm.batch, 1)
        self.a = np.ones((batch, m, k), "f4")
        self.d = np.empty((batch, m, n), "f4")

    def solve(self, **fields):
        """Returns D, with UNWRITTEN where the run wrote nothing."""
        self.d[...] = UNWRITTEN
        values = {"alpha": self.gemm.alpha, "beta": self.gemm.beta, **fields}
        self.run(a=list(self.a) if values["alpha"] else None, d=list(self.d), **values)
        return self.d


class Plans(TestCase):
    def holds(self, d, value):
        np.testing.assert_array_equal(d, np.full(d.shape, value))

    def refuses_operands(self, plan, cases):
        """Operands of nines, each refused; cases are (operand, rows, cols, words)."""
        for name, rows, cols, words in cases:
            code = "invalid" if "without" in words else "shape"
            self.refuses(code, words, "plan_set_" + name, plan, make(np.full((rows, cols), 9)))

    def test_shapes(self):
        """A refused operand changes nothing."""
        plan = Fixture(2, 3, 4, bias=True, addend="matrix", beta=1)
        self.refuses_operands(plan, [
            ("b", 3, 4, "B must be 4 x 3 but is 3 x 4"), ("b", 4, 4, "4 x 4"),
            ("b", 12, 1, "12 x 1"), ("bias", 1, 4, "bias must be 1 x 3"),
            ("bias", 4, 1, "bias must be 3 x 1"), ("bias", 3, 3, "bias"),
            ("c", 3, 2, "C must be 2 x 3"), ("c", 1, 3, "C must be 2 x 3")])
        self.holds(plan.solve(), 4)
        self.refuses_operands(Fixture(2, 3, 4), [("bias", 1, 3, "without a bias"),
                                                 ("c", 2, 3, "without a C")])

    def test_row_shapes(self):
        plan = Fixture(2, 3, 4, bias=True, addend="row", beta=2)
        self.refuses_operands(plan, [("c", 2, 3, "C must be 1 x 3")])
        self.holds(plan.solve(), 4)
        for shape, value in ((3, 1), 5), ((1, 3), 6):
            for name in "c", "bias":
                plan.set(name, np.full(shape, value))
            self.holds(plan.solve(), 4 + 3 * value)

    def test_b_types(self):
        """B may be of any type."""
        plan = Fixture(1, 2, 3)
        plan.set("b", make([[1, -2], [3, 4], [5, 6]], "i8"))
        np.testing.assert_array_equal(plan.solve()[0], [[9, 8]])

    def test_without_b(self):
        plan = Fixture(2, 3, 4, b=None)
        with self.assertRaisesRegex(Refused, "no B yet"):
            plan.solve()
        self.holds(plan.solve(alpha=0), 0)
        plan.set("b", np.full((4, 3), 3))
        self.holds(plan.solve(alpha=2), 24)

    def test_smaller(self):
        plan = Fixture(5, 3, 4, batch=3, a_stride=5 * 4)
        for m in range(1, 6):
            for batch in range(1, 4):
                expected = np.full((3, 5, 3), UNWRITTEN)
                expected[:batch, :m] = 4
                np.testing.assert_array_equal(plan.solve(m=m, batch=batch), expected)
        for fields, words in (({"m": 6}, "6 rows and 3 batches is more than"),
                              ({"batch": 4}, "5 rows and 4 batches")):
            with self.assertRaisesRegex(Refused, words):
                plan.solve(**fields)

    def test_smaller_by_column(self):
        """Fewer rows of matrices that lie column by column, or of a transposed A, with gaps."""
        for by_column in False, True:
            for trans_a in False, True:
                plan = Fixture(5, 3, 4, layout=by_column, trans_a=trans_a, lda=6, ldd=6)
                a, d = np.full((6, 6), np.nan, "f4"), np.full((6, 6), UNWRITTEN, "f4")
                rows = a.T if by_column != trans_a else a
                rows[:2, :4] = [[1], [2]]
                expected = d.copy()
                (expected.T if by_column else expected)[:2, :3] = [[4], [8]]
                plan.run(a=a, d=d, m=2)
                np.testing.assert_array_equal(d, expected)

    def test_stats(self):
        plan = Fixture(50, 30, 40)
        stats = plan.get_stats()
        self.assertFalse(stats.runs or stats.kernel_ns or stats.bytes_in or stats.bytes_out or
                         stats.copies)
        plan.solve()
        plan.solve(m=10)
        stats = plan.get_stats()
        self.assertEqual((stats.runs, stats.flops, stats.bytes_in, stats.bytes_out),
                         (2, 2 * 60 * 30 * 40, 60 * 40 * 4, 60 * 30 * 4))
        self.assertGreater(stats.kernel_ns, 0)


if __name__ == "__main__":
    main()
