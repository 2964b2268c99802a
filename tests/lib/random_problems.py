# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes random problems with the results that NumPy finds for them.

    random_problems.py FILE COUNT

Exit status 77 without NumPy. Each problem in FILE is, little-endian, with nothing between:

    int64[FIELDS]     the names of FIELDS below
    float64[2]        alpha, beta
    float32[...]      A, B, C, bias, D before; as many as n_a ... say
    float64[2][batch][m][n]  what D should be, and how far off it may be
"""
import math
import random
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

FIELDS = ('m n k layout trans_a trans_b lda ldb ldc ldd a_offset b_offset c_offset d_offset batch '
          'a_stride b_stride c_stride d_stride addend bias activation kernel '
          'n_a n_b n_c n_bias n_d').split()
NO_ADDEND, MATRIX, ROW, OUTPUT = range(4)
SOFTMAX = 9
AUTO, NAIVE = range(2)

erf = np.vectorize(math.erf, otypes=[float])
ACTIVATIONS = [
    lambda x: x,
    lambda x: np.maximum(x, 0),
    lambda x: np.where(x >= 0, x, 0.01 * x),
    lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    lambda x: 1 / (1 + np.exp(-x)),
    lambda x: x / (1 + np.exp(-x)),
    np.tanh,
    lambda x: x * np.clip(x + 3, 0, 6) / 6,
    lambda x: np.exp(x - x.max(-1, keepdims=True))
    / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
]


class Matrix:
    """Where the elements of one of the matrices are, as indices of its buffer."""

    def __init__(self, draw, rows, cols, by_column, batch, shared):
        length, runs = (rows, cols) if by_column else (cols, rows)
        # Odd, so that it is not another program where vectors of 4 fit.
        self.ld = draw.choice([0, length + draw.randrange(1, 9) | 1])
        ld = self.ld or length
        self.offset = draw.choice([0, draw.randrange(1, 20)])
        span = (runs - 1) * ld + length
        self.stride = 0 if shared else span + draw.randrange(9)
        at = np.arange(rows)[:, None], np.arange(cols)[None, :]
        i, j = (at[1], at[0]) if by_column else at
        self.index = (np.arange(batch)[:, None, None] * self.stride + self.offset + i * ld + j)
        self.size = int(self.index.max()) + 1


def draw_sizes(draw):
    """Small ones and large ones alike; the product is what takes time."""
    return [min(300, int(math.exp(draw.uniform(0, math.log(301))))) for _ in range(3)]


def draw_problem(draw, number):
    p = dict.fromkeys(FIELDS, 0)
    p['m'], p['n'], p['k'] = draw_sizes(draw)
    p['layout'], p['trans_b'] = draw.randrange(2), draw.randrange(2)
    p['batch'] = draw.choice([0, 0, 1, 2, 5])
    p['bias'] = draw.randrange(2)
    p['addend'] = draw.randrange(4)
    p['kernel'] = number % 2
    # Each of these is another program, so that only the quickest to compile has them all.
    if p['kernel'] == NAIVE:
        p['trans_a'] = draw.randrange(2)
        p['activation'] = 0 if p['trans_a'] else draw.randrange(10)
    p['alpha'] = float(np.float32(draw.choice([1, 1, 0, -0.5, draw.uniform(-2, 2)])))
    p['beta'] = float(np.float32(draw.choice([0, 1, draw.uniform(-2, 2)])))
    return p


def place(draw, p):
    """Adds where the matrices lie; Returns: their indices."""
    batch = max(p['batch'], 1)
    by_column = p['layout'] == 1
    found = {
        'a': Matrix(draw, p['m'], p['k'], by_column != p['trans_a'], batch, draw.random() < 0.2),
        'b': Matrix(draw, p['k'], p['n'], by_column != p['trans_b'], batch, draw.random() < 0.6),
        'c': Matrix(draw, p['m'], p['n'], by_column, batch, draw.random() < 0.6),
        'd': Matrix(draw, p['m'], p['n'], by_column, batch, False),
    }
    for name, matrix in found.items():
        p['ld' + name] = matrix.ld
        p[name + '_offset'] = matrix.offset
        p[name + '_stride'] = matrix.stride
        p['n_' + name] = matrix.size
    p['n_bias'] = p['n']
    if p['addend'] == ROW:
        p['n_c'] = p['c_offset'] + p['n']
    return found


def solve(p, found, data):
    """Returns: what D should be, and how far off."""
    value = {name: data[name].astype(np.float64) for name in data}
    sums = np.zeros(found['d'].index.shape)
    sizes = np.zeros(found['d'].index.shape)
    if p['alpha']:
        a, b = value['a'][found['a'].index], value['b'][found['b'].index]
        sums += p['alpha'] * (a @ b)
        sizes += abs(p['alpha']) * (np.abs(a) @ np.abs(b))
    if p['beta'] and p['addend'] != NO_ADDEND:
        c = {MATRIX: lambda: value['c'][found['c'].index],
             ROW: lambda: value['c'][p['c_offset']:][None, None, :],
             OUTPUT: lambda: value['d'][found['d'].index]}[p['addend']]()
        sums = sums + p['beta'] * c
        sizes = sizes + np.abs(p['beta'] * c)
    if p['bias']:
        sums = sums + value['bias']
        sizes = sizes + np.abs(value['bias'])
    roundings = (p['k'] + 4) * 2.0**-24
    off = roundings / (1 - roundings) * sizes + 2.0**-126
    result = ACTIVATIONS[p['activation']](sums)
    if p['activation'] == SOFTMAX:
        off = result * (np.expm1(2 * off.max(-1, keepdims=True)) + 1e-5) + 1e-30
    elif p['activation']:
        off = 1.5 * off + 4e-6 * np.abs(result) + 1e-6
    return result, off


def main():
    draw = random.Random(20240229)
    rng = np.random.default_rng(20240229)
    with open(sys.argv[1], 'wb') as file:
        for number in range(int(sys.argv[2])):
            p = draw_problem(draw, number)
            found = place(draw, p)
            data = {name: rng.uniform(-1, 1, p['n_' + name]).astype('<f4')
                    for name in ('a', 'b', 'c', 'bias', 'd')}
            np.array([p[name] for name in FIELDS], '<i8').tofile(file)
            np.array([p['alpha'], p['beta']], '<f8').tofile(file)
            for name in data:
                data[name].tofile(file)
            for result in solve(p, found, data):
                np.broadcast_to(result, found['d'].index.shape).astype('<f8').tofile(file)


main()
