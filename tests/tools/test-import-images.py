# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl import` of networks for images. The lines run in gst-launch-1.0; the reference is NumPy
and, where `eval "$(scripts/maintain/peers.sh --env)"` has fetched it, onnxruntime. TAP out."""

import contextlib
import os
import pathlib
import sys

import tool
from numpy_gemm import features
from onnx_models import LaunchTestCase, node

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

onnxruntime = None
if os.environ.get("GEMMCL_PEERS"):
    sys.path.append(os.environ["GEMMCL_PEERS"] + "/python")
    with contextlib.suppress(ImportError):
        import onnxruntime

SHAPE = (1, 3, 9, 7)
UNKNOWN = "expected Gemm, MatMul, Conv"


def conv(x, w, b=0, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), **_):
    how = w.shape[:1:-1], strides[0], pads[0], dilations[0]
    rows = x.shape[2] + 2 * pads[0] - dilations[0] * (w.shape[2] - 1)  # at which a patch begins
    y = [features(image.transpose(1, 2, 0), "patch", *how) @ w.transpose(2, 3, 1, 0).reshape(
        -1, len(w)) + b for image in x]
    return numpy.reshape(y, (len(x), -(-rows // strides[0]), -1, len(w))).transpose(0, 3, 1, 2)


def normalize(x, scale, bias, mean, variance, epsilon=1e-5):
    by = (1, -1) + (1,) * (x.ndim - 2)
    return ((x - mean.reshape(by)) / numpy.sqrt(variance.reshape(by) + epsilon) * scale.reshape(by)
            + bias.reshape(by))


def softmax(x, axis=-1):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def gemm(x, w, c=0, transB=0, alpha=1, beta=1):
    return alpha * x @ (w.T if transB else w) + beta * c


def pool(x, reduce, kernel_shape=None, strides=(1, 1), **_):
    down, across = kernel_shape or x.shape[2:]
    windows = numpy.lib.stride_tricks.sliding_window_view(x, (down, across), (2, 3))
    return reduce(windows[:, :, ::strides[0], ::strides[1]], axis=(4, 5))


def max_pool(x, **attributes):
    return pool(x, numpy.max, **attributes)


def average_pool(x, **attributes):
    return pool(x, numpy.mean, **attributes)


OPERATORS = {
    "MaxPool": max_pool, "GlobalMaxPool": max_pool,
    "AveragePool": average_pool, "GlobalAveragePool": average_pool,
    "Conv": conv, "BatchNormalization": normalize, "Softmax": softmax, "Gemm": gemm,
    "MatMul": numpy.matmul, "Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply,
    "Div": numpy.divide, "Relu": lambda x: numpy.maximum(x, 0), "Clip": numpy.clip,
    "Elu": lambda x: numpy.where(x < 0, numpy.expm1(x), x), "Tanh": numpy.tanh,
    "Flatten": lambda x: x.reshape(len(x), -1), "Reshape": numpy.reshape,
    "Shape": lambda x: numpy.array(x.shape), "Gather": lambda x, i: x[i],
    "Unsqueeze": lambda x, axes: x.reshape(1),
    "Concat": lambda *x, axis: numpy.concatenate(x, axis),
    "Squeeze": lambda x, axes: x.squeeze(tuple(axes)),
    "Transpose": lambda x, perm: x.transpose(perm), "Identity": lambda x: x,
    "Cast": lambda x, to: x, "Dropout": lambda x: x}


def evaluate(path, x):
    """The first output of a model, by NumPy in float64; onnxruntime must agree."""
    graph = onnx.load(path).graph
    values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    values["x"] = x.astype(numpy.float64)
    for each in graph.node:
        attributes = {at.name: helper.get_attribute_value(at) for at in each.attribute}
        values[each.output[0]] = OPERATORS[each.op_type](*(values[name] for name in each.input),
                                                         **attributes)
    result = values[graph.output[0].name]
    if onnxruntime is not None:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        found, = session.run([graph.output[0].name], {"x": x.astype(numpy.float32)})
        numpy.testing.assert_allclose(found, result, rtol=1e-3, atol=1e-4)
    return result


class ImageTestCase(LaunchTestCase):
    def check(self, nodes, tensors, shape=SHAPE, is_nchw=True, count=2, **details):
        """The line of the model must compute the same of frames, or of tensors, as the model.
        is_nchw: of the model's input. Returns the line."""
        path = self.save_model(nodes, tensors, shape=shape, **details)
        channels = shape[1] if is_nchw else shape[3]
        if channels in (1, 3):
            x = self.random.integers(0, 256, (count, *shape[1:]), dtype=numpy.uint8)
        else:
            x = self.make(count, *shape[1:])
        expected = numpy.concatenate([evaluate(path, x[i:i + 1]) for i in range(count)])
        bounds = {"rtol": 1e-4, "atol": 1e-5 * numpy.abs(expected).max()}
        self.compute(path, x, expected, **bounds)
        if expected.ndim == 4 and expected.shape[1] == self.channels:
            expected = expected.transpose(0, 2, 3, 1)
        images = x.transpose(0, 2, 3, 1) if is_nchw else x
        if x.dtype == numpy.uint8:
            rows = images.reshape(*images.shape[:2], -1)
            images = numpy.pad(rows, ((0, 0), (0, 0), (0, -rows.shape[2] % 4)))
        return self.launch(path, expected, images, **bounds)

    channels = None  # of a result that is NCHW

    def layer(self, name, n, channels, size, source="x", target="y", **attributes):
        """A convolution and its tensors."""
        shape = (n, channels, *size)
        tensors = {name: self.make(*shape) / numpy.float32(numpy.sqrt(numpy.prod(shape[1:]))),
                   f"{name}.bias": self.make(n)}
        return node("Conv", [source, *tensors], target, **attributes), tensors


