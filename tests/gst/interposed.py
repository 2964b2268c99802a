# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the copies of OpenCL, by hooks.c, and pretends that devices have memory of their own."""

import ctypes
import os
from collections import namedtuple
from unittest import mock

Copies = namedtuple("Copies", "writes reads copies")
COUNTS = [ctypes.c_int.in_dll(ctypes.CDLL(None), f"count_{kind}") for kind in Copies._fields]


def count_copies():
    return Copies(*(count.value for count in COUNTS))


def reset_copies():
    for count in COUNTS:
        count.value = 0


def pretend_discrete(discrete=True):
    """Makes devices report that they do not share the memory of the host."""
    return mock.patch.dict(os.environ, {"GEMMCL_TEST_DISCRETE": "1"} if discrete else {})
