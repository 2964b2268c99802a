# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the corpus of fuzz_import, a file for each model. usage: models.py FOLDER"""

import struct
import sys
from pathlib import Path

from protobuf import field, varint

FLOAT, INT64, FLOAT16, DOUBLE = 1, 7, 10, 11  # TensorProto.DataType
FORMATS = {FLOAT: "f", INT64: "q", FLOAT16: "H", DOUBLE: "d"}


def tensor(*dims_and_digits, kind=FLOAT):
    """A function that writes a tensor of a name. Elements are the digits minus 2."""
    *dims, digits = dims_and_digits
    elements = [int(digit) - 2 for digit in digits]
    return lambda name: (repeat(1, dims) + field(2, kind) + field(8, name) * bool(name) + field(
        9, struct.pack(f"<{len(elements)}{FORMATS[kind]}", *elements)))


def integers(*dims_and_digits):
    return tensor(*dims_and_digits, kind=INT64)


def repeat(number, values):
    return b"".join(field(number, value) for value in values)


def halves(*dims):
    """Ones, in a typed field instead of bytes."""
    ones = varint(0x3c00) * dims[0] * dims[1]
    return lambda name: repeat(1, dims) + field(2, FLOAT16) + field(5, ones) + field(8, name)


def external(*dims, **entries):
    return lambda name: (repeat(1, dims) + field(2, FLOAT) + field(8, name) + repeat(
        13, (field(1, key) + field(2, value) for key, value in entries.items())) + field(14, 1))


def write_attribute(name, value):
    if callable(value):
        kind, content = 4, field(5, value(""))
    elif isinstance(value, list):
        kind, number = (7, 8) if isinstance(value[0], int) else (6, 7)
        content = repeat(number, value)
    else:
        kind = {float: 1, int: 2, str: 3}[type(value)]
        content = field(kind + 1, value)
    return field(5, field(1, name) + content + field(20, kind))


def node(text, domain="", **attributes):
    """text: the operator, its inputs, ">" and its outputs"""
    before, after = (part.split() for part in text.split(">"))
    op, *inputs = before
    return (repeat(1, inputs) + repeat(2, after) + field(4, op) +
            b"".join(write_attribute(*each) for each in sorted(attributes.items())) +
            field(7, domain) * bool(domain))


def model(shape, *nodes, outputs="y", opset=17, **tensors):
    dims = b"".join(field(1, field(1 if isinstance(dim, int) else 2, dim)) for dim in shape)
    graph = (repeat(1, (node(each) if isinstance(each, str) else each for each in nodes)) +
             field(2, "") + repeat(5, (write(name) for name, write in tensors.items())) +
             field(11, field(1, "x") + field(2, field(1, field(1, FLOAT) + field(2, dims)))) +
             repeat(12, (field(1, name) + field(2, field(1, field(1, FLOAT)))
                         for name in outputs)))
    return (field(1, 8) + field(2, "") + field(7, graph) +
            field(8, field(1, "") + field(2, opset)))


def replace(content, changes):
    for at, part in changes.items():
        content = content[:at] + part + content[at + len(part):]
    return content


