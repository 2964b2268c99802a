# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `gemmcl isa` has compilers read of kernels, without one: a program in its place keeps it."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

TARGET = "skl"
OCLOC = f"""#!/bin/sh
case $1 in
  query) echo '0.0.0 ' >OCL_DRIVER_VERSION ;;
  compile)
    [ "$2" != --help ] || {{ echo '<device_type> can be: {TARGET}, version'; exit 1; }}
    (echo "$*"; cat "$3") >"$KEPT/$$"
    exit 1 ;;
esac
"""


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
