#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares gemmcl with other GEMM libraries, on the CPU's OpenCL device.

Every contender is a process that has set up its problem, packed the weights and started its
threads, and waits for its turn. Turns alternate, so that other load affects all alike. The result
is the median of the ratios of turns in a round. tools/peers.sh installs the peers.

Exit status: 0; 1 if a contender failed or its result is wrong; 2 for wrong usage; 77 without an
OpenCL device.
"""

import argparse
import json
import os
import pathlib
import sys

from contenders import FLOATS, KINDS, LIMITS
from library import MISSING, Failure, Missing
from match import GOALS, Match
from problem import BYTES, FORMS, LAYER, PLAIN, SEARCH, TOP, parse_shape
from report import describe_cpu, print_foot, print_head, print_row


def parse_row(text):
    """MxNxK or MxNxK+FORM."""
    shape, _, form = text.partition("+")
    form = form or PLAIN
    shape = parse_shape(shape)
    if form not in FORMS or form == SEARCH and shape[1] < TOP:
        raise ValueError(text)
    return shape, form


# The rows that have goals
DEFAULT_ROWS = [(shape, form) for shape in GOALS
                for form in ((BYTES,) if shape == (921600, 3, 3) else (PLAIN, LAYER))]


def parse_options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory (default: build)")
    parser.add_argument("--json", type=pathlib.Path, help="write the results there")
    parser.add_argument("--seconds", type=float, default=8.0,
                        help="time for the turns of a row (default: 8)")
    parser.add_argument("--isa", choices=LIMITS, help="limit all contenders to this CPU's vectors")
    parser.add_argument("--contenders", type=lambda text: text.split(","),
                        help="only gemmcl and these: " + ", ".join(kind.name for kind in KINDS))
    parser.add_argument("--kernel", "-k", help="gemmcl's kernel (default: its choice)")
    parser.add_argument("--platform", help="OpenCL platform, by number or part of its name")
    parser.add_argument("--properties", default="", help="more properties of the element")
    parser.add_argument("rows", nargs="*", type=parse_row, metavar="MxNxK[+FORM]",
                        default=DEFAULT_ROWS, help="forms: " + ", ".join(FORMS[1:]))
    parser.set_defaults(threads=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def play(settings):
    """All rows, for the JSON; raises Failure or Missing. Prints a table."""
    cpu = describe_cpu()
    rows = []
    limit = f"; limited to {settings.isa}, {FLOATS[settings.isa]} floats" if settings.isa else ""
    words = ", ".join(f"{name} {value}" for name, value in cpu.items())
    print(f"{words}; {settings.threads} threads{limit}")
    print_head()
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
