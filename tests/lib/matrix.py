# SPDX-License-Identifier: LGPL-2.1-or-later
"""Matrices: literals, the readers of .npy, .safetensors and raw files with their messages, the ways
to name a file, conversion to f32, written files, and what messages quote. The fuzz targets read
damaged files."""

import json
import locale
import os
import resource

from gemmcl import (DTYPES, TYPES, Refused, TestCase, ask, call, get_matrix, get_name, make, np,
                    take)
from protobuf import field, varint
from tap_unittest import main

DATA = np.arange(1, 7, dtype="f4").tobytes()
LARGEST = float(np.finfo("f4").max)


def npy(header, data=DATA, version=1):
    """A .npy file, padded as NumPy does. header is text or bytes."""
    size = 2 if version == 1 else 4
    text = header if isinstance(header, bytes) else header.encode()
    length = -(8 + size + len(text) + 1) % 64 + len(text) + 1
    return (b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(size, "little") +
            text.ljust(length - 1) + b"\n" + data)


def header(descr="<f4", order=False, shape="(2, 3)"):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"


def safetensors(tensors, data=DATA, pad=0):
    """A safetensors file. tensors is a dictionary or the JSON of one, as text or bytes."""
    text = tensors if isinstance(tensors, (str, bytes)) else json.dumps(tensors)
    text = (text if isinstance(text, bytes) else text.encode()) + b" " * pad
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype, shape, *offsets):
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


def onnx(*dims, name=b"t", location=None):
    """An ONNX model with a float tensor without elements, or with those in a file."""
    external = b"\x70\x01" + field(13, field(1, b"location") + field(2, location)) \
        if location is not None else b""
    tensor = field(1, b"".join(map(varint, dims))) + b"\x10\x01" + field(8, name) + external
    return field(7, field(5, tensor))


class Literals(TestCase):
    GOOD = {"[[1, 2], [3, 4]]": [[1, 2], [3, 4]], "[[1,2],[3,4],[5,6]]": [[1, 2], [3, 4], [5, 6]],
            "[1, 2, 3]": [[1, 2, 3]], "[[7]]": [[7]],
            " \n[ [ -1.5e-3 ,\t+2. ] , [ .25 , 1E2 ] ] ": [[-1.5e-3, 2], [0.25, 100]],
            "[3.4028235e38, 1e-46, 0.1]": [[LARGEST, 0, 0.1]],
            "[inf, -INF, Infinity]": [[np.inf, -np.inf, np.inf]], "[nan, -NaN]": [[np.nan, np.nan]]}
    BAD = {  # what is expected: the texts, the place, and what is found there
        "a number": [("[", 2, "the end"), ("[]", 2, "“]”"), ("[[]]", 3, "“]”"), ("[1,]", 4, "“]”"),
                     ("[1, é]", 5, "“é”"), (b"[1, \xff]", 5, "“\\xff”"), ("[[[1]]]", 3, "“[”"),
                     ("[1e]", 2, "“1”"), ("[-]", 2, "“-”"), ("[.]", 2, "“.”")],
        "“,” or “]” after a number": [
            ("[1 2]", 4, "“2”"), ("[1; 2]", 3, "“;”"), ("[0x10]", 3, "“x”"), ("[nano]", 5, "“o”")],
        "the “[” of a row": [("[[1], 2]", 7, "“2”"), ("[[1],]", 6, "“]”")],
        "“,” or “]” after a row": [("[[1] [2]]", 6, "“[”"), ("[[1]", 5, "the end")],
        "nothing after the last “]”": [("[1] x", 5, "“x”"), ("[[1]]]", 6, "“]”")],
        "a number of at most 3.4e38, the largest of an f32": [
            ("[1, 1e39]", 5, "1e39."), ("[-1e999]", 2, "-1e999.")],
    }
    BAD_ROWS = {"[[1, 2], [3]]": "row 2: expected 2 numbers as in row 1, found 1",
                "[[1], [2], [3, 4]]": "row 3: expected 1 numbers as in row 1, found 2"}

    def test_good(self):
        large = np.arange(500 * 401, dtype="f4").reshape(500, 401)
        for text, values in {**self.GOOD, str(large.tolist()): large}.items():
            matrix = get_matrix("matrix_load", text)
            self.assertEqual((matrix.type, matrix.is_column_major), ("f32", False))
            self.same(matrix.read(), values)

    def test_bad(self):
        for expected, cases in self.BAD.items():
            for text, at, found in cases:
                self.refuses("format", f"at character {at}: expected {expected}, found {found}",
                             "matrix_load", text)
        for text, words in self.BAD_ROWS.items():
            self.refuses("format", words, "matrix_load", text)

    def test_locale(self):
        """A decimal comma of the locale changes nothing."""
        self.addCleanup(locale.setlocale, locale.LC_NUMERIC, "C")
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "nl_NL.UTF-8"):
            try:
                locale.setlocale(locale.LC_NUMERIC, name)
            except locale.Error:
                continue
            return self.same(get_matrix("matrix_load", "[1.5, 2.5]").read(), [[1.5, 2.5]])
        return self.skipTest("no locale with a decimal comma is installed")


