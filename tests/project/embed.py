#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the rules for embedding kernels, on a copy of kernels/. TAP out.

usage: embed.py KERNELS-DIRECTORY MESON

A row without its source and a missing #include fail the build; editing an included header embeds
again; a .cl file that no row names is found.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS, MESON = Path(sys.argv[1]), sys.argv[2]

ROW = '\nGEMMCL_KERNEL ("stray", "stray.cl", .summary = "none")\n'
PROJECT = """
project('embed', meson_version: '>= 1.0')
python = import('python').find_installation('python3')
subdir('kernels')
alias_target('embed', kernel_sources)
"""


class Failed(Exception):
    pass


def run(*command):
    return subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def expect(said, fails, word=""):
    if bool(said.returncode) != fails or word not in said.stdout:
        wanted = f"{'a failure' if fails else 'success'} that names {word!r}"
        raise Failed(f"expected {wanted}, found status {said.returncode}: {said.stdout}")


class Copy:
    """A small project with a copy of kernels/, built once."""

    def __init__(self, top):
        self.top = Path(top)
        self.kernels = self.top / "kernels"
        self.embedded = self.top / "build" / "kernels" / "kernels.c"
        shutil.copytree(KERNELS, self.kernels)
        (self.top / "meson.build").write_text(PROJECT, encoding="utf-8")
        expect(run(MESON, "setup", self.top / "build", self.top), False)
        expect(self.build(), False)

    def build(self):
        return run("ninja", "-C", self.top / "build", "embed")

    def orphans(self):
        return run(
            sys.executable, self.kernels / "embed.py", "--orphans", self.kernels / "kernels.def"
        )

    def append(self, name, text):
        with open(self.kernels / name, "a", encoding="utf-8") as file:
            file.write(text)
        # Ninja compares time stamps, which may be equal within one tick of the clock.
        later = self.embedded.stat().st_mtime + 2
        os.utime(self.kernels / name, (later, later))


def as_it_is(copy):
    expect(copy.orphans(), False)


def orphan(copy):
    (copy.kernels / "stray.cl").write_text("kernel void f (void) {}\n", encoding="utf-8")
    expect(copy.orphans(), True, "stray.cl")


def orphan_header(copy):
    (copy.kernels / "stray.clh").write_text("\n", encoding="utf-8")
    expect(copy.orphans(), True, "stray.clh")


def row_without_source(copy):
    copy.append("kernels.def", ROW)
    expect(copy.build(), True, "stray.cl")


def row_with_source(copy):
    (copy.kernels / "stray.cl").write_text("kernel void f (void) {}\n", encoding="utf-8")
    copy.append("kernels.def", ROW)
    expect(copy.build(), False)
    expect(copy.orphans(), False)
    if '"stray.cl"' not in copy.embedded.read_text(encoding="utf-8"):
        raise Failed("the new source is not embedded")


def missing_include(copy):
    copy.append("gemm_naive.cl", '#include "nowhere.clh"\n')
    expect(copy.build(), True, "nowhere.clh")


def edited_header(copy):
    for header in sorted(copy.kernels.glob("*.clh")):
        before = copy.embedded.read_bytes()
        copy.append(header.name, f"/* edited {header.name} */\n")
        expect(copy.build(), False)
        if copy.embedded.read_bytes() == before:
            raise Failed(f"{header.name} was edited and nothing was embedded anew")


CHECKS = {
    "every kernel source is some row's": as_it_is,
    "a .cl of no row is found": orphan,
    "a .clh that nothing includes is found": orphan_header,
    "a row without its source fails the build": row_without_source,
    "a row with its source is embedded": row_with_source,
    "a missing #include fails the build": missing_include,
    "editing any header embeds anew": edited_header,
}

print(f"1..{len(CHECKS)}")
failures = 0
for number, (name, check) in enumerate(CHECKS.items(), 1):
    with tempfile.TemporaryDirectory() as directory:
        try:
            check(Copy(directory))
        except (Failed, OSError) as error:
            failures += 1
            print(f"not ok {number} {name}", flush=True)
            for line in str(error).splitlines():
                print(f"# {line}")
        else:
            print(f"ok {number} {name}", flush=True)
sys.exit(1 if failures else 0)
