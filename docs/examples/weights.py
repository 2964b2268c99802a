#!/usr/bin/env python3
# gemmcl: weights from NumPy, replaced while playing; row outputs read without a copy.
# SPDX-License-Identifier: LGPL-2.1-or-later
from contextlib import contextmanager

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("Gemmcl", "1.0")
from gi.repository import Gemmcl, Gst  # noqa: E402

ROWS, FEATURES, CLASSES = 4, 64, 10
CAPS = (
    "other/tensors,format=static,num_tensors=1,types=float32,"
    f"dimensions=(string){FEATURES}:{ROWS},framerate=30/1"
)
PIPELINE = f"""
    appsrc name=source format=time caps={CAPS}
    ! gemmcl name=layer row-outputs=max+arg-max
    ! appsink name=sink"""


def make_matrix(values):
    """Returns a GemmclMatrix with a copy of the array. The element then shares the matrix."""
    values = np.ascontiguousarray(values, np.float32)
    return Gemmcl.Matrix.new(Gemmcl.Type.F32, *values.shape, values.ctypes.data)


@contextmanager
def mapped(memory, columns):
    """Yields the rows of a tensor without a copy. They are valid inside the with block."""
    with memory.map(Gst.MapFlags.READ) as info:
        yield np.frombuffer(info.data, np.float32).reshape(-1, columns)


def run(pipeline):
    source, layer, sink = map(pipeline.get_by_name, ("source", "layer", "sink"))
    frame = np.arange(ROWS * FEATURES, dtype=np.float32) % 7
    generator = np.random.default_rng(1)
    for number in range(3):
        weight = generator.integers(-4, 5, (FEATURES, CLASSES))
        layer.set_property("weight-boxed", make_matrix(weight))
        pipeline.set_state(Gst.State.PLAYING)
        source.emit("push-buffer", Gst.Buffer.new_wrapped(frame.tobytes()))
        sample = sink.emit("pull-sample")
        if sample is None:
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise SystemExit(message.parse_error()[0].message)
        # The first memory is the result, the second one its row outputs.
        with mapped(sample.get_buffer().peek_memory(1), 2) as outputs:
            for largest, column in outputs:
                print(f"weight {number}: class {column:.0f} with {largest:.0f}")


def play(line, use):
    """Calls a function with the pipeline of a line, and stops that afterwards."""
    Gst.init(None)
    pipeline = Gst.parse_launch(line)
    try:
        use(pipeline)
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    play(PIPELINE, run)
