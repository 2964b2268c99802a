#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads 360 handwritten digits with a convolutional network: three layers, each a gemmcl element.

    8 x 8 x 1  --3x3-->  8 x 8 x 8  --3x3, stride 2-->  4 x 4 x 16  --fully connected-->  10

train.py made the network and the digits. Results stay in OpenCL memory from layer to layer. Each
digit, and each probability up to rounding, must be that of a reference in NumPy.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import pipeline  # noqa: E402
from run import SCALE, check, load_layers, read, softmax  # noqa: E402

IMAGE = 8  # pixels of an image, across and down
PATCH = 3  # pixels of a patch, across and down; the padding is 1
STRIDES = [1, 2]  # of the convolutions
NAMES = ["conv1", "conv2", "fc"]

CONVOLUTION = f"feature-mode=patch patch-width={PATCH} patch-height={PATCH} patch-padding=1"
FEATURES = [f"{CONVOLUTION} patch-stride={stride}" for stride in STRIDES] + ["feature-mode=frame"]
BETWEEN = ["'other/tensors(memory:OpenCL),dimensions=(string)8:8:8'",
           "'other/tensors(memory:OpenCL),dimensions=(string)16:4:4'"]


def make_layer(name, features, more):
    return f"gemmcl weight={HERE}/{name}.npy bias={HERE}/{name}-bias.npy {features} {more}"


ACTIVATIONS = [f"input-scale={SCALE} activation=relu", "activation=relu", "activation=softmax"]
FIRST, SECOND, LAST = map(make_layer, NAMES, FEATURES, ACTIVATIONS)
LAYERS = [FIRST, BETWEEN[0], SECOND, BETWEEN[1], LAST]


def unfold(images, stride):
    """Returns the patches of images, n x rows x columns x channels, as rows of A."""
    padded = np.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)])
    patches = np.lib.stride_tricks.sliding_window_view(padded, (PATCH, PATCH), (1, 2))
    patches = patches[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    return patches.reshape(*patches.shape[:3], -1)


def forward(layers, images):
    """Returns the input of each layer as rows of A, and the result of each layer.

    The last result is the probabilities. layers are pairs of weight and bias.
    """
    inputs, results = [], [images]
    for stride, (weight, bias) in zip(STRIDES, layers):
        inputs.append(unfold(results[-1], stride))
        results.append(np.maximum(inputs[-1] @ weight + bias, 0))
    inputs.append(results[-1].reshape(len(images), -1))
    weight, bias = layers[-1]
    return inputs, [*results[1:], softmax(inputs[-1] @ weight + bias)]


def reference(pixels):
    """The probabilities in double precision."""
    return forward(load_layers(*NAMES), pixels.reshape(-1, IMAGE, IMAGE, 1) / 240)[1][-1]


def main():
    output = pipeline.output_directory("convolutions")
    found, pixels = read(LAYERS, output / "output.f32")
    exact = reference(pixels)
    check(found, exact, exact.argmax(axis=1), "NumPy")


if __name__ == "__main__":
    main()
