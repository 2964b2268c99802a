#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles each public header alone, as C and as C++. TAP out.

usage: headers.py PACKAGES HEADER...

PACKAGES: the packages for pkg-config.
"""

import os
import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wundef", "-Werror", "-fsyntax-only"]
LANGUAGES = {
    "C": ("gcc", ["-x", "c", "-std=c11", "-pedantic", "-Wstrict-prototypes"]),
    "C++": ("g++", ["-x", "c++", "-std=c++11"]),
}

PACKAGES, *headers = sys.argv[1:]
flags = subprocess.run(
    ["pkg-config", "--cflags", *PACKAGES.split()], stdout=subprocess.PIPE, text=True, check=True
).stdout.split()

number = 0
failed = False
print(f"1..{len(headers) * len(LANGUAGES)}")
for header in headers:
    for language, (compiler, options) in LANGUAGES.items():
        number += 1
        name = f"{number} {os.path.basename(header)} as {language}"
        if not shutil.which(compiler):
            print(f"ok {name} # SKIP there is no {compiler}")
            continue
        said = subprocess.run(
            [compiler, *options, *WARNINGS, *flags, f"-I{os.path.dirname(header)}", "-"],
            input=f'#include "{os.path.basename(header)}"\nint gemmcl_header_test;\n',
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        failed = failed or said.returncode != 0
        print(f"{'not ok' if said.returncode else 'ok'} {name}")
        for line in said.stderr.splitlines():
            print(f"# {line}")
sys.exit(1 if failed else 0)
