# SPDX-License-Identifier: LGPL-2.1-or-later
"""The outputs of the element compared with NumPy, in each format, mode and property, by bounds that
are a few times those of numpy_gemm.py. Inputs are pseudo-random, and the same in each run."""

import re
from pathlib import Path
from types import SimpleNamespace

from medium import INTERLACED, Medium
from numpy_gemm import ROUNDOFFS, compare, f32, features, solve
from stream import Gst, GstVideo, TestCase, audio, literal, main, np, tensors, video

SEED = 20240301
SLACK = 4  # for errors of colours, lists, offsets and previous outputs, which solve() lacks


def case(caps, n, out="other/tensors,format=static", *, weight="npy", bias=0.0, addend=0,
         spread=(-0.4, 0.9), count=2, samples=(500,), wider=0, **settings):
    """A stream: the caps of both pads, N, and settings of the element. Tuples are lists.

    weight: its form: literal, npy, or torch: PyTorch's [out, in, kh, kw], converted by the line of
    docs/element.md; spread: the range of its elements; bias: its largest element; addend: its rows
    count: number of buffers; samples: of each audio buffer
    wider: bytes between the rows of frames"""
    return SimpleNamespace(**locals())


def convolution(caps, n, out="other/tensors", **settings):
    return case(caps, n, out, weight="torch", feature_mode="patch", **settings)


def sound(sample, channels, n, **settings):
    return case(audio(sample, channels) + ",channel-mask=(bitmask)0", n, "audio/x-raw", **settings)


def pixels(name):
    return f"video/x-raw,format={name}"


def floats(kind):
    return f"other/tensors,types=(string){kind}"


LEVELS = {"input_scale": 1 / 255, "spread": (-1, 1)}  # activations are flat far from 0
BYTES = {"count": 4, "precision": "i8"}
PATCH = {"patch_width": 3, "patch_height": 2}

