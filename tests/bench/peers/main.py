#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares gemmcl with other GEMM libraries, on the CPU's OpenCL device.

Every contender is a process that has set up its problem, packed the weights and started its
threads, and waits for its turn. Turns alternate, so that other load affects all alike. The result
is the median of the ratios of turns in a round. scripts/maintain/peers.sh installs the peers.

Exit status: 0; 1 if a contender failed or is wrong; 2 for wrong usage; 77 without a device."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

from contenders import EARLIER, FLOATS, KINDS, LIBRARY, LIMITS, OURS
from library import MISSING, Failure, Missing
from match import GOALS, Match
from problem import BYTES, FORMS, LAYER, PLAIN, SEARCH, TOP, parse_shape
from ratio import QUIET, describe

CPU_FIELDS = ("Model name", "CPU family", "Model", "Stepping", "CPU(s)")


def parse_row(text):
    shape, _, form = text.partition("+")
    form = form or PLAIN
    shape = parse_shape(shape)
    if form not in FORMS or form.startswith(SEARCH) and shape[1] < TOP:
        raise ValueError(text)
    return shape, form


DEFAULT_ROWS = [(shape, form) for shape in GOALS
                for form in ((BYTES,) if shape == (921600, 3, 3) else (PLAIN, LAYER))]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory (default: build)")
    parser.add_argument("--json", type=pathlib.Path, help="write the results there")
    parser.add_argument("--seconds", type=float, default=8.0,
                        help="time for the turns of a row (default: 8)")
    parser.add_argument("--isa", choices=LIMITS, help="limit all contenders to this CPU's vectors")
    parser.add_argument("--contenders", type=lambda text: text.split(","),
                        help="only gemmcl and these: " + ", ".join(kind.name for kind in KINDS))
    parser.add_argument("--earlier", metavar="BUILD",
                        help="compare with the library of this build directory, of an earlier"
                             " version, and with no others")
    parser.add_argument("--kernel", "-k", help="gemmcl's kernel (default: its choice)")
    parser.add_argument("--platform", help="OpenCL platform, by number or part of its name")
    parser.add_argument("--properties", default="", help="more properties of the element")
    parser.add_argument("rows", nargs="*", type=parse_row, metavar="MxNxK[+FORM]",
                        default=DEFAULT_ROWS, help="forms: " + ", ".join(FORMS[1:]))
    parser.set_defaults(threads=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    for build in filter(None, (options.build, options.earlier)):
        if not pathlib.Path(build, LIBRARY).exists():
            parser.error(f"{build} has no {LIBRARY}: build gemmcl there")
    if options.earlier and not options.contenders:
        options.contenders = [EARLIER]
    return options


def describe_cpu():
    said = subprocess.run("lscpu", stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    lines = (map(str.strip, line.split(":", 1)) for line in said.splitlines())
    return {name: value for name, value in lines if name in CPU_FIELDS}


def describe_speed(row):
    """The speed of gemmcl in GFLOPS, or for u8 in GB/s read and written."""
    m, n, k = row["m"], row["n"], row["k"]
    amount, unit = ((m * (k + n), "GB/s") if row["form"] == BYTES else (2 * m * n * k, "GFLOPS"))
    return f"{amount / row['seconds'][OURS] / 1e9:.1f} {unit}"


def print_row(row):
    """A row of the table; below it gemmcl's speed in several ways, relative to others."""
    form = {PLAIN: "", LAYER: " bias, ReLU", BYTES: " u8 to u8"}.get(row["form"], " " + row["form"])
    best, clblast = row.get("of_best_peer"), row.get("of_clblast")
    print(f"{row['m']}x{row['n']}x{row['k']}{form}".ljust(27), row["kernel"].ljust(20),
          f"{describe_speed(row):>14}  {best['name'] if best else '-':21}"
          f"{describe(best):42} {describe(clblast)}")
    for ours, ratios in row["ratios"].items():
        print(f"    {ours}: " + ", ".join(
            f"{ratio['median']:.2f} ({ratio['fastest']:.2f}) to {name}"
            for name, ratio in ratios.items()))
    noise = "" if row["others"] < QUIET else ": too much to judge"
    print(f"    {row['rounds']} rounds, {row['others']:.0%} of the CPUs went to others{noise}",
          flush=True)


def print_foot(rows):
    about, missing = (collections.ChainMap(*(row[key] for row in reversed(rows)))
                      for key in ("about", "missing"))
    print("\nThe contenders, as described in the last row of each:")
    for name, words in about.items():
        print(f"  {name}: {words}")
    for words in missing.values():
        print(f"  Missing: {words}")


def play(settings):
    """All rows, for the JSON; raises Failure or Missing. Prints a table."""
    cpu = describe_cpu()
    rows = []
    limit = f"; limited to {settings.isa}, {FLOATS[settings.isa]} floats" if settings.isa else ""
    words = ", ".join(f"{name} {value}" for name, value in cpu.items())
    print(f"{words}; {settings.threads} threads{limit}\n"
          f"{'M x N x K':27} {'kernel':20} {'ours':>14}  {'best peer':21}"
          f"{'ratio to it, with its goal (quartiles)':42} to CLBlast\n"
          "    below each row: ratios by medians, and in brackets by the fastest runs")
    for shape, form in settings.rows:
        with Match(shape, form, settings) as match:
            match.invite()
            match.play(settings.seconds)
        rows.append(match.judge())
        print_row(rows[-1])
    print_foot(rows)
    return {"cpu": cpu, "threads": settings.threads, "isa": settings.isa, "rows": rows}


def main():
    settings = parse_options()
    try:
        results = play(settings)
    except (Failure, Missing) as error:
        print(error, file=sys.stderr)
        return MISSING if isinstance(error, Missing) else 1
    if settings.json:
        settings.json.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
