#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the table of kernels into docs/kernels.md, from what `gemmcl kernels --json` says.

usage: make-kernels-table.py [--check] KERNELS.md

The gemmcl on PATH is asked, so build first: meson devenv -C build ../docs/make-kernels-table.py
../docs/kernels.md. With --check nothing is written: exit status 1 when the table is another one,
77 when gemmcl finds no device to list kernels for.
"""

import argparse
import difflib
import json
import subprocess
import sys
from pathlib import Path

BEGIN = "<!-- begin: docs/make-kernels-table.py -->\n"
END = "<!-- end -->\n"


def kernels():
    """Returns the list, or None where there is no device."""
    said = subprocess.run(
        ["gemmcl", "kernels", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if said.returncode:
        print(said.stderr, end="", file=sys.stderr)
        return None
    return json.loads(said.stdout)


def table(rows):
    """What is true of each kernel on every device, as Markdown."""
    lines = ["| kernel | needs | what it is |\n", "|---|---|---|\n"]
    lines += [f"| `{row['name']}` | {row['needs']} | {row['summary']} |\n" for row in rows]
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("document", type=Path)
    options = parser.parse_args()

    rows = kernels()
    if rows is None:
        return 77
    text = options.document.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or END not in text.split(BEGIN)[1]:
        sys.exit(f"{options.document} should have a line {BEGIN.strip()} and after it {END.strip()}")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END, maxsplit=1)
    new = table(rows)
    if not options.check:
        options.document.write_text(before + BEGIN + new + END + after, encoding="utf-8")
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), "committed", "kernels.def"
        )
    )
    if old != new:
        print(f"The table of {options.document} is old; {Path(__file__).name} makes a new one.")
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
