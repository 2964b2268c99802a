# SPDX-License-Identifier: LGPL-2.1-or-later
"""The problem of a row of the table: its matrices, and the check of results."""

import mmap

import numpy
from numpy_gemm import compare, solve

# The forms of a row: the product alone; with bias and ReLU; of u8; M queries for the nearest of N
# vectors by cosines, in f32 and with vectors in int8; with softmax and with row outputs (all three,
# or arg-max).
PLAIN, LAYER, BYTES, SEARCH, QUANTIZED = "plain", "layer", "u8", "search", "search+i8"
ROWS = ("softmax", "rows", "softmax+rows", "softmax+argmax")
FORMS = (PLAIN, LAYER, BYTES, SEARCH, QUANTIZED, *ROWS)
TOP = 5  # vectors that a search finds
ROWS_CHECKED = 64
COSINE_BOUNDS = {SEARCH: 1e-5, QUANTIZED: 1e-2}
CHUNKS = 16  # of the vectors of a search, as doubles


def parse_shape(text):
    sizes = tuple(map(int, text.split("x")))
    if len(sizes) != 3 or min(sizes) < 1:
        raise ValueError(text)
    return sizes


def place(shape, dtype, values=None):
    """An array at the beginning of a page, of these values or zeros."""
    dtype = numpy.dtype(dtype)
    memory = mmap.mmap(-1, int(numpy.prod(shape)) * dtype.itemsize)
    array = numpy.frombuffer(memory, dtype).reshape(shape)
    if values is not None:
        array[...] = values
    return array


class Problem:
    """A row-major product of random matrices, the same in each process: arrays a, b, bias and, for
    the result, d; for that of a search found: the cosines, then the columns."""

    def __init__(self, shape, form):
        self.shape = self.m, self.n, self.k = shape
        self.form, self.is_layer, self.is_search = form, form == LAYER, form in COSINE_BOUNDS
        self.rows = numpy.unique(numpy.linspace(0, self.m - 1, ROWS_CHECKED).astype(int))
        m, n, k = shape
        random = numpy.random.default_rng(1)
        bias = random.random(n, numpy.float32) - numpy.float32(0.5)
        if self.is_search:
            # B is transposed: a vector of norm 1 in a row. The queries are rows of it with noise.
            b = random.standard_normal((n, k), numpy.float32)
            b /= numpy.sqrt(numpy.einsum("ij,ij->i", b, b))[:, None]
            a = (3 * b[random.integers(0, n, m)]
                 + random.standard_normal((m, k), numpy.float32) / numpy.float32(k ** 0.5))
        else:
            a = random.random((m, k), numpy.float32) - numpy.float32(0.5)
            b = random.random((k, n), numpy.float32) - numpy.float32(0.5)
        if form == BYTES:
            a = random.integers(0, 256, (m, k), numpy.uint8)
            # Like a colour matrix, it keeps white.
            b = numpy.abs(b) / numpy.abs(b).sum(axis=0)
        self.a, self.b, self.bias = (place(each.shape, each.dtype, each) for each in (a, b, bias))
        self.d = place((m, n), a.dtype)
        self.found = place((m, 2 * TOP), "f4")

    def sample(self):
        """The rows of the result that are checked, spread over the whole."""
        return (self.found if self.is_search else self.d)[self.rows]

    def check(self, found, copies=False):
        """Compares a sample with double precision, or with A if a contender only copies it. Returns
        a description of the error, with its place in the sample, or None."""
        a = self.a[self.rows].astype(float)
        if self.is_search:
            return self._check_search(found, a)
        if copies:
            return compare(found, a, 0 * a)
        activation = ("relu" if self.is_layer else "softmax" if "softmax" in self.form else "none")
        return compare(found, *solve(a, 0 * a, self.b.astype(float), activation=activation,
                                     bias=self.bias if self.is_layer else 0.0))

    def _check_search(self, found, queries):
        """check() of a search: distinct vectors, the nearest up to the cosines' error."""
        values, columns = found[:, :TOP], found[:, TOP:].astype(int)
        queries /= numpy.linalg.norm(queries, axis=1, keepdims=True)
        exact = numpy.hstack([queries @ part.T for part in numpy.array_split(self.b, CHUNKS)])
        nearest = -numpy.sort(numpy.partition(-exact, TOP - 1)[:, :TOP])
        named = numpy.take_along_axis(exact, columns, axis=1)
        bound = COSINE_BOUNDS[self.form]
        if (all(len(set(row)) == TOP for row in columns)
                and numpy.allclose(named, nearest, 0, bound)
                and numpy.allclose(values, nearest, 0, bound)):
            return None
        return f"these are not the {TOP} nearest"
