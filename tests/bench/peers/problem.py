# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The matrices of the contenders, and the check of their results."""

import pathlib

import numpy

from contenders import BYTES, LAYER, LINK, MEMCPY, SEARCH, TOP

ROWS_CHECKED = 64
COSINE_BOUND = 1e-5  # in f32
CHUNKS = 16  # of the vectors of a search, as doubles


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
        self.bias = random.random(n, numpy.float32) - numpy.float32(0.5)
        if form == SEARCH:
            # B is transposed: a vector of norm 1 in a row. The queries are rows of it with noise.
            self.b = random.standard_normal((n, k), numpy.float32)
            self.b /= numpy.sqrt(numpy.einsum("ij,ij->i", self.b, self.b))[:, None]
            self.a = (3 * self.b[random.integers(0, n, m)]
                      + random.standard_normal((m, k), numpy.float32) / numpy.float32(k ** 0.5))
        else:
            self.a = random.random((m, k), numpy.float32) - numpy.float32(0.5)
            self.b = random.random((k, n), numpy.float32) - numpy.float32(0.5)
        if form == BYTES:
            self.a = random.integers(0, 256, (m, k), numpy.uint8)
            # Like a colour matrix, it keeps white.
            self.b = numpy.abs(self.b) / numpy.abs(self.b).sum(axis=0)
        for name in ("a", "b", "bias"):
            getattr(self, name).tofile(self.folder / f"{name}.raw")

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
        if name == LINK:
            return None  # It copies zeros.
        if self.form == SEARCH:
            return self._check_search(name, path)
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

    def _check_search(self, name, path):
        """The same for a search: distinct vectors, which are the nearest up to the error of the
        cosines."""
        values, columns = numpy.hsplit(
            numpy.fromfile(path, numpy.float32).reshape(self.shape[0], 2 * TOP), 2)
        queries = self.a.astype(float)
        queries /= numpy.linalg.norm(queries, axis=1, keepdims=True)
        exact = numpy.concatenate([queries @ part.T for part in numpy.array_split(self.b, CHUNKS)],
                                  axis=1)
        nearest = -numpy.sort(numpy.partition(-exact, TOP - 1)[:, :TOP])
        found = numpy.take_along_axis(exact, columns.astype(int), axis=1)
        if (all(len(set(row)) == TOP for row in columns)
                and numpy.allclose(found, nearest, 0, COSINE_BOUND)
                and numpy.allclose(values, nearest, 0, COSINE_BOUND)):
            return None
        return f"{name}: these are not the {TOP} nearest of {self.name}"
