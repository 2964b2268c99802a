#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the entries of tuning-shipped.json, what the library knows of devices without tuning.

usage: make-shipped.py --model GEMMCL
       make-shipped.py --measured TUNING.json

--model reckons the best kernels for Intel's GPUs anew, by `gemmcl isa --model` (docs/model.md); it
compiles for them, so it is started by tools/ocloc.sh. --measured takes over what `gemmcl tune`
wrote on a GPU, in place of what is there of the same device.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SHIPPED = Path(__file__).with_name("tuning-shipped.json")
RECORD = Path(__file__).parent.parent / "tests/data/isa/densities.json"

# The versions of hardware that run a target's code, as CL_DEVICE_IP_VERSION_INTEL tells them. Those
# of which docs/model.md knows a GPU.
HARDWARE = {
    "skl": ["9.0", "9.9"],
    "tgllp": ["12.0", "12.4"],
    "dg1": ["12.10", "12.10"],
    "dg2": ["12.55", "12.57"],
    "pvc": ["12.60", "12.61"],
    "bmg": ["20.1", "20.2"],
    "lnl": ["20.4", "20.4"],
    "ptl": ["30.0", "30.3"],
}
WIDE = ("pvc", "bmg", "lnl", "ptl")  # their registers hold 16 floats
SHAPES = [(n, n, n) for n in (512, 1024, 2048, 4096)] + [(64, 1024, 1024), (64, 4096, 4096)]
CANDIDATES = 10  # kernels of which each target's best is found
IMAGE_COST = 24  # of A's way into an image, which the model knows nothing of; see lib/choice.c
WALK = "8"  # kernels with subgroups go through tiles in bands of so many; see subgroup_tile.clh
SUBGROUP_METHODS = ("L3_SIMD", "block_read", "buffer_read")


def fits(name, values, target):
    """Whether a kernel's figures say that the rules might choose it there."""
    if isinstance(values, str) or values["spill"] or values["private_memory"]:
        return False
    if name.startswith(SUBGROUP_METHODS) and "_f16_" not in name:
        return name.endswith("x16" if target in WIDE else "x8")
    return name.startswith("tiled")


def list_candidates(target):
    """The kernels of the highest efficiency by the record."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    scored = []
    for name, targets in record["kernels"].items():
        values = targets.get(target, "")
        if not isinstance(values, str):
            values = dict(zip(record["fields"], values))
        if fits(name, values, target) and values["efficiency"]:
            scored.append((values["efficiency"], name))
    return [name for _, name in sorted(scored, reverse=True)[:CANDIDATES]]


def ask_model(gemmcl, figures, shape, options):
    """What the model says of the kernels whose figures are in the file."""
    answer = figures.with_name("answer.json")
    sizes = [word for letter, size in zip("MNK", shape) for word in (f"-{letter}", str(size))]
    command = [gemmcl, "isa", "--figures", figures, "--model", *sizes, *options, "--json", answer]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return json.loads(answer.read_text(encoding="utf-8"))


def predict(gemmcl, figures, shape):
    """The model's fastest kernel and its GFLOPS."""
    best = "", 0
    for walk, options in ((True, ["--walk", WALK]), (False, [])):
        for figure in ask_model(gemmcl, figures, shape, options):
            name, gflops = figure["kernel"], figure.get("model", {}).get("gflops", 0)
            if name.startswith("block_read"):
                gflops /= 1 + IMAGE_COST / shape[1]
            if name.startswith(SUBGROUP_METHODS) == walk:
                best = max(best, (name, gflops), key=lambda pair: pair[1])
    return best


def reckon(gemmcl, target, folder):
    figures = folder / f"{target}.json"
    names = ",".join(list_candidates(target))
    command = [gemmcl, "isa", "--target", target, "-k", names, "--json", figures]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    for m, n, k in SHAPES:
        kernel, gflops = predict(gemmcl, figures, (m, n, k))
        yield {
            "source": "modelled", "intel-ip": HARDWARE[target], "precision": "f32",
            "layout": "row", "transposed": "", "m": m, "n": n, "k": k,
            "kernel": kernel, "gflops": round(gflops),
        }  # fmt: skip


def take_over(path):
    entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
    for entry in entries:
        kept = {key: value for key, value in entry.items() if key not in ("units", "driver")}
        yield {"source": "shipped", **kept, "gflops": round(entry["gflops"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", metavar="GEMMCL", type=Path)
    what.add_argument("--measured", metavar="TUNING.json", type=Path)
    options = parser.parse_args()

    entries = json.loads(SHIPPED.read_text(encoding="utf-8"))["entries"]
    if options.model:
        kept = [entry for entry in entries if entry["source"] != "modelled"]
        with tempfile.TemporaryDirectory() as folder:
            for target in HARDWARE:
                kept += reckon(options.model, target, Path(folder))
    else:
        new = list(take_over(options.measured))
        devices = {entry["device"] for entry in new}
        kept = new + [entry for entry in entries if entry.get("device") not in devices]
    lines = ",\n".join("  " + json.dumps(entry) for entry in kept)
    SHIPPED.write_text(f'{{\n "version": 1,\n "entries": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
