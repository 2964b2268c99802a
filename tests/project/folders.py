#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that the #include lines and the calls of a folder's C files have one direction. TAP out.

usage: folders.py DIRECTORY

Neither the files nor the folders below DIRECTORY may have circles. Public headers, in include/,
include only each other; a file that includes gemmcl-X.h depends on the folder that has X.h or X.c,
if any.
"""

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import tap

ROOT = Path(sys.argv[1])
INCLUDE = re.compile(r'^#\s*include "([^"]+)"', re.MULTILINE)
# The layout puts the name of a function that is defined at the start of a line.
FUNCTION = re.compile(r"^((?:gst_)?gemmcl_\w+) \(", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
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


texts = {path: COMMENT.sub("", source.read_text(encoding="utf-8"))
         for path, source in sources.items()}
includes = {path: {found for name in INCLUDE.findall(text) if (found := find(name))}
            for path, text in texts.items()}
definers = {name: path for path, text in texts.items() if path.suffix == ".c"
            for name in FUNCTION.findall(text)}
calls = {path: {definers[word] for word in re.findall(r"\w+", text) if word in definers} - {path}
         for path, text in texts.items() if path.suffix == ".c"}
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


tap.play({
    "there are folders to look at": lambda: [] if len(folders) > 1 else ["found no folders"],
    "no circle between files": lambda: find_circle(includes),
    "there are calls to look at": lambda: [] if any(calls.values()) else ["found no calls"],
    "no circle of calls between files": lambda: find_circle(calls),
    "no circle between folders": lambda: find_circle(folders),
    "public headers include public headers only": lambda: [
        f"{path} includes {other}" for path, others in includes.items()
        for other in others if path.parts[0] == PUBLIC != other.parts[0]],
})
