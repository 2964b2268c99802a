#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the figures of tools/isa.py for CLBlast's GEMM kernels with its own parameters, as JSON.

usage: clblast-isa.py CAPTURE FIGURES.json

CAPTURE is libpretend-layer.so (see pretend-layer.c), an OpenCL layer with which this script calls
the machine's CLBlast (package libclblast1) on any OpenCL device. The program that CLBlast makes for
the name of a GPU is compiled by the ocloc of GEMMCL_OCLOC or PATH. Exit status 77, with the reason,
without CLBlast.
"""

import json
import os
import subprocess
import sys
import tempfile
from ctypes import byref, c_float, c_size_t
from pathlib import Path

from library import AUTO, MISSING, Context, Missing, load, memory

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))
import isa  # noqa: E402

# OpenCL's names of GPUs with each core. CLBlast has specific parameters for the first two, and
# those of its default Intel GPU for the others.
DEVICES = {
    "bdw": "Intel(R) HD Graphics 5500 BroadWell U-Processor GT2",
    "skl": "Intel(R) HD Graphics Skylake ULT GT2",
    "icllp": "Intel(R) Iris(R) Plus Graphics",
    "tgllp": "Intel(R) Iris(R) Xe Graphics",
    "dg1": "Intel(R) Iris(R) Xe MAX Graphics",
    "dg2": "Intel(R) Arc(TM) A770 Graphics",
    "mtl": "Intel(R) Arc(TM) Graphics",
    "pvc": "Intel(R) Data Center GPU Max 1100",
    "lnl": "Intel(R) Arc(TM) 140V GPU",
    "bmg": "Intel(R) Arc(TM) B580 Graphics",
    "ptl": "Intel(R) Arc(TM) B390 GPU",
}
ENTRIES = ["Xgemm", "XgemmDirectNN"]
SIZE = 1024
ROW_MAJOR, NOT_TRANSPOSED = 101, 111


def call_sgemm():
    """Calls CLBlast's SGEMM on any device. It fails in the build."""
    context, clblast = Context(AUTO), load("libclblast.so.1")
    a, b, d = (context.buffer(4 * SIZE * SIZE, memory(4 * SIZE * SIZE)[0]) for _ in range(3))
    size, none, one, zero = c_size_t(SIZE), c_size_t(0), c_float(1), c_float(0)
    clblast.CLBlastSgemm(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, size, size, size, one, a, none,
                         size, b, none, size, zero, d, none, size, byref(context.queue), None)


def capture(library, device):
    """(program, options) that CLBlast would build for a device of that name."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ, CLBLAST_DEVICE=device, CLBLAST_CAPTURE=folder, OPENCL_LAYERS=str(library),
            GEMMCL_LIBRARY=str(library.parents[2] / "lib/libgemmcl.so"),
        )
        said = subprocess.run(
            [sys.executable, __file__, "--call"], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, check=False,
        )
        program, options = Path(folder, "program.cl"), Path(folder, "build-options")
        if not options.exists():
            sys.exit(f"CLBlast built no program: {said.stderr}")
        return program.read_text(encoding="utf-8"), options.read_text(encoding="utf-8")


def compile_for(target, compilers, library):
    """The figures of tools/isa.py for each of ENTRIES."""
    program, options = capture(library, DEVICES[target])
    programs = [isa.Program(entry, program, options, entry) for entry in ENTRIES]
    return list(isa.compile_all(compilers, programs, [target]))


def main():
    if sys.argv[1:] == ["--call"]:
        call_sgemm()
        return 0
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        load("libclblast.so.1")
    except Missing as error:
        print(f"CLBlast is not here (package libclblast1): {error}", file=sys.stderr)
        return MISSING
    compilers = isa.find_compilers()
    figures = []
    for target in DEVICES:
        figures += compile_for(target, compilers, Path(sys.argv[1]).resolve())
    Path(sys.argv[2]).write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