MODELS = {
    "channels-last": model(
        (1, 4, 5, 3), node("Transpose x > t", perm=[0, 3, 1, 2]), "Conv t w > c", "Elu c > e",
        node("Transpose e > n", perm=[0, 2, 3, 1]), "MatMul n v > y",
        w=tensor(2, 3, 1, 2, "211223404213"), v=tensor(2, 2, "2113")),
    "constants": model(
        (2, 2, 4), node("Constant > w", value=tensor(4, 2, "02414141")), "Identity w > v",
        "Reshape x h > r", "MatMul r v > m", "Sigmoid m > y", h=integers(2, "16"), outputs="yz"),
    "convolutions": model(
        (1, 1, 8, 6), node("Conv x w b > c", dilations=[1, 1], kernel_shape=[3, 3], pads=[1] * 4,
                           strides=[2, 2]), "BatchNormalization c b b b v > n", "Clip n z s > r",
        node("MaxPool r > p", kernel_shape=[2, 2], strides=[2, 1]), "Flatten p > f",
        "Gemm f g > h", node("ArgMax h > y", axis=1),
        w=tensor(2, 1, 3, 3, "014203340040201222"), b=tensor(2, "00"), v=tensor(2, "55"),
        z=tensor("2"), s=tensor("8"), g=tensor(8, 3, "323133124441343433140234")),
    "cycle": model((1, 4), "Relu b > a", "Relu a > b", "MatMul a w > y",
                   w=tensor(4, 2, "20430430")),
    "external": model((1, 4), "MatMul x w > m", "BatchNormalization m b b b b > y",
                      w=external(4, 2, location="a.onnx", offset="10"), b=tensor(2, "37")),
    "half": model((1, 4), "MatMul x w > m", "BatchNormalization m b b b b > y", w=halves(4, 2),
                  b=tensor(2, "34", kind=DOUBLE)),
    "normalized-input": model(
        (1, 2, 3, 3), node("BatchNormalization x v v v v > n", epsilon=0.5), "Conv n w > y",
        v=tensor(2, "34"), w=tensor(1, 2, 1, 1, "30")),
    "old": model(
        (1, 4), node("Gemm x w b > g", broadcast=1), node("Add g b > s", axis=1, broadcast=1),
        node("BatchNormalization g b b b v > n", is_test=1, spatial=1), "Tanh n > y",
        w=tensor(4, 2, "21144044"), b=tensor(2, "12"), v=tensor(2, "34"), outputs="sy", opset=6),
    "perceptron": model(
        (1, 4), "Flatten x > f", node("Gemm f w b > g", alpha=0.5, beta=2.0, transB=1),
        "LeakyRelu g > r", "Dropout r > d", "MatMul d v > m", "Add c m > s",
        node("Softmax s > y", axis=1), w=tensor(3, 4, "432110000434"), b=tensor(3, "234"),
        v=tensor(3, 2, "332241"), c=tensor(2, "43")),
    "same": model(
        (1, 1, 4, 4), node("Conv x w > c", auto_pad="SAME_UPPER"), "HardSwish c > r",
        node("AveragePool r > y", kernel_shape=[2, 2]),
        w=tensor(2, 1, 3, 3, "023342224020243143")),
    "scale": model(
        (1, 3, 4, 4), "Sub x m > s", "Div s d > t", "Mul d t > u", "Add u m > v",
        node("Conv v w > c", auto_pad="VALID"), "GlobalAveragePool c > p", "Squeeze p k > q",
        "TopK q n > i y", m=tensor(3, 1, 1, "221"), d=tensor(1, 3, 1, 1, "955"),
        w=tensor(4, 3, 2, 2, "411330014231134003120424331302240403241434034013"),
        k=integers(2, "45"), n=integers(1, "4"), outputs="iy"),
    "scaler": model(
        (1, 4), node("Scaler x > s", "ai.onnx.ml", offset=[1.0, 2.0, 3.0, 4.0], scale=[2.0] * 4),
        node("Cast s > c", to=1), "MatMul c w > m", node("Gelu m > g", approximate="tanh"),
        "Identity g > y", w=tensor(4, 2, "40243222")),
    "silu": model((1, 4), "MatMul x w > m", "Sigmoid m > s", "Mul m s > y",
                  w=tensor(4, 2, "04310030")),
    "view": model(
        ("n", 1, 3, 3), "Conv x w > c", "Shape c > s", "Gather s z > g", "Unsqueeze g o > u",
        node("Concat u r > h", axis=0), "Reshape c h > f", "MatMul f v > y",
        w=tensor(2, 1, 2, 2, "21333440"), z=integers("2"), o=integers(1, "2"), r=integers(1, "1"),
        v=tensor(8, 2, "0034434400404441")),
}
# A damaged copy that broke a reader: a text whose pointer was NULL
MODELS["text-that-is-none"] = replace(MODELS["scale"], {
    100: b"2", 133: b":", 194: b"True", 199: b"'E\xf0", 537: b"\n", 539: b"\x12\1", 542: b"\2"})

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
for name, content in MODELS.items():
    (folder / name).write_bytes(content)
