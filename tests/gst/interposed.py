# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""copies.h, whose functions are preloaded before those of OpenCL."""

import contextlib
import ctypes

from library import fields

LIB = ctypes.CDLL(None)


class Copies(ctypes.Structure):
    _fields_ = fields("int writes reads copies timed untimed")


LIB.copies_get.restype = Copies
count_copies, reset_copies = LIB.copies_get, LIB.copies_reset


@contextlib.contextmanager
def pretend_discrete(discrete=True):
    """Devices deny meanwhile that they share the host's memory."""
    LIB.copies_pretend_discrete(discrete)
    try:
        yield
    finally:
        LIB.copies_pretend_discrete(False)
