# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the copies of OpenCL, by hooks.c, and pretends that devices have memory of their own."""

import contextlib
import ctypes
import os
from collections import namedtuple
from pathlib import Path
from unittest import mock

from tap_unittest import tap

Copies = namedtuple("Copies", "writes reads copies")
COUNTS = [ctypes.c_int.in_dll(ctypes.CDLL(None), f"count_{kind}") for kind in Copies._fields]


def count_copies():
    return Copies(*(count.value for count in COUNTS))


def reset_copies():
    for count in COUNTS:
        count.value = 0


def is_searching():
    """Returns whether a thread of the library searches for a faster kernel."""
    names = []
    for path in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # the thread has ended
            names.append(path.read_text(encoding="utf-8").strip())
    return "gemmcl-tune" in names


def pretend_discrete(discrete=True):
    """Makes devices report that they do not share the memory of the host. Waits for a search, which
    keeps the context of an earlier test: elements would share it."""
    tap.wait_until(lambda: not is_searching())
    return mock.patch.dict(os.environ, {"GEMMCL_TEST_DISCRETE": "1"} if discrete else {})
