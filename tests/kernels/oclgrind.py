# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the kernels on Oclgrind, an OpenCL device that checks each access: nothing is read or
written outside of a buffer or an array, and no two work-items race for an element.

    oclgrind --data-races --local-mem-size 262144 --log LOG oclgrind.py LOG

Oclgrind has no subgroups, so they are emulated. The test covers the first row of each method and
the first with several subgroups per row of D; of methods for matrix engines that share a source the
first, and the one for int8. With GEMMCL_TEST_ROWS=all in the environment it covers every row."""

import os
import sys
import unittest

import table
from gemmcl import get_device, np
from kernels import add_test, launch
from problem import ARG_MAX, MAX, SUM, ProblemTestCase
from tap_unittest import main

LOG = sys.argv[1] if len(sys.argv) > 1 else None


def is_here():
    try:
        return LOG and get_device().platform == "Oclgrind"
    except unittest.SkipTest:
        return False


@unittest.skipUnless(is_here(), "this does not run on Oclgrind: install it (scripts/setup.sh test)"
                                " and set up anew")
class Oclgrind(ProblemTestCase):
    seen = 0

    def get_complaint(self):
        with open(LOG, encoding="utf-8") as file:
            file.seek(Oclgrind.seen)
            log = file.read()
            Oclgrind.seen = file.tell()
        return log

    def check(self, kernel, *sizes, **fields):
        self.solve("run_device", kernel, *sizes, **fields)
        self.assertEqual(self.get_complaint().strip().split("\n\t\n")[0], "", (kernel, fields))

    def check_row(self, row):
        def check(*sizes, **fields):
            self.check(row.name, *row.limit(*sizes), precision=row.precision, **fields)
        check(7, 13, 5)
        check(9, 11, 17, layout="column", addend="output", beta=0.5)
        check(5, 9, 19, trans_a=True, trans_b=True, lda=7, ldb=21, ldd=10, batch=2,
              a_stride=7 * 19, b_stride=21 * 9, addend="matrix", beta=-1, bias=True)
        if row.whole_rows:
            # Softmax and row outputs in the kernel; N is larger than a subgroup's columns.
            n = row.tile_n * row.subgroup + 7 if row.is_across else 7
            check(19, n, 3, batch=2, b_stride=3 * n, activation="softmax",
                  row_outputs=SUM | MAX | ARG_MAX)

    def test_split(self):
        self.check("gemm_naive/2", 7, 13, 32, addend="matrix", beta=2, bias=True)

    def provoke(self, source):
        launch(source, np.zeros(2, "f4"), 2)
        return self.get_complaint()

    def test_complaints(self):
        for body in ("x[get_global_id (0) + 1] = 1;", "x[0] = x[get_global_id (0) + 1];",
                     "x[0] = get_global_id (0);",
                     "local float y[2]; y[get_local_id (0)] = x[get_local_id (0)];"
                     " x[get_local_id (0)] = y[1 - get_local_id (0)];"):
            self.assertTrue(self.provoke("kernel void f (global float *x) { " + body + " }"), body)
        self.assertFalse(self.provoke("kernel void f (global float *x)"
                                      " { x[get_global_id (0)] = 1; }"))


def add_rows():
    rows = table.load()
    across = next(row for row in rows if row.is_across)
    seen = set()
    for row in rows:
        kind = (row.source, row.precision == "i8") if row.engines else row.method
        if kind not in seen or row is across or os.environ.get("GEMMCL_TEST_ROWS") == "all":
            add_test(Oclgrind, row, "row")
        seen.add(kind)


if __name__ == "__main__":
    if is_here():
        add_rows()
    main()
