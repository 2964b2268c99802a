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
import tempfile

from contenders import (BYTES, ELEMENT, FLOATS, FORMS, KINDS, LAYER, LIMITS, NOT_PEERS, OURS, PLAIN,
                        POOLED, SEARCH, TOP, UNLIMITED, Failure)
from match import Match
from problem import Problem, parse_shape
from report import GOALS, describe_cpu, make_row, print_foot, print_head, print_row

SKIPPED = 77


class Settings(argparse.Namespace):
    """The options of the command line."""

    threads = len(os.sched_getaffinity(0))

    def wants(self, kind):
        """True if a contender takes part."""
        if self.isa and kind.name in UNLIMITED:
            return False
        if self.contenders:
            return kind.name == OURS or kind.name in self.contenders
        return not kind.optional

    def arguments(self, kind):
        """The arguments of a contender besides its problem."""
        result = ["--threads", str(self.threads)]
        if kind.opencl and self.platform:
            result += ["--platform", self.platform]
        if kind.name in NOT_PEERS and self.kernel:
            result += ["--kernel", self.kernel]
        if kind.name in (ELEMENT, POOLED):
            result += ["--properties", self.properties]
        return result


def parse_row(text):
    """MxNxK or MxNxK+FORM."""
    shape, _, form = text.partition("+")
    form = form or PLAIN
    shape = parse_shape(shape)
    if form not in FORMS or form == SEARCH and shape[1] < TOP:
        raise ValueError(text)
    return shape, form


def default_rows():
    """The rows that have goals."""
    return [(shape, form) for shape in GOALS
            for form in ((BYTES,) if shape == (921600, 3, 3) else (PLAIN, LAYER))]


def parse_options(arguments):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build", help="the build directory")
    parser.add_argument("--json", type=pathlib.Path, help="write the results there")
    parser.add_argument("--seconds", type=float, default=8.0, help="time for the turns of a row")
    parser.add_argument("--isa", choices=LIMITS, help="limit everybody to a lesser CPU's vectors")
    parser.add_argument("--contenders", type=lambda text: text.split(","),
                        help="only these besides ours: " + ", ".join(kind.name for kind in KINDS))
    parser.add_argument("--kernel", "-k", help="of ours, instead of the one it chooses")
    parser.add_argument("--platform", help="OpenCL's, by number or part of its name")
    parser.add_argument("--properties", default="", help="more of the element's")
    parser.add_argument("rows", nargs="*", type=parse_row, metavar="MxNxK[+FORM]",
                        help="forms: " + ", ".join(FORMS[1:]))
    return parser.parse_args(arguments, Settings())


def play(row, settings):
    """Plays a row."""
    with tempfile.TemporaryDirectory(prefix="gemmcl-peers-") as folder:
        with Match(Problem(*row, folder), settings) as match:
            match.invite()
            match.play(settings.seconds)
            return make_row(match)


def play_all(settings):
    """All rows, for the JSON; raises Failure. Prints a table."""
    cpu = describe_cpu()
    rows = []
    limit = f"; limited to {settings.isa}, {FLOATS[settings.isa]} floats" if settings.isa else ""
    words = ", ".join(f"{name} {value}" for name, value in cpu.items())
    print(f"{words}; {settings.threads} threads{limit}")
    print_head()
    for row in settings.rows or default_rows():
        rows.append(play(row, settings))
        print_row(rows[-1])
    print_foot(rows)
    return {"cpu": cpu, "threads": settings.threads, "isa": settings.isa, "rows": rows}


def main(arguments):
    """The options of the command line."""
    settings = parse_options(arguments)
    try:
        results = play_all(settings)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return SKIPPED if failure.missing else 1
    if settings.json:
        settings.json.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
