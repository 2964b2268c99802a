#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ONNX models, made by the onnx package: tensors that the library reads, and `gemmcl import`, whose
lines run in gst-launch-1.0. NumPy is the reference. TAP out."""

import os
import shlex
import shutil
import subprocess
import sys
import unittest

import tool

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"1..0 # SKIP this Python lacks {missing.name} (python3-numpy, python3-onnx)")
    sys.exit(0)

if "without protobuf-c" in tool.run("import", __file__).stderr:
    print("1..0 # SKIP built without protobuf-c (libprotobuf-c-dev, protobuf-c-compiler, "
          "protobuf-compiler)")
    sys.exit(0)

ROWS, SIZES = 3, (12, 8, 5)
SECONDS = 300
TYPES = {
    numpy.float32: (TensorProto.FLOAT, "float_data"),
    numpy.float64: (TensorProto.DOUBLE, "double_data"),
    numpy.int8: (TensorProto.INT8, "int32_data"),
    numpy.uint8: (TensorProto.UINT8, "int32_data"),
    numpy.int16: (TensorProto.INT16, "int32_data"),
    numpy.uint16: (TensorProto.UINT16, "int32_data"),
    numpy.int32: (TensorProto.INT32, "int32_data"),
    numpy.uint32: (TensorProto.UINT32, "uint64_data"),
    numpy.int64: (TensorProto.INT64, "int64_data"),
    numpy.uint64: (TensorProto.UINT64, "uint64_data"),
    numpy.float16: (TensorProto.FLOAT16, "int32_data"),
}


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=output, **attributes)


class Models(tool.FolderTestCase):
    def setUp(self):
        super().setUp()
        self.random = numpy.random.default_rng(11)

    def save_model(self, nodes, tensors, name="m", columns=SIZES[0], output=None, batch=ROWS):
        """Writes a model with the input x. tensors: arrays or TensorProtos by their names."""
        initializers = [numpy_helper.from_array(array, key)
                        if isinstance(array, numpy.ndarray) else array
                        for key, array in tensors.items()]
        graph = helper.make_graph(
            nodes, "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, columns])],
            [helper.make_tensor_value_info(output or (nodes[-1].output[0] if nodes else "x"),
                                           TensorProto.FLOAT, None)],
            initializers)
        path = self.path(f"{name}.onnx")
        with open(path, "wb") as file:
            file.write(helper.make_model(graph).SerializeToString())
        return path

    def numbers(self, *shape):
        return self.random.uniform(-1, 1, shape).astype(numpy.float32)

    def multiply(self, weight):
        """The identity times a tensor that the tool reads: its elements as f32."""
        rows = self.save("identity", numpy.eye(4, dtype=numpy.float32))
        result = self.path("d.npy")
        self.ends(0, "run", rows, weight, "-o", result, "-k", "gemm_naive")
        return numpy.load(result)


class Tensors(Models):
    def check(self, path, array, name="t"):
        expected = array.astype(numpy.float32)
        found = self.multiply(f"{path}#{name}")
        # f32 products with an identity are exact.
        self.assertTrue(numpy.array_equal(found, expected), f"{found}\n{expected}")

    def draw(self, dtype):
        if numpy.issubdtype(dtype, numpy.floating):
            return self.random.uniform(-4, 4, (4, 3)).astype(dtype)
        info = numpy.iinfo(dtype)
        return self.random.integers(info.min, info.max, (4, 3), dtype=dtype, endpoint=True)

    def test_types(self):
        """Elements as bytes, and in the field of their type."""
        for dtype, (number, field) in TYPES.items():
            array = self.draw(dtype)
            typed = TensorProto(name="t", data_type=number, dims=array.shape)
            bits = array.view(numpy.uint16) if dtype == numpy.float16 else array
            getattr(typed, field).extend(bits.flatten().tolist())
            for tensor in array, typed:
                with self.subTest(dtype=dtype.__name__, tensor=type(tensor)):
                    self.check(self.save_model([], {"t": tensor}), array)

    def test_bfloat16(self):
        array = self.draw(numpy.float32)
        bits = (array.view(numpy.uint32) >> 16).astype(numpy.uint16)
        raw = TensorProto(name="t", data_type=TensorProto.BFLOAT16, dims=array.shape,
                          raw_data=bits.tobytes())
        expected = (bits.astype(numpy.uint32) << 16).view(numpy.float32)
        self.check(self.save_model([], {"t": raw}), expected)
        typed = TensorProto(name="t", data_type=TensorProto.BFLOAT16, dims=array.shape,
                            int32_data=bits.flatten().tolist())
        self.check(self.save_model([], {"t": typed}), expected)

    def test_constant(self):
        array = self.draw(numpy.float32)
        constant = node("Constant", [], "value", value=numpy_helper.from_array(array, "unused"))
        self.check(self.save_model([constant], {}), array, "value")

    def external(self, array, **entries):
        tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=array.shape,
                             data_location=TensorProto.EXTERNAL)
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        return self.save_model([], {"t": tensor})

    def test_external(self):
        array = self.draw(numpy.float32)
        os.mkdir(self.path("part"))
        with open(self.path("part/weights.bin"), "wb") as file:
            file.write(b"before" + array.tobytes() + b"after")
        path = self.external(array, location="part/weights.bin", offset="6",
                             length=str(array.nbytes))
        self.check(path, array)
        self.check(self.external(array, location="part/weights.bin", offset="6"), array)
        for entries, message in [
                ({"location": "part/weights.bin", "offset": "20"}, "truncated: expected 48 bytes"),
                ({"location": "part/weights.bin", "offset": "1000"}, "truncated"),
                ({"location": "part/weights.bin", "offset": "6", "length": "40"},
                 "truncated: expected 48 bytes of elements"),
                ({"location": "part/weights.bin", "offset": "6", "length": "1000"},
                 "expected 1000 bytes of external data from byte 6 on, found 53"),
                ({"location": "part/weights.bin", "offset": "-6"}, "an offset and a length"),
                ({"location": "missing.bin"}, "missing.bin: Cannot open"),
                ({"location": self.path("part/weights.bin")}, "below the model's folder"),
                ({"location": "part/../part/weights.bin"}, "below the model's folder"),
                ({}, "below the model's folder")]:
            with self.subTest(entries=entries):
                self.refuses(self.external(array, **entries), message)

    def refuses(self, path, message, name="t"):
        rows = self.save("identity", numpy.eye(4, dtype=numpy.float32))
        done = self.ends(1, "run", rows, f"{path}#{name}", "-o", self.path("d.npy"))
        self.assertIn(message, done.stderr)

    def test_refused(self):
        array = self.draw(numpy.float32)
        path = self.save_model([], {"weight": array, "bias": array[0]})
        self.refuses(path, "found “t”. The file holds weight, bias.")
        self.refuses(path, "found “”. The file holds weight, bias.", "")
        cases = {
            "at most 2 dimensions": numpy_helper.from_array(array.reshape(1, 4, 3), "t"),
            "found the ONNX type 9": numpy_helper.from_array(array > 0, "t"),
            "truncated: expected 48 bytes": TensorProto(
                name="t", data_type=1, dims=[4, 3], raw_data=b"1234"),
            "too long: expected 4 bytes": TensorProto(
                name="t", data_type=1, dims=[1], float_data=[1, 2]),
            "no negative dimension": TensorProto(name="t", data_type=1, dims=[-4, 3]),
            "more than memory can hold": TensorProto(name="t", data_type=1, dims=[2**40, 2**40]),
            "expected 48 bytes of elements (4 x 3 f32), found 0": TensorProto(
                name="t", data_type=1, dims=[4, 3]),
        }
        for message, tensor in cases.items():
            with self.subTest(message=message):
                self.refuses(self.save_model([], {"t": tensor}), message)
        for content in [b"no model", b"\x08\x08", open(path, "rb").read()[:-9]]:
            with self.subTest(content=content[:9]), open(self.path("bad.onnx"), "wb") as file:
                file.write(content)
                file.flush()
                self.refuses(self.path("bad.onnx"), "Expected an ONNX model")


@unittest.skipUnless(shutil.which("gst-launch-1.0"), "gst-launch-1.0 is not installed")
@unittest.skipUnless(os.environ.get("GEMMCL_TEST_PLUGIN"), "built without the plugin")
class Import(Models):
    def run_line(self, path, rows):
        """Runs the line that the tool prints for the model, on the rows. Returns its result."""
        line = self.ends(0, "import", path).stdout.replace("\\\n", " ")
        (open(self.path("input.f32"), "wb")).write(rows.astype(numpy.float32).tobytes())
        environment = dict(os.environ, GST_PLUGIN_PATH=os.environ["GEMMCL_TEST_PLUGIN"],
                           GST_REGISTRY=self.path("registry"))
        done = subprocess.run(shlex.split(line), cwd=self.folder, env=environment, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}")
        return line, numpy.fromfile(self.path("output.f32"), numpy.float32).reshape(len(rows), -1)

    def expect(self, path, expected, rows):
        line, found = self.run_line(path, rows)
        numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        return line

    def test_gemm(self):
        first, bias = self.numbers(SIZES[1], SIZES[0]), self.numbers(SIZES[1])
        second, row = self.numbers(SIZES[1], SIZES[2]), self.numbers(1, SIZES[2])
        path = self.save_model(
            [node("Flatten", ["x"], "flat"),
             node("Gemm", ["flat", "fc1.weight", "fc1.bias"], "sum", transB=1),
             node("Relu", ["sum"], "hidden"),
             node("Gemm", ["hidden", "fc2#weight", "fc2 bias"], "logits", alpha=0.5, beta=0.25),
             node("Softmax", ["logits"], "p")],
            {"fc1.weight": first, "fc1.bias": bias, "fc2#weight": second, "fc2 bias": row},
            "a model's")
        rows = self.numbers(ROWS, SIZES[0])
        logits = 0.5 * numpy.maximum(rows @ first.T + bias, 0) @ second + 0.25 * row
        exponentials = numpy.exp(logits)
        line = self.expect(path, exponentials / exponentials.sum(1, keepdims=True), rows)
        self.assertEqual(line.count("! gemmcl "), 2)

    def test_matmul(self):
        weight, bias = self.numbers(*SIZES[:2]), self.numbers(SIZES[1])
        path = self.save_model(
            [node("MatMul", ["x", "w"], "product"), node("Add", ["b", "product"], "sum"),
             node("Tanh", ["sum"], "y")], {"w": weight, "b": bias})
        rows = self.numbers(ROWS, SIZES[0])
        self.expect(path, numpy.tanh(rows @ weight + bias), rows)

    def test_activations(self):
        weight = self.numbers(*SIZES[:2])
        for op, attributes, name in [
                ("Relu", {}, "relu"), ("LeakyRelu", {}, "leaky-relu"), ("Sigmoid", {}, "sigmoid"),
                ("Tanh", {}, "tanh"), ("Softmax", {"axis": 1}, "softmax"), ("Gelu", {}, "gelu"),
                ("Gelu", {"approximate": "tanh"}, "gelu-tanh"), ("HardSwish", {}, "hard-swish")]:
            with self.subTest(op=op, name=name):
                path = self.save_model([node("MatMul", ["x", "w"], "product"),
                                        node(op, ["product"], "y", **attributes)], {"w": weight})
                line = self.ends(0, "import", path).stdout
                self.assertIn(f" activation={name} ", line)

    def test_refused(self):
        weight, square = self.numbers(*SIZES[:2]), self.numbers(SIZES[0], SIZES[0])
        product = node("MatMul", ["x", "w"], "product")
        cases = [
            ([node("Conv", ["x", "w"], "y")], "node “y” (Conv): expected Gemm"),
            ([product, node("Softmax", ["product"], "y", axis=0)], "(Softmax): expected the last"),
            ([product, node("LeakyRelu", ["product"], "y", alpha=0.2)], "a slope of 0.01"),
            ([product, node("MatMul", ["product", "w"], "y")], "a weight of K = 8"),
            ([node("MatMul", ["w", "x"], "y")], "node “y” (MatMul): expected Gemm"),
            ([node("MatMul", ["x", "x"], "y")], "expected a product with an initializer"),
            ([node("Gemm", ["x", "w"], "y", transA=1)], "that is not transposed"),
            ([node("Relu", ["x"], "y")], "(Relu): expected a product before it"),
            ([product, node("Add", ["product", "w"], "y")], "(Add): expected a product before"),
            ([product, node("Relu", ["product"], "r"), node("Add", ["r", "b"], "y")],
             "(Add): expected a product before"),
            ([product, node("Relu", ["product"], "r"), node("Tanh", ["r"], "y")],
             "without another activation"),
            ([product, helper.make_node("Relu", ["product"], ["y"], domain="com.example")],
             "found one of “com.example”"),
            ([node("MatMul", ["x", "s"], "y"), node("Relu", ["x"], "z")],
             "expected a chain of layers that ends in “z”, not in “y”"),
            ([], "expected a Gemm or MatMul, found none"),
        ]
        tensors = {"w": weight, "b": self.numbers(SIZES[1]), "s": square}
        for nodes, message in cases:
            with self.subTest(message=message):
                done = self.ends(1, "import", self.save_model(nodes, tensors))
                self.assertIn(message, done.stderr)
        self.assertIn("expected an ONNX model", self.ends(1, "import", __file__).stderr)


tool.main()
