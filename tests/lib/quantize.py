# SPDX-License-Identifier: LGPL-2.1-or-later
"""Quantized matrices: their values, their files, and their use as the B of int8 kernels."""

import ctypes
import itertools
from ctypes import byref

import table
from gemmcl import (DTYPES, FIRST_OF_METHOD, PRECISIONS, Matrix, Plan, TestCase, ask, call,
                    count_weights, describe, find_misfit, get_context, get_matrix, make, np, struct,
                    take)
from tap_unittest import main

SHAPE = ROWS, COLS = 5, 3
# Its sums are integers, so that these tests are exact.
KERNEL = "vector_i8_1x64_1x1"


def make_bytes():
    return np.random.default_rng(2).integers(-128, 128, SHAPE, "i1")


def quantized(values, scales, zeros=None, kind="i8"):
    return get_matrix("matrix_new_quantized", make(values, kind), make(scales),
                      None if zeros is None else make(zeros))


def get_part(name, matrix):
    part = getattr(matrix.fields, name)
    return part and Matrix(call("matrix_ref", part)).read()


class Matrices(TestCase):
    def test_made(self):
        """The error of an element is at most half the scale of its row or column."""
        values = np.random.default_rng(1).uniform(-1, 1, SHAPE).astype("f4")
        for by_row in False, True:
            done = struct("double largest max_error rms_error")
            matrix = get_matrix("matrix_quantize", make(values), by_row, byref(done))
            self.assertEqual(matrix.type, "i8")
            self.assertEqual(call("precision_of_matrix", matrix, result=ctypes.c_int), 4)
            self.assertIsNone(get_part("zero_points", matrix))
            scales = get_part("scales", matrix)
            self.assertEqual(scales.shape, (ROWS, 1) if by_row else (1, COLS))
            np.testing.assert_allclose(
                scales, np.abs(values).max(int(by_row), keepdims=True) / 127, rtol=1e-6)
            off = np.abs(matrix.to_f32().read().astype(float) - values)
            self.assertTrue((off <= 0.5001 * scales).all())
            self.assertAlmostEqual(done.max_error, off.max())
            self.assertAlmostEqual(done.rms_error, np.sqrt((off**2).mean()))
            self.assertEqual(done.largest, np.abs(values).max())
        # A device may flush smaller scales to 0.
        self.assertEqual(get_part("scales", get_matrix("matrix_quantize", make([[1e-37]]), False,
                                                       None)), 0)

    def test_stands_for(self):
        """Elements are scale (q - zero point), with scales per column, per row, or one for all."""
        scales = np.array([0.5, 2, 0, 1, 0.25])
        zeros = np.array([-128, 0, 5, 127, -1])
        values = make_bytes()
        for shape in (1, COLS), (ROWS, 1), (1, 1):
            scale, zero = (part[:max(shape)].reshape(shape) for part in (scales, zeros))
            for transpose in False, True:
                floats = quantized(values, scale, zero).to_f32(transpose).read()
                expected = scale * (values.astype(float) - zero)
                np.testing.assert_array_equal(floats, expected.T if transpose else expected)

    def test_refused(self):
        good = [1, 1, 1]
        for scales, zeros, code, words in [
                ([1] * 4, None, "shape", "scales of 1 x 1"),
                ([[1]] * 3, None, "shape", "found 3 x 1"),
                ([1, np.nan, 1], None, "invalid", "finite"),
                ([1, 1, -1], None, "invalid", "not below 0"),
                (good, [0, 0.5, 0], "invalid", "integers from -128 to 127"),
                (good, [0, 0, 128], "invalid", "found 128"),
                (good, [1], "shape", "as many zero points")]:
            self.refuses(code, words, "matrix_new_quantized", make(make_bytes(), "i8"),
                         make(scales), zeros and make(zeros))
        self.refuses("invalid", "i8 or u8", "matrix_new_quantized", make(np.ones(SHAPE)), make([1]),
                     None)
        for wrong in np.nan, np.inf, -np.inf:
            self.refuses("invalid", "int8", "matrix_quantize", make([[1, 2], [wrong, 4]]), False,
                         None)

    def test_files(self):
        """A saved matrix is loaded unchanged, with and without zero points."""
        path = self.path("q.safetensors")
        scales = [0.5, 2, 1]
        for matrix in (quantized(make_bytes(), scales), make(make_bytes(), "i8"),
                       quantized(make_bytes(), scales, [-128, 0, 127])):
            ask("matrix_save_safetensors", matrix, path, "a.weight")
            loaded = get_matrix("matrix_load", path + "#a.weight")
            for name in "scales", "zero_points":
                np.testing.assert_equal(get_part(name, loaded), get_part(name, matrix))
            self.same(loaded.to_f32().read(), matrix.to_f32().read())
            self.refuses("io", "Cannot write", "matrix_save_safetensors", matrix, self.folder, "w")

    def test_several(self):
        """Tensors of one file are loaded by their names, whatever their types and sizes."""
        path = self.path("several.safetensors")

        def save(matrices, names):
            pointers = (ctypes.c_void_p * len(matrices))(
                *(matrix._as_parameter_ for matrix in matrices))
            return ("matrix_save_tensors", pointers,
                    (ctypes.c_char_p * len(names))(*map(str.encode, names)), len(names), path)

        matrices = [make([[1, 2, 3]], "u8"), quantized(make_bytes(), [0.5, 2, 1], [-128, 0, 127]),
                    make([[0.5], [-2]], "f64"), make(make_bytes(), "i8")]
        names = ["odd", "layer1.weight", "z é", "last"]
        ask(*save(matrices, names))
        for name, matrix in zip(names, matrices):
            loaded = get_matrix("matrix_load", f"{path}#{name}")
            self.assertEqual(loaded.type, matrix.type)
            self.same(loaded.to_f32().read(), matrix.to_f32().read())
        for names in ["a", "b", "a", "c"], ["b.scale", "b", "c", "d"]:
            self.refuses("invalid", "” twice", *save(matrices, names))
        self.refuses("invalid", "in UTF-8", "matrix_save_tensors", *save(matrices[:1], ["a"])[1:2],
                     (ctypes.c_char_p * 1)(b"\xff"), 1, path)
        self.same(get_matrix("matrix_load", path + "#last").to_f32().read(), matrices[3].read())


