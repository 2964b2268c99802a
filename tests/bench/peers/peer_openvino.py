# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""openvino, with MatMul, Add and Relu. A and D stay in the same memory, as with gemmcl."""

import sys

from process import main


def prepare(layer):
    """A compiled model, with the weights packed, and a request with its input and output set."""
    # pylint: disable=import-outside-toplevel
    import openvino
    from openvino import opset8

    a = opset8.parameter(layer.a.shape, openvino.Type.f32)
    product = opset8.matmul(a, opset8.constant(layer.b), False, False)
    d = opset8.relu(opset8.add(product, opset8.constant(layer.bias)))
    # Otherwise openvino uses bf16 on some CPUs.
    compiled = openvino.Core().compile_model(openvino.Model([d], [a]), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": layer.threads})
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(layer.a, shared_memory=True))
    request.set_output_tensor(openvino.Tensor(layer.d, shared_memory=True))
    about = f"openvino {openvino.__version__.split('-')[0]}, threads: {layer.threads}"

    def run():
        # Without the conversions of request.infer().
        request.start_async()
        request.wait()
    return about, run


sys.exit(main(prepare))
