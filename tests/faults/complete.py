#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds calls.def to the OpenCL functions that the library and the plugin are linked with. TAP out.

usage: complete.py CALLS.DEF LIBRARY...

Functions of extensions are looked up by name and pass the layer by.
"""

import subprocess
import sys

# The function of each kind of row, for the preprocessor.
ROWS = ["CREATE(kind,type,f,...)", "ENQUEUE(f,...)", "TRANSFER(f,...)", "CALL(f,...)",
        "RETAIN(kind,type,f)", "RELEASE(kind,type,f)", "CUSTOM(f)"]


def say(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


defines = [f"-D{row}=f" for row in ROWS]
watched = set(say("cc", "-E", "-P", "-x", "c", *defines, sys.argv[1]).split())
missing = [
    f"{library} calls {name}"
    for library in sys.argv[2:]
    for name in (line.split()[-1].split("@")[0]
                 for line in say("nm", "-D", "--undefined-only", library).splitlines())
    if name.startswith("cl") and name[2].isupper() and name not in watched
]
print("1..1")
for line in missing:
    print(f"# not in calls.def: {line}")
print(f"{'not ok' if missing or not watched else 'ok'} 1 the layer watches each OpenCL function")
sys.exit(1 if missing or not watched else 0)
