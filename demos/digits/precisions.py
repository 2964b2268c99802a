#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads the demo's 360 digits in each precision, with both networks, and prints the accuracy.

A precision may read a few digits fewer than f32. Its largest error must lie within bounds: a
smaller error shows that another precision was used.

usage: precisions.py DIRECTORY-FOR-RESULTS

Kernels are named, so that f32 replaces none of them. Where the device has no matrix engines, they
are emulated, with the same results. `gemmcl quantize` makes the weights for i8.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import convolutions  # noqa: E402
import pipeline  # noqa: E402
import run  # noqa: E402

# For each precision, f32 first: the kernel, and the bounds of a probability's largest error.
KERNELS = {
    "f32": ("auto", 0, 1e-5),
    "f16": ("xmx_f16_8x1_1x16", 1e-4, 2e-3),
    "bf16": ("xmx_bf16_8x1_1x16", 1e-3, 2e-2),
    "tf32": ("xmx_tf32_8x2_1x16", 1e-4, 2e-3),
    "i8": ("vector_i8_1x64_1x1", 1e-3, 5e-2),
}
# The number of digits by which a precision may be worse than f32.
FEW = 2

# The modules of the networks, by their names in the table.
NETWORKS = {"two layers": run, "convolutions": convolutions}


def quantize(layer, output):
    """Returns the layer with its weight as int8, which it writes to output."""
    name = re.search(r"weight=\S+/(\w+)\.npy", layer)[1]
    subprocess.run(
        ["gemmcl", "quantize", HERE / f"{name}.npy", "-o", output / f"{name}.safetensors"],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return layer.replace(f"{HERE}/{name}.npy", f"{output}/{name}.safetensors#weight")


def make_layer(layer, precision, output):
    """Returns the layer with its precision and kernel; caps are returned unchanged."""
    if not layer.startswith("gemmcl"):
        return layer
    layer = quantize(layer, output) if precision == "i8" else layer
    return f"{layer} precision={precision} kernel={KERNELS[precision][0]}"


def measure(network, module, output):
    """Yields the lines of the table."""
    labels = np.load(HERE / "labels.npy")
    least = 0
    for precision, (kernel, least_off, most_off) in KERNELS.items():
        layers = [make_layer(layer, precision, output) for layer in module.LAYERS]
        found, pixels = run.read(layers, output / f"{precision}.f32")
        pipeline.check(len(found) == len(labels), f"{len(found)} digits read in {precision}")
        exact = module.reference(pixels)
        right = np.count_nonzero(found.argmax(axis=1) == labels)
        other = np.count_nonzero(found.argmax(axis=1) != exact.argmax(axis=1))
        off = np.abs(found - exact).max()
        pipeline.check(right >= least, f"{right} of {len(labels)} right in {precision}")
        pipeline.check(least_off <= off <= most_off, f"probabilities are off by {off:.1e} at most")
        least = least or right - FEW
        yield (
            f"| {network} | {precision} | {kernel} | {right} of {len(labels)}, "
            f"{100 * right / len(labels):.1f} % | {other} | {off:.1e} |"
        )


def main():
    output = pipeline.output_directory("precisions")
    lines = [line for name, module in NETWORKS.items() for line in measure(name, module, output)]
    print("| network | precision | kernel | right | differs from f64 | largest error of a "
          "probability |")
    print("|---|---|---|---|---|---|", *lines, sep="\n")


if __name__ == "__main__":
    main()
