#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads 360 handwritten digits by the nearest of 500 labelled embeddings, and draws six of them.

The first layer of the network of run.py makes an embedding of each digit. The second element finds
the nearest row of the gallery, by the cosine, and posts its label. train.py made the gallery. Each
label must be NumPy's; with the gallery in int8 a few may differ. The picture is digits.svg.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import pipeline  # noqa: E402
from run import IMAGES, LAYERS, load_layers  # noqa: E402

SEARCH = (f"gemmcl weight={{}} transpose-weight=true normalize=input row-outputs=top-k top-k=1 "
          f"output=rows labels={HERE}/gallery.txt post-messages=true")
MESSAGE = re.compile(
    r"index=\(uint\)< (\d+) >, label=\(string\)< (\w+) >, value=\(float\)< ([\d.e-]+) >"
)
# The most digits that another row of the gallery may be nearest to in int8, and that get another
# label; the largest error of a cosine, in f32 and in int8
OTHER_ROWS, OTHER_LABELS, ERRORS = 40, 3, {"f32": 1e-5, "int8": 1e-2}

# The picture: the images that it shows, the pixels of an image and of the picture
SHOWN, SIZE = range(28, 34), 8
ACROSS, DOWN, SCALE = 132, 152, 14


def embed(layer, pixels):
    """Returns the normalized embeddings of images, rows of pixels from 0 to 240."""
    weight, bias = layer
    hidden = np.maximum(pixels / 240 @ weight + bias, 0)
    return hidden / np.linalg.norm(hidden, axis=1, keepdims=True)


def find_nearest(embeddings, gallery):
    """Returns the row of the gallery that is nearest to each embedding, and their cosine."""
    cosines = embeddings @ gallery.T
    return cosines.argmax(axis=1), cosines.max(axis=1)


def read(weight):
    """Runs the pipeline. Returns the row, the label and the cosine that it posts of each image."""
    said = pipeline.play([*IMAGES, LAYERS[0], SEARCH.format(weight), "fakesink"], options=["-m"])
    rows, labels, cosines = zip(*MESSAGE.findall(said))
    return np.array(rows, int), labels, np.array(cosines, float)


def draw(pixels, labels, cosines):
    """Returns a picture of images above their labels, as SVG."""
    drawn = []
    for number, (image, label, cosine) in enumerate(zip(pixels, labels, cosines)):
        squares = "".join(
            f'<path fill="#{grey:02x}{grey:02x}{grey:02x}" d="{places}"/>\n'
            for grey in np.unique(image[image > 0])
            for places in ["".join(f"M{i % SIZE} {i // SIZE}h1v1h-1z"
                                   for i in np.flatnonzero(image == grey))]
        )
        drawn.append(
            f'<g transform="translate({number * ACROSS + 10} 10)">\n'
            f'<g transform="scale({SCALE})" shape-rendering="crispEdges">\n'
            f'<path d="M0 0h{SIZE}v{SIZE}h-{SIZE}z"/>\n{squares}</g>\n'
            f'<text x="{SIZE * SCALE // 2}" y="{SIZE * SCALE + 20}">{label} {cosine:.2f}</text>\n'
            "</g>\n"
        )
    width = len(drawn) * ACROSS
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{DOWN}" '
            'font-family="sans-serif" font-size="16" text-anchor="middle">\n'
            f'<path fill="#fff" d="M0 0h{width}v{DOWN}h-{width}z"/>\n{"".join(drawn)}</svg>\n')


def check(found, expected, gallery_type):
    """Compares what the pipeline posted with what NumPy finds. Both: rows, labels, cosines."""
    (rows, labels, cosines), (exact_rows, exact_labels, exact_cosines) = found, expected
    pipeline.check(len(rows) == len(exact_rows), f"{len(rows)} labels posted")
    same = np.count_nonzero(rows == exact_rows)
    alike = np.count_nonzero(np.array(labels) == exact_labels)
    exact = gallery_type == "f32"
    pipeline.check(same >= len(rows) - (0 if exact else OTHER_ROWS),
                   f"{same} rows of the gallery are those that NumPy finds")
    pipeline.check(alike >= len(rows) - (0 if exact else OTHER_LABELS),
                   f"{alike} labels are NumPy's")
    error = np.abs(cosines - exact_cosines).max()
    pipeline.check(error < ERRORS[gallery_type],
                   f"cosines are NumPy's, the largest error {error:.1e}")
    names = np.array((HERE / "labels.txt").read_text("utf-8").split())
    right = np.count_nonzero(np.array(labels) == names[np.load(HERE / "labels.npy")])
    print(f"  accuracy: {right} of {len(rows)} held-out digits, {100 * right / len(rows):.1f} %\n")


def main():
    output = pipeline.output_directory("embeddings")
    pipeline.launch([*IMAGES, f"filesink location={output}/pixels.u8"])
    pixels = np.fromfile(output / "pixels.u8", np.uint8).reshape(-1, SIZE * SIZE)
    gallery, names = HERE / "gallery.npy", (HERE / "gallery.txt").read_text("utf-8").split()
    (layer,) = load_layers("fc1")
    rows, cosines = find_nearest(embed(layer, pixels), np.load(gallery))
    expected = rows, np.array(names)[rows], cosines

    found = read(gallery)
    check(found, expected, "f32")
    picture = draw(*(np.array(part)[SHOWN] for part in (pixels, *found[1:])))
    (output / "digits.svg").write_text(picture, "utf-8")
    pipeline.check(picture == (HERE.parents[1] / "docs/img/digits.svg").read_text("utf-8"),
                   f"{output}/digits.svg is README's picture")

    smaller = output / "gallery.safetensors"
    subprocess.run(["gemmcl", "quantize", gallery, "--transpose", "-o", smaller], check=True,
                   stdout=subprocess.DEVNULL)
    check(read(smaller), expected, "int8")


if __name__ == "__main__":
    main()
