#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes what `gemmcl isa` says of all kernels and targets, and of CLBlast's, into a file.

usage: record-isa.py [--clblast CAPTURE] [--kernels PREFIX] RECORD.json

The gemmcl on PATH is asked, with the ocloc that it finds, so build first:

    tools/ocloc.sh meson devenv -C build ../docs/record-isa.py \\
        --clblast build/tests/bench/libclblast-capture.so tests/data/isa.json

tests/tools/test-isa.py holds the kernels to the record, docs/make-isa-table.py makes the tables and
the chart of docs/kernels.md from it. Without --clblast the record keeps its figures of CLBlast.
Subgroups of 16 are left out where registers hold 8 floats: gemmcl chooses none there, and what does
not fit takes compilers long. With --kernels only those whose names begin so are asked for, and the
record keeps the others' figures.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDE, WIDE_TARGETS = "subgroups of 16", "pvc,lnl,bmg,ptl"
CLBLAST = ROOT / "tests/bench/clblast-isa.py"
# Of a kernel that built; and those of its hot loop.
FIGURES = ["density", "simd", "registers", "spill", "private_memory", "resource_loops"]
LOOP = ["instructions", "mads", "dpas", "moves", "integers", "loads", "load_bytes", "slm_loads"]
LOOP += ["barriers", "control"]
FIELDS = FIGURES + ["efficiency"] + LOOP + ["dpas_share"]


def shorten(number):
    if isinstance(number, float):
        return int(number) if number == int(number) else round(number, 3)
    return number


def condense(figures):
    """The FIELDS of one kernel for one target; why not, for one that did not build."""
    if figures["why_not"] is not None:
        return figures["why_not"]
    hot = figures["hot"]
    loop = figures["loops"][hot] if hot >= 0 else dict.fromkeys(LOOP, 0)
    values = [figures[name] for name in FIGURES]
    values.append(figures.get("model", {}).get("efficiency"))
    values += [loop[name] for name in LOOP]
    if loop["dpas"]:
        values.append(figures.get("model", {}).get("dpas_share"))
    return [shorten(value) for value in values]


def ask(command):
    """What the command writes as JSON, to a file that is its last argument."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        said = subprocess.run(
            command + [str(answer)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
        if said.returncode:
            print(said.stderr, end="", file=sys.stderr)
            sys.exit(said.returncode)
        return json.loads(answer.read_text(encoding="utf-8"))


def ask_all(prefix):
    """The figures of the kernels, and the names of all in the order of their table."""
    listed = subprocess.run(["gemmcl", "kernels", "--json"], stdout=subprocess.PIPE, check=True)
    rows = json.loads(listed.stdout)
    figures = []
    for wide, targets in (False, "all"), (True, WIDE_TARGETS):
        names = [
            row["name"]
            for row in rows
            if (WIDE in row["needs"]) == wide and row["name"].startswith(prefix)
        ]
        if not names:
            continue
        command = ["gemmcl", "isa", "-k", ",".join(names), "--target", targets]
        figures += ask(command + ["--model", "--json"])
    return figures, [row["name"] for row in rows]


def gather(list_of_figures, compilers, names=()):
    """{kernel: {target: what condense() makes}}"""
    kernels = {name: {} for name in names}
    for figures in list_of_figures:
        compilers[figures["target"]] = figures["compiler"]
        kernels.setdefault(figures["kernel"], {})[figures["target"]] = condense(figures)
    return kernels


def write(path, record):
    """A line per kernel and target: what changes shows in a diff."""
    lines = ["{"]
    lines.append(f' "compilers": {json.dumps(record["compilers"])},')
    lines.append(f' "fields": {json.dumps(record["fields"])},')
    for part in "clblast", "kernels":
        kernels = []
        for name, targets in record[part].items():
            rows = [f'   {json.dumps(target)}: {json.dumps(what)}' for target, what in targets.items()]
            kernels.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n  }")
        lines.append(f' "{part}": {{\n' + ",\n".join(kernels) + "\n }" + "," * (part == "clblast"))
    path.write_text("\n".join(lines) + "\n}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--clblast", type=Path, help="libclblast-capture.so of the build")
    parser.add_argument("record", type=Path)
    parser.add_argument("--kernels", default="", metavar="PREFIX", help="only these kernels")
    options = parser.parse_args()

    old = json.loads(options.record.read_text(encoding="utf-8")) if options.record.exists() else {}
    compilers = dict(old["compilers"]) if options.kernels else {}
    figures, names = ask_all(options.kernels)
    kernels = gather(figures, compilers, names)
    if options.kernels:
        kept = {name: old["kernels"].get(name, {}) for name in names}
        kernels = {name: kernels[name] or kept[name] for name in names}
        kernels = {name: what for name, what in kernels.items() if what}
    clblast = old.get("clblast", {})
    if options.clblast:
        clblast = gather(ask([sys.executable, str(CLBLAST), str(options.clblast)]), compilers)
    record = {
        "compilers": compilers, "fields": FIELDS, "clblast": clblast,
        "kernels": kernels,
    }  # fmt: skip
    write(options.record, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