CASES = [
    case(video("GRAY8", 17, 9), 1, pixels("GRAY8"), weight="literal", bias=20),
    case(video("GRAY16_LE", 11, 6), 1, pixels("GRAY16_LE"), bias=5000, spread=(1.1, 1.3)),
    case(video("RGB", 13, 7), 3, pixels("RGB")), case(video("BGR", 10, 5), 3, pixels("BGR")),
    case(video("RGBA", 9, 7), 4, pixels("RGBA"), weight="literal", transpose_weight=True),
    case(video("BGRA", 6, 9), 4, pixels("BGRA")), case(video("RGBx", 9, 6), 3, pixels("RGBx")),
    case(video("BGRx", 7, 5), 4, pixels("BGRA")),
    case(video("xRGB", 5, 8), 3, pixels("xBGR"), bias=10, transpose_weight=True),
    case(video("xBGR", 12, 3), 3, pixels("xRGB"), alpha=1.5),
    case(video("RGB", 15, 6), 3, pixels("BGRx"), alpha=-0.8, bias=200),
    case(video("RGB", 13, 8), 1, pixels("GRAY8"), weight="literal", spread=(0.1, 0.5)),
    case(video("GRAY8", 7, 7), 3, pixels("RGB"), feature_mode="pixel"),
    case(video("RGBA", 11, 4), 1, pixels("GRAY16_LE"), input_scale=257, spread=(0, 0.4)),
    # Luma and chroma: two matrices, two ranges, odd sizes.
    case(video("NV12", 13, 7) + ",colorimetry=bt601", 3, pixels("RGB")),
    case(video("NV12", 8, 6) + ",colorimetry=1:3:5:1", 3, pixels("BGR")),
    case(video("I420", 15, 9) + ",colorimetry=bt709", 3, pixels("RGBx"), bias=-7),
    case(video("I420", 9, 10) + ",colorimetry=1:4:0:0", 4, pixels("RGBA")),
    # Interlaced frames. In a mixed stream each other frame is progressive, also within a batch.
    case(video("NV12", 34, 8) + ",colorimetry=bt601,interlace-mode=interleaved", 3, pixels("RGB")),
    case(video("I420", 9, 10) + ",colorimetry=bt709,interlace-mode=interleaved", 3, pixels("BGR")),
    case(video("NV12", 35, 7) + ",colorimetry=bt709,interlace-mode=mixed", 3, pixels("RGB"),
         count=6, batch_size=4),
    case(video("I420", 6, 5) + ",colorimetry=bt601,interlace-mode=mixed", 4, count=4),
    convolution(video("NV12", 13, 10) + ",colorimetry=bt601,interlace-mode=mixed", 7, **PATCH,
                patch_stride=1, patch_padding=1, count=3, **LEVELS),
    case(video("RGB", 9, 5), 5),
    case(video("RGB", 11, 6), 7, feature_mode="row", bias=3, activation="relu", **LEVELS),
    case(video("GRAY8", 13, 9), 10, feature_mode="frame", bias=1, transpose_weight=True,
         activation="softmax", **LEVELS),
    case(video("BGRx", 13, 10), 8, feature_mode="patch", patch_width=4, patch_height=3),
    # Convolutions: overlaps, gaps, padding, dilation.
    convolution(video("RGB", 13, 10), 8, patch_width=3, patch_height=3, patch_stride=1,
                patch_padding=1, bias=1, activation="relu", **LEVELS),
    convolution(video("NV12", 13, 10) + ",colorimetry=bt601", 7, **PATCH, patch_stride=2,
                patch_padding=2, patch_dilation=2, input_offset=-0.5, **LEVELS),
    convolution(video("BGRA", 9, 11), 5, patch_width=2, patch_height=3, patch_stride=4,
                patch_dilation=3, count=4, batch_size=2, **LEVELS),
    # A scale and an offset for each channel, or for each column of A.
    case(video("RGB", 13, 7), 3, pixels("RGB"), input_scale=(0.5, 1.25, -0.75),
         input_offset=(40.0, -7.5, 90.0), bias=10),
    convolution(video("xBGR", 12, 9), 20, patch_width=4, patch_height=3,
                input_scale=(0.017125, 0.017507, 0.017429), input_offset=(-2.118, -2.036, -1.804),
                activation="gelu", bias=1, spread=(-1, 1)),
    case(video("GRAY8", 5, 6), 4, feature_mode="row", input_offset=(1.0, -2.0, 3.0, 0.0, 0.5),
         transpose_weight=True, count=4, batch_size=2, **LEVELS),
    sound("S16LE", 2, 2, input_scale=(0.5, 2.0), alpha=0.75),
    case(tensors("5:6"), 7, input_scale=(1.0, -2.0, 0.0, 4.0, 0.1), activation="softmax", count=4,
         input_offset=(0.0, 1.0, 0.0, -1.0, 2.0), transpose_weight=True, spread=(-1, 1)),
    case(video("RGB", 10, 6), 3, pixels("RGB"), count=4, alpha=0.6, beta=0.5),
    case(video("RGBA", 7, 6), 4, pixels("RGBA"), addend=42, beta=2, alpha=0.5),
    case(video("BGR", 8, 7), 3, pixels("BGR"), addend=1, beta=-1, count=3, batch_size=3, bias=30),
    case(video("RGB", 6, 7), 6, activation="sigmoid", input_offset=-0.25, **LEVELS),
    case(video("xRGB", 6, 5), 3, pixels("xRGB"), activation="leaky-relu", spread=(-1, 0.6)),
    case(video("RGB", 7, 5), 3, pixels("RGB"), wider=13),
    case(video("NV12", 10, 6) + ",colorimetry=bt601", 3, pixels("RGB"), wider=6, count=3,
         batch_size=2),
    case(video("RGBA", 6, 6), 4, pixels("RGBA"), alpha=0, bias=300),
    # Audio: formats, numbers of channels, saturation, the previous output.
    sound("F32LE", 2, 1, weight="literal"), sound("F32LE", 3, 5, activation="tanh", spread=(-2, 2)),
    sound("F32LE", 2, 2, samples=(100, 100, 100, 70), alpha=0.5, beta=0.5),
    sound("F64LE", 2, 3, activation="gelu", input_scale=3, input_offset=-0.2, spread=(-1, 1)),
    sound("S16LE", 1, 1, weight="literal", spread=(1.5, 1.6)),
    sound("S16LE", 8, 8, transpose_weight=True), sound("S16LE", 2, 6, bias=9000),
    sound("S16LE", 2, 2, samples=(128,) * 4 + (78,), beta=0.75, alpha=0.25),
    sound("S16LE", 2, 4, input_scale=0.5, input_offset=1000, samples=(96,) * 5, batch_size=2),
    sound("S32LE", 2, 2), sound("S32LE", 2, 3, alpha=3, bias=-4e8),
    case(tensors("7:5"), 3, weight="literal"),
    case(tensors("64:3:2:2"), 10, transpose_weight=True, activation="gelu-tanh", spread=(-1, 1)),
    case(tensors("5"), 1), case(tensors("9:4:1:1"), 65, activation="silu", spread=(-2, 2)),
    case(tensors("16:8"), 4, count=5, batch_size=2),
    case(tensors("16:8"), 4, count=4, beta=0.5, activation="hard-swish", spread=(-2, 2)),
    case(tensors("16:8"), 4, activation="relu6", spread=(-2, 3)),
    case(tensors("16:8"), 4, activation="elu", spread=(-2, 2)),
    case(tensors("10:6"), 6, addend=6, beta=0.3, bias=2, count=3, batch_size=3),
    case(tensors("11:6", "float16"), 4), case(tensors("8:9", "float64"), 6),
    case(tensors("24:5", "int8"), 7, input_scale=1 / 128, spread=(-127, 127)),
    case(tensors("27:4", "uint8"), 5, input_scale=1 / 255, input_offset=-0.5),
    case(tensors("13:3", "int16"), 9), case(tensors("6:10", "uint16"), 3, alpha=-0.1),
    case(tensors("17:2", "int32"), 4, transpose_weight=True),
    case(tensors("3:11", "uint32"), 2, bias=1e9), case(tensors("5:5", "int64"), 5),
    case(tensors("4:6", "uint64"), 3),
    # Tensors of channels:width:height: convolutions, and the other feature modes.
    convolution(tensors("6:9:7"), 8, **PATCH, patch_stride=2, patch_padding=1, patch_dilation=2,
                bias=1, activation="relu", spread=(-1, 1)),
    convolution(tensors("5:8:6", "float16"), 4, patch_width=3, patch_height=3, patch_stride=1,
                patch_padding=1, count=5, batch_size=2),
    convolution(tensors("3:10:9:1", "uint8"), 70, patch_width=4, patch_height=3, patch_padding=2,
                input_scale=(0.5, -0.25, 0.125), spread=(-1, 1)),
    case(tensors("4:7:5", "int8"), 6, feature_mode="patch", patch_width=2, patch_height=5,
         patch_stride=3, input_scale=1 / 128, input_offset=0.25, patch_padding=1,
         transpose_weight=True, normalize="input"),
    case(tensors("3:5:4", "int16"), 7, feature_mode="row", input_scale=1 / 32768),
    case(tensors("7:6"), 5, feature_mode="frame", activation="softmax", spread=(-1, 1)),
    case(tensors("64:5"), 30, normalize="input", transpose_weight=True),
    case(tensors("33:4", "uint8"), 7, normalize="input+output", input_offset=-100, bias=1, count=4,
         batch_size=3),
    case(video("RGB", 9, 5), 3, normalize="output", activation="softmax", **LEVELS),
    sound("F32LE", 6, 2, normalize="output", samples=(100,) * 3, beta=0.5),
    # Types of output tensors, selected by downstream or by the property, and their scale.
    case(tensors("33:5"), 7, floats("float16"), bias=1),
    case(tensors("12:5"), 9, floats("int8"), spread=(-20, 20)),
    case(tensors("20:6"), 33, output_type="u8", output_scale=1 / 256, activation="softmax",
         spread=(-1, 1)),
    case(tensors("20:6"), 300, floats("int8"), output_scale=1 / 127, normalize="output",
         transpose_weight=True, count=4, batch_size=2),
    case(tensors("24:5", "int8"), 7, floats("uint8"), output_scale=0.25, output_offset=-20,
         count=4, beta=0.5, input_scale=1 / 16, spread=(-1, 1)),
    case(video("RGB", 9, 5), 8, floats("int8"), output_scale=2, output_offset=40,
         spread=(-0.2, 0.3)),
    # Precisions. N is large, because int8 is slower for a small N.
    case(tensors("31:5"), 66, precision="tf32"),
    case(tensors("50:7"), 130, activation="gelu", bias=1, batch_size=3, **BYTES),
    case(tensors("40:6"), 64, normalize="input", spread=(-1, 1), **BYTES),
    case(tensors("64:5", "uint8"), 64, input_scale=1 / 255, input_offset=-0.5, **BYTES),
    sound("F32LE", 8, 50, samples=(100,) * 3, precision="i8"),
]


