# SPDX-License-Identifier: LGPL-2.1-or-later
"""Computes D = act(alpha A B + beta C + bias) and its row outputs by NumPy in float64, with a bound
of the element's error, and A from frames: colours from luma and chroma, and rows of features.

The bound is g(K) (|alpha| |A||B| + |beta||C| + |bias|), and the error of A and B in a lower
precision. The activation multiplies it by its largest slope, and adds the error of its own
evaluation on an OpenCL device."""

import math

import numpy as np

UNIT_ROUNDOFF = 2.0**-24
SMALLEST = 2.0**-126  # smaller numbers may be flushed to 0
# The largest error of exp, erfc, tanh and a division, in roundoffs (OpenCL C, section 7.4).
ACTIVATION_ERROR = 40
ROUNDOFFS = {"f32": 0, "f16": 2.0**-11, "bf16": 2.0**-8, "tf32": 2.0**-11}

# For each colorimetry of caps: kr, kb, full range.
COLORIMETRY = {"bt601": (0.299, 0.114, False), "bt709": (0.2126, 0.0722, False),
               "1:4:0:0": (0.299, 0.114, True), "1:3:5:1": (0.2126, 0.0722, True)}
# The number of roundings between luma, chroma and colour: of coefficients, products and sums.
COLOUR_ROUNDINGS = 6


def f32(x):
    """Returns x rounded to float32, as the device gets it, in float64."""
    return np.asarray(x, np.float32).astype(np.float64)


def gelu(x):
    erfc = np.vectorize(math.erfc, otypes=[float])
    return x * erfc(-x / math.sqrt(2)) / 2


def gelu_tanh(x):
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def below(x):
    return np.maximum(-x, 0)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# Each activation, in the order of GemmclActivation: the function, its limits at -infinity and
# infinity, and slope and growth as in kernels/shared/activations.def, a number and 0 or a function.
# Exponentials amplify no error where x > 0: there they add to 1, and erfc is near 2.
# Softmax is a function of rows and has no such limits.
ACTIVATIONS = {
    "none": (lambda x: x, (-np.inf, np.inf), 1, 0),
    "relu": (lambda x: np.maximum(x, 0), (0, np.inf), 1, 0),
    "leaky-relu": (lambda x: np.where(x < 0, 0.01 * x, x), (-np.inf, np.inf), 1, 0),
    "gelu": (gelu, (0, np.inf), 1.13, lambda x: below(x)**2),
    "gelu-tanh": (gelu_tanh, (0, np.inf), 1.13,
                  lambda x: 1.6 * below(x) * (1 + 0.044715 * below(x)**2)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (0, 1), 0.25, below),
    "silu": (lambda x: x / (1 + np.exp(-x)), (0, np.inf), 1.1, below),
    "tanh": (np.tanh, (-1, 1), 1, 0),
    "hard-swish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, (0, np.inf), 1.5, 0),
    "relu6": (lambda x: np.clip(x, 0, 6), (0, 6), 1, 0),
    "elu": (lambda x: np.where(x < 0, np.expm1(x), x), (-1, np.inf), 1, 0),
    "softmax": (softmax, None, 1, 0),
}


def activate(name, x, bound):
    """Returns act(x) and the bound of its error; bound: the error of x. An infinite x is exact."""
    bound = np.where(np.isinf(x), 0, bound)
    if name == "softmax":
        result = softmax(x)
        relative = np.expm1(2 * bound.max(axis=1, keepdims=True))
        own = (ACTIVATION_ERROR + x.shape[1] + 2 * np.abs(x - x.max(axis=1, keepdims=True)))
        off = np.where(result > 0, result * (relative + own * UNIT_ROUNDOFF), 0)
        return result, off + SMALLEST
    function, (low, high), slope, exponent = ACTIVATIONS[name]
    result = np.select([x == -np.inf, x == np.inf], [low, high], function(x))
    if name == "none":
        return result, bound
    growth = ACTIVATION_ERROR + 4 * (exponent(x) if exponent else 0)
    own = np.where(np.isinf(x), 0, growth * UNIT_ROUNDOFF * np.abs(result))
    return result, slope * bound + own + SMALLEST


def normalized(x, off):
    """Returns the rows of x divided by their L2 norms, and the error bound; off: the error of x."""
    norm = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    off_norm = np.linalg.norm(off, axis=1, keepdims=True)
    result = x / norm
    bound = (off + np.abs(result) * off_norm) / np.maximum(norm - off_norm, 1e-12)
    return result, bound + (x.shape[1] / 2 + 20) * UNIT_ROUNDOFF * np.abs(result) + SMALLEST


def rounded(a, b, precision):
    """Returns the error of the sums that follows from rounding or quantizing A and B."""
    sizes = np.abs(a) @ np.abs(b)
    if precision != "i8":
        v = ROUNDOFFS[precision]
        return (2 * v + v * v) * sizes
    a_step = (np.maximum(a.max(1), 0) - np.minimum(a.min(1), 0))[:, None] / 255
    b_step = np.abs(b).max(0)[None, :] / 127
    b_off = b_step / 2 * np.abs(a).sum(1)[:, None]
    return 1.001 * (a_step / 2 * np.abs(b).sum(0) + b_off + len(b) * a_step * b_step / 4)


