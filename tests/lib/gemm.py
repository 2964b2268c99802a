# SPDX-License-Identifier: LGPL-2.1-or-later
"""Problems: those that are refused, those with huge sizes, random ones, and the library's own check
of results."""

import math
import random
import unittest
from ctypes import byref

from gemmcl import (ACTIVATIONS, TYPES, Plan, Refused, TestCase, ask, describe, get_context,
                    get_info, get_name, np)
from numpy_gemm import softmax
from pixels import HUGE, PATCH, make_frame
from problem import (ARG_MAX, NORM_A, NORM_D, SUM, TOP_K, Problem, ProblemTestCase,
                     count_rows_of_d)
from tap_unittest import main

RGB = make_frame(6, 2, "RGB")
PADDED = make_frame(6, 2, "RGB", (3, 3, 1, 1), features=PATCH)
TENSOR = make_frame(6, 2, 0, channels=3, type=TYPES.index("u8"))
NV12 = make_frame(6, 2, "NV12", kr=0.299, kb=0.114)
INT = 2**31 - 1
NAIVE = "gemm_naive"
M, N, K = 6, 5, 7
UNIT, LARGEST = 2.0**-24, np.finfo("f4").max


class Problems(TestCase):
    """Each problem is 4 x 5 x 6, except for the fields of its case."""

    GOOD = [
        {}, {"m": INT}, {"ldc": 4}, {"ldc": 1, "addend": "row"}, {"lda": 4, "trans_a": True},
        {"lda": 4, "layout": "column"}, {"batch": 2, "d_stride": 5, "ldd": 10},  # side by side
        {"batch": 9, "a_stride": 1}, {"d_type": "i8", "d_scale": 0.5, "d_shift": -3},
        {"m": 12, "k": 3, "a_frame": RGB}, {"m": 12, "n": 3, "d_frame": RGB},
        {"m": 12, "n": 3, "d_frame": RGB, "normalize": NORM_A},
        {"m": 12, "n": 3, "k": 16, "d_frame": RGB, "addend": "output"},
        {"m": 12, "n": 3, "k": 17, "d_frame": RGB, "addend": "previous"},
        {"m": 48, "n": 3, "d_frame": RGB, "pool": "max", "pool_across": 12, "pool_width": 2,
         "pool_height": 2},
        {"m": 12, "k": 27, "a_frame": PADDED, "a_scale": 0},
        {"m": 12, "pool": "max", "pool_across": 3, "pool_width": 2, "pool_height": 4},
        {"m": 12, "pool": "max", "pool_across": 3, "pool_down": 2, "pool_stride_x": INT},
        {"m": 12, "k": 3, "a_frame": RGB, "pool": "max", "pool_across": 6},
        {"pool_across": HUGE},  # without pool
        {"n": 2**24 + 1, "row_outputs": SUM}, {"row_outputs": TOP_K, "top_k": 5},
        {"n": 100, "row_outputs": TOP_K, "top_k": 1}, {"n": 100, "row_outputs": TOP_K, "top_k": 16}]
    INVALID = [
        ({"m": 0}, "M is 0"), ({"n": 0}, "N is 0"), ({"k": 0}, "K is 0"),
        ({"lda": 5}, "leading dimension of A is 5, shorter than"),
        ({"ldb": 4}, "leading dimension of B is 4"), ({"ldd": 1}, "leading dimension of D is 1"),
        ({"ldc": 4, "addend": "matrix"}, "of C is 4"), ({"lda": 3, "trans_a": True}, "A is 3"),
        ({"lda": 3, "layout": "column"}, "shorter than its columns of 4"),
        ({"batch": 2, "d_stride": 19},
         "results overlap: the batch stride of D is 19, but one D spans 20"),
        ({"batch": 2, "d_stride": 5, "ldd": 9}, "overlap"),
        ({"a_type": len(TYPES)}, f"type of A to be 0 to {len(TYPES) - 1} (GemmclType), found"),
        ({"d_type": -1}, "type of D"), ({"d_type": "i8", "d_scale": -0.5}, "scale of -0.5"),
        ({"d_type": "i8", "d_scale": 1e-40}, "scale of 1e-40"),
        ({"d_type": "i8", "d_shift": 1e40}, "shift of 1e+40"), ({"d_scale": 2}, "integer type"),
        ({"d_type": "bf16", "d_shift": 2}, "integer type"),
        ({"d_type": "u8", "d_scale": 2, "addend": "output"}, "other than"),
        ({"layout": 2}, "(GemmclLayout), found 2"), ({"d_frame": RGB}, "D is 4 x 5"),
        ({"addend": 5}, "0 to 4 (GemmclAddend), found 5"),
        ({"precision": 5}, "0 to 4 (GemmclPrecision), found 5"),
        ({"activation": len(ACTIVATIONS)}, f"0 to {len(ACTIVATIONS) - 1} (GemmclActivation)"),
        ({"m": 12, "k": 3, "a_frame": RGB, "layout": "column"}, "row-major"),
        ({"a_frame": RGB}, "makes 12 rows of 3 features, but A is 4 x 6"),
        ({"a_frame": make_frame(0, 0, "RGB")}, "width"),
        *(({"m": 12, "n": 3, **fields}, words) for fields, words in (
            ({"d_frame": NV12}, "one plane, not NV12"),
            ({"d_frame": TENSOR}, "one plane, not a tensor"),
            ({"d_frame": RGB, "normalize": NORM_D}, "a matrix, not a frame"),
            ({"d_frame": RGB, "row_outputs": SUM}, "a matrix, not a frame"),
            ({"d_frame": RGB, "k": 17, "addend": "output"}, "a K of at most 16, found 17"))),
        ({"m": 12, "k": 27, "a_frame": PADDED, "a_scale": 0, "a_shift": 1}, "found a_shift 1"),
        ({"pool": 3}, "a pooling of 0 to 2 (GemmclPool), found 3"),
        *(({"pool": "max", **fields}, words) for fields, words in (
            ({"pool_across": 3}, "M is 4; pooling in a grid of 3 x 1 needs a multiple of 3"),
            ({"pool_across": 5}, "in a grid of 5 x 1"), ({"pool_down": 2}, "in a grid of 4 x 2"),
            ({"pool_across": 2, "pool_width": 3}, "of 3 x 2 does not fit a grid of 2 x 2"),
            ({"pool_across": 2, "pool_height": 3}, "of 2 x 3 does not fit"),
            ({"normalize": NORM_D}, "without GEMMCL_NORMALIZE_D"),
            ({"addend": "output"}, "other than GEMMCL_ADDEND_OUTPUT"),
            ({"addend": "previous"}, "other than GEMMCL_ADDEND_OUTPUT"),
            ({"m": 48, "n": 3, "d_frame": RGB, "pool_across": 12, "pool_width": 3},
             "The frame has 12 pixels of 3 channels, but D is 4 x 3"),
            ({"m": 12, "k": 3, "a_frame": RGB, "pool_across": 3},
             "a grid of 3 x 0, but the frame of A has 6 x 2"),
            ({"m": 12, "k": 3, "a_frame": RGB, "pool_down": 3}, "a grid of 0 x 3"))),
        ({"normalize": 4}, "flags (0 to 3), found 4"),
        ({"row_outputs": 16}, "flags (0 to 15), found 16"),
        ({"omit_d": 1}, "row_outputs other than 0"),
        ({"omit_d": 1, "row_outputs": SUM, "addend": "output"}, "an addend other than"),
        ({"row_outputs": TOP_K, "top_k": 0}, "found 0 with N = 5"),
        ({"row_outputs": TOP_K, "top_k": 6}, "found 6 with N = 5"),
        ({"n": 100, "row_outputs": TOP_K, "top_k": 17}, "found 17 with N = 100"),
    ]
    TOO_LARGE = [
        ({"m": INT, "n": INT}, "bytes of D"),
        ({"n": 2**24 + 1, "row_outputs": ARG_MAX}, "arg-max and top-k allow at most 16777216"),
        ({"m": 2**31}, "M is 2147483648; at most"), ({"n": 2**31}, "N is 2147483648"),
        ({"k": HUGE}, "K is 18446744073709551615"), ({"batch": 2**31}, "batch is 2147483648"),
        ({"pool": "max", "pool_across": HUGE}, "pooling is 18446744073709551615; at most"),
        ({"pool": "max", "pool_stride_y": 2**31}, "pooling is 2147483648"),
        ({"lda": HUGE // 4}, "bytes of A"), ({"ldb": HUGE}, "bytes of B"),
        ({"batch": 2, "c_stride": HUGE, "addend": "matrix"}, "bytes of C"),
        ({"d_start": HUGE - 1}, "bytes of D"), ({"batch": INT, "a_stride": 2**33}, "bytes of A")]
    NUMBERS = [0, 1, 3, 7, 64, 65535, 2**30, INT, 2**31, 2**32 - 1, 2**33, 2**61, 2**62, 2**63 - 1,
               2**63, HUGE - 1, HUGE]
    SIZES = ("lda ldb ldc ldd a_start b_start c_start d_start batch a_stride b_stride c_stride"
             " d_stride").split()

    def test_good(self):
        for case in self.GOOD:
            ask("gemm_validate", byref(describe(**{"m": 4, "n": 5, "k": 6, **case})))

    def test_refused(self):
        for code, cases in ("invalid", self.INVALID), ("too-large", self.TOO_LARGE):
            for case, words in cases:
                problem = describe(**{"m": 4, "n": 5, "k": 6, **case})
                self.refuses(code, words, "gemm_validate", byref(problem))

    def test_activation_names(self):
        names = [get_name("activation_get_name", i) for i in range(len(ACTIVATIONS))]
        self.assertEqual(names, ACTIVATIONS)
        self.assertEqual(get_name("activation_get_text", names.index("relu")), "max (x, 0)")

    def draw(self, rng):
        """Returns a problem of huge numbers, and whether the library takes it."""
        def number():
            near = 0 if rng.randrange(4) else rng.randrange(-2, 3)
            return (rng.choice(self.NUMBERS) + near) % 2**64
        problem = describe(number(), number(), number(), layout=rng.randrange(2),
                           trans_a=rng.randrange(2), trans_b=rng.randrange(2),
                           addend=rng.randrange(4),
                           **{size: number() for size in self.SIZES if rng.randrange(4) == 0})
        try:
            ask("gemm_validate", byref(problem))
        except Refused as error:
            self.assertIn(error.code, ("invalid", "too-large"))
            return problem, False
        return problem, True

    def test_random(self):
        """The bytes of each matrix of a valid problem fit 63 bits, by Python's integers."""
        rng = random.Random(3)
        valid = 0
        for _ in range(20000):
            gemm, is_valid = self.draw(rng)
            valid += is_valid
            for name, rows, cols, transposed in (
                    ("a", gemm.m, gemm.k, gemm.trans_a), ("b", gemm.k, gemm.n, gemm.trans_b),
                    ("d", gemm.m, gemm.n, False)) if is_valid else ():
                runs, length = (cols, rows) if bool(gemm.layout) != bool(transposed) else (
                    rows, cols)
                stride, offset = (getattr(gemm, f"{name}_{what}") for what in ("stride", "start"))
                elements = (offset + (max(gemm.batch, 1) - 1) * stride + length +
                            (runs - 1) * (getattr(gemm, "ld" + name) or length))
                self.assertLess(4 * elements, 2**63)
        self.assertGreater(valid, 120)

    def test_random_plans(self):
        """Plans of huge problems are refused, or need little memory; allowed ones take minutes."""
        largest = get_info().max_alloc_bytes // 4
        rng = random.Random(4)
        made = 0
        while made < 40:
            gemm, is_valid = self.draw(rng)
            if not is_valid or 1000 < gemm.n <= largest:
                continue
            made += 1
            gemm.k = 1 if gemm.k <= 16 else gemm.k
            try:
                Plan(gemm, None if made % 2 else NAIVE)
            except Refused as error:
                self.assertIn(error.code, ("too-large", "invalid", "opencl"))

    def test_large_run(self):
        """The first run, which needs room for A and D, refuses them if they are too large."""
        if get_info().max_alloc_bytes >= 8 * INT:
            self.skipTest("the device allows buffers of 16 GB")
        x = np.ones(1)
        plan = Plan(describe(INT, 1, 1, a_type="f64", d_type="f64"), NAIVE, b=[1])
        with self.refused("too-large", "found 17179869176"):
            plan.run(a=x, d=x)

    def test_f64(self):
        """A in f64 is rounded to the nearest float, halves to even, whatever the device can do."""
        a = np.array([1 + 2**-24, 1 + 3 * 2**-24, 1 + 1.5 * 2**-24, -1 - 2**-24, 2.0**-140, 1e300])
        d = np.empty(len(a), "f4")
        ask("gemm_run", get_context(), byref(describe(len(a), 1, 1, a_type="f64")), NAIVE, a,
            np.ones(1, "f4"), None, None, d)
        self.same(d, [1, 1 + 2**-22, 1 + 2**-23, -1, 0, np.inf])


class Sweep(ProblemTestCase):
    """Sizes, layouts, transposes, gaps between rows, batches, addends and pooling, through the
    blocking call and through plans. Most problems run with the fallback, since they test where
    operands lie, not how they are multiplied. A fourth runs with the kernel of the rules."""

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
            kernel = NAIVE if i % 4 else None
            self.solve("run_host", kernel, seed=i, **fields)
            if (fields["batch"] > 1 and (fields["b_stride"] or fields["c_stride"]) or
                    fields["addend"] == "output" and fields["beta"]):
                continue
            planned += 1
            self.solve("run_plan", kernel, seed=i, **fields)
        self.assertGreater(planned, 200)


class Verify(unittest.TestCase):
    """gemmcl_gemm_verify() accepts NumPy's results, and refuses errors just above the bound."""

    def make(self, **fields):
        problem = Problem(M, N, K, **fields)
        problem.d.elements[0] = np.clip(problem.expect(0)[0], -LARGEST, LARGEST)
        return problem

    def check(self, problem, right, at=(), value=None, message=None):
        """Checks the results, with a value in place of the elements at a place."""
        elements = problem.d.elements[0]
        kept = elements.copy()
        if value is not None:
            elements[at] = value
        self.assertEqual(problem.verify(), right, (message, at, value))
        self.assertEqual(problem.error <= problem.error_bound, right, (message, at, value))
        elements[...] = kept

    # Cases that change the bound: the number of terms, precisions, and the slopes of activations.
    CASES = [
        {}, {"bias": True, "addend": "row", "beta": -1.5, "alpha": 0.5},
        {"layout": "column", "trans_b": True, "ldd": M + 3, "d_start": 20, "addend": "matrix",
         "beta": 1}, {"addend": "previous", "beta": 1},  # without a C, the previous result is zeros
        *({"precision": name} for name in ("f16", "bf16", "tf32", "i8")),
        {"precision": "i8", "a_shift": 2},  # A of one sign: 0 extends the range of a row
        {"precision": "i8", "a_shift": -2},
        {"pool": "max", "pool_across": 3, "pool_width": 2, "pool_stride_x": 1},
        {"pool": "average", "pool_across": 3, "pool_height": 1, "activation": "tanh"},
        {"pool": "average", "pool_down": 6, "pool_across": 1, "precision": "f16"},
        *({"activation": name, "bias": True} for name in ACTIVATIONS if name != "softmax"),
    ]

    def test_bound(self):
        """Each element alone, off by a little less or more than the bound, as reported."""
        for case in self.CASES:
            problem = self.make(**case)
            self.check(problem, True)
            expected, bound = problem.expect(0)
            for at in np.ndindex(*expected.shape):
                for sign in -1, 1:
                    self.check(problem, True, at, expected[at] + 0.9 * sign * bound[at], case)
                    off = 1.1 * bound[at] + UNIT * abs(expected[at])
                    self.check(problem, False, at, expected[at] + sign * off, case)
                    self.assertAlmostEqual(problem.error_bound / bound[at], 1, delta=0.02)

    def test_of_one_element(self):
        """The error and its bound are those of one element, with the largest share."""
        problem = self.make(bias=True)
        problem.bias[0] = 1e6  # with large bounds in its column
        expected, bound = problem.expect(0)
        problem.d.elements[0] = expected
        problem.d.elements[0][0, 0] = expected[0, 0] + 0.3 * bound[0, 0]
        self.check(problem, True, (0, 1), expected[0, 1] + 0.8 * bound[0, 1])
        self.assertLess(problem.error, bound[0, 1])

    def test_wrong(self):
        problem = self.make()
        for value in np.nan, np.inf, -np.inf, 3e38:
            for at in (0, 0), (M - 1, N - 1):
                self.check(problem, False, at, value)

    def test_kept_bytes(self):
        """An A of bytes that all stand for 0 makes zeros, although scale and shift are rounded."""
        for kind, zero in ("u8", 50), ("i8", -3):
            problem = self.make(precision="i8", a_type=kind, a_scale=0.01, a_shift=-0.01 * zero)
            problem.a.elements[...] = zero
            self.check(problem, True, (), 0)
            self.check(problem, False, (), 1e-3)

    def test_spoilt_bytes(self):
        """A NaN or infinity spoils only its row or column. Results of kernels pass, too."""
        for name, place, part in ("a", (0, 2, 0), np.s_[2]), ("b", (0, 0, 2), np.s_[:, 2]):
            problem = self.make(precision="i8")
            a, b = problem.a.elements[0], problem.b.elements[0]
            a[:, 0], b[0] = 1, 1
            getattr(problem, name).elements[place] = np.inf
            problem.d.elements[0] = a.astype(float) @ b
            self.check(problem, True)
            problem.d.elements[0][part] = np.nan
            self.check(problem, True)
            self.check(problem, False, (0, 0), np.nan)

    def test_spread_bytes(self):
        """A column of B or a row of A with an infinity spoils whole rows, or windows."""
        for name, fields, bias, right in [
                ("softmax", {}, (0, 1, 9, 2, 3), softmax(np.array([[0, 1, -99, 2, 3]]))),
                ("relu", {"normalize": NORM_D}, (3, 0, 9, 4, 0), [[0.6, 0, 0, 0.8, 0]]),
                ("elu", {"pool": "max"}, (3, 0, 9, 4, 0), [[3, 0, 9, 4, 0]])]:
            problem = self.make(precision="i8", bias=True, activation=name, **fields)
            a, b = problem.a.elements[0], problem.b.elements[0]
            a[...], b[...], problem.bias[...] = 0, 0, bias
            if "pool" in fields:
                a[3, 0], b[0] = -np.inf, 1
            else:
                a[:, 0], b[0, 2] = 1, -np.inf
            problem.d.elements[0] = right
            self.check(problem, True)
            self.check(problem, False, (0, 0), right[0][0] + 1e-4)
            self.check(problem, True, (), np.nan)

    def test_infinities(self):
        """NaN and infinities must be where they are expected, of the same sign."""
        special = np.inf, -np.inf, np.nan
        for expected in special:
            problem = self.make(bias=True)
            problem.bias[2] = expected
            for found in special:
                self.check(problem, found is expected, np.s_[:, 2], found)
            problem.d.elements[0][:, 2] = expected
            self.check(problem, False, (0, 2), 1)

    def test_normalized_infinity(self):
        for activation in "none", "relu", "gelu":
            problem = self.make(bias=True, normalize=NORM_D, activation=activation)
            problem.a.elements[...], problem.bias[...] = 0, (1, np.inf, 2, 3, 4)
            problem.d.elements[0] = 0, np.nan, 0, 0, 0
            self.check(problem, True)
            for wrong in np.nan, 1e-4:
                self.check(problem, False, (0, 2), wrong)

    def test_overflow(self):
        """An element whose expected value exceeds the largest float must be infinite."""
        problem = self.make(alpha=3e38)
        problem.a.elements[...], problem.d.elements[...] = 0, 0
        problem.a.elements[0, 0, 0], problem.b.elements[0, 0] = 1, 2
        for value in np.inf, -np.inf, 3e38:
            self.check(problem, value == np.inf, 0, value)

    def test_saturated(self):
        """The values of activations at infinities and of large numbers are checked."""
        for name, logit, right, wrong in [
                ("relu", -np.inf, 0, 0.5), ("sigmoid", -np.inf, 0, 1), ("sigmoid", np.inf, 1, 0),
                ("tanh", np.inf, 1, -1), ("tanh", -np.inf, -1, 0), ("gelu", np.inf, np.inf, 1),
                ("hard-swish", np.inf, np.inf, -np.inf), ("relu6", np.inf, 6, np.inf),
                ("elu", -np.inf, -1, 0), ("sigmoid", 5e6, 1, 0),
                *((name, 5e6, 5e6, wrong) for name in ("gelu", "gelu-tanh", "silu")
                  for wrong in (0, 4.5e6))]:
            problem = self.make(bias=True, activation=name)
            problem.a.elements[...] = 0
            problem.bias[...], problem.d.elements[...] = logit, right
            self.check(problem, True)
            self.check(problem, False, (0, 3), wrong)

    def test_masked_softmax(self):
        """Columns that are masked with -infinity, or a low number, have no share."""
        problem = self.make(bias=True, activation="softmax")
        problem.a.elements[...] = 0
        for mask in -np.inf, -1e9, -1e30:
            problem.bias[...] = 0, mask, 0, 0, mask
            problem.d.elements[0] = 1 / 3, 0, 1 / 3, 1 / 3, 0
            self.check(problem, True)
            self.check(problem, False, (0, 0), 1 / 3 + 1e-4)
            self.check(problem, False, (0, 1), 1e-6)

    def test_unread(self):
        """With alpha 0 A and B are not read; with beta 0 C is not read."""
        problem = self.make(alpha=0, addend="matrix")
        problem.a.flat = problem.b.flat = problem.c.flat = None
        self.check(problem, True, (), 0)
        self.check(problem, False, (0, 1), 1e-30)


main()
