#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds docs/examples/multiply.c or .vala, runs it and checks its results. TAP out.

usage: example.py SOURCE LIBRARY-DIRECTORY COMPILER...

PKG_CONFIG_PATH names the directory of the library's .pc file. valac asks pkg-config by itself.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

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


def main():
    source, libraries, *compiler = sys.argv[1:]
    flags = [] if source.endswith(".vala") else ["-Wall", "-Wextra", "-Werror"] + subprocess.run(
        ["pkg-config", "--cflags", "--libs", "gemmcl-1.0"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    print("1..2")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "multiply")
        built = subprocess.run(
            [*compiler, source, *flags, "-o", program], check=False
        )
        print(f"{'not ok' if built.returncode else 'ok'} 1 the example builds", flush=True)
        if built.returncode:
            return 1
        said = subprocess.run(
            [program],
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    found = [[float(word) for word in line.split()] for line in said.stdout.splitlines()]
    right = said.returncode == 0 and found == [row for rows in INPUTS for row in layer(rows)]
    print(f"{'ok' if right else 'not ok'} 2 its results are right")
    if not right:
        print(f"# exit status {said.returncode}, {found}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
