# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames as matrices: colours from luma and chroma, and rows of features."""

import numpy as np

from numpy_gemm import UNIT_ROUNDOFF

# The samples of a pixel in memory. The channels of A are R, G, B, A, or Y, in any case.
PACKED = {
    "GRAY8": "Y", "GRAY16_LE": "Y", "RGB": "RGB", "BGR": "BGR", "RGBA": "RGBA", "BGRA": "BGRA",
    "RGBx": "RGBx", "BGRx": "BGRx", "xRGB": "xRGB", "xBGR": "xBGR",
}
# For each colorimetry of caps: kr, kb, full range.
COLORIMETRY = {
    "bt601": (0.299, 0.114, False),
    "bt709": (0.2126, 0.0722, False),
    "1:4:0:0": (0.299, 0.114, True),
    "1:3:5:1": (0.2126, 0.0722, True),
}
# The number of roundings between luma, chroma and colour: of coefficients, products and sums.
COLOUR_ROUNDINGS = 6


def colours(luma, cb, cr, colorimetry):
    """Returns R, G, B by the formulas of gemmcl-image.h, and the bound of their error."""
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


def cut(values, size, stride=0, padding=0, dilation=1):
    """Cuts an array of rows x columns x channels, with zeros around it, into patches of the given
    columns and rows. Returns an array of rows x columns of patches x channels x rows x columns."""
    columns, rows = (dilation * (length - 1) + 1 for length in size)
    values = np.pad(values, [(padding, padding)] * 2 + [(0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(values, (rows, columns), (0, 1))
    return windows[::stride or size[1], ::stride or size[0], :, ::dilation, ::dilation]


def features(values, mode, size, *where):
    """Returns the rows of A from an array of rows x columns x channels. mode: as feature-mode;
    size, where: as in cut()."""
    rows, columns, _ = values.shape
    size = {"pixel": (1, 1), "row": (columns, 1), "frame": (columns, rows)}.get(mode, size)
    patches = cut(values, size, *where).transpose(0, 1, 3, 4, 2)
    return patches.reshape(patches.shape[0] * patches.shape[1], -1)
