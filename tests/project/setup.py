#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/setup.sh with an apt-get that installs nothing: what it says, and when it asks. TAP out.

usage: setup.py SOURCE-DIRECTORY
"""

import os
import pty
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import tap

TOOLS = Path(sys.argv[1]) / "tools"
# Two packages of 40 and 60 MB, whose installation fails if there is a file "fails".
PROGRAMS = {
    "apt-get": """echo "$*" >>"$HOME/calls"
case "$*" in
  *--print-uris*)
    echo "'http://host/a.deb' a.deb 40000000 SHA256:0"
    echo "'http://host/b.deb' b.deb 60000000 SHA256:0"
    ;;
  *--yes*)
    echo dlstatus:1:50.0:Retrieving
    echo a line of dpkg
    echo pmstatus:a:100.0:Installed
    [ ! -e "$HOME/fails" ]
    ;;
esac
""",
    "apt-cache": "echo 'Candidate: 1'\n",
    "dpkg-query": "exit 1\n",
    "id": "echo 0\n",
}
PLAN = "2 packages are fetched, 100 MB: about 1 min"


class Setup:
    """A folder of programs, and a run of tools/setup.sh."""

    def __init__(self, home):
        self.home = Path(home)
        for name, text in PROGRAMS.items():
            program = self.home / name
            program.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
            program.chmod(0o755)

    def run(self, *arguments, answer=None):
        """Returns the exit status, the output, and whether anything was installed. answer: typed on
        a terminal; None: there is no terminal."""
        calls = self.home / "calls"
        calls.unlink(missing_ok=True)
        master, slave = pty.openpty()
        if answer is not None:
            os.write(master, answer)
        there = answer is not None
        ran = subprocess.run(
            [TOOLS / "setup.sh", *arguments],
            stdin=slave if there else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=slave if there else subprocess.STDOUT,
            env={**os.environ, "HOME": str(self.home), "PATH": f"{self.home}:{os.environ['PATH']}"},
            timeout=60,
            check=False,
        )
        os.close(slave)
        said = ran.stdout.decode() + (read(master) if there else "")
        os.close(master)
        return ran.returncode, said, "--yes" in calls.read_text(encoding="utf-8")


def read(terminal):
    said = b""
    while True:
        try:
            said += os.read(terminal, 4096)
        except OSError:  # no process has the terminal open
            return said.decode()


def check_no_terminal(setup):
    status, said, installed = setup.run("--ask", "demo")
    yield "it installs without a question", status == 0 and installed and "[Y/n]" not in said
    yield "it says what and how long before", said.index("pocl-opencl-icd") < said.index(PLAN)
    yield "it shows progress afterwards", said.index(PLAN) < said.index("Fetching: 50 %")
    yield "to the end", said.endswith("Installing: 100 %\n")
    yield "without dpkg's lines", "a line of dpkg" not in said


def check_terminal(setup):
    for answer, expected in ((b"n\n", False), (b"\n", True), (b"y\n", True)):
        status, said, installed = setup.run("--ask", "demo", answer=answer)
        yield f"{answer!r} is obeyed", installed == expected == (status == 0)
        yield f"the question before {answer!r} follows the plan", PLAN in said and "[Y/n]" in said
    status, said, installed = setup.run("demo", answer=b"n\n")
    yield "without --ask there is no question", installed and "[Y/n]" not in said


def check_demo(_):
    said = subprocess.run([TOOLS / "demo.sh", "--no"], stderr=subprocess.PIPE, check=False)
    yield "an unknown option is refused", said.returncode == 2 and b"[--yes]" in said.stderr


def check_failure(setup):
    (setup.home / "fails").touch()
    status, said, _ = setup.run("demo")
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
