#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trains the networks of the digits demo, and writes its files beside this one.

The data is scikit-learn's digits set (E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten
Digits, UCI Machine Learning Repository, CC BY 4.0): 1797 scans of 8 x 8 pixels. 1437 of
them, drawn with a fixed seed, train; the other 360 are held out.

    fc1.npy fc1-bias.npy fc2.npy fc2-bias.npy   float32, in gemmcl's order: K x N, and N
    conv1.npy conv2.npy fc.npy, and -bias.npy   the same of the convolutional network
    images/000.png ... 359.png                  the held-out digits, 8-bit grey, 0 to 240
    expected.npy                                the digit that scikit-learn reads in each
    labels.npy                                  the digit that each shows
    gallery.npy gallery.txt                     embeddings of 500 digits that trained, normalized,
                                                and their labels
    nearest.npy                                 the digit of each held-out one's nearest embedding

scikit-learn trains the network of two layers (run.py), NumPy the convolutional one
(convolutions.py). An embedding is what the first of the two layers makes of a digit
(embeddings.py). Another version of either may train other weights; the committed files belong
together.
"""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from convolutions import NAMES, PATCH, STRIDES, forward
from embeddings import embed, find_nearest
from run import load_layers

HERE = Path(__file__).resolve().parent
HELD_OUT = 360
# The set's pixels are 0 to 16. Images store them times 15; the network's input is 0 to 1.
IMAGE_STEP = 15
NETWORK_SCALE = 1 / 16
# The convolutional network: K x N of each layer, and the parameters of its training.
SHAPES = [(9, 8), (72, 16), (256, 10)]
EPOCHS, BATCH, RATE, DECAY = 60, 64, 3e-3, 3e-3
# Digits in the gallery, of each of the ten
ENROLLED = 50


def fold(gradient, images, stride):
    """Returns the gradient of images from the gradient of unfold (images, stride)."""
    count, height, width, channels = images.shape
    padded = np.zeros((count, height + 2, width + 2, channels))
    parts = gradient.reshape(*gradient.shape[:3], PATCH, PATCH, channels)
    for y in range(PATCH):
        for x in range(PATCH):
            padded[:, y:y + height:stride, x:x + width:stride] += parts[:, :, :, y, x]
    return padded[:, 1:-1, 1:-1]


def find_gradients(layers, images, targets):
    """Returns the gradients of each layer's weight and bias, of cross-entropy with weight decay."""
    inputs, results = forward(layers, images)
    gradient = (results[-1] - np.eye(10)[targets]) / len(images)
    found = []
    for number in reversed(range(len(layers))):
        weight, _ = layers[number]
        flat, rows = gradient.reshape(-1, weight.shape[1]), inputs[number]
        found += [flat.sum(0), rows.reshape(-1, len(weight)).T @ flat + DECAY * weight]
        if number == 0:
            return found[::-1]
        gradient = (flat @ weight.T).reshape(rows.shape)
        before = results[number - 1]
        if number < len(STRIDES):
            gradient = fold(gradient, before, STRIDES[number])
        gradient = gradient.reshape(before.shape) * (before > 0)


def train_convolutions(images, targets):
    """Trains by Adam with a cosine schedule. Returns the weight and bias of each layer."""
    rng = np.random.default_rng(1)
    values = []
    for shape in SHAPES:
        values += [rng.normal(0, np.sqrt(2 / shape[0]), shape), np.zeros(shape[1])]
    means = [np.zeros_like(value) for value in values]
    squares = [np.zeros_like(value) for value in values]
    step = 0
    for epoch in range(EPOCHS):
        rate = RATE * (1 + np.cos(np.pi * epoch / EPOCHS)) / 2
        for chosen in np.split(order := rng.permutation(len(images)),
                               range(BATCH, len(order), BATCH)):
            step += 1
            layers = list(zip(values[::2], values[1::2]))
            gradients = find_gradients(layers, images[chosen], targets[chosen])
            for value, gradient, mean, square in zip(values, gradients, means, squares):
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient**2 - square)
                value -= (rate * mean / (1 - 0.9**step)
                          / (np.sqrt(square / (1 - 0.999**step)) + 1e-8))
    return list(zip(values[::2], values[1::2]))


def save_layers(names, layers):
    for name, (weight, bias) in zip(names, layers):
        np.save(HERE / f"{name}.npy", weight.astype("<f4"))
        np.save(HERE / f"{name}-bias.npy", bias.astype("<f4"))


def save_gallery(digits, train, held_out):
    """Saves embeddings of the first digits that trained, and reads the held-out ones by them."""
    (layer,) = load_layers("fc1")
    embeddings = embed(layer, digits.data * IMAGE_STEP)
    targets = digits.target
    enrolled = np.concatenate([train[targets[train] == digit][:ENROLLED] for digit in range(10)])
    names = (HERE / "labels.txt").read_text("utf-8").split()
    np.save(HERE / "gallery.npy", embeddings[enrolled].astype("<f4"))
    (HERE / "gallery.txt").write_text("".join(f"{names[targets[i]]}\n" for i in enrolled), "utf-8")
    nearest = targets[enrolled][find_nearest(embeddings[held_out], embeddings[enrolled])[0]]
    np.save(HERE / "nearest.npy", nearest.astype(np.uint8))
    right = np.count_nonzero(nearest == targets[held_out])
    print(f"nearest embedding: {right} of {len(held_out)} held-out digits right")


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

    save_layers(["fc1", "fc2"], zip(network.coefs_, network.intercepts_))
    images = digits.images[..., None] * NETWORK_SCALE
    layers = train_convolutions(images[train], digits.target[train])
    save_layers(NAMES, layers)

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
    read = forward(layers, images[held_out])[1][-1].argmax(axis=1)
    right = np.count_nonzero(read == labels)
    print(f"convolutional network: {right} of {len(labels)} held-out digits right")
    save_gallery(digits, train, held_out)


if __name__ == "__main__":
    main()
