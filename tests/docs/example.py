#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds docs/examples/multiply.c or .vala, runs it and checks its results. TAP out.

usage: example.py SOURCE LIBRARY-DIRECTORY COMPILER...

PKG_CONFIG_PATH names the directory of the library's .pc file. valac asks pkg-config by itself.
"""

import os
import sys
import tempfile
from pathlib import Path

import tap

WEIGHT = [[1, 0], [0, 1], [1, -1]]
BIAS = [0.5, 0]
INPUTS = [[[1, 2, 3], [4, 5, 6]], [[11, 2, 3], [4, 5, 6]]]


def layer(rows):
    """max (A B + bias, 0)."""
    columns = list(zip(*WEIGHT))
    return [
        [
            max(sum(a * b for a, b in zip(row, column)) + bias, 0.0)
            for column, bias in zip(columns, BIAS)
        ]
        for row in rows
    ]


def check():
    source, libraries, *compiler = sys.argv[1:]
    flags = []
    if not source.endswith(".vala"):
        flags = ["-Wall", "-Wextra", "-Werror",
                 *tap.require("pkg-config", "--cflags", "--libs", "gemmcl-1.0").split()]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "multiply")
        tap.require(*compiler, source, *flags, "-o", program)
        said = tap.require(program, env={**os.environ, "LD_LIBRARY_PATH": libraries})
    found = [[float(word) for word in line.split()] for line in said.splitlines()]
    tap.expect(found, [row for rows in INPUTS for row in layer(rows)])


tap.play({"the example builds, and its results are right": check})
