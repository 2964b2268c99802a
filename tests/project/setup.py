# SPDX-License-Identifier: LGPL-2.1-or-later
"""scripts/setup.sh with an apt-get that installs nothing: when it asks, and failures. TAP out."""

import glob
import os
import re
import shlex
import sys
import tempfile
from functools import partial
from pathlib import Path

import tap

SCRIPTS = Path(sys.argv[1]) / "scripts"
# The installation fails if there is a file "fails". Without --yes apt-get asks; update makes lists.
PROGRAMS = {
    "apt-get": """case "$*" in
  *update*) touch "$HOME/lists" ;;
  *--assume-no*) echo 'After this operation, 7,168 kB of additional disk space will be used.' ;;
  *--simulate*) echo 'Inst pocl-opencl-icd (1)' ;;
  *--yes*satisfy*) echo a line of dpkg; [ ! -e "$HOME/fails" ] ;;
  *satisfy*) echo 'Do you want to continue? [Y/n]'; read -r answer; [ "$answer" = y ] ;;
esac
""",
    "apt-cache": r"""[ ! -e "$HOME/lists" ] ||
printf '%s:\n  Candidate: %s\n' oclgrind '(none)' reuse 1 python3-onnx 1
""",
    "id": "echo 0\n",
}
QUESTION = r"\[Y/n\]"
DPKG = "a line of dpkg"
# The options, the input on a terminal, or None without a terminal, the exit status, and patterns
# that the output must match and must not match
SIZE = r"To install: 1 packages, 7,168 kB on disk\r?\n"
LARGE = "libgstreamer-plugins-bad1.0-dev"
CASES = {"it installs without a terminal": (
             "--ask test", None, 0, f"{SIZE}pocl-opencl-icd", f"{QUESTION}|{DPKG}|Left out"),
         "a no is obeyed": ("--ask test", "n\n", 1, f"(?s){SIZE}.*{QUESTION}", DPKG),
         "a yes is obeyed": ("--ask test", "y\n", 0, QUESTION, DPKG),
         "a no in a pipe is obeyed": ("--ask test | cat", "n\n", 1, QUESTION, DPKG),
         "a yes in a pipe is obeyed": ("--ask test | cat", "y\n", 0, QUESTION, "Failed"),
         "without --ask there is no question": ("test", "n\n", 0, SIZE, QUESTION),
         "without --ask there is none in a pipe": ("test | cat", "n\n", 0, SIZE, QUESTION),
         "a failure shows dpkg's lines and the packages": (
             "--ask test", None, 1, f"(?s){DPKG}.*Failed: apt-get.*'{LARGE}'.*'reuse'",
             f"{QUESTION}|oclgrind"),
         "a failure of demo shows that it installs less": (
             "demo", None, 1, "(?s)Left out: .*introspection.*Failed: apt-get.*'python3-numpy'",
             "'gobject-introspection'" if glob.glob("/dev/dri/renderD*") else f"'{LARGE}'")}


def check(title, options, answer, status, wanted, unwanted):
    with tempfile.TemporaryDirectory() as home:
        for name, text in PROGRAMS.items():
            program = Path(home, name)
            program.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
            program.chmod(0o755)
        if "failure" in title:
            Path(home, "fails").touch()
        line = f"{shlex.quote(str(SCRIPTS / 'setup.sh'))} {options}"
        line = shlex.join(["bash", "-o", "pipefail", "-c", line])
        said = tap.run("script", "-qec", line if answer else f"{line} </dev/null", "/dev/null",
                       stdin=None, input=answer or "",
                       env={**os.environ, "HOME": home, "PATH": f"{home}:{os.environ['PATH']}"})
    tap.expect(said.returncode, status, said.stdout)
    if not re.search(wanted, said.stdout) or re.search(unwanted, said.stdout):
        yield f"expected {wanted!r} and not {unwanted!r}: {said.stdout}"


def check_demo():
    said = tap.run(SCRIPTS / "demo.sh", "--no")
    tap.expect((said.returncode, "[--yes]" in said.stdout), (2, True), said.stdout)


tap.play({"scripts/demo.sh refuses an unknown option": check_demo,
          **{title: partial(check, title, *case) for title, case in CASES.items()}})
