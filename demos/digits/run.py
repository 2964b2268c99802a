#!/usr/bin/env python3
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


def load_layers(*names):
    """The weight and the bias of each layer, in double precision."""
    return [[np.load(HERE / f"{name}{part}.npy").astype(np.float64) for part in ("", "-bias")]
            for name in names]


def reference(pixels):
    """The probabilities in double precision."""
    (weight, bias), (last_weight, last_bias) = load_layers("fc1", "fc2")
    hidden = np.maximum(pixels / 240 @ weight + bias, 0)
    return softmax(hidden @ last_weight + last_bias)


def read(layers, result):
    """Runs a network, which writes to the file result. Returns: (probabilities, pixels)."""
    pixels = result.with_name("pixels.u8")
    pipeline.launch(
        [*IMAGES, "tee name=pixels", "queue", *layers, f"filesink location={result}"],
        ["pixels.", "queue", f"filesink location={pixels}"],
    )
    return (np.fromfile(result, "<f4").reshape(-1, 10),
            np.fromfile(pixels, np.uint8).reshape(-1, 64).astype(np.float64))


def check(found, exact, digits, reader):
    """Compares probabilities with exact ones, and the digits with those of another reader."""
    labels = np.load(HERE / "labels.npy")
    pipeline.check(len(found) == len(labels), f"{len(found)} digits read")
    same = np.count_nonzero(found.argmax(axis=1) == digits)
    pipeline.check(same == len(labels), f"{same} of {len(labels)} read as {reader} does")
    error = np.abs(found - exact).max()
    pipeline.check(error < 1e-5, f"probabilities are NumPy's, the largest error {error:.1e}")
    right = np.count_nonzero(found.argmax(axis=1) == labels)
    percent = 100 * right / len(labels)
    print(f"  accuracy: {right} of {len(labels)} held-out digits, {percent:.1f} %")


def main():
    output = pipeline.output_directory("digits")
    expected = np.load(HERE / "expected.npy")
    found, pixels = read(LAYERS, output / "output.f32")
    check(found, reference(pixels), expected, "scikit-learn")

    first, *rest = IMAGES
    seconds = pipeline.launch(
        [f"{first} loop=true stop-index={len(expected) - 1} num-buffers={LOOPED}", *rest, *LAYERS,
         "fakesink"]
    )
    print(f"  speed: {LOOPED / seconds:.0f} frames per second, reading the image files included")


if __name__ == "__main__":
    main()