def draw(medium, rng, samples):
    """Returns a buffer of all integers of the type, or of floats around 0, with a frame's meta."""
    if medium.name == "video":
        buffer, info = Gst.Buffer.new_wrapped(rng.bytes(medium.info.size)), medium.info
        GstVideo.buffer_add_video_meta_full(buffer, 0, info.finfo.format, info.width, info.height,
                                            info.finfo.n_planes, info.offset, info.stride)
        return buffer
    count = abs(np.prod(medium.shape)) * samples
    return Gst.Buffer.new_wrapped(
        rng.uniform(-1, 1, count).astype(medium.type).tobytes() if medium.type.kind == "f" else
        rng.bytes(count * medium.type.itemsize))


def convolve(image, weight, stride, padding, dilation):
    """Returns the convolution of rows x columns x channels with [out, in, height, width], by
    PyTorch's conv2d, with a row for each place of the patch, row by row."""
    image = np.pad(image, [(padding, padding)] * 2 + [(0, 0)])
    steps = [stride or length for length in weight.shape[2:]]
    patches = [[image[y + dilation * i, x + dilation * j] for i, j in np.ndindex(weight.shape[2:])]
               for y in range(0, image.shape[0] - dilation * (weight.shape[2] - 1), steps[0])
               for x in range(0, image.shape[1] - dilation * (weight.shape[3] - 1), steps[1])]
    return np.einsum("mpi,oip->mo", patches, weight.reshape(*weight.shape[:2], -1))