class Convolutions(ImageTestCase):
    def test_geometry(self):
        """Strides, pads and dilations; patches that are not square; frames and tensors."""
        self.channels = 5
        for channels in 1, 3, 4:
            for size, attributes in [
                    ((3, 3), {}), ((3, 2), {"strides": [2, 2]}), ((1, 1), {}),
                    ((3, 3), {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}),
                    ((2, 3), {"dilations": [2, 2], "strides": [1, 1], "group": 1}),
                    ((5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 2]}), ((9, 7), {})]:
                with self.subTest(channels=channels, size=size, **attributes):
                    conv_node, tensors = self.layer("w", 5, channels, size, **attributes)
                    line = self.check([conv_node], tensors, (1, channels, 9, 7))
                    self.assertIn({1: "GRAY8", 3: "RGB", 4: "4:7:9"}[channels], line)

    def test_types(self):
        """Weights that change are of any type, as bytes or as numbers."""
        conv_node, tensors = self.layer("w", 5, 3, (3, 3))
        high = tensors["w"].view(numpy.uint32) >> 16
        weight, x = (high << 16).view(numpy.float32), self.make(2, *SHAPE[1:])
        expected = conv(x, weight.astype(numpy.float64), tensors["w.bias"])
        half, brain = weight.astype(numpy.float16), high.astype(numpy.uint16)
        for data_type, array, field, numbers in (
                (TensorProto.FLOAT, weight, "float_data", weight),
                (TensorProto.DOUBLE, weight.astype(numpy.float64), "double_data", weight),
                (TensorProto.FLOAT16, half, "int32_data", half.view(numpy.uint16)),
                (TensorProto.BFLOAT16, brain, "int32_data", brain)):
            for content in {"raw_data": array.tobytes()}, {field: numbers.flatten().tolist()}:
                with self.subTest(data_type=data_type, field=list(content)):
                    tensor = TensorProto(name="w", data_type=data_type, dims=weight.shape,
                                         **content)
                    path = self.save_model([conv_node], {**tensors, "w": tensor}, shape=SHAPE)
                    self.compute(path, x, expected, atol=1e-3 if array is half else 1e-5)

    def test_same(self):
        """SAME_UPPER, if it pads both sides equally."""
        for size, stride, same in ((3, 3), 1, 1), ((5, 5), 1, 2), ((2, 2), 1, None), \
                ((3, 3), 2, 1), ((5, 3), 1, None):
            conv_node, tensors = self.layer("w", 2, 3, size, auto_pad="SAME_UPPER",
                                            strides=[stride] * 2)
            path = self.save_model([conv_node], tensors, shape=SHAPE)
            done = self.ends(0 if same else 1, "import", path, "-o", self.path("out"))
            if same:
                self.assertIn(f"patch-padding={same}", done.stdout)
            else:
                self.assertIn("node “y” (Conv): expected pads that are equal", done.stderr)

    def test_normalization(self):
        """BatchNormalization is folded into a convolution, a Gemm and a MatMul with an Add."""
        parts = {"s": self.make(5), "o": self.make(5), "m": self.make(5),
                 "v": numpy.abs(self.make(5)) + numpy.float32(0.1)}
        conv_node, tensors = self.layer("w", 5, 3, (3, 3), target="c")
        normal = node("BatchNormalization", ["c", *parts], "y", epsilon=1e-3)
        self.channels = 5
        self.check([conv_node, normal], {**tensors, **parts})
        self.channels = None
        more = {"w": self.make(5, 12), "b": self.make(5), "wt": self.make(12, 5), **parts}
        for nodes in ([node("Gemm", ["x", "w", "b"], "c", transB=1, alpha=0.5, beta=2.0)],
                      [node("MatMul", ["x", "wt"], "p"), node("Add", ["b", "p"], "c")]):
            path = self.save_model([*nodes, normal], more)
            rows = self.make(3, 12)
            self.expect(path, evaluate(path, rows), rows)

    def test_add(self):
        conv_node, tensors = self.layer("w", 5, 3, (3, 3), target="c")
        self.channels = 5
        self.check([conv_node, node("Add", ["c", "t"], "y")],
                   {**tensors, "t": self.make(1, 5, 1, 1)})

    def test_scale(self):
        """Sub, Mul and Div of the input, by a number and by numbers for the channels."""
        conv_node, tensors = self.layer("w", 5, 3, (3, 3), source="s2")
        self.channels = 5
        lists = {"m": numpy.float32([[[[120]], [[110]], [[100]]]]),
                 "d": numpy.float32([[[60]], [[50]], [[55]]])}
        numbers = {"m": numpy.float32(128), "d": numpy.float32([60])}
        for values in lists, numbers:
            for nodes in ([node("Sub", ["x", "m"], "s1"), node("Div", ["s1", "d"], "s2")],
                          [node("Sub", ["m", "x"], "s1"), node("Mul", ["d", "s1"], "s2")]):
                self.check([*nodes, conv_node], {**tensors, **values})
        self.check([node("Add", ["x", "m"], "s1"), node("Add", ["d", "s1"], "s2"), conv_node],
                   {**tensors, **lists})
        parts = {"g": self.make(3), "o": self.make(3), "a": self.make(3) + numpy.float32(120),
                 "v": numpy.abs(self.make(3)) + numpy.float32(50)}
        self.check([node("BatchNormalization", ["x", *parts], "s2"), conv_node],
                   {**tensors, **parts})
        padded, _ = self.layer("w", 5, 3, (3, 3), source="s2", pads=[1] * 4)
        for values in lists, numbers:
            line = self.check([*nodes, padded], {**tensors, **values})
            self.assertEqual(line.count("! gemmcl "), 2 if values is lists else 1)
        rows = self.make(3, 12)
        path = self.save_model([node("Div", ["x", "d"], "s"), node("Gemm", ["s", "w"], "y",
                                                                   alpha=0.5)],
                               {"w": self.make(12, 5), "d": self.make(12) + numpy.float32(2)})
        self.expect(path, evaluate(path, rows), rows)
        parts = {name: numpy.abs(self.make(12)) + numpy.float32(0.5) for name in "gomv"}
        path = self.save_model([node("BatchNormalization", ["x", *parts], "s"),
                                node("MatMul", ["s", "w"], "y")], {"w": self.make(12, 5), **parts})
        self.expect(path, evaluate(path, rows), rows)


