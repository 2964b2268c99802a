# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Copies that OpenCL made, as hooks.c counts them, and devices with memory of their own."""

import ctypes
import os
from collections import namedtuple
from unittest import mock

Copies = namedtuple("Copies", "writes reads copies")
COUNTS = [ctypes.c_int.in_dll(ctypes.CDLL(None), f"count_{kind}") for kind in Copies._fields]


def count_copies():
    """Those since reset_copies()."""
    return Copies(*(count.value for count in COUNTS))


def reset_copies():
    for count in COUNTS:
        count.value = 0


def pretend_discrete(discrete=True):
    """Devices deny meanwhile that they share the host's memory."""
    return mock.patch.dict(os.environ, {"GEMMCL_TEST_DISCRETE": "1"} if discrete else {})
