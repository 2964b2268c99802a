#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes over what `gemmcl tune` measured on a device into tuning-shipped.json.

usage: make-shipped.py TUNING.json

The entries replace those of the same device. The library uses them on every such device, whatever
its driver and however many compute units it has.
"""

import argparse
import json
import sys
from pathlib import Path

SHIPPED = Path(__file__).with_name("tuning-shipped.json")


def take_over(path):
    for entry in json.loads(path.read_text(encoding="utf-8"))["entries"]:
        kept = {key: value for key, value in entry.items() if key not in ("units", "driver")}
        yield {**kept, "gflops": round(entry["gflops"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("measured", metavar="TUNING.json", type=Path)
    options = parser.parse_args()

    new = list(take_over(options.measured))
    devices = {entry["device"] for entry in new}
    old = json.loads(SHIPPED.read_text(encoding="utf-8"))["entries"]
    kept = new + [entry for entry in old if entry["device"] not in devices]
    lines = ",\n".join("  " + json.dumps(entry) for entry in kept)
    SHIPPED.write_text(f'{{\n "version": 1,\n "entries": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
