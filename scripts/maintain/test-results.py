#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the results of Meson's tests, TAP subtests one by one.

usage: test-results.py LABEL=BUILD-DIRECTORY[/LOG.json] ...
       test-results.py --stand-in SKIP|FAIL REASON >LOG.json

Prints the skipped tests with reasons, the failed tests with the end of their faults, which
tests/support/tap.py marks with "#!", and of their standard error, and as the last line

    N passed, N failed, N skipped

The exit status is 1 if a test failed. A test without TAP counts as one. A test that crashed, timed
out or did not run all planned subtests counts as one failure, even if every subtest passed. A
missing log counts as one failure. If the leak sanitizer itself crashes, after all subtests or in
the subtest that looks for leaks, one test counts as skipped.

A stand-in is the log of tests that could not be started.
"""

import json
import os
import re
import sys

DEFAULT_LOG = os.path.join("meson-logs", "testlog.json")
POINT = re.compile(
    r"(not ok\b|ok\b|Bail out!)(?: +\d+)?(?: +-)? *(.*?)(?: *# *skip\S* *(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)(?: *# *skip\S* *(.*))?$", re.I | re.M)
# LeakSanitizer watches from another process, which sometimes crashes while threads of the tested
# process end. The results of the subtests stay valid.
LEAKS_UNSEEN = "LeakSanitizer has encountered a fatal error"


class Count:
    """The names of tests, with reasons."""

    def __init__(self):
        self.passed, self.failed, self.skipped = [], [], []

    def add_test(self, name, test):
        """Counts a test, given its line of Meson's log."""
        result, output, errors = test["result"], test.get("stdout", ""), test.get("stderr", "")
        points = []
        for line in output.splitlines():
            if point := POINT.match(line):
                points.append((*point.groups(), []))
            elif points and line.startswith("#! "):
                points[-1][-1].append(line[3:])
        plan = PLAN.search(output)
        good_end = result in ("OK", "SKIP")
        failed, skipped = [], []
        unseen = not good_end and LEAKS_UNSEEN in errors
        for verdict, title, reason, notes in points:
            if reason is not None:
                skipped.append(f"{title}: {reason or 'no reason given'}")
            elif verdict == "ok":
                self.passed.append(title)
            else:
                failed.append(title + get_end(notes))
        if plan and len(points) not in (int(plan[1]), int(plan[1]) - unseen):
            failed.append(f"planned {plan[1]} subtests, ran {len(points)}")
        elif not points and result == "SKIP":
            skipped.append(plan and plan[2] or last_line(output, errors))
        elif not points and good_end:
            self.passed.append(name)
        if unseen and points:
            skipped.append(f"leaks were not looked for: {LEAKS_UNSEEN}")
            good_end = True
        # After a failed subtest, a bad exit status does not count as another failure.
        if result in ("TIMEOUT", "INTERRUPT") or not (good_end or failed):
            failed.append(result)
        if not good_end and failed:
            failed[-1] += f"; exit status {test.get('returncode', 0)}{get_end(errors.splitlines())}"
        self.failed += [f"{name}: {what}" for what in failed]
        self.skipped += [f"{name}: {what}" for what in skipped]

    def add_log(self, label, path):
        """Counts the tests of a log."""
        try:
            with open(path, encoding="utf-8", errors="replace") as log:
                tests = [json.loads(line) for line in log]
        except (OSError, ValueError) as error:
            self.failed.append(f"{label}: no results: {error}")
            return
        if not tests:
            self.failed.append(f"{label}: no test ran")
        for test in tests:
            self.add_test(f"{label} {test['name']}", test)


def get_end(lines):
    """Returns the last lines, behind a colon; "" if there are none."""
    return lines and f": {' | '.join(lines[-3:])[:400]}" or ""


def last_line(*texts):
    lines = [line.strip() for text in texts for line in text.splitlines()[-1:]]
    return next(filter(None, lines), "no reason given")


def stand_in(result, reason):
    name = "tests" if result == "SKIP" else f"tests: {reason}"
    print(json.dumps({"name": name, "result": result, "returncode": 1, "stdout": reason}))
    return 0


def main(arguments):
    if arguments[:1] == ["--stand-in"]:
        return stand_in(*arguments[1:])
    total = Count()
    for argument in arguments:
        label, _, path = argument.partition("=")
        if not path.endswith(".json"):
            path = os.path.join(path, DEFAULT_LOG)
        total.add_log(label, path)
    for title, lines in ("Skipped", total.skipped), ("Failed", total.failed):
        if lines:
            print(f"\n{title}:")
            for line in lines:
                print(f"  {line}")
    print()
    print(f"{len(total.passed)} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
