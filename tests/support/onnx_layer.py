# SPDX-License-Identifier: LGPL-2.1-or-later
"""Models of one layer for GStreamer's onnxinference."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# A file besides the model has the id since GStreamer 1.28; before, the model's metadata has it.
MODELINFO = """[modelinfo]
version=1.0
group-id=embeddings

[frame]
dir=input
type=uint8
dims=1,{height},{width},3
ranges=0.0,255.0

[embedding]
dir=output
id=an-embedding
type=float32
dims=1,{n}
"""


def write_layer(path, layer, width, height):
    """Writes the model of embedding = reshape(float(frame)) layer, for frames of RGB, and the file
    beside it."""
    k, n = layer.shape
    nodes = [helper.make_node("Cast", ["frame"], ["numbers"], to=TensorProto.FLOAT),
             helper.make_node("Reshape", ["numbers", "shape"], ["row"]),
             helper.make_node("MatMul", ["row", "layer"], ["embedding"])]
    frame = helper.make_tensor_value_info("frame", TensorProto.UINT8, [1, height, width, 3])
    embedding = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, n])
    values = [numpy_helper.from_array(np.array([1, k], np.int64), "shape"),
              numpy_helper.from_array(layer, "layer")]
    graph = helper.make_graph(nodes, "embed", [frame], [embedding], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, {"embedding": "an-embedding"})
    onnx.save(model, str(path))
    path.with_name(path.name + ".modelinfo").write_text(
        MODELINFO.format(width=width, height=height, n=n))
