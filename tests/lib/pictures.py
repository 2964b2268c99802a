# SPDX-License-Identifier: LGPL-2.1-or-later
"""Steps that make pictures and features: pooling of grids, D as frames, and rows of frames as A."""

import itertools
from ctypes import byref, c_size_t

from gemmcl import DTYPES, TYPES, Plan, call, describe, make, np
from library import Frame
from numpy_gemm import compare, features, pooled, solve
from pixels import FORMATS, FRAME, ROW, get_planes, get_shape, make_frame
from problem import ALL, NORM_A, Problem, ProblemTestCase, find_kernels
from tap_unittest import main


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


main()
