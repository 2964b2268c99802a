# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl run` and `gemmcl quantize` against NumPy, and files like those of the latter. TAP out."""

import json
import os
import re
import shlex
import subprocess
import sys
from functools import partialmethod
from pathlib import Path

import tool

try:
    import numpy
except ImportError:
    tool.skip_all("this Python has no NumPy")
import numpy_gemm

BRIEF_CASES = 8  # of a sweep
DTYPES = {"F32": numpy.float32, "I8": numpy.int8, "U8": numpy.uint8, "I32": numpy.int32}


def read_safetensors(path):
    """Reads a safetensors file as {name: array}. Shares no code with the library."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    used = sorted(entry["data_offsets"] for entry in header.values())
    assert used[0][0] == 0 and used[-1][1] == len(body), "the tensors are not all of the file"
    return {name: numpy.frombuffer(body[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]])
            .reshape(entry["shape"]) for name, entry in header.items()}


def write_safetensors(path, tensors):
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, body = {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": names[array.dtype.type], "shape": list(array.shape),
                        "data_offsets": [len(body), len(body) + array.nbytes]}
        body += array.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + body)


class Run(tool.MatrixTestCase):
    def multiply(self, *arguments):
        output = self.path("d.npy")
        said = self.ends(0, "run", *arguments, "-o", output)
        self.assertEqual(said.stdout + said.stderr, "")
        result = numpy.load(output)
        self.assertEqual(result.dtype, numpy.float32)
        os.remove(output)
        return result

    def compare(self, result, a, b, **how):
        """Holds the result to the reference of numpy_gemm.py."""
        a, b = a.astype(float), b.astype(float)
        expected, bound = numpy_gemm.solve(a, numpy.zeros_like(a), b, **how)
        self.assertIsNone(numpy_gemm.compare(result, expected, bound))

    def check(self, expected, *arguments):
        result = self.multiply(*arguments)
        self.assertEqual(result.shape, expected.shape)
        numpy.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


class StandardOutput(Run):
    def test_results(self):
        """-o - and --rows - write what they write to a file, and nothing else."""
        a, b = self.save("a", self.make(6, 9)), self.save("b", self.make(9, 4))
        for *arguments, file in ("-o", "-", "d.npy"), ("-o", "d.npy", "-r", "-", "r.npy"):
            paths = [self.path(word) if word.endswith(".npy") else word for word in arguments]
            command = [tool.TOOL, "run", a, b, *paths]
            found = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE,
                                   check=True).stdout
            self.ends(0, "run", a, b, "-o", self.path("d.npy"), "-r", self.path("r.npy"))
            self.assertEqual(found, Path(self.path(file)).read_bytes())


class Products(Run):
    """Each option reaches the library, whose own tests have all shapes, types and kernels."""

    def setUp(self):
        super().setUp()
        self.a, self.b = self.make(6, 9), self.make(9, 4)
        self.paths = self.save("a", self.a), self.save("b", self.b)
        self.product = self.a.astype(float) @ self.b

    def test_inputs(self):
        a, b = self.make(37, 65), self.make(65, 41)
        self.check(a.astype(float) @ b, self.save("a", a), self.save("b", b))
        self.check(numpy.array([[19, 22], [43, 50]]), "[[1, 2], [3, 4]]", "[[5, 6], [7, 8]]")
        a.tofile(self.path("a.raw"))
        self.check(a, self.path("a.raw") + "#f32:37x65", self.save("b", numpy.eye(65)))

    def test_transposes(self):
        turned = self.save("at", self.a.T.copy()), self.save("bt", self.b.T.copy())
        self.check(self.product, turned[0], self.paths[1], "--transpose-a")
        self.check(self.product, self.paths[0], turned[1], "--transpose-b")
        self.check(self.product, *turned, "--transpose-a", "--transpose-b")

    def test_bytes(self):
        """Products of int8 use an A of bytes unchanged, and so does a B whose columns reach 127."""
        b = self.random.integers(-126, 127, (96, 8))
        b[0] = 127
        path = self.save("b", b.astype(numpy.float32))
        for dtype, low, high in (numpy.uint8, 3, 90), (numpy.int8, -90, 40):
            a = self.random.integers(low, high, (16, 96), dtype)
            product = (a.astype(int) @ b).astype(numpy.float32)
            for array, *options in (a,), (a.T.copy(), "--transpose-a"):
                with self.subTest(dtype=dtype, options=options):
                    found = self.multiply(self.save("a", array), path, "-k", "vector_i8_1x64_1x1",
                                          *options)
                    numpy.testing.assert_array_equal(found, product)

    def test_rounding(self):
        """Operands of matrix engines are rounded. Truncation would have twice the error."""
        for name, digits in (("xmx_f16_8x1_1x16", 11), ("xmx_bf16_8x1_1x16", 8),
                             ("xmx_tf32_8x2_1x16", 11)):
            below = 1 + 2.0 ** (1 - digits) - 2.0**-23
            ones = self.save("ones", numpy.ones((32, 32), numpy.float32))
            path = self.save("below", numpy.full((32, 32), below, numpy.float32))
            for operands in ((path, ones), (ones, path)):
                with self.subTest(kernel=name, a=operands[0]):
                    off = numpy.abs(self.multiply(*operands, "-k", name) / (32 * below) - 1)
                    self.assertLess(off.max(), 2.0**-digits)

    def test_output_is_replaced(self):
        path = self.save("d", numpy.zeros(1000))
        self.ends(0, "run", "[1]", "[2]", "-o", path)
        numpy.testing.assert_array_equal(numpy.load(path), [[2]])

    def test_alpha_and_addend(self):
        c, row = self.make(6, 4), self.make(4)
        path = self.save("c", c)
        self.check(-0.5 * self.product, *self.paths, "--alpha", "-0.5")
        self.check(self.product + c, *self.paths, "-c", path)
        self.check(2 * self.product - 3 * c, *self.paths, "-c", path, "--alpha=2", "--beta=-3")
        self.check(self.product + 2 * row, *self.paths, "-c", self.save("row", row), "--beta", "2")
        path = self.save("nan", numpy.full((6, 4), numpy.nan))
        self.check(self.product, *self.paths, "-c", path, "--beta", "0")

    def test_row_outputs(self):
        rows = self.path("rows.npy")
        arguments = (self.save("a", self.make(7, 9)), self.save("b", self.make(9, 33)), "-k",
                     "gemm_naive", "--rows", rows)
        d = self.multiply(*arguments)
        for names, k, *options in (
                ("sum+max+arg-max", 0), ("arg-max+sum", 0, "--row-outputs=arg-max+sum"),
                ("top-k", 5, "--row-outputs=top-k"),
                ("top-k", 16, "--row-outputs=top-k", "--top-k=16")):
            self.multiply(*arguments, *options)
            wrong = numpy_gemm.compare(numpy.load(rows), *numpy_gemm.row_outputs(d, names, k))
            self.assertIsNone(wrong, options)
            alone = self.path("alone.npy")
            self.ends(0, "run", *arguments[:-1], alone, *options)
            numpy.testing.assert_array_equal(numpy.load(alone), numpy.load(rows), options)

    def test_epilogues(self):
        bias = self.make(4)
        path = self.save("bias", bias)
        for activation in numpy_gemm.ACTIVATIONS:
            with self.subTest(activation=activation):
                result = self.multiply(*self.paths, "--bias", path, "--activation", activation)
                self.compare(result, self.a, self.b, bias=bias, activation=activation)
        for name in ("none", "input", "output", "input+output"):
            with self.subTest(normalize=name):
                result = self.multiply(*self.paths, "--normalize", name)
                self.compare(result, self.a, self.b, normalize=name)


class Faults(Run):
    """Calls or commands of OpenCL fail by a mode of tests/support/faults.h. The tool says so, or D
    is right. With GEMMCL_TEST_BRIEF some of all calls fail. The tests are added below."""

    def setUp(self):
        super().setUp()
        if "GEMMCL_FAULTS_LAYER" not in os.environ:
            self.skipTest("OpenCL's headers for layers (opencl-c-headers) are missing")
        a, b, c, bias = (self.random.integers(-9, 10, shape)
                         for shape in ((9, 17), (17, 5), (9, 5), (1, 5)))
        self.expected = a @ b + c + bias
        self.command = ["run", *(self.save(name, array.astype(numpy.float32))
                                 for name, array in (("a", a), ("b", b))),
                        "-c", self.save("c", c), "--bias", self.save("bias", bias),
                        "-o", self.path("d.npy")]

    def run_with(self, mode, call):
        """Returns whether the tool failed, and the number of calls."""
        output, counted = Path(self.path("d.npy")), Path(self.path("calls"))
        output.unlink(missing_ok=True)
        said = tool.run(*self.command, OPENCL_LAYERS=os.environ["GEMMCL_FAULTS_LAYER"],
                        GEMMCL_LAYER_FAULT=f"{mode} {call} {counted}")
        if not counted.exists():
            self.skipTest("OpenCL's loader does not load layers")
        if said.returncode == 0:
            numpy.testing.assert_array_equal(numpy.load(output), self.expected, f"call {call}")
        else:
            self.assertEqual((said.returncode, output.exists()), (1, False), said.stderr)
            self.assertRegex(said.stderr, "gemmcl|CL_")
        return said.returncode != 0, int(counted.read_text())

    def sweep(self, mode):
        failed, calls = self.run_with("one" if mode == "rest" else mode, 0)
        self.assertFalse(failed)
        self.assertGreater(calls, 0)
        step = calls // BRIEF_CASES + 1 if "GEMMCL_TEST_BRIEF" in os.environ else 1
        failed = [self.run_with(mode, call)[0] for call in range(1, calls + 1, step)]
        print(f"# {mode}: {len(failed)} of {calls} calls: {sum(failed)} errors, the other results "
              "are right")
        self.assertTrue(any(failed))


for mode_name in "one rest late lost mute ask dead".split():
    setattr(Faults, f"test_{mode_name}", partialmethod(Faults.sweep, mode_name))


class Failures(Run):
    """Nothing is written, and a sentence gives the reason."""

    def refused(self, pattern, *arguments):
        output = self.path("d.npy")
        self.refuses(1, pattern, "run", *arguments, "-o", output)
        self.assertFalse(os.path.exists(output))

    def test_shapes_that_do_not_fit(self):
        self.refused("B must be 3 x 2 but is 1 x 2", "[1,2,3]", "[1,2]")
        self.refused("B must be 1 x 3 but is 1 x 2", "[1,2,3]", "[1,2]", "--transpose-b")
        self.refused("B must have K = 3 rows, the columns of A, but is 1 x 3. Add --transpose-b",
                     "[1,2,3]", "[1,2,3]")
        self.refused("B must have K = 1 columns, the rows .* 1 x 3. Leave out --transpose-b",
                     "[1,2,3]", "[1,2,3]", "--transpose-a", "--transpose-b")
        self.refused("C must be 1 x 1 but is 1 x 2", "[[1]]", "[[1]]", "-c", "[1,2]")
        self.refused("bias must be 1 x 1 but is 1 x 2", "[[1]]", "[[1]]", "--bias", "[1,2]")

    def test_invalid_files(self):
        self.refused("missing.npy", self.path("missing.npy"), "[1]")
        with open(self.path("text.npy"), "w", encoding="utf-8") as file:
            file.write("no matrix\n")
        self.refused("text.npy", "[1]", self.path("text.npy"))

    def convert(self, path, name=""):
        """Runs the command that the refusal of a file names, and returns the new file."""
        said = self.ends(1, "run", "[1]", f"{path}{name}", "-o", self.path("d.npy")).stderr
        command = re.search("python3 (-c '.*' .*)", said).group(1)
        ran = subprocess.run([sys.executable, *shlex.split(command)], stderr=subprocess.PIPE,
                             text=True, check=False)
        if "No module named" in ran.stderr:
            self.skipTest(ran.stderr.splitlines()[-1])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return shlex.split(command)[-1]

    def test_converting(self):
        values = self.make(2, 3)
        numpy.savetxt(self.path("a file.csv"), values, delimiter=",")
        numpy.savetxt(self.path("w.TXT"), values)
        numpy.savetxt(self.path("w.tsv"), values, delimiter="\t")
        numpy.save(self.path("big.npy"), values.astype(">f4"))
        for name in "a file.csv", "w.TXT", "w.tsv", "big.npy":
            self.check(values, "[[1, 0], [0, 1]]", self.convert(self.path(name)))

    def test_saving_as_safetensors(self):
        w = numpy.asfortranarray(self.make(2, 3))
        arrays, model = self.path("it's.npz"), self.path("model.pth")
        numpy.savez(arrays, w=w)
        self.check(w, "[[1, 0], [0, 1]]", self.convert(arrays, "#w") + "#w")
        # A file that torch.save() writes, in which tensors share memory.
        code = ("import sys, numpy, torch; w = torch.tensor(numpy.load(sys.argv[1])['w'].copy()); "
                "torch.save({'w': w, 's': w, 't': w.T}, sys.argv[2])")
        subprocess.run([sys.executable, "-c", code, arrays, model], stderr=subprocess.DEVNULL,
                       check=False)
        new = self.convert(model, "#w")
        self.check(w, "[[1, 0], [0, 1]]", f"{new}#w")
        self.check(w, "[[1, 0], [0, 1]]", f"{new}#t", "--transpose-b")

    def test_output_that_cannot_be_written(self):
        self.refuses(1, "nowhere", "run", "[1]", "[1]", "-o", self.path("nowhere/d.npy"))


class Quantize(tool.MatrixTestCase):
    def quantize(self, array, *arguments, name="weight"):
        """(int8 elements, scales, output)"""
        path = self.path("w.safetensors")
        said = self.ends(0, "quantize", self.save("w", array), "-o", path, *arguments).stdout
        tensors = read_safetensors(path)
        self.assertEqual(set(tensors), {name, f"{name}.scale"})
        return tensors[name], tensors[f"{name}.scale"], said

    def check(self, array, scales, q, axis):
        largest = numpy.abs(array).max(axis=axis, keepdims=True)
        numpy.testing.assert_allclose(scales, largest / 127, rtol=1e-6)
        self.assertEqual(q.dtype, numpy.int8)
        self.assertEqual(numpy.abs(q.astype(int)).max(), 127)
        off = numpy.abs(scales * q.astype(numpy.float64) - array)
        self.assertTrue((off <= 0.501 * scales).all(), off.max())
        return off


class QuantizedFiles(Quantize):
    """The file and the report. tests/lib/quantize.py tests products of bytes with scales."""

    def test_standard_output(self):
        source, path = self.save("w", self.make(5, 3)), self.path("w.safetensors")
        said = self.ends(0, "quantize", source, "-o", path).stdout
        done = subprocess.run([tool.TOOL, "quantize", source, "-o", "-"], capture_output=True,
                              check=True)
        self.assertEqual(done.stdout, Path(path).read_bytes())
        self.assertEqual(done.stderr.decode(), said)

    def test_columns(self):
        w = self.make(40, 7)
        q, scales, said = self.quantize(w)
        self.assertEqual(scales.shape, (1, 7))
        off = self.check(w, scales, q, axis=0)
        self.assertIn("40 x 7", said)
        said_off = float(re.search(r"Largest error +(\S+)", said)[1])
        self.assertAlmostEqual(said_off, off.max(), places=5)
        said_rms = float(re.search(r"RMS error +(\S+)", said)[1])
        self.assertAlmostEqual(said_rms, numpy.sqrt((off**2).mean()), places=5)

    def test_rows(self):
        w = self.make(7, 40)
        q, scales, _ = self.quantize(w, "--transpose", "-n", 'layer "1".weight',
                                     name='layer "1".weight')
        self.assertEqual(scales.shape, (7, 1))
        self.check(w, scales, q, axis=1)

    def test_refused(self):
        output = self.path("w.safetensors")
        w = self.save("w", numpy.array([[1, numpy.nan]]))
        self.refuses(1, "NaN|infinite", "quantize", w, "-o", output)
        self.assertFalse(os.path.exists(output))
        w = self.save("w", self.make(2, 2))
        self.refuses(2, "-o", "quantize", w)
        self.refuses(2, r"\.safetensors", "quantize", w, "-o", self.path("w.npy"))
        self.refuses(1, "directory", "quantize", w, "-o", self.path("no/w.safetensors"))


class Loaded(Run):
    def test_of_other_tools(self):
        """int8 and uint8 over the whole range, with zero points."""
        a = self.make(9, 40)
        for dtype in numpy.int8, numpy.uint8:
            with self.subTest(dtype=dtype):
                limits = numpy.iinfo(dtype)
                q, zeros = (self.random.integers(limits.min, limits.max, shape, dtype,
                                                 endpoint=True) for shape in ((40, 70), (70,)))
                scales = self.random.uniform(0.01, 0.02, 70).astype(numpy.float32)
                write_safetensors(self.path("f.safetensors"), {
                    "w": q, "w.scale": scales, "w.zero_point": zeros})
                found = self.multiply(self.save("a", a), self.path("f.safetensors#w"))
                expected = a @ (scales.astype(float) * (q.astype(float) - zeros))
                numpy.testing.assert_allclose(found, expected, atol=1e-4)


tool.main()
