#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs under several prefixes, as a user does, and uses what was installed; builds the example
as a project with gemmcl inside. TAP out.

usage: prefixes.py MESON SOURCE-ROOT

GEMMCL_TEST_PREFIXES lists the prefixes, separated by blanks; with none the test is skipped, since
it writes outside of the build directory. tools/distros.sh sets it in its chroots. The commands run
with the environment of a new login and the lines that the installation prints.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MESON, SOURCE = sys.argv[1:3]
PREFIXES = os.environ.get("GEMMCL_TEST_PREFIXES", "").split()
LOGIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
         "HOME": os.environ.get("HOME", "/")}
EXAMPLE = Path(SOURCE, "docs", "examples", "multiply.c")
RESULTS = "4.5 0\n10.5 0\n14.5 0\n10.5 0\n"  # A B + bias by hand
# A user's trials: a name, and a shell's line.
TRIALS = {
    "tool": "gemmcl --version",
    "plugin": "gst-inspect-1.0 --plugin gemmcl",
    "shared": f"cc {EXAMPLE} $(pkg-config --cflags --libs gemmcl-1.0) -o shared && ./shared",
    "static": f"cc {EXAMPLE} $(pkg-config --cflags gemmcl-1.0) -Wl,-Bstatic -lgemmcl "
              "-Wl,-Bdynamic $(pkg-config --static --libs gemmcl-1.0 | sed s/-lgemmcl//) "
              "-L$(pkg-config --variable libdir gemmcl-1.0) -o static && ./static",
    "memory": "echo '#include <gstgemmclmemory.h>' | "
              "cc -x c -fsyntax-only $(pkg-config --cflags gstgemmcl-1.0) -",
}
if shutil.which("g-ir-scanner") and importlib.util.find_spec("gi"):
    TRIALS["typelib"] = (f"{sys.executable} -c 'import gi; "
                         "gi.require_version(\"Gemmcl\", \"1.0\"); "
                         "from gi.repository import Gemmcl; Gemmcl.Gemm.new()'")


def run(command, directory, environment=None):
    """Returns the exit status and the output."""
    done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    return done.returncode, done.stdout


def build_with_subproject(top):
    """Builds docs/examples with the sources in place of what its wrap file would fetch."""
    project = Path(top, "project")
    shutil.copytree(EXAMPLE.parent, project)
    (project / "subprojects" / "gemmcl").symlink_to(SOURCE)
    script = (f"{MESON} setup build --force-fallback-for gemmcl-1.0 && ninja --quiet -C build && "
              "build/multiply")
    status, said = run(["sh", "-c", script], project, {**os.environ, **LOGIN})
    return (status, said) if said.endswith(RESULTS) else (1, said)


def files_of(prefix):
    return {path for path in Path(prefix).rglob("*gemmcl*") if not path.is_dir()}


class Matrix:
    """A table of prefixes and trials, which are the tests."""

    def __init__(self, top):
        self.top = Path(top)
        self.build = self.top / "build"
        self.number = 0
        self.cells = {}

    def note(self, prefix, what, status, said):
        self.number += 1
        self.cells[prefix, what] = "ok" if status == 0 else "failed"
        print(f"{'not ok' if status else 'ok'} {self.number} {prefix}: {what}", flush=True)
        if status:
            print("".join(f"# {line}\n" for line in said.splitlines()), end="", flush=True)

    def install(self, prefix):
        """Returns the lines that the installation prints, or None."""
        options = ["setup", self.build, SOURCE, "-Dtests=disabled", "-Ddefault_library=both"]
        if self.build.exists():
            options = ["configure", self.build]
        for command in ([MESON, *options, f"-Dprefix={prefix}"],
                        [MESON, "install", "-C", self.build]):
            status, said = run(command, self.top)
            if status:
                self.note(prefix, "install", status, said)
                return None
        self.note(prefix, "install", 0, said)
        _, _, told = said.partition("make the installation known:\n")
        return [line for line in told.splitlines() if line.startswith("    ")]

    def try_all(self, prefix, told):
        folder = self.top / "user"
        for what, line in TRIALS.items():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            environment = {**LOGIN, "XDG_CACHE_HOME": str(folder)}
            script = "\n".join(["set -e", *told, line])
            status, said = run(["sh", "-c", script], folder, environment)
            if status == 0 and what in ("shared", "static") and not said.endswith(RESULTS):
                status, said = 1, f"expected {RESULTS!r}, found {said!r}"
            self.note(prefix, what, status, said)

    def uninstall(self, prefix, before):
        status, said = run(["ninja", "-C", self.build, "uninstall"], self.top)
        left = files_of(prefix) - before
        if left:
            status, said = 1, f"left: {', '.join(map(str, sorted(left)))}"
        self.note(prefix, "uninstall", status, said)
        if os.geteuid() == 0:
            run(["/sbin/ldconfig"], self.top)

    def draw(self):
        """Prints the table."""
        columns = ["install", *TRIALS, "uninstall"]
        wide = max(map(len, PREFIXES))
        print(f"# {'':{wide}} {' '.join(f'{name:9}' for name in columns)}")
        for prefix in PREFIXES:
            cells = (f"{self.cells.get((prefix, name), '-'):9}" for name in columns)
            print(f"# {prefix:{wide}} {' '.join(cells)}")


def main():
    if not PREFIXES:
        print("1..0 # SKIP GEMMCL_TEST_PREFIXES names no prefix to install under")
        return 0
    print(f"1..{len(PREFIXES) * (len(TRIALS) + 2) + 1}", flush=True)
    with tempfile.TemporaryDirectory() as top:
        matrix = Matrix(top)
        matrix.note("project", "subproject", *build_with_subproject(top))
        for prefix in PREFIXES:
            before = files_of(prefix)
            told = matrix.install(prefix)
            if told is not None:
                matrix.try_all(prefix, told)
                matrix.uninstall(prefix, before)
        matrix.draw()
    return 1 if "failed" in matrix.cells.values() else 0


if __name__ == "__main__":
    sys.exit(main())
