# SPDX-License-Identifier: LGPL-2.1-or-later
"""Products that need more than a kernel: K in parts, softmax and row outputs as separate steps,
norms, integers with a scale, batches, and shared tiles."""

from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p

from gemmcl import (DTYPES, TYPES, Buffer, Plan, ask, describe, find_misfit, get_context, make, np,
                    pretend, take)
from library import Data, Frame
from numpy_gemm import features
from problem import (ALL, ARG_MAX, MAX, NORM_A, NORM_D, SUM, TOP_K, Problem, ProblemTestCase,
                     find_kernels)
from tap_unittest import main

CPU, GPU = 2, 4  # CL_DEVICE_TYPE_...
DEVICE_TYPE, COMPUTE_UNITS = 0x1000, 0x1002  # CL_DEVICE_...


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

    def test_long_rows(self):
        """Steps of a GPU have larger work-groups for long rows, if the rows are few: int8 copies of
        A, norms and softmax."""
        def enqueue(launch, queue, kernel, n, offset, grid, group, *events):
            groups.append((c_size_t * n).from_address(group)[0])
            return launch(queue, kernel, n, offset, grid, group, *events)
        self.addCleanup(pretend({DEVICE_TYPE: bytes(c_uint64(GPU)),
                                 COMPUTE_UNITS: bytes(c_uint(1))}))
        context = self.wrap_context()
        groups = []
        self.replace("clEnqueueNDRangeKernel", enqueue)
        for m, n, k, group, fields in [
                (2, 3, 8195, 256, {"precision": "i8"}), (3, 3, 16384, 512, {"precision": "i8"}),
                (9, 3, 16384, 128, {"precision": "i8"}), (2, 3, 4095, 64, {"precision": "i8"}),
                (2, 3, 8195, 256, {"normalize": NORM_A}), (2, 8195, 3, 256, {"normalize": NORM_D}),
                (2, 4099, 3, 128, {"activation": "softmax"})]:
            with self.subTest(m=m, n=n, k=k, **fields):
                kernel = "dot_4x2_8x16" if fields.get("precision") else "gemm_naive"
                problem = Problem(m, n, k, **fields)
                plan = problem.make_plan(kernel, context)
                groups.clear()
                problem.run_plan(plan=plan)
                self.is_right(problem, kernel)
                self.assertIn(group, groups)

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
        # bf16 and tf32 keep 7 and 10 binary digits behind the first one.
        for kernel, precision, digits in (("vector_bf16_4x64_1x1", "bf16", 7),
                                          ("mma_tf32_2x8_8x16", "tf32", 10)):
            if find_misfit(kernel):
                continue
            plan, a = Plan(describe(1, 1, 1, precision=precision), kernel), np.ones((1, 1), "f4")
            infinite = 2.0**127 * (2 - 2.0**-(digits + 1))
            d, largest = a.copy(), np.nextafter(np.float32(infinite), np.float32(0))
            plan.set("b", make(np.full((1, 1), -largest)))
            plan.run(a=a, d=d)
            self.assertEqual(d[0, 0], -(2.0**127) * (2 - 2.0**-digits))
            self.refuses("invalid", f"which {precision} cannot represent", "plan_set", plan, 0,
                         make(np.full((1, 1), -infinite, "f4")))


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

    def test_large_a(self):
        """An A larger than caches is prefetched, one cache line of each row at a time. Here K ends
        within a line."""
        self.solve("run_device", self.KERNELS[0][0], 901, 20, 149)


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