class Networks(ImageTestCase):
    def test_flatten(self):
        """Each way to flatten; the weights behind an image are reordered."""
        first, tensors = self.layer("w", 4, 3, (3, 3), target="c")
        relu = node("Relu", ["c"], "r")
        tensors.update(fc=self.make(4 * 35, 6), b=self.make(6), shape=numpy.array([1, -1]),
                       whole=numpy.array([-1, 140]))
        gemm_node = node("Gemm", ["f", "fc", "b"], "g")
        for flat in (node("Flatten", ["r"], "f"), node("Reshape", ["r", "shape"], "f"),
                     node("Reshape", ["r", "whole"], "f")):
            self.check([first, relu, flat, gemm_node, node("Softmax", ["g"], "y")], tensors)
        nhwc = node("Transpose", ["r"], "t", perm=[0, 2, 3, 1])
        self.check([first, relu, nhwc, node("Flatten", ["t"], "f"), gemm_node], tensors)
        whole, more = self.layer("v", 6, 4, (7, 5), source="r", target="s")
        self.check([first, relu, whole, node("Squeeze", ["s", "axes"], "q"),
                    node("Gemm", ["q", "g"], "y")],
                   {**tensors, **more, "axes": numpy.array([2, 3]), "g": self.make(6, 2)})
        # The input itself
        for shape, is_nchw in ((1, 3, 4, 5), True), ((1, 1, 4, 15), True), ((1, 4, 5, 3), False):
            line = self.check([node("Flatten", ["x"], "f"), node("MatMul", ["f", "w"], "y")],
                              {"w": self.make(60, 6)}, shape, is_nchw)
            self.assertIn("video/x-raw", line)

    def test_nhwc(self):
        """A model of NHWC that transposes, as tf2onnx makes it; and a layer for each pixel."""
        first, tensors = self.layer("w", 4, 3, (3, 3), source="t", target="c")
        before = node("Transpose", ["x"], "t", perm=[0, 3, 1, 2])
        after = node("Transpose", ["c"], "n", perm=[0, 2, 3, 1])
        tensors["p"] = self.make(4, 3)
        self.check([before, first, after], tensors, (1, 9, 7, 3), is_nchw=False)
        self.check([before, first, after, node("MatMul", ["n", "p"], "y")], tensors, (1, 9, 7, 3),
                   is_nchw=False)

    def test_deep(self):
        """Three convolutions with normalization and ReLU6, and two products."""
        nodes, tensors, source, channels = [], {}, "x", 1
        for i, n in enumerate((6, 8, 10)):
            each, more = self.layer(f"conv{i}", n, channels, (3, 3), source, f"c{i}",
                                    pads=[1] * 4, strides=[2] * 2)
            parts = {f"s{i}": self.make(n) + numpy.float32(1), f"o{i}": self.make(n),
                     f"m{i}": self.make(n), f"v{i}": numpy.abs(self.make(n)) + numpy.float32(1)}
            nodes += [each, node("BatchNormalization", [f"c{i}", *parts], f"n{i}"),
                      node("Clip", [f"n{i}", "zero", "six"], f"r{i}")]
            tensors.update(**more, **parts)
            source, channels = f"r{i}", n
        tensors.update(zero=numpy.float32(0), six=numpy.float32(6), scale=numpy.float32(1 / 255),
                       fc=self.make(20, 10 * 16) / 12, fc2=self.make(20, 10))
        nodes[0].input[0] = "scaled"
        nodes = [node("Mul", ["x", "scale"], "scaled"), *nodes, node("Flatten", [source], "f"),
                 node("Gemm", ["f", "fc"], "g", transB=1), node("Elu", ["g"], "e"),
                 node("Dropout", ["e"], "d"), node("MatMul", ["d", "fc2"], "l"),
                 node("Softmax", ["l"], "y")]
        line = self.check(nodes, tensors, (1, 1, 28, 28), count=4)
        self.assertEqual(line.count("! gemmcl "), 5)

    def test_pool(self):
        """Each kind of pooling, behind an activation and before it."""
        first, tensors = self.layer("w", 5, 3, (3, 3), target="c")  # 7 x 5
        self.channels = 5
        for each in (node("MaxPool", ["c"], "p", kernel_shape=[2, 2], strides=[2, 2]),
                     node("MaxPool", ["c"], "p", kernel_shape=[3, 2], strides=[1, 2]),
                     node("MaxPool", ["c"], "p", kernel_shape=[3, 1], strides=[2, 1],
                          ceil_mode=1, auto_pad="VALID"),
                     node("AveragePool", ["c"], "p", kernel_shape=[2, 3], pads=[0] * 4),
                     node("GlobalMaxPool", ["c"], "p"), node("GlobalAveragePool", ["c"], "p")):
            with self.subTest(each=each.op_type):
                self.check([first, each], tensors)
        relu = node("Relu", ["p"], "y")
        self.check([first, node("GlobalMaxPool", ["c"], "p"), relu], tensors)
        self.declines("node “y” .Relu.: expected a product before it", [
            first, node("GlobalAveragePool", ["c"], "p"), relu], tensors, shape=SHAPE)

    def chain(self, plan, channels):
        """The nodes and tensors of a plan: convolutions (n, size, pad), "max" or "average"."""
        nodes, tensors, at = [], {}, "x"
        for i, each in enumerate(plan):
            if each in ("max", "average"):
                nodes.append(node("MaxPool" if each == "max" else "AveragePool", [at], f"p{i}",
                                  kernel_shape=[2, 2], strides=[2, 2]))
                at = f"p{i}"
                continue
            n, size, pad = each
            conv_node, more = self.layer(f"w{i}", n, channels, (size, size), at, f"c{i}",
                                         pads=[pad] * 4)
            if not nodes:  # frames have 0 to 255
                more["w0"] /= numpy.float32(255)
            nodes += [conv_node, node("Relu", [f"c{i}"], f"r{i}")]
            tensors.update(more)
            at, channels = f"r{i}", n
        return nodes, tensors, at

    def classify(self, nodes, tensors, at, sizes):
        for i, (k, n) in enumerate(zip(sizes, sizes[1:])):
            tensors.update({f"fc{i}": self.make(n, k) / numpy.float32(numpy.sqrt(k)),
                            f"fb{i}": self.make(n)})
            nodes += [node("Gemm", [at, f"fc{i}", f"fb{i}"], f"g{i}", transB=1),
                      node("Relu", [f"g{i}"], f"h{i}")]
            at = f"h{i}"
        nodes[-1] = node("Softmax", [f"g{i}"], "y")

    def test_lenet(self):
        """LeNet-5, as PyTorch's tutorials have it."""
        nodes, tensors, at = self.chain([(6, 5, 2), "max", (16, 5, 0), "max"], 1)
        nodes.append(node("Flatten", [at], "flat"))
        self.classify(nodes, tensors, "flat", (400, 120, 84, 10))
        line = self.check(nodes, tensors, (1, 1, 28, 28), count=4)
        self.assertEqual(line.count("! gemmcl "), 5)

    def test_external(self):
        """Elements in another file, where PyTorch has them since its version 2.9."""
        conv_node, tensors = self.layer("w", 4, 3, (3, 3), target="c")
        parts = {name: numpy.abs(self.make(4)) + numpy.float32(1) for name in "gomv"}
        path = self.save_model([conv_node, node("BatchNormalization", ["c", *parts], "y")],
                               {**tensors, **parts}, shape=SHAPE)
        x, file = self.make(2, *SHAPE[1:]), pathlib.Path(self.path("weights.bin"))
        onnx.save_model(onnx.load(path), path, save_as_external_data=True, location=file.name,
                        size_threshold=0)
        expected = numpy.concatenate([evaluate(path, x[:1]), evaluate(path, x[1:])])
        self.compute(path, x, expected)
        self.assertNotIn("weights.bin", self.ends(0, "import", path, "-o", self.folder).stdout)
        outside = f"../{pathlib.Path(self.folder).name}/{file.name}"
        for key, value in ("location", outside), ("location", str(file)), \
                ("offset", "-1"), ("offset", "1000000"), ("location", "missing.bin"):
            model = onnx.load(path, load_external_data=False)
            for entry in model.graph.initializer[0].external_data:
                if entry.key == key:
                    entry.value = value
            bad = pathlib.Path(self.path("bad.onnx"))
            bad.write_bytes(model.SerializeToString())
            self.refuses(1, "node “c” .Conv.: expected 432 bytes .* below the model's folder",
                         "import", bad, "-o", self.folder)

    def test_view(self):
        """x.view (x.size (0), -1) of a model with any batch, as PyTorch exports it."""
        conv_node, tensors = self.layer("w", 4, 3, (3, 3), target="c")
        tensors.update(fc=self.make(140, 6), zero=numpy.array(0), rest=numpy.array([-1]),
                       axis=numpy.array([0]), one=numpy.array(1))

        def view(index="zero", rest="rest", source="c"):
            return [conv_node, node("Shape", [source], "s"),
                    node("Gather", ["s", index], "g"), node("Unsqueeze", ["g", "axis"], "u"),
                    helper.make_node("Concat", ["u", rest], ["shape"], axis=0),
                    node("Reshape", ["c", "shape"], "r"), node("MatMul", ["r", "fc"], "y")]

        self.check(view(), tensors, ("n", *SHAPE[1:]))
        for wrong in {"index": "one"}, {"rest": "axis"}, {"source": "fc"}:
            self.declines(r"node “r” .Reshape.: .* or \[x.size", view(**wrong), tensors,
                          shape=SHAPE)

    def test_vgg(self):
        """A small VGG: pairs of convolutions, global pooling, two products."""
        nodes, tensors, at = self.chain([(8, 3, 1), (8, 3, 1), "max", (16, 3, 1), (16, 3, 1),
                                         "average", (24, 3, 1)], 3)
        nodes += [node("GlobalAveragePool", [at], "gap"), node("Flatten", ["gap"], "flat")]
        self.classify(nodes, tensors, "flat", (24, 20, 10))
        line = self.check(nodes, tensors, (1, 3, 32, 32), count=3)
        self.assertEqual(line.count("! gemmcl "), 7)

    def test_row_outputs(self):
        """ArgMax and TopK leave alone."""
        rows, weight = self.make(3, 12), self.make(12, 8)
        product = node("MatMul", ["x", "w"], "p")
        d = rows @ weight
        order = numpy.argsort(-d, axis=1)
        for last, q in (
                (node("ArgMax", ["p"], "y", axis=1), order[:, :1]),
                (helper.make_node("TopK", ["p", "k"], ["v", "y"], name="top"),
                 numpy.concatenate([numpy.take_along_axis(d, order[:, :2], 1), order[:, :2]], 1))):
            path = self.save_model([product, last], {"w": weight, "k": numpy.array([2])},
                                   outputs=["y"])
            self.expect(path, q, rows)


