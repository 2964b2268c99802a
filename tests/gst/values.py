#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Values of the element compared with NumPy's: every format, mode, property, precision and type.

Noise goes in, always the same. D must be within the bound of numpy_gemm.py, which leaves integers
of up to 16 bits one value nearly everywhere.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from numpy_gemm import UNIT_ROUNDOFF, compare, f32, solve
from numpy_media import Audio, Floats, Maps, Pixels, Samples, Tensors, Video
from stream import OK, Gst, GstVideo, TestCase, main, np

SEED = 20240301
STATING = {"safetensors BF16": "bf16", "safetensors F16": "f16", "safetensors I8": "i8"}


@dataclass
class Case:
    """What is asked of the element, and what takes in what comes out.
    weight says how it is given: literal, npy, or safetensors and a type; torch: as PyTorch's
    [out, in, kh, kw], by the line of docs/element.md. tests/lib/matrix.py has other files.
    addend is "", "row" or "matrix"; spread is the range of the weight's elements. precision is what
    is asked for; with a file that states it, it is not, and the element is to find it. The kernel
    may compute in f32 then, too. scale and offset are numbers, or tuples of one for each channel or
    for each column of A."""

    medium: object
    n: int
    out: object
    weight: str = "npy"
    transpose: bool = False
    bias: float = 0.0
    addend: str = ""
    alpha: float = 1.0
    beta: float = 0.0
    activation: str = "none"
    normalize: str = ""
    scale: object = 1.0
    offset: object = 0.0
    batch: int = 1
    spread: tuple = (-0.4, 0.9)
    precision: str = "f32"
    out_type: str = "auto"
    out_scale: float = 1.0
    out_offset: float = 0.0


def video(pixels, size, n, out=None, **rest):
    """A case of video: out names a format, or is Floats."""
    own = {name: rest.pop(name) for name in list(rest) if name in Video.__dataclass_fields__}
    sink = Pixels(out, size) if isinstance(out, str) else out
    return Case(Video(pixels, size, **own), n, sink, **rest)


def audio(sample, channels, n, **rest):
    own = {name: rest.pop(name) for name in list(rest) if name in Audio.__dataclass_fields__}
    return Case(Audio(sample, channels, **own), n, Samples(sample), **rest)


def tensors(kind, dims, n, **rest):
    medium = Maps if {"mode", "patch"} & set(rest) else Tensors
    own = {name: rest.pop(name) for name in list(rest) if name in medium.__dataclass_fields__}
    return Case(medium(kind, dims, **own), n, rest.pop("out", Floats()), **rest)


IMAGENET = (0.017125, 0.017507, 0.017429)  # as models of photographs scale R, G and B
LEVELS = {"scale": 1 / 255, "spread": (-1, 1)}  # for activations, which are dull far from 0

