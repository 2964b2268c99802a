# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs pipelines of GStreamer's onnxinference and the element, and compares their outputs with
NumPy. TAP out. The test writes the model: a layer that computes an embedding of a frame. The
element multiplies its tensor. All numbers are so small that sums in float32 are exact."""

import functools
import re
import tempfile
from pathlib import Path

import tap

try:
    import numpy as np
    from onnx_layer import write_layer
except ImportError as missing:
    tap.skip_all(f"{missing.name} is not installed (python3-{missing.name})")
from numpy_gemm import row_outputs

ELEMENTS = ["rawvideoparse", "onnxinference"]
SECONDS = 300
FRAMES, WIDTH, HEIGHT = 7, 8, 4
K = WIDTH * HEIGHT * 3
EMBEDDING, GALLERY, TOP = 6, 20, 3


def launch(directory, line, *options):
    """Returns what gst-launch-1.0 prints."""
    source = (f"filesrc location=in.rgb ! rawvideoparse format=rgb width={WIDTH} height={HEIGHT} "
              "framerate=10/1 ! onnxinference model-file=embed.onnx ! ")
    return tap.require("gst-launch-1.0", *options, *(source + line).split(), cwd=directory,
                       timeout=SECONDS)


def search(directory, embeddings, rng):
    """Searches the nearest embeddings of a gallery, by D and the top-k of each row."""
    gallery = rng.integers(-8, 9, (GALLERY, EMBEDDING)).astype(np.float32)
    np.save(directory / "gallery.npy", gallery)
    d = embeddings @ gallery.T
    launch(directory, "gemmcl input=meta tensor-id=an-embedding weight=gallery.npy "
           f"transpose-weight=true row-outputs=top-k top-k={TOP} ! filesink location=out.f32")
    return np.hstack([d, row_outputs(d, "top-k", TOP)[0]])


def recognise(directory, embeddings, rng):
    """The lines of docs/embeddings.md post the label of the nearest embedding of a gallery."""
    gallery = rng.standard_normal((GALLERY, EMBEDDING))
    gallery /= np.linalg.norm(gallery, axis=1, keepdims=True)
    cosines = embeddings @ gallery.T / np.linalg.norm(embeddings, axis=1, keepdims=True)
    np.save(directory / "gallery.npy", gallery.astype(np.float32))
    (directory / "gallery.txt").write_text("".join(f"no{i}\n" for i in range(GALLERY)), "utf-8")
    for place in "output=rows-meta input-tensor-id", "output=rows tensor-id":
        said = launch(directory, f"gemmcl input=meta {place}=an-embedding weight=gallery.npy "
                      "transpose-weight=true normalize=input row-outputs=top-k top-k=1 "
                      "labels=gallery.txt post-messages=true ! filesink location=out.f32", "-m")
        tap.expect(re.findall(r'label=\(string\)< (.*?) >', said),
                   [f"no{row}" for row in cosines.argmax(axis=1)])
    return np.stack([cosines.max(axis=1), cosines.argmax(axis=1)], axis=1)


def chain(directory, embeddings, rng):
    """The frame passes through with D of one element, which is A of another."""
    first = rng.integers(-8, 9, (EMBEDDING, 5)).astype(np.float32)
    second = rng.integers(-2, 3, (5, 3)).astype(np.float32)
    np.save(directory / "first.npy", first)
    np.save(directory / "second.npy", second)
    launch(directory, "gemmcl input-tensor-id=an-embedding output=meta tensor-id=hidden "
           "weight=first.npy ! gemmcl input=meta tensor-id=hidden weight=second.npy "
           "! filesink location=out.f32")
    return embeddings @ first @ second


def run(case):
    rng = np.random.default_rng(20261123)
    frames = rng.integers(0, 32, (FRAMES, K)).astype(np.uint8)
    layer = (rng.integers(-4, 5, (K, EMBEDDING)) / 4).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_layer(directory / "embed.onnx", layer, WIDTH, HEIGHT)
        (directory / "in.rgb").write_bytes(frames.tobytes())
        expected = case(directory, frames.astype(np.float64) @ layer, rng)
        found = np.fromfile(directory / "out.f32", np.float32)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-5)


for element in ELEMENTS:
    if tap.run("gst-inspect-1.0", "--exists", element).returncode:
        tap.skip_all(f"there is no element {element}")
if "lacks gstreamer-analytics" in tap.run("gst-inspect-1.0", "gemmcl").stdout:
    tap.skip_all("built without gstreamer-analytics-1.0 (1.26)")
tap.play({case.__name__: functools.partial(run, case) for case in (search, recognise, chain)})
