# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads mutations.txt, and finds each fault's place in the sources."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ["lib", "gst", "kernels"]
SUFFIXES = {".c", ".h", ".cl", ".clh", ".def"}
MARKS = {":": "fault", "?": "tests", "-": "old", "+": "new"}


class Stale(Exception):
    pass


def load():
    """Returns a list of {fault, tests, old, new}."""
    text = (HERE / "mutations.txt").read_text(encoding="utf-8")
    blocks = [
        [line for line in block.splitlines() if not line.startswith("#")]
        for block in text.split("\n\n")
    ]
    mutations = [
        {MARKS[line[0]]: line[2:].strip() for line in block} for block in blocks if block
    ]
    for mutation in mutations:
        if set(mutation) != set(MARKS.values()):
            raise Stale(f"a block has not all of {' '.join(MARKS)}: {mutation}")
        mutation["tests"] = mutation["tests"].split()
    return mutations


def find(root, old):
    """Returns the only file that has old, and has it once; raises Stale otherwise."""
    found = [
        (path, count)
        for folder in FOLDERS
        for path in sorted((Path(root) / folder).rglob("*"))
        if path.suffix in SUFFIXES and path.is_file()
        for count in [path.read_text(encoding="utf-8").count(old)]
        if count
    ]
    if len(found) == 1 and found[0][1] == 1:
        return found[0][0]
    where = ", ".join(f"{count} times in {path.relative_to(root)}" for path, count in found)
    raise Stale(f"expected once in the sources, found {where or 'nowhere'}: {old}")
