# SPDX-License-Identifier: LGPL-2.1-or-later
"""ONNX models, made by the onnx package: tensors that the library reads, and `gemmcl import`, whose
lines run in gst-launch-1.0. NumPy is the reference. TAP out."""

import os
import re
import shutil
import tempfile
from pathlib import Path

import tool
from onnx_models import PRODUCT, ROWS, SIZES, LaunchTestCase, Models, node

import numpy
from onnx import TensorProto, helper, numpy_helper

DTYPES = "float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()


class Tensors(Models):
    def run_with(self, status, weight):
        """Runs the tool with the identity times the weight; the result, which is in d.npy."""
        rows = self.save("identity", numpy.eye(4, dtype=numpy.float32))
        return self.ends(status, "run", rows, weight, "-o", self.path("d.npy"), "-k", "gemm_naive")

    def check(self, tensors, expected, name="t", nodes=()):
        self.run_with(0, f"{self.save_model(nodes, tensors)}#{name}")
        # f32 products with an identity are exact.
        numpy.testing.assert_array_equal(numpy.load(self.path("d.npy")),
                                         expected.astype(numpy.float32))

    def refused(self, path, message, name="t"):
        self.assertIn(message, self.run_with(1, f"{path}#{name}").stderr)

    def draw(self, dtype="float32"):
        if numpy.issubdtype(dtype, numpy.floating):
            return self.random.uniform(-4, 4, (4, 3)).astype(dtype)
        info = numpy.iinfo(dtype)
        return self.random.integers(info.min, info.max, (4, 3), dtype=dtype, endpoint=True)

    def tensor(self, data_type, dims, **fields):
        return TensorProto(name="t", data_type=data_type, dims=dims, **fields)

    def test_types(self):
        for dtype in DTYPES:
            array = self.draw(dtype)
            number = numpy_helper.from_array(array).data_type
            typed = helper.make_tensor("t", number, array.shape, array.flatten().tolist())
            for tensor in array, typed:
                with self.subTest(dtype=dtype, tensor=type(tensor)):
                    self.check({"t": tensor}, array)
        bits = (self.draw().view(numpy.uint32) >> 16).astype(numpy.uint16)
        for fields in {"raw_data": bits.tobytes()}, {"int32_data": bits.flatten().tolist()}:
            with self.subTest(fields=fields):
                self.check({"t": self.tensor(TensorProto.BFLOAT16, bits.shape, **fields)},
                           (bits.astype(numpy.uint32) << 16).view(numpy.float32))

    def test_constant(self):
        array = self.draw()
        constant = node("Constant", [], "value", value=numpy_helper.from_array(array, "unused"))
        self.check({}, array, "value", [constant])

    def external(self, **entries):
        tensor = self.tensor(TensorProto.FLOAT, (4, 3), data_location=TensorProto.EXTERNAL)
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        return {"t": tensor}

    def test_external(self):
        array, weights = self.draw(), "part/weights.bin"
        os.mkdir(self.path("part"))
        Path(self.path(weights)).write_bytes(b"before" + array.tobytes() + b"after")
        for length in {"length": str(array.nbytes)}, {}:
            self.check(self.external(location=weights, offset="6", **length), array)
        # As a download cache has it: a link to a file elsewhere
        with tempfile.TemporaryDirectory() as elsewhere:
            blob = os.path.join(elsewhere, "blob")
            Path(blob).write_bytes(array.tobytes())
            os.symlink(blob, self.path("linked.bin"))
            self.check(self.external(location="linked.bin"), array)
        below = "below the model's folder"
        for entries, message in (
            ({"location": weights, "offset": "20"}, "truncated: expected 48 bytes"),
            ({"location": weights, "offset": "1000"}, "truncated"),
            ({"location": weights, "offset": "6", "length": "40"},
             "truncated: expected 48 bytes of elements"),
            ({"location": weights, "offset": "6", "length": "1000"},
             "expected 1000 bytes of external data from byte 6 on, found 53"),
            ({"location": weights, "offset": "-6"}, "an offset and a length"),
            ({"location": "missing.bin"}, "missing.bin: Cannot open"),
            ({"location": self.path(weights)}, below), ({"location": f"part/../{weights}"}, below),
            ({}, below),
        ):
            with self.subTest(entries=entries):
                self.refused(self.save_model([], self.external(**entries)), message)

    def test_refused(self):
        array = self.draw()
        path = self.save_model([], {"weight": array, "bias": array[0]}, "good")
        self.run_with(0, self.save_model([], {"weight": array}, "one"))
        self.refused(path, "found “t”. The file holds weight, bias.")
        self.refused(path, "found “”. The file holds weight, bias.", "")
        for message, tensor in {
            "at most 2 dimensions": numpy_helper.from_array(array.reshape(1, 4, 3), "t"),
            "found the ONNX type 9": numpy_helper.from_array(array > 0, "t"),
            "truncated: expected 48 bytes": self.tensor(1, [4, 3], raw_data=b"1234"),
            "too long: expected 4 bytes": self.tensor(1, [1], float_data=[1, 2]),
            "no negative dimension": self.tensor(1, [-4, 3]),
            "more than memory can hold": self.tensor(1, [2**40, 2**40]),
            "expected 48 bytes of elements (4 x 3 f32), found 0": self.tensor(1, [4, 3]),
        }.items():
            with self.subTest(message=message):
                self.refused(self.save_model([], {"t": tensor}), message)
        bad = Path(self.path("bad.onnx"))
        for content in b"no model", b"\x08\x08", Path(path).read_bytes()[:-9]:
            with self.subTest(content=content[:9]):
                bad.write_bytes(content)
                self.refused(bad, "Expected an ONNX model")


