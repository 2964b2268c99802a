# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares every row of the table of kernels with a reference, so that a new row needs no new test.

    kernels.py [SHARD SHARDS]     the rows of shard SHARD, from 0, of SHARDS; default: all rows

Compiling takes most of the time. Options that need another program are therefore tested in full
only with two rows: the first one, and the first one that stores frames itself. The other rows share
the macros of these two. Each of them is tested with one type and activation, and the first row of
each method with all layouts and vectors of 4. Environment variables:

    GEMMCL_TEST_BRIEF            The first row of each method is tested as usual, the others only
                                 with edges, which need a single program; of rows that differ only
                                 in a group's subgroups or in the 16-bit type only one
    GEMMCL_TEST_ROWS=all         Every row is tested in full, which takes hours
    GEMMCL_TEST_ROWS=NAME,...    These rows alone, as with all
    GEMMCL_TEST_ROWS=subgroups   Only the edges of a method's first row for each subgroup size"""

import itertools
import os
import sys
import unittest
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, create_string_buffer

import table
from gemmcl import (ACTIVATIONS, DTYPES, IS_BRIEF, TYPES, Buffer, Plan, Refused, describe,
                    find_misfit, get_context, get_device, get_level, np)
from library import GPU, good
from pixels import make_frame
from problem import MISCOMPILED, Problem, ProblemTestCase, is_miscompiled
from tap_unittest import main, tap

ROWS = os.environ.get("GEMMCL_TEST_ROWS", "")
BUILD_LOG = 0x1183  # CL_PROGRAM_BUILD_LOG
INTEGERS = [kind for kind in TYPES if DTYPES[kind][0] in "iu"]


class Row(table.Row):
    def is_full(self):
        if self.index == 0 or ROWS not in ("", "subgroups"):
            return True
        gemm = describe(1, 1, 1, d_frame=make_frame(1, 1, "GRAY8"))
        return self.is_first and not find_misfit(self.name, gemm)

    def is_like_another(self):
        """True for a row of matrix engines if another has its tile in a larger group, or an earlier
        one tile and group in another precision, but for int8's depth with subgroups."""
        def kind(row):
            return (row.engines, row.tile, row.subgroup, row.subgroup > 0 and row.precision == "i8")
        return self.engines and any(
            kind(other) == kind(self) and
            (np.prod(other.group) > np.prod(self.group) or
             other.group == self.group and other.index < self.index) for other in TABLE)

    def is_part_of_another(self):
        """True if another row differs only in a larger group, so that its tests cover this one."""
        return any((other.method, other.tile) == (self.method, self.tile) and
                   other.group[0] > self.group[0] and other.group[1] == self.group[1]
                   for other in TABLE)

    def is_brief(self):
        return ROWS == "subgroups" or (not ROWS and IS_BRIEF and
                                       (not self.is_first or self.is_like_another()))

    def is_wanted(self):
        if ROWS == "subgroups":
            return self.subgroup > 0 and not any(
                (row.method, row.subgroup) == (self.method, self.subgroup)
                for row in TABLE[:self.index])
        if ROWS not in ("", "all"):
            return self.name in ROWS.split(",")
        return self.is_first or not self.is_brief() or not (self.is_part_of_another() or
                                                         self.is_like_another())

    def describe(self, k):
        """A problem with sizes that no tile divides, or the nearest that fits the kernel."""
        tile_m, tile_n = self.tile
        for m, n, depth in ((tile_m + 1, tile_n + 3, k), (tile_m, tile_n + 3, k),
                            (tile_m + 1, 3, min(k, 5)), (1, 1, 1)):
            fields = {"m": m, "n": n, "k": depth, "precision": self.precision}
            if not find_misfit(self.name, describe(**fields)):
                break
        return fields

    def is_transposed(self, by_column, wanted):
        """Rows other than the first of a method have only one program for each layout."""
        return bool(wanted if self.is_first else by_column and self.index % 2)


def lift(problem):
    """Makes elements of A that a_shift, which f16 makes infinite, brings back near 0."""
    problem.a.elements[...] = np.rint(8 * problem.a.elements) - problem.gemm.a_shift


