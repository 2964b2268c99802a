#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares convolutions of the element, in gst-launch-1.0, with PyTorch's conv2d. TAP out.

Frames and tensors of noise go through a network, a layer an element, from a file to a file. PyTorch
computes the same in float64. An output may be off by the rounding of its sum: in a network by the
sum of the absolute values, each layer's with those of the one before.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

try:
    import numpy as np
    import torch
    from torch.nn import functional
except ImportError:
    print("1..0 # SKIP PyTorch is not installed (python3-torch, by tools/setup.sh full)")
    sys.exit(0)

SEED = 20240301
SECONDS = 300
UNIT_ROUNDOFF = 2.0**-24
CHANNELS = {"RGB": 3, "GRAY8": 1, "BGRA": 4}
# The line of the documentation that makes the weight of a Conv2d the element's.
REORDER = re.search(r"^b = .*", (Path(__file__).parents[2] / "docs" / "element.md")
                    .read_text(encoding="utf-8"), re.M).group()


@dataclass
class Layer:
    """A convolution of kernels of rows x columns, or with none a fully connected layer, and its
    ReLU."""

    outputs: int
    kernel: tuple = ()
    stride: int = 1
    padding: int = 0
    dilation: int = 1

    def draw(self, rng, channels, size):
        """Returns weight, as PyTorch has it, and bias. A fully connected layer is a convolution
        whose kernel is as large as its input."""
        rows, columns = self.kernel or size
        shape = (self.outputs, channels, rows, columns)
        return rng.uniform(-1, 1, shape).astype("f4"), rng.uniform(-1, 1, self.outputs).astype("f4")

    def words(self, name):
        words = ["gemmcl", f"weight={name}.npy", f"bias={name}-bias.npy", "activation=relu"]
        if not self.kernel:
            return [*words, "feature-mode=frame"]
        return [*words, "feature-mode=patch", f"patch-height={self.kernel[0]}",
                f"patch-width={self.kernel[1]}", f"patch-stride={self.stride}",
                f"patch-padding={self.padding}", f"patch-dilation={self.dilation}"]

    def convolve(self, images, weight, bias):
        return functional.conv2d(images, torch.from_numpy(weight.astype(float)),
                                 torch.from_numpy(bias.astype(float)), stride=self.stride,
                                 padding=self.padding, dilation=self.dilation)


@dataclass
class Case:
    """kind is a format of video or a type of tensors, and size is rows x columns x channels; a
    format has its own channels, and its rows are multiples of 4 bytes. scale is the input's."""

    name: str
    kind: str
    size: tuple
    layers: list
    scale: float = 1.0
    count: int = 2

    def shape(self):
        return (self.count, *self.size[:2], CHANNELS.get(self.kind) or self.size[2])

    def dtype(self):
        return np.dtype("u1" if self.kind in CHANNELS else self.kind)

    def draw(self, rng):
        if self.dtype().kind == "f":
            return rng.uniform(-1, 1, self.shape()).astype(self.dtype())
        return np.frombuffer(rng.bytes(int(np.prod(self.shape())) * self.dtype().itemsize),
                             self.dtype()).reshape(self.shape())

    def source(self):
        _, rows, columns, channels = self.shape()
        if self.kind in CHANNELS:
            return ["filesrc", "location=in.bin", "!", "rawvideoparse",
                    f"format={self.kind.lower()}", f"width={columns}", f"height={rows}"]
        size = rows * columns * channels * self.dtype().itemsize
        return ["filesrc", "location=in.bin", f"blocksize={size}", "!", "other/tensors,"
                f"format=static,num_tensors=1,framerate=0/1,types=(string){self.kind},"
                f"dimensions=(string){channels}:{columns}:{rows}"]


