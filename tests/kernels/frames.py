# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames as A and as D with every kernel that reads pixels, and with the fallback; tensors as A."""

from ctypes import byref

from gemmcl import (DTYPES, IS_BRIEF, KERNELS, TYPES, Plan, TestCase, describe, find_misfit,
                    get_context, np)
from library import Data
from numpy_gemm import COLORIMETRY, colours, compare, f32, features, solve
from pixels import FORMATS, make_frame
from problem import MISCOMPILED, Operand, get_dtype, is_miscompiled
from tap_unittest import main

BATCH = 2
# The samples of a pixel in memory. The channels of A are R, G, B, A, or Y, in any case.
PACKED = {"GRAY8": "Y", "GRAY16_LE": "Y",
          **{name: name for name in "RGB BGR RGBA BGRA RGBx BGRx xRGB xBGR".split()}}
CHROMA = ["NV12", "I420", "P010_10LE"]
MODES = ["pixel", "row", "frame", "patch"]
PATCHES = [(4, 3, 0, 0, 0), (3, 3, 2, 1, 0), (3, 2, 1, 2, 3), (1, 5, 3, 0, 2)]
# The fallback, and kernels that read pixels, by the same functions: one of them in brief tests.
FRAME_KERNELS = ["gemm_naive", *(kernel.name.decode() for kernel in KERNELS
                                 if kernel.method == b"skinny")][:2 if IS_BRIEF else None]
PADDING = 14  # bytes between rows
FILLER = 0xa5


def count_channels(pixels):
    return 3 if pixels in CHROMA else len(PACKED[pixels].replace("x", ""))


