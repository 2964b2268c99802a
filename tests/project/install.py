# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs into an empty directory, checks the files and uses them. TAP out.

usage: install.py MESON BUILD-ROOT PREFIX LIBDIR BINDIR MANDIR INCLUDEDIR [BUILT COMPONENT...]"""

import os
import shutil
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import tap

MESON, BUILD, PREFIX, LIBDIR, BINDIR, MANDIR, INCLUDEDIR = sys.argv[1:8]
COMPONENTS = ["lib", *sys.argv[8:]]
HEADERS = f"{INCLUDEDIR}/gemmcl-1.0"
REFERENCE = "share/doc/gemmcl-1.0"
# Patterns of the installed files. Each pattern matches a file, and each file a pattern.
FILES = {
    "lib": [f"{LIBDIR}/libgemmcl.so", f"{LIBDIR}/libgemmcl.so.0*",
            f"{LIBDIR}/pkgconfig/gemmcl-1.0.pc", f"{HEADERS}/gemmcl.h", f"{HEADERS}/gemmcl-*.h"],
    "gst": [f"{LIBDIR}/gstreamer-1.0/libgstgemmcl.so", f"{LIBDIR}/pkgconfig/gstgemmcl-1.0.pc",
            f"{HEADERS}/gstgemmclmemory.h"],
    "tools": [f"{BINDIR}/gemmcl", f"{BINDIR}/gemmcl-plot",
              "share/bash-completion/completions/gemmcl", "share/zsh/site-functions/_gemmcl",
              "share/fish/vendor_completions.d/gemmcl.fish"],
    "docs": [f"{MANDIR}/man1/gemmcl.1", f"{MANDIR}/man1/gemmcl-plot.1"],
    "introspection": [f"{LIBDIR}/girepository-1.0/Gemmcl-1.0.typelib",
                      "share/gir-1.0/Gemmcl-1.0.gir"],
    "reference": [f"{REFERENCE}/index.html", f"{REFERENCE}/*"],
    "vapi": ["share/vala/vapi/gemmcl-1.0.vapi", "share/vala/vapi/gemmcl-1.0.deps"],
}
directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
TOP = Path(directory.name)
ROOT = TOP / "root" / PREFIX.lstrip("/")


def run(*command, **environment):
    return tap.require(*command, env={**os.environ, **environment})


def install():
    run(MESON, "install", "-C", BUILD, "--no-rebuild", "--destdir", TOP / "root")


def has_the_files():
    patterns = sum((FILES[name] for name in COMPONENTS), [])
    files = {os.path.relpath(path, ROOT) for path in (TOP / "root").rglob("*") if not path.is_dir()}
    for pattern in patterns:
        if not any(fnmatch(file, pattern) for file in files):
            yield f"not installed: {pattern}"
    for file in files:
        if not any(fnmatch(file, pattern) for pattern in patterns):
            yield f"installed, but not expected: {file}"


def exports_what_headers_declare():
    listed = run("nm", "-D", "--defined-only", ROOT / LIBDIR / "libgemmcl.so")
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    declared = set(list_declared()) - {None}
    symbols = Path(__file__).parents[2] / "debian" / "libgemmcl0.symbols"
    packaged = {line.strip().partition("@")[0] for line in
                symbols.read_text(encoding="utf-8").splitlines() if line.startswith(" ")}
    for names, where in ((exported - declared, "exported, in no header"),
                         (declared - exported, "in a header, not exported"),
                         (packaged ^ exported, f"{symbols} differs in")):
        if names:
            yield f"{where}: {', '.join(sorted(names))}"


def list_declared():
    """The functions that g-ir-scanner finds in the headers, and those that return types."""
    for element in ElementTree.parse(ROOT / FILES["introspection"][1]).iter():
        if element.tag.rpartition("}")[2] in ("function", "method", "constructor"):
            yield element.get("{http://www.gtk.org/introspection/c/1.0}identifier")
        yield element.get("{http://www.gtk.org/introspection/glib/1.0}get-type")


def has_a_plugin_that_loads():
    said = run("gst-inspect-1.0", "gemmcl", GST_PLUGIN_PATH=str(ROOT / LIBDIR / "gstreamer-1.0"),
               GST_REGISTRY=str(TOP / "registry.bin"))
    return [] if str(ROOT / LIBDIR) in said else [f"another plugin was found: {said}"]


def has_a_tool_that_runs():
    run(ROOT / BINDIR / "gemmcl", "--help")


def has_manual_pages_without_faults():
    if not shutil.which("groff"):
        raise tap.Skipped("groff is not installed")
    return run("groff", "-man", "-Tutf8", "-ww", "-z",
               *(ROOT / MANDIR / "man1").iterdir()).splitlines()


CHECKS = {"installs": ("lib", install),
          "the files are where they belong, and no others": ("lib", has_the_files),
          "the library exports what its headers declare":
              ("introspection", exports_what_headers_declare),
          "the plugin loads": ("gst", has_a_plugin_that_loads),
          "the tool runs": ("tools", has_a_tool_that_runs),
          "groff finds no fault in the manual pages": ("docs", has_manual_pages_without_faults)}
with directory:
    tap.play({title: check for title, (name, check) in CHECKS.items() if name in COMPONENTS})
