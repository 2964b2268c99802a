# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Video, audio and tensors as bytes of buffers, as caps and properties, and as matrices.

A medium has
    draw(rng)           the bytes of each buffer
    caps()              those of the buffers
    properties()        what gemmcl is told about it
    get_matrix(buffer)  A and the bound of its error, before scale and offset
    inside()            1 for the elements of A that are of the buffer, 0 for those of padding
and what comes out (Pixels, Samples, Floats) has caps() and read(buffer, shape): D, by its shape.
"""

from dataclasses import dataclass

import numpy as np

from numpy_gemm import UNIT_ROUNDOFF, f32

# The samples of a pixel in memory; gemmcl's channels are R, G, B, A, or Y, whatever their order.
PACKED = {
    "GRAY8": "Y", "GRAY16_LE": "Y", "RGB": "RGB", "BGR": "BGR", "RGBA": "RGBA", "BGRA": "BGRA",
    "RGBx": "RGBx", "BGRx": "BGRx", "xRGB": "xRGB", "xBGR": "xBGR",
}
# Caps' colorimetry: kr, kb, full range.
COLORIMETRY = {
    "bt601": (0.299, 0.114, False),
    "bt709": (0.2126, 0.0722, False),
    "1:4:0:0": (0.299, 0.114, True),
    "1:3:5:1": (0.2126, 0.0722, True),
}
# Roundings on the way from luma and chroma to colour: coefficients, products, sums.
COLOUR_ROUNDINGS = 6


def up(number, multiple):
    return -(-number // multiple) * multiple


class Layout:
    """Where GStreamer puts the planes of a frame; strides may be wider than its own."""

    def __init__(self, pixels, width, height, wider=0):
        self.pixels, self.width, self.height = pixels, width, height
        if pixels in PACKED:
            self.sample = np.dtype("<u2" if pixels == "GRAY16_LE" else "u1")
            self.samples = len(PACKED[pixels])
            rows = [(width * self.samples * self.sample.itemsize, height)]
        else:
            half = up(width, 2) // 2, up(height, 2) // 2
            chroma = [(2 * half[0], half[1])] if pixels == "NV12" else [half] * 2
            rows = [(width, up(height, 2))] + chroma
        self.strides = [up(row, 4) + wider for row, _ in rows]
        ends = np.cumsum([0] + [stride * n for stride, (_, n) in zip(self.strides, rows)])
        self.offsets, self.size = [int(end) for end in ends[:-1]], int(ends[-1])

    def plane(self, frame, index, columns, rows, sample="u1"):
        at, stride = self.offsets[index], self.strides[index]
        lines = np.frombuffer(frame, "u1", stride * rows, at).reshape(rows, stride)
        size = columns * np.dtype(sample).itemsize
        return np.ascontiguousarray(lines[:, :size]).view(sample)

    def channels(self, frame):
        """Returns rows x columns x samples of a packed frame in gemmcl's order, and the x."""
        order = PACKED[self.pixels]
        lines = self.plane(frame, 0, self.width * self.samples, self.height, self.sample)
        lines = lines.reshape(self.height, self.width, self.samples)
        return (lines[:, :, [order.index(c) for c in "YRGBA" if c in order]],
                lines[:, :, [i for i, c in enumerate(order) if c == "x"]])

    def chroma(self, frame):
        """Returns Y, Cb and Cr of every pixel: a chroma sample is that of 2 x 2 pixels."""
        columns, rows = up(self.width, 2) // 2, up(self.height, 2) // 2
        if self.pixels == "NV12":
            both = self.plane(frame, 1, 2 * columns, rows)
            cb, cr = both[:, 0::2], both[:, 1::2]
        else:
            cb, cr = (self.plane(frame, i, columns, rows) for i in (1, 2))
        luma = self.plane(frame, 0, self.width, self.height)
        double = [plane.repeat(2, 0).repeat(2, 1)[:self.height, :self.width] for plane in (cb, cr)]
        return [plane.astype(float) for plane in (luma, *double)]


