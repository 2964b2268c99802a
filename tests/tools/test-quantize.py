# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl quantize` against NumPy, and files like its own. TAP out."""

import json
import os
import re
import subprocess
from pathlib import Path

import tool

try:
    import numpy
except ImportError:
    tool.skip_all("this Python has no NumPy")

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


class Files(Quantize):
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


class Loaded(Quantize):
    def test_of_other_tools(self):
        """int8 and uint8 over the whole range, with zero points."""
        a, output = self.make(9, 40), self.path("d.npy")
        for dtype in numpy.int8, numpy.uint8:
            with self.subTest(dtype=dtype):
                limits = numpy.iinfo(dtype)
                q, zeros = (self.random.integers(limits.min, limits.max, shape, dtype,
                                                 endpoint=True) for shape in ((40, 70), (70,)))
                scales = self.random.uniform(0.01, 0.02, 70).astype(numpy.float32)
                write_safetensors(self.path("f.safetensors"), {
                    "w": q, "w.scale": scales, "w.zero_point": zeros})
                self.ends(0, "run", self.save("a", a), self.path("f.safetensors#w"), "-o", output)
                expected = a @ (scales.astype(float) * (q.astype(float) - zeros))
                numpy.testing.assert_allclose(numpy.load(output), expected, atol=1e-4)


tool.main()
