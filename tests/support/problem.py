# SPDX-License-Identifier: LGPL-2.1-or-later
"""A problem with random matrices and its reference, which is numpy_gemm's."""

from ctypes import byref, c_double, c_int

from gemmcl import (ACTIVATIONS, ADDENDS, DTYPES, POOLS, PRECISIONS, TYPES, Buffer, Plan, TestCase,
                    ask, call, describe, find_misfit, get_context, get_device, get_level,
                    get_values, np)
from numpy_gemm import ROUNDOFFS, compare, f32, pooled, row_outputs, solve

GUARD = 37  # elements after each matrix
STORED = {**ROUNDOFFS, "f32": 2.0**-24, "f64": 2.0**-24}  # to which D is rounded
SUM, MAX, ARG_MAX, TOP_K = 1, 2, 4, 8  # GemmclRowOutput
ALL = SUM | MAX | ARG_MAX | TOP_K
ROW_OUTPUTS = {SUM: "sum", MAX: "max", ARG_MAX: "arg-max", TOP_K: "top-k"}
NORM_A, NORM_D = 1, 2  # GemmclNormalize
# Kernels of all kinds, with their precisions.
KERNELS = [("gemm_naive", "f32"), ("gemm_naive/2", "f32"), ("vector_4x8_1x1", "f32"),
           ("vector_4x8_1x1/2", "f32"), ("block_read_4x1_1x8", "f32"),
           ("xmx_bf16_8x1_1x16", "bf16"), ("dot_1x1_1x64", "i8"), (None, "f16"), (None, "i8")]


def get_dtype(kind):
    return np.dtype("u2" if kind == "bf16" else DTYPES[kind])


def encode(values, kind):
    """Numbers, rounded to nearest, as elements; bf16 as its bits."""
    if kind != "bf16":
        return np.asarray(values).astype(get_dtype(kind))
    bits = np.asarray(values, "f4").view("u4")
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("u2")


def decode(elements, kind):
    if kind == "bf16":
        elements = (elements.astype("u4") << 16).view("f4")
    return elements.astype(float)


MISCOMPILED = "PoCL 6.0 compiles barriers in loops to wrong code, at random"


def is_miscompiled(kernel):
    """True for kernels that PoCL 6.0 miscompiles: emulated subgroups or prefetching loops."""
    device = get_device()
    if not kernel or "Portable Computing" not in device.platform or device.driver[:2] != "6.":
        return False
    return kernel.startswith("prefetch_") or get_level(kernel.partition("/")[0]) == "emulated"


def find_kernels():
    """Those of KERNELS that fit here."""
    return [(kernel, precision) for kernel, precision in KERNELS
            if not find_misfit(kernel or "gemm_naive", describe(9, 7, 64, precision=precision))]


class Operand:
    """A matrix for each problem of a batch. Gaps between elements are NaN, or the largest integer.

    flat is the memory, and elements a view of it: batch x rows x columns."""

    def __init__(self, rng, kind, shape, by_column, place):
        batch, rows, cols = shape
        ld, offset, stride = place
        runs, length = (cols, rows) if by_column else (rows, cols)
        ld = ld or length
        stride = runs * ld if stride is None else stride
        dtype = get_dtype(kind)
        size = offset + (batch - 1) * stride + (runs - 1) * ld + length + GUARD
        integer = dtype.kind in "iu" and kind != "bf16"
        self.kind = kind
        self.flat = np.full(size, np.iinfo(dtype).max if integer else encode(np.nan, kind), dtype)
        steps = (stride, 1, ld) if by_column else (stride, ld, 1)
        self.elements = np.lib.stride_tricks.as_strided(
            self.flat[offset:], shape, [step * dtype.itemsize for step in steps])
        if integer:
            high = np.iinfo(dtype).max >> (dtype.itemsize == 8)
            self.elements[...] = rng.integers(max(np.iinfo(dtype).min, -high), high, shape, dtype)
        else:
            self.elements[...] = encode(rng.uniform(-1, 1, shape).astype("f4"), kind)

    def read(self):
        return decode(self.elements, self.kind)


def find_windows(gemm):
    """The sizes of a grid and of its windows, and the stride, as (width, height)."""
    across = gemm.pool_across or gemm.m
    grid = across, gemm.pool_down or gemm.m // across
    size = gemm.pool_width or grid[0], gemm.pool_height or grid[1]
    return grid, size, (gemm.pool_stride_x or size[0], gemm.pool_stride_y or size[1])


