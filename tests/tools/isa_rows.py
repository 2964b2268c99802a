# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rows of kernels.def that the rules may choose on Intel's GPUs, and their sources."""

import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path.append(str(TESTS / "kernels"))
import table

TABLE = TESTS.parent / "kernels/kernels.def"
# The smallest subgroup of each target: the rules choose no other.
SUBGROUPS = {
    "bdw": 8, "skl": 8, "icllp": 8, "tgllp": 8, "dg1": 8, "dg2": 8, "mtl": 8, "arl-h": 8,
    "pvc": 16, "lnl": 16, "bmg": 16, "ptl": 16,
}  # fmt: skip
# Rows that lack a feature, by release of ocloc and target: int8 dot products, images, tf32.
ABSENT = {
    ("22.43", "*"): ["dot_*"],
    ("22.43", "pvc"): ["block_read_*", "xmx_tf32_*"],
    ("26.27", "pvc"): ["block_read_*"],
}
# Targets with matrix engines; K of a dpas by precision.
ENGINES = ["dg2", "arl-h", "pvc", "lnl", "bmg", "ptl"]
DPAS_K = {"bf16": 16, "f16": 16, "tf32": 8, "i8": 32}

SOURCE_TARGET = "skl"
# A stand-in for the compiler that keeps its input.
OCLOC = f"""#!/bin/sh
case $1 in
  query) echo '0.0.0 ' >OCL_DRIVER_VERSION ;;
  compile)
    [ "$2" != --help ] || {{ echo '<device_type> can be: {SOURCE_TARGET}, version'; exit 1; }}
    (echo "$*"; cat "$3") >"$KEPT/$$"
    exit 1 ;;
esac
"""


@dataclass
class Row:
    name: str
    precision: str
    subgroup: int  # 0: none
    engine: bool  # it uses dpas


def list_rows(release, target):
    """True if the rules may choose the row on the target with the release."""
    absent = [*ABSENT.get((release, "*"), ()), *ABSENT.get((release, target), ())]
    return [
        row
        for row in read_rows()
        if row.subgroup in (0, SUBGROUPS[target])
        and (target in ENGINES or not row.engine)
        and not any(fnmatch.fnmatch(row.name, pattern) for pattern in absent)
    ]


def read_rows():
    """The rows for GPUs, in the table's order."""
    return [
        Row(row.name, row.precision, row.number("subgroup"), row.has("dpas"))
        for row in table.read(TABLE)
        if row.fields.get("devices") in ("GEMMCL_ON_GPU", "GEMMCL_ON_INTEL_GPU", "GEMMCL_ON_ANY")
    ]


def ask_release(ocloc):
    """22.43 of 22.43.24595"""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [ocloc, "query", "OCL_DRIVER_VERSION"], cwd=folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        said = Path(folder, "OCL_DRIVER_VERSION")
        version = said.read_text(encoding="utf-8") if said.exists() else ""
    return ".".join(version.split(".")[:2])


def count_dpas(row, options):
    """The number of instructions that an iteration of the row's loop should have."""
    told = dict(re.findall(r"-D(\w+)=(\d+)", options))
    tile_m, tile_n, depth = (int(told[name]) for name in ("TILE_M", "TILE_N", "DEPTH"))
    return tile_m // 8 * tile_n * depth * row.subgroup // DPAS_K[row.precision]


def read_source(kernel, tool="gemmcl"):
    """(text, options) of a row, the same for all targets."""
    with tempfile.TemporaryDirectory() as folder:
        ocloc, kept, answer = (Path(folder, name) for name in ("ocloc", "kept", "answer.json"))
        ocloc.write_text(OCLOC, encoding="utf-8")
        ocloc.chmod(0o755)
        kept.mkdir()
        own = {"GEMMCL_OCLOC": str(ocloc), "KEPT": str(kept), "XDG_CACHE_HOME": folder}
        subprocess.run(
            [tool, "isa", "-k", kernel, "--target", SOURCE_TARGET, "--json", str(answer)],
            env={**os.environ, **own}, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        (given,) = (path.read_text(encoding="utf-8") for path in kept.iterdir())
        (figures,) = json.loads(answer.read_text(encoding="utf-8"))
        return given.split("\n", 1)[1], figures["options"]
