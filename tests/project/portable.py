#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packs tests with tools/portable-tests.py, moves the folder and runs it. TAP out.

usage: portable.py SOURCE-ROOT BUILD-ROOT
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE, BUILD = map(Path, sys.argv[1:])
# Tests of the library that need no device.
NAMES = ["literal", "formats"]
KEPT = 10  # seconds that run.py reserves for ending tests


class Failed(Exception):
    pass


def run(*command):
    """Returns (exit status, output). The environment has nothing of the build."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    said = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=kept,
        check=False,
    )
    return said.returncode, said.stdout


def expect(found, expected, said):
    if found != expected:
        raise Failed(f"{found!r} instead of {expected!r} in:\n{said}")


def last_line(said):
    return said.rstrip().splitlines()[-1]


def make_test(name, script, timeout=60):
    return {"name": name, "cmd": ["sh", "-c", script], "env": {}, "timeout": timeout,
            "protocol": "exitcode", "is_parallel": True}


def make_folder(top, tests):
    """Packs these tests with tools/portable-tests.py."""
    folder = Path(top) / "made"
    folder.mkdir()
    shutil.copy(SOURCE / "tools" / "portable-run.py", folder / "run.py")
    shutil.copy(SOURCE / "tools" / "test-results.py", folder)
    (folder / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
    return folder


def packed_tests_run(top):
    packed, moved = Path(top) / "packed", Path(top) / "moved"
    status, said = run(sys.executable, SOURCE / "tools" / "portable-tests.py", "--no-build",
                       "--build", BUILD, "--output", packed, "--suite", "lib")
    expect(status, 0, said)
    packed.rename(moved)
    # The test of the device needs a machine with one.
    (moved / "build" / "tools" / "gemmcl").unlink(missing_ok=True)
    status, said = run(sys.executable, moved / "run.py", *NAMES)
    expect(status, 0, said)
    if " passed, 0 failed, " not in last_line(said):
        raise Failed(said)


def results_are_counted(top):
    folder = make_folder(top, [
        make_test("good", "exit 0"),
        make_test("bad", "echo this is why; exit 3"),
        make_test("none", "echo no reason; exit 77"),
        make_test("endless", "sleep 60 & wait", timeout=1),
        {"name": "elsewhere", "left_out": "there is none", "timeout": 60, "protocol": "tap",
         "is_parallel": True},
    ])
    status, said = run(sys.executable, folder / "run.py")
    expect(status, 1, said)
    expect(last_line(said), "1 passed, 2 failed, 2 skipped", said)
    for words in ("portable elsewhere: there is none", "portable endless: TIMEOUT"):
        expect(words in said, True, said)
    expect(sorted(path.name for path in (folder / "logs").iterdir()), ["bad.txt", "endless.txt"],
           said)
    expect("this is why" in (folder / "logs" / "bad.txt").read_text(encoding="utf-8"), True, said)


def limit_is_kept(top):
    folder = make_folder(top, [make_test(f"slow-{i}", "sleep 30") for i in range(3)])
    began = time.monotonic()
    status, said = run(sys.executable, folder / "run.py", "--jobs", 2, "--limit", KEPT + 1)
    expect(status, 1, said)
    expect(last_line(said), "0 passed, 3 failed, 0 skipped", said)
    if time.monotonic() - began > KEPT + 1:
        raise Failed(f"it took longer than it may:\n{said}")


CHECKS = [packed_tests_run, results_are_counted, limit_is_kept]

print(f"1..{len(CHECKS)}")
failed = False
for number, check in enumerate(CHECKS, 1):
    with tempfile.TemporaryDirectory() as directory:
        try:
            check(directory)
            print(f"ok {number} {check.__name__}")
        except Failed as error:
            failed = True
            print(f"not ok {number} {check.__name__}")
            for line in str(error).splitlines():
                print(f"# {line}")
sys.exit(1 if failed else 0)
