#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads 360 handwritten digits with a network of two layers, each a gemmcl element.

train.py made the network and the digits. Each digit must be the one that scikit-learn reads, and
each probability that of a reference in NumPy, up to rounding.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import pipeline  # noqa: E402

# Pixels are 0 to 240; the network was trained on 0 to 1.
SCALE = "0.00416666666666666667"
LOOPED = 7200

IMAGES = [
    f"multifilesrc location={HERE}/images/%03d.png caps=image/png,framerate=30/1",
    "pngdec",
]
LAYERS = [
    f"gemmcl weight={HERE}/fc1.npy bias={HERE}/fc1-bias.npy input-scale={SCALE} activation=relu",
    f"gemmcl weight={HERE}/fc2.npy bias={HERE}/fc2-bias.npy activation=softmax",
]


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def reference(pixels):
    """The network in double precision."""
    load = lambda name: np.load(HERE / name).astype(np.float64)  # noqa: E731
    hidden = np.maximum(pixels / 240 @ load("fc1.npy") + load("fc1-bias.npy"), 0)
    return softmax(hidden @ load("fc2.npy") + load("fc2-bias.npy"))


def main():
    output = pipeline.output_directory("digits")
    expected = np.load(HERE / "expected.npy")
    labels = np.load(HERE / "labels.npy")

    pipeline.launch(
        [*IMAGES, "tee name=pixels", "queue", *LAYERS, f"filesink location={output}/output.f32"],
        ["pixels.", "queue", f"filesink location={output}/pixels.u8"],
    )
    found = np.fromfile(output / "output.f32", "<f4").reshape(-1, 10)
    pixels = np.fromfile(output / "pixels.u8", np.uint8).reshape(-1, 64).astype(np.float64)
    pipeline.check(len(found) == len(expected), f"{len(found)} digits read")
    same = np.count_nonzero(found.argmax(axis=1) == expected)
    pipeline.check(same == len(expected), f"{same} of {len(expected)} read as scikit-learn does")
    error = np.abs(found - reference(pixels)).max()
    pipeline.check(error < 1e-5, f"probabilities are NumPy's, the largest error {error:.1e}")
    right = np.count_nonzero(found.argmax(axis=1) == labels)
    percent = 100 * right / len(labels)
    print(f"  accuracy: {right} of {len(labels)} held-out digits, {percent:.1f} %")

    first, *rest = IMAGES
    seconds = pipeline.launch(
        [f"{first} loop=true stop-index={len(labels) - 1} num-buffers={LOOPED}", *rest, *LAYERS,
         "fakesink"]
    )
    print(f"  speed: {LOOPED / seconds:.0f} frames per second, reading the image files included")


if __name__ == "__main__":
    main()
