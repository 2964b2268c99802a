#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library's check of results: right ones pass, and those that are off by little more than the
bound do not. No device is needed: NumPy makes the results."""

import unittest
from ctypes import byref, c_double, c_int

from gemmcl import ACTIVATIONS, call, describe, np
from numpy_gemm import activate
from tap_unittest import main

M, N, K = 6, 5, 7
UNIT = 2.0**-24


class Verify(unittest.TestCase):
    def setUp(self):
        """Exact results, rounded once."""
        rng = np.random.default_rng(7)
        self.a, self.b = (rng.uniform(-1, 1, shape).astype("f4") for shape in ((M, K), (K, N)))
        self.d = self.multiply()
        self.bias = None
        self.gemm = describe(M, N, K)

    def multiply(self):
        with np.errstate(invalid="ignore"):
            return (self.a.astype(float) @ self.b.astype(float)).astype("f4")

    def is_right(self, d=None):
        self.error, self.bound = c_double(), c_double()
        d = np.ascontiguousarray(self.d if d is None else d, "f4")
        return bool(call("gemm_verify", byref(self.gemm), self.a, self.b, None, self.bias, d,
                         byref(self.error), byref(self.bound), result=c_int))

    def set_bias(self, values):
        self.gemm.bias = True
        self.bias = np.array(np.broadcast_to(values, N), "f4")

    def sizes(self):
        """|A||B| of each element."""
        return np.abs(self.a.astype(float)) @ np.abs(self.b)

    def bounds(self):
        nu = (K + 4) * UNIT
        return nu / (1 - nu) * self.sizes()

    def steps_of_bytes(self):
        """The bound of int8: half a step of a row of A, whose range has 0, and a column of B."""
        low, high = np.minimum(self.a.min(1), 0), np.maximum(self.a.max(1), 0)
        a = (high.astype(float) - low)[:, None] / 255 / 2
        b = np.abs(self.b.astype(float)).max(0) / 127 / 2
        return (self.bounds() + a * np.abs(self.b).sum(0) + b * np.abs(self.a).sum(1)[:, None] +
                K * a * b)

    def each(self, off):
        """Yields D with each element alone off by so much, and the element's place."""
        for at in np.ndindex(M, N):
            for sign in -1, 1:
                d = self.d.astype(float)
                d[at] += sign * off[at]
                yield d, at

    def test_bound(self):
        self.assertTrue(self.is_right())
        self.assertGreater(self.error.value, 0)
        self.assertLess(self.error.value, self.bound.value)
        bounds = self.bounds()
        for d, _ in self.each(0.9 * bounds):
            self.assertTrue(self.is_right(d))
        for d, at in self.each(1.1 * bounds + UNIT * np.abs(self.d)):
            self.assertFalse(self.is_right(d))
            self.assertGreater(self.error.value, self.bound.value)
            self.assertAlmostEqual(self.bound.value / bounds[at], 1, delta=0.01)

    def test_wrong(self):
        """Numbers that are far off, rows swapped, repeated and of zeros."""
        for value in np.nan, np.inf, -np.inf, 3e38:
            for at in (0, 0), (M - 1, N - 1):
                d = self.d.copy()
                d[at] = value
                self.assertFalse(self.is_right(d))
        swapped = self.d[[1, 0, *range(2, M)]]
        repeated = self.d[[1, 1, *range(2, M)]]
        zeros = self.d * (np.arange(M) != 3)[:, None]
        for d in swapped, repeated, zeros:
            self.assertFalse(self.is_right(d))

    def test_precisions(self):
        """A lower precision of A and B allows as much more, and not much more than that."""
        for precision, unit in (1, 2.0**-11), (2, 2.0**-8), (3, 2.0**-11):
            self.gemm.precision = 0
            self.assertFalse(self.is_right(self.d + 1.5 * unit * self.sizes()))
            self.gemm.precision = precision
            self.assertTrue(self.is_right(self.d + 1.5 * unit * self.sizes()))
            self.assertFalse(self.is_right(self.d + 3 * unit * self.sizes()))

    def test_bytes(self):
        steps = self.steps_of_bytes()
        for d, _ in self.each(0.99 * steps):
            self.gemm.precision = 0
            self.assertFalse(self.is_right(d))
            self.gemm.precision = 4
            self.assertTrue(self.is_right(d))
        for d, _ in self.each(1.01 * steps):
            self.assertFalse(self.is_right(d))

    def test_bytes_of_one_sign(self):
        """The range of a row of A has 0, although all elements have one sign."""
        self.gemm.precision = 4
        self.a[0] = 1000
        self.d = self.multiply()
        steps = self.steps_of_bytes()
        for factor, right in (0.99, True), (1.02, False):
            d = self.d.astype(float)
            d[0, 1] += factor * steps[0, 1]
            self.assertEqual(self.is_right(d), right)

    def test_kept_bytes(self):
        """An A of bytes that all stand for 0 makes zeros, though f32 rounds its scale and shift."""
        for kind, dtype, zero in ("u8", "u1", 50), ("i8", "i1", -3):
            self.gemm = describe(M, N, K, precision="i8", a_type=kind, a_scale=0.01,
                                 a_shift=-0.01 * zero)
            self.a = np.full((M, K), zero, dtype)
            self.assertTrue(self.is_right(np.zeros((M, N))))
            self.assertFalse(self.is_right(np.full((M, N), 1e-3)))

    def test_spoilt_bytes(self):
        """A NaN or infinity may spoil its row or column, and nothing else. The results of f32
        kernels pass, too."""
        self.gemm.precision = 4
        self.a[:, 0], self.b[0] = 1, 1
        for array, part in (self.a, np.s_[2]), (self.b, np.s_[:, 2]):
            place = (2, 0) if array is self.a else (0, 2)
            array[place] = np.inf
            self.d = self.multiply()
            self.assertTrue(self.is_right())
            self.d[part] = np.nan
            self.assertTrue(self.is_right())
            self.d[0, 0] = np.nan
            self.assertFalse(self.is_right())
            array[place] = 1

    def test_infinities(self):
        """NaN and infinities must be where they are expected, of the same sign."""
        special = np.inf, -np.inf, np.nan
        for i, expected in enumerate(special):
            self.set_bias(np.where(np.arange(N) == 2, expected, 0))
            for j, found in enumerate(special):
                d = self.d.copy()
                d[:, 2] = found
                self.assertEqual(self.is_right(d), i == j)
                d[0, 2] = 1
                self.assertFalse(self.is_right(d))

    def test_overflow(self):
        """An element whose expected value exceeds the largest float must be infinite."""
        self.a[:], self.d[:] = 0, 0
        self.gemm.alpha = 3e38
        self.a[0, 0], self.b[0], self.d[0] = 1, 2, np.inf
        self.assertTrue(self.is_right())
        for value in -np.inf, 3e38:
            self.d[0, 0] = value
            self.assertFalse(self.is_right())

    def test_activations(self):
        for number, name in enumerate(ACTIVATIONS[:-1]):
            self.gemm.activation = number
            self.d = activate(name, self.multiply().astype(float), np.zeros((M, N)))[0]
            self.assertTrue(self.is_right())
            for d, _ in self.each(np.full((M, N), 1e-4)):
                self.assertFalse(self.is_right(d))

    def test_saturated(self):
        """The values of activations at infinities are checked."""
        for name, logit, right, wrong in [
                ("relu", -np.inf, 0, 0.5), ("sigmoid", -np.inf, 0, 1), ("sigmoid", np.inf, 1, 0),
                ("tanh", np.inf, 1, -1), ("tanh", -np.inf, -1, 0), ("gelu", np.inf, np.inf, 1),
                ("hard-swish", np.inf, np.inf, -np.inf)]:
            self.set_bias(logit)
            self.gemm.activation = ACTIVATIONS.index(name)
            self.d[:] = right
            self.assertTrue(self.is_right())
            self.d[0, 3] = wrong
            self.assertFalse(self.is_right())

    def test_masked_softmax(self):
        """Columns that are masked with -infinity, or a low number, have no share."""
        self.a[:] = 0
        self.gemm.activation = ACTIVATIONS.index("softmax")
        for mask in -np.inf, -1e9, -1e30:
            self.set_bias([0, mask, 0, 0, mask])
            self.d[:] = [1 / 3, 0, 1 / 3, 1 / 3, 0]
            self.assertTrue(self.is_right())
            for at, value in ((0, 0), 1 / 3 + 1e-4), ((0, 1), 1e-6):
                d = self.d.copy()
                d[at] = value
                self.assertFalse(self.is_right(d))

    def test_gaps(self):
        """The gaps of D are not checked."""
        self.gemm.ldd, self.gemm.d_offset = N + 3, 20
        d = np.full(20 + M * (N + 3), np.nan)
        d[20:].reshape(M, N + 3)[:, :N] = self.d
        self.assertTrue(self.is_right(d))
        d[20] = np.nan
        self.assertFalse(self.is_right(d))

    def test_unread(self):
        """With alpha 0 neither A nor B is read, with beta 0 C is not."""
        self.gemm = describe(M, N, K, alpha=0, addend="matrix")
        self.a = self.b = None
        self.d[:] = 0
        self.assertTrue(self.is_right())
        self.d[0, 1] = 1e-30
        self.assertFalse(self.is_right())


if __name__ == "__main__":
    main()
