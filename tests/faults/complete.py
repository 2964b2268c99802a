#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that the layer has all OpenCL functions that the library and the plugin call. TAP out.

usage: complete.py NM LAYER BINARY...

Functions of extensions are looked up by name and bypass the layer.
"""

import subprocess
import sys


def symbols(nm, path, *options):
    """The names of a binary's symbols, without versions."""
    said = subprocess.run([nm, *options, path], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in said.stdout.splitlines()}


tool, layer, *binaries = sys.argv[1:]
watched = {name.removeprefix("layer_") for name in symbols(tool, layer)
           if name.startswith("layer_cl")}
called = {name for binary in binaries for name in symbols(tool, binary, "-D", "--undefined-only")
          if name.startswith("cl") and name[2:3].isupper()}
print("1..1")
for name in sorted(called - watched):
    print(f"# not in calls.def: {name}")
good = called and called <= watched
print(f"{'ok' if good else 'not ok'} 1 - the layer watches each OpenCL call of the binaries")
sys.exit(0 if good else 1)
