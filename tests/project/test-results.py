#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests tools/test-results.py on logs made here. TAP on standard output."""

import json
import os
import subprocess
import sys
import tempfile

COUNTER = sys.argv[1]

# The output and the end of a test, or the two arguments of a stand-in; the expected last line.
CASES = {
    "a plain test that passes": (dict(result="OK"), "1 passed, 0 failed, 0 skipped"),
    "a plain test that fails": (dict(result="FAIL", returncode=1), "0 passed, 1 failed, 0 skipped"),
    "a plain test that is skipped": (
        dict(result="SKIP", returncode=77, stdout="no device\n"),
        "0 passed, 0 failed, 1 skipped",
    ),
    "subtests count one by one": (
        dict(result="OK", stdout="TAP version 13\n1..3\nok 1 /a\n# Start\nok 2 /b\nok 3 - c\n"),
        "3 passed, 0 failed, 0 skipped",
    ),
    "a subtest that fails": (
        dict(result="ERROR", returncode=1, stdout="ok 1 /a\nnot ok 2 /b\n1..2\n"),
        "1 passed, 1 failed, 0 skipped",
    ),
    "a subtest that is skipped": (
        dict(result="OK", stdout="ok 1 /a\nok 2 /b # SKIP no fp16\n1..2\n"),
        "1 passed, 0 failed, 1 skipped",
    ),
    "a test that skips everything": (
        dict(result="SKIP", stdout="1..0 # SKIP no OpenCL\n"),
        "0 passed, 0 failed, 1 skipped",
    ),
    "out of time after a good line": (
        dict(result="TIMEOUT", returncode=-15, stdout="1..1\nok 1 /a\n"),
        "1 passed, 1 failed, 0 skipped",
    ),
    "a crash before the plan was done": (
        dict(result="ERROR", returncode=-11, stdout="1..2\nok 1 /a\n",
             stderr="It crashes: case 7\n"),
        "1 passed, 1 failed, 0 skipped",
    ),
    "a bad exit status after good lines": (
        dict(result="FAIL", returncode=1, stdout="1..1\nok 1 /a\n"),
        "1 passed, 1 failed, 0 skipped",
    ),
    "a leak sanitizer that failed": (
        dict(result="ERROR", returncode=99, stdout="1..1\nok 1 /a\n",
             stderr="==7==LeakSanitizer has encountered a fatal error.\n"),
        "1 passed, 0 failed, 1 skipped",
    ),
    "leaks": (
        dict(result="ERROR", returncode=99, stdout="1..1\nok 1 /a\n",
             stderr="==7==ERROR: LeakSanitizer: detected memory leaks\n"),
        "1 passed, 1 failed, 0 skipped",
    ),
    "bailing out": (
        dict(result="FAIL", returncode=1, stdout="ok 1 /a\nBail out! no memory\n"),
        "1 passed, 1 failed, 0 skipped",
    ),
    "a log with no test": (None, "0 passed, 1 failed, 0 skipped"),
    "a stand-in for tests that cannot run": (
        ("SKIP", 'no "chroot": 100 % full'), "0 passed, 0 failed, 1 skipped"
    ),
    "a stand-in for tests that were stopped": (
        ("FAIL", "more than 25m"), "0 passed, 1 failed, 0 skipped"
    ),
}


def count(directory, test):
    path = os.path.join(directory, "log.json")
    with open(path, "w", encoding="utf-8") as log:
        if isinstance(test, tuple):
            subprocess.run([sys.executable, COUNTER, "--stand-in", *test], stdout=log, check=True)
        elif test is not None:
            json.dump({"name": "x", "stdout": "", "returncode": 0, **test}, log)
    return subprocess.run(
        [sys.executable, COUNTER, f"gcc={path}"], stdout=subprocess.PIPE, text=True, check=False
    )


print(f"1..{len(CASES)}")
failed = False
with tempfile.TemporaryDirectory() as top:
    for number, (name, (test, expected)) in enumerate(CASES.items(), 1):
        found = count(top, test)
        good = found.stdout.splitlines()[-1] == expected
        good = good and (found.returncode == 0) == (expected.startswith("0 passed") is False
                                                    and " 0 failed" in expected)
        if isinstance(test, tuple):
            reason = test[1]
        elif test and "stderr" in test:
            reason = test["stderr"].split("==")[-1].strip(" .\n")
        else:
            reason = test["stdout"].split()[-1] if test and test["result"] == "SKIP" else ""
        good = good and reason in found.stdout
        failed = failed or not good
        print(f"{'ok' if good else 'not ok'} {number} {name}")
        if not good:
            print(f"# expected {expected!r}, found {found.stdout!r}, status {found.returncode}")
sys.exit(1 if failed else 0)
