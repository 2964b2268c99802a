#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes figures from Intel's compilers into docs/internals/intel.md. The test tool-isa reads from
there which rows they do not keep in registers.

    scripts/maintain/ocloc.sh scripts/maintain/make-isa-table.py

It compiles every row of build/tools/gemmcl that the rules may choose, with each ocloc of
GEMMCL_OCLOC and for each target that it knows. isa.py keeps the figures, so only the first
time takes half an hour.
The columns of CLBlast are empty where it is missing (package libclblast1).
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
os.environ.setdefault("GEMMCL_LIBRARY", str(ROOT / "build/lib/libgemmcl.so"))
import clblast_isa  # noqa: E402
import isa_rows  # noqa: E402
import isa  # noqa: E402
from library import Missing  # noqa: E402

DOCUMENT = ROOT / "docs/internals/intel.md"
BEGIN = "<!-- begin: scripts/maintain/make-isa-table.py -->\n"
END = "<!-- end: scripts/maintain/make-isa-table.py -->\n"


def compile_all():
    """{(release, target): {kernel: figures}}, the older release first."""
    figures = {}
    for compiler in reversed(isa.find_compilers()):
        for target in filter(compiler.targets.__contains__, isa.TARGETS):
            names = ",".join(row.name for row in isa_rows.list_rows(compiler.release, target))
            made = isa.compile_all([compiler], isa.read_programs(names), [target])
            figures[compiler.release, target] = {one["kernel"]: one for one in made}
    return figures


def is_in_memory(figures):
    return figures["spill"] + figures["private_memory"] > 0


def is_sound(figures):
    return (figures["why_not"] is None and not is_in_memory(figures)
            and not figures["resource_loops"])


def get_loop(figures):
    return figures["loops"][figures["hot"]]


def fraction(number):
    return f"{number:.3f}".removeprefix("0")


def table(titles, lines):
    lines = [titles, ["---"] * len(titles), *lines]
    return "".join("| " + " | ".join(map(str, cells)) + " |\n" for cells in lines)


def best_table(figures, rows, clblast):
    """The instructions in the loop of the densest f32 row of each target, by the newest release."""
    titles = ["target", "ocloc", "densest f32 row", "SIMD", "loop", "mads", "moves", "integers"]
    titles += ["loads (bytes)", "control", "density", "CLBlast Xgemm", "XgemmDirect"]
    floats = [row.name for row in rows if row.precision == "f32"]
    newest = {target: (release, target) for release, target in figures}
    lines = []
    for target, place in newest.items():
        fit = [figures[place][name] for name in floats if name in figures[place]]
        best = max(filter(is_sound, fit), key=lambda one: one["density"])
        loop = get_loop(best)
        lines.append(
            [target, place[0], f"`{best['kernel']}`", best["simd"], loop["instructions"]]
            + [f"{loop[name]:g}" for name in ("mads", "moves", "integers")]
            + [f"{loop['loads']} ({loop['load_bytes']:g})", loop["control"]]
            + [f"**{fraction(best['density'])}**"]
            + [clblast.get((entry, target), "") for entry in ("Xgemm", "XgemmDirectNN")]
        )
    return table(titles, lines)


def engine_cell(figures):
    if figures is None or figures["why_not"] is not None:
        return "-"
    loop = get_loop(figures)
    return f"{loop['dpas']} of {loop['instructions']}"


def engine_table(figures, rows):
    """The share of dpas in the loops of the rows for matrix engines, without those that are kept;
    equal columns are joined."""
    engines = [row.name for row in rows if row.dpas and not row.kept]
    columns = {}
    for place, kernels in figures.items():
        if place[1] in isa_rows.ENGINES:
            column = tuple(engine_cell(kernels.get(name)) for name in engines)
            columns.setdefault(column, []).append(place)
    titles = ["kernel"]
    for places in columns.values():
        titles.append(", ".join(target for _, target in places) + f" by {places[0][0]}")
    cells = zip(*columns)
    return table(titles, [[f"`{name}`", *cells_] for name, cells_ in zip(engines, cells)])


def refused_table(figures):
    """The rows with spilled bytes and private memory, in bytes per thread."""
    lines = []
    for (release, target), kernels in figures.items():
        texts = [
            f"`{name}` {one['spill']} + {one['private_memory']}"
            for name, one in kernels.items()
            if one["why_not"] is None and is_in_memory(one)
        ]
        lines.append([release, target, ", ".join(texts) or "none"])
    return table(["ocloc", "target", "rows: bytes spilled + private"], lines)


def read_clblast():
    """{(kernel, target): density} of CLBlast."""
    try:
        return {(one["kernel"], one["target"]): fraction(one["density"])
                for one in clblast_isa.compile_all()}
    except Missing as error:
        print(f"no columns of CLBlast: {error}", file=sys.stderr)
        return {}


def main():
    rows = isa_rows.read_rows()
    figures = compile_all()
    tables = [best_table(figures, rows, read_clblast())]
    tables += [engine_table(figures, rows), refused_table(figures)]
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    DOCUMENT.write_text(before + BEGIN + "\n".join(tables) + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
