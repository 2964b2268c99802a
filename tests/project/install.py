#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs into an empty directory, checks the files and uses them. TAP out.

usage: install.py MESON BUILD-ROOT PREFIX LIBDIR BINDIR MANDIR INCLUDEDIR [COMPONENT...]

COMPONENT: gst, tools, docs, introspection, vapi, reference, if they are built.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MESON, BUILD, PREFIX, LIBDIR, BINDIR, MANDIR, INCLUDEDIR = sys.argv[1:8]
COMPONENTS = set(sys.argv[8:])

PROGRAM = """
#include <stdio.h>
#include <gemmcl.h>
#include <gemmcl-opencl.h>

int
main (void)
{
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_parse ("[[1, 2], [3, 4]]", NULL);
  printf ("%u\\n", (unsigned) gemmcl_matrix_get_rows (matrix));
  return 0;
}
"""


class Failed(Exception):
    pass


def run(*command, env=None):
    said = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )
    if said.returncode:
        raise Failed(f"{' '.join(map(str, command))}: {said.stdout}{said.stderr}")
    return said.stdout


class Installed:
    def __init__(self, top):
        self.top = Path(top)
        self.prefix = self.top / "root" / PREFIX.lstrip("/")
        self.libdir = self.prefix / LIBDIR

    def install(self):
        run(MESON, "install", "-C", BUILD, "--no-rebuild", "--destdir", self.top / "root")

    def has_the_files(self):
        expected = [
            f"{LIBDIR}/libgemmcl.so",
            f"{LIBDIR}/libgemmcl.so.0",
            f"{LIBDIR}/pkgconfig/gemmcl-1.0.pc",
            f"{INCLUDEDIR}/gemmcl-1.0/gemmcl.h",
        ]
        by_component = {
            "gst": [
                f"{LIBDIR}/gstreamer-1.0/libgstgemmcl.so",
                f"{LIBDIR}/pkgconfig/gstgemmcl-1.0.pc",
                f"{INCLUDEDIR}/gemmcl-1.0/gstgemmclmemory.h",
            ],
            "tools": [f"{BINDIR}/gemmcl", f"{BINDIR}/gemmcl-plot"],
            "docs": [f"{MANDIR}/man1/gemmcl.1", f"{MANDIR}/man1/gemmcl-plot.1"],
            "introspection": [
                f"{LIBDIR}/girepository-1.0/Gemmcl-1.0.typelib",
                "share/gir-1.0/Gemmcl-1.0.gir",
            ],
            "reference": ["share/doc/gemmcl-1.0/index.html"],
            "vapi": ["share/vala/vapi/gemmcl-1.0.vapi", "share/vala/vapi/gemmcl-1.0.deps"],
        }
        expected += sum((by_component[name] for name in COMPONENTS), [])
        missing = [path for path in expected if not (self.prefix / path).exists()]
        if missing:
            raise Failed(f"not installed: {', '.join(missing)}")

    def has_nothing_else(self):
        """No other file is installed, such as a test program or a private header."""
        known = re.compile(
            rf"{LIBDIR}/(libgemmcl\.so(\.[0-9.]+)?|gstreamer-1\.0/libgstgemmcl\.so"
            rf"|girepository-1\.0/Gemmcl-1\.0\.typelib"
            rf"|pkgconfig/(gst)?gemmcl-1\.0\.pc)|share/gir-1\.0/Gemmcl-1\.0\.gir"
            rf"|share/doc/gemmcl-1\.0/[\w.-]+"
            rf"|share/vala/vapi/gemmcl-1\.0\.(vapi|deps)|{BINDIR}/gemmcl(-plot)?"
            rf"|{MANDIR}/man1/gemmcl(-plot)?\.1"
            rf"|{INCLUDEDIR}/gemmcl-1\.0/(gemmcl(-[a-z]+)?|gstgemmclmemory)\.h"
        )
        files = [path for path in (self.top / "root").rglob("*") if not path.is_dir()]
        stray = [str(path) for path in files if not known.fullmatch(self.relative(path))]
        if stray:
            raise Failed(f"installed, and nobody knows why: {', '.join(stray)}")

    def relative(self, path):
        return os.path.relpath(path, self.prefix)

    def exports_what_headers_declare(self):
        declared = self.list_declared()
        listed = run("nm", "-D", "--defined-only", self.libdir / "libgemmcl.so")
        exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
        if exported - declared:
            raise Failed(f"exported, in no header: {', '.join(sorted(exported - declared))}")
        if declared - exported:
            raise Failed(f"in a header, not exported: {', '.join(sorted(declared - exported))}")
        symbols = Path(__file__).parents[2] / "debian" / "libgemmcl0.symbols"
        listed = set(re.findall(r"^ (\w+)@", symbols.read_text(encoding="utf-8"), re.M))
        if listed != exported:
            raise Failed(f"{symbols} differs in {', '.join(sorted(listed ^ exported))}")

    def list_declared(self):
        """The functions that headers declare but do not define, from the compiler."""
        flags = run("pkg-config", "--cflags", "gobject-2.0", "gio-2.0").split()
        declarations = self.top / "declarations"
        declared = set()
        for header in (self.prefix / INCLUDEDIR / "gemmcl-1.0").glob("gemmcl*.h"):
            run("gcc", "-x", "c", "-fsyntax-only", "-aux-info", declarations, *flags, header)
            for line in declarations.read_text(encoding="utf-8").splitlines():
                # /* file:line:NC */ extern type name (parameters); N: new style, C: declared
                place, _, declaration = line.partition(" */ ")
                name = declaration.partition(" (")[0].split(" ")[-1].lstrip("*")
                if place.endswith("C") and name.startswith("gemmcl_"):
                    declared.add(name)
        return declared

    def has_a_page_for_each_name(self):
        """Each public function is declared on a page of the reference, each type has its page."""
        pages = self.prefix / "share/doc/gemmcl-1.0"
        texts = [page.read_text(encoding="utf-8") for page in pages.glob("*.html")]
        shown = {name for text in texts for name in re.findall(r">(gemmcl_\w+)</span>", text)}
        missing = {name for name in self.list_declared() - shown if not name.endswith("_get_type")}
        for header in (self.prefix / INCLUDEDIR / "gemmcl-1.0").glob("gemmcl*.h"):
            types = re.findall(
                r"^(?:} |typedef struct \w+ |typedef .*\*|G_DECLARE\w+ \()Gemmcl(\w+)",
                header.read_text(encoding="utf-8"), re.MULTILINE)
            missing |= {name for name in types if not list(pages.glob(f"*.{name}.html"))}
        if missing:
            raise Failed(f"not in the reference: {', '.join(sorted(missing))}")

    def makes_a_program_with_pkg_config(self):
        # The file has the prefix, but the files are in another directory now.
        configured = (self.libdir / "pkgconfig" / "gemmcl-1.0.pc").read_text(encoding="utf-8")
        here = self.top / "pkgconfig"
        here.mkdir()
        moved = re.sub(r"^prefix=.*$", f"prefix={self.prefix}", configured, flags=re.MULTILINE)
        (here / "gemmcl-1.0.pc").write_text(moved, encoding="utf-8")
        flags = run(
            "pkg-config", "--cflags", "--libs", "gemmcl-1.0", env={"PKG_CONFIG_PATH": str(here)}
        ).split()
        source = self.top / "program.c"
        source.write_text(PROGRAM, encoding="utf-8")
        program = self.top / "program"
        run("cc", "-Wall", "-Werror", source, "-o", program, *flags)
        said = run(program, env={"LD_LIBRARY_PATH": str(self.libdir)})
        if said != "2\n":
            raise Failed(f"the program printed {said!r}, not '2'")

    def has_a_plugin_that_loads(self):
        said = run(
            "gst-inspect-1.0",
            "gemmcl",
            env={
                "GST_PLUGIN_PATH": str(self.libdir / "gstreamer-1.0"),
                "GST_REGISTRY": str(self.top / "registry.bin"),
            },
        )
        if str(self.libdir) not in said:
            raise Failed(f"gst-inspect-1.0 found another plugin: {said}")

    def has_a_tool_that_runs(self):
        run(self.prefix / BINDIR / "gemmcl", "--help")

    def has_manual_pages_without_faults(self):
        pages = (self.prefix / MANDIR / "man1").iterdir()
        said = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", *pages],
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
        if said.stderr:
            raise Failed(said.stderr)


