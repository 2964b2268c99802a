#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs pipelines of GStreamer's onnxinference and the element, and compares with NumPy. TAP out.

The model, made here, is a layer that makes an embedding of a frame; the element multiplies the
tensor that onnxinference attaches. All numbers are so small that sums in float32 are exact.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"1..0 # SKIP {missing.name} is not installed (python3-{missing.name})")
    sys.exit(0)

ELEMENTS = ["rawvideoparse", "onnxinference"]
SECONDS = 300
FRAMES, WIDTH, HEIGHT = 7, 8, 4
K = WIDTH * HEIGHT * 3
EMBEDDING, GALLERY, TOP = 6, 20, 3
# Besides the model, since GStreamer 1.28; before, the model's metadata has the id.
MODELINFO = f"""[modelinfo]
version=1.0
group-id=embeddings

[frame]
dir=input
type=uint8
dims=1,{HEIGHT},{WIDTH},3
ranges=0.0,255.0

[embedding]
dir=output
id=an-embedding
type=float32
dims=1,{EMBEDDING}
"""


def write_model(path, layer):
    """Writes embedding = reshape(float(frame)) layer."""
    nodes = [helper.make_node("Cast", ["frame"], ["numbers"], to=TensorProto.FLOAT),
             helper.make_node("Reshape", ["numbers", "shape"], ["row"]),
             helper.make_node("MatMul", ["row", "layer"], ["embedding"])]
    frame = helper.make_tensor_value_info("frame", TensorProto.UINT8, [1, HEIGHT, WIDTH, 3])
    embedding = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, EMBEDDING])
    values = [numpy_helper.from_array(np.array([1, K], np.int64), "shape"),
              numpy_helper.from_array(layer, "layer")]
    graph = helper.make_graph(nodes, "embed", [frame], [embedding], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, {"embedding": "an-embedding"})
    onnx.save(model, str(path))
    path.with_name(path.name + ".modelinfo").write_text(MODELINFO)


def launch(directory, line):
    """Runs gst-launch-1.0. Returns what went wrong, or None."""
    source = (f"filesrc location=in.rgb ! rawvideoparse format=rgb width={WIDTH} height={HEIGHT} "
              "framerate=10/1 ! onnxinference model-file=embed.onnx ! ")
    done = subprocess.run(["gst-launch-1.0", "--quiet", *(source + line).split()], cwd=directory,
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    return None if done.returncode == 0 else done.stdout + done.stderr


def search(directory, embeddings, rng):
    """The nearest of a gallery: D and top-k of each row of it."""
    gallery = rng.integers(-8, 9, (GALLERY, EMBEDDING)).astype(np.float32)
    np.save(directory / "gallery.npy", gallery)
    d = embeddings @ gallery.T
    order = np.argsort(-d, axis=1, kind="stable")[:, :TOP]
    wrong = launch(directory, "gemmcl input=meta tensor-id=an-embedding weight=gallery.npy "
                   f"transpose-weight=true row-outputs=top-k top-k={TOP} "
                   "! filesink location=out.f32")
    return np.hstack([d, np.take_along_axis(d, order, 1), order]), wrong


def chain(directory, embeddings, rng):
    """The frame passes with the first result, which is A of another element."""
    first = rng.integers(-8, 9, (EMBEDDING, 5)).astype(np.float32)
    second = rng.integers(-2, 3, (5, 3)).astype(np.float32)
    np.save(directory / "first.npy", first)
    np.save(directory / "second.npy", second)
    wrong = launch(directory, "gemmcl input-tensor-id=an-embedding output=meta tensor-id=hidden "
                   "weight=first.npy ! gemmcl input=meta tensor-id=hidden weight=second.npy "
                   "! filesink location=out.f32")
    return embeddings @ first @ second, wrong


def run(case):
    """Returns what went wrong, or None."""
    rng = np.random.default_rng(20261123)
    frames = rng.integers(0, 32, (FRAMES, K)).astype(np.uint8)
    layer = (rng.integers(-4, 5, (K, EMBEDDING)) / 4).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_model(directory / "embed.onnx", layer)
        (directory / "in.rgb").write_bytes(frames.tobytes())
        expected, wrong = case(directory, frames.astype(np.float64) @ layer, rng)
        if wrong:
            return wrong
        found = np.fromfile(directory / "out.f32", np.float32)
    if found.size != expected.size:
        return f"{found.size} numbers, expected {expected.size}"
    off = np.abs(found.reshape(expected.shape) - expected)
    return None if (off <= 1e-5 * np.abs(expected)).all() else f"off by {off.max()}"


def main():
    absent = [name for name in ELEMENTS
              if subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode]
    inspected = subprocess.run(["gst-inspect-1.0", "gemmcl"], capture_output=True, text=True,
                               check=False).stdout
    if absent:
        print(f"1..0 # SKIP there is no element {', '.join(absent)}")
        return 0
    if "lacks gstreamer-analytics" in inspected:
        print("1..0 # SKIP built without gstreamer-analytics-1.0 (1.26)")
        return 0
    cases = [search, chain]
    failed = False
    print(f"1..{len(cases)}", flush=True)
    for number, case in enumerate(cases, 1):
        wrong = run(case)
        failed = failed or wrong is not None
        print(f"{'ok' if wrong is None else 'not ok'} {number} {case.__name__}", flush=True)
        for line in (wrong or "").splitlines():
            print(f"# {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
