# SPDX-License-Identifier: LGPL-2.1-or-later
"""Softmax and row outputs of kernels that compute them before they store D, against a reference and
D. N is at most as wide as the tile of a work-group, or one column wider.

The test covers the rows that compile fastest: one for each vector width and precision, and for each
kind of subgroups; with several subgroups per row of D, whose programs are the longest, less. With
GEMMCL_TEST_ROWS=all in the environment the edges of every other row are tested, too, and with
GEMMCL_TEST_ROWS=subgroups only rows with subgroups."""

import os
import sys
from unittest import mock

import kernels
import table
from gemmcl import np
from problem import ALL, ARG_MAX, MAX, SUM, TOP_K
from tap_unittest import main

ALL_ROWS = kernels.ROWS == "all"
# Those that compile the fewest programs come first: some rows run only the first ones.
TESTS = "edges omitted batches extremes types sets apart".split()


class Row(table.Row):
    @property
    def width(self):
        """The columns of a work-group's tile; 4, which compile fast, if N is compiled in."""
        return self.group[1] if self.tile_n else 4

    @property
    def height(self):
        return self.group[0]

    def describe(self, m, n, **others):
        """A problem with an odd row distance of D; a multiple of 4 would need another program."""
        return {"m": m, "n": n, "k": 5, "precision": self.precision, "ldd": n | 1, "bias": True,
                "row_outputs": ALL, "top_k": min(n, 3), **others}

    def describe_usual(self, **others):
        return self.describe(self.height + 1, self.width - 1, **others)

    def get_size(self):
        """The size of the tile. Those of one row or column are last, since they mix nothing up."""
        if self.tile_m == 1 or self.tile_n == 1:
            return sys.maxsize
        return self.tile_m * self.tile_n * 1000 + self.group_m * self.group_n

    def get_kind(self):
        """Rows of one kind handle whole rows of D alike."""
        if self.subgroup:
            return self.dpas, self.is_across
        return (self.source, self.family, "NVIDIA" if self.capability else self.precision)

    def count_tests(self, is_smallest):
        if not is_smallest:
            return 1
        if self.is_across or self.capability:
            return len(TESTS) if ALL_ROWS else 4
        is_usual = (self.precision == "f32" and self.tile_n > 0 and not self.subgroup and
                    self.float_width in (0, 16))
        return len(TESTS) if is_usual else 2


class WholeRows(kernels.Kernels):
    def check_edges(self, row):
        width, height = row.width, row.height
        of_subgroup = row.tile_n * row.subgroup if row.is_across else width
        ns = [width, width - 1, width // 2 + 1, of_subgroup + 1, of_subgroup, 1, width + 1]
        ns = ns[:4] if row.is_across and not ALL_ROWS else ns
        self.check(row.name, [row.describe(max(m, 1), n, activation="softmax")
                              for n in (ns if row.tile_n else ns[:1])
                              for m in (1, height + 1, height, height - 1, 2 * height + 3)])

    def check_omitted(self, row):
        """Row outputs without D, also where a later step computes them from D."""
        sets = (ALL, SUM | MAX) if row.is_across else (ALL,)
        cases = [row.describe(row.height + 1, n, activation="softmax", row_outputs=each)
                 for each in sets for n in (row.width - 1, row.width, row.width + 1)]
        self.check(row.name, cases, run="run_omitting")

    def check_sets(self, row):
        """None, one or two row outputs, also with another activation and alpha or beta 0."""
        self.check(row.name, [
            row.describe(row.height // 2 + 3, row.width - 1, row_outputs=outputs, alpha=i % 3,
                         activation="relu" if outputs else "softmax", addend="matrix", beta=i % 2)
            for i, outputs in enumerate((0, SUM | TOP_K, ARG_MAX, MAX | ARG_MAX))])

    def check_extremes(self, row):
        """An extreme number in all columns, in many, or only in the last one."""
        activations = ("softmax", "none") if ALL_ROWS or not row.is_across else ("softmax",)
        cases = [row.describe_usual(activation=each, addend="matrix", beta=1, alpha=0, bias=False)
                 for each in activations]
        for extreme in np.nan, np.inf, -np.inf, 0, 1e30, -1e30:
            def spoil(problem, extreme=extreme):
                c = problem.c.elements[0]
                c[0::4] = c[1::4, 1::4] = c[2::4, -1] = extreme
            self.check(row.name, cases, spoil)

    def check_types(self, row):
        """D of other types, also column-major, in place of C."""
        cases = [row.describe_usual(d_type=kind, layout=layout, addend="output", beta=0.5, alpha=70,
                                    ldd=max(row.height + 1, row.width - 1) + 2)
                 for kind, layout in (("f16", 0), ("i8", 1))]
        self.check(row.name, [cases[0], {**cases[0], "activation": "softmax"}, cases[1]])

    def check_batches(self, row):
        """Batches without gaps, with gaps, and with a B for each."""
        fields = row.describe_usual(activation="softmax", batch=3)
        m, n, k = (fields[name] for name in "mnk")
        fields["a_stride"] = m * k
        self.check(row.name, [fields, {**fields, "d_stride": m * fields["ldd"] + 3},
                              {**fields, "b_stride": k * n}])

    def check_apart(self, row):
        """Softmax and row outputs in separate steps: on request, and with a split K."""
        fields = row.describe_usual(activation="softmax")
        with mock.patch.dict(os.environ, GEMMCL_ROWS="apart"):
            self.check(row.name, [fields])
        if row.packed and row.precision == "f32":
            fields["k"] = 32
            self.check(row.name + "/2", [fields, {**fields, "d_type": "f16"}])


def add_rows():
    rows = [row for row in table.load(Row)
            if row.whole_rows and (row.subgroup or kernels.ROWS != "subgroups")]
    smallest = {}
    for row in sorted(rows, key=Row.get_size):
        smallest.setdefault(row.get_kind(), row)
    for row in rows:
        is_smallest = smallest[row.get_kind()] is row
        if is_smallest or ALL_ROWS:
            for name in TESTS[:row.count_tests(is_smallest)]:
                kernels.add_test(WholeRows, row, name)


if __name__ == "__main__":
    kernels.begin()
    add_rows()
    main()
