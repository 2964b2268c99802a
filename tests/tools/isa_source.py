# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `gemmcl isa` has compilers read of kernels, without one: a program in its place keeps it.

docs/record-isa.py notes digests of it, by which tests/tools/test-isa.py sees that a record is of
other kernels than there are.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

TARGET = "pvc"
OCLOC = f"""#!/bin/sh
case $1 in
  query) echo '0.0.0 ' >OCL_DRIVER_VERSION ;;
  compile)
    [ "$2" != --help ] || {{ echo '<device_type> can be: {TARGET}, version'; exit 1; }}
    (echo "$*"; cat "$3") >"$KEPT/$$"
    exit 1 ;;
esac
"""
# Extensions that a compiler may have: it sees what is for those, or what is for others.
EXTENSION = re.compile(r"^\s*#\s*(?:el)?if.*?\b(cl_(?:intel|khr)_\w+)", re.MULTILINE)
DIGITS = 16


def find_text(kept, options):
    """Of what is told the same, all: then one of them that is other makes all other."""
    told = f" -options {options} -output"
    return "".join(sorted(text for words, text in kept if told in words))


def read_sources(kernels, tool="gemmcl"):
    """{kernel: (text, options)}, the same for all targets."""
    with tempfile.TemporaryDirectory() as folder:
        ocloc, kept, answer = (Path(folder, name) for name in ("ocloc", "kept", "answer.json"))
        ocloc.write_text(OCLOC, encoding="utf-8")
        ocloc.chmod(0o755)
        kept.mkdir()
        own = {"GEMMCL_OCLOC": str(ocloc), "KEPT": str(kept), "XDG_CACHE_HOME": folder}
        subprocess.run(
            [tool, "isa", "-k", ",".join(kernels), "--target", TARGET, "--json", str(answer)],
            env={**os.environ, **own}, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        both = [path.read_text(encoding="utf-8").split("\n", 1) for path in kept.iterdir()]
        return {
            figures["kernel"]: (find_text(both, figures["options"]), figures["options"])
            for figures in json.loads(answer.read_text(encoding="utf-8"))
        }


def find_preprocessor():
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def preprocess(text, defines):
    """The words that are left: no comments, and nothing that is for others. #error is no matter."""
    command = [find_preprocessor(), "-E", "-P", "-undef", "-nostdinc", "-w", "-x", "c", "-"]
    said = subprocess.run(
        [*command, "-D__OPENCL_C_VERSION__=120", *defines], input=text, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    return re.findall(r"\w+|\S", said.stdout)


def digest(text, options):
    """Of all that makes a kernel's code: another one where that may be other."""
    words = options.split()
    defines = [word for word in words if word.startswith("-D")]
    extensions = [f"-D{name}" for name in sorted(set(EXTENSION.findall(text)))]
    seen = [words, preprocess(text, defines), preprocess(text, defines + extensions)]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:DIGITS]
