# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks of the project and its documents: their results as TAP, and the commands that they run."""

import re
import subprocess
import sys
import time

SECONDS = 600  # longer than any step takes


class Failed(Exception):
    """A check failed, for this reason."""


class Skipped(Exception):
    """A check cannot run here, for this reason."""


def run(*command, **options):
    return subprocess.run(list(map(str, command)), **{
        "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT,
        "text": True, "errors": "replace", "check": False, **options})


def require(*command, **options):
    said = run(*command, **options)
    if said.returncode:
        raise Failed(f"{' '.join(map(str, command))}: status {said.returncode}: {said.stdout}")
    return said.stdout


def expect(found, expected, about=""):
    if found != expected:
        raise Failed(f"{found!r} instead of {expected!r}: {about}")


def read_block(path, mark):
    """The text of the only fenced block of a document that has this mark."""
    [text] = re.findall(rf"^```{mark}\n(.*?)^```$", path.read_text(encoding="utf-8"),
                        re.MULTILINE | re.DOTALL)
    return text


def wait_until(is_so):
    """Waits for a condition. Returns whether it is met. Waits after a vain one are short."""
    end = time.monotonic() + wait_until.seconds
    while not is_so():
        if time.monotonic() > end:
            wait_until.seconds = 1
            return False
        time.sleep(1e-3)
    return True


wait_until.seconds = SECONDS


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def play(checks):
    """Runs the checks of {title: check}, prints a line for each, and exits. A check returns its
    faults, if any, whose lines begin with "#!": checks print "#" and their progress. Each check is
    dropped after it ran. Without checks, play() fails."""
    failed = not checks
    print(f"1..{len(checks)}", flush=True)
    for number, title in enumerate(list(checks), 1):
        faults, skip = [], ""
        try:
            faults = [str(fault) for fault in checks.pop(title)() or []]
        except Skipped as reason:
            skip = f" # SKIP {reason}"
        except Exception as error:  # pylint: disable=broad-except
            faults = [f"{type(error).__name__}: {error}"]
        failed = failed or bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} {title}{skip}", flush=True)
        for line in "\n".join(faults).splitlines():
            print(f"#! {line}", flush=True)
    sys.exit(failed)