CHECKS = {
    "installs": Installed.install,
    "the files are where they belong": Installed.has_the_files,
    "no other files are installed": Installed.has_nothing_else,
    "the library exports what its headers declare": Installed.exports_what_headers_declare,
    "a program is built with pkg-config and runs": Installed.makes_a_program_with_pkg_config,
}
OPTIONAL = {
    "gst": ("the plugin loads", Installed.has_a_plugin_that_loads),
    "tools": ("the tool runs", Installed.has_a_tool_that_runs),
    "reference": ("the reference has all names", Installed.has_a_page_for_each_name),
    "docs": ("groff finds no fault in the manual pages", Installed.has_manual_pages_without_faults),
}
CHECKS.update(check for name, check in OPTIONAL.items() if name in COMPONENTS)

print(f"1..{len(CHECKS)}")
failures = 0
with tempfile.TemporaryDirectory() as directory:
    installed = Installed(directory)
    for number, (name, check) in enumerate(CHECKS.items(), 1):
        try:
            check(installed)
        except (Failed, OSError, subprocess.SubprocessError) as error:
            failures += 1
            print(f"not ok {number} {name}")
            for line in str(error).splitlines():
                print(f"# {line}")
        else:
            print(f"ok {number} {name}")
sys.exit(1 if failures else 0)
