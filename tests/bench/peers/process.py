# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The process of a contender; contenders.py is the other side.

It reads the matrices, packs the weights, runs once, writes D, and prints a line that describes the
contender. Then it answers each number on the standard input with a line of the seconds of that many
runs. Exit status: 0; 1 with a message; 77 with one if the contender is missing.
"""

import argparse
import importlib
import os
import sys
import time

import numpy

from contenders import SEARCH, TOP
from library import MISSING, Failure, Missing, memory

PREFERRED_FLOATS, NATIVE_FLOATS = 0x100A, 0x103A  # CL_DEVICE_..._VECTOR_WIDTH_FLOAT
# The module and class of each variant
CONTENDERS = {
    **dict.fromkeys(("device", "clock", "stream", "host", "apart"), ("ours", "Gemmcl")),
    "element": ("element", "Element"), "pooled": ("element", "Pooled"),
    "clblast": ("ours", "ClBlast"), "link": ("ours", "Link"),
    "openblas": ("host", "OpenBlas"), "mkl": ("host", "Mkl"), "mkl-packed": ("host", "Mkl"),
    "matmul": ("host", "OneDnn"), "inner-product": ("host", "OneDnn"),
    "onnxruntime": ("host", "Onnxruntime"), "openvino": ("host", "Openvino"),
    "memcpy": ("host", "Memcpy"), "numpy": ("host", "Numpy"), "faiss": ("host", "Faiss"),
}


class Problem:
    """A row-major product: sizes, form, options, and the addresses of A, B, the bias and D, whose
    pages are in @pages."""

    def __init__(self, options):
        self.options, self.form, self.threads = options, options.form, options.threads
        self.shape = self.m, self.n, self.k = tuple(map(int, options.shape.split("x")))
        self.item = 1 if self.form == "u8" else 4
        self.layer = self.form == "layer"
        self.d_bytes = self.m * self.n * self.item
        # A search's result is not D, but the values and the columns of the largest elements.
        self.result_bytes = self.m * 2 * TOP * 4 if self.form == SEARCH else self.d_bytes
        self.pages = {}
        self.a, self.b, self.bias = map(self._read, ("a", "b", "bias"))
        self.d, self.pages["d"] = memory(max(self.d_bytes, self.result_bytes))

    def _read(self, name):
        """A matrix in memory of its own, since a mapped file would not get large pages."""
        path = f"{self.options.folder}/{name}.raw"
        address, self.pages[name] = memory(os.path.getsize(path))
        with open(path, "rb") as file:
            file.readinto(self.pages[name])
        return address

    def array(self, name, *shape, dtype="f32"):
        """A matrix as NumPy's array."""
        dtype = {"f32": numpy.float32, "u8": numpy.uint8}[dtype]
        return numpy.frombuffer(self.pages[name], dtype, numpy.prod(shape)).reshape(shape)


def measure(contender, runs):
    """The seconds of each run. A contender with a clock of its own returns them from run(); one
    whose runs overlap has play() for all of them, and each counts as an equal share."""
    if hasattr(contender, "play"):
        return [contender.play(runs) / runs] * runs
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        own = contender.run()
        seconds.append(own or time.perf_counter() - start)
    return seconds


def main():
    """The options of the command line."""
    parser = argparse.ArgumentParser()
    for name in ("shape", "form", "folder", "result", "variant"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kernel")
    parser.add_argument("--platform")
    parser.add_argument("--properties", default="")
    problem = Problem(parser.parse_args())
    if "PEERS_FLOATS" in os.environ:
        floats = int(os.environ["PEERS_FLOATS"]).to_bytes(4, sys.byteorder)
        importlib.import_module("gemmcl").pretend(
            dict.fromkeys((PREFERRED_FLOATS, NATIVE_FLOATS), floats))
    try:
        module, name = CONTENDERS[problem.options.variant]
        contender = getattr(importlib.import_module(module), name)(problem)
        measure(contender, 1)
        if hasattr(contender, "read"):
            contender.read()
        with open(problem.options.result, "wb") as file:
            file.write(memoryview(problem.pages["d"])[:problem.result_bytes])
        print(contender.about, flush=True)
        for line in sys.stdin:
            print(*(f"{each:.9f}" for each in measure(contender, int(line))), flush=True)
    except (ImportError, Missing) as missing:
        print(missing, file=sys.stderr)
        return MISSING
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
