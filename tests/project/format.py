#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the sources with clang-format, and rules that need no compiler. TAP out.

usage: format.py SOURCE-ROOT
"""

import re
import shutil
import sys
from pathlib import Path

import tap

ROOT = Path(sys.argv[1])
FOLDERS = ["kernels", "lib", "gst", "tools", "tests", "demos"]
CODE = {".c", ".h", ".cl", ".clh", ".def", ".py", ".sh"}
MOST_LINES = 600
# Each version formats some code differently.
CLANG_FORMAT_VERSION = 14
# Written so that this file does not contain the words.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|^\s*#\s*if\s+0\b")


def sources(suffixes):
    return sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes and path.is_file()
    )


def check_layout():
    for name in f"clang-format-{CLANG_FORMAT_VERSION}", "clang-format":
        if shutil.which(name) and f"version {CLANG_FORMAT_VERSION}." in tap.require(
                name, "--version"):
            said = tap.require(name, "--dry-run", "--style=file", *sources({".c", ".h"}))
            return [line for line in said.splitlines() if "-Wclang-format-violations" in line]
    raise tap.Skipped(f"needs clang-format {CLANG_FORMAT_VERSION}, which is not here")


def check_lines(complain):
    found = []
    for path in sources(CODE):
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [f"{path.relative_to(ROOT)}:{message}" for message in complain(path, lines)]
    return found


def whitespace(path, lines):
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"{number}: space at the end of the line"
        if "\t" in line:
            yield f"{number}: a tab"
        if len(line) > 100:
            yield f"{number}: {len(line)} columns, more than 100"


def length(path, lines):
    if len(lines) > MOST_LINES:
        yield f"{len(lines)} lines, more than {MOST_LINES}: is there a second thing in it?"


def unfinished(path, lines):
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield f"{number}: unfinished: {line.strip()}"


def licence(path, lines):
    tag = "SPDX-License-" + "Identifier: "  # in two parts: this line is not the tag of this file
    if path.suffix != ".sh" and not any(tag in line for line in lines[:4]):
        yield "1: no SPDX licence in the first four lines"


tap.play({
    "C is laid out as clang-format does; ninja clang-format mends it": check_layout,
    "no tabs, no space at line ends, 100 columns": lambda: check_lines(whitespace),
    f"no file over {MOST_LINES} lines": lambda: check_lines(length),
    "nothing marked unfinished": lambda: check_lines(unfinished),
    "every source names its licence": lambda: check_lines(licence),
})
