# SPDX-License-Identifier: LGPL-2.1-or-later
"""Problems that are refused, and problems with huge sizes."""

import random
from ctypes import byref

from gemmcl import (ACTIVATIONS, TYPES, Plan, Refused, TestCase, ask, describe, get_context,
                    get_info, get_name, np)
from pixels import PATCH, make_frame
from problem import ARG_MAX, NORM_A, NORM_D, SUM, TOP_K
from tap_unittest import main

RGB = make_frame(6, 2, "RGB")
PADDED = make_frame(6, 2, "RGB", (3, 3, 1, 1), features=PATCH)
TENSOR = make_frame(6, 2, 0, channels=3, type=TYPES.index("u8"))
NV12 = make_frame(6, 2, "NV12", kr=0.299, kb=0.114)
HUGE = 2**64 - 1
INT = 2**31 - 1


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
                Plan(gemm, None if made % 2 else "gemm_naive")
            except Refused as error:
                self.assertIn(error.code, ("too-large", "invalid", "opencl"))

    def test_large_run(self):
        """The first run, which needs room for A and D, refuses them if they are too large."""
        if get_info().max_alloc_bytes >= 8 * INT:
            self.skipTest("the device allows buffers of 16 GB")
        x = np.ones(1)
        plan = Plan(describe(INT, 1, 1, a_type="f64", d_type="f64"), "gemm_naive", b=[1])
        with self.refused("too-large", "found 17179869176"):
            plan.run(a=x, d=x)

    def test_f64(self):
        """A in f64 is rounded to the nearest float, halves to even, whatever the device can do."""
        a = np.array([1 + 2**-24, 1 + 3 * 2**-24, 1 + 1.5 * 2**-24, -1 - 2**-24, 2.0**-140, 1e300])
        d = np.empty(len(a), "f4")
        ask("gemm_run", get_context(), byref(describe(len(a), 1, 1, a_type="f64")), "gemm_naive", a,
            np.ones(1, "f4"), None, None, d)
        self.same(d, [1, 1 + 2**-22, 1 + 2**-23, -1, 0, np.inf])


main()
