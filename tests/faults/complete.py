#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds calls.def to the OpenCL functions that the sources call. TAP out.

usage: complete.py CALLS.DEF FOLDER...

Functions of extensions are looked up by name and pass the layer by.
"""

import re
import sys
from pathlib import Path

CALL = re.compile(r"\b(cl(?:Build|Create|Enqueue|Finish|Flush|Get|Release|Retain|Set|Wait)\w*) ?\(")
EXTENSION = re.compile(r"(KHR|INTEL|EXT)$")

watched = set(re.findall(r"\bcl[A-Z]\w+", Path(sys.argv[1]).read_text(encoding="utf-8")))
print("1..1")
missing = []
for folder in sys.argv[2:]:
    for source in sorted(Path(folder).rglob("*.c")):
        called = set(CALL.findall(source.read_text(encoding="utf-8")))
        missing += [f"{source.name}: {name}" for name in sorted(called - watched)
                    if not EXTENSION.search(name)]
for line in missing:
    print(f"# not in calls.def: {line}")
print(f"{'not ok' if missing else 'ok'} 1 - the layer watches each OpenCL call of the sources")
sys.exit(1 if missing else 0)
