# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A linear layer with ReLU as an ONNX model, and onnxruntime's session for it. The model is written
as the few fields of the protocol buffers that are needed, with the numbers of onnx.proto."""

import onnxruntime

FLOAT = 1
VERSION = onnxruntime.__version__


def _number(value):
    """A varint: seven bits a byte, the lowest first."""
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes(result + bytes([value]))


def _field(tag, value):
    """A field: a number, or text, bytes or a message with their length."""
    if isinstance(value, int):
        return _number(tag << 3) + _number(value)
    value = value.encode() if isinstance(value, str) else value
    return _number(tag << 3 | 2) + _number(len(value)) + value


def _node(operator, inputs, output):
    return b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, operator)


def _constant(name, array):
    sizes = b"".join(_field(1, size) for size in array.shape)
    return sizes + _field(2, FLOAT) + _field(8, name) + _field(9, array.tobytes())


def _variable(name, shape):
    sizes = b"".join(_field(1, _field(1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, sizes)))


def make_layer(b, bias, rows):
    """The bytes of a model of d = max (a b + bias, 0) with that number of rows."""
    depth, columns = b.shape
    graph = (_field(1, _node("Gemm", ("a", "b", "bias"), "sum"))
             + _field(1, _node("Relu", ("sum",), "d"))
             + _field(2, "layer")
             + _field(5, _constant("b", b)) + _field(5, _constant("bias", bias))
             + _field(11, _variable("a", (rows, depth)))
             + _field(12, _variable("d", (rows, columns))))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def make_session(b, bias, rows, threads):
    """A session for that layer, which packs the weights."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(make_layer(b, bias, rows), options,
                                        providers=["CPUExecutionProvider"])
