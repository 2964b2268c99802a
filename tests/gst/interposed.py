# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Copies that OpenCL made, as hooks.c counts them, and devices with memory of their own."""

import contextlib
import ctypes
from collections import namedtuple

from gemmcl import deny_unified, replace

Copies = namedtuple("Copies", "writes reads copies")
COUNTS = [ctypes.c_int.in_dll(ctypes.CDLL(None), f"count_{kind}") for kind in Copies._fields]


def count_copies():
    """Those since reset_copies()."""
    return Copies(*(count.value for count in COUNTS))


def reset_copies():
    for count in COUNTS:
        count.value = 0


@contextlib.contextmanager
def pretend_discrete(discrete=True):
    """Devices deny meanwhile that they share the host's memory."""
    end = replace("clGetDeviceInfo", deny_unified) if discrete else lambda: None
    try:
        yield
    finally:
        end()