def write(value):
    if isinstance(value, tuple):
        return f"<{','.join(map(repr, value))}>"
    return str(value).lower() if isinstance(value, bool) else str(value)


class Run:
    def __init__(self, test, seed, one):
        self.test, self.case, self.rng = test, one, np.random.default_rng([SEED, seed])
        self.medium = Medium(Gst.Caps.from_string(one.caps), one.wider)
        self.data = [draw(self.medium, self.rng, samples) for samples in (
            one.samples if self.medium.name == "audio" else [1] * one.count)]
        if "mixed" in one.caps:
            for data in self.data[1::2]:
                data.set_flags(INTERLACED)
        get = one.settings.get
        self.where = ([get("patch_width", 0), get("patch_height", 0)], get("patch_stride", 0),
                      get("patch_padding", 0), get("patch_dilation", 1))
        self.properties, self.operands = {}, {}
        k = self.get_a(self.data[0]).shape[1]
        self.draw_weight(self.rng.uniform(*one.spread, (k, one.n)).astype("f4"))
        if one.bias:
            self.save("bias", self.rng.uniform(0.5, 1, one.n) * one.bias)
        if one.addend:
            self.save("addend", self.rng.uniform(-20, 20, (one.addend, one.n)))

    def save(self, name, values):
        self.properties[name] = f"{self.test.folder}/{name}.npy"
        self.operands[name] = values = values.astype("f4")
        np.save(self.properties[name], values)

    def draw_weight(self, b):
        is_transposed = self.case.settings.get("transpose_weight")
        if self.case.weight == "torch":
            b = self.convolve(b)
        self.save("weight", b.T if is_transposed else b)
        if self.case.weight == "literal":
            self.properties["weight"] = literal(self.operands["weight"])
        self.operands["weight"] = b

    def convolve(self, b):
        """Returns the weight that docs/element.md makes of a convolution's, after a check."""
        docs = (Path(__file__).parents[2] / "docs" / "element.md").read_text(encoding="utf-8")
        line = re.search(r"^b = .*", docs, re.M).group()
        size, *where = self.where
        names = {"w": b.reshape(b.shape[1], -1, size[1], size[0])}
        exec(line, names)  # pylint: disable=exec-used
        image = self.medium.decode(self.data[0])
        np.testing.assert_allclose(features(image, "patch", *self.where) @ names["b"].astype(float),
                                   convolve(image, names["w"].astype(float), *where))
        return names["b"]

    def get_a(self, data):
        """Returns A of a buffer. Single numbers scale a frame, lists its rows of features."""
        get, values = self.case.settings.get, self.medium.decode(data)
        mode = get("feature_mode", "pixel")
        scale, offset = get("input_scale", 1.0), get("input_offset", 0.0)
        if not isinstance(scale, tuple) and not isinstance(offset, tuple):
            return features(values * f32(scale) + f32(offset), mode, *self.where)
        a = features(values, mode, *self.where)
        return a * np.resize(scale, a.shape[1]) + np.resize(offset, a.shape[1])

    def describe(self):
        words = {**self.properties, **self.case.settings}
        return " ".join(["gemmcl", *(f"{name.replace('_', '-')}={write(value)}"
                                     for name, value in words.items())])

    def check(self, outputs, medium):
        settings, operands = self.case.settings, self.operands
        previous = None
        for data, output in zip(self.data, outputs):
            found = medium.decode(output).reshape(-1, self.case.n).astype(medium.type)
            c = operands.get("addend", 0.0 if previous is None or len(previous) != len(found)
                             else previous)
            a = self.get_a(data)
            d, bound = solve(a, 0 * a, operands["weight"].astype(float), c=c,
                             bias=operands.get("bias", 0.0),
                             **{name: settings[name] for name in settings if name in (
                                 "alpha", "beta", "activation", "normalize", "precision")})
            # The element keeps the previous output in float32, before its conversion.
            previous = f32(found) if medium.type.itemsize >= 4 and medium.type.kind == "f" else d
            scale = settings.get("output_scale", 1)
            d, bound = (d - settings.get("output_offset", 0)) / scale, bound * SLACK / scale
            if medium.type == np.float16:
                bound += ROUNDOFFS["f16"] * abs(d)
            if wrong := compare(found, d, bound):
                return wrong
        return None


class Values(TestCase):
    def test_cases(self):
        for seed, one in enumerate(CASES):
            with self.subTest(**vars(one)):
                run = Run(self, seed, one)
                stream = self.start(one.caps, run.describe(), one.out)
                found = self.run_all(stream, run.data)
                self.assertIsNone(run.check(found, Medium(stream.sink.get_current_caps())))
                stream.stop()


main()
