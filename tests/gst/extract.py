#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the C code that stands in a document, so that tests can compile it.

usage: extract.py DOCUMENT.md
"""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as document:
    blocks = re.findall(r"^```c\n(.*?)^```$", document.read(), re.MULTILINE | re.DOTALL)
if not blocks:
    sys.exit(f"{sys.argv[1]}: expected code between ```c and ```, found none")
print("\n".join(blocks), end="")
