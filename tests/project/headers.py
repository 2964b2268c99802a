#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles each public header alone, as C and C++, and checks the prefixes of its names. TAP out.

usage: headers.py PACKAGES HEADER...

PACKAGES: the packages for pkg-config.
"""

import os
import re
import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wundef", "-Werror", "-fsyntax-only"]
LANGUAGES = {
    "C": ("gcc", ["-x", "c", "-std=c11", "-pedantic", "-Wstrict-prototypes"]),
    "C++": ("g++", ["-x", "c++", "-std=c++11"]),
}

# Macros, typedefs, and functions whose name begins a line or follows the type in it.
NAME = re.compile(
    r"^\s*#\s*define (\w+)|^\} (\w+);|^(?!typedef)(?:\w+ )*\**(\w+) \([^*]", re.MULTILINE
)
OWN = re.compile(r"(GST_)?GEMMCL_|(Gst)?Gemmcl|(gst_)?gemmcl_|CL_TARGET_|G_(DECLARE|DEFINE)_")


def list_names_of_others(header):
    with open(header, encoding="utf-8") as text:
        code = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.DOTALL)
    names = [name for groups in NAME.findall(code) for name in groups if name]
    return [name for name in names if not OWN.match(name)]


PACKAGES, *headers = sys.argv[1:]
flags = subprocess.run(
    ["pkg-config", "--cflags", *PACKAGES.split()], stdout=subprocess.PIPE, text=True, check=True
).stdout.split()

number = 0
failed = False
print(f"1..{len(headers) * (len(LANGUAGES) + 1)}")
for header in headers:
    number += 1
    others = list_names_of_others(header)
    failed = failed or bool(others)
    print(f"{'not ok' if others else 'ok'} {number} {os.path.basename(header)} has own names")
    for other in others:
        print(f"# {other} has the prefix of another library")
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