def colours(layout, frame, colorimetry):
    """Returns R, G, B by the formulas of gemmcl-image.h, and the bound of their error."""
    kr, kb, full = COLORIMETRY[colorimetry]
    kg = 1 - kr - kb
    luma, cb, cr = layout.chroma(frame)
    luma = luma * 1.0 if full else (luma - 16) * 255 / 219
    cb, cr = ((c - 128) * (1 if full else 255 / 224) for c in (cb, cr))
    red = [luma, 2 * (1 - kr) * cr]
    blue = [luma, 2 * (1 - kb) * cb]
    green = [luma, -kr / kg * red[1], -kb / kg * blue[1]]
    rgb = [np.clip(sum(terms), 0, 255) for terms in (red, green, blue)]
    sizes = [sum(np.abs(term) for term in terms) for terms in (red, green, blue)]
    return np.stack(rgb, 2), COLOUR_ROUNDINGS * UNIT_ROUNDOFF * np.stack(sizes, 2)


def places(length, size, stride, padding, dilation):
    """Returns the pixels of each patch along one side of a frame, from the padding's first."""
    stride = stride or size
    count = (length + 2 * padding - dilation * (size - 1) - 1) // stride + 1
    return np.arange(count)[:, None] * stride + np.arange(size)[None, :] * dilation


class Medium:
    def inside(self):
        return np.float64(1)

    def properties(self):
        return []


class Patched(Medium):
    """Rows x columns x channels, which are cut into rows of A: mode is as feature-mode, patch is
    (width, height), and stride, padding and dilation are the patch's. get_frame() returns the
    channels and the bound of their error."""

    def properties(self):
        words = [f"feature-mode={self.mode}"]
        if self.mode == "patch":
            words += [f"patch-width={self.patch[0]}", f"patch-height={self.patch[1]}",
                      f"patch-stride={self.stride}", f"patch-padding={self.padding}",
                      f"patch-dilation={self.dilation}"]
        return words

    def features(self, values):
        """Makes rows of A of rows x columns x channels, with zeros for padding."""
        height, width, _ = values.shape
        sizes = {"pixel": (1, 1), "row": (width, 1), "frame": (width, height)}
        p, q = sizes.get(self.mode, self.patch)
        xs = places(width, p, self.stride, self.padding, self.dilation)
        ys = places(height, q, self.stride, self.padding, self.dilation)
        edges = [(self.padding, self.padding)] * 2 + [(0, 0)]
        rows = np.pad(values, edges)[ys[:, None, :, None], xs[None, :, None, :]]
        return rows.reshape(len(ys) * len(xs), -1)

    def get_matrix(self, buffer):
        return tuple(map(self.features, self.get_frame(buffer)))

    def convolve(self, values, weight):
        """Returns the convolution of rows x columns x channels with [out, in, height, width], by
        PyTorch if it is installed: a row for each place of the patch, from left to right, then
        down."""
        try:
            # Not before: Intel's OpenCL runtime does not start in a process with PyTorch.
            import torch  # pylint: disable=import-outside-toplevel
            from torch.nn import functional  # pylint: disable=import-outside-toplevel
        except ImportError:
            pass
        else:
            image = torch.from_numpy(values.transpose(2, 0, 1)[None])
            found = functional.conv2d(image, torch.from_numpy(weight),
                                      stride=self.stride or weight.shape[2:],
                                      padding=self.padding, dilation=self.dilation)
            return found[0].numpy().reshape(len(weight), -1).T
        edges = [(self.padding, self.padding)] * 2 + [(0, 0)]
        values = np.pad(values, edges)
        height, width = ((weight.shape[i] - 1) * self.dilation + 1 for i in (2, 3))
        rows = range(0, values.shape[0] - height + 1, self.stride or weight.shape[2])
        columns = range(0, values.shape[1] - width + 1, self.stride or weight.shape[3])
        return np.array([
            np.einsum("hwi,oihw->o", values[y:y + height:self.dilation,
                                            x:x + width:self.dilation], weight)
            for y in rows for x in columns])


