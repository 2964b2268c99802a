# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rows of kernels.def that the rules may choose on Intel's GPUs."""

import fnmatch
import re
import sys
from pathlib import Path

import isa

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
import table  # noqa: E402

TABLE = ROOT / "kernels/kernels.def"
# The smallest subgroup of each target, which fills a register: the rules choose no other.
SUBGROUPS = {name: target.register_bytes // 4 for name, target in isa.TARGETS.items()}
# Rows that need a feature which the compiler or the target lacks (int8 dot products, images, tf32),
# by release of ocloc and target
ABSENT = {
    ("22.43", "*"): ["dot_*"],
    ("22.43", "pvc"): ["block_read_*", "xmx_tf32_*"],
    ("26.27", "pvc"): ["block_read_*"],
}
# The targets with matrix engines, and the K of a dpas for each precision
ENGINES = [name for name, target in isa.TARGETS.items() if target.extensions]
DPAS_K = {"bf16": 16, "f16": 16, "tf32": 8, "i8": 32}


def read_rows():
    """The rows for Intel's GPUs, in the table's order."""
    return [row for row in table.read(TABLE) if row.family in table.ON_INTEL]


def list_rows(release, target):
    """The rows that the rules may choose on the target with the release."""
    absent = [*ABSENT.get((release, "*"), ()), *ABSENT.get((release, target), ())]
    return [row for row in read_rows()
            if row.subgroup in (0, SUBGROUPS[target]) and (target in ENGINES or not row.dpas)
            and not any(fnmatch.fnmatch(row.name, pattern) for pattern in absent)]


def count_dpas(row, options):
    """The number of dpas instructions that an iteration of the row's loop should have."""
    told = dict(re.findall(r"-D(\w+)=(\d+)", options))
    tile_m, tile_n, depth = (int(told[name]) for name in ("TILE_M", "TILE_N", "DEPTH"))
    return tile_m // 8 * tile_n * depth * row.subgroup // DPAS_K[row.precision]
