# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""onnxruntime, with Gemm and Relu. A and D stay in the same memory, as with gemmcl."""

import sys

from onnx_model import make_layer
from process import main


def prepare(layer):
    """A session, which packs the weights, and its bound input and output."""
    import onnxruntime  # pylint: disable=import-outside-toplevel

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = layer.threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(make_layer(layer.b, layer.bias, len(layer.a)), options,
                                           providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for bind, name, array in ((binding.bind_input, "a", layer.a),
                              (binding.bind_output, "d", layer.d)):
        bind(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    about = f"onnxruntime {onnxruntime.__version__}, threads: {layer.threads}"
    return about, lambda: session.run_with_iobinding(binding)


sys.exit(main(prepare))
