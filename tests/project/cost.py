#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures the CPU time of tests, which is independent of other load.

usage: cost.py [--cold] BUILD-DIRECTORY [NAME...]

Runs the tests of a build, or the named ones, one after the other, in Meson's environment. Prints
for each: seconds of CPU time (user and system, of all its processes), programs and kernels that
PoCL compiled for it (kernels once for each work-group size), the exit status and the name; and last
the sums.

--cold   with empty caches: PoCL's is in a temporary directory, and the build's is removed
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def list_tests(build):
    said = subprocess.run(
        ["meson", "introspect", "--tests", build], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(said.stdout)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def count_compiled(cache):
    """Returns (programs, kernels) in PoCL's cache."""
    programs = kernels = 0
    for path in Path(cache).rglob("*"):
        programs += path.name == "program.bc"
        kernels += path.suffix == ".so"
    return programs, kernels


def run(test, build):
    environment = {**os.environ, **test["env"]}
    environment.setdefault("MALLOC_PERTURB_", "7")
    try:
        return subprocess.run(
            test["cmd"],
            cwd=test["workdir"] or build,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5 * max(test["timeout"], 1),
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return "timeout"


def measure(tests, build, cache):
    total = [0, 0, 0]
    compiled = count_compiled(cache)
    print("   CPU s programs kernels status name")
    for test in tests:
        before = cpu_seconds()
        status = run(test, build)
        now = count_compiled(cache)
        row = [cpu_seconds() - before, now[0] - compiled[0], now[1] - compiled[1]]
        compiled = now
        total = [sum(pair) for pair in zip(total, row)]
        print(f"{row[0]:8.1f} {row[1]:8} {row[2]:7} {status:6} {test['name']}", flush=True)
    print(f"{total[0]:8.1f} {total[1]:8} {total[2]:7}        {len(tests)} tests")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("build")
    parser.add_argument("name", nargs="*")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    tests = [
        test for test in list_tests(build) if not arguments.name or test["name"] in arguments.name
    ]
    with tempfile.TemporaryDirectory() as empty:
        if arguments.cold:
            os.environ["POCL_CACHE_DIR"] = empty
            for cache in [*Path(build).glob("cache"), *Path(build).glob("tests/*/cache")]:
                shutil.rmtree(cache)
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        measure(tests, build, os.environ.get("POCL_CACHE_DIR") or os.path.join(home, "pocl"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