class Messages(Models):
    """Messages of `gemmcl import` about models that are not what they should be."""

    def test_names(self):
        """Names of a model are quoted in part, without characters that change a terminal."""
        for name in "7" * 100000, "é" * 30000, "a\x1b[31m\a\r\n\x7f\u202eb":
            for nodes in ([node("Relu", ["x"], name)], [node(name, ["x"], "y")],
                          [helper.make_node("Relu", ["x"], ["y"], domain=name)],
                          [node("Relu", ["none"], name)]):
                said = self.ends(1, "import", self.save_model(nodes, {})).stderr
                self.assertLessEqual(len(said.encode()), 1024)
                self.assertTrue(said.rstrip("\n").isprintable(), said)
        name = "\x1b[31mred"
        path = self.save_model([node("MatMul", ["x", "w"], name), node("Shape", [name], "y")],
                               {"w": self.weight}, outputs=["y", name])
        self.assertIn("the output “\\x1b[31mred”, one of 2", self.ends(0, "import", path).stderr)

    def test_first_output(self):
        """If gemmcl computes no output, the message is about the first one."""
        self.declines("expected the last axis", [
            PRODUCT, node("Softmax", ["p"], "odds", axis=0),
            node("ArgMax", ["p"], "label", axis=0)], {"w": self.weight}, outputs=["odds", "label"])

    def test_suffix(self):
        """Elements know a model by its suffix, in capitals, too."""
        path = self.save_model([PRODUCT], {"w": self.weight})
        shutil.copy(path, self.path("m.ONNX"))
        shutil.copy(path, self.path("m"))
        self.ends(0, "import", self.path("m.ONNX"))
        self.ends(0, "run", self.path("m.ONNX"), self.save("x", self.rows), "-o",
                  self.path("d.npy"))
        self.refuses(1, "node “p” .MatMul.: expected a model whose name ends in .onnx",
                     "import", self.path("m"))

    def test_columns(self):
        """Rows of the input fit the first product."""
        self.declines(f"node “p” .MatMul.: expected rows of {SIZES[0]} numbers, found an input "
                      "of the model with 1", [PRODUCT], {"w": self.weight}, shape=(ROWS, 1))
        for shape in (ROWS, "n"), ("n", SIZES[0]), None:
            self.ends(0, "import", self.save_model([PRODUCT], {"w": self.weight}, shape=shape))

    def test_unprintable(self):
        """A name that gst-launch could not read back from the line."""
        for name in "a\nb", "a\tb", "a\\":
            self.declines("without control characters, and without a backslash at the end",
                          [node("MatMul", ["x", name], "y")], {name: self.weight})
        path = self.save_model(*self.normalized())
        self.refuses(1, r"without control characters.*/a\\nb/m\.safetensors#", "import", path, "-o",
                     self.path("a\nb"))
        self.assertFalse(os.path.exists(self.path("a\nb")))

    def test_locale(self):
        """Names are printed as they are, in a locale without their characters, too."""
        path = self.save_model([node("MatMul", ["x", "wé"], "y")], {"wé": self.weight}, "modèle")
        self.assertIn("modèle.onnx#wé'", self.ends(0, "import", path, LC_ALL="C").stdout)

    def test_no_file(self):
        """A pipe without a writer and a device without an end are not read."""
        os.mkfifo(self.path("pipe.onnx"))
        for path in self.path("pipe.onnx"), "/dev/zero", self.folder:
            self.refuses(1, "expected a file, found a directory, pipe", "import", path)
        self.refuses(1, "No such file", "import", self.path("none.onnx"))


