#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the tables of ISA figures into docs/kernels.md, and their chart, from a record.

usage: make-isa-table.py [--check] RECORD.json KERNELS.md CHART.svg

record-isa.py makes the record. With --check nothing is written: exit status 1 when the tables or
the chart are not those of the record.
"""

import argparse
import difflib
import json
import re
import sys
from pathlib import Path

BEGIN = "<!-- begin: docs/make-isa-table.py -->\n"
END = "<!-- end: docs/make-isa-table.py -->\n"

TARGETS = ["bdw", "skl", "icllp", "tgllp", "dg1", "dg2", "mtl", "pvc", "lnl", "bmg", "ptl"]
ENGINE_TARGETS = ["dg2", "arl-h", "pvc", "lnl", "bmg", "ptl"]
# What the best row should reach, at least.
GOALS = {"bdw": 0.9, "skl": 0.9, "dg2": 0.85, "pvc": 0.9, "lnl": 0.93, "bmg": 0.93, "ptl": 0.93}


class Figures:
    """Of a kernel for a target; falsy where it does not build."""

    def __init__(self, fields, values):
        self.why_not = values if isinstance(values, str) else None
        if self.why_not is None:
            self.__dict__.update(zip(fields, values))

    def __bool__(self):
        return self.why_not is None

    def flaws(self):
        """What keeps it from its density, as letters: the table's legend has them."""
        found = "s" * bool(self.spill) + "p" * bool(self.private_memory)
        return found + "r" * bool(self.resource_loops)

    def others(self):
        """Instructions of the loop that are none of those counted by name."""
        named = self.mads + self.dpas + self.moves + self.integers + self.loads
        return round(self.instructions - named - self.slm_loads - self.control)


def load(path):
    """({kernel: {target: Figures}}, the same of CLBlast's, {target: compiler})"""
    record = json.loads(path.read_text(encoding="utf-8"))
    parts = [
        {
            name: {target: Figures(record["fields"], what) for target, what in targets.items()}
            for name, targets in record[part].items()
        }
        for part in ("kernels", "clblast")
    ]
    return *parts, record["compilers"]


def is_f32(kernel):
    return re.search("_(f16|bf16|tf32|i8)_|^dot_", kernel) is None


def best(kernels, target):
    """The name of the densest f32 row without flaws."""
    fit = [
        (figures[target].density, name)
        for name, figures in kernels.items()
        if is_f32(name) and figures.get(target) and not figures[target].flaws()
    ]
    # Of equals the one that comes first in the table, which is the one with the fewest subgroups.
    highest = max((density for density, _ in fit), default=None)
    return next((name for density, name in fit if density == highest), None)


def fraction(number):
    return f"{number:.3f}".removeprefix("0")


def percent(share):
    return "" if share is None else f"{100 * share:.0f} %"


def best_table(kernels, clblast):
    """What the densest f32 row's loop is made of, per target."""
    titles = "target|best f32 row|SIMD|loop|mads|moves|integers|loads (bytes)|control|density|"
    titles += "at least|model|CLBlast Xgemm|XgemmDirect"
    lines = [f"| {titles.replace('|', ' | ')} |\n", "|---" * (titles.count("|") + 1) + "|\n"]
    for target in TARGETS:
        name = best(kernels, target)
        if name is None:
            continue
        row = kernels[name][target]
        cells = [target, f"`{name}`", row.simd, row.instructions, row.mads, row.moves, row.integers]
        cells += [f"{row.loads} ({row.load_bytes})", row.control, f"**{fraction(row.density)}**"]
        cells += [fraction(GOALS[target]) if target in GOALS else "", percent(row.efficiency)]
        cells += [cell(clblast.get(entry, {}).get(target), 3) for entry in ("Xgemm", "XgemmDirectNN")]
        lines.append("| " + " | ".join(map(str, cells)) + " |\n")
    return "".join(lines)


def cell(figures, digits=2):
    if not figures:
        return "-"
    text = f"{figures.density:.{digits}f}".removeprefix("0")
    return f"{text} {figures.flaws()}".strip()


def engine_cell(figures):
    if not figures:
        return "-"
    text = f"{figures.dpas} of {figures.instructions} {figures.flaws()}".strip()
    # The model knows no GPU of some targets.
    if figures.dpas_share is None:
        return text
    return f"{text}, {figures.dpas_share:.2f}, {percent(figures.efficiency)}".replace(" 0.", " .")


def is_engine(kernel):
    return kernel.startswith("xmx_")


def engine_table(kernels):
    """Of the kernels for matrix engines what their loops are made of."""
    rows = {f"`{name}`": figures for name, figures in kernels.items() if is_engine(name)}
    return table(rows, ENGINE_TARGETS, engine_cell)


def all_table(kernels, clblast):
    """The density of each kernel for each target."""
    rows = {f"`{name}`": figures for name, figures in kernels.items() if not is_engine(name)}
    rows.update({f"CLBlast {name}": figures for name, figures in clblast.items()})
    return table(rows, TARGETS, cell)


def table(rows, targets, make_cell):
    """Targets with the same column share it."""
    columns = []
    for target in targets:
        column = [make_cell(figures.get(target)) for figures in rows.values()]
        if columns and columns[-1][1] == column:
            columns[-1][0].append(target)
        else:
            columns.append(([target], column))
    lines = ["| kernel | " + " | ".join(", ".join(names) for names, _ in columns) + " |\n"]
    lines.append("|---" + "|---" * len(columns) + "|\n")
    for i, name in enumerate(rows):
        lines.append(f"| {name} | " + " | ".join(column[i] for _, column in columns) + " |\n")
    return "".join(lines)


