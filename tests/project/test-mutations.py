#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks mutations.txt against the sources: each fault has one place, and changes it. TAP out.

usage: test-mutations.py SOURCE-ROOT
"""

import sys

import mutations

LEAST = 60


def find_stale(root, table):
    for mutation in table:
        try:
            mutations.find(root, mutation["old"])
        except mutations.Stale as error:
            yield f"{mutation['fault']}: {error}"


def find_wrong(table):
    for mutation in table:
        if mutation["old"] == mutation["new"] or not mutation["tests"]:
            yield f"{mutation['fault']}: it changes nothing, or no test is to find it"


def main():
    table = mutations.load()
    checks = {
        f"at least {LEAST} faults": [] if len(table) >= LEAST else [f"{len(table)} faults"],
        "each is found once in the sources": list(find_stale(sys.argv[1], table)),
        "each changes something, and names tests": list(find_wrong(table)),
    }
    print(f"1..{len(checks)}")
    for number, (name, wrong) in enumerate(checks.items(), 1):
        print(f"{'not ok' if wrong else 'ok'} {number} {name}")
        for line in wrong:
            print(f"# {line}")
    return 1 if any(checks.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
