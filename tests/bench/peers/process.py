# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The counterpart of process.h for contenders in Python."""

import argparse
import sys
import time

import numpy

FAILED, MISSING = 1, 77


class Layer:
    """D = max (A B + bias, 0), all row-major f32, and the number of threads."""

    def __init__(self, options):
        m, n, k = map(int, options.shape.split("x"))
        self.threads = options.threads
        self.a = numpy.fromfile(options.folder + "/a", numpy.float32).reshape(m, k)
        self.b = numpy.fromfile(options.folder + "/b", numpy.float32).reshape(k, n)
        self.bias = numpy.fromfile(options.folder + "/bias", numpy.float32)
        self.d = numpy.zeros((m, n), numpy.float32)


def serve(run):
    """Answers each number on the standard input with the seconds of that many runs."""
    clock = time.perf_counter
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = clock()
            run()
            seconds.append(clock() - start)
        print(*(f"{each:.9f}" for each in seconds), flush=True)


def main(prepare):
    """A contender's program. prepare(layer) returns a description of the contender, and a function
    that writes D to the layer's d. Returns the exit status."""
    parser = argparse.ArgumentParser()
    for name in ("--shape", "--folder", "--result"):
        parser.add_argument(name, required=True)
    parser.add_argument("--variant", help="for the others")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layer", action="store_true", required=True)
    options = parser.parse_args()
    layer = Layer(options)
    try:
        about, run = prepare(layer)
    except ImportError as error:
        print(error, file=sys.stderr)
        return MISSING
    run()
    layer.d.tofile(options.result)
    print(about, flush=True)
    serve(run)
    return 0