class Refused(ImageTestCase):
    def test_refused(self):
        good, tensors = self.layer("w", 4, 3, (3, 3), target="c")
        tensors.update(fc=self.make(4 * 35, 6), square=self.make(3, 3),
                       ones=numpy.ones(3, numpy.float32), nothing=numpy.float32(0),
                       four=self.make(4), three=self.make(3), four2=self.make(4, 2),
                       minus=-numpy.ones(4, numpy.float32), k=numpy.array([17]),
                       one=self.make(1, 1, 1, 1),
                       short=TensorProto(name="short", data_type=1, dims=[4, 3, 3, 3],
                                         raw_data=b"1234"),
                       huge=TensorProto(name="huge", data_type=1, dims=[2**40, 3, 2**40, 3]),
                       shape=numpy.array([1, 4, 35]), halves=numpy.array([2, -1]),
                       many=self.make(1, 1025, 1, 1), scales=self.make(1025, 1, 1))

        def one(*inputs, **attributes):
            return [node("Conv", ["x", *(inputs or ["w"])], "y", **attributes)]

        def behind(op, *inputs, **attributes):
            """A node behind a convolution."""
            return [good, node(op, ["c", *inputs], "y", **attributes)]

        def normal(*inputs):
            return behind("BatchNormalization", *inputs)

        for message, nodes, *shape in [
            ("equal numbers of 0 to 65535 as its pads", one(pads=[0, 0, 1, 1])),
            ("as its pads", one(pads=[-1] * 4)), ("as its pads", one(pads=[1])),
            ("as its strides", one(strides=[1, 2])), ("as its strides", one(strides=[0, 0])),
            ("as its dilations", one(dilations=[2, 1])), ("group 1", one(group=3)),
            ("kernel_shape", one(kernel_shape=[2, 2])), ("attribute “x”", one(x=1)),
            ("static size", one(), None), ("static size", one(), (1, 3, "h", "w")),
            ("static size", one(), (1, 3, 2**40, 9)), ("four dimensions", one(), (1, 3, 9)),
            ("at most 1024 channels with a scale each in front of pads, found 1025", [
                node("Mul", ["x", "scales"], "m"),
                node("Conv", ["m", "many"], "y", pads=[1] * 4)], (1, 1025, 2, 2)),
            ("[batch, 140] that flattens the image", behind("Reshape", "halves")),
            ("[batch, 140] that flattens the image", behind("Reshape", "halves"), ("n", 3, 9, 7)),
            ("without a product before it", [
                node("MatMul", ["x", "square"], "m"),
                node("Transpose", ["m"], "y", perm=[0, 3, 1, 2])], (1, 9, 7, 3)),
            # As many rows as channels, for which a convolution could take those of NHWC.
            ("an image of four dimensions", [
                node("Transpose", ["x"], "t", perm=[0, 2, 3, 1]),
                node("Conv", ["t", "w"], "y")], (1, 3, 3, 7)),
            ("at most 2 dimensions, as the input has, found 4", [
                node("Mul", ["x", "one"], "m"), node("MatMul", ["m", "square"], "y")], (1, 3)),
            ("not in training mode", [good, helper.make_node(
                "BatchNormalization", ["c", *["four"] * 4], ["y", "mean", "variance"])]),
            ("for its 4 channels", one(), (1, 4, 9, 7)),
            ("larger than its image", one(), (1, 3, 2, 7)),
            ("larger than its image", one(dilations=[60000] * 2)),
            ("an initializer", one("none")), ("an initializer", one("x")),
            ("as its input 2, found “none”", one("w", "none")),
            ("as its input 3, found “none”", normal("four", "four", "none", "four")),
            ("not those of its dimensions", one("short")),
            ("not those of its dimensions", one("huge")),
            ("a bias of 4 numbers, found 3", one("w", "three")),
            ("expected variances above 0", normal("four", "four", "four", "minus")),
            ("expected 3 numbers in its input 2", normal("three", "four", "four", "four")),
            ("expected 4 channels, found 3", normal(*["ones"] * 4)),
            ("before it, without an activation", [good, node("Relu", ["c"], "r"), node(
                "BatchNormalization", ["r", *["four"] * 4], "y")]),
            ("K = 140, the columns", [good, node("Flatten", ["c"], "f"),
                                      node("MatMul", ["f", "four2"], "y")]),
            ("Flatten it", behind("MatMul", "fc")),
            ("expected a constant shape [batch, 140]", behind("Reshape", "shape")),
            ("expected axis 1", behind("Flatten", axis=2)), ("of 1 x 1", behind("Squeeze")),
            ("only renames", behind("Transpose", perm=[0, 2, 1, 3])),
            ("only renames", behind("Transpose")), ("the last axis", behind("Softmax")),
            ("expected 0 to 6", behind("Clip", min=-1.0, max=1.0)),
            ("an alpha of 1", behind("Elu", alpha=0.5)),
            ("of a convolution before it", [node("GlobalMaxPool", ["x"], "y")]),
            ("without another pooling", [good, node("GlobalMaxPool", ["c"], "p"),
                                         node("GlobalMaxPool", ["p"], "y")]),
            ("as its kernel_shape", behind("MaxPool")),
            ("as its strides", behind("MaxPool", kernel_shape=[2, 2], strides=[0, 1])),
            ("no pads", behind("MaxPool", kernel_shape=[3, 3], pads=[1] * 4)),
            ("within the image", behind("MaxPool", kernel_shape=[8, 1])),
            ("within the image", behind("MaxPool", kernel_shape=[2, 2], strides=[2, 2],
                                        ceil_mode=1)),
            ("model's input before it", behind("Mul", "four")),
            ("model's input before it", [node("Div", ["three", "x"], "y")]),
            ("finite", [node("Div", ["x", "nothing"], "y")]),
            ("1 to 4 largest", behind("TopK", "k", axis=1)),
            ("the last axis", behind("ArgMax", axis=2)), (UNKNOWN, behind("LogSoftmax")),
            (UNKNOWN, behind("ConvTranspose", "w")),
            ("begins with “a”", [node("Relu", ["a"], "b"), node("Relu", ["b"], "a"),
                                 node("Conv", ["a", "w"], "y")]),
        ]:
            with self.subTest(message=message, nodes=[each.op_type for each in nodes]):
                path = self.save_model(nodes, tensors, shape=shape[0] if shape else SHAPE)
                done = self.ends(1, "import", path, "-o", self.path("out"))
                self.assertIn(message, done.stderr)
                self.assertIn("node “", done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertFalse(os.path.exists(self.path("out")))

    def test_softmax(self):
        """Before version 13 it is over all axes from its own on."""
        good, tensors = self.layer("w", 4, 3, (3, 3), target="c")
        for opset, status in (11, 1), (13, 0):
            path = self.save_model([good, node("Softmax", ["c"], "y", axis=1)], tensors,
                                   shape=SHAPE, opset=opset)
            self.ends(status, "import", path, "-o", self.path("out"))

    def test_folder(self):
        good, tensors = self.layer("w", 4, 3, (3, 3))
        path = self.save_model([good], tensors, shape=SHAPE)
        self.refuses(1, "node “y” .Conv.: expected -o FOLDER", "import", path)
        for _ in range(2):  # The file is replaced.
            self.ends(0, "import", path, "-o", self.path("new/folder"))
        self.assertEqual(os.listdir(self.path("new/folder")), ["m.safetensors"])
        self.refuses(1, "Cannot make the folder", "import", path, "-o", path)


tool.main()