class Kernels(ProblemTestCase):
    def run_problem(self, kernel, problem, run="run_device"):
        """Runs a problem that fits the kernel, at the device's level: the next level would replace
        a program that does not build. Returns False if it needs too many registers."""
        try:
            getattr(problem, run)(kernel)
        except Refused as error:
            if error.code == "kernel" and get_device().type == GPU:
                return False
            raise
        level = get_level(kernel.partition("/")[0])  # without the parts of a split K
        self.assertEqual(Plan(problem.gemm, kernel).level, level)
        return True

    def solve_problem(self, kernel, problem, run="run_device"):
        """Like run_problem(), and checks the results."""
        is_run = self.run_problem(kernel, problem, run)
        if is_run:
            self.is_right(problem, kernel)
        return is_run

    def check(self, kernel, cases, change=lambda problem: None, run="run_device"):
        """Solves the cases, fields of a problem each, that fit; change() may change operands."""
        tested = False
        for i, fields in enumerate(cases):
            if not find_misfit(kernel, describe(**fields)):
                problem = Problem(seed=i, **fields)
                change(problem)
                tested |= self.solve_problem(kernel, problem, run)
        if not tested:
            self.skipTest("no problem of this kind fits the kernel")

    def check_edges(self, row):
        """Sizes around those of tile and group; in brief tests a third of their pairs, with each M
        and each N. Some depths for engines make rows of a multiple of 16 bytes, which 2D block
        reads need. With K = 20 the second entry of a batch begins unaligned. K = 8 is for the first
        row only: rows of a multiple of 4 need another program."""
        depths = [20, 1, 33, 36, 17, 68] if row.engines else [1, 2, 17, 33, 3, 8][:5 + row.is_first]
        ms, ns = (dict.fromkeys(size for size in (1, tile - 1, tile, tile + 1, group - 1, group,
                                                  group + 1, 2 * tile + 5) if size > 0)
                  for tile, group in zip(row.tile, row.group))
        sizes = [(m, n) for i, m in enumerate(ms) for j, n in enumerate(ns)
                 if not row.is_brief() or (i + j) % 3 == 0]
        # 1300: several steps of any row.
        cases = [{"m": m, "n": n, "k": depths[(i - 1) % len(depths)] if i else 1300,
                  "precision": row.precision, "ldd": 0 if row.is_first else n | 1}
                 for i, (m, n) in enumerate(sizes)]
        for k in (20, 32) if row.engines else ():
            fields = row.describe(k)
            m, n, k = (fields[name] for name in "mnk")
            cases.append({**fields, "batch": 2, "a_stride": m * k, "b_stride": k * n})
        self.check(row.name, cases)
        if row.engines and row.is_first and row.precision == "f16":
            self.check(row.name, [{**row.describe(40), "a_shift": -1e5}], lift)

    def check_layouts(self, row):
        fields = row.describe(9)
        m, n, k = (fields[name] for name in "mnk")
        gaps = {"lda": max(m, k) + 3, "ldb": max(n, k) + 5, "ldc": max(n, m) + 1,
                "ldd": max(n, m) + 2, "a_start": 3, "b_start": 1, "c_start": 7, "d_start": 5}
        self.check(row.name, [{
            **fields, "layout": i & 1, "trans_a": row.is_transposed(i & 1, i & 2),
            "trans_b": bool(i & 4), "addend": "matrix", "beta": 0.5, "bias": True,
            **(gaps if i & 8 else {})} for i in range(16)])

    def check_batches(self, row):
        """Ds that follow one another, have gaps, or are side by side; with one B or several."""
        fields = row.describe(5)
        m, n, k = (fields[name] for name in "mnk")
        side = max(m, n) + 1
        places = {}, {"d_stride": m * n + 4}, {"d_stride": side, "ldd": 3 * side + 1}
        self.check(row.name, [{
            **fields, "layout": i & 1, "trans_a": row.is_transposed(i & 1, False), "batch": 3,
            "a_stride": m * k if i & 2 else 0, "b_stride": k * n + 2 if i & 4 else 0,
            "addend": "matrix" if i & 2 else "row", "beta": -1.5,
            "c_stride": m * n if i & 4 else 0, **places[i // 8]} for i in range(24)])

    def check_epilogue(self, row):
        """Operands that an alpha or beta of 0 scales are NaN, which must not affect the result."""
        addends = ["none", "matrix", "row", "output"][:4 if row.is_full() else 3]
        cases = itertools.product(addends, (False, True), (1, 0, 0.375), (1, 0, -0.75))
        for i, (addend, bias, beta, alpha) in enumerate(cases):
            problem = Problem(**row.describe(7), addend=addend, bias=bias, beta=beta, alpha=alpha,
                              seed=i)
            unread = [problem.a, problem.b] * (alpha == 0) + [problem.c, problem.d] * (beta == 0)
            for operand in filter(None, unread):
                operand.flat[...] = np.nan
            problem.before = problem.d.flat.copy(), problem.d.read()
            self.solve_problem(row.name, problem)

    def check_infinities(self, row):
        """NaN and infinities in A and B lead to those in D that the formula gives."""
        for i, value in enumerate([np.nan, np.inf, -np.inf] * 2):
            problem = Problem(**row.describe(6), seed=i)
            a, b = problem.a.elements[0], problem.b.elements[0]
            if i < 3:
                a[len(a) // 2, -1] = value
            else:
                b[0, -1] = value
            if i == 4:
                a[0, 0] = 0
            self.solve_problem(row.name, problem)

    def check_activations(self, row):
        """Values from -8 to 8, some of them integers; then infinities, NaN and large values."""
        extremes = [np.inf, -np.inf, np.nan, 1e30, -1e30, 88.8, -104, 0]
        for activation in ACTIVATIONS:
            for is_extreme in False, True:
                problem = Problem(**row.describe(1), activation=activation, bias=True)
                m, n = problem.gemm.m, problem.gemm.n
                problem.a.elements[0, :, 0] = 1 + np.arange(m)
                problem.b.elements[0, 0] = 8 * (2 * np.arange(n) / n - 1) / m
                problem.bias[...] = 0
                if is_extreme:
                    problem.bias[1::2] = np.resize(extremes, n // 2)
                self.solve_problem(row.name, problem)

    def check_softmax(self, row):
        """An N that is not a multiple of a work-group's columns, stored as f32 and f16."""
        cases = []
        for i, n in enumerate((1, 2, 16, 17, 63, 130)):
            fields = row.describe(3)
            cases += [{**fields, "n": n, "activation": "softmax", "ldd": n + i % 3, "batch": 2,
                       "a_stride": fields["m"] * fields["k"], "d_type": kind}
                      for kind in ("f32", "f16")]
        self.check(row.name, cases)

    def check_types(self, row):
        """A and D of different types; some integers of D saturate. Rows that are not full have an
        activation here, too, and C in D. A of the kernel's 16-bit type is read in blocks: with
        aligned and unaligned rows, and with K that is and is not a multiple of a step."""
        cases = []
        for i, kind in enumerate(TYPES):
            d_type = TYPES[(i + 5) % len(TYPES)]
            if not row.is_full() and i != row.index % len(TYPES):
                continue
            fields = {**row.describe(4), "a_type": kind, "d_type": d_type, "a_shift": 0.25}
            if kind in INTEGERS:
                fields["a_scale"] = 1 / np.iinfo(DTYPES[kind]).max
            if d_type in INTEGERS:
                fields["alpha"] = float(np.iinfo(DTYPES[d_type]).max)
            if not row.is_full():
                fields.update(activation=row.index % (len(ACTIVATIONS) - 1), addend="output",
                              beta=0.5)
            cases += [fields, {**fields, "ldd": fields["n"] + 2, "beta": 0}]
        if row.precision in ("f16", "bf16"):
            cases += [{**row.describe(k), "a_type": row.precision} for k in (16, 38, 33, 72)]
        self.check(row.name, cases)

    def check_rounding(self, row):
        """The exact rounding to integers, of a bias, which no kernel rounds before."""
        values = np.array([
            0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 126.5, 127.5, -128.5, 254.5, 255.5, 300,
            -300, 32767.5, 65535.5, 1e9, -1e9, 2.0**31, -2.0**31, 2.0**32, 1e19, -1e19, 2.0**63,
            2e20, -2e20, np.nan, 1e38, -1e38, 3e-40, np.inf, -np.inf], "f4")
        for kind in INTEGERS:
            fields = {**row.describe(1), "m": 1, "n": len(values), "d_type": kind, "bias": True}
            if find_misfit(row.name, describe(**fields)):
                fields["n"] = 8
            problem = Problem(**fields)
            problem.a.elements[...] = 0
            problem.bias[...] = values[:fields["n"]]
            if self.run_problem(row.name, problem):
                info = np.iinfo(DTYPES[kind])
                expected = [0 if np.isnan(value) else
                            info.min if value <= info.min else info.max if value >= info.max else
                            int(np.rint(value)) for value in problem.bias]
                self.assertEqual(problem.d.elements[0, 0].tolist(), expected, (row.name, kind))

    def check_plan(self, row):
        """A plan's own B and C, packed once, and A and D in host memory."""
        for i in range(8):
            fields = row.describe(11)
            m, n, k = (fields[name] for name in "mnk")
            lda = max(m, k) + 3 if i & 4 else 0
            self.solve_problem(row.name, Problem(
                **fields, layout=i & 1, trans_a=row.is_transposed(i & 1, i & 2),
                trans_b=bool(i & 4), lda=lda, ldd=max(m, n) + 3 if i & 4 else 0,
                addend="row" if i & 2 else "matrix", beta=2, bias=True, batch=2,
                a_stride=(lda or max(m, k)) * max(m, k), seed=i), "run_plan")


TESTS = "edges layouts batches epilogue infinities types plan".split()
FULL = TESTS + "activations softmax rounding".split()


@contextmanager
def built(source, options=""):
    device, status = get_device(), c_int()
    cl, log = device.cl, create_string_buffer(4096)
    program = c_void_p(cl.clCreateProgramWithSource(
        device.cl_context, 1, byref(c_char_p(source.encode())), None, byref(status)))
    failed = cl.clBuildProgram(program, 1, byref(device.device), options.encode(), None, None)
    cl.clGetProgramBuildInfo(program, device.device, BUILD_LOG, c_size_t(4096), log, None)
    good(failed, f"clBuildProgram: {log.value.decode()}")
    kernel = c_void_p(cl.clCreateKernel(program, b"f", byref(status)))
    good(status.value, "clCreateKernel")
    yield kernel
    cl.clReleaseKernel(kernel)
    cl.clReleaseProgram(program)


def launch(source, array, items, options=""):
    """Runs the kernel f of the source, in a group of `items` work-items, on the array."""
    device, size, buffer = get_device(), c_size_t(items), Buffer(array)
    with built(source, options) as kernel:
        good(device.cl.clSetKernelArg(kernel, 0, c_size_t(8), byref(buffer._as_parameter_)),
             "clSetKernelArg")
        good(device.cl.clEnqueueNDRangeKernel(device.queue, kernel, 1, None, byref(size),
                                              byref(size), 0, None, None), "A launch")
        buffer.read(array)


def add_test(case, row, name):
    """Adds check_NAME() of the test case for a row."""
    def test(self):
        why = find_misfit(row.name) or (row.subgroup and is_miscompiled(row.name) and MISCOMPILED)
        if why:
            self.skipTest(why)
        getattr(self, "check_" + name)(row)
    setattr(case, f"test_{row.name}_{name}", test)


def begin():
    np.seterr(all="ignore")
    try:
        get_context()
    except unittest.SkipTest as missing:
        tap.skip_all(missing)


def add_rows(shard, shards):
    """Adds the rows of the shard. Each row goes to the shard with the smallest load so far."""
    loads = [0] * shards
    for row in filter(Row.is_wanted, TABLE):
        tests = TESTS[:1] if row.is_brief() else FULL if row.is_full() else TESTS
        least = loads.index(min(loads))
        loads[least] += {1: 1, len(TESTS): 3, len(FULL): 6}[len(tests)]
        if least == shard:
            for name in tests:
                add_test(Kernels, row, name)


if __name__ == "__main__":
    begin()
    TABLE = table.load(Row)
    add_rows(*map(int, sys.argv[1:3]) if sys.argv[1:] else (0, 1))
    main()
