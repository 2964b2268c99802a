# SPDX-License-Identifier: LGPL-2.1-or-later
"""gemmcl_gemm_verify() accepts NumPy's results, and refuses errors just above the bound."""

import unittest

from gemmcl import ACTIVATIONS, np
from problem import Problem
from tap_unittest import main

M, N, K = 6, 5, 7
UNIT, LARGEST = 2.0**-24, np.finfo("f4").max


class Verify(unittest.TestCase):
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
                    self.assertGreater(problem.error, problem.error_bound)
                    self.assertAlmostEqual(problem.error_bound / bound[at], 1, delta=0.02)

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

    def test_overflow(self):
        """An element whose expected value exceeds the largest float must be infinite."""
        problem = self.make(alpha=3e38)
        problem.a.elements[...], problem.d.elements[...] = 0, 0
        problem.a.elements[0, 0, 0], problem.b.elements[0, 0] = 1, 2
        for value in np.inf, -np.inf, 3e38:
            self.check(problem, value == np.inf, 0, value)

    def test_saturated(self):
        """The values of activations at infinities are checked."""
        for name, logit, right, wrong in [
                ("relu", -np.inf, 0, 0.5), ("sigmoid", -np.inf, 0, 1), ("sigmoid", np.inf, 1, 0),
                ("tanh", np.inf, 1, -1), ("tanh", -np.inf, -1, 0), ("gelu", np.inf, np.inf, 1),
                ("hard-swish", np.inf, np.inf, -np.inf), ("relu6", np.inf, 6, np.inf),
                ("elu", -np.inf, -1, 0)]:
            problem = self.make(bias=True, activation=name)
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
