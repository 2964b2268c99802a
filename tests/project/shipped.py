#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds tuning-shipped.json to what lib/tuning.h says of entries. TAP out.

usage: shipped.py LIB-DIRECTORY KERNELS-DIRECTORY

The library ignores an entry that is wrong, so nothing else would find one.
"""

import json
import re
import sys
from pathlib import Path

LIB, KERNELS = map(Path, sys.argv[1:])

table = (KERNELS / "kernels.def").read_text(encoding="utf-8")
# Each one's name and the precision that it computes in.
kernels = {
    row.partition('"')[0]: (re.findall(r"GEMMCL_PRECISION_(\w+)", row) or ["F32"])[0].lower()
    for row in table.split('\nGEMMCL_KERNEL ("')[1:]
}
shipped = json.loads((LIB / "tuning-shipped.json").read_text(encoding="utf-8"))
entries = shipped["entries"]


def is_sound(entry):
    """Whether the library would understand it."""
    name, _, split = entry["kernel"].partition("/")
    sizes = [entry[letter] for letter in "mnk"]
    return (
        kernels.get(name) in ("f32", entry["precision"])
        and (not split or entry["k"] % (16 * int(split)) == 0)
        and entry["precision"] in kernels.values()
        and entry["transposed"] == ""
        and entry["layout"] in ("row", "col")
        and all(isinstance(size, int) and size > 0 for size in sizes)
        and entry["gflops"] > 0
    )


def key(entry):
    return tuple(entry[name] for name in ("device", "precision", "layout", "transposed", *"mnk"))


checks = {
    "version": shipped["version"] == 1,
    "entries": bool(entries) and all(map(is_sound, entries)),
    "devices": all(entry["device"] for entry in entries),
    "each problem once": len(set(map(key, entries))) == len(entries),
}
print(f"1..{len(checks)}")
for count, (title, good) in enumerate(checks.items(), 1):
    print(f"{'ok' if good else 'not ok'} {count} {title}")
sys.exit(not all(checks.values()))
