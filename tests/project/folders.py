# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that the #include lines and the calls of a folder's C files have one direction. TAP out.

usage: folders.py DIRECTORY BUILD-DIRECTORY

Neither files nor folders below DIRECTORY may have circles. Public headers, in include/, include
only each other; a file that includes gemmcl-X.h depends on the folder of X.h or X.c, if any. Layers
are in docs/architecture.md: the folders, if there are public headers, and the files of element/. A
layer needs only itself and those above it. Calls are what objects in BUILD-DIRECTORY need."""

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import tap

ROOT, BUILD = map(Path, sys.argv[1:])
PUBLIC = "include"

sources = {path.relative_to(ROOT): path for path in ROOT.rglob("*.[ch]")}
public = {path.name: path for path in sources if path.parts[0] == PUBLIC}


def find(name):
    """The file that a line includes; None if it is none of these."""
    return Path(name) if Path(name) in sources else public.get(name)


def owner(path):
    """The folder that implements a file; None for headers that no folder implements."""
    if path.parts[0] != PUBLIC:
        return path.parts[0]
    topic = path.stem.partition("-")[2]
    owners = {other.parts[0] for other in sources
              if other.stem == topic and other.parts[0] != PUBLIC}
    return owners.pop() if len(owners) == 1 else None


def read_includes(path):
    """The files that the lines of a file include by #include "NAME"."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    names = [line.split('"')[1] for line in lines
             if line.lstrip(" #").startswith('include "') and "#" in line]
    return {found for name in names if (found := find(name))}


def read_symbols(path):
    """The functions that the object of a file defines ("T") or needs ("U"): {name: kind}. Casts to
    a GObject type need its function, which is no call."""
    objects = list(BUILD.rglob(f"{str(path).replace('/', '_')}.o"))
    listed = tap.require("nm", *objects).splitlines() if objects else []
    return {words[-1]: words[-2] for line in listed
            if (words := line.split())[-2] in "TU" and not words[-1].endswith("_get_type")}


includes = {path: read_includes(path) for path in sources}
symbols = {path: read_symbols(path) for path in sources if path.suffix == ".c"}
definers = {name: path for path, names in symbols.items()
            for name, kind in names.items() if kind == "T"}
calls = {path: {definers[name] for name, kind in names.items() if kind == "U" and name in definers}
         for path, names in symbols.items()}
folders = {folder: set() for path in sources if (folder := path.parts[0]) != PUBLIC}
for path, others in includes.items():
    if path.parts[0] != PUBLIC:
        needed = set(map(owner, others)) - {None, path.parts[0]}
        folders[path.parts[0]] |= needed


def find_circle(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        yield " -> ".join(map(str, reversed(circle.args[1])))


def check_order(words, needs):
    """The list of layers follows these words: a line each, of names without spaces, and a text."""
    text = (ROOT.parent / "docs/architecture.md").read_text(encoding="utf-8")
    lines = text.partition(words)[2].split("\n\n")[1].splitlines()
    listed = {name: i for i, line in enumerate(lines)
              for name in re.split(", |/", line.strip().split("  ")[0]) if name}
    if set(listed) != set(needs):
        yield f"only in the list, or not in it: {', '.join(sorted(set(listed) ^ set(needs)))}"
    yield from (f"{name} needs {other}" for name, others in needs.items() for other in others
                if listed.get(other, 0) > listed.get(name, 0))


def get_files():
    """The files of element/ and what they need of each other; element.h stands for all parts."""
    def name(path):
        implemented = path.with_suffix(".c") in sources and path.name != "element.h"
        return path.with_suffix(".c").name if implemented else path.name
    files = {name(path): set() for path in sources if path.parts[0] == "element"}
    for path in sources:
        if path.parts[0] == "element" and path.name != "element.h":
            files[name(path)] |= {name(other) for other in includes[path] | calls.get(path, set())
                                  if other.parts[0] == "element"}
    return files


tap.play({
    "there are folders to look at": lambda: [] if len(folders) > 1 else ["found no folders"],
    "no circle between files": lambda: find_circle(includes),
    "there are calls to look at": lambda: [] if any(calls.values()) else ["found no calls"],
    "no circle of calls between files": lambda: find_circle(calls),
    "no circle between folders": lambda: find_circle(folders),
    **({"folders include those above them": lambda: check_order(f"Inside {ROOT.name}/ ", folders)}
       if public else {}),
    **({"files need those above them": lambda: check_order("files of gst/element/ ", get_files())}
       if "element" in folders else {}),
    "public headers include public headers only": lambda: [
        f"{path} includes {other}" for path, others in includes.items()
        for other in others if path.parts[0] == PUBLIC != other.parts[0]],
})