def tables(kernels, clblast, compilers):
    used = {}
    for target, version in compilers.items():
        used.setdefault(version, []).append(target)
    by = "; ".join(f"ocloc {version}: {', '.join(targets)}" for version, targets in used.items())
    return (
        best_table(kernels, clblast)
        + f"\nCompiled by {by}.\n\n"
        + engine_table(kernels)
        + "\n"
        + all_table(kernels, clblast)
    )


STYLE = """
text { font: 12px sans-serif; fill: #24292f; }
.small { font-size: 11px; fill: #57606a; }
.grid { stroke: #8c959f; stroke-opacity: .35; }
.row { fill: #8c959f; fill-opacity: .45; }
.best { fill: #0969da; }
.goal { stroke: #1a7f37; stroke-width: 2; }
.clblast { fill: #bc4c00; }
.direct { fill: none; stroke: #bc4c00; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #8d96a0; }
  .best { fill: #4493f8; }
  .goal { stroke: #3fb950; }
  .clblast { fill: #db6d28; }
  .direct { stroke: #db6d28; }
}
"""

LEFT, RIGHT, TOP, LANE, WIDTH = 56, 250, 46, 26, 860


def x_of(density):
    return round(LEFT + density * (WIDTH - LEFT - RIGHT), 1)


def diamond(density, y, kind):
    x = x_of(density)
    return f'<path class="{kind}" d="M{x - 5} {y}L{x} {y - 5}L{x + 5} {y}L{x} {y + 5}Z"/>'


def lane(kernels, clblast, target, y):
    """One target's: all f32 rows without flaws, the best of them, CLBlast's, and what is asked."""
    name = best(kernels, target)
    parts = [f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{target}</text>']
    parts.append(f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>')
    densities = {
        figures[target].density
        for kernel, figures in kernels.items()
        if is_f32(kernel) and figures.get(target) and not figures[target].flaws()
    }
    parts += [f'<circle class="row" cx="{x_of(d)}" cy="{y}" r="3.5"/>' for d in sorted(densities)]
    for entry, kind in ("Xgemm", "clblast"), ("XgemmDirectNN", "direct"):
        if clblast.get(entry, {}).get(target):
            parts.append(diamond(clblast[entry][target].density, y, kind))
    if target in GOALS:
        x = x_of(GOALS[target])
        parts.append(f'<path class="goal" d="M{x} {y - 9}V{y + 9}"/>')
    if name:
        density = kernels[name][target].density
        parts.append(f'<circle class="best" cx="{x_of(density)}" cy="{y}" r="5"/>')
        parts.append(
            f'<text x="{WIDTH - RIGHT + 10}" y="{y + 4}">{fraction(density)} {name}</text>'
        )
    return parts


def chart(kernels, clblast):
    """The densities on a line per target, as SVG that fits light and dark pages."""
    targets = [target for target in TARGETS if best(kernels, target)]
    bottom = TOP + LANE * len(targets)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 24}" '
        f'width="{WIDTH}" height="{bottom + 24}">',
        f"<style>{STYLE}</style>",
        "<title>Share of multiply-adds among the instructions of the inner loop</title>",
    ]
    key = [("best", "best row"), ("row", "other f32 rows"), ("clblast", "CLBlast Xgemm")]
    key += [("direct", "CLBlast XgemmDirect"), ("goal", "asked for")]
    x = LEFT
    for kind, text in key:
        if kind in ("clblast", "direct"):
            mark = f'<path class="{kind}" d="M{x - 5} 16L{x} 11L{x + 5} 16L{x} 21Z"/>'
        elif kind == "goal":
            mark = f'<path class="goal" d="M{x} 8V24"/>'
        else:
            mark = f'<circle class="{kind}" cx="{x}" cy="16" r="{5 if kind == "best" else 3.5}"/>'
        parts += [mark, f'<text x="{x + 10}" y="20">{text}</text>']
        x += 46 + 7 * len(text)
    for tenth in range(0, 11, 2):
        at = x_of(tenth / 10)
        parts.append(f'<path class="grid" d="M{at} {TOP - 12}V{bottom - 8}"/>')
        parts.append(
            f'<text class="small" x="{at}" y="{bottom + 10}" text-anchor="middle">'
            f"{tenth / 10:g}</text>"
        )
    for i, target in enumerate(targets):
        parts += lane(kernels, clblast, target, TOP + LANE * i)
    return "\n".join(parts) + "\n</svg>\n"


def differs(name, old, new):
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), name, "the record", n=0
    )
    sys.stdout.writelines(lines)
    return old != new


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("record", type=Path)
    parser.add_argument("document", type=Path)
    parser.add_argument("chart", type=Path)
    options = parser.parse_args()

    kernels, clblast, compilers = load(options.record)
    text = options.document.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or END not in text.split(BEGIN)[1]:
        sys.exit(f"{options.document} should have a line {BEGIN.strip()} and after it {END.strip()}")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END, maxsplit=1)
    new = tables(kernels, clblast, compilers)
    drawn = chart(kernels, clblast)
    if options.check:
        old_chart = options.chart.read_text(encoding="utf-8") if options.chart.exists() else ""
        wrong = differs(str(options.document), old, new)
        wrong |= differs(str(options.chart), old_chart, drawn)
        if wrong:
            print(f"{Path(__file__).name} makes new ones.")
        return int(wrong)
    options.document.write_text(before + BEGIN + new + END + after, encoding="utf-8")
    options.chart.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
