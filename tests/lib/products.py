# SPDX-License-Identifier: LGPL-2.1-or-later
"""Products that need more than a kernel: K in parts, softmax and row outputs as separate steps,
norms, integers with a scale, batches, shared tiles, and pooling."""

import itertools
from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p

from gemmcl import (DTYPES, TYPES, Buffer, Plan, ask, call, describe, find_misfit, get_context,
                    make, np, pretend, take)
from library import Data, Frame
from numpy_gemm import compare, features, pooled, solve
from pixels import FORMATS, FRAME, ROW, get_planes, get_shape, make_frame
from problem import ALL, ARG_MAX, MAX, NORM_A, NORM_D, SUM, TOP_K, Problem, ProblemTestCase
from tap_unittest import main

CPU, GPU = 2, 4  # CL_DEVICE_TYPE_...
DEVICE_TYPE, COMPUTE_UNITS = 0x1000, 0x1002  # CL_DEVICE_...
# Kernels of all kinds, with their precisions.
KERNELS = [("gemm_naive", "f32"), ("gemm_naive/2", "f32"), ("vector_4x8_1x1", "f32"),
           ("vector_4x8_1x1/2", "f32"), ("block_read_4x1_1x8", "f32"),
           ("xmx_bf16_8x1_1x16", "bf16"), ("dot_1x1_1x64", "i8"), (None, "f16"), (None, "i8")]


def find_kernels():
    """Those of KERNELS that fit here."""
    return [(kernel, precision) for kernel, precision in KERNELS
            if not find_misfit(kernel or "gemm_naive", describe(9, 7, 64, precision=precision))]


class Parts(ProblemTestCase):
    """K in parts: the epilogue is applied once, to the sum of all parts."""

    KERNELS = ["tiled_4x4_8x8/3", "slm_4x4_16x16/2", "buffer_read_f16_4x1_1x16/6",
               "vector_8x8_1x1/2", "staged_4x8_4x16/3", "mma_f16_2x8_8x16/2", "mma_i8_2x8_8x16/3"]

    def try_parts(self, run, kernel, i, **others):
        fields = {"layout": i & 1, "trans_a": not i & 1 and bool(i & 2), "trans_b": bool(i & 2),
                  "addend": i % 4, "bias": True, "alpha": 0.5, "beta": -2,
                  "ldd": 40 if i & 2 else 0, "ldc": 40 if i & 2 else 0,
                  "precision": next((p for p in ("f16", "i8") if p in kernel), "f32"), **others}
        self.solve(run, kernel, 5, 37, 96, **fields)

    def test_layouts(self):
        for kernel in self.KERNELS:
            for i in range(4):
                self.try_parts("run_device", kernel, i)

    def test_epilogue(self):
        scaled = {"a_type": "u8", "a_scale": 1 / 255, "a_shift": -0.5}
        for kernel, fields in zip(self.KERNELS, [
                {"activation": "softmax", "alpha": 1}, {"d_type": "i8", "alpha": 20},
                {"alpha": 0}, {"alpha": 1, **scaled}, {"activation": "softmax", "d_type": "f16"},
                {"d_type": "i8", "alpha": 20}, {"activation": "softmax"}]):
            self.try_parts("run_device", kernel, 1, **{"activation": "relu", **fields})

    def test_tiles(self):
        """Groups add the parts of their tiles, of each run anew, also where it has fewer tiles."""
        for kernel in "staged_4x8_4x16/4", "mma_bf16_2x8_8x16/2", "wgmma_bf16_2x32_32x4/2":
            precision = "bf16" if "bf16" in kernel else "f32"
            problem = Problem(70, 150, 64, precision=precision, addend="matrix", beta=-2, bias=True)
            plan = problem.make_plan(kernel)
            for m in 20, 70, 20, 70:
                problem.run_plan(plan=plan, m=m)
                self.is_right(problem, kernel, m=m)

    def test_narrow(self):
        """With f16 a part of A may be too narrow for 2D block reads, though A is not."""
        for kernel in "xmx_f16_8x1_1x16/6", "xmx_f16_8x1_1x16/3":
            self.try_parts("run_device", kernel, 0, a_type="f16")

    def test_plan(self):
        for kernel in self.KERNELS:
            self.try_parts("run_plan", kernel, 2, trans_a=False)

    def test_name(self):
        for kernel, name in ("gemm_naive/6", "gemm_naive/6"), ("gemm_naive/1", "gemm_naive"):
            self.assertEqual(Plan(describe(5, 37, 96), kernel).kernel, name)

    def test_refused(self):
        for kernel, batch, words in [
                ("gemm_naive/5", 1, "multiple of 80, found 96"),
                ("gemm_naive/4", 1, "multiple of 64, found 96"),
                ("gemm_naive/0", 1, "split from 1 to"), ("gemm_naive/x", 1, "split from 1 to"),
                ("gemm_naive/", 1, "split from 1 to"), ("gemm_naive/65", 1, "split from 1 to"),
                ("gemm_naiv/2", 1, 'There is no kernel "gemm_naiv"'),
                ("gemm_naive/2", 2, "a batch of 1"),
                ("block_read_4x1_1x8/2", 1, "that reads buffers"),
                ("dot_4x2_8x16/2", 1, "With int8 only NVIDIA's"),
                ("wgmma_i8_2x64_64x4/6", 1, "larger tiles into fewer parts")]:
            precision = "i8" if "i8" in kernel or "dot" in kernel else "f32"
            self.refuses("kernel", words, "plan_new", get_context(),
                         byref(describe(5, 37, 96, batch=batch, precision=precision)), kernel)


