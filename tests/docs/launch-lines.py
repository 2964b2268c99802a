# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the commands that README.md and docs/ show. TAP out.

Each fenced block marked `sh` with a line that starts gst-launch-1.0, gst-inspect-1.0 or gemmcl is
one test: the whole block runs as a script that stops at the first failure, in an empty directory
with a link to the repository's `demos`. A line must end by itself (num-buffers), and write files
below /tmp alone, which the test replaces by another directory. It replaces autovideosink and
autoaudiosink by fake sinks. A block with post-messages=true must print the digits
of the demo, as its network or its gallery reads them, or what its comment `prints ...` says.
network.py runs the blocks marked `sh network`.
Blocks of another mark are not run and must not have a gst-launch-1.0 line."""

import os
import re
import shlex
import sys
import tempfile
from functools import partial
from pathlib import Path

import tap

ROOT = Path(sys.argv[1]).resolve()
SECONDS = 600
FEW = 3  # digits that a gallery in int8 may read otherwise
NETWORK = "sh network"
# docs/troubleshooting.md names it: only a named kernel with emulated subgroups meets it.
ABORTS = "LLVM ERROR: Instruction Combining did not reach a fixpoint"

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*(gst-launch-1\.0|gst-inspect-1\.0|gemmcl) ", re.M)
# Without --no-fault, gst-launch-1.0 waits for a debugger instead of crashing.
FAKES = {"autovideosink": "fakevideosink", "autoaudiosink": "fakeaudiosink",
         "gst-launch-1.0": "gst-launch-1.0 --no-fault"}


def blocks(path):
    """Yields (where, mark, text) of each fenced block with a command in it."""
    text = path.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        if COMMAND.search(fence.group(2)):
            line = text.count("\n", 0, fence.start()) + 2
            yield f"{path.relative_to(ROOT)}:{line}", fence.group(1), fence.group(2)


def check_answers(script, text):
    """The line has printed what it says, or the digits that NumPy reads, by their names."""
    said = re.search(r"# prints (.*)", script)
    if said:
        if said[1] not in text:
            raise tap.Failed(f"did not print {said[1]}:\n{text}")
        return
    folder = ROOT / "demos/digits"
    answers = "nearest.npy" if "gallery" in script else "expected.npy"
    names = (folder / "labels.txt").read_text("utf-8").split()
    digits = (folder / answers).read_bytes()[-len(list(folder.glob("images/*.png"))):]
    found = re.findall(r"^label=\(string\)< (\w+) >, value=\(float\)<", text, re.M)
    others = sum(name != names[digit] for name, digit in zip(found, digits))
    if len(found) != len(digits) or others > ("quantize" in script and FEW):
        raise tap.Failed(f"printed other digits than {answers} has: {found}\n{text}")


def tracers_hang():
    """True where the latency tracer hangs: GStreamer 1.26.2, which Debian 13 has."""
    return tap.run("timeout", 20, "gst-launch-1.0", "--no-fault", "fakesrc", "num-buffers=1", "!",
                   "fakesink", env={**os.environ, "GST_TRACERS": "latency"}).returncode == 124


def run(script):
    if "GST_TRACERS" in script and tracers_hang():
        raise tap.Skipped("GStreamer's latency tracer hangs here in every pipeline")
    for real, fake in FAKES.items():
        script = re.sub(rf"\b{re.escape(real)}\b", fake, script)
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as files:
        os.symlink(ROOT / "demos", os.path.join(directory, "demos"))
        said = tap.run("timeout", "--kill-after=1", SECONDS, "bash", "-euo", "pipefail", "-c",
                       script.replace("/tmp/", f"{files}/"), cwd=directory)
        left = set(os.listdir(directory)) - {"demos"}
    if said.returncode and ABORTS in said.stdout:
        raise tap.Skipped("PoCL 6.0 aborts: Instruction Combining did not reach a fixpoint")
    if "post-messages=true" in script:
        check_answers(script, said.stdout)
    if left:
        raise tap.Failed(f"leaves {left} in the directory; /tmp is for files")
    if said.returncode:
        late = "; is there a num-buffers?" if said.returncode == 124 else ""
        raise tap.Failed(f"{said.stdout}\nexit status {said.returncode}{late}")


def title(where, text):
    """The block's name in the results: one line without characters that TAP interprets."""
    words = " ".join(shlex.split(text.replace("\\\n", " "), comments=True))
    return f"{where} {words[:70]}".replace("#", "")


found = [block for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
         if path.exists() for block in blocks(path)]
tap.play({
    "every launch line is in a block marked sh": lambda: [
        where for where, mark, text in found
        if mark not in ("sh", NETWORK) and "gst-launch-1.0 " in text],
    **{title(where, text): partial(run, text) for where, mark, text in found if mark == "sh"},
})
