#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the results of Meson's tests, TAP subtests one by one.

usage: test-results.py LABEL=BUILD-DIRECTORY[/LOG.json] ...
       test-results.py --stand-in SKIP|FAIL REASON >LOG.json

Prints the skipped tests with reasons, the failed ones with the end of their standard error, and as
the last line

    N passed, N failed, N skipped

The exit status is 1 if a test failed. A test without TAP counts as one. A test that crashed, timed
out or did not run all planned subtests counts as one failure, even if every subtest passed. A
missing log counts as one failure. A crash of the leak sanitizer after the subtests counts as one
skipped.

A stand-in is the log of tests that could not be started.
"""

import json
import os
import re
import sys

DEFAULT_LOG = os.path.join("meson-logs", "testlog.json")
POINT = re.compile(r"(not )?ok\b(?:\s+\d+)?\s*(?:-\s)?(.*)")
PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*skip\S*\s*(.*))?$", re.IGNORECASE)
# LeakSanitizer watches from another process, which sometimes crashes while threads of the tested
# process end. The results of the subtests stay valid.
LEAKS_UNSEEN = "LeakSanitizer has encountered a fatal error"
DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\S*\s*(.*)", re.IGNORECASE)


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def count_tap(name, text):
    """Returns the Count of a TAP stream, or None for a text without TAP."""
    count = Count()
    planned = None
    points = 0
    for line in text.splitlines():
        plan = PLAN.match(line)
        point = POINT.match(line)
        if line.startswith("Bail out!"):
            count.failed.append(f"{name}: {line}")
            points += 1
        elif plan:
            planned = int(plan.group(1))
            if planned == 0:
                count.skipped.append(f"{name}: {plan.group(2) or 'no reason given'}")
        elif point:
            points += 1
            what = f"{name}: {DIRECTIVE.sub('', point.group(2)).strip()}"
            directive = DIRECTIVE.search(point.group(2))
            skip = directive and directive.group(1).lower() == "skip"
            todo = directive and directive.group(1).lower() == "todo"
            if skip:
                count.skipped.append(f"{what}: {directive.group(2) or 'no reason given'}")
            elif point.group(1) and not todo:
                count.failed.append(what)
            else:
                count.passed += 1
    if planned is None and points == 0:
        return None
    if planned is not None and planned != points:
        count.failed.append(f"{name}: planned {planned} subtests, ran {points}")
    return count


def last_line(*texts):
    for text in texts:
        lines = [line for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1].strip()
    return "no reason given"


def count_test(label, test):
    """Returns the Count of one test, given its line of Meson's log."""
    name = f"{label} {test['name']}"
    result = test["result"]
    count = count_tap(name, test.get("stdout", ""))
    if count is None:
        count = Count()
        if result in ("OK", "EXPECTEDFAIL"):
            count.passed = 1
        elif result == "SKIP":
            reason = last_line(test.get("stdout", ""), test.get("stderr", ""))
            count.skipped.append(f"{name}: {reason}")
    status = test.get("returncode", 0)
    good_end = result in ("OK", "SKIP", "EXPECTEDFAIL")
    if not good_end and count.passed and LEAKS_UNSEEN in test.get("stderr", ""):
        count.skipped.append(f"{name}: leaks were not looked for: {LEAKS_UNSEEN}")
        good_end = True
    # After a failed subtest, a bad exit status does not count as another failure.
    if result in ("TIMEOUT", "INTERRUPT") or not (good_end or count.failed):
        count.failed.append(f"{name}: {result}")
    if not good_end and count.failed:
        end = " | ".join(test.get("stderr", "").splitlines()[-3:])
        count.failed[-1] += f"; exit status {status}" + (end and f": {end[:400]}")
    return count


def count_log(label, path):
    count = Count()
    tests = 0
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                tests += 1
                count.add(count_test(label, json.loads(line)))
    except (OSError, ValueError) as error:
        count.failed.append(f"{label}: no results: {error}")
    else:
        if tests == 0:
            count.failed.append(f"{label}: no test ran")
    return count


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
        total.add(count_log(label, path))
    for title, lines in ("Skipped", total.skipped), ("Failed", total.failed):
        if lines:
            print(f"\n{title}:")
            for line in lines:
                print(f"  {line}")
    print()
    print(f"{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