class Rows(ProblemTestCase):
    """Sum, max, arg-max and top-k of the rows of D, against what D holds."""

    def make(self, n, **fields):
        """A batch of two with few different numbers; in some rows NaN, or only -infinity."""
        problem = Problem(11, n, fields.pop("k", 3), **{
            "batch": 2, "a_stride": 33, "addend": "matrix", "beta": 1, "row_outputs": ALL,
            "top_k": min(n, 4), **fields})
        i, j = np.indices((11, n))
        c = (i * 31 + j * 17) % 11 - 8.0
        c[(i % 5 == 3) & (j % 7 == 6)] = np.nan
        c[i % 5 == 4] = -np.inf
        problem.c.elements[...] = c
        return problem

    def run_rows(self, problem, plan, m=None, batch=None):
        """Checks that rows after those of the run are not written."""
        problem.rows[...] = -77
        problem.run_plan(plan=plan, m=m or 0, batch=batch or 0)
        for at in range(batch or 2):
            self.assertIsNone(problem.compare_rows(at, m))
            self.assertTrue((problem.rows[at][m or 11:] == -77).all())

    def test_host(self):
        # The last kernel computes row outputs itself, for up to 64 columns.
        for t, (kind, kernel, scale, shift) in enumerate([
                ("f32", "gemm_naive", 0, 0), ("f16", "gemm_naive", 0, 0),
                ("i8", "gemm_naive", 0, 0), ("i8", "gemm_naive", 0.3, -5),
                ("f32", "vector_2x64_1x1", 0, 0)]):
            for i, n in enumerate((1, 5, 16, 33, 67)):
                layout = (i + t) // 2 % 2
                problem = self.make(n, d_type=kind, d_scale=scale, d_shift=shift, alpha=i % 2,
                                    layout=layout, top_k=16 if i == 3 else min(n, 4))
                plan = problem.make_plan(kernel)
                self.run_rows(problem, plan)
                for batch in () if layout else (1, 2):
                    self.run_rows(problem, plan, 4, batch)

    def test_omitted(self):
        """Without D, where a kernel computes row outputs, or steps from a D of any type."""
        for t, kernel in enumerate(["gemm_naive", "vector_2x64_1x1", "gemm_naive/2"]):
            for i in range(12):
                batch = 1 if "/" in kernel else 2
                kind, scale = (("f32", 0), ("f16", 0), ("i8", 0.3))[i % 3]
                problem = self.make((5, 64, 67)[(i + t) % 3], k=32, a_stride=11 * 32, batch=batch,
                                    d_type=kind, d_scale=scale, alpha=i % 2, normalize=i // 6 * 2,
                                    layout=i // 3 % 2, activation=("softmax", "none")[i // 4 % 2],
                                    **({"ldd": 71, "d_start": 5} if i & 1 else {}))
                run, part = ("run_device", {}) if i & 2 else ("run_plan", {"batch": batch})
                if i % 4 == 1 and not problem.gemm.layout:
                    run, part = "run_plan", {"m": 4, "batch": batch}
                problem.run_omitting(kernel, run, **part)
                for at in range(batch):
                    self.assertIsNone(problem.compare_rows(at, part.get("m")))

    def test_parts(self):
        """Rows so wide that several work-groups share each of them: the last part has five columns,
        or none, or vectors and single columns."""
        self.check_parts(CPU)

    def test_parts_on_gpu(self):
        self.check_parts(GPU)

    def check_parts(self, kind):
        self.addCleanup(pretend({DEVICE_TYPE: bytes(c_uint64(kind)),
                                 COMPUTE_UNITS: bytes(c_uint(512 if kind == CPU else 32))}))
        context = self.wrap_context()
        for i, n in enumerate((18 * 4352 + 5, 81940, 8195)):
            problem = self.make(n, d_type=("f32", "f16", "i8")[i], layout=i % 2,
                                top_k=(16, 3, 1)[i], row_outputs=(ALL, ALL, ARG_MAX)[i])
            plan = problem.make_plan("gemm_naive", context)
            self.run_rows(problem, plan)
            if i != 1:
                self.run_rows(problem, plan, 4, 1)

    def test_sets(self):
        """Each set of outputs alone, after a softmax."""
        for outputs in range(1, ALL + 1):
            problem = self.make(19, activation="softmax", row_outputs=outputs,
                                top_k=1 + outputs % 4)
            self.run_rows(problem, problem.make_plan("gemm_naive"))
            if outputs == SUM:
                self.assertAlmostEqual(problem.rows[0, 0, 0], 1, delta=1e-5)

    def test_tiles(self):
        """Kernels that leave the largest elements of each tile, in place of a D that nobody reads,
        for up to two elements, no sums, and tiles that are half full."""
        most = MAX | ARG_MAX | TOP_K
        for kernel, precision, n, outputs, top_k, leaves in [
                ("staged_4x8_4x16", "f32", 257, most, 2, True),
                ("staged_4x8_4x16", "f32", 129, MAX, 0, True),
                ("mma_bf16_2x8_8x16", "bf16", 300, ARG_MAX, 0, True),
                ("mma_i8_2x8_8x16", "i8", 258, TOP_K, 1, True),
                ("wgmma_f16_2x32_32x4", "f16", 400, MAX | ARG_MAX, 2, False),
                ("staged_4x8_4x16", "f32", 140, ALL, 2, False),
                ("staged_4x8_4x16", "f32", 140, most, 3, False)]:
            problem = self.make(n, row_outputs=outputs, top_k=top_k, precision=precision)
            for problem.gemm.omit_d in 0, 1:
                with self.subTest(kernel=kernel, n=n, omits=problem.gemm.omit_d):
                    self.leaves_tiles(problem, kernel, leaves and problem.gemm.omit_d == 1)
                    plan = problem.make_plan(kernel)
                    self.run_rows(problem, plan)
                    self.run_rows(problem, plan, 4, 1)

    def test_tiles_below(self):
        """The same with tiles below each other, for which persistent work-groups take turns."""
        problem = Problem(70, 600, 16, row_outputs=ARG_MAX | TOP_K, top_k=2, precision="bf16")
        problem.run_omitting("wgmma_bf16_2x32_32x4")
        self.leaves_tiles(problem, "wgmma_bf16_2x32_32x4", True)
        self.assertIsNone(problem.compare_rows(0))

    def leaves_tiles(self, problem, kernel, expected):
        options = c_void_p()
        ask("kernel_get_source", kernel, byref(problem.gemm), byref(options))
        self.assertEqual("-DTILED_ROWS" in take(options.value), expected)

    def test_sides(self):
        """Row outputs in a buffer, and on the host: the tests of kernels have all in one buffer."""
        problem = self.make(21, alpha=1)
        plan, rows = problem.make_plan("gemm_naive"), problem.rows
        on_host = Data(host=(rows[1].ctypes.data,))
        buffer, small = Buffer(rows[0]), Buffer(rows[0, 0, :1])
        problem.run_plan(plan=plan, row_outputs=(Data * 2)(buffer.describe(), on_host))
        buffer.read(rows[0])
        for at in range(2):
            self.assertIsNone(problem.compare_rows(at))
        with self.refused("opencl", "Copying row outputs"):
            problem.run_plan(plan=plan, row_outputs=(Data * 2)(small.describe(), on_host))


