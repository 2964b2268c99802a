# SPDX-License-Identifier: LGPL-2.1-or-later
"""The text in messages: names, values and contents of files are shortened and escaped."""

import json

from gemmcl import Refused, TestCase, ask, call, make, take
from matrix import DATA, header, npy, safetensors, tensor
from tap_unittest import main


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def onnx(*dims, name=b"t", location=None):
    """An ONNX model with a float tensor without elements, or with those in a file."""
    def field(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content
    external = b"\x70\x01" + field(13, field(1, b"location") + field(2, location)) \
        if location is not None else b""
    tensor = field(1, b"".join(map(varint, dims))) + b"\x10\x01" + field(8, name) + external
    return field(7, field(5, tensor))


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
