# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that a suite of tests uses files of its own folder and of support/ alone. TAP out.

A module that a script imports, and a file that an #include line names, are those of the tests with
that name, if any."""

import re
import sys
from pathlib import Path

import tap

ROOT = Path(sys.argv[1])
SHARED = "support"
USE = {  # the module or the file that a line uses
    ".py": r"^ *(?:from|import) (\w+)",
    **dict.fromkeys((".c", ".h", ".def"), r'^ *# *include "(?:[\w./-]*/)?([\w-]+\.\w+)"'),
}

files = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.suffix in USE]


def read_uses(path):
    """The names of the files that a file may use; others are no files of the tests."""
    names = re.findall(USE[path.suffix], (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return [f"{name}.py" for name in names] if path.suffix == ".py" else names


def check(path):
    for name in read_uses(path):
        suites = {other.parts[0] for other in files if other.name == name}
        if suites and not suites & {path.parts[0], SHARED}:
            yield f"{path} uses {name} of {', '.join(sorted(suites))}"


tap.play({"there are uses to look at": lambda: [
              f"found none of {name}" for name in ("tap.py", "next.h")
              if not any(name in read_uses(path) for path in files)],
          "suites use their own files and those of support/": lambda: [
              fault for path in files for fault in check(path)]})
