# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs pipelines of GStreamer's onnxinference and the element, and compares their outputs with
NumPy. TAP out. The test writes the model: a layer that computes an embedding of a frame. The
element multiplies its tensor. All numbers are so small that sums in float32 are exact."""

import functools
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


def launch(directory, line):
    source = (f"filesrc location=in.rgb ! rawvideoparse format=rgb width={WIDTH} height={HEIGHT} "
              "framerate=10/1 ! onnxinference model-file=embed.onnx ! ")
    tap.require("gst-launch-1.0", "--quiet", *(source + line).split(), cwd=directory,
                timeout=SECONDS)


def search(directory, embeddings, rng):
    """Searches the nearest embeddings of a gallery, by D and the top-k of each row."""
    gallery = rng.integers(-8, 9, (GALLERY, EMBEDDING)).astype(np.float32)
    np.save(directory / "gallery.npy", gallery)
    d = embeddings @ gallery.T
    launch(directory, "gemmcl input=meta tensor-id=an-embedding weight=gallery.npy "
           f"transpose-weight=true row-outputs=top-k top-k={TOP} ! filesink location=out.f32")
    return np.hstack([d, row_outputs(d, "top-k", TOP)[0]])


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
tap.play({case.__name__: functools.partial(run, case) for case in (search, chain)})