class Frame:
    """A frame in host memory with random pixels, or a tensor of a type (kind) and channels.

    Its rows have no gaps (rows 0), have gaps (1), or lie from the last to the first (2). Bytes
    outside of pixels are FILLER. cut: interlaced, left and top of GemmclFrame; progressive: the
    frame is not interlaced nevertheless."""

    def __init__(self, rng, pixels, size, rows=0, mode="pixel", patch=(0,) * 5, full=None,
                 channels=0, kind="u8", cut=(False, 0, 0), progressive=False):
        self.pixels, (self.width, self.height) = pixels, size
        self.cut, self.progressive = cut, progressive
        self.mode, self.features = mode, (mode, patch[:2], *patch[2:4], max(patch[4], 1))
        self.tensor = channels and Operand(rng, kind, (self.height, self.width, channels), False,
                                           (0, 0, None))
        # I420 is BT.709 of full range, unless the test says otherwise.
        full = pixels == "I420" if full is None else full
        names = ("bt709", "1:3:5:1") if pixels == "I420" else ("bt601", "1:4:0:0")
        self.colorimetry = names[full]
        kr, kb, _ = COLORIMETRY[self.colorimetry]
        self.frame = make_frame(
            *size, pixels or 0, patch, features=MODES.index(mode), kr=kr, kb=kb, full_range=full,
            channels=channels, type=TYPES.index(kind) if channels else 0,
            **dict(zip(("interlaced", "left", "top"), cut)))
        if not channels:
            self.make_planes(rng, PADDING if rows else 0, rows == 2)
        elif self.tensor.flat.dtype.kind in "iu" and kind != "bf16":
            low = max(-100, np.iinfo(get_dtype(kind)).min)
            self.tensor.elements[...] = rng.integers(low, 101, self.tensor.elements.shape)

    def make_planes(self, rng, padding, upside_down):
        self.sample = np.dtype("<u2" if self.pixels in ("GRAY16_LE", "P010_10LE") else "u1")
        half = self.chroma_columns()[-1] + 1, max(self.chroma_rows(self.cut[0])) + 1
        shapes = {"I420": [(self.width, self.height), half, half]}.get(
            self.pixels, [(self.width, self.height), (2 * half[0], half[1])])
        if self.pixels in PACKED:
            shapes = [(self.width * len(PACKED[self.pixels]), self.height)]
        sizes = [(columns * self.sample.itemsize, rows) for columns, rows in shapes]
        self.memory = np.full(2 * padding * len(sizes) + sum(rows * (row + padding)
                                                             for row, rows in sizes), FILLER, "u1")
        self.planes = []
        start = padding
        for row, rows in sizes:
            end = start + rows * (row + padding)
            plane = self.memory[start:end].reshape(rows, row + padding)[:, :row]
            plane[...] = rng.integers(0, 256, plane.shape)
            self.planes.append(plane[::-1] if upside_down else plane)
            start = end + padding

    def describe(self):
        data = Data()
        planes = [self.tensor.elements] if self.tensor else self.planes
        for i, plane in enumerate(planes):
            data.host[i], data.stride[i] = plane.ctypes.data, plane.strides[0]
        return data

    def samples(self):
        """The samples of packed pixels: rows x columns x samples in memory's order."""
        lines = np.ascontiguousarray(self.planes[0]).view(self.sample)
        return lines.reshape(self.height, self.width, -1)

    def channels(self):
        """The channels of packed pixels, in gemmcl's order."""
        order = PACKED[self.pixels]
        return self.samples()[:, :, [order.index(c) for c in "YRGBA" if c in order]]

    def chroma_columns(self):
        return [(x + self.cut[1]) // 2 for x in range(self.width)]

    def chroma_rows(self, interlaced):
        rows = [y + self.cut[2] for y in range(self.height)]
        return [y // 4 * 2 + y % 2 if interlaced else y // 2 for y in rows]

    def chroma(self):
        """Y, Cb and Cr of each pixel, 0 to 255. Samples of 10 bits are the upper bits of 16."""
        luma, *rest = [np.ascontiguousarray(plane).view(self.sample).astype(float)
                       for plane in self.planes]
        cb, cr = rest if len(rest) == 2 else (rest[0][:, 0::2], rest[0][:, 1::2])
        rows = self.chroma_rows(self.cut[0] and not self.progressive)
        planes = [luma, *(plane[rows][:, self.chroma_columns()] for plane in (cb, cr))]
        if self.sample.itemsize == 1:
            return planes
        if not self.frame.full_range:
            return [plane / 256 for plane in planes]
        step = 255 / (1023 * 64)
        return [planes[0] * step, *(128 + (plane - 32768) * step for plane in planes[1:])]

    def a(self):
        """A, the bound of its error, and 1 for what is in the frame, 0 for padding."""
        if self.tensor:
            values = self.tensor.read()
            off = np.zeros_like(values)
        elif self.pixels in CHROMA:
            values, off = colours(*self.chroma(), self.colorimetry)
        else:
            values = self.channels().astype(float)
            off = np.zeros_like(values)
        return [features(each, *self.features) for each in (f32(values), off, np.ones_like(values))]

    def rest_is_good(self):
        """Bytes outside of pixels are unchanged, and samples without a channel are 255."""
        x = [i for i, c in enumerate(PACKED[self.pixels]) if c == "x"]
        good = (self.samples()[:, :, x] == 255).all()
        for plane in self.planes:
            plane[...] = FILLER
        return good and (self.memory == FILLER).all()


class Frames(TestCase):
    # The first width is smaller than any vector.
    SIZES = [(5, 3), (33, 7), (34, 4), (1, 1), (17, 2), (48, 3)]
    # Results, and the bytes that are stored: rounded to even and saturated, NaN as 0.
    VALUES = {0.5: 0, 1.5: 2, 2.5: 2, -0.5: 0, 254.5: 254, 255.5: 255, 300: 255, -300: 0, 127: 127,
              128.5: 128, 20000: 255, -20000: 0, 0.49999997: 0, np.nan: 0, np.inf: 255, 40000: 255,
              1e30: 255, -1e30: 0, -np.inf: 0, -40000: 0, 32768: 255}

    def solve(self, kernel, a, d, seed, **fields):
        """Runs a batch of frames and checks the results. a and d: the arguments of Frame; or d: the
        number of columns of D. Returns the arguments of run_frames()."""
        rng, made = np.random.default_rng(seed), None
        frames = [Frame(rng, rows=(seed + i) % 3, **a) for i in range(BATCH)]
        if isinstance(d, dict):
            made = [Frame(rng, rows=(seed + i + 1) % 3, **d) for i in range(BATCH)]
        m, k = frames[0].a()[0].shape
        n = made[0].channels().shape[2] if made else d
        gemm = describe(m, n, k, batch=BATCH, bias=True, ldd=n + 1, a_frame=frames[0].frame,
                        **({"d_frame": made[0].frame} if made else {}), **fields)
        b = rng.uniform(-1, 1, (k, n)).astype("f4")
        bias = rng.uniform(-40, 90, n).astype("f4")
        plan = Plan(gemm, kernel, b=b, bias=bias)
        self.run_frames(plan, frames, made, b, bias)
        return plan, frames, made, b, bias

    def run_frames(self, plan, frames, made, b, bias):
        gemm = plan.gemm
        before = [frame.channels().astype(float) for frame in made] if gemm.beta else None
        floats = np.zeros((BATCH, gemm.m, gemm.ldd), "f4")
        plan.run(beta=gemm.beta, a=(Data * BATCH)(*map(Frame.describe, frames)),
                 d=(Data * BATCH)(*map(Frame.describe, made)) if made else list(floats),
                 progressive=frames[0].progressive)
        for i, frame in enumerate(frames):
            a, off, inside = frame.a()
            scaled, shift = a * f32(gemm.a_scale), f32(gemm.a_shift)
            off = off * abs(gemm.a_scale) + 2.0**-23 * (np.abs(scaled) + abs(shift)) * bool(shift)
            c = before[i].reshape(gemm.m, gemm.n) if before else 0.0
            expected, bound = solve((scaled + shift) * inside, off * inside, b, c=c, bias=bias,
                                    beta=gemm.beta, normalize=["input"] * gemm.normalize)
            found = made[i].channels().reshape(gemm.m, gemm.n) if made else floats[i][:, :gemm.n]
            self.assertIsNone(compare(found, expected, bound),
                              (plan.kernel, frame.pixels, frame.mode, frame.width, i))
        if made and not gemm.beta:
            self.assertTrue(all(frame.rest_is_good() for frame in made))

    def check_format(self, number, pixels):
        is_chroma = pixels in CHROMA
        outputs = [name for name in PACKED if count_channels(name) == count_channels(pixels)]
        for s, size in enumerate(self.SIZES):
            if not is_chroma and s not in (1, number % len(self.SIZES)):
                continue
            a = {"pixels": pixels, "size": size}
            d = {"pixels": outputs[(s + number) % len(outputs)], "size": size}
            for row, kernel in enumerate(FRAME_KERNELS):
                if is_chroma and row > 0 and s > 1 and row % 2 == s % 2:
                    continue
                if row == 0 or s == 1:
                    self.solve(kernel, a, 2, number + s)
                if row > 0:
                    self.solve(kernel, a, d, number + s + 1)

    def test_formats(self):
        for number, pixels in enumerate(FORMATS):
            with self.subTest(pixels):
                self.check_format(number, pixels)

    def test_cut(self):
        """Interlaced frames, also progressive ones, and ones that begin within a chroma sample."""
        sizes = [(33, 9), (18, 6), (35, 7), (16, 2), (1, 1)]
        cuts = [(False, 1, 0), (False, 0, 1), (True, 0, 0), (True, 1, 3), (True, 0, 1),
                (True, 1, 2)]
        for number, pixels in enumerate(CHROMA):
            for i, cut in enumerate(cuts):
                a = {"pixels": pixels, "size": sizes[(i + number) % len(sizes)], "cut": cut}
                kernel = FRAME_KERNELS[(i + number) % len(FRAME_KERNELS)]
                for progressive in (False, True)[:1 + cut[0]]:
                    with self.subTest(**a, progressive=progressive):
                        self.solve(kernel, {**a, "progressive": progressive}, 2, number + i)

    def check_features(self, i, kernel=None, **frame):
        """A scale and shift of A in the i-th mode: pixel, row, frame, patches; A is normalized if i
        is odd. Without a kernel the rules choose. Other fields are ignored."""
        mode = min(i % (3 + len(PATCHES)), 3)
        patch = PATCHES[i % (3 + len(PATCHES)) - 3] if mode == 3 else (0,) * 5
        self.solve(kernel, {"mode": MODES[mode], "patch": patch, **frame}, 5, i, a_scale=1 / 255,
                   a_shift=-0.5, normalize=i % 2, trans_a=True, lda=1, a_stride=3)

    def test_features(self):
        modes = 3 + len(PATCHES)
        for f, pixels in enumerate(("RGB", "GRAY16_LE", "NV12", "xBGR", "P010_10LE")):
            for i in range(modes):
                self.check_features(f * modes + i, pixels=pixels, size=(19, 11), full=f % 2 == 0)

    def test_methods(self):
        """The first kernel of each f32 method with subgroups."""
        for method in b"L3_SIMD", b"block_read", b"buffer_read":
            kernel = next(kernel.name for kernel in KERNELS if kernel.method == method)
            with self.subTest(kernel=kernel):
                if is_miscompiled(kernel.decode()):
                    self.skipTest(MISCOMPILED)
                self.check_features(0, kernel, pixels="RGB", size=(19, 11))

    def test_tensors(self):
        """Each type in one of the modes in turn, and f32 in all modes."""
        for i, kind in enumerate([*DTYPES, *["f32"] * (3 + len(PATCHES))]):
            self.check_features(i, pixels=None, size=(12, 10), channels=3 + i % 4, kind=kind)

    def test_previous(self):
        """C is the previous content of D, as for temporal smoothing."""
        frame = {"pixels": "RGBx", "size": (33, 5)}
        again = self.solve(None, frame, frame, 1, addend="output", beta=0.5)
        self.run_frames(*again)
        self.assertTrue(all(each.rest_is_good() for each in again[2]))

    def test_rounding(self):
        """The rounding of results to bytes, with floats in A."""
        a, expected = (np.array([list(each)]) for each in (self.VALUES, self.VALUES.values()))
        a, found = a.astype("f4"), np.zeros(a.shape, "u1")
        gemm = describe(a.size, 1, 1, d_frame=make_frame(a.size, 1, "GRAY8"))
        for kernel in KERNELS:
            if not find_misfit(kernel.name, gemm):
                Plan(gemm, kernel.name, b=[1]).run(a=a, d=found)
                np.testing.assert_array_equal(found, expected)

    def test_saturation(self):
        """Bytes in A, and several channels: vectors of 16 pixels take another way if all results
        are small. A product of bytes, or a bias, makes the results."""
        size = 17, 1  # a vector, and a pixel behind it
        rng = np.random.default_rng(1)
        values, stored = (np.array(list(each)) for each in (self.VALUES, self.VALUES.values()))
        for pixels in "RGB", "RGBx", "RGBA":
            for kernel in FRAME_KERNELS[1:]:
                a, d = Frame(rng, "GRAY8", size), Frame(rng, pixels, size)
                a.planes[0][...] = 128
                n = d.channels().shape[2]
                plan = Plan(describe(17, n, 1, bias=True, a_frame=a.frame, d_frame=d.frame), kernel)
                for first in range(len(values)):
                    at = np.arange(first, first + n) % len(values)
                    for b, bias in (values[at] / 128, 0 * at), (0 * at, values[at]):
                        plan.set("b", b)
                        plan.set("bias", bias)
                        plan.run(a=a.planes[0], d=d.planes[0])
                        np.testing.assert_array_equal(d.channels()[0],
                                                      np.broadcast_to(stored[at], (17, n)))

    def test_refused(self):
        self.refuses("kernel", "write frames", "plan_new", get_context(),
                     byref(describe(16, 1, 1, d_frame=make_frame(4, 4, "GRAY8"))), "gemm_naive")


main()
