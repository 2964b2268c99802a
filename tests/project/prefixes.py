# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs under several prefixes, as a user does, and uses what was installed. TAP out.

GEMMCL_TEST_PREFIXES lists the prefixes, separated by blanks; with none the test is skipped, since
it writes outside of the build directory. distros.sh sets it in its chroots. The commands run
with the environment of a new login and the lines that the installation prints."""

import importlib.util
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import tap

MESON, SOURCE = sys.argv[1:3]
PREFIXES = os.environ.get("GEMMCL_TEST_PREFIXES", "").split()
LOGIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
         "HOME": os.environ.get("HOME", "/")}
# A user's trials: a name, and a shell command. Debian's packages have the same trials.
TRIALS = {"plugin": "gst-inspect-1.0 --plugin gemmcl",
          "memory": "echo '#include <gstgemmclmemory.h>' | "
                    "cc -x c -fsyntax-only $(pkg-config --cflags gstgemmcl-1.0) -",
          "tool": "debian/tests/tool", "library": "debian/tests/library"}
if shutil.which("g-ir-scanner") and all(map(importlib.util.find_spec, ("gi", "numpy"))):
    TRIALS["introspection"] = "debian/tests/introspection"


class Installation:
    """An installation under a prefix. All share a build, which each configures for its prefix."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.lines = []  # that the installation prints
        self.before = set()

    def files(self):
        return {path for path in Path(self.prefix).rglob("*gemmcl*") if not path.is_dir()}

    def install(self):
        self.before = self.files()
        options = ["configure"] if BUILD.exists() else ["setup", "-Dtests=disabled",
                                                        "-Ddefault_library=both"]
        tap.require(MESON, *options, f"-Dprefix={self.prefix}", BUILD, cwd=SOURCE)
        said = tap.require(MESON, "install", "-C", BUILD)
        _, _, told = said.partition("make the installation known:\n")
        self.lines = [line for line in told.splitlines() if line.startswith("    ")]

    def attempt(self, what):
        with tempfile.TemporaryDirectory() as folder:
            script = "\n".join(["set -e", *self.lines, TRIALS[what]])
            tap.require("sh", "-c", script, cwd=SOURCE, env={
                **LOGIN, "XDG_CACHE_HOME": folder, "AUTOPKGTEST_TMP": folder,
                "PYTHONDONTWRITEBYTECODE": "1"})

    def uninstall(self):
        tap.require("ninja", "-C", BUILD, "uninstall")
        if os.geteuid() == 0:
            tap.run("/sbin/ldconfig")
        return [f"left: {path}" for path in self.files() - self.before]


if not PREFIXES:
    tap.skip_all("GEMMCL_TEST_PREFIXES names no prefix to install under")
checks = {}
for installation in map(Installation, PREFIXES):
    checks[f"{installation.prefix}: install"] = installation.install
    for trial in TRIALS:
        checks[f"{installation.prefix}: {trial}"] = partial(installation.attempt, trial)
    checks[f"{installation.prefix}: uninstall"] = installation.uninstall
with tempfile.TemporaryDirectory() as directory:
    TOP = Path(directory)
    BUILD = TOP / "build"
    tap.play(checks)
