# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The matrices of the contenders, and the check of their results."""

import pathlib

import numpy

from contenders import BYTES, LAYER, MEMCPY

ROWS_CHECKED = 64


def parse_shape(text):
    """(M, N, K) of MxNxK; raises ValueError."""
    sizes = tuple(map(int, text.split("x")))
    if len(sizes) != 3 or min(sizes) < 1:
        raise ValueError(text)
    return sizes


class Problem:
    """A product, its matrices written into a folder for the contenders to read."""

    def __init__(self, shape, form, folder):
        self.shape = shape
        self.form = form
        self.folder = pathlib.Path(folder)
        m, n, k = shape
        random = numpy.random.default_rng(1)
        self.a = self._make_a(random, m, k)
        self.b = (random.random((k, n), numpy.float32) - numpy.float32(0.5)).astype(numpy.float32)
        if form == BYTES:
            # Like a colour matrix, it keeps white.
            self.b = numpy.abs(self.b) / numpy.abs(self.b).sum(axis=0)
        self.bias = random.random(n, numpy.float32) - numpy.float32(0.5)
        for name in ("a", "b", "bias"):
            getattr(self, name).tofile(self.folder / name)

    def _make_a(self, random, m, k):
        if self.form == BYTES:
            return random.integers(0, 256, (m, k), numpy.uint8)
        return random.random((m, k), numpy.float32) - numpy.float32(0.5)

    @property
    def name(self):
        """The shape as text."""
        return "x".join(map(str, self.shape))

    def arguments(self):
        """The arguments of a contender for the problem."""
        return ["--shape", self.name, "--folder", str(self.folder), "--form", self.form]

    def check(self, name, path):
        """Compares rows of a contender's result, spread over the whole, with double precision.
        Returns a description of the error, or None."""
        kind = numpy.uint8 if self.form == BYTES else numpy.float32
        m, n, k = self.shape
        d = numpy.fromfile(path, kind).reshape(m, n)
        rows = numpy.unique(numpy.linspace(0, m - 1, ROWS_CHECKED).astype(int))
        a = self.a[rows].astype(float)
        if name == MEMCPY:
            exact, bound = a, 0.0
        else:
            exact = a @ self.b.astype(float)
            bound = 2 * (k + 4) * 2.0**-24 * (abs(a) @ abs(self.b.astype(float)) + 1)
        if self.form == LAYER:
            exact = numpy.maximum(exact + self.bias.astype(float), 0)
        if "softmax" in self.form:
            exact = numpy.exp(exact - exact.max(axis=1, keepdims=True))
            exact /= exact.sum(axis=1, keepdims=True)
            bound = 4 * bound.max() + 1e-5
        if self.form == BYTES:
            exact, bound = numpy.clip(exact, 0, 255), bound + 0.5
        wrong = numpy.argwhere(~(abs(d[rows] - exact) <= bound))
        if not len(wrong):
            return None
        row, column = wrong[0]
        return (f"{name}: element ({rows[row]}, {column}) of {self.name} is {d[rows[row], column]}"
                f" and should be {exact[row, column]:g}")
