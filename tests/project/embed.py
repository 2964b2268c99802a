#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the rules for embedding kernels, on a copy of kernels/. TAP out.

usage: embed.py KERNELS-DIRECTORY MESON
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import tap

SOURCE, MESON = sys.argv[1:]
ROW = '\nGEMMCL_KERNEL ("stray", "stray.cl", .summary = "none")\n'
PROJECT = """
project('embed', meson_version: '>= 1.0')
python = import('python').find_installation('python3')
subdir('kernels')
alias_target('embed', kernel_sources)
"""
# Appended to files of kernels/; each adds a row or a file, or names one that is missing.
STRAY = {"stray.cl": "kernel void f (void) {}\n"}
HEADER = {"stray.clh": "\n"}
NAMED = {"kernels.def": ROW}
INCLUDED = {"gemm_naive.cl": '#include "nowhere.clh"\n'}


def copy(top, appended):
    kernels = Path(shutil.copytree(SOURCE, Path(top, "kernels")))
    for name, text in appended.items():
        with open(kernels / name, "a", encoding="utf-8") as file:
            file.write(text)
    return kernels


def expect(appended, fault):
    """Checks embed.py on a copy: it fails and names the fault, or finds none."""
    with tempfile.TemporaryDirectory() as top:
        kernels = copy(top, appended)
        table, output = kernels / "kernels.def", Path(top, "kernels.c")
        said = tap.run(sys.executable, kernels / "embed.py", table, output, Path(top, "kernels.d"))
        if bool(said.returncode) != bool(fault) or fault not in said.stdout:
            yield f"expected {fault or 'success'}, found status {said.returncode}: {said.stdout}"
        if NAMED.items() <= appended.items() and not fault:
            if '"stray.cl"' not in output.read_text(encoding="utf-8"):
                yield "the new source is not embedded"


def builds_again():
    """Ninja embeds again when any header changes."""
    with tempfile.TemporaryDirectory() as top:
        kernels, build = copy(top, {}), Path(top, "build")
        Path(top, "meson.build").write_text(PROJECT, encoding="utf-8")
        tap.require(MESON, "setup", build, top)
        tap.require("ninja", "-C", build, "embed")
        # Ninja compares time stamps, which may be equal within one tick of the clock.
        made = (build / "kernels/kernels.c").stat().st_mtime
        for header in kernels.glob("*.clh"):
            before = header.stat().st_mtime
            os.utime(header, (made + 2, made + 2))
            if "no work to do" in tap.require("ninja", "-n", "-C", build, "embed"):
                yield f"{header.name} was edited, and nothing would be embedded again"
            os.utime(header, (before, before))


tap.play({
    "every kernel source is some row's": lambda: expect({}, ""),
    "a .cl of no row is an error": lambda: expect(STRAY, "stray.cl"),
    "a .clh that nothing includes is an error": lambda: expect(HEADER, "stray.clh"),
    "a row without its source is an error": lambda: expect(NAMED, "stray.cl"),
    "a row with its source is embedded": lambda: expect({**STRAY, **NAMED}, ""),
    "a missing #include is an error": lambda: expect(INCLUDED, "nowhere.clh"),
    "editing any header embeds anew": builds_again,
})
