# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the sources with clang-format, and rules that need no compiler. TAP out."""

import re
import shutil
import sys
from functools import partial
from pathlib import Path

import tap

ROOT = Path(sys.argv[1])
FOLDERS = ["kernels", "lib", "gst", "tools", "tests", "scripts", "demos", "docs"]
CODE = {".c", ".h", ".cl", ".clh", ".def", ".py", ".sh"}
MOST_LINES = 600
# Each version formats some code differently.
CLANG_FORMAT_VERSION = 14
# Written so that this file does not contain the words.
UNFINISHED = r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|^\s*#\s*if\s+0\b"
LICENCE = "SPDX-License-" "Identifier: "


def sources(suffixes):
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
                  if path.suffix in suffixes and path.is_file())


def check_layout():
    for name in f"clang-format-{CLANG_FORMAT_VERSION}", "clang-format":
        if shutil.which(name) and f"version {CLANG_FORMAT_VERSION}." in tap.require(
                name, "--version"):
            said = tap.require(name, "--dry-run", "--style=file", *sources({".c", ".h"}))
            return [line for line in said.splitlines() if "-Wclang-format-violations" in line]
    raise tap.Skipped(f"clang-format {CLANG_FORMAT_VERSION} is not installed")


def find(pattern):
    for path in sources(CODE):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(pattern, line):
                yield f"{path.relative_to(ROOT)}:{number}: {line}"


def check_heads():
    """Checks each file's length, and that its head names a licence, but in shell scripts."""
    for path in sources(CODE):
        lines, name = path.read_text(encoding="utf-8").splitlines(), path.relative_to(ROOT)
        if len(lines) > MOST_LINES:
            yield f"{name}: {len(lines)} lines: is there a second thing in it?"
        if path.suffix != ".sh" and LICENCE not in "".join(lines[:4]):
            yield f"{name}: no SPDX licence in the first four lines"


def check_documents():
    """Checks that prose in documents is wrapped at 100 columns; tables, code and HTML are none."""
    for path in sorted(ROOT.glob("*.md")) + sources({".md"}):
        fenced = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced and not re.match(r"    |\s*[|#<]|\[[^]]+\]:", line):
                prose = re.sub("`[^`]*`", lambda code: "x" * len(code[0]), line.strip())
                if len(line) > 100 and " " in prose[2:100]:
                    yield f"{path.relative_to(ROOT)}:{number}: {line}"


tap.play({"C is laid out as clang-format does; ninja clang-format mends it": check_layout,
          "no tabs, no space at line ends, 100 columns": partial(find, r"\t|\s$|.{101}"),
          "documents are wrapped at 100 columns": check_documents,
          "nothing marked unfinished": partial(find, UNFINISHED),
          f"at most {MOST_LINES} lines a file, and its licence": check_heads})
