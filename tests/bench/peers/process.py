# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The process of a contender; contenders.py is the other side.

It reads the matrices, packs the weights, runs once, writes D, and prints a line that describes the
contender. Then it answers each number on the standard input with a line of the seconds of that many
runs. Exit status: 0; 1 with a message; 77 with one if the contender is missing.
"""

import argparse
import os
import sys
import time

import host
import ours
from library import MISSING, Failure, Missing, memory

CONTENDERS = {
    **dict.fromkeys(("device", "clock", "stream", "host", "apart"), ours.Gemmcl),
    "clblast": ours.ClBlast, "launch": ours.Launch,
    "openblas": host.OpenBlas, "mkl": host.Mkl, "mkl-packed": host.Mkl,
    "matmul": host.OneDnn, "inner-product": host.OneDnn,
    "onnxruntime": host.Onnxruntime, "openvino": host.Openvino, "memcpy": host.Memcpy,
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
        self.pages = {}
        self.a, self.b, self.bias = map(self._read, ("a", "b", "bias"))
        self.d, self.pages["d"] = memory(self.d_bytes)

    def _read(self, name):
        """A matrix in memory of its own, since a mapped file would not get large pages."""
        path = f"{self.options.folder}/{name}"
        address, self.pages[name] = memory(os.path.getsize(path))
        with open(path, "rb") as file:
            file.readinto(self.pages[name])
        return address

    def array(self, name, *shape):
        """A matrix of f32 as numpy's array."""
        import numpy  # pylint: disable=import-outside-toplevel

        return numpy.frombuffer(self.pages[name], numpy.float32).reshape(shape)


def measure(contender, runs):
    """The seconds of each run. A contender with a clock of its own returns them from run(); one
    that does not wait for its runs has drain(), and each run counts as an equal share."""
    clock = time.perf_counter
    seconds = []
    begin = clock()
    for _ in range(runs):
        start = clock()
        own = contender.run()
        seconds.append(own or clock() - start)
    if hasattr(contender, "drain"):
        contender.drain()
        return [(clock() - begin) / runs] * runs
    return seconds


def main():
    """The options of the command line."""
    parser = argparse.ArgumentParser()
    for name in ("shape", "form", "folder", "result", "variant"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kernel")
    parser.add_argument("--platform")
    problem = Problem(parser.parse_args())
    try:
        contender = CONTENDERS[problem.options.variant](problem)
        measure(contender, 1)
        if hasattr(contender, "read"):
            contender.read()
        with open(problem.options.result, "wb") as file:
            file.write(memoryview(problem.pages["d"])[:problem.d_bytes])
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
