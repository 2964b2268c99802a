#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks tuning-shipped.json by the rules for entries in lib/kernels/kernels.h. TAP out.

usage: shipped.py SHIPPED-DIRECTORY GEMMCL

The library ignores wrong entries, so that no other test would find one. Also tests make-shipped.py,
which makes the file.
"""

import json
import sys
import tempfile
from pathlib import Path

import tap

SHIPPED, TOOL = map(Path, sys.argv[1:])

listed = tap.run(TOOL, "kernels", "--json", stderr=None)
if listed.returncode:
    tap.skip_all("gemmcl kernels finds no device")
# The name of each kernel, and its precision.
kernels = {row["name"]: row["precisions"] for row in json.loads(listed.stdout)}
shipped = json.loads((SHIPPED / "tuning-shipped.json").read_text(encoding="utf-8"))
entries = shipped["entries"]


def is_sound(entry):
    """True if the library accepts the entry."""
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


def make_entry(device, m, kernel, gflops):
    return {"device": device, "precision": "f32", "layout": "row", "transposed": "", "m": m,
            "n": 64, "k": 64, "kernel": kernel, "gflops": gflops}


def make_timed(m, tuned):
    """An entry of a report's "speed"."""
    return {"precision": "f32", "layout": "row", "m": m, "n": 64, "k": 64, "candidates": [],
            "rules": {"kernel": "gemm_naive", "gflops": 1.0}, "tuned": tuned}


def make_report(*timed):
    """A report of `gemmcl check` for the device "B"."""
    return {"device": {"name": "B"}, "rows": [], "speed": list(timed)}


def take_over(*measured):
    """The output of make-shipped.py for entries of the devices A and B, and for these files."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.json" for i in range(len(measured) + 1)]
        kept = {"version": 1, "entries": [make_entry("A", 8, "gemm_naive", 1),
                                          make_entry("B", 8, "gemm_naive", 2),
                                          make_entry("B", 16, "gemm_naive", 3)]}
        for path, content in zip(paths, (kept, *measured)):
            path.write_text(json.dumps(content), encoding="utf-8")
        tap.require(sys.executable, SHIPPED / "make-shipped.py", "--shipped", *paths)
        made = json.loads(paths[0].read_text(encoding="utf-8"))["entries"]
    assert all(map(is_sound, made)), made
    return {(entry["device"], entry["m"]): (entry["kernel"], entry["gflops"]) for entry in made}


def replaces_problem():
    """A report replaces the entries that it measured, not those that it had no time for."""
    report = make_report(
        make_timed(8, {"kernel": "tiled_8x8_8x8", "gflops": 103.4}), make_timed(16, None),
        make_timed(32, {"kernel": "gemm_naive", "gflops": 0.2}),
    )
    tap.expect(take_over(report), {
        ("A", 8): ("gemm_naive", 1), ("B", 8): ("tiled_8x8_8x8", 103),
        ("B", 16): ("gemm_naive", 3), ("B", 32): ("gemm_naive", 1)})


def replaces_device():
    """A file of `gemmcl tune` replaces all of its devices; files follow one another."""
    tuning = {"version": 1, "entries": [
        {**make_entry("B", 64, "tiled_8x8_8x8", 9.6), "units": 4, "driver": "1"}]}
    report = make_report(make_timed(64, {"kernel": "gemm_naive", "gflops": 12.0}))
    tap.expect(take_over(tuning), {
        ("A", 8): ("gemm_naive", 1), ("B", 64): ("tiled_8x8_8x8", 10)})
    tap.expect(take_over(tuning, report), {
        ("A", 8): ("gemm_naive", 1), ("B", 64): ("gemm_naive", 12)})


def check_file():
    """The rules that all entries follow together."""
    if shipped["version"] != 1 or not entries:
        yield "it has another version, or no entries"
    yield from (f"no entry for the library: {entry}" for entry in entries
                if not entry["device"] or not is_sound(entry))
    if len(set(map(key, entries))) < len(entries):
        yield "a problem has two entries"


tap.play({
    "the entries": check_file,
    "a report replaces its problems": replaces_problem,
    "a tuning file replaces its device": replaces_device,
})
