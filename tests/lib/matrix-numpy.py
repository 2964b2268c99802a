# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes files with NumPy, reads them with the library, and compares; and the other way round."""

import ctypes
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print('1..0 # SKIP NumPy is not installed (python3-numpy)')
    sys.exit(0)

# The dtypes and shapes that the library reads; the values cover each type's ends.
DTYPES = ['f2', 'f4', 'f8', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8']
SHAPES = [(), (1,), (5,), (1, 1), (1, 7), (7, 1), (3, 4), (33, 65), (128, 40)]


class Library:
    """The few functions of libgemmcl that the comparison needs."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        pointer, size, c_int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        for name, result, arguments in [
                ('load', pointer, [ctypes.c_char_p, pointer]),
                ('to_f32', pointer, [pointer, c_int, pointer]),
                ('save_npy', c_int, [pointer, ctypes.c_char_p, pointer]),
                ('get_rows', size, [pointer]),
                ('get_cols', size, [pointer]),
                ('get_data', pointer, [pointer]),
                ('unref', None, [pointer])]:
            function = getattr(self.lib, 'gemmcl_matrix_' + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def read(self, where, transpose, save_to=None):
        """The matrix as f32 by the library; on the way it is saved as it is to save_to."""
        matrix = self.load(where.encode(), None)
        if not matrix:
            raise ValueError('the library refuses ' + where)
        if save_to is not None and not self.save_npy(matrix, save_to.encode(), None):
            raise ValueError('the library cannot write ' + save_to)
        f32 = self.to_f32(matrix, transpose, None)
        rows, cols = self.get_rows(f32), self.get_cols(f32)
        floats = (ctypes.c_float * (rows * cols)).from_address(self.get_data(f32))
        values = np.array(floats, dtype='f4').reshape(rows, cols)
        self.unref(f32)
        self.unref(matrix)
        return values


def make(dtype, shape, random):
    """Values of any kind that the library reads, the type's ends among them."""
    count = int(np.prod(shape))
    raw = random.integers(0, 256, count * np.dtype(dtype).itemsize, dtype='u1')
    values = np.frombuffer(raw.tobytes(), dtype='<' + dtype).reshape(shape)
    if dtype == 'f8':
        # Most doubles are refused: they are beyond f32. These are as large as f32s, or smaller.
        with np.errstate(invalid='ignore'):
            return np.ldexp(np.frexp(values)[0], random.integers(-150, 128, shape))
    return values


def check(library, directory, dtype, shape, order, random):
    """Returns whether all of reading, transposing and saving agree with NumPy."""
    array = np.array(make(dtype, shape, random), order=order)
    path, copy = os.path.join(directory, 'in.npy'), os.path.join(directory, 'out.npy')
    np.save(path, array)
    matrix = np.atleast_2d(array)
    with np.errstate(all='ignore'):
        expected = matrix.astype('f4')
    same = lambda a, b: a.shape == b.shape and np.array_equal(a, b, equal_nan=True)
    ok = same(library.read(path, False, copy), expected)
    ok = ok and same(library.read(path, True), expected.T)
    saved = np.load(copy)
    return ok and saved.dtype == array.dtype and saved.tobytes() == matrix.tobytes()


def main():
    library = Library(sys.argv[1])
    random = np.random.default_rng(7)
    cases = [(dtype, order) for dtype in DTYPES for order in 'CF']
    print('1..%d' % len(cases))
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for number, (dtype, order) in enumerate(cases, 1):
            wrong = [shape for shape in SHAPES
                     if not check(library, directory, dtype, shape, order, random)]
            failed += bool(wrong)
            print('%s %d - %s in %s order%s' % ('not ok' if wrong else 'ok', number, dtype, order,
                                                ' ' + str(wrong) if wrong else ''))
    return 1 if failed else 0


sys.exit(main())