CASES = [
    # Every format that comes in, and every one that goes out.
    video("GRAY8", (17, 9), 1, "GRAY8", weight="literal", bias=20),
    video("GRAY16_LE", (11, 6), 1, "GRAY16_LE", bias=5000, spread=(1.1, 1.3)),
    video("RGB", (13, 7), 3, "RGB"),
    video("BGR", (10, 5), 3, "BGR"),
    video("RGBA", (9, 7), 4, "RGBA", weight="literal", transpose=True),
    video("BGRA", (6, 9), 4, "BGRA"),
    video("RGBx", (9, 6), 3, "RGBx", weight="safetensors F16"),
    video("BGRx", (7, 5), 4, "BGRA"),
    video("xRGB", (5, 8), 3, "xBGR", bias=10, transpose=True),
    video("xBGR", (12, 3), 3, "xRGB", alpha=1.5),
    video("RGB", (15, 6), 3, "BGRx", alpha=-0.8, bias=200),
    video("RGB", (13, 8), 1, "GRAY8", weight="literal", spread=(0.1, 0.5)),
    video("GRAY8", (7, 7), 3, "RGB"),
    video("RGBA", (11, 4), 1, "GRAY16_LE", scale=257, spread=(0, 0.4)),
    # Luma and chroma: two matrices, two ranges, odd sizes.
    video("NV12", (13, 7), 3, "RGB", colorimetry="bt601"),
    video("NV12", (8, 6), 3, "BGR", colorimetry="1:3:5:1"),
    video("I420", (15, 9), 3, "RGBx", colorimetry="bt709", bias=-7),
    video("I420", (9, 10), 4, "RGBA", colorimetry="1:4:0:0"),
    # Features, and tensors that come out.
    video("RGB", (9, 5), 5, Floats(), weight="safetensors F16"),
    video("RGB", (11, 6), 7, Floats(), mode="row", bias=3, activation="relu", **LEVELS),
    video("GRAY8", (13, 9), 10, Floats(), mode="frame", bias=1, transpose=True,
          activation="softmax", **LEVELS),
    video("BGRx", (13, 10), 8, Floats(), mode="patch", patch=(4, 3), weight="safetensors BF16"),
    # Convolutions: overlaps, gaps, padding, dilation.
    video("RGB", (13, 10), 8, Floats(), mode="patch", patch=(3, 3), stride=1, padding=1, bias=1,
          weight="torch", activation="relu", **LEVELS),
    video("NV12", (13, 10), 7, Floats(), mode="patch", patch=(3, 2), stride=2, padding=2,
          dilation=2, offset=-0.5, weight="torch", colorimetry="bt601", **LEVELS),
    video("BGRA", (9, 11), 5, Floats(), mode="patch", patch=(2, 3), stride=4, dilation=3,
          weight="torch", frames=4, batch=2, **LEVELS),
    # A scale and an offset for each channel, or for each column of A.
    video("RGB", (13, 7), 3, "RGB", scale=(0.5, 1.25, -0.75), offset=(40.0, -7.5, 90.0), bias=10),
    video("xBGR", (12, 9), 20, Floats(), mode="patch", patch=(4, 3), weight="torch", scale=IMAGENET,
          offset=(-2.118, -2.036, -1.804), activation="gelu", bias=1, spread=(-1, 1)),
    video("GRAY8", (5, 6), 4, Floats(), mode="row", offset=(1.0, -2.0, 3.0, 0.0, 0.5),
          transpose=True, frames=4, batch=2, **LEVELS),
    audio("S16LE", 2, 2, scale=(0.5, 2.0), alpha=0.75),
    tensors("float32", "5:6", 7, scale=(1.0, -2.0, 0.0, 4.0, 0.1),
            offset=(0.0, 1.0, 0.0, -1.0, 2.0), transpose=True, activation="softmax", count=4,
            spread=(-1, 1)),
    # C, activations, batches, strides.
    video("RGB", (10, 6), 3, "RGB", frames=4, alpha=0.6, beta=0.5),
    video("RGBA", (7, 6), 4, "RGBA", addend="matrix", beta=2, alpha=0.5),
    video("BGR", (8, 7), 3, "BGR", addend="row", beta=-1, frames=3, batch=3, bias=30),
    video("RGB", (6, 7), 6, Floats(), activation="sigmoid", offset=-0.25, **LEVELS),
    video("xRGB", (6, 5), 3, "xRGB", activation="leaky-relu", spread=(-1, 0.6)),
    video("RGB", (7, 5), 3, "RGB", wider=13),
    video("NV12", (10, 6), 3, "RGB", wider=6, colorimetry="bt601", frames=3, batch=2),
    video("RGBA", (6, 6), 4, "RGBA", alpha=0, bias=300),
    # Audio: formats, numbers of channels, saturation, the previous output.
    audio("F32LE", 2, 1, weight="literal"),
    audio("F32LE", 3, 5, activation="tanh", spread=(-2, 2)),
    audio("F32LE", 2, 2, samples=(100, 100, 100, 70), alpha=0.5, beta=0.5),
    audio("F64LE", 2, 2),
    audio("F64LE", 2, 3, activation="gelu", scale=3, offset=-0.2, spread=(-1, 1)),
    audio("S16LE", 1, 1, weight="literal", spread=(1.5, 1.6)),
    audio("S16LE", 8, 8, transpose=True),
    audio("S16LE", 2, 6, bias=9000),
    audio("S16LE", 2, 2, samples=(128,) * 4 + (78,), beta=0.75, alpha=0.25),
    audio("S16LE", 2, 4, scale=0.5, offset=1000, samples=(96,) * 5, batch=2),
    audio("S32LE", 2, 2),
    audio("S32LE", 2, 3, alpha=3, bias=-4e8),
    # Tensors: types, ranks, batches.
    tensors("float32", "7:5", 3, weight="literal"),
    tensors("float32", "64:3:2:2", 10, transpose=True, activation="gelu-tanh", spread=(-1, 1)),
    tensors("float32", "5", 1),
    tensors("float32", "9:4:1:1", 65, activation="silu", spread=(-2, 2)),
    tensors("float32", "16:8", 4, count=5, batch=2),
    tensors("float32", "16:8", 4, count=4, beta=0.5, activation="hard-swish", spread=(-2, 2)),
    tensors("float32", "10:6", 6, addend="matrix", beta=0.3, bias=2, count=3, batch=3),
    tensors("float16", "11:6", 4, weight="safetensors F16"),
    tensors("float64", "8:9", 6),
    tensors("int8", "24:5", 7, scale=1 / 128, spread=(-127, 127)),
    tensors("uint8", "27:4", 5, scale=1 / 255, offset=-0.5),
    tensors("int16", "13:3", 9),
    tensors("uint16", "6:10", 3, alpha=-0.1),
    tensors("int32", "17:2", 4, transpose=True),
    tensors("uint32", "3:11", 2, bias=1e9),
    tensors("int64", "5:5", 5),
    tensors("uint64", "4:6", 3),
    # Tensors of channels:width:height: convolutions, and the other parts that are a row of A.
    tensors("float32", "6:9:7", 8, patch=(3, 2), stride=2, padding=1, dilation=2, weight="torch",
            bias=1, activation="relu", spread=(-1, 1)),
    tensors("float16", "5:8:6", 4, patch=(3, 3), stride=1, padding=1, weight="torch", count=5,
            batch=2),
    tensors("uint8", "3:10:9:1", 70, patch=(4, 3), padding=2, scale=(0.5, -0.25, 0.125),
            weight="torch", spread=(-1, 1)),
    tensors("int8", "4:7:5", 6, patch=(2, 5), stride=3, scale=1 / 128, offset=0.25, padding=1,
            transpose=True, normalize="input"),
    tensors("int16", "3:5:4", 7, mode="row", scale=1 / 32768),
    tensors("float32", "7:6", 5, mode="frame", activation="softmax", spread=(-1, 1)),
    # Rows over their norms, also of a precision whose numbers are not to exceed 65504.
    tensors("float32", "64:5", 30, normalize="input", transpose=True),
    tensors("uint8", "33:4", 7, normalize="input+output", offset=-100, bias=1, count=4, batch=3),
    tensors("int32", "48:6", 9, normalize="input", weight="safetensors F16"),
    tensors("float32", "40:6", 64, normalize="input", precision="i8", spread=(-1, 1)),
    video("RGB", (9, 5), 3, Floats(), normalize="output", activation="softmax", **LEVELS),
    audio("F32LE", 6, 2, normalize="output", samples=(100,) * 3, beta=0.5),
    # Types of tensors, asked for by downstream or by the property, and their scale.
    tensors("float32", "33:5", 7, out=Floats(type="float16"), bias=1),
    tensors("float32", "12:5", 9, out=Floats(type="int8"), spread=(-20, 20)),
    tensors("float32", "20:6", 33, out=Floats(type="uint8"), out_type="u8", out_scale=1 / 256,
            activation="softmax", spread=(-1, 1)),
    tensors("float32", "20:6", 300, out=Floats(type="int8"), out_scale=1 / 127,
            normalize="output", transpose=True, count=4, batch=2),
    tensors("int8", "24:5", 7, out=Floats(type="uint8"), out_scale=0.25, out_offset=-20, count=4,
            beta=0.5, scale=1 / 16, spread=(-1, 1)),
    video("RGB", (9, 5), 8, Floats(type="int8"), out_scale=2, out_offset=40, mode="pixel",
          spread=(-0.2, 0.3)),
    # Precisions that are asked for, and that a file states. Many columns: bytes of few do not pay.
    tensors("float32", "31:5", 66, precision="tf32"),
    tensors("float32", "50:7", 130, precision="i8", activation="gelu", bias=1, count=4, batch=3),
    tensors("float32", "40:6", 64, precision="i8", weight="safetensors I8", transpose=True),
    tensors("uint8", "64:5", 64, precision="i8", scale=1 / 255, offset=-0.5),
    audio("F32LE", 8, 50, precision="i8", samples=(100,) * 3),
]


