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
import itertools
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHIPPED = Path(__file__).with_name("tuning-shipped.json")
RECORD = Path(__file__).parent.parent / "tests/data/isa/densities.json"

# The versions of hardware that run a target's code, as CL_DEVICE_IP_VERSION_INTEL tells them, and
# how many EUs the GPU has of which docs/model.md knows.
HARDWARE = {
    "skl": (["9.0", "9.9"], 24),
    "tgllp": (["12.0", "12.4"], 96),
    "dg1": (["12.10", "12.10"], 96),
    "dg2": (["12.55", "12.57"], 512),
    "pvc": (["12.60", "12.61"], 512),
    "bmg": (["20.1", "20.2"], 160),
    "lnl": (["20.4", "20.4"], 64),
    "ptl": (["30.0", "30.3"], 96),
}
WIDE = ("pvc", "bmg", "lnl", "ptl")  # their registers hold 16 floats
SHAPES = [(n, n, n) for n in (512, 1024, 2048, 4096)] + [(64, 1024, 1024), (64, 4096, 4096)]
CANDIDATES = 10  # kernels of which each target's best is found
IMAGE_COST = 24  # of A's way into an image, which the model knows nothing of; see lib/choice.c
BAND = 8  # so many tiles wide are the bands that kernels with subgroups go through; group_tile.clh
SUBGROUP_METHODS = ("L3_SIMD", "block_read", "buffer_read")
ENGINES = "xmx"  # the method for matrix engines
PRECISIONS = ("f32", "f16", "bf16", "tf32", "i8")


def fits(name, values, target, precision):
    """Whether a kernel's figures say that the rules might choose it there."""
    if values["spill"] or values["private_memory"]:
        return False
    if precision != "f32":
        return name.startswith(f"{ENGINES}_{precision}_") and values["dpas"] > 0
    if name.startswith(SUBGROUP_METHODS) and "_f16_" not in name:
        return name.endswith("x16" if target in WIDE else "x8")
    return name.startswith("tiled")


def list_candidates(target, precision):
    """The kernels of the highest efficiency by the record."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    scored = []
    for name, targets in record["kernels"].items():
        values = targets.get(target, "")
        if isinstance(values, str):
            continue
        values = dict(zip(record["fields"], values))
        if values["efficiency"] and fits(name, values, target, precision):
            scored.append((values["efficiency"], name))
    return [name for _, name in sorted(scored, reverse=True)[:CANDIDATES]]


def get_walk(figure, eus, columns):
    """Of the groups that run at a time, in a band, how many lie one below the other."""
    defines = dict(re.findall(r"-D(TILE_N|GROUP_M|GROUP_N)=(\d+)", figure["options"]))
    tile, high, wide = (int(defines[name]) for name in ("TILE_N", "GROUP_M", "GROUP_N"))
    running = figure["threads"] * eus * figure["simd"] / (high * wide)
    return math.ceil(running / min(BAND, math.ceil(columns / (tile * wide))))


def ask_model(gemmcl, figure, shape, options):
    """The GFLOPS that the model predicts of a kernel by its figures; 0 where it knows nothing."""
    sizes = [word for letter, size in zip("MNK", shape) for word in (f"-{letter}", str(size))]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as question:
        json.dump([figure], question)
        question.flush()
        said = subprocess.run(
            [gemmcl, "isa", "--figures", question.name, "--model", *sizes, *options, "--json", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    (answer,) = json.loads(said.stdout)
    return answer.get("model", {}).get("gflops", 0)


def predict(gemmcl, figures, eus, shape):
    """The model's fastest kernel and its GFLOPS."""
    best = "", 0
    for figure in figures:
        name, options = figure["kernel"], []
        if name.startswith((*SUBGROUP_METHODS, ENGINES)):
            options = ["--walk", str(get_walk(figure, eus, shape[1]))]
        gflops = ask_model(gemmcl, figure, shape, options)
        if name.startswith("block_read"):
            gflops /= 1 + IMAGE_COST / shape[1]
        best = max(best, (name, gflops), key=lambda pair: pair[1])
    return best


def reckon(gemmcl, target, precision):
    """The entries of a target and a precision; none where nothing computes in it natively."""
    hardware, eus = HARDWARE[target]
    names = ",".join(list_candidates(target, precision))
    if not names:
        return
    said = subprocess.run(
        [gemmcl, "isa", "--target", target, "-k", names, "--json", "-"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    figures = json.loads(said.stdout)
    for m, n, k in SHAPES:
        kernel, gflops = predict(gemmcl, figures, eus, (m, n, k))
        yield {
            "source": "modelled", "intel-ip": hardware, "precision": precision,
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
        for target, precision in itertools.product(HARDWARE, PRECISIONS):
            kept += reckon(options.model, target, precision)
    else:
        new = list(take_over(options.measured))
        devices = {entry["device"] for entry in new}
        kept = new + [entry for entry in entries if entry.get("device") not in devices]
    lines = ",\n".join("  " + json.dumps(entry) for entry in kept)
    SHIPPED.write_text(f'{{\n "version": 1,\n "entries": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