class Import(LaunchTestCase):
    def test_gemm(self):
        first, bias = self.make(SIZES[1], SIZES[0]), self.make(SIZES[1])
        second, row = self.make(SIZES[1], SIZES[2]), self.make(1, SIZES[2])
        path = self.save_model(
            [node("Flatten", ["x"], "flat"),
             node("Gemm", ["flat", "fc1.weight", "fc1.bias"], "sum", transB=1),
             node("Relu", ["sum"], "hidden"),
             node("Gemm", ["hidden", "fc2#weight", "fc2 bias"], "logits", alpha=0.5, beta=0.25),
             node("Softmax", ["logits"], "p")],
            {"fc1.weight": first, "fc1.bias": bias, "fc2#weight": second, "fc2 bias": row},
            "a model's")
        logits = 0.5 * numpy.maximum(self.rows @ first.T + bias, 0) @ second + 0.25 * row
        exponentials = numpy.exp(logits)
        line = self.expect(path, exponentials / exponentials.sum(1, keepdims=True), self.rows)
        self.assertEqual(line.count("! gemmcl "), 2)
        # A C that beta leaves out may have any shape.
        path = self.save_model([node("Gemm", ["x", "w", "w"], "y", beta=0.0)], {"w": first.T})
        self.assertNotRegex(self.ends(0, "import", path).stdout, "bias=|addend=")

    def test_matmul(self):
        path = self.save_model(
            [PRODUCT, node("Add", ["b", "p"], "sum"), node("Tanh", ["sum"], "y")],
            {"w": self.weight, "b": self.bias})
        self.expect(path, numpy.tanh(self.rows @ self.weight + self.bias), self.rows)

    def test_activations(self):
        for op, attributes, name in [
                ("Relu", {}, "relu"), ("LeakyRelu", {}, "leaky-relu"), ("Sigmoid", {}, "sigmoid"),
                ("Tanh", {}, "tanh"), ("Softmax", {"axis": 1}, "softmax"), ("Gelu", {}, "gelu"),
                ("Gelu", {"approximate": "tanh"}, "gelu-tanh"), ("HardSwish", {}, "hard-swish")]:
            with self.subTest(op=op, name=name):
                path = self.save_model([PRODUCT, node(op, ["p"], "y", **attributes)],
                                       {"w": self.weight})
                line = self.ends(0, "import", path).stdout
                self.assertIn(f" activation={name} ", line)

    def test_silu(self):
        """x Sigmoid (x), but no other product of two values."""
        def model(factor):
            return [PRODUCT, factor, node("Mul", ["p", "s"], "y")], {"w": self.weight}
        product = self.rows @ self.weight
        line = self.expect(self.save_model(*model(node("Sigmoid", ["p"], "s"))),
                           product / (1 + numpy.exp(-product)), self.rows)
        self.assertIn(" activation=silu ", line)
        for wrong in node("Tanh", ["p"], "s"), node("Sigmoid", ["x"], "s"):
            self.declines("node “y” .Mul.: expected the model's input", *model(wrong))

    def test_softmax(self):
        """Softmax over the last axis alone, in models of two and of three dimensions."""
        tensors = {"w": self.weight, "b": self.bias[None]}
        product, three, four = PRODUCT, (2, 3, 12), (2, 3, 4, 12)
        flat = [node("Flatten", ["x"], "f"), node("MatMul", ["f", "w"], "p")]
        row = [product, node("Add", ["p", "b"], "s")]
        for right, nodes, shape, opset, attributes in [
            (True, [product], (3, 12), 11, {}), (True, [product], (3, 12), 17, {}),
            (True, [product], (3, 12), 17, {"axis": 1}), (True, [product], three, 17, {}),
            (True, [product], three, 17, {"axis": 2}), (True, [product], three, 11, {"axis": 2}),
            (True, [product], three, 11, {"axis": -1}), (True, [product], None, 17, {}),
            (True, flat, (3, 3, 4), 11, {}), (True, row, (12,), 11, {}),
            (False, [product], three, 11, {}), (False, [product], three, 17, {"axis": 1}),
            (False, [product], three, 11, {"axis": 1}), (False, [product], three, 17, {"axis": 0}),
            (False, [product], four, 17, {"axis": 1}), (False, [product], four, 17, {"axis": -2}),
            (False, [product], (12,), 11, {}), (False, [product], None, 11, {}),
            (False, [product], None, 17, {"axis": 1}), (False, [product], (3, 12), 17, {"axis": 0}),
        ]:
            with self.subTest(right=right, shape=shape, opset=opset, **attributes):
                path = self.save_model(
                    [*nodes, node("Softmax", [nodes[-1].output[0]], "y", **attributes)], tensors,
                    shape=shape, opset=opset)
                done = self.ends(0 if right else 1, "import", path)
                if not right:
                    self.assertIn("node “y” (Softmax): expected the last axis", done.stderr)
        path = self.save_model([product, node("Softmax", ["p"], "y", axis=2)], tensors, shape=three)
        rows = self.make(*three)
        exponentials = numpy.exp(rows @ self.weight)
        self.expect(path, exponentials / exponentials.sum(2, keepdims=True), rows)

    def test_attributes(self):
        """An attribute is honoured or refused, whatever the operator and its version."""
        modes = {f"{name} mode": numpy.array(value) for name, value in
                 (("training", True), ("testing", False))}
        tensors = {"w": self.weight, "b": self.bias, "i": numpy.ones(SIZES[:2], numpy.int32),
                   "ratio": numpy.array(0.5, numpy.float32), "shape": numpy.array([-1]), **modes}
        product, last = PRODUCT, "(Softmax): expected the rows"
        training, three = "that is not in training mode", {"shape": (2, 3, 12)}
        unknown = "gemmcl does not know the attribute “"
        drop = ["p", "ratio"]
        for why, nodes, details in [
            ("", [product, node("Add", ["p", "b"], "y", axis=1, broadcast=1)], {"opset": 6}),
            ("the last axis", [product, node("Add", ["p", "b"], "y", axis=0, broadcast=1)],
             {"opset": 6}),
            ("the last axis", [product, node("Add", ["p", "b"], "y", axis=1, broadcast=1)],
             {"opset": 6, **three}),
            ("", [product, node("Gelu", ["p"], "y", approximate="none")], {}),
            ("none or tanh", [product, node("Gelu", ["p"], "y", approximate="erf")], {}),
            (unknown + "alpha", [node("MatMul", ["x", "w"], "y", alpha=2.0)], {}),
            (unknown + "axis", [product, node("Tanh", ["p"], "y", axis=1)], {}),
            ("floating-point numbers", [node("MatMul", ["x", "i"], "y")], {}),
            ("", [product, node("Dropout", ["p"], "y", ratio=0.3)], {"opset": 7}),
            ("", [product, node("Dropout", ["p"], "y", is_test=1)], {"opset": 6}),
            (training, [product, node("Dropout", ["p"], "y", is_test=0)], {"opset": 6}),
            (training, [product, node("Dropout", ["p"], "y")], {"opset": 6}),
            ("", [product, node("Dropout", drop, "y", seed=1)], {}),
            ("", [product, node("Dropout", [*drop, ""], "y")], {}),
            ("", [product, node("Dropout", [*drop, "testing mode"], "y")], {}),
            (training, [product, node("Dropout", [*drop, "training mode"], "y")], {}),
            (training, [product, node("Dropout", [*drop, "unknown"], "y")], {}),
            ("", [product, node("Flatten", ["p"], "f"), node("Softmax", ["f"], "y")], {}),
            ("", [product, node("Flatten", ["p"], "y", axis=0)], three),
            (last, [product, node("Flatten", ["p"], "f"), node("Softmax", ["f"], "y")], three),
            (last, [product, node("Flatten", ["p"], "f", axis=0), node("Softmax", ["f"], "y")], {}),
            (last, [product, node("Reshape", ["p", "shape"], "f"), node("Softmax", ["f"], "y")],
             {}),
            ("found the ONNX type 7", [product, node("Cast", ["p"], "y", to=7)], {}),
            ("found the ONNX type 10", [node("Cast", ["x"], "c", to=10),
                                        node("MatMul", ["c", "w"], "y")], {}),
        ]:
            with self.subTest(why=why, nodes=[each.op_type for each in nodes], **details):
                path = self.save_model(nodes, tensors, **details)
                self.assertIn(why, self.ends(1 if why else 0, "import", path).stderr)

    def test_scikit_learn(self):
        """The graphs of skl2onnx: a classifier with labels that gemmcl ignores, and a regressor."""
        column = self.make(SIZES[1], 1)
        tensors = {"w": self.weight, "b": self.bias, "c": column, "shape": numpy.array([-1, 1])}
        layer = [node("Cast", ["x"], "cast", to=TensorProto.FLOAT),
                 node("MatMul", ["cast", "w"], "product"), node("Add", ["product", "b"], "sum")]
        sums = self.rows @ self.weight + self.bias
        path = self.save_model([*layer, node("Shape", ["sum"], "label"),
                                node("Sigmoid", ["sum"], "p"), node("Identity", ["p"], "odds")],
                               tensors, outputs=["label", "odds"])
        self.expect(path, 1 / (1 + numpy.exp(-sums)), self.rows)
        self.assertIn("computes the output “odds”, one of 2", self.ends(0, "import", path).stderr)
        path = self.save_model([*layer, node("Relu", ["sum"], "r"), node("MatMul", ["r", "c"], "m"),
                                node("Reshape", ["m", "shape"], "s"),
                                node("Cast", ["s"], "y", to=TensorProto.DOUBLE)], tensors)
        self.expect(path, numpy.maximum(sums, 0) @ column, self.rows)

    def test_scaler(self):
        """Scaler, which is of scikit-learn's StandardScaler, has numbers or lists."""
        means, factors = self.make(SIZES[0]), self.make(SIZES[0]) + numpy.float32(2)

        def save(offset, scale, **details):
            scaler = helper.make_node("Scaler", ["x"], ["s"], "scaler", offset=[0.0], scale=scale,
                                      **{"domain": "ai.onnx.ml", **details})
            # make_node () of onnx 1.20 takes no empty list.
            scaler.attribute[0].floats[:] = offset
            return self.save_model([scaler, node("MatMul", ["s", "w"], "y")], {"w": self.weight})

        for offset, scale in (means, factors), ([2.0], factors), ([2.0], [0.5]):
            a = (self.rows - numpy.float32(offset)) * numpy.float32(scale)
            self.expect(save(offset, scale), a @ self.weight, self.rows)
        for message, *arguments in (("expected an offset and a scale", means[:3], factors),
                                    ("expected an offset and a scale", [], factors),
                                    ("offset of the input for each", means[:8], [1.0]),
                                    ("finite numbers", [1e38], [1e38])):
            self.refuses(1, message, "import", save(*arguments))
        self.refuses(1, "found one of “x”", "import", save([1.0], [1.0], domain="x"))

    def test_equal_tensors(self):
        """PyTorch stores equal tensors once, with an Identity for each other name."""
        constant = node("Constant", [], "c", value=numpy_helper.from_array(self.bias, "t"))
        path = self.save_model(
            [node("Identity", ["w"], "v"), constant, node("Identity", ["c"], "b"),
             node("MatMul", ["x", "v"], "p"), node("Add", ["p", "b"], "y")], {"w": self.weight})
        line = self.expect(path, self.rows @ self.weight + self.bias, self.rows)
        self.assertRegex(line, "onnx#w.*onnx#c")

    def test_run(self):
        """The options of `gemmcl run` for a network: other inputs and options are refused."""
        path = self.save_model([PRODUCT], {"w": self.weight})
        arguments = ["run", path, self.save("x", self.rows), "-o", self.path("d.npy")]
        errors = []
        for kernel in "gemm_naive", "xmx_f16_8x1_1x16", "vector_i8_1x64_1x1":
            self.ends(0, *arguments, "-k", kernel)
            d = numpy.load(self.path("d.npy"))
            errors.append(numpy.abs(d - self.rows @ self.weight).max())
        self.assertTrue(errors[0] < 1e-5 < errors[1] < 1e-2 and 1e-4 < errors[2] < 0.1, errors)
        self.ends(0, *arguments, "--precision", "i8")
        for option in ("--alpha", "2"), ("--bias", "[1]"), ("-c", "[1]"), ("--top-k", "2"), \
                ("--activation", "relu"), ("--transpose-a",), ("-r", "r.npy"), \
                ("--transpose-b",), ("--normalize", "input"):
            with self.subTest(option=option):
                self.refuses(2, "is a network, which takes -o", *arguments, *option)
        self.refuses(1, "expected rows of 12 elements, each of them an input, found rows of 8",
                     "run", path, self.save("x", self.weight), "-o", "d.npy")
        self.refuses(1, "at most 2 dimensions", "run", path,
                     self.save("x", self.make(2, 3, 12)), "-o", "d.npy")

    def test_names(self):
        """Characters that mean something to the shell, or to the parser of gst-launch."""
        for name in "back\\slash", "\\\\a\\ b", 'a"quote', "a'b c", "$HOME `x`", "a!b":
            with self.subTest(name=name):
                path = self.save_model([node("MatMul", ["x", name], "y")], {name: self.weight})
                self.expect(path, self.rows @ self.weight, self.rows)

    def test_list(self):
        """A model or a folder whose path begins as a list, a URI or a quoted text does."""
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for name in "[m]", " [[1", "File:m", "'m", '"m':
            with self.subTest(name=name):
                self.save_model([PRODUCT], {"w": self.weight}, name)
                self.expect(f"{name}.onnx", self.rows @ self.weight, self.rows)
                self.launch(self.save_model(*self.normalized()), self.rows @ self.weight, self.rows,
                            folder=name)

    def test_refused(self):
        for nodes, message in [
            ([node("Exp", ["x"], "y")], "node “y” (Exp): expected Gemm"),
            ([PRODUCT, node("Softmax", ["p"], "y", axis=0)], "(Softmax): expected the last"),
            ([PRODUCT, node("LeakyRelu", ["p"], "y", alpha=0.2)], "an alpha of 0.01"),
            ([PRODUCT, node("MatMul", ["p", "w"], "y")], "a weight of K = 8"),
            ([node("MatMul", ["w", "x"], "y")], "“y”, found one that begins with “w”"),
            ([node("Relu", ["z"], "y")], "“y”, found one that begins with “z”"),
            ([node("MatMul", ["x", "x"], "y")], "expected a product with an initializer"),
            ([node("Gemm", ["x", "w"], "y", transA=1)], "that is not transposed"),
            ([node("Relu", ["x"], "y")], "(Relu): expected a product before it"),
            ([PRODUCT, node("Add", ["p", "w"], "y")], "(Add): expected a product before"),
            ([PRODUCT, node("Relu", ["p"], "r"), node("Add", ["r", "b"], "y")],
             "(Add): expected a product before"),
            ([PRODUCT, node("Relu", ["p"], "r"), node("Tanh", ["r"], "y")],
             "without another activation"),
            ([PRODUCT, helper.make_node("Relu", ["p"], ["y"], domain="com.example")],
             "found one of “com.example”"),
            ([node("MatMul", ["x", "s"], "y"), node("Relu", ["x"], "z")],
             "node “z” (Relu): expected a product before it"),
            ([], "expected a Gemm, MatMul or Conv, found none"),
        ]:
            with self.subTest(message=message):
                self.declines(re.escape(message), nodes, {
                    "w": self.weight, "b": self.bias, "s": self.make(SIZES[0], SIZES[0])})
        self.assertIn("expected an ONNX model", self.ends(1, "import", __file__).stderr)


tool.main()