def describe(case):
    """The case's name in the results: all that is not the default."""
    words = []
    for thing in (case.medium, case):
        for name, field in thing.__dataclass_fields__.items():
            value = getattr(thing, name)
            if name not in ("medium", "out", "spread") and value != field.default:
                words.append(f"{name}={value:.6g}" if isinstance(value, float) else
                             f"{name}={value}")
    out = getattr(case.out, "pixels", type(case.out).__name__.lower())
    return f"{type(case.medium).__name__.lower()} {' '.join(words)} out={out}"


def write_safetensors(path, **tensors):
    """Writes tensors (type, array) behind one another."""
    header, data = {}, b""
    for name, (kind, array) in tensors.items():
        end = len(data) + array.nbytes
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_quantized(path, matrix, by_row=False):
    """Bytes with a scale for each column, or row. Returns what write_weight() does."""
    scales = (np.abs(matrix).max(1 if by_row else 0, keepdims=True) / 127).astype("<f4")
    stored = np.rint(matrix / scales).astype("i1")
    write_safetensors(path, **{"w.scale": ("F32", scales), "w": ("I8", stored)})
    return f"{path}#w", scales.astype(float) * stored


def write_torch(path, medium, b):
    """The same of a convolution's weight, whose numbers are those of b."""
    docs = (Path(__file__).parents[2] / "docs" / "element.md").read_text(encoding="utf-8")
    line = re.search(r"^b = .*", docs, re.M).group()
    p, q = medium.patch
    names = {"w": b.astype("f4").reshape(b.shape[1], -1, q, p)}
    exec(line, names)  # pylint: disable=exec-used
    np.save(path, names["b"])
    for buffer in medium.draw(np.random.default_rng(SEED)):
        image, _ = medium.get_frame(buffer)
        direct = medium.convolve(image, names["w"].astype(float))
        if not np.allclose(medium.features(image) @ names["b"].astype(float), direct):
            raise ValueError(f"{line} is not the convolution")
    return path, names["b"]


