#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Puts faults into the sources, one at a time, and prints the test that finds each.

usage: mutate.py [--likely] [--folder FOLDER] [--jobs N] [WORD...]

The faults are those of mutations.txt, or those whose description has one of the WORDs. A copy of
the tree is built in FOLDER (default: build-mutate of the source tree), which later runs reuse. The
tests that a fault names run first, then all others of the brief suite, until one fails; with
--likely only the named ones run. At the end the tests that found a fault run without a fault, and
must pass.

Prints a line for each fault: the seconds, the test and subtest that failed or SURVIVED, and the
fault. Exit status 1 if a fault survived, did not build or was not found in the sources.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import mutations

ROOT = Path(__file__).resolve().parents[2]
# Tests that do not run the library, and tests that only read texts.
LEFT_OUT = ["project", "docs", "demos", "bench", "driver"]


def run(*command):
    return subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


class Copy:
    """A copy of the tree, and its build."""

    def __init__(self, folder, jobs):
        self.source = folder / "source"
        self.build = folder / "build"
        self.jobs = jobs
        self.copy_sources()
        if not (self.build / "build.ninja").exists():
            self.expect(run("meson", "setup", self.build, self.source, "-Ddocs=disabled"))
        self.expect(self.make())
        self.tests = self.list_tests()

    def copy_sources(self):
        """Copies only files that differ, so that little is built again."""
        said = run("git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard")
        names = {name for name in said.stdout.split("\0") if name and (ROOT / name).is_file()}
        for path in list(self.source.rglob("*")):
            if path.is_file() and str(path.relative_to(self.source)) not in names:
                path.unlink()
        for name in names:
            to = self.source / name
            content = (ROOT / name).read_bytes()
            if not to.is_file() or to.read_bytes() != content:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, to)
                shutil.copymode(ROOT / name, to)

    @staticmethod
    def expect(said):
        if said.returncode:
            sys.exit(said.stdout[-4000:])

    def make(self):
        return run("ninja", "--quiet", "-C", self.build, f"-j{self.jobs}")

    def list_tests(self):
        said = run("meson", "introspect", "--tests", self.build)
        return [
            test["name"]
            for test in json.loads(said.stdout)
            if not {suite.split(":")[-1] for suite in test["suite"]} & set(LEFT_OUT)
        ]

    def find_failure(self, names):
        """Returns 'test: subtest' of a test that fails, or None."""
        names = [name for name in names if name in self.tests]
        if not names:
            return None
        said = run("meson", "test", "-C", self.build, "--no-rebuild", "--maxfail=1",
                   "--num-processes", self.jobs, "--timeout-multiplier", 2, *names)
        if said.returncode == 0:
            return None
        for line in (self.build / "meson-logs" / "testlog.json").read_text().splitlines():
            test = json.loads(line)
            if test["result"] in ("FAIL", "ERROR", "TIMEOUT"):
                points = [point for point in test.get("stdout", "").splitlines()
                          if point.startswith("not ok")]
                last = points[0].split(" ", 3)[-1] if points else test["result"].lower()
                return f"{test['name'].split(' / ')[-1]}: {last}"
        return f"meson: {said.stdout.splitlines()[-1]}"

    def find_failure_of(self, mutation, likely):
        if likely:
            return self.find_failure(mutation["tests"])
        others = [name for name in self.tests if name not in mutation["tests"]]
        return self.find_failure(mutation["tests"]) or self.find_failure(others)

    def try_out(self, mutation, likely):
        """Returns the failure, SURVIVED, or the reason why the fault could not be tried."""
        try:
            path = mutations.find(self.source, mutation["old"])
        except mutations.Stale as error:
            return f"STALE: {error}"
        before = path.read_text(encoding="utf-8")
        path.write_text(before.replace(mutation["old"], mutation["new"]), encoding="utf-8")
        try:
            said = self.make()
            if said.returncode:
                return f"DOES NOT BUILD: {said.stdout.splitlines()[-1]}"
            return self.find_failure_of(mutation, likely) or "SURVIVED"
        finally:
            path.write_text(before, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--likely", action="store_true")
    parser.add_argument("--folder", type=Path, default=ROOT / "build-mutate")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("word", nargs="*")
    arguments = parser.parse_args()
    os.environ["GEMMCL_TEST_BRIEF"] = "1"
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [mutation for mutation in mutations.load()
              if not arguments.word
              or any(word in mutation["fault"] for word in arguments.word)]
    copy = Copy(arguments.folder.resolve(), arguments.jobs)
    found, missed = set(), 0
    for mutation in chosen:
        begin = time.monotonic()
        result = copy.try_out(mutation, arguments.likely)
        missed += result.split(":")[0] in ("SURVIVED", "STALE", "DOES NOT BUILD")
        found.add(result.split(":")[0])
        print(f"{time.monotonic() - begin:6.0f} s | {result} | {mutation['fault']}", flush=True)
    copy.expect(copy.make())
    failure = copy.find_failure(sorted(found))
    if failure:
        print(f"without a fault, too, fails {failure}")
    print(f"{len(chosen) - missed} of {len(chosen)} faults found")
    return 1 if missed or failure else 0


if __name__ == "__main__":
    sys.exit(main())
