# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the rules for embedding kernels, on a copy of kernels/. TAP out."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import tap

SOURCE, MESON = sys.argv[1:]
PROJECT = """
project('embed', meson_version: '>= 1.0')
python = import('python').find_installation('python3')
subdir('kernels')
alias_target('embed', kernel_sources)
"""
# Appended to files of kernels/; each adds a row or a file, or names one that is missing.
STRAY = {"gpu/stray.cl": "kernel void f (void) {}\n"}
HEADER = {"shared/stray.clh": "\n"}
NAMED = {"kernels.def": '\nGEMMCL_KERNEL ("stray", "gpu/stray.cl", .summary = "none")\n'}
INCLUDED = {"articles/gemm_naive.cl": '#include "shared/nowhere.clh"\n'}


def copy(top, appended):
    kernels = Path(shutil.copytree(SOURCE, Path(top, "kernels")))
    for name, text in appended.items():
        with open(kernels / name, "a", encoding="utf-8") as file:
            file.write(text)
    return kernels


def expect(status, word, appended):
    """Runs embed.py on a copy with texts appended. It must exit with the status, and its error must
    have the word, or the file that it writes if there is no error."""
    with tempfile.TemporaryDirectory() as top:
        kernels, output = copy(top, appended), Path(top, "kernels.c")
        said = tap.run(sys.executable, kernels / "embed.py", kernels / "kernels.def", output,
                       Path(top, "kernels.d"))
        text = said.stdout or output.read_text(encoding="utf-8")
    tap.expect((said.returncode, word in text), (status, True), f"{word}: {text[-1000:]}")


def builds_again():
    """Ninja embeds again when any header changes."""
    with tempfile.TemporaryDirectory() as top:
        kernels, build = copy(top, {}), Path(top, "build")
        Path(top, "meson.build").write_text(PROJECT, encoding="utf-8")
        tap.require(MESON, "setup", build, top)
        tap.require("ninja", "-C", build, "embed")
        # Ninja compares time stamps, which may be equal within one tick of the clock.
        made = (build / "kernels/kernels.c").stat().st_mtime
        for header in kernels.glob("*/*.clh"):
            before = header.stat().st_mtime
            os.utime(header, (made + 2, made + 2))
            if "no work to do" in tap.require("ninja", "-n", "-C", build, "embed"):
                yield f"{header.name} was edited, and nothing would be embedded again"
            os.utime(header, (before, before))


tap.play({
    "the sources are complete": lambda: expect(0, '"articles/gemm_naive.cl"', {}),
    "the measurements that ship are embedded": lambda: expect(0, '"tuning-shipped.json"', {}),
    "a .clh that nothing includes is an error": lambda: expect(1, "/stray.clh", HEADER),
    "a row without its source is an error": lambda: expect(1, "/stray.cl", NAMED),
    "a program in a folder is embedded": lambda: expect(0, '"gpu/stray.cl"', {**STRAY, **NAMED}),
    "a missing #include is an error": lambda: expect(1, "shared/nowhere.clh", INCLUDED),
    "editing any header embeds anew": builds_again,
})
