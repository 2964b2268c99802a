#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/setup.sh with an apt-get that installs nothing: when it may ask, and failures. TAP out.

usage: setup.py SOURCE-DIRECTORY
"""

import contextlib
import os
import pty
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import tap

TOOLS = Path(sys.argv[1]) / "tools"
# The installation fails if there is a file "fails". Without --yes apt-get asks.
PROGRAMS = {
    "apt-get": """case "$*" in
  *--simulate*) echo 'Inst pocl-opencl-icd (1)' ;;
  *--yes*satisfy*) echo a line of dpkg; [ ! -e "$HOME/fails" ] ;;
  *satisfy*) echo 'Do you want to continue? [Y/n]'; read -r answer; [ "$answer" = y ] ;;
esac
""",
    "apt-cache": "echo 'Candidate: 1'\n",
    "id": "echo 0\n",
}


class Setup:
    """A folder of programs, and a run of tools/setup.sh."""

    def __init__(self, home):
        self.home = Path(home)
        for name, text in PROGRAMS.items():
            program = self.home / name
            program.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
            program.chmod(0o755)

    def run(self, *arguments, answer=None):
        """Returns the exit status and the output. answer: typed on a terminal; None: there is no
        terminal."""
        master, slave = pty.openpty()
        os.write(master, answer or b"")
        ran = subprocess.run(
            [TOOLS / "setup.sh", *arguments],
            stdin=subprocess.DEVNULL if answer is None else slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "HOME": str(self.home), "PATH": f"{self.home}:{os.environ['PATH']}"},
            timeout=60,
            check=False,
        )
        os.close(slave)
        said = b""
        with open(master, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
            while True:  # until no process has the terminal open
                said += terminal.read(4096)
        return ran.returncode, said.decode()


def check_no_terminal(setup):
    status, said = setup.run("--ask", "demo")
    yield "it installs without a question", status == 0 and "[Y/n]" not in said
    yield "it says what it installs", "To install: " in said and "pocl-opencl-icd" in said
    yield "without dpkg's lines", "a line of dpkg" not in said


def check_terminal(setup):
    for answer, expected in ((b"n\n", 1), (b"y\n", 0)):
        status, said = setup.run("--ask", "demo", answer=answer)
        yield f"{answer!r} is obeyed", status == expected and "[Y/n]" in said
    status, said = setup.run("demo", answer=b"n\n")
    yield "without --ask there is no question", status == 0 and "[Y/n]" not in said


def check_demo(_):
    said = subprocess.run([TOOLS / "demo.sh", "--no"], stderr=subprocess.PIPE, check=False)
    yield "an unknown option is refused", said.returncode == 2 and b"[--yes]" in said.stderr


def check_failure(setup):
    (setup.home / "fails").touch()
    status, said = setup.run("demo")
    yield "the exit status is 1", status == 1
    yield "dpkg's lines are shown", "a line of dpkg" in said and "Failed: apt-get" in said


CASES = {
    "without a terminal": check_no_terminal,
    "on a terminal": check_terminal,
    "a failed installation": check_failure,
    "options of tools/demo.sh": check_demo,
}


def find_faults(case):
    with tempfile.TemporaryDirectory() as home:
        return [f"not so: {what}" for what, right in case(Setup(home)) if not right]


tap.play({name: partial(find_faults, case) for name, case in CASES.items()})