class Products(TestCase):
    def multiply(self, a, b, kernel=KERNEL, **fields):
        plan = Plan(describe(1, 1, max(b.shape), precision="i8", **fields), kernel, b=b)
        self.assertEqual(plan.get_info().precision, 4)
        d = np.full((1, 1), np.nan, "f4")
        plan.run(a=a, d=d)
        return d[0, 0]

    def needs(self, kernel):
        """Skips the test, or its part, if the kernel does not run on the device."""
        if misfit := find_misfit(kernel):
            self.skipTest(misfit)

    def test_taken(self):
        """An int8 or uint8 B is used unchanged. Other scales would change some of these sums. The
        range of each A and 0 is 255, so that its step is 1 and A is not rounded."""
        same = np.full((1, 4), 255, "f4")
        u8, i8 = np.array([0, 255, 3, 200]), np.array([-128, 127, 3, -100])
        q8 = quantized(i8[:, None], [0.5], [100])
        for b, trans_b, expected in [(make(u8[:, None], "u8"), False, 255 * u8.sum()),
                                     (make(i8[:, None], "i8"), False, 255 * i8.sum()),
                                     (make(i8, "i8"), True, 255 * i8.sum()),
                                     (q8, False, 255 * 0.5 * (i8 - 100).sum())]:
            self.assertEqual(self.multiply(same, b, trans_b=trans_b), expected)
        # A device may divide the range of 255 by 255 with an error of 2.5 ulp.
        a = np.array([[200, -55, 200, -55]], "f4")
        expected = 0.5 * ((i8 - 100) * a).sum()
        self.assertAlmostEqual(self.multiply(a, q8), expected, delta=0.02)

    def test_kept(self):
        """An A of bytes with one for 0 is exact. With another shift rows are quantized."""
        weight, stored = np.array([100, -7, 11, 127]), np.array([[-100, 13, 7, 90]], "i1")
        for kind, scale, shift, off in [("u8", 0.5, -16, 0), ("u8", 1, 0, 0), ("i8", 0.25, 8, 0),
                                        ("i8", 1, 0, 0), ("u8", 0.5, 16, 40),
                                        ("u8", 0.5, -128, 40), ("u8", 0.5, -15.75, 40)]:
            found = self.multiply(stored, make(weight[:, None], "i8"), a_type=kind, a_scale=scale,
                                  a_shift=shift)
            expected = (weight * (stored[0].view(DTYPES[kind]) * scale + shift)).sum()
            self.assertTrue(abs(found - expected) <= off, (kind, scale, shift, found, expected))

    def test_read(self):
        """Kernels that read A as it is stored quantize B alone: the products of these numbers are
        exact, in any type and with any shift of A, also where K ends in a word of four."""
        random, zero = np.random.default_rng(3), 100
        kernels = [row.name for row in table.load() if row.reads_a]
        cases = ("f32", 1, 0), ("f64", 1, 64), ("i16", 0.5, -3)
        self.assertTrue(kernels)
        for k, kernel, (kind, scale, shift) in itertools.product((301, 304), kernels, cases):
            a, b = random.integers(-400, 400, k), random.integers(-128, 128, k)
            q8 = quantized(b[:, None].astype("i1"), [0.25], [zero])
            with self.subTest(k=k, kernel=kernel, kind=kind):
                found = self.multiply(a[None].astype(DTYPES[kind]), q8, kernel, a_type=kind,
                                      a_scale=scale, a_shift=shift)
                self.assertEqual(found, 0.25 * ((a * scale + shift) * (b - zero)).sum())

    def test_stored(self):
        """NVIDIA's kernels multiply stored bytes of aligned rows without a copy, also in parts of
        K. The products of these numbers are exact, with zero points of A and B, of all columns or
        of none."""
        random, m, n = np.random.default_rng(4), 67, 71
        kernels = [row.name for row in table.load() if row.precision == "i8" and row.capability]
        self.assertTrue(kernels)
        cases = [("u8", 0.5, -16, 144, 0, 100), ("i8", 0.25, 8, 144, 0, 0),
                 ("i8", 1, 0, 64, 0, -128), ("u8", 2, 0, 272, 0, 0), ("u8", 0.5, -16, 140, 0, 100),
                 ("i8", 0.25, 8, 240, 0, 7), ("u8", 0.5, -16, 240, 4, 100)]
        for kernel, (kind, scale, shift, k, gap, zero) in itertools.product(kernels, cases):
            a = random.integers(0, 256, (m, k + gap)).astype("u1").view(DTYPES[kind])
            b, zeros = random.integers(-128, 128, (k, n)), np.where(np.arange(n) % 3, zero, 0)
            problem = describe(m, n, k, precision="i8", a_type=kind, a_scale=scale, a_shift=shift,
                               lda=k + gap)
            options = ctypes.c_void_p()
            ask("kernel_get_source", kernel, byref(problem), byref(options))
            self.assertEqual(" -DA_CHUNKS" in take(options.value), (k + gap) % 16 == 0)
            for name in (kernel, kernel + "/3") if k % 48 == 0 else (kernel,):
                d = np.full((m, n), np.nan, "f4")
                with self.subTest(kernel=name, kind=kind, k=k, gap=gap):
                    self.needs(kernel)
                    Plan(problem, name, b=quantized(b.astype("i1"), np.full(n, 0.5), zeros)).run(
                        a=a, d=d)
                    np.testing.assert_array_equal(
                        d, (a[:, :k].astype(float) * scale + shift) @ ((b - zeros) * 0.5))

    def test_parts_of_stored(self):
        """Up to a number of elements of A no copy of them is made. A part of K may have fewer of
        them than the whole, but decides alike."""
        random, k = np.random.default_rng(6), 768
        a, b = (random.integers(-128, 128, shape).astype("i1") for shape in ((9, k), (k, 40)))
        problem = describe(65536, 40, k, precision="i8", a_type="i8")
        for kernel in "mma_i8_2x8_8x16", "wgmma_i8_2x32_32x4":
            with self.subTest(kernel=kernel):
                self.needs(kernel)
                d = np.full((9, 40), np.nan, "f4")
                Plan(problem, kernel + "/2", b=quantized(b, np.ones(40))).run(a=a, d=d, m=9)
                np.testing.assert_array_equal(d, a.astype(int) @ b.astype(int))

    def test_parts(self):
        """Parts of K have the scales of the whole columns of B, so D differs by rounding alone."""
        random = np.random.default_rng(5)
        a, b = random.uniform(-1, 1, (9, 96)), random.uniform(-1, 1, (96, 40))
        b[:48] *= 0.25
        for kernel in "mma_i8_2x8_8x16", "wgmma_i8_2x32_32x4":
            with self.subTest(kernel=kernel):
                self.needs(kernel)
                whole, parts = np.full((2, 9, 40), np.nan, "f4")
                for name, d in (kernel, whole), (kernel + "/2", parts):
                    Plan(describe(9, 40, 96, precision="i8"), name, b=b).run(a=a.astype("f4"), d=d)
                np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-5)

    def test_ranges(self):
        """Every row of -a and b, for a and b from 1 to 199, is right to half a step. Where the zero
        point lies between two integers, the least element must not become the greatest."""
        low, high = -np.arange(1, 200), np.arange(1, 200)
        rows = np.stack(np.meshgrid(low, high), -1).reshape(-1, 2).astype("f4")
        half = (rows[:, 1:] - rows[:, :1]) / 255 / 2
        problem = describe(*rows.shape, 2, precision="i8")
        tried = 0
        for kernel in FIRST_OF_METHOD.values():
            if kernel.precision != PRECISIONS.index("i8") or find_misfit(kernel.name, problem):
                continue
            with self.subTest(kernel=kernel.name):
                d = np.full(rows.shape, np.nan, "f4")
                Plan(problem, kernel.name, b=np.eye(2)).run(a=rows, d=d)
                wrong = rows[(np.abs(d - rows) > 1.001 * half).any(1)]
                self.assertEqual(wrong.tolist(), [])
            tried += 1
        self.assertGreaterEqual(tried, 1)

    def test_longest(self):
        """The longest sum of the largest products is exact."""
        a, b = np.full((1, 65536), 255, "f4"), make(np.full((65536, 1), -128), "i8")
        self.assertEqual(self.multiply(a, b), -128.0 * 255 * 65536)

    def test_bytes(self):
        """Every uint8 times every int8 is right, at each place in an int of four. 255 and 0 in each
        row make its step 1."""
        for name, place in itertools.product([KERNEL, "vector_i8_1x32_1x1"], range(4)):
            with self.subTest(kernel=name, place=place):
                a, b = np.zeros((256, 8), "f4"), np.zeros((8, 256), "i1")
                a[:, 4], a[:, place], b[place] = 255, np.arange(256), np.arange(-128, 128)
                d = np.full((256, 256), np.nan, "f4")
                Plan(describe(256, 256, 8, precision="i8"), name, b=make(b, "i8")).run(a=a, d=d)
                self.same(d, np.outer(np.arange(256), np.arange(-128, 128)).astype("f4"))

    def test_not_shared(self):
        """Plans share a quantized B only if bytes and scales are equal."""
        before = count_weights()[0]
        plans = []
        for values, scale in ([2, 4, 100, -50], 0.5), ([1, 2, 50, -25], 1), ([2, 4, 100, -50], 0.5):
            plans.append(Plan(describe(1, 1, 4, precision="i8"), KERNEL,
                              b=quantized(np.array(values)[:, None], [scale])))
        self.assertEqual(count_weights()[0] - before, 2)

    def test_limits(self):
        """An infinite weight is refused, and a K whose sums might overflow."""
        problem = describe(1, 1, 2, precision="i8")
        self.refuses("invalid", "i8 cannot", "plan_set", Plan(problem, KERNEL), 0,
                     make([[1], [np.inf]]))
        problem.k = 65537
        self.refuses("kernel", "takes K up to 65536", "kernel_fits", get_context(), KERNEL,
                     byref(problem))


main()
