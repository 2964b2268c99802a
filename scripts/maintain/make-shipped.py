#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Copies measurements of a device into tuning-shipped.json.

usage: make-shipped.py [--shipped FILE] MEASURED.json ...

MEASURED.json is the tuning.json of `gemmcl tune`, whose entries replace all entries of the same
device, or a report of `gemmcl check`, whose entries replace those of the same device and problem.
The library uses an entry on all devices of that name, with any driver and any number of compute
units.
"""

import argparse
import json
import sys
from operator import itemgetter
from pathlib import Path

SHIPPED = Path(__file__).resolve().parents[2] / "kernels/tuning-shipped.json"

device_of = itemgetter("device")
problem_of = itemgetter("device", "precision", "layout", "transposed", *"mnk")


def round_rate(gflops):
    """Rounds, but not to 0 GFLOPS, which the library would ignore."""
    return max(round(gflops), 1)


def from_tuning(tuning):
    for entry in tuning["entries"]:
        kept = {key: value for key, value in entry.items() if key not in ("units", "driver")}
        yield {**kept, "gflops": round_rate(entry["gflops"])}


def from_check(report):
    for entry in report["speed"]:
        if entry["tuned"]:
            problem = {key: entry[key] for key in ("precision", "layout", *"mnk")}
            yield {"device": report["device"]["name"], **problem, "transposed": "",
                   "kernel": entry["tuned"]["kernel"],
                   "gflops": round_rate(entry["tuned"]["gflops"])}


def take_over(old, path):
    """Returns a file's entries, and the old entries that they do not replace."""
    measured = json.loads(path.read_text(encoding="utf-8"))
    is_check = "speed" in measured
    new = list(from_check(measured) if is_check else from_tuning(measured))
    key = problem_of if is_check else device_of
    replaced = set(map(key, new))
    return new + [entry for entry in old if key(entry) not in replaced]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("measured", metavar="MEASURED.json", type=Path, nargs="+")
    parser.add_argument("--shipped", metavar="FILE", type=Path, default=SHIPPED)
    options = parser.parse_args()

    entries = json.loads(options.shipped.read_text(encoding="utf-8"))["entries"]
    for path in options.measured:
        entries = take_over(entries, path)
    lines = ",\n".join("  " + json.dumps(entry) for entry in entries)
    options.shipped.write_text(f'{{\n "version": 1,\n "entries": [\n{lines}\n ]\n}}\n',
                               encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
