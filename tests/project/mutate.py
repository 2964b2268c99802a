#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Puts faults into the sources, one at a time, and prints a line for each fault: the seconds, the
test and subtest that failed or SURVIVED, and the fault.

The tests that a fault of mutations.txt names run first, then all others of the brief suite, until
one fails. At the end the tests that found a fault run without a fault, and must pass. The exit
status is 1 if a fault survived, was skipped, did not build, or was not found in the sources."""

import argparse
import filecmp
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

ROOT = HERE.parents[1]
FOLDERS = ["lib", "gst", "kernels", "tools/import"]
SUFFIXES = {".c", ".h", ".cl", ".clh", ".def"}
OLD, NEW = re.compile(r"\[-(.*?)-\]"), re.compile(r"\{\+(.*?)\+\}")
# Tests that do not run the library, and tests that only read texts.
LEFT_OUT = {"project", "docs", "demos", "bench", "driver"}


def load():
    """Yields {fault, tests, old, new} for each fault."""
    for line in (HERE / "mutations.txt").read_text(encoding="utf-8").splitlines():
        if not line or line[0] == "#":
            continue
        title, _, change = line.partition(" | ")
        tests, _, fault = title.partition(": ")
        yield {"fault": fault, "tests": tests.split(), "old": NEW.sub("", OLD.sub(r"\1", change)),
               "new": OLD.sub("", NEW.sub(r"\1", change))}


def find(root, mutation):
    """Returns the file that has the text to change. Only one file may have it, and only once."""
    old = mutation["old"]
    found = [path for folder in FOLDERS for path in sorted((Path(root) / folder).rglob("*"))
             if path.suffix in SUFFIXES and path.is_file()
             for _ in range(path.read_text(encoding="utf-8").count(old))]
    if len(found) == 1 and old != mutation["new"] and mutation["tests"]:
        return found[0]
    where = ", ".join(str(path.relative_to(root)) for path in found)
    raise tap.Failed(f"{mutation['fault']}: expected a change, tests, and once in the sources,"
                     f" found in {where or 'none'}: {old}")


class Copy:
    def __init__(self, folder, jobs):
        self.source = folder / "source"
        self.build = folder / "build"
        self.jobs = jobs
        self.copy_sources()
        if not (self.build / "build.ninja").exists():
            tap.require("meson", "setup", self.build, self.source, "-Ddocs=disabled")
        tap.require(*self.make())
        said = tap.require("meson", "introspect", "--tests", self.build)
        self.tests = [test["name"] for test in json.loads(said)
                      if not {suite.split(":")[-1] for suite in test["suite"]} & LEFT_OUT]

    def copy_sources(self):
        """Copies only files that differ, so that little is built again."""
        def copy(source, target):
            if not Path(target).exists() or not filecmp.cmp(source, target, shallow=False):
                shutil.copy(source, target)
        for path in self.source.rglob("*"):
            if path.is_file() and not (ROOT / path.relative_to(self.source)).exists():
                path.unlink()
        shutil.copytree(ROOT, self.source, copy_function=copy, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("build", "build-*", ".git", "__pycache__"))

    def make(self):
        return "ninja", "--quiet", "-C", self.build, f"-j{self.jobs}"

    def find_failure(self, names):
        """Returns 'test: subtest' of a test that fails, or None."""
        names = [name for name in names if name in self.tests]
        if not names:
            return None
        said = tap.run("meson", "test", "-C", self.build, "--no-rebuild", "--maxfail=1",
                       "--num-processes", self.jobs, "--timeout-multiplier", 2, *names)
        log = (self.build / "meson-logs/testlog.json").read_text()
        tests = [json.loads(line) for line in log.splitlines()]
        for test in tests:
            if test["result"] in ("FAIL", "ERROR", "TIMEOUT"):
                point = re.search(r"^not ok \d+ (?:- )?(.*)", test.get("stdout", ""), re.M)
                return f"{test['name'].split(' / ')[-1]}: {point[1] if point else test['result']}"
        if all(test["result"] == "SKIP" for test in tests):
            return f"SKIPPED: {', '.join(names)}"
        return f"meson: {said.stdout.splitlines()[-1]}" if said.returncode else None

    def try_out(self, mutation, likely):
        """Returns the failure, SURVIVED, or the reason why the fault could not be tried."""
        try:
            path = find(self.source, mutation)
        except tap.Failed as error:
            return f"STALE: {error}"
        before = path.read_text(encoding="utf-8")
        path.write_text(before.replace(mutation["old"], mutation["new"]), encoding="utf-8")
        try:
            said = tap.run(*self.make())
            if said.returncode:
                return f"DOES NOT BUILD: {said.stdout.splitlines()[-1]}"
            named = self.find_failure(mutation["tests"]) or "SURVIVED"
            if likely or named.split(":")[0] not in ("SURVIVED", "SKIPPED"):
                return named
            return self.find_failure([name for name in self.tests
                                      if name not in mutation["tests"]]) or named
        finally:
            path.write_text(before, encoding="utf-8")


def check():
    for mutation in load():
        try:
            find(ROOT, mutation)
        except tap.Failed as error:
            yield error


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true",
                        help="only look for the place of each fault in the sources; TAP out")
    parser.add_argument("--likely", action="store_true", help="run only the tests that it names")
    parser.add_argument("--folder", type=Path, default=ROOT / "build-mutate",
                        help="a copy of the tree and its build, which later runs reuse")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("word", nargs="*", help="only faults whose description has one of these")
    arguments = parser.parse_args()
    if arguments.check:
        tap.play({"there are faults": lambda: [] if list(load()) else ["none"],
                  "each has its place in the sources": check})
    os.environ["GEMMCL_TEST_BRIEF"] = "1"
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [mutation for mutation in load()
              if any(word in mutation["fault"] for word in arguments.word or [""])]
    copy = Copy(arguments.folder.resolve(), arguments.jobs)
    found, missed = set(), 0
    for mutation in chosen:
        begin = time.monotonic()
        result = copy.try_out(mutation, arguments.likely)
        missed += result.split(":")[0] in ("SURVIVED", "SKIPPED", "STALE", "DOES NOT BUILD")
        found.add(result.split(":")[0])
        print(f"{time.monotonic() - begin:6.0f} s | {result} | {mutation['fault']}", flush=True)
    tap.require(*copy.make())
    failure = copy.find_failure(sorted(found))
    if failure:
        print(f"without a fault, too, fails {failure}")
    print(f"{len(chosen) - missed} of {len(chosen)} faults found")
    return 1 if missed or failure else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except tap.Failed as error:
        sys.exit(str(error)[-4000:])