def solve(a, a_off, b, *, c=0.0, bias=0.0, alpha=1.0, beta=0.0, activation="none",
          normalize="", precision="f32"):
    """Returns D and the bound of its error. All numbers are as the device has them; a_off: the
    error of a; normalize: as the element's property, any of input and output."""
    alpha, beta = f32(alpha), f32(beta)
    if "input" in normalize:
        a, a_off = normalized(a, a_off)
    roundings = (a.shape[1] + 4) * UNIT_ROUNDOFF
    sums = np.zeros((a.shape[0], b.shape[1]))
    sizes, inherited = sums.copy(), sums.copy()
    if alpha:
        with np.errstate(invalid="ignore"):
            sums = alpha * (a @ b)
            sizes = abs(alpha) * (np.abs(a) @ np.abs(b))
            inherited = abs(alpha) * (a_off @ np.abs(b) + rounded(a, b, precision))
    if beta:
        sums = sums + beta * c
        sizes = sizes + np.abs(beta * c)
    bound = roundings / (1 - roundings) * (sizes + np.abs(bias)) + inherited + SMALLEST
    result, bound = activate(activation, sums + bias, bound)
    return normalized(result, bound) if "output" in normalize else (result, bound)


def pooled(name, d, off, grid, size, stride=None):
    """Returns D, whose rows are grids, with each window as one row, and the bound of its error.
    name: max or average; off: the error of D; grid, size, stride: (width, height) of a grid, of
    a window, and from one window to the next, by default its size"""
    def gather(values):
        grids = values.reshape(-1, grid[1], grid[0], values.shape[1])
        windows = np.lib.stride_tricks.sliding_window_view(grids, size[::-1], (1, 2))
        step = stride or size
        return windows[:, ::step[1], ::step[0]].reshape(-1, values.shape[1], size[0] * size[1])
    values, off = gather(d), gather(off)
    if name == "max":
        return values.max(2), off.max(2)
    rounding = (size[0] + size[1] + 3) * UNIT_ROUNDOFF * np.abs(values).mean(2)
    return values.mean(2), off.mean(2) + rounding + SMALLEST


def row_outputs(d, names, k=0):
    """Returns the row outputs of D, and the bound of their error. NaN is larger than all numbers;
    of equal numbers the first is larger. names: as the element's row-outputs; k: its top-k"""
    order = d.shape[1] - 1 - np.argsort(d[:, ::-1], kind="stable")[:, ::-1]
    ordered = np.take_along_axis(d, order, 1).astype(float)
    parts = {"sum": ordered.sum(1, keepdims=True), "max": ordered[:, :1], "arg-max": order[:, :1],
             "top-k": np.hstack([ordered[:, :k], order[:, :k]])}
    values = np.hstack([part for name, part in parts.items() if name in names.split("+")])
    bound = UNIT_ROUNDOFF * np.abs(values)
    if "sum" in names:
        bound[:, 0] += d.shape[1] * UNIT_ROUNDOFF * np.abs(ordered).sum(1)
    return values, bound


def colours(luma, cb, cr, colorimetry):
    """Returns R, G, B by the formulas of gemmcl-frame.h, and the bound of their error."""
    kr, kb, full = COLORIMETRY[colorimetry]
    kg = 1 - kr - kb
    luma = luma * 1.0 if full else (luma - 16) * 255 / 219
    cb, cr = ((c - 128) * (1 if full else 255 / 224) for c in (cb, cr))
    red = [luma, 2 * (1 - kr) * cr]
    blue = [luma, 2 * (1 - kb) * cb]
    green = [luma, -kr / kg * red[1], -kb / kg * blue[1]]
    rgb = [np.clip(sum(terms), 0, 255) for terms in (red, green, blue)]
    sizes = [sum(np.abs(term) for term in terms) for terms in (red, green, blue)]
    return np.stack(rgb, 2), COLOUR_ROUNDINGS * UNIT_ROUNDOFF * np.stack(sizes, 2)


def features(values, mode, size, stride=0, padding=0, dilation=1):
    """Returns the rows of A from an array of rows x columns x channels. mode: as feature-mode;
    size: columns and rows of a patch; padding: zeros on each side"""
    rows, columns, channels = values.shape
    size = {"pixel": (1, 1), "row": (columns, 1), "frame": (columns, rows)}.get(mode, size)
    columns, rows = (dilation * (length - 1) + 1 for length in size)
    values = np.pad(values, [(padding, padding)] * 2 + [(0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(values, (rows, columns), (0, 1))
    patches = windows[::stride or size[1], ::stride or size[0], :, ::dilation, ::dilation]
    return patches.transpose(0, 1, 3, 4, 2).reshape(-1, size[0] * size[1] * channels)


def compare_floats(found, expected, bound):
    """Returns a description of the differences, or None. NaN and infinities must agree."""
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return "NaN and infinities are not where they should be"
    off = np.where(finite, np.abs(found - np.where(finite, expected, 0)), 0)
    wrong = finite & ~(off <= bound)
    return describe(wrong, found, expected, bound)


def compare_integers(found, expected, bound):
    """Returns a description of the differences, or None. Either integer is right at a half."""
    info = np.iinfo(found.dtype)
    low, high = (np.clip(np.rint(expected + side * bound), info.min, info.max) for side in (-1, 1))
    number = found.astype(np.float64)
    return describe((number < low) | (number > high), found, expected, bound)


def describe(wrong, found, expected, bound):
    if not wrong.any():
        return None
    i, j = np.argwhere(wrong)[0]
    return (f"{wrong.sum()} of {wrong.size} are wrong, first element ({i}, {j}): "
            f"{found[i, j]}, expected {expected[i, j]:.9g} within {bound[i, j]:.3g}")


def compare(found, expected, bound):
    if found.shape != expected.shape:
        return f"D has the shape {found.shape}, expected {expected.shape}"
    if found.dtype.kind == "f":
        return compare_floats(found.astype(np.float64), expected, bound)
    return compare_integers(found, expected, bound)