def write_weight(directory, how, matrix, transposed):
    """Returns the property, and the numbers that the file really holds."""
    if how == "safetensors I8":
        return write_quantized(directory / "w.safetensors", matrix, transposed)
    matrix = matrix.astype("<f4")
    if how == "literal":
        rows = ",".join("[" + ",".join(str(x) for x in row) + "]" for row in matrix)
        return f"[{rows}]", matrix
    if how == "npy":
        np.save(directory / "w.npy", matrix)
        return directory / "w.npy", matrix
    if how == "safetensors BF16":
        stored = (matrix.view("<u4") >> 16).astype("<u2")
        matrix = (stored.astype("<u4") << 16).view("<f4")
    else:
        stored = matrix = matrix.astype("<f2")
    # A tensor before the wanted one leaves it at an address that suits no type.
    write_safetensors(directory / "w.safetensors", other=("U8", np.arange(3, dtype="u1")),
                      w=(how.split()[1], stored))
    return f"{directory}/w.safetensors#w", matrix


def draw_operands(case, rng, directory, shape):
    """Writes weight, bias and addend. Returns their properties, and what solve() takes of them."""
    m, k = shape
    b = rng.uniform(*case.spread, (k, case.n))
    if case.weight == "torch":
        where, b = write_torch(directory / "w.npy", case.medium, b)
    else:
        where, b = write_weight(directory, case.weight, b.T if case.transpose else b,
                                case.transpose)
    words, values = [f"weight={where}"], {"b": f32(b.T if case.transpose else b)}
    if case.bias:
        bias = rng.uniform(0.5, 1, case.n) * case.bias
        np.save(directory / "bias.npy", bias)
        words.append(f"bias={directory}/bias.npy")
        values["bias"] = f32(bias)
    if case.addend:
        c = rng.uniform(-20, 20, (m if case.addend == "matrix" else 1, case.n)).astype("f4")
        np.save(directory / "c.npy", c)
        words.append(f"addend={directory}/c.npy")
        values["c"] = f32(c)
    return words, values


def write_list(value):
    return f"<{','.join(map(repr, value))}>" if isinstance(value, tuple) else repr(value)


