# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays as flexible tensors, apart from the code: a header of 32 words of 32 bits, and bytes."""

from gemmcl import np

FLEXIBLE = "other/tensors,format=flexible,framerate=10/1"
TYPES = ["int32", "uint32", "int16", "uint16", "int8", "uint8", "float64", "float32", "int64",
         "uint64", "float16"]


def write(values, kind="float32"):
    """Returns an array as a flexible tensor: its header and its bytes."""
    dims = [*reversed(values.shape), *[0] * (16 - values.ndim)]
    words = [0xFEEDCCED, 0xDE001000, TYPES.index(kind), *dims, 1, 4, *[0] * 11]
    return np.array(words, "<u4").tobytes() + values.astype(kind).tobytes()