@dataclass
class Video(Patched):
    """Frames of noise, with the gaps between their rows."""

    pixels: str
    size: tuple
    frames: int = 2
    mode: str = "pixel"
    patch: tuple = (0, 0)
    stride: int = 0
    padding: int = 0
    dilation: int = 1
    colorimetry: str = ""
    wider: int = 0

    def __post_init__(self):
        self.layout = Layout(self.pixels, *self.size, self.wider)

    def caps(self):
        return (f"video/x-raw,format={self.pixels},width={self.size[0]},height={self.size[1]},"
                "framerate=25/1" + (f",colorimetry={self.colorimetry}" if self.colorimetry else ""))

    def draw(self, rng):
        return [rng.bytes(self.layout.size) for _ in range(self.frames)]

    def inside(self):
        return self.features(np.ones((*self.size[::-1], len(self.channels()))))

    def channels(self):
        return [c for c in PACKED.get(self.pixels, "RGB") if c != "x"]

    def get_frame(self, buffer):
        if self.pixels not in PACKED:
            return colours(self.layout, buffer, self.colorimetry)
        a = self.layout.channels(buffer)[0].astype(float)
        return a, np.zeros_like(a)


AUDIO = {"F32LE": "<f4", "F64LE": "<f8", "S16LE": "<i2", "S32LE": "<i4"}


def draw_numbers(rng, dtype, count):
    """Returns bytes of all integers that the type has, or of floats around 0."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.uniform(-1, 1, count).astype(dtype).tobytes()
    return rng.bytes(count * dtype.itemsize)


def read_exactly(buffer, dtype, columns):
    """Returns the matrix of a buffer, and a bound of 0."""
    a = f32(np.frombuffer(buffer, dtype)).reshape(-1, columns)
    return a, np.zeros_like(a)


@dataclass
class Audio(Medium):
    """samples are those of each buffer."""

    sample: str
    channels: int
    samples: tuple = (500,)

    def caps(self):
        return (f"audio/x-raw,format={self.sample},rate=8000,channels={self.channels},"
                "layout=interleaved,channel-mask=(bitmask)0x0")

    def draw(self, rng):
        return [draw_numbers(rng, AUDIO[self.sample], n * self.channels) for n in self.samples]

    def get_matrix(self, buffer):
        return read_exactly(buffer, AUDIO[self.sample], self.channels)


TENSOR = {name: np.dtype(name).newbyteorder("<") for name in
          "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()}


@dataclass
class Tensors(Medium):
    """A tensor a buffer. dims are as in caps, innermost first."""

    type: str
    dims: str
    count: int = 2

    def __post_init__(self):
        self.dtype = TENSOR[self.type]
        self.shape = [int(dim) for dim in reversed(self.dims.split(":"))]

    def caps(self):
        return ("other/tensors,format=static,num_tensors=1,framerate=1/1,"
                f"dimensions=(string){self.dims},types=(string){self.type}")

    def draw(self, rng):
        return [draw_numbers(rng, self.dtype, int(np.prod(self.shape))) for _ in range(self.count)]

    def get_matrix(self, buffer):
        return read_exactly(buffer, self.dtype, self.shape[-1])


@dataclass
class Maps(Patched, Tensors):
    """Tensors of dims channels:columns:rows."""

    mode: str = "patch"
    patch: tuple = (0, 0)
    stride: int = 0
    padding: int = 0
    dilation: int = 1

    def sides(self):
        return [1, 1, *self.shape][-3:]

    def inside(self):
        return self.features(np.ones(self.sides()))

    def get_frame(self, buffer):
        return tuple(x.reshape(self.sides()) for x in Tensors.get_matrix(self, buffer))


def read_array(buffer, shape, dtype):
    return np.frombuffer(buffer, dtype).reshape(shape)


@dataclass
class Pixels:
    """Frames come out."""

    pixels: str
    size: tuple

    def caps(self):
        return f"video/x-raw,format={self.pixels}"

    def read(self, buffer, shape):
        layout = Layout(self.pixels, *self.size)
        if len(buffer) != layout.size:
            raise ValueError(f"{len(buffer)} bytes came out, expected {layout.size}")
        channels, x = layout.channels(buffer)
        if (x != 255).any():
            raise ValueError("the x of a pixel is not 255")
        return channels.reshape(shape)


@dataclass
class Samples:
    """Audio comes out, in the format that went in."""

    sample: str

    def caps(self):
        return f"audio/x-raw,format={self.sample}"

    def read(self, buffer, shape):
        return read_array(buffer, shape, AUDIO[self.sample])


@dataclass
class Floats:
    """Static tensors come out, of the type that downstream asks for."""

    type: str = ""

    def caps(self):
        return "other/tensors,format=static" + (f",types=(string){self.type}" if self.type else "")

    def read(self, buffer, shape):
        return read_array(buffer, shape, TENSOR[self.type or "float32"])
