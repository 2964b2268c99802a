# SPDX-License-Identifier: LGPL-2.1-or-later
"""ONNX models, made by the onnx package, for the tests of `gemmcl import`."""

import os
import shlex
import shutil
import subprocess
import unittest

import tool

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    tool.skip_all(f"this Python lacks {missing.name} (python3-numpy, python3-onnx)")
if "without protobuf-c" in tool.run("import", __file__).stderr:
    tool.skip_all("built without protobuf-c (libprotobuf-c-dev, protobuf-c-compiler, "
                  "protobuf-compiler)")

ROWS, SIZES = 3, (12, 8, 5)
SECONDS = 300


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=output, **attributes)


PRODUCT = node("MatMul", ["x", "w"], "p")


class Models(tool.MatrixTestCase):
    """Models with rows as their input, a weight and a bias, which some have."""

    def setUp(self):
        super().setUp()
        self.rows, self.weight = self.make(ROWS, SIZES[0]), self.make(*SIZES[:2])
        self.bias = self.make(SIZES[1])

    def save_model(self, nodes, tensors, name="m", shape=(ROWS, SIZES[0]), opset=17, outputs=()):
        """Writes a model with the input x. tensors: arrays or TensorProtos by their names. shape:
        that of x, or None. outputs: their names, if not that of the last node's."""
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        last = nodes[-1].output[0] if nodes else "x"
        y = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
             for output in outputs or [last]]
        initializers = [tensor if isinstance(tensor, TensorProto)
                        else numpy_helper.from_array(numpy.asarray(tensor), key)
                        for key, tensor in tensors.items()]
        graph = helper.make_graph(nodes, "graph", [x], y, initializers)
        path = self.path(f"{name}.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
        return path

    def normalized(self):
        """The nodes and tensors of a product whose weight the import changes, by nothing."""
        one, zero = (numpy.full(SIZES[1], value, numpy.float32) for value in (1, 0))
        normal = node("BatchNormalization", ["p", "one", "zero", "zero", "one"], "y", epsilon=0.0)
        return [PRODUCT, normal], {"w": self.weight, "one": one, "zero": zero}

    def declines(self, message, nodes, tensors, **details):
        """The import of this model must fail, with a message that matches."""
        self.refuses(1, message, "import", self.save_model(nodes, tensors, **details))


@unittest.skipUnless(shutil.which("gst-launch-1.0"), "gst-launch-1.0 is not installed")
@unittest.skipUnless(os.environ.get("GEMMCL_TEST_PLUGIN"), "built without the plugin")
class LaunchTestCase(Models):
    def compute(self, path, x, expected, rtol=1e-4, atol=1e-5):
        """Computes the model, of a row for each input, without the line."""
        self.ends(0, "run", path, self.save("x", x.reshape(len(x), -1)), "-o", self.path("d.npy"))
        found = numpy.load(self.path("d.npy")).reshape(expected.shape)
        numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)

    def expect(self, path, expected, rows):
        """The model, and its line, must compute what is expected of rows. Returns the line."""
        self.compute(path, rows.reshape(-1, rows.shape[-1]), expected)
        return self.launch(path, expected, rows)

    def launch(self, path, expected, rows, rtol=1e-4, atol=1e-5, folder=None):
        """Runs the line that the tool prints for the model, on rows of float32 or padded frames of
        uint8. folder: that of its file, in the folder of the test. Returns the line."""
        line = self.ends(0, "import", path, "-o", folder or self.path("out")).stdout
        line = line.replace("\\\n", " ")
        rows.tofile(self.path("input.f32" if rows.dtype == numpy.float32 else "input.u8"))
        environment = dict(os.environ, GST_PLUGIN_PATH=os.environ["GEMMCL_TEST_PLUGIN"],
                           GST_REGISTRY=self.path("registry"))
        done = subprocess.run(shlex.split(line), cwd=self.folder, env=environment, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}")
        found = numpy.fromfile(self.path("output.f32"), numpy.float32).reshape(expected.shape)
        numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
        return line
