# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs gst-launch-1.0 for the demos, shows the line, and compares the result with NumPy's."""

import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent


def output_directory(name):
    """Makes the folder `name` in the folder that the command line names. Returns: its path."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DIRECTORY-FOR-RESULTS")
    directory = Path(sys.argv[1]) / name
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def play(*branches, options=()):
    """Shows and runs a pipeline. A branch is a list of elements, an element a string.

    Returns: what gst-launch-1.0 printed.
    """
    line = ["gst-launch-1.0", *options]
    for branch in branches:
        line += shlex.split(" ! ".join(branch))
    shown = " ".join("!" if word == "!" else shlex.quote(word) for word in line)
    shown = textwrap.wrap(
        shown.replace(f"{HERE.parent}/", ""), 96, break_long_words=False, break_on_hyphens=False
    )
    print("  " + " \\\n      ".join(shown), flush=True)
    # Without --no-fault it waits for a debugger where it should crash.
    said = subprocess.run(
        [line[0], "--no-fault", *line[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if said.returncode:
        sys.exit(f"{said.stdout}\nThe pipeline failed, exit status {said.returncode}.")
    return said.stdout


def launch(*branches):
    """Shows and runs a pipeline. Returns: the seconds from its first buffer to its end."""
    took = re.search(r"Execution ended after (\d+):(\d+):([\d.]+)", play(*branches))
    hours, minutes, seconds = took.groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def check(good, what):
    """Ends the demo as failed unless `good`."""
    if not good:
        sys.exit(f"  WRONG: {what}")
    print(f"  right: {what}")