def get_properties(case):
    words = [f"batch-size={case.batch}", f"activation={case.activation}",
             *case.medium.properties()]
    for name, value in [("alpha", case.alpha), ("beta", case.beta), ("input-scale", case.scale),
                        ("input-offset", case.offset)]:
        words.append(f"{name}={write_list(value)}")
    for name in ("type", "scale", "offset"):
        value = getattr(case, f"out_{name}")
        if value != getattr(Case, f"out_{name}"):
            words.append(f"output-{name}={value}")
    if case.normalize:
        words.append(f"normalize={case.normalize}")
    if case.transpose:
        words.append("transpose-weight=true")
    if case.precision != "f32" and case.weight not in STATING:
        words.append(f"precision={case.precision}")
    return words


def stored(case, dtype, value, bound):
    """Returns what is stored as D where it is a value up to bound, and the bound of that."""
    if dtype == np.float16:
        return value, bound + np.abs(value) * 2.0**-11 + 2.0**-25
    if (case.out_scale, case.out_offset) == (1, 0):
        return value, bound
    value = (value - f32(case.out_offset)) / f32(case.out_scale)
    return value, bound / f32(case.out_scale) + 8 * UNIT_ROUNDOFF * (
        np.abs(value) + abs(case.out_offset / case.out_scale))


def check(case, values, inputs, outputs):
    """Returns what is wrong with the outputs, or None."""
    operands = {name: values[name] for name in values if name != "c"}
    inside, k = case.medium.inside(), len(values["b"])
    lists = isinstance(case.scale, tuple) or isinstance(case.offset, tuple)
    # Lists are taken as float64, and as often as they are shorter than a row.
    scale, offset = (np.resize(x, k) if lists else f32(x) for x in (case.scale, case.offset))
    previous, previous_off = None, 0.0
    for number, ((a, off), found) in enumerate(zip(inputs, outputs)):
        c, c_off = values.get("c", 0.0), 0.0
        if not case.addend and previous is not None and previous.shape == found.shape:
            c, c_off = previous, previous_off
        off = off * abs(scale) + (1 - inside) * 2 * UNIT_ROUNDOFF * abs(offset)
        if lists:  # sums of what is scaled, and of the offsets
            off = off + (k + 8) * UNIT_ROUNDOFF * (abs(a * scale) + abs(offset))
        expected, bound = solve(inside * (a * scale + offset), off, c=c, c_off=c_off,
                                alpha=case.alpha, beta=case.beta, activation=case.activation,
                                normalize=case.normalize,
                                precision=STATING.get(case.weight, case.precision), **operands)
        wrong = compare(found, *stored(case, found.dtype, expected, bound))
        if wrong:
            return f"buffer {number}: {wrong}"
        # The element keeps the result in f32, as it was before it became an integer or a half.
        if np.issubdtype(found.dtype, np.integer) or found.dtype.itemsize < 4:
            previous, previous_off = expected, bound
        else:
            previous = f32(found)
    return None


def add_meta(buffer, layout):
    """Says where the planes of a frame are."""
    places = [[*numbers, 0, 0, 0][:4] for numbers in (layout.offsets, layout.strides)]
    GstVideo.buffer_add_video_meta_full(buffer, 0, GstVideo.VideoFormat.from_string(layout.pixels),
                                        layout.width, layout.height, len(layout.offsets), *places)


class Values(TestCase):
    def run_case(self, seed, case):
        rng, medium = np.random.default_rng([SEED, seed]), case.medium
        data = medium.draw(rng)
        inputs = list(map(medium.get_matrix, data))
        words, values = draw_operands(case, rng, Path(self.folder), inputs[0][0].shape)
        stream = self.start(medium.caps(), " ".join(["gemmcl", *words, *get_properties(case)]),
                            case.out.caps())
        for each in data:
            buffer = Gst.Buffer.new_wrapped(each)
            if isinstance(medium, Video):
                add_meta(buffer, medium.layout)
            self.assertEqual(stream.push(buffer), OK)
        found = [output.extract_dup(0, output.get_size()) for output in stream.end()]
        self.is_quiet(stream)
        stream.stop()
        self.assertEqual(len(found), len(data))
        outputs = [case.out.read(each, (a.shape[0], case.n))
                   for each, (a, _) in zip(found, inputs)]
        self.assertIsNone(check(case, values, inputs, outputs))

    def test_cases(self):
        for seed, case in enumerate(CASES):
            with self.subTest(describe(case)):
                self.run_case(seed, case)


main()