class Norms(ProblemTestCase):
    """Rows of A and of D divided by their L2 norms."""

    def test_types(self):
        """All types of A and D, with K and N around a vector's width. 64-bit squares overflow."""
        sizes = 16, 5, 33, 1, 47
        for i, kind in enumerate(TYPES):
            d_type = TYPES[(i + 5) % len(TYPES)]
            normalize = 1 + i % 3
            shape = 7, sizes[(i + 1) % 5], sizes[i % 5]
            a = {"a_type": kind, "a_scale": 1 if i % 2 else 1 / 128,
                 "a_shift": 0 if i % 3 else -0.25}
            is_integer = d_type[0] in "iu" and not normalize & NORM_D
            self.solve("run_device", None, *shape, **a, d_type=d_type, normalize=normalize,
                       alpha=float(np.iinfo(DTYPES[d_type]).max) if is_integer else 1)
            self.solve("run_device", None, *shape, **a, normalize=NORM_A | NORM_D)

    def test_layouts(self):
        """Layouts with and without gaps, used in place or copied; batches of several kinds."""
        for i in range(32):
            gaps = {"lda": 23, "a_start": 3, "ldd": 11, "d_start": 2} if i & 16 else {}
            fields = dict(
                layout=i & 1, trans_a=bool(i & 2), a_type="i8" if i & 4 else "f32",
                d_type="f16" if i & 8 else "f32", addend="output" if i & 8 else "matrix", beta=0.5,
                bias=True, batch=1 + i % 3, a_stride=23 * 19 if i % 5 else 0,
                b_stride=0 if i % 7 else 9 * 19, normalize=1 + i % 3, seed=i, **gaps)
            self.solve("run_device", None, 6, 9, 19, **fields, row_outputs=SUM | ARG_MAX)
            self.solve("run_host", None, 6, 9, 19, **fields)
            self.solve("run_plan_host", None, 6, 9, 19, **{**fields, "b_stride": 0},
                       row_outputs=SUM | ARG_MAX)

    def test_kernels(self):
        """Kernels of all kinds, which find whole rows or not; activations before D's norms."""
        for i, (kernel, precision) in enumerate(find_kernels()):
            for j in range(6):
                fields = dict(normalize=1 + j % 3, precision=precision,
                              activation=("none", "softmax", "relu")[(i + j) % 3],
                              d_type="f16" if (i + j) % 4 == 3 else "f32")
                self.solve("run_device", kernel, 9, 7, 64, **fields, row_outputs=MAX | TOP_K,
                           top_k=3)
                self.solve("run_plan", kernel, 9, 7, 64, **fields)

    def test_extremes(self):
        """Rows of zeros, of the least and the largest numbers, around the least norm, and with NaN
        and infinities: as A, multiplied by the identity, and as C, which is D."""
        values = np.array([
            [0, 0, 0], [-0.0, 0, 0], [1e19, -1e19, 1e18], [3e38, 3e38, -3e38], [3e38, 1, 0],
            [1e-12, 0, 0], [9e-13, 0, 1e-14], [3e-12, 4e-12, 0], [1e-25, 1e-25, 1e-25], [3, 4, 0],
            [np.nan, 1, 2], [np.inf, 1, 2], [1, -np.inf, np.inf], [1, np.inf, np.nan]], "f4")
        exact = values.astype(float)
        with np.errstate(invalid="ignore"):
            expected = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-12)
        for of_d, n in (False, 10), (True, len(values)):
            problem = Problem(n, 3, 3, normalize=NORM_D if of_d else NORM_A, alpha=not of_d,
                              beta=of_d, addend="matrix" if of_d else "none")
            (problem.c if of_d else problem.a).elements[0] = values[:n]
            problem.b.elements[0] = np.eye(3)
            problem.run_device("gemm_naive")
            np.testing.assert_allclose(problem.d.elements[0], expected[:n], 1e-6, 1e-24)
            self.assertTrue(problem.verify())

    def test_smaller(self):
        """Runs of fewer rows and problems than the plan has."""
        for i in range(4):
            problem = Problem(8, 5, 21, normalize=NORM_A | NORM_D, layout=i % 2, batch=2,
                              a_stride=8 * 21)
            problem.run_plan("gemm_naive", m=3, batch=1 + i // 2)
            self.is_right(problem, m=3, batch=1 + i // 2)

    def test_without_a(self):
        """With alpha 0 the rows of A are not read; D is C, normalized."""
        problem = Problem(4, 6, 8, normalize=NORM_A | NORM_D, alpha=0, beta=3, addend="row")
        problem.a.flat[...] = np.nan
        problem.run_device()
        self.is_right(problem)


class Steps(ProblemTestCase):
    def test_softmax(self):
        """Softmax of rows that are too wide for a work-group, and rounded to integers."""
        for i, kind in enumerate(("f32", "f64", "f16", "u8")):
            self.solve("run_plan", None, 7, 1000, 9, alpha=3, d_type=kind, activation="softmax",
                       layout=i % 2, ldd=1003)

    def test_scaled(self):
        """Integers with a scale: results of softmax, norms, and sums that saturate."""
        for i, (kind, scale, shift, activation, normalize) in enumerate([
                ("u8", 1 / 256, 0, "softmax", 0), ("i8", 1 / 127, 0, "none", NORM_D),
                ("u8", 2 / 255, -1, "tanh", 0), ("i8", 0.75, 40, "none", 0),
                ("i16", 1 / 32768, 0, "softmax", NORM_A), ("u8", 1, 3, "relu", 0)]):
            for layout in 0, 1:
                self.solve("run_plan", None, 7, 33 if (2 * i + layout) % 3 else 300, 9,
                           batch=1 + i % 2, a_stride=63, d_type=kind, d_scale=scale, d_shift=shift,
                           activation=activation, normalize=normalize, layout=layout, ldd=303)

    def test_batches(self):
        """Batches whose rows follow one another, and batches whose rows do not."""
        for i in range(16):
            m, k = 1 if i & 1 else 6, 1 if i & 2 else 3
            self.solve("run_plan", None, m, 5, k, batch=7, a_stride=m * k, layout=i >> 2 & 1,
                       addend="row" if i & 8 else "matrix", beta=1)

    def test_large(self):
        """A D larger than caches, which CPUs write past them where its vectors are aligned: with
        rows that follow one another, with a gap that keeps them so, and with one that does not."""
        for n, ldd in (64, 0), (65, 96), (66, 66):
            self.solve("run_device", None, 65539, n, 3, alpha=0.5, bias=True, ldd=ldd)

    def test_halves(self):
        """A kernel of f16 needs a problem of that precision, and a B within its range."""
        kernel = "buffer_read_f16_4x1_1x16"
        self.refuses("kernel", "", "plan_new", get_context(), byref(describe(2, 2, 2)), kernel)
        plan = Plan(describe(2, 2, 2, precision="f16"), kernel, b=np.full((2, 2), 65519))
        self.refuses("invalid", "", "plan_set", plan, 0, make(np.full((2, 2), 65520)))


class SharedTiles(ProblemTestCase):
    """Kernels for CPUs with tiles that work-groups share, and with a copy of A. One kernel for each
    precision and for vectors of 8 floats; D has several panels and stacks of tiles."""

    KERNELS = [("vector_6x16_1x1", "f32", 16), ("vector_12x32_1x1", "f32", 32),
               ("vector_bf16_4x64_1x1", "bf16", 64), ("vector_i8_12x32_1x1", "i8", 32)]

    def test_sizes(self):
        """M makes one stack of tiles, groups that end within one, several stacks in a group, and
        less than a tile. K is small, 0 by alpha, or too large for a copy. An A in f16 is copied."""
        for kernel, precision, width in self.KERNELS:
            for m, k in (293, 60), (700, 3), (150, 0), (5, 6500):
                for kind in "f16", "f32":
                    self.solve("run_device", kernel, m, 4 * width + 3, max(k, 1), alpha=k > 0,
                               precision=precision, a_type=kind, lda=max(k, 1) + 5, a_start=2,
                               bias=True)

    def test_far_rows(self):
        """Rows of A a multiple of 4096 bytes apart, which kernels with short vectors copy."""
        self.solve("run_device", self.KERNELS[0][0], 167, 261, 37, lda=1024, batch=2,
                   a_stride=167 * 1024 + 1, a_scale=0.5, a_shift=0.25)


class Pools(ProblemTestCase):
    """Maxima and averages of windows of grids of rows."""

    # (grid, size, stride), each (width, height): windows side by side, apart, and that overlap;
    # rows and columns that fill none; lines; the whole grid, by zeros and as stated.
    WINDOWS = [((6, 4), (2, 2), (0, 0)), ((7, 5), (3, 2), (2, 1)), ((8, 3), (1, 1), (3, 2)),
               ((5, 7), (2, 3), (0, 0)), ((12, 1), (3, 0), (2, 0)), ((0, 0), (4, 1), (1, 0)),
               ((5, 4), (0, 0), (0, 0)), ((3, 3), (3, 3), (7, 7))]

    def make(self, i, grids=1):
        grid, size, stride = self.WINDOWS[i % len(self.WINDOWS)]
        names = "pool_across pool_down pool_width pool_height pool_stride_x pool_stride_y".split()
        return {"m": grids * (grid[0] * grid[1] or 13), "pool": ("max", "average")[i // 3 % 2],
                **dict(zip(names, (*grid, *size, *stride)))}

    def test_types(self):
        """All types of D, in both layouts, with gaps, batches, and row outputs."""
        for i in range(48):
            kind = TYPES[i % len(TYPES)]
            is_integer = kind[0] in "iu"
            scaled = {"d_scale": 1 / 32, "d_shift": -0.5} if is_integer and i % 5 else {}
            others = {"row_outputs": ALL, "top_k": 2} if i % 3 == 0 else {}
            fields = dict(
                n=5 + i, k=9, layout=i >> 1 & 1, ldd=101 if i & 4 else 0, d_start=i % 7,
                d_type=kind, batch=1 + i % 3, a_stride=9 * 117, alpha=20 if is_integer else 1,
                addend=("none", "matrix", "row")[i % 3], beta=1, bias=i & 8, c_stride=53 * 117,
                activation=("none", "relu", "tanh")[i // 8 % 3], **scaled, **others)
            self.solve("run_device", None, **self.make(i, 1 + i % 3), **fields)
            if fields["addend"] != "matrix" or fields["batch"] == 1:
                self.solve("run_plan", None, **self.make(i, 1 + i % 3), **fields)

    def test_omitted(self):
        """Row outputs alone, of a D that is narrow, wide or no f32."""
        for i, n in enumerate((5, 200, 9000, 33, 200)):
            problem = Problem(n=n, k=9, d_type=("f32", "i8")[i // 3], row_outputs=ALL, top_k=3,
                              batch=2, a_stride=9 * 117, **self.make(i, 1 + i % 3))
            run, part = ("run_device", {}) if i & 1 else ("run_plan", {"batch": 2})
            problem.run_omitting(None, run, **part)
            self.assertIsNone(problem.compare_rows(0) or problem.compare_rows(1))

    def test_kernels(self):
        """Kernels of all kinds, whose results are sums of parts or softmax of whole rows."""
        for i, (kernel, precision) in enumerate(find_kernels()):
            for j in range(6):
                self.solve("run_device", kernel, **self.make(i + j), n=7, k=64, bias=True,
                           precision=precision, normalize=NORM_A * (j % 2),
                           activation=("none", "softmax", "relu")[j % 3])

    def test_extremes(self):
        """NaN and infinities at each place of a window. A maximum is NaN if its window has one."""
        for pool in "max", "average":
            for at in range(6):
                for special in np.nan, np.inf, -np.inf, -3e38:
                    problem = Problem(12, 2, 3, pool=pool, pool_across=6, pool_width=3, alpha=0,
                                      beta=1, addend="matrix", pool_height=2)
                    c = problem.c.elements[0]
                    c[:, 0] = -np.inf if special > 0 else -2
                    c[at // 3 * 6 + at % 3, 0] = special
                    problem.run_device("gemm_naive")
                    windows = np.stack([c.reshape(2, 2, 3, 2)[:, side].reshape(6, 2)
                                        for side in (0, 1)])
                    with np.errstate(invalid="ignore"):
                        expected = windows.max(1) if pool == "max" else windows.mean(1)
                    np.testing.assert_allclose(problem.d.elements[0], expected, 1e-6)
                    self.assertTrue(problem.verify())

    def test_rows(self):
        """A run has all rows of the plan, since they are whole grids."""
        problem = Problem(24, 2, 3, pool="max", pool_across=6, pool_down=2, pool_width=2)
        with self.refused("invalid", "grids that are pooled has all their 24 rows, not 12"):
            problem.run_plan(m=12)
        problem.run_plan(m=24)
        self.is_right(problem)

    def test_patches(self):
        """A convolution: the grid is that of the frame's patches."""
        rng = np.random.default_rng(7)
        for i, (pool, d_type) in enumerate([("max", "f32"), ("average", "i8"), ("max", "i8")]):
            size, stride = ((2, 2), (3, 2), (2, 3))[i], ((2, 2), (1, 2), (2, 2))[i]
            images = rng.uniform(-1, 1, (3, 9, 11, 4)).astype("f4")
            b = rng.uniform(-1, 1, (36, 7)).astype("f4")
            frame = Frame(width=11, height=9, features=3, patch_width=3, patch_height=3,
                          patch_stride=1, patch_padding=1, channels=4)
            gemm = describe(99, 7, 36, batch=3, a_frame=frame, pool=pool, pool_width=size[0],
                            pool_height=size[1], pool_stride_x=stride[0], pool_stride_y=stride[1],
                            d_type=d_type, d_scale=1 / 40 if d_type == "i8" else 1,
                            activation="relu")
            across, down = c_size_t(), c_size_t()
            rows = call("gemm_get_pooled_grid", byref(gemm), byref(across), byref(down),
                        result=c_size_t)
            self.assertEqual([across.value, down.value, rows],
                             [(11 - size[0]) // stride[0] + 1, (9 - size[1]) // stride[1] + 1,
                              across.value * down.value])
            d = np.zeros((3, rows, 7), DTYPES[d_type])
            Plan(gemm, b=b).run(a=list(images), d=list(d), batch=3)
            for image, found in zip(images, d):
                a = features(image.astype(float), "patch", (3, 3), 1, 1)
                expected, bound = pooled(pool, *solve(a, 0 * a, b, activation="relu"), (11, 9),
                                         size, stride)
                if d_type == "i8":
                    expected, bound = expected * 40, 40 * bound + 1e-5
                self.assertIsNone(compare(found, expected, bound))


class Pictures(ProblemTestCase):
    """D as frames, which kernels write, or a step for a larger K or pooling."""

    def draw(self, rng, k):
        """A random problem, and the frames that are D before they are rounded."""
        form = str(rng.choice(list(FORMATS)[:10]))
        n = FORMATS[form][0]
        grid = size = rng.integers(2, 40, 2)
        pool = rng.choice(("none", "max", "average"))
        fields = {}
        if pool != "none":
            window = rng.integers(1, 1 + np.minimum(size, 3))
            size = (grid - window) // window + 1
            fields = dict(pool=str(pool), pool_across=int(grid[0]), pool_down=int(grid[1]),
                          pool_width=int(window[0]), pool_height=int(window[1]))
        m, top = int(grid.prod()), 2**16 if "16" in form else 256
        a, b = rng.integers(0, 9, (2, m, k)).astype("f4"), rng.uniform(-1, 1, (k, n)).astype("f4")
        bias = rng.uniform(-top / 8, top, n).astype("f4")
        frame = make_frame(*map(int, size), form)
        gemm = describe(m, n, k, bias=1, batch=2, a_stride=m * k, alpha=top / 8 / k, d_frame=frame,
                        **fields)
        results = [solve(each, 0 * each, b, bias=bias.astype(float), alpha=top / 8 / k)
                   for each in a.astype(float)]
        if pool != "none":
            results = [pooled(pool, *result, tuple(grid), tuple(window)) for result in results]
        return gemm, frame, form, (a, b, bias), results

    def test_random(self):
        rng = np.random.default_rng(4)
        for i in range(40):
            gemm, frame, form, (a, b, bias), results = self.draw(rng, (3, 16, 17, 100)[i % 4])
            kind = "<u2" if form == "GRAY16_LE" else "u1"
            samples = get_planes(frame)[0] // np.dtype(kind).itemsize // frame.width // frame.height
            wide = frame.width * samples + i % 3  # elements between rows
            d = np.full((2, frame.height, wide), 77, kind)
            Plan(gemm, b=b, bias=bias).run(a=list(a), d=[each[:, :frame.width * samples]
                                                         for each in d], alpha=gemm.alpha)
            self.assertTrue((d[..., frame.width * samples:] == 77).all(), "a gap was written")
            pixels = d[..., :frame.width * samples].reshape(2, -1, samples)
            order = [0] if samples == 1 else [form.index(c) for c in "RGBA" if c in form]
            if "x" in form:
                self.assertTrue((pixels[..., form.index("x")] == 255).all(), "x is not 255")
            for found, (expected, bound) in zip(pixels, results):
                self.assertIsNone(compare(found[:, order], expected, bound))


class Features(ProblemTestCase):
    """Rows of frames, and whole frames, as rows of A."""

    def test_formats(self):
        """All formats of one plane, some of which kernels read as a matrix; two frames, with gaps
        between their rows in one of two runs."""
        rng, width, height = np.random.default_rng(5), 13, 6
        for form, mode, gap in itertools.product(list(FORMATS)[:10], (ROW, FRAME), (0, 4)):
            with self.subTest(form=form, mode=mode, gap=gap):
                frame = make_frame(width, height, form, features=mode)
                m, k = get_shape(frame)
                kind = "<u2" if "16" in form else "u1"
                samples = get_planes(frame)[0] // np.dtype(kind).itemsize // width // height
                frames = rng.integers(0, 256, (2, height, width * samples + gap)).astype(kind)
                pixels = frames[..., :width * samples]
                order = [0] if samples == 1 else [form.index(c) for c in "RGBA" if c in form]
                a = pixels.reshape(2, -1, samples)[..., order].reshape(2, m, k).astype(float)
                b, d = rng.uniform(-1, 1, (k, 5)).astype("f4"), np.zeros((2, m, 5), "f4")
                gemm = describe(m, 5, k, batch=2, a_frame=frame, a_scale=1 / 128, a_shift=-1)
                Plan(gemm, b=b).run(a=list(pixels), d=list(d), batch=2)
                for each, found in zip(a / 128 - 1, d):
                    self.assertIsNone(compare(found, *solve(each, 0 * each, b)))


class Poor(ProblemTestCase):
    """A GPU with work-groups of one work-item, without images and times, and with half of the local
    memory that OpenCL requires: no row for GPUs fits it."""

    # CL_DEVICE_TYPE, ..._MAX_WORK_..., ..._IMAGE_SUPPORT, ..._LOCAL_MEM_SIZE
    ANSWERS = {0x1000: ("u8", 4), 0x1004: ("u8", 1), 0x1005: ("u8", [1, 1, 1]), 0x1016: ("u4", 0),
               0x1023: ("u8", 1 << 14)}
    INVALID_WORK_GROUP_SIZE, PROFILING_INFO_NOT_AVAILABLE = -54, -7

    def setUp(self):
        def enqueue(launch, queue, kernel, n, offset, grid, group, *events):
            size = np.prod((c_size_t * n).from_address(group), dtype=int)
            return (self.INVALID_WORK_GROUP_SIZE if size > 1 else
                    launch(queue, kernel, n, offset, grid, group, *events))
        super().setUp()
        self.addCleanup(pretend({query: np.array(value, kind).tobytes()
                                 for query, (kind, value) in self.ANSWERS.items()}))
        self.replace("clEnqueueNDRangeKernel", enqueue)
        self.replace("clGetEventProfilingInfo",
                     lambda *_arguments: self.PROFILING_INFO_NOT_AVAILABLE)
        self.context = self.wrap_context()

    def test_products(self):
        """Products with each step: packing, K in parts, softmax, norms, row outputs, a scaled D,
        pooling."""
        for kernel, fields in ((None, {"d_type": "u8", "d_scale": 1 / 64, "normalize": NORM_A}),
                               (None, {"activation": "softmax", "row_outputs": SUM | ARG_MAX}),
                               (None, {"pool": "average", "pool_width": 2}),
                               ("vector_8x8_1x1/2", {"addend": "output", "beta": 0.5})):
            problem = Problem(5, 37, 96, bias=True, **fields)
            problem.run_device(plan=Plan(problem.gemm, kernel, self.context))
            self.is_right(problem, kernel)

    def test_frames(self):
        """NV12 converted to RGB inside the kernel, and its rows as features, by im2col."""
        nv12, rgb = (Frame(format=number, width=6, height=4, kr=0.299, kb=0.114)
                     for number in (10, 2))
        samples = np.full(36, 128, "u1")
        a = Data(host=(samples.ctypes.data, samples.ctypes.data + 24))
        d = np.zeros((4, 18), "u1")
        plan = Plan(describe(24, 3, 3, a_frame=nv12, d_frame=rgb), None, self.context,
                    b=np.eye(3, dtype="f4"))
        plan.run(a=a, d=[d])
        self.assertTrue((abs(d.astype(int) - 130) <= 1).all(), d)
        nv12.features = 1
        rows = np.zeros((4, 1), "f4")
        Plan(describe(4, 1, 18, a_frame=nv12), None, self.context, b=np.ones((18, 1), "f4")).run(
            a=a, d=[rows])
        np.testing.assert_allclose(rows, 18 * 130.4, 1e-3)


main()
