#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles each public header alone, as C and as C++, and checks names, structs, comments. TAP out.

usage: headers.py PACKAGES HEADER...

PACKAGES: the packages for pkg-config.
"""

import re
import shutil
import sys
from functools import partial
from pathlib import Path

import tap

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


def find_names_of_others(text):
    """The names of a header that have the prefix of another library."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    names = [name for groups in NAME.findall(code) for name in groups if name]
    return [name for name in names if not OWN.match(name)]


STRUCT = re.compile(r"^typedef struct \{\n(.*?)^\} (\w+);", re.MULTILINE | re.DOTALL)
# The library allocates these, so they may grow.
ALLOCATED = {"GemmclDeviceInfo", "GemmclKernelInfo", "GemmclTuningCandidate", "GemmclTuningEntry",
             "GemmclTuningResult"}


def find_rigid(text):
    """The structs of a header to which no field can be added without breaking programs."""
    return [name for fields, name in STRUCT.findall(text) if name not in ALLOCATED
            and not fields.startswith("  gsize size;\n")
            and not fields.endswith("  /*< private >*/\n  gpointer _reserved[4];\n")]


# A type, a macro or a function. GObject's functions and macros for types need no words.
DECLARATION = re.compile(
    r"^(?:typedef |#define |static inline |[A-Za-z].*\bgemmcl_\w+ \().*", re.MULTILINE
)
WORDLESS = re.compile(r"_get_type \(|GEMMCL_TYPE_\w+ \(|GEMMCL_(BEGIN|END)_DECLS")
COMMENT = re.compile(r"/\*\*(?:(?!\*/).)*\*/\n\Z", re.DOTALL)


def find_undescribed(text):
    """The declarations of a header without a comment."""
    return [found[0] for found in DECLARATION.finditer(text)
            if not WORDLESS.search(found[0]) and not COMMENT.search(text[: found.start()])]


SYMBOLS = Path(__file__).parents[2] / "debian/libgemmcl0.symbols"
VERSIONS = dict(re.findall(r"(\w+)@Base (\d+\.\d+)", SYMBOLS.read_text(encoding="utf-8")))
FUNCTION = re.compile(r"^/\*\*\n \* (gemmcl_\w+):\n(.*?)\*/", re.MULTILINE | re.DOTALL)


def find_misdated(text):
    """The functions of a header whose comments do not state the version that introduced them. The
    first version is not stated."""
    return [name for name, comment in FUNCTION.findall(text)
            if (re.findall(r" \* Since: (.*)\n", comment) or ["0.1"]) != [VERSIONS.get(name)]]


RULES = {
    "own names": (find_names_of_others, "has the prefix of another library"),
    "structs can grow": (find_rigid, "neither carries its size nor has room: see gemmcl.h"),
    "comments": (find_undescribed, "has no comment"),
    "versions": (find_misdated, "lacks the Since: of debian/libgemmcl0.symbols"),
}

PACKAGES, *headers = sys.argv[1:]
flags = tap.require("pkg-config", "--cflags", *PACKAGES.split(), stderr=None).split()


def check_rule(header, find, fault):
    return [f"{name} {fault}" for name in find(header.read_text(encoding="utf-8"))]


def check_language(header, compiler, options):
    if not shutil.which(compiler):
        raise tap.Skipped(f"there is no {compiler}")
    tap.require(compiler, *options, *WARNINGS, *flags, f"-I{header.parent}", "-", stdin=None,
                input=f'#include "{header.name}"\nint gemmcl_header_test;\n')


tap.play({
    f"{path.name}, {name}": partial(check, path, *arguments)
    for path in map(Path, headers)
    for check, table in ((check_rule, RULES), (check_language, LANGUAGES))
    for name, arguments in table.items()
})