class Npy(TestCase):
    GOOD = [  # version, header, shape, and whether it is column-major
        *((version, header(), (2, 3), False) for version in (1, 2, 3)),
        (1, header(order=True), (2, 3), True),
        (1, header(order=True, shape="(1, 6)"), (1, 6), False),
        (1, header(shape="(6,)"), (1, 6), False), (1, header(shape="()"), (1, 1), False),
        (1, header(shape="(2, 2)"), (2, 2), False),
        (1, "{'shape':(2L,3L,),\"fortran_order\":False,'descr':\"<f4\"}", (2, 3), False),
        (1, " { 'shape' : ( 3 , 2 ) , 'descr' : '<f4' , 'fortran_order' : False } ", (3, 2), False),
        (1, header("<V2", shape="(4, 3)"), (4, 3), False)]
    PLAIN = "Expected the .npy header of numbers of one plain type"
    BAD_HEADERS = [
        (header(">f4"), "of type '>f4'. Expected little-endian numbers. Convert the file: python3"),
        (header("|O"), "not pickled Python objects"), (header("|b1"), "not booleans"),
        (header("|V2"), "say so with #bf16"),
        (header("|V4"), "of type '|V4'. Expected little-endian <f4"),
        *((header(descr), f"of type '{descr}'") for descr in ("<c8", "<U3", "")),
        (header(shape="(2, 3, 4)"), "at most 2 dimensions, found 3 (2 x 3 x 4)"),
        (header(shape="(0,)"), "at least one element, found a shape of 0"),
        (header(shape="(3, 0)"), "at least one element, found a shape of 3 x 0"),
        (header(shape="(2, 4)"), "truncated: expected 32 bytes of elements (2 x 4 f32), found 24"),
        (header(shape=f"({2**32}, {2**32})"), "4294967296 f32 is more than memory can hold"),
        *((header(shape=f"({rows}, 2)"), "more than memory can hold")
          for rows in ("2305843009213693952", "9" * 23)),
        (header(shape="(1000000, 1000000)"), "truncated: expected 4000000000000 bytes"),
        ("", PLAIN + ", such as"), (" " * 10001, "at most 10000 bytes, found 10038"),
    ]
    NOT_PLAIN = [
        *(header().replace("'<f4'", descr) for descr in (
            "[('a', '<f4'), ('b', '<f4')]", "('<f4', (2,))", "4", "__import__('os')")),
        *(header(shape=shape) for shape in ("(-1, 3)", "(6)", "(2 3)", "(,)", "[2, 3]", "(2, 3")),
        "{'descr': '<f4", header("<f\\x34"), header(order=1), header() + " + {}", "{}",
        "{'descr': '<f4', 'shape': (2, 3)}", "{'descr' '<f4'}", "{'descr': '<f4' 'shape': (2, 3)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}"]
    BAD_FILES = [
        (b"", "The file is empty"), (b"\x93NUMPY", "does not start with"),
        (b"PK\3\4 an archive", "does not start with"), (b"\x93NUMPY\4\0\1\0{", "found 4.0"),
        (b"\x93NUMPY\1\1\1\0{", "found 1.1"),
        (b"\x93NUMPY\1\0\x80\0{", "ends inside of the .npy header"),
        (b"\x93NUMPY\2\0\1\0", "ends inside of the .npy header"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff{", "ends inside of the .npy header"),
    ]
    SHAPES = [(), (1,), (5,), (1, 1), (1, 7), (7, 1), (3, 4), (33, 65), (128, 40)]

    def test_good(self):
        for version, text, shape, is_column_major in self.GOOD:
            path = self.write("a.npy", npy(text, version=version))
            matrix = get_matrix("matrix_load", path + "#bf16")
            self.assertEqual((matrix.shape, matrix.is_column_major), (shape, is_column_major))
            self.assertEqual(matrix.type, "bf16" if "V2" in text else "f32")
            data = matrix.read().ravel("K").tobytes()
            self.assertEqual(data, DATA[:len(data)])

    def test_bad(self):
        headers = self.BAD_HEADERS + [(text, self.PLAIN) for text in self.NOT_PLAIN]
        for content, words in [(npy(text), words) for text, words in headers] + self.BAD_FILES:
            self.refuses("format", words, "matrix_load", self.write("a.npy", content))

    def draw(self, kind, shape, rng):
        """All values of a type, its ends among them; doubles that a float can be."""
        dtype = np.dtype(DTYPES[kind])
        values = np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype)
        if kind == "f64":
            with np.errstate(invalid="ignore"):
                values = np.ldexp(np.frexp(values)[0], rng.integers(-150, 128, values.shape))
        return values.reshape(shape)

    def test_like_numpy(self):
        """Files are read, converted, transposed and written as by NumPy, also in place."""
        rng = np.random.default_rng(7)
        path = self.path("a.npy")
        for kind in TYPES:
            for order in "CF":
                for shape in self.SHAPES:
                    array = np.array(self.draw(kind, shape, rng), order=order)
                    np.save(path, array)
                    loaded = get_matrix("matrix_load", path + "#bf16")
                    array = np.atleast_2d(array)
                    if kind == "bf16":
                        expected = (array.view("u2").astype("u4") << 16).view("f4")
                    else:
                        with np.errstate(all="ignore"):
                            expected = array.astype("f4")
                    for transpose in False, True:
                        floats = loaded.to_f32(transpose)
                        self.assertFalse(floats.is_column_major)
                        self.same(floats.read(), expected.T if transpose else expected)
                    ask("matrix_save_npy", loaded, path)
                    self.assertEqual(os.path.getsize(path) % 64, array.nbytes % 64)
                    again = get_matrix("matrix_load", path + "#bf16")
                    self.assertEqual(again.is_column_major, loaded.is_column_major)
                    for saved in np.load(path), again.read(), loaded.read():
                        self.assertEqual(saved.tobytes(), array.tobytes())

    def test_save_bad(self):
        path = self.path("missing/x.npy")
        matrix = make([1])
        self.refuses("io", "missing/x.npy: Cannot write the file", "matrix_save_npy", matrix, path)
        self.refuses("io", "expected a file or nothing", "matrix_save_npy", matrix, self.folder)
        quantized = get_matrix("matrix_quantize", matrix, 0, None)
        self.refuses("invalid", "without scales", "matrix_save_npy", quantized, self.path("q.npy"))
        path = self.path("x.safetensors")
        for name, words in ("__metadata__", "notes"), (b"\xff", "in UTF-8"):
            self.refuses("invalid", words, "matrix_save_safetensors", matrix, path, name)
        self.assertEqual(os.listdir(self.folder), [])


class Safetensors(TestCase):
    BAD = [
        ({"t": tensor("F32", [5], 0, 24)},
         "“t”: The file is too long: expected 20 bytes of elements (5 f32), found 24"),
        ({"t": tensor("F32", [2**32, 2**32], 0, 24)}, "more than memory can hold"),
        ({"t": tensor("F32", [7], 0, 24)}, "truncated: expected 28 bytes of elements"),
        ({"t": tensor("F32", [99999999999999999999], 0, 24)}, "header is damaged"),
        *(({"t": each}, "“t”: The safetensors header is damaged: expected a dtype, a shape")
          for each in (
              tensor("F32", [-6], 0, 24), tensor("F32", [6.0], 0, 24), tensor("F32", 6, 0, 24),
              tensor(32, [6], 0, 24), tensor("F32", [6], 0, 12, 24), tensor("F32", [6], 24, 0),
              tensor("F32", [6], -24, 0), 1)),
        ({"t": tensor("F32", [7], 0, 28)}, "truncated: expected 28 bytes of elements (7 f32)"),
        ({"t": tensor("F32", [6], 8, 32)}, "expected 24 bytes of elements (6 f32), found 16"),
        ({"t": tensor("F32", [6], 2**62, 2**62 + 24)}, "(6 f32), found 0"),
        ('{"t": 1, "t": 1}', "duplicate"),
        *((text, "header is damaged: at its byte") for text in ('{"t": ', "{} {}")),
        *((content, "does not start with the length") for content in (
            "[{}]", b"\2\0\0\0", b"\0\0\0\0\0\0\0\0{}", b"\xff\xff\xff\xff\xff\xff\xff\xff{}")),
        ({"t": tensor("F32", [1, 2, 3], 0, 24)}, "“t”: Expected a matrix of at most 2 dimensions"),
        ({"t": tensor("BOOL", [24], 0, 24)}, "“t”: expected elements of F32, F64"),
        ({"t": tensor("F4", [48], 0, 24)}, "U64, found F4"),
        ({"a": tensor("F32", [2, 3], 0, 24), "t": tensor("I8", [0], 0, 0)},
         "“t”: Expected at least one element, found a shape of 0"),
        ({"one": tensor("F32", [3], 0, 12), "two": tensor("F32", [3], 12, 24)},
         "found “t”. The file holds one, two"),
        ({f"n{i}": tensor("U8", [1], i, i + 1) for i in range(24)}, "n18, n19 and 4 more."),
        (b"", "The file is empty"),
        (b"\3\0\0\0\0\0\0\0{}", "truncated: expected a header of 3 bytes, found 2"),
        (b"\2\0\0\0\0\0\0\0{}", "found “t”. The file holds no tensors"),
        (b"\4\0\0\0\0\0\0\0{\"\xff\"", "header is damaged"),
    ]

    def test_good(self):
        """Headers of every length, so that elements lie at every alignment."""
        tensors = {"__metadata__": {"format": "pt"}, "b": tensor("F32", [2], 16, 24),
                   "t": tensor("F32", [2, 2], 0, 16), "s": tensor("F32", [0], 24, 24)}
        for pad in range(8):
            path = self.write("a.safetensors", safetensors(tensors, pad=pad))
            t = get_matrix("matrix_load", path + "#t")
            self.same(get_matrix("matrix_load", path + "#b").read(), [[5, 6]])
            self.same(t.read(), [[1, 2], [3, 4]])
            self.assertEqual(t.to_f32().address % 4, 0)

    def test_types(self):
        for kind, dtype in DTYPES.items():
            shape = [24 // np.dtype(dtype).itemsize]
            path = self.write("a.safetensors",
                              safetensors({"t": tensor(kind.upper(), shape, 0, 24)}))
            self.assertEqual(get_matrix("matrix_load", path + "#t").type, kind)

    def test_bad(self):
        for content, words in self.BAD:
            content = content if isinstance(content, bytes) else safetensors(content)
            path = self.write("a.safetensors", content)
            self.refuses("format", words, "matrix_load", path + "#t")

    def test_large(self):
        """Only the named tensor of a large sparse file is read."""
        at = 3000000000
        start = safetensors({"large": tensor("U8", [at], 0, at),
                             "t": tensor("F32", [6], at, at + 24)}, b"")
        path = self.write("a.safetensors", start)
        try:
            with open(path, "r+b") as file:
                file.seek(len(start) + at)
                file.write(DATA)
        except OSError:
            self.skipTest("the file system has no sparse files of 3 GB")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        matrix = get_matrix("matrix_load", path + "#t")
        self.assertEqual(matrix.read().tobytes(), DATA)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(after - before, 100 * 1024)  # KiB


class Load(TestCase):
    GOOD = [("w.npy", (1, 6), "f32"), ("W.NPY", (1, 5), "f32"), ("w.npy#bf16", (1, 6), "f32"),
            ("half.npy#bf16", (1, 12), "bf16"), ("with#hash.npy", (1, 4), "f32"),
            ("with#half.npy#bf16", (1, 11), "bf16"), ("t.safetensors#fc1.weight", (2, 3), "f32"),
            ("odd.safetensors#a#b c", (3, 2), "f32"), ("odd.safetensors", (3, 2), "f32"),
            ("scaled.safetensors", (1, 4), "i8"), ("scaled.safetensors#w.scale", (1, 1), "f32"),
            ("w.raw#f32:2x3", (2, 3), "f32"), ("w.raw#u8:24x1", (24, 1), "u8"),
            ("file:w.npy", (1, 6), "f32"), ("file:half.npy#bf16", (1, 12), "bf16"),
            ("file:sp%20ace.npy", (1, 3), "f32"), ("file:with%23half.npy#bf16", (1, 11), "bf16"),
            ("file:odd.safetensors#a%23b%20c", (3, 2), "f32")]
    BAD = [
        *((name, "io", "none.npy: Cannot open the file: No such file")
          for name in ("none.npy", "none.npy#bf16", "file:none.npy")),
        ("none.safetensors#a#b", "io", "none.safetensors: Cannot open the file"),
        ("none.raw#f32:2x3", "io", "none.raw: Cannot open the file"),
        ("empty.npy", "format", "empty.npy: The file is empty"),
        ("half.npy", "format", "say so with #bf16"),
        ("w.npy#f16", "format", "expected nothing or #bf16, found “#f16”"),
        ("two.safetensors", "format", "found “”. The file holds a, b."),
        ("scaled.safetensors#w.zero_point", "format", "The file holds w, w.scale."),
        ("t.safetensors#fc2", "format", "found “fc2”. The file holds fc1.weight"),
        ("w.raw", "format", "expected #TYPE:ROWSxCOLS, as in #f32:64x10, found nothing"),
        ("w.raw#f33:2x3", "format", "found #f33:2x3. The types are f32, f64"),
        *((f"w.raw#{shape}", "format", f"as in #f32:64x10, found #{shape}.")
          for shape in ("f32:2x", "f32:2x3x1", "f32:-2x3", "f32:0x3", "", "f32")),
        ("w.raw#f32:2x4", "format", "truncated: expected 32 bytes"),
        ("w.raw#f32:2x2", "format", "too long: expected 16 bytes"),
        ("w.raw#f32:4294967296x4294967296", "format", "more than memory can hold"),
        ("w.raw#u8:1x3000000000", "too-large", "at most 2147483647 rows and columns, found"),
        ("w.bin", "format", "w.bin: Expected a literal such as [[1, 2], [3, 4]]"),
        *((name + more, "format", f"{name}: gemmcl does not read {name[1:].lower()}. Convert the "
           "file: python3 -c") for name, more in (
               ("m.npz", ""), ("m.PT", "#fc1"), ("m.pth", ""), ("m.csv", ""), ("M.TXT", ""))),
        ("m.safetensors.index.json#fc1", "format", "one of the .safetensors files that this index"),
        ("fifo.npy", "io", "found a pipe, socket or device"),
        ("directory.npy", "io", "found a directory"),
        ("file:odd.safetensors#a%zz", "format", "two hexadecimal digits"),
        ("file:sp%2", "io", "Cannot read the URI"),
    ]
    BAD_WHERE = [
        ("file://elsewhere/w.npy", "io", "found the host “elsewhere”"),
        ("https://example.org/w.npy", "io", "Download the file first, as by “curl -LO URL”"),
        ("HTTP://example.org/w", "io", "HTTP://example.org/w: Expected a file of this machine"),
        ("s3://bucket/m.safetensors#fc1", "io", "s3://bucket/m.safetensors: Expected a file of th"),
        ("", "format", "Expected a literal"),
        ("[1, 2", "format", "at character 6: expected “,” or “]”"),
        ("/dev/null#u8:1x1", "format", "Expected a literal"),
        (b"nowhere-\xff.npy", "io", "Cannot open the file"),
        (b"nowhere.raw#\xff", "format", "expected #TYPE"),
        (b"file:///\xff", "format", "Expected a literal"),
    ]

    def setUp(self):
        super().setUp()
        for name, descr, cols in [
                ("w.npy", "<f4", 6), ("W.NPY", "<f4", 5), ("half.npy", "|V2", 12),
                ("with#hash.npy", "<f4", 4), ("with#half.npy", "|V2", 11), ("x.npy#bf16", "<f4", 2),
                ("sp ace.npy", "<f4", 3)]:
            self.write(name, npy(header(descr, shape=f"(1, {cols})")))
        self.write("t.safetensors", safetensors({"fc1.weight": tensor("F32", [2, 3], 0, 24)}))
        self.write("two.safetensors", safetensors({"a": tensor("F32", [3], 0, 12),
                                                   "b": tensor("F32", [3], 12, 24)}))
        self.write("scaled.safetensors", safetensors({"w": tensor("I8", [4], 0, 4),
                                                      "w.scale": tensor("F32", [1], 4, 8)},
                                                     DATA[:4] * 2))
        self.write("odd.safetensors", safetensors({"a#b c": tensor("F32", [3, 2], 0, 24)}))
        self.write("w.raw", DATA)
        self.write("w.bin", DATA)
        self.write("empty.npy", b"")
        os.mkfifo(self.path("fifo.npy"))
        os.mkdir(self.path("directory.npy"))

    def place(self, name):
        if name.startswith("file:"):
            return f"file://{self.folder}/{name[5:]}"
        return f"{self.folder}/{name}"

    def test_good(self):
        for name, shape, kind in self.GOOD:
            matrix = get_matrix("matrix_load", self.place(name))
            self.assertEqual((matrix.shape, matrix.type), (shape, kind))
            self.assertEqual(matrix.read().tobytes()[:4], DATA[:4])
        self.same(get_matrix("matrix_load", "  [[1, 2], [3, 4]]").read(), [[1, 2], [3, 4]])

    def test_bad(self):
        for name, code, words in self.BAD:
            self.refuses(code, words, "matrix_load", self.place(name))
        for where, code, words in self.BAD_WHERE:
            self.refuses(code, words, "matrix_load", where)

    def write_all(self, values):
        values = np.array(values)
        kind = {v: k for k, v in DTYPES.items()}[values.dtype.str[1:]]
        rows, columns = values.shape
        for name, order in ("c.npy", "C"), ("f.npy", "F"):
            np.save(self.place(name), np.array(values, order=order))
        self.write("c.safetensors", safetensors(
            {"t": tensor(kind.upper(), values.shape, 0, values.nbytes)}, values.tobytes()))
        self.write("c.raw", values.tobytes())
        return ["c.npy", "c.safetensors#t", f"c.raw#{kind}:{rows}x{columns}", "f.npy"]

    def test_range(self):
        """No finite number becomes infinite: the message names the element's place."""
        # Half a step above the largest rounds away from it, and a number below does not.
        over = float.fromhex("0x1.ffffffp127")
        below = np.nextafter(over, 0)
        for values, words in [
                ([[0, 0, 0], [0, 0, 1.5e300]], "Row 2, column 3: expected a number of at most 3"),
                ([[0, 0, 0], [0, 0, 1.5e300]], "the largest of an f32, found 1.5e+300."),
                ([[0, 0, 0], [0, 0, -over]], "found -3.402823"),
                ([[0, 0, 1e39], [0, 0, 0]], "Row 1, column 3:")]:
            for name in self.write_all(values):
                self.refuses("format", words, "matrix_load", self.place(name))
                if "#t" in name:
                    self.refuses("format", "Tensor “t”: Row ", "matrix_load", self.place(name))
        for name in self.write_all([[np.inf, -np.inf, np.nan], [below, -below, 1e-300]]):
            self.same(get_matrix("matrix_load", self.place(name)).to_f32().read(),
                      [[np.inf, -np.inf, np.nan], [LARGEST, -LARGEST, 0]])

    def test_overwritten(self):
        """A file that is changed in place changes no matrix, and does not crash the program."""
        values = np.arange(20000, dtype="f4").reshape(100, 200)
        for name in self.write_all(values):
            matrix = get_matrix("matrix_load", self.place(name))
            path = self.place(name).partition("#")[0]
            size = os.path.getsize(path)
            os.truncate(path, 0)
            self.same(matrix.read(), values)
            self.write(os.path.basename(path), b"\x5a" * size)
            self.same(matrix.read(), values)
            self.same(matrix.to_f32(True).read(), values.T)


class Conversion(TestCase):
    def test_values(self):
        """Halves are rounded to even; beyond f32 is infinity. All 16-bit values are tried."""
        for kind, values in [("f64", [0.1, 1 + 2.0**-24, 1 + 3 * 2.0**-24, 1e300, -1e-300]),
                             ("i32", [-2**31, 16777217, 16777219]),
                             ("i64", [-2**63, 2**53 + 1, -7]),
                             ("u64", [2**64 - 1, 0x8000008000000001]),
                             ("f16", np.arange(2**16, dtype="u2").view("f2"))]:
            values = np.array([values], DTYPES[kind])
            with np.errstate(over="ignore"):
                self.same(make(values, kind).to_f32().read(), values.astype("f4"))
        halves = np.arange(2**16, dtype="u2")[None]
        self.same(make(halves.view("V2"), "bf16").to_f32().read(),
                  (halves.astype("u4") << 16).view("f4"))
        matrix = make([[1, 2], [3, 4]])
        self.assertEqual(matrix.to_f32().address, matrix.address)
        self.assertNotEqual(matrix.to_f32(True).address, matrix.address)

    def test_too_large(self):
        """A sparse file, which takes four times its size as f32, more than the memory limit."""
        n = 100000000
        path = self.write("sparse.raw", b"")
        os.truncate(path, n)
        matrix = get_matrix("matrix_load", f"{path}#u8:1x{n}")
        with open("/proc/self/statm", encoding="ascii") as statm:
            size = int(statm.read().split()[0]) * resource.getpagesize()
        limits = resource.getrlimit(resource.RLIMIT_AS)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, limits)
        resource.setrlimit(resource.RLIMIT_AS, (size + 2 * n, limits[1]))
        if resource.getrlimit(resource.RLIMIT_AS)[0] != size + 2 * n:
            self.skipTest("RLIMIT_AS has no effect, as under qemu-user")
        self.refuses("too-large", "1 x 100000000 f32", "matrix_to_f32", matrix, False)

    def test_types(self):
        for i, (kind, dtype) in enumerate(DTYPES.items()):
            self.assertEqual(get_name("type_get_name", i), kind)
            self.assertEqual(call("type_get_size", i), np.dtype(dtype).itemsize)

    def test_new(self):
        one = np.ones(1, "f4")
        matrix = make(one)
        one[0] = 9
        self.same(matrix.read(), [[1]])
        for kind, rows, cols, data, code, words in [
                (0, 0, 3, one, "invalid", "found 0 x 3"), (0, 1, 1, None, "invalid", "no data"),
                (99, 1, 1, one, "invalid", "found 99"),
                (0, 2**64 - 1, 2, one, "too-large", "memory"),
                (0, 2**62, 1, one, "too-large", "memory")]:
            self.refuses(code, words, "matrix_new", kind, rows, cols, data)


class Messages(TestCase):
    """A message is a printable line of at most 1 KiB, whatever it quotes."""

    HOSTILE = {"long": b"7" * 100000, "wide": "é".encode() * 30000, "quotes": b"'" * 3000,
               "terminal": "a\x1b[31m\a\b\r\n\t\x7f\x9b1m\u202e\u200bb".encode(),
               "not UTF-8": b"a\xff\xfe\xc3\xf0\x9f\x98 b"}

    def quotes(self, function, *arguments):
        with self.subTest(function=function, arguments=str(arguments)[:200]):
            with self.assertRaises(Refused) as caught:
                ask(function, *arguments)
            message = str(caught.exception)
            self.assertLessEqual(len(message.encode()), 1024)
            self.assertTrue(message.isprintable(), message)
            return message

    def list_files(self, text):
        name = json.dumps(text.decode("utf-8", "surrogateescape")).encode()
        entry = b'{"dtype":"F32","shape":[6],"data_offsets":[0,24]}'
        for header in (b"{%s:%s}" % (name, entry), b"{%s:%s}" % (name, entry.replace(b"6", b"7")),
                       b"{%s:%s}" % (name, entry.replace(b"6]", b'"x"]')),
                       b"{%s:%s}" % (name, entry.replace(b"0,", b"8,")),
                       b'{"t":%s}' % entry.replace(b'"F32"', name), b'{"t":%s}' % text,
                       b'{"%s":%s}' % (text, entry)):
            yield ".safetensors", safetensors(header)
        for model in (onnx(6, name=text), onnx(6, location=text), onnx(6, location=b"../" + text),
                      onnx(6, location=b"none.bin/" + text)):
            yield ".onnx", model

    def test_names(self):
        self.write("w.npy", npy(header()))
        self.write("w.raw", DATA)
        self.write("t.safetensors", safetensors({"t": tensor("F32", [6], 0, 24)}))
        self.write("t.onnx", onnx(6))
        for text in self.HOSTILE.values():
            for start, end in [
                    ("", ""), ("", ".npz"), ("", ".csv"), ("", ".npy"), ("", ".onnx#t"),
                    ("", ".raw#u8:1x1"), ("http://", ""), ("file:", ""), ("file://", "/w.npy"),
                    ("file:///w.npy#", "%zz"), ("[1, 1e", ""), ("[9", "]"), ("[x", ""),
                    ("[1, ", "")]:
                self.quotes("matrix_load", start.encode() + text + end.encode())
            for name in "w.npy#", "w.raw#", "w.raw#f32:2x", "t.safetensors#", "t.onnx#":
                self.quotes("matrix_load", f"{self.folder}/{name}".encode() + text)
            for name in text, b"gemm_naive/" + text:
                self.quotes("kernel_fits", None, name, None)
            self.quotes("matrix_save_npy", make([1]), b"/none/" + text)

    def test_files(self):
        for text in self.HOSTILE.values():
            for suffix, content in self.list_files(text):
                self.quotes("matrix_load", self.write("a" + suffix, content) + "#t")
            descr = header("{}").encode().replace(b"{}", text[:9000])
            for start in descr, text[:9000]:
                self.quotes("matrix_load", self.write("a.npy", npy(start)))

    def test_many_of_onnx(self):
        where = self.write("a.onnx", onnx(*[1] * 100000)) + "#t"
        message = self.quotes("matrix_load", where)
        if "without protobuf-c" in message:
            self.skipTest("built without protobuf-c")
        self.assertIn("100000 (1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x …)", message)

    def test_many(self):
        dims = [1] * 100000
        content = safetensors({"t": tensor("U8", dims + [24], 0, 24)})
        self.quotes("matrix_load", self.write("a.safetensors", content) + "#t")
        names = {f"{i:0150}": tensor("U8", [1], i, i + 1) for i in range(24)}
        path = self.write("a.safetensors", safetensors(names))
        self.quotes("matrix_load", path + "#" + "t" * 1000)
        self.refuses("format", "1 and 22 more.", "matrix_load", path + "#t")

    def test_form(self):
        for text, quoted in [
                ("a\\b “c” \u00e9", None), ("\x1b\n\t\x00", "\\x1b\\n\\x09"),
                ("\u202e\u009b", "\\u202e\\u009b"), (b"\xffz\xc3", "\\xffz\\xc3"),
                ("x" * 200, None), ("h" * 150 + "t" * 51, "h" * 117 + "…" + "h" * 29 + "t" * 51),
                ("é" * 101, "é" * 58 + "…" + "é" * 40)]:
            self.assertEqual(take(call("quote", text)), quoted or text)
        self.assertEqual(take(call("make_printable", "a\n\tb\x1b" + "x" * 300)),
                         "a\n\tb\\x1b" + "x" * 300)


main()
