# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles each public header alone, as C and as C++, and checks names, comments and structs by
what compilers and g-ir-scanner read in them. TAP out.

usage: headers.py PACKAGES GIR HEADER..., of pkg-config packages and a GIR, if any"""

import shutil
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import tap

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wundef", "-Werror", "-fsyntax-only"]
LANGUAGES = {"C": ("gcc", ["-x", "c", "-std=c11", "-pedantic", "-Wstrict-prototypes"]),
             "C++": ("g++", ["-x", "c++", "-std=c++11"])}
OWN_MACROS = ("GEMMCL_", "GST_GEMMCL_", "CL_TARGET_")
OF_TYPES = "GEMMCL_TYPE_"  # macros for GObject's types need no words
OWN_NAMES = ("gemmcl_", "Gemmcl", "gst_gemmcl_", "GstGemmcl")
# The library allocates these, so they may grow.
ALLOCATED = {"DeviceInfo", "KernelInfo", "Matrix", "TuningCandidate", "TuningEntry", "TuningResult"}
NAMESPACE = "{http://www.gtk.org/introspection/core/1.0}"
IDENTIFIER = "{http://www.gtk.org/introspection/c/1.0}identifier"

PACKAGES, GIR, *headers = sys.argv[1:]
flags = tap.require("pkg-config", "--cflags", *PACKAGES.split(), stderr=None).split()


def compile_header(header, compiler, *options):
    if not shutil.which(compiler):
        raise tap.Skipped(f"there is no {compiler}")
    return tap.require(compiler, *options, *flags, f"-I{header.parent}", "-", stdin=None,
                       input=f'#include "{header.name}"\nint unused;\n')


def check_language(header, compiler, options):
    compile_header(header, compiler, *options, *WARNINGS)


def check_macros(header):
    """The preprocessor prints a line with the file's name before that file's lines."""
    inside, before = False, ""
    for line in compile_header(header, "gcc", "-x", "c", "-E", "-dD", "-CC").splitlines():
        if line.startswith("# "):
            inside = line.split('"')[1] == str(header)
        elif inside and line.startswith("#define "):
            name = line.split()[1].partition("(")[0]
            if not name.startswith(OWN_MACROS):
                yield f"{name} has the prefix of another library"
            if not before.endswith("*/") and not name.startswith(OF_TYPES) and \
                    not name.endswith("_DECLS"):
                yield f"{name} has no comment"
        if inside and line and not line.startswith("# "):
            before = line


def check_comments(header):
    """clang prints the functions and types with these names, and their comments."""
    said = compile_header(header, "clang", "-x", "c", "-fsyntax-only", "-Xclang", "-ast-dump",
                          "-Xclang", "-ast-dump-filter=emmcl")
    found = dict.fromkeys((text.partition(":")[0] for text in said.split("Dumping ")[1:]), False)
    for text in said.split("Dumping ")[1:]:
        found[text.partition(":")[0]] |= "FullComment" in text
    for name, has_comment in found.items():
        # GObject's macros declare the others.
        if not has_comment and name.startswith(OWN_NAMES) and "autoptr" not in name and \
                not name.endswith(("_get_type", "Class")) and f"{name}Class" not in found:
            yield f"{name} has no comment"


def check_structs():
    """Fields can be added to each struct without breaking programs."""
    for record in ElementTree.parse(GIR).iter(f"{NAMESPACE}record"):
        fields = [field.get("name") for field in record.iter(f"{NAMESPACE}field")]
        if fields and record.get("name") not in ALLOCATED and fields[0] != "size" and \
                fields[-1] not in ("_reserved", "parent_class"):
            yield f"{record.get('name')} neither carries its size nor has room: see gemmcl.h"


def check_versions():
    """Comments state the version that introduced a function. The first version is not stated."""
    symbols = Path(__file__).parents[2] / "debian/libgemmcl0.symbols"
    versions = dict(line.split()[:2] for line in symbols.read_text(encoding="utf-8").splitlines()
                    if line.startswith(" "))
    for kind in "function", "method", "constructor":
        for function in ElementTree.parse(GIR).iter(NAMESPACE + kind):
            name, since = function.get(IDENTIFIER), function.get("version", "0.1")
            if not versions.get(f"{name}@Base", "").startswith(f"{since}."):
                yield f"{name} lacks the Since: of debian/libgemmcl0.symbols"


RULES = {"structs can grow": check_structs, "versions": check_versions} if GIR else {}
tap.play({**RULES, **{
    f"{path.name}, {name}": partial(check, path, *arguments)
    for path in map(Path, headers)
    for name, check, arguments in [("macros", check_macros, ()),
                                   ("comments", check_comments, ())] + [
        (name, check_language, arguments) for name, arguments in LANGUAGES.items()]}})
