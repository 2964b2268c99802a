# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks tuning-shipped.json by the rules for entries in lib/kernels/tuning.h, since the library
ignores wrong ones; and make-shipped.py, which makes the file. TAP out."""

import json
import sys
import tempfile
from pathlib import Path

import tap

ROOT, TOOL = map(Path, sys.argv[1:])
MAKE, SHIPPED = ROOT / "scripts/maintain/make-shipped.py", ROOT / "kernels/tuning-shipped.json"
KEYS = "device precision layout transposed m n k".split()

listed = tap.run(TOOL, "kernels", "--json", stderr=None)
if listed.returncode:
    tap.skip_all("gemmcl kernels finds no device")
kernels = {row["name"]: row["precisions"] for row in json.loads(listed.stdout)}


def is_sound(entry):
    name, _, split = entry["kernel"].partition("/")
    return (entry["device"] and kernels.get(name) in ("f32", entry["precision"])
            and (not split or entry["k"] % (16 * int(split)) == 0)
            and entry["precision"] in kernels.values()
            and entry["transposed"] == "" and entry["layout"] in ("row", "col")
            and all(isinstance(entry[letter], int) and entry[letter] > 0 for letter in "mnk")
            and entry["gflops"] > 0)


def check(shipped):
    entries = shipped["entries"]
    if shipped["version"] != 1 or not entries:
        yield "expected version 1 and entries, found another version or no entries"
    yield from (f"the library refuses {entry}" for entry in entries if not is_sound(entry))
    if len({tuple(map(entry.get, KEYS)) for entry in entries}) < len(entries):
        yield "a problem has two entries"


def make_problem(m):
    return {"precision": "f32", "layout": "row", "m": m, "n": 64, "k": 64}


def make_tuning(*entries):
    """A file of `gemmcl tune`, or tuning-shipped.json."""
    names = "device", "m", "kernel", "gflops"
    return {"version": 1, "entries": [
        {"units": 4, "driver": "1", "transposed": "", **make_problem(0), **dict(zip(names, entry))}
        for entry in entries]}


def make_report(**tuned):
    """A report of `gemmcl check` for the device B; None for a problem that had no time."""
    rules = {"kernel": "gemm_naive", "gflops": 1.0}
    return {"device": {"name": "B"}, "rows": [], "speed": [
        {**make_problem(int(m[1:])), "candidates": [], "rules": rules,
         "tuned": result and dict(zip(("kernel", "gflops"), result))}
        for m, result in tuned.items()]}


def expect(expected, *measured):
    """make-shipped.py makes the entries of the measured files, and keeps those of other devices."""
    kept = make_tuning(("A", 8, "gemm_naive", 1), ("B", 8, "gemm_naive", 2),
                       ("B", 16, "gemm_naive", 3))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{i}.json") for i in range(len(measured) + 1)]
        for path, content in zip(paths, (kept, *measured)):
            path.write_text(json.dumps(content), encoding="utf-8")
        tap.require(sys.executable, MAKE, "--shipped", *paths)
        made = json.loads(paths[0].read_text(encoding="utf-8"))
    tap.expect({(entry["device"], entry["m"], entry["kernel"], entry["gflops"])
                for entry in made["entries"]}, {("A", 8, "gemm_naive", 1), *expected})
    return check(made)


TUNING = make_tuning(("B", 64, "tiled_8x8_8x8", 9.6))
REPORT = make_report(m8=("tiled_8x8_8x8", 103.4), m16=None, m32=("gemm_naive", 0.2))
tap.play({
    "the entries": lambda: check(json.loads(SHIPPED.read_text("utf-8"))),
    "a report replaces the problems that it measured": lambda: expect(
        {("B", 8, "tiled_8x8_8x8", 103), ("B", 16, "gemm_naive", 3), ("B", 32, "gemm_naive", 1)},
        REPORT),
    "a tuning file replaces all of its devices": lambda: expect(
        {("B", 64, "tiled_8x8_8x8", 10)}, TUNING),
    "files follow one another": lambda: expect(
        {("B", 64, "gemm_naive", 12)}, TUNING, make_report(m64=("gemm_naive", 12.0))),
})
