# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests scripts/maintain/test-results.py on logs made here. TAP out."""

import json
import sys
import tempfile
from functools import partial

import tap

COUNTER = sys.argv[1]
LEAKS = "LeakSanitizer: detected memory leaks"
CRASH = "It crashes: case 7"
# The result, exit status, output and errors of a test, or the two arguments of a stand-in; the
# expected numbers of passed, failed and skipped tests, a digit each; and the reason in the output
CASES = {
    "a plain test that passes": (("OK", 0, ""), "100"),
    "a plain test that fails": (("FAIL", 1, ""), "010"),
    "a plain test that is skipped": (("SKIP", 77, "no device\n"), "001", "no device"),
    "subtests count one by one": (
        ("OK", 0, "TAP version 13\n1..3\nok 1 /a\n# Start\nok 2 /b\nok 3 - c\n"), "300"),
    "a subtest that fails": (("ERROR", 1, "ok 1 /a\nnot ok 2 /b\n1..2\n"), "110"),
    "the reason of a subtest that fails": (
        ("FAIL", 1, "1..2\nnot ok 1 /a\n#! in f:\n#! 1 != 2\n# b\nok 2 /b\n", "log"), "110",
        "/a: in f: | 1 != 2; exit status 1: log"),
    "a subtest that is skipped": (("OK", 0, "ok 1 /a\nok 2 /b # SKIP no fp16\n1..2\n"), "101"),
    "a test that skips everything": (("SKIP", 0, "1..0 # SKIP no OpenCL\n"), "001", "OpenCL"),
    "out of time after a good line": (("TIMEOUT", -15, "1..1\nok 1 /a\n"), "110"),
    "a crash before the plan was done": (("ERROR", -11, "1..2\nok 1 /a\n", CRASH), "110", CRASH),
    "a bad exit status after good lines": (("FAIL", 1, "1..1\nok 1 /a\n"), "110"),
    "a leak sanitizer that failed": (
        ("ERROR", 99, "1..1\nok 1 /a\n", "==7==LeakSanitizer has encountered a fatal error.\n"),
        "101", "LeakSanitizer has encountered a fatal error"),
    "a leak sanitizer that failed as a subtest": (
        ("ERROR", 99, "1..2\nok 1 a\n", "==7==LeakSanitizer has encountered a fatal error.\n"),
        "101", "LeakSanitizer has encountered a fatal error"),
    "leaks": (("ERROR", 99, "1..1\nok 1 /a\n", f"==7==ERROR: {LEAKS}\n"), "110", LEAKS),
    "bailing out": (("FAIL", 1, "ok 1 /a\nBail out! no memory\n"), "110"),
    "a log with no test": (None, "010"),
    "a stand-in for tests that cannot run": (
        ("SKIP", 'no "chroot": 100 % full'), "001", 'no "chroot": 100 % full'),
    "a stand-in for tests that were stopped": (("FAIL", "more than 25m"), "010", "more than 25m"),
}


def count(test, numbers, reason=""):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as log:
        if test and len(test) == 2:
            log.write(tap.require(sys.executable, COUNTER, "--stand-in", *test))
        elif test:
            names = ("result", "returncode", "stdout", "stderr")
            json.dump({"name": "x", **dict(zip(names, test))}, log)
        log.flush()
        said = tap.run(sys.executable, COUNTER, f"gcc={log.name}")
    expected = "{} passed, {} failed, {} skipped".format(*numbers)
    tap.expect(said.stdout.splitlines()[-1], expected, said.stdout)
    tap.expect(said.returncode == 0, numbers[0] != "0" and numbers[1] == "0", said.stdout)
    tap.expect(reason in said.stdout, True, said.stdout)


tap.play({name: partial(count, *case) for name, case in CASES.items()})
