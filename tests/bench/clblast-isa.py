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

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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
ALL_TYPES = 0xFFFFFFFF


def call_sgemm():
    """Calls CLBlast's SGEMM on the first device. It fails in the build."""
    cl = ctypes.CDLL("libOpenCL.so.1")
    clblast = ctypes.CDLL("libclblast.so.1")
    for name in "clCreateContext", "clCreateCommandQueue", "clCreateBuffer":
        getattr(cl, name).restype = ctypes.c_void_p
    platform, device, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
    if cl.clGetPlatformIDs(1, ctypes.byref(platform), ctypes.byref(count)):
        sys.exit("There is no OpenCL platform.")
    if cl.clGetDeviceIDs(
        platform, ctypes.c_ulong(ALL_TYPES), 1, ctypes.byref(device), ctypes.byref(count)
    ):
        sys.exit("There is no OpenCL device.")
    status = ctypes.c_int()
    at_status = ctypes.byref(status)
    context = ctypes.c_void_p(
        cl.clCreateContext(None, 1, ctypes.byref(device), None, None, at_status)
    )
    queue = ctypes.c_void_p(
        cl.clCreateCommandQueue(context, device, ctypes.c_ulong(0), at_status)
    )
    size, none = ctypes.c_size_t(SIZE), ctypes.c_size_t(0)
    a, b, c = (
        ctypes.c_void_p(
            cl.clCreateBuffer(
                context, ctypes.c_ulong(1), ctypes.c_size_t(4 * SIZE * SIZE), None, at_status
            )
        )
        for _ in range(3)
    )
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    clblast.CLBlastSgemm(
        ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, size, size, size,
        one, a, none, size, b, none, size, zero, c, none, size, ctypes.byref(queue), None,
    )  # fmt: skip


def capture(library, device):
    """(program, options) that CLBlast would build for a device of that name."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ, CLBLAST_DEVICE=device, CLBLAST_CAPTURE=folder, OPENCL_LAYERS=str(library)
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
        ctypes.CDLL("libclblast.so.1")
    except OSError as error:
        print(f"CLBlast is not here (package libclblast1): {error}", file=sys.stderr)
        return 77
    compilers = isa.find_compilers()
    figures = []
    for target in DEVICES:
        figures += compile_for(target, compilers, Path(sys.argv[1]).resolve())
    Path(sys.argv[2]).write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