CASES = [
    Case("a frame, padded", "RGB", (13, 20), [Layer(8, (3, 3), padding=1)], 1 / 255),
    Case("a frame, with stride and dilation", "GRAY8", (24, 20),
         [Layer(7, (2, 3), stride=2, padding=3, dilation=4)], 1 / 255),
    Case("a frame of four channels, with gaps", "BGRA", (15, 16), [Layer(5, (3, 2), stride=4)],
         1 / 255),
    Case("ViT's patch embedding", "RGB", (224, 224), [Layer(192, (16, 16), stride=16)], 1 / 255),
    Case("ResNet's first layer", "RGB", (112, 112), [Layer(64, (7, 7), stride=2, padding=3)],
         1 / 255),
    Case("a tensor, padded", "float32", (9, 7, 6), [Layer(10, (3, 3), padding=1)]),
    Case("a tensor, with stride and dilation", "float32", (17, 23, 5),
         [Layer(9, (3, 2), stride=3, padding=2, dilation=2)]),
    Case("a tensor of halves", "float16", (14, 12, 32), [Layer(24, (5, 5), padding=2)]),
    Case("a tensor of bytes", "uint8", (11, 10, 3), [Layer(6, (4, 3), stride=2)], 1 / 255),
    Case("a tensor of signed bytes", "int8", (8, 9, 16), [Layer(33, (1, 1))], 1 / 128),
    Case("LeNet with strides in the place of pooling", "GRAY8", (32, 32),
         [Layer(6, (5, 5), stride=2, padding=2), Layer(16, (5, 5), stride=2), Layer(120),
          Layer(84), Layer(10)], 1 / 255),
]


def write_weight(directory, name, weight, bias):
    names = {"w": weight}
    exec(REORDER, names)  # pylint: disable=exec-used
    np.save(directory / f"{name}.npy", names["b"])
    np.save(directory / f"{name}-bias.npy", bias)


def run(case, directory):
    """Returns what went wrong, or None."""
    rng = np.random.default_rng([SEED, CASES.index(case)])
    data = case.draw(rng)
    data.tofile(directory / "in.bin")
    images = torch.from_numpy(data.transpose(0, 3, 1, 2).astype(float))
    images = images * float(np.float32(case.scale))
    if case.kind == "BGRA":
        images = images[:, [2, 1, 0, 3]]
    off = images.abs() * UNIT_ROUNDOFF
    line = case.source()
    for number, layer in enumerate(case.layers):
        weight, bias = layer.draw(rng, images.shape[1], images.shape[2:])
        write_weight(directory, f"layer{number}", weight, bias)
        line += ["!", *layer.words(f"layer{number}")]
        line += [f"input-scale={case.scale!r}"] if number == 0 else []
        if number + 1 < len(case.layers):
            line += ["!", "other/tensors(memory:OpenCL)"]
        roundings = (weight[0].size + 8) * UNIT_ROUNDOFF
        off = (layer.convolve(off, abs(weight), 0 * bias)
               + roundings * layer.convolve(images.abs(), abs(weight), abs(bias)))
        images = layer.convolve(images, weight, bias).relu()
    said = subprocess.run(["gst-launch-1.0", "--no-fault", "-q", *line, "!", "filesink",
                           "location=out.bin"], cwd=directory, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=SECONDS, check=False)
    if said.returncode or "CRITICAL" in said.stdout or "WARNING" in said.stdout:
        return f"{' '.join(line)}\n{said.stdout}\nexit status {said.returncode}"
    return compare(np.fromfile(directory / "out.bin", "<f4"), images, off)


def compare(found, images, off):
    expected, bound = (x.numpy().transpose(0, 2, 3, 1).reshape(-1) for x in (images, off))
    if found.shape != expected.shape:
        return f"{found.size} numbers came out, expected {expected.size}"
    wrong = np.flatnonzero(~(np.abs(found - expected) <= bound))
    if wrong.size == 0:
        return None
    at = wrong[0]
    return (f"{wrong.size} of {found.size} are wrong, the first at {at}: {found[at]:.9g}, expected "
            f"{expected[at]:.9g} +- {bound[at]:.2g}")


def main():
    print(f"1..{len(CASES)}", flush=True)
    failed = False
    for number, case in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as directory:
            wrong = run(case, Path(directory))
        failed = failed or wrong is not None
        print(f"{'ok' if wrong is None else 'not ok'} {number} {case.name}", flush=True)
        for line in (wrong or "").splitlines():
            print(f"# {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
