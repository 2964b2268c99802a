#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds tuning-shipped.json to what lib/tuning.h says of entries. TAP out.

usage: shipped.py LIB-DIRECTORY KERNELS-DIRECTORY

The library ignores an entry that is wrong, so nothing else would find one.
"""

import itertools
import json
import re
import sys
from pathlib import Path

LIB, KERNELS = map(Path, sys.argv[1:])
VERSION = re.compile(r"\d{1,3}\.\d{1,3}")

table = (KERNELS / "kernels.def").read_text(encoding="utf-8")
# Each one's name and the precision that it computes in.
kernels = {
    row.partition('"')[0]: (re.findall(r"GEMMCL_PRECISION_(\w+)", row) or ["F32"])[0].lower()
    for row in table.split('\nGEMMCL_KERNEL ("')[1:]
}
shipped = json.loads((LIB / "tuning-shipped.json").read_text(encoding="utf-8"))
entries = shipped["entries"]


def number(version):
    return tuple(map(int, version.split(".")))


def is_sound(entry):
    """Whether the library would understand it."""
    name, _, split = entry["kernel"].partition("/")
    sizes = [entry[letter] for letter in "mnk"]
    return (
        kernels.get(name) in ("f32", entry["precision"])
        and (not split or entry["k"] % (16 * int(split)) == 0)
        and entry["source"] in ("shipped", "modelled")
        and entry["precision"] in kernels.values()
        and entry["transposed"] == ""
        and entry["layout"] in ("row", "col")
        and all(isinstance(size, int) and size > 0 for size in sizes)
        and entry["gflops"] > 0
    )


def names_device(entry):
    """What was measured names a device, what was reckoned a range of hardware."""
    if entry["source"] == "shipped":
        return bool(entry["device"]) and "intel-ip" not in entry
    first, last = entry["intel-ip"]
    return all(map(VERSION.fullmatch, (first, last))) and number(first) <= number(last)


def key(entry):
    device = entry.get("device", str(entry.get("intel-ip")))
    return device, *(entry[name] for name in ("precision", "layout", "transposed", "m", "n", "k"))


ENGINES = {
    ("12.55", "f16"), ("12.55", "bf16"), ("12.55", "i8"),
    *itertools.product(("12.60", "20.1", "20.4", "30.0"), ("f16", "bf16", "tf32", "i8")),
}  # fmt: skip


def engines_are_used():
    """Of each GPU with matrix engines there are entries for each of their precisions, all of
    kernels that use them."""
    used = {
        (entry["intel-ip"][0], entry["precision"])
        for entry in entries
        if entry["source"] == "modelled" and entry["precision"] != "f32"
        and entry["kernel"].startswith(f"xmx_{entry['precision']}_")
    }  # fmt: skip
    return used == ENGINES


checks = {
    "version": shipped["version"] == 1,
    "entries": bool(entries) and all(map(is_sound, entries)),
    "devices": all(map(names_device, entries)),
    "matrix engines": engines_are_used(),
    "each problem once": len(set(map(key, entries))) == len(entries),
}
print(f"1..{len(checks)}")
for count, (title, good) in enumerate(checks.items(), 1):
    print(f"{'ok' if good else 'not ok'} {count} {title}")
sys.exit(not all(checks.values()))
