# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shapes of problems on command lines."""


def parse_shape(text):
    """(M, N, K) of MxNxK; raises ValueError."""
    sizes = tuple(map(int, text.split("x")))
    if len(sizes) != 3 or min(sizes) < 1:
        raise ValueError(text)
    return sizes
