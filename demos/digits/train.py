#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trains the network of the digits demo with scikit-learn and writes all the demo needs here.

The data is scikit-learn's digits set (E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten
Digits, UCI Machine Learning Repository, CC BY 4.0): 1797 scans of 8 x 8 pixels. 1437 of
them, drawn with a fixed seed, train; the other 360 are held out.

    fc1.npy fc1-bias.npy fc2.npy fc2-bias.npy   float32, as gemmcl wants them: K x N, and N
    images/000.png ... 359.png                  the held-out digits, 8-bit grey, 0 to 240
    expected.npy                                what scikit-learn says each of them is
    labels.npy                                  what each of them is

Another version of scikit-learn may train other weights; what is committed fits together.
"""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = Path(__file__).resolve().parent
HELD_OUT = 360
# The set's pixels are 0 to 16: images hold them times 15, the network sees 0 to 1.
IMAGE_STEP = 15
NETWORK_SCALE = 1 / 16


def main():
    digits = load_digits()
    train, held_out = train_test_split(
        np.arange(len(digits.target)), test_size=HELD_OUT, random_state=0, stratify=digits.target
    )
    inputs = digits.data * NETWORK_SCALE
    network = MLPClassifier(
        hidden_layer_sizes=(64,), activation="relu", alpha=1e-2, max_iter=500, random_state=1
    )
    network.fit(inputs[train], digits.target[train])

    for layer, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_), 1):
        np.save(HERE / f"fc{layer}.npy", weight.astype("<f4"))
        np.save(HERE / f"fc{layer}-bias.npy", bias.astype("<f4"))

    (HERE / "images").mkdir(exist_ok=True)
    for number, image in enumerate(digits.images[held_out]):
        pixels = (image * IMAGE_STEP).astype(np.uint8)
        Image.fromarray(pixels).save(HERE / "images" / f"{number:03}.png", optimize=True)

    expected = network.predict(inputs[held_out])
    labels = digits.target[held_out]
    np.save(HERE / "expected.npy", expected.astype(np.uint8))
    np.save(HERE / "labels.npy", labels.astype(np.uint8))
    right = np.count_nonzero(expected == labels)
    print(f"scikit-learn: {right} of {len(labels)} held-out digits right")


if __name__ == "__main__":
    main()
