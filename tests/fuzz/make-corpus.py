#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the corpus of the fuzz targets: a folder per target, a small file per kind of input.

usage: make-corpus.py [FOLDER]

The default FOLDER is corpus, beside this file. Files that the script no longer writes are removed.
An input that once broke a reader is kept permanently, under a descriptive name.
"""

import hashlib
import json
import shutil
import struct
import sys
from pathlib import Path

from onnx import TensorProto, helper

KEY = "0123456789abcdef" * 4


def npy(header, data=b"", version=1, length=None):
    text = header.encode("latin-1")
    size = len(text) if length is None else length
    prefix = b"\x93NUMPY" + bytes([version, 0])
    return prefix + struct.pack("<H" if version == 1 else "<I", size) + text + data


def array(descr, shape, data, order=False, **keywords):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"
    return npy(header, data, **keywords)


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def doubles(*values):
    return struct.pack(f"<{len(values)}d", *values)


NPY = {
    "f4": array("<f4", "(2, 3)", floats(1, 2, 3, 4, 5, 6)),
    "f8-fortran": array("<f8", "(2, 2)", doubles(1, 2, 3, 4), True),
    "f8-beyond-f32": array("<f8", "(1, 1)", doubles(1e300)),
    "f2": array("<f2", "(2,)", struct.pack("<2e", 1, -2)),
    "nan": array("<f4", "(1, 2)", floats(float("nan"), float("inf"))),
    "i1": array("|i1", "(2, 2)", b"\x01\x80\x7f\xff"),
    "u8": array("<u8", "(1, 1)", b"\xff" * 8),
    "bf16": array("|V2", "(1, 2)", b"\x80\x3f\x00\xc0"),
    "scalar": array("<f4", "()", floats(7)),
    "python2": array("<f4", "(2L, 1L)", floats(1, 2)),
    "version-2": array("<f4", "(1, 1)", floats(1), version=2),
    "version-3": array("<f4", "(1, 1)", floats(1), version=3),
    "double-quotes": npy('{"shape":(1,1),"fortran_order":False,"descr":"<f4"}', floats(1)),
    "big-endian": array(">f4", "(1, 1)", floats(1)),
    "objects": array("|O", "(1, 1)", b"\x80\x03."),
    "structured": npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }"),
    "three-dimensions": array("<f4", "(1, 1, 1)", floats(1)),
    "empty-shape": array("<f4", "(0, 4)", b""),
    "too-large": array("<f4", "(9999999999999, 9999999999999)", b"1234"),
    "truncated": array("<f4", "(2, 3)", floats(1, 2)),
    "truncated-header": array("<f4", "(2, 3)", b"", length=999),
    "key-twice": npy("{'descr': '<f4', 'descr': '<f4', 'shape': (1,), }"),
    "magic-alone": b"\x93NUMPY\x01\x00",
}


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


QUANTIZED = {
    "w": tensor("I8", [2, 3], 0, 6),
    "w.scale": tensor("F32", [3], 6, 18),
    "w.zero_point": tensor("I8", [3], 18, 21),
}
SAFETENSORS = {
    "f32": safetensors({"w": tensor("F32", [2, 2], 0, 16)}, floats(1, 2, 3, 4)),
    "two": safetensors(
        {"__metadata__": {"format": "pt"}, "v": tensor("BF16", [1, 2], 0, 4),
         "w": tensor("F64", [1], 4, 12)},
        b"\x80\x3f\x00\xc0" + doubles(2)),
    "quantized": safetensors(QUANTIZED, b"\x01\x02\x03\x04\x05\x06" + floats(1, 2, 3) + b"\0\1\2"),
    "scale-of-rows": safetensors(
        {"w": tensor("U8", [2, 3], 0, 6), "w.scale": tensor("F32", [2], 6, 14)},
        bytes(6) + floats(1, 0.5)),
    "scale-negative": safetensors(
        {"w": tensor("I8", [1, 1], 0, 1), "w.scale": tensor("F32", [1], 1, 5)},
        b"\x01" + floats(-1)),
    "f64-beyond-f32": safetensors({"w": tensor("F64", [1, 1], 0, 8)}, doubles(1e300)),
    "unknown-type": safetensors({"w": tensor("F8_E4M3", [1, 1], 0, 1)}, b"\0"),
    "three-dimensions": safetensors({"w": tensor("I8", [1, 1, 1], 0, 1)}, b"\0"),
    "hole": safetensors({"w": tensor("I8", [1, 1], 1, 2)}, b"\0\0"),
    "too-long": safetensors({"w": tensor("I8", [1, 1], 0, 1)}, b"\0\0"),
    "too-large": safetensors({"w": tensor("F32", [2**62, 4], 0, 4)}, b"1234"),
    "negative": safetensors({"w": tensor("F32", [-1], 0, 4)}, b"1234"),
    "no-tensors": safetensors({}),
    "deep": safetensors(b'{"w":' + b"[" * 300 + b"]" * 300 + b"}"),
    "truncated": safetensors({"w": tensor("F32", [1, 1], 0, 4)}, length=9999),
    "no-header": struct.pack("<Q", 2) + b"[]",
}

LITERAL = {
    "matrix": "[[1, 2], [3, 4]]",
    "row": "[1,-2.5e3,+.5,5.]",
    "words": "[[inf,-Infinity],[NaN,nan]]",
    "space": " [\n[ 1 ]\t]\n",
    "ragged": "[[1,2],[3]]",
    "beyond-f32": "[1e39]",
    "long-number": "[" + "9" * 60 + "." + "9" * 60 + "e-80]",
    "hexadecimal": "[0x10]",
    "exponent-alone": "[1e]",
    "unclosed": "[[1",
    "trailing": "[1]]",
    "not-utf-8": b"[1,\xff]",
    "unicode": "[1;\u221e]",
    "empty": "[]",
}

WHERE = {
    "raw": "raw#f32:2x3",
    "raw-bytes": "raw#u8:24x1",
    "raw-too-short": "raw#f64:2x3",
    "raw-too-large": "raw#f32:4294967296x4294967296",
    "raw-zero": "raw#f32:0x6",
    "raw-no-part": "raw",
    "raw-unknown-type": "raw#f31:2x3",
    "raw-one-size": "raw#f32:6",
    "escape": "raw#%66%33%32:2x3",
    "escape-broken": "raw#%6",
    "hash": "raw#raw#f32:2x3",
    "npy": "npy#bf16",
    "safetensors": "safetensors#w",
    "no-suffix": "bin",
    "up": "raw/../a.raw#f32:2x3",
}

KERNEL = {
    "name": "gemm_naive",
    "split": "gemm_naive/4",
    "split-zero": "gemm_naive/0",
    "split-long": "gemm_naive/99999999999999999999",
    "split-twice": "gemm_naive/4/4",
    "near": "gem_naive",
    "auto": "auto",
    "slash": "/",
    "percent": "%s%n",
    "not-utf-8": b"\xc9]t",
    "split-not-utf-8": b"gemm_naive/\xf0",
}

ENTRY = {
    "device": "GPU", "units": 8, "driver": "1", "precision": "f32", "layout": "row",
    "transposed": "", "m": 64, "n": 64, "k": 64, "kernel": "gemm_naive", "gflops": 12.5,
}


def tuning(*entries, version=1):
    return json.dumps({"version": version, "entries": list(entries)})


TUNING = {
    "entry": tuning(ENTRY),
    "near": tuning(ENTRY | {"m": 80, "gflops": 9}, ENTRY | {"n": 48, "kernel": "gemm_naive/2"}),
    "columns": tuning(ENTRY | {"layout": "col", "transposed": "ab"}),
    "other-device": tuning(ENTRY | {"device": "CPU"}),
    "unknown-kernel": tuning(ENTRY | {"kernel": "none/3"}),
    "sizes": tuning(ENTRY | {"m": 0}, ENTRY | {"n": -1}, ENTRY | {"k": 2**63 - 1}),
    "types": tuning(ENTRY | {"m": "64"}, ENTRY | {"gflops": "fast"}, ENTRY | {"kernel": None}, 7),
    "slow": tuning(ENTRY | {"gflops": 0}, ENTRY | {"gflops": -1e308}),
    "newer": tuning(ENTRY, version=2),
    "no-list": '{"version": 1, "entries": {}}',
    "twice": '{"version": 1, "version": 1, "entries": []}',
    "deep": '{"version": 1, "entries": ' + "[" * 300 + "]" * 300 + "}",
    "cut": tuning(ENTRY)[:60],
}

DATA = b"program"
SUM = hashlib.sha256(DATA).hexdigest()
CACHE = {
    "entry": "GEMMCL 1" + KEY + SUM + "program",
    "sum": "GEMMCL 1" + KEY + "0" * 64 + "program",
    "key": "GEMMCL 1" + "f" * 64 + SUM + "program",
    "magic": "GEMMCL 0" + KEY + SUM + "program",
    "no-data": "GEMMCL 1" + KEY + SUM,
    "short": "GEMMCL 1",
    "data": DATA,
}

TENSORS = {
    "one": "3:224:224\nuint8",
    "two": "3:4,10\nuint8,float32",
    "full-stop": "3:4.10:1:1\nint64.float16",
    "ones": "4:1:1:1\nfloat64",
    "space": " 3:4 , 5 \n int8 , uint8 ",
    "zero": "0:4\nint8",
    "too-large": "2147483647:2147483647:2147483647\nfloat64",
    "too-many-dimensions": ":".join("1" * 17) + "\nint8",
    "sixteen": ",".join("2" * 16) + "\n" + ",".join(["int32"] * 16),
    "too-many": ",".join("2" * 17) + "\n" + ",".join(["int32"] * 17),
    "unequal": "1,2\nint8",
    "unknown-type": "1\nbfloat16",
    "empty": "\n",
}



def model(*tensors, nodes=()):
    graph = helper.make_graph(nodes, "g", [], [], tensors)
    return helper.make_model(graph, producer_name="p").SerializeToString()


def external(**entries):
    result = TensorProto(name="w", data_type=1, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        result.external_data.add(key=key, value=value)
    return result


RAW = TensorProto(name="w", data_type=1, dims=[2, 3], raw_data=floats(1, 2, 3, 4, 5, 6))
ONNX = {
    "raw": model(RAW),
    "float-data": model(TensorProto(name="w", data_type=1, dims=[2], float_data=[1, 2])),
    "half": model(TensorProto(name="w", data_type=10, dims=[2], int32_data=[0x3c00, 0x7c01])),
    "bfloat16": model(TensorProto(name="w", data_type=16, dims=[2], int32_data=[0x3f80, 0xc000])),
    "int64": model(TensorProto(name="w", data_type=7, dims=[1, 1], int64_data=[-2**63])),
    "uint32": model(TensorProto(name="w", data_type=12, dims=[1], uint64_data=[2**32 - 1])),
    "two": model(RAW, TensorProto(name="v", data_type=3, dims=[2], raw_data=b"\x01\x80")),
    "constant": model(nodes=[helper.make_node("Constant", [], ["w"], value=RAW)]),
    "external": model(external(location="a.onnx", offset="4", length="24")),
    "external-itself": model(external(location="a.onnx")),
    "external-outside": model(external(location="../a.onnx")),
    "scalar": model(TensorProto(name="w", data_type=1, float_data=[7])),
    "negative": model(TensorProto(name="w", data_type=1, dims=[-2, -3], float_data=[7] * 6)),
    "too-large": model(TensorProto(name="w", data_type=11, dims=[2**62, 2**62])),
    "strings": model(TensorProto(name="w", data_type=8, dims=[1], string_data=[b"x"])),
    "truncated": model(RAW)[:-7],
    "no-graph": b"\x08\x08",
    # Messages of a subgraph within one another, which the parser must skip.
    "nested": b"\x3a\x08\x0a\x06\x2a\x04\x32\x02\x0a\x00",
}



def flexible(dims, data=b"", kind=5, words=()):
    """Returns a flexible tensor; words are (place, number) of the header."""
    header = [0xFEEDCCED, 0xDE001000, kind, *dims, *[0] * (16 - len(dims)), 1, 4, *[0] * 11]
    for place, number in words:
        header[place] = number
    return struct.pack("<32I", *header) + data


FLEXIBLE = {
    "one": flexible([3, 2], b"abcdef"),
    "two": flexible([2], b"ab") + flexible([1, 1, 1, 1], b"abcdefgh", kind=6),
    "magic": flexible([2], b"ab", words=[(0, 7)]),
    "version": flexible([2], b"ab", words=[(1, 0xDE002000)]),
    "unknown-type": flexible([2], b"ab", kind=11),
    "sparse": flexible([2], b"ab", words=[(19, 2)]),
    "media": flexible([2], b"ab", words=[(20, 5)]),
    "no-dimensions": flexible([]),
    "inner-zero": flexible([2, 0, 3], b"abcdef"),
    "too-large": flexible([2**31 - 1] * 16, kind=9),
    "short": flexible([3, 2], b"abcde"),
    "long": flexible([3, 2], b"abcdefg"),
    "truncated": flexible([3, 2])[:100],
}

TARGETS = {
    "npy": NPY,
    "onnx": ONNX,
    "safetensors": SAFETENSORS,
    "literal": LITERAL,
    "where": WHERE,
    "kernel": KERNEL,
    "tuning": TUNING,
    "cache": CACHE,
    "tensors": TENSORS,
    "flexible": FLEXIBLE,
}


def main(arguments):
    corpus = Path(arguments[0]) if arguments else Path(__file__).parent / "corpus"
    shutil.rmtree(corpus, ignore_errors=True)
    for target, files in TARGETS.items():
        folder = corpus / target
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(
                content if isinstance(content, bytes) else content.encode("utf-8"))


if __name__ == "__main__":
    main(sys.argv[1:])