def count_rows_of_d(gemm):
    if not gemm.pool:
        return gemm.m
    grid, size, stride = find_windows(gemm)
    across, down = ((grid[i] - size[i]) // stride[i] + 1 for i in (0, 1))
    return gemm.m // (grid[0] * grid[1]) * across * down


class Problem:
    """The fields of GemmclGemm, as for describe(). With addend "output" C is D before the run."""

    def __init__(self, m, n, k, seed=1, **fields):
        self.gemm = gemm = describe(m, n, k, **fields)
        rng = np.random.default_rng(seed)
        batch, layout = max(gemm.batch, 1), gemm.layout
        self.a = Operand(rng, TYPES[gemm.a_type], (batch, m, k), layout != gemm.trans_a,
                         (gemm.lda, gemm.a_start, gemm.a_stride))
        self.b = Operand(rng, "f32", (batch, k, n), layout != gemm.trans_b,
                         (gemm.ldb, gemm.b_start, gemm.b_stride))
        d_rows = count_rows_of_d(gemm)
        self.d = Operand(rng, TYPES[gemm.d_type], (batch, d_rows, n), layout,
                         (gemm.ldd, gemm.d_start, gemm.d_stride or None))
        self.addend, self.c = ADDENDS[gemm.addend], None
        if self.addend == "matrix":
            self.c = Operand(rng, "f32", (batch, m, n), layout,
                             (gemm.ldc, gemm.c_start, gemm.c_stride))
        elif self.addend == "row":
            self.c = Operand(rng, "f32", (batch, 1, n), False, (0, gemm.c_start, 0))
        self.bias = rng.uniform(-1, 1, n).astype("f4") if gemm.bias else None
        self.rows = np.full((batch, d_rows, self.count_rows()), -77, "f4")
        self.before = self.d.flat.copy(), self.d.read()

    def count_rows(self):
        outputs = self.gemm.row_outputs
        return bin(outputs & 7).count("1") + (2 * self.gemm.top_k if outputs & TOP_K else 0)

    def make_plan(self, kernel=None, context=None):
        def first(operand, transposed=False):
            return operand.elements[0].T if transposed else operand.elements[0]
        operands = {"b": first(self.b, self.gemm.trans_b)}
        if self.bias is not None:
            operands["bias"] = self.bias
        if self.c is not None:
            operands["c"] = first(self.c)
        return Plan(self.gemm, kernel, context, **operands)

    def run_plan(self, kernel=None, plan=None, **others):
        plan = plan or self.make_plan(kernel)
        rows = {"row_outputs": list(self.rows)} if self.count_rows() else {}
        if not self.gemm.omit_d:
            rows["d"] = list(self.d.elements)
        plan.run(**{"a": list(self.a.elements),
                    "alpha": self.gemm.alpha, "beta": self.gemm.beta, **rows, **others})

    def run_host(self, kernel=None):
        ask("gemm_run", get_context(), byref(self.gemm), kernel, self.a.flat, self.b.flat,
            self.c and self.c.flat, self.bias, self.d.flat)

    def run_plan_host(self, kernel=None):
        """As run_plan(), with the flat arrays of all problems."""
        ask("plan_run_host", self.make_plan(kernel), c_double(self.gemm.alpha),
            c_double(self.gemm.beta), self.a.flat, None if self.gemm.omit_d else self.d.flat,
            self.rows if self.count_rows() else None)

    def run_device(self, kernel=None, plan=None, previous=None, **others):
        """Runs on buffers that are exactly as long as the arrays, with B and C of the run."""
        plan = plan or Plan(self.gemm, kernel)
        if self.bias is not None:
            plan.set("bias", self.bias)
        arrays = {"a": self.a.flat, "b": self.b.flat, "c": self.c and self.c.flat,
                  "d": None if self.gemm.omit_d else self.d.flat,
                  "row_outputs": self.rows if self.count_rows() else None, "previous": previous}
        buffers = {name: Buffer(array) for name, array in arrays.items() if array is not None}
        plan.run(**{"alpha": self.gemm.alpha, "beta": self.gemm.beta, **others}, strided=True,
                 **buffers)
        for name in {"d", "row_outputs"} & set(buffers):
            buffers[name].read(arrays[name])

    def run_omitting(self, kernel=None, run="run_device", **others):
        """Runs with D, then without: D is of the first run, the row outputs of the second."""
        for self.gemm.omit_d in 0, 1:
            self.rows[...] = -77
            getattr(self, run)(kernel, **others)

    def expect(self, at, previous=None):
        """D of problem at before it is stored, and its bound."""
        gemm, c = self.gemm, previous
        if self.addend == "output":
            c = self.before[1][at]
        elif self.c:
            c = self.c.read()[at]
        scaled, shift = f32(self.a.read()[at]) * f32(gemm.a_scale), f32(gemm.a_shift)
        off = 2.0**-23 * (np.abs(scaled) + np.abs(shift)) * bool(gemm.a_shift)
        a, b = scaled + shift, self.b.read()[at]
        if PRECISIONS[gemm.precision] == "i8":  # A row or column with NaN or infinity is all NaN.
            a = np.where(np.isfinite(a).all(1, keepdims=True), a, np.nan)
            b = np.where(np.isfinite(b).all(0), b, np.nan)
        words = [word for bit, word in ((NORM_A, "input"), (NORM_D, "output"))
                 if gemm.normalize & bit]
        result = solve(a, off, b, c=0.0 if c is None else c,
                       bias=0.0 if self.bias is None else self.bias.astype(float),
                       alpha=gemm.alpha, beta=gemm.beta, activation=ACTIVATIONS[gemm.activation],
                       normalize=words, precision=PRECISIONS[gemm.precision])
        return pooled(POOLS[gemm.pool], *result, *find_windows(gemm)) if gemm.pool else result

    def check(self, m=None, batch=None):
        """Compares D with the reference, and the row outputs with D; of whole runs also what must
        not be written, and the library's own check. Returns what is wrong, or None."""
        for at in range(batch or len(self.d.elements)):
            expected, bound = self.expect(at)
            wrong = self.compare(at, expected, bound, m) or self.compare_rows(at, m)
            if wrong:
                return f"problem {at}: {wrong}"
        if m is None and batch is None:
            if self.d.kind == "f32" and not self.verify():
                return "the library's own check fails"
            self.d.elements[...] = encode(0, self.d.kind)
            written = self.d.flat.copy()
            self.d.flat[...] = self.before[0]
            self.d.elements[...] = encode(0, self.d.kind)
            if written.tobytes() != self.d.flat.tobytes():
                return "elements in no D were written"
        return None

    def verify(self):
        """Returns the outcome of the library's own check, which sets error and error_bound."""
        c = self.before[0] if self.addend == "output" else self.c and self.c.flat
        error, bound = c_double(), c_double()
        right = call("gemm_verify", byref(self.gemm), self.a.flat, self.b.flat, c, self.bias,
                     self.d.flat, byref(error), byref(bound), result=c_int)
        self.error, self.error_bound = error.value, bound.value
        return bool(right)

    def compare(self, at, expected, bound, m=None):
        """Compares D with numbers, off by the bound. Returns what is wrong, or None."""
        gemm, kind = self.gemm, self.d.kind
        found = self.d.elements[at][:m]
        expected, bound = expected[:m], bound[:m]
        if gemm.d_scale > 0:
            expected = (expected - f32(gemm.d_shift)) / f32(gemm.d_scale)
            bound = bound / f32(gemm.d_scale) + 2.0**-20 * (1 + np.abs(expected))
        if kind in STORED:
            found = decode(found, kind)
            bound = bound + STORED[kind] * (np.abs(expected) + bound)
            bound = bound + (2.0**-25 if kind == "f16" else 0)
        return compare(found, expected, bound)

    def compare_rows(self, at, m=None):
        gemm = self.gemm
        d = decode(self.d.elements[at][:m], self.d.kind)
        if gemm.d_scale > 0:
            d = d * f32(gemm.d_scale) + f32(gemm.d_shift)
        names = "+".join(name for bit, name in ROW_OUTPUTS.items() if gemm.row_outputs & bit)
        wrong = names and compare(self.rows[at][:m], *row_outputs(d, names, gemm.top_k))
        return f"row outputs: {wrong}" if wrong else None


class ProblemTestCase(TestCase):
    def solve(self, run, kernel, *sizes, **fields):
        """Runs a problem by a method of Problem, and checks its results."""
        problem = Problem(*sizes, **fields)
        getattr(problem, run)(kernel)
        self.is_right(problem, kernel)

    def is_right(self, problem, kernel=None, **run):
        wrong = problem.check(**run)
        if wrong and is_miscompiled(kernel):
            self.skipTest(MISCOMPILED)
        self.assertIsNone(wrong, f"{kernel}, {run}, {get_values(problem.gemm)}")
