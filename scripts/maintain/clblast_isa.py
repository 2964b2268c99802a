# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures of CLBlast's GEMM kernels with its own parameters, by isa.py, for make-isa-table.py.

The machine's CLBlast (package libclblast1) is called on any OpenCL device. Replaced functions
(tests/support/hooks.c, built in build/) make the device look like an Intel GPU. The program that
CLBlast makes for that GPU is kept, and its build is refused.
"""

import ctypes
import multiprocessing
import os
from ctypes import byref, c_float, c_size_t, c_ulong, c_void_p
from pathlib import Path

import isa
from library import AUTO, Context, load

ROOT = Path(__file__).resolve().parents[2]

# OpenCL's names of GPUs with each core. CLBlast has specific parameters for the first two GPUs, and
# uses its default for Intel GPUs for the others.
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
EXTENSIONS = b"cl_khr_fp16 cl_intel_subgroups cl_intel_required_subgroup_size\0"
ENTRIES = ["Xgemm", "XgemmDirectNN"]
SIZE = 1024
ROW_MAJOR, NOT_TRANSPOSED = 101, 111
DEVICE_TYPE, DEVICE_NAME, DEVICE_VENDOR, DEVICE_EXTENSIONS = 0x1000, 0x102B, 0x102C, 0x1030
GPU = 1 << 2  # CL_DEVICE_TYPE_GPU
PROGRAM_SOURCE, BUILD_PROGRAM_FAILURE = 0x1164, -11


def take(name):
    """The program that CLBlast's SGEMM would build for a device of that name, and its options. The
    build fails."""
    context, clblast = Context(AUTO), load("libclblast.so.1")
    import gemmcl  # pylint: disable=import-outside-toplevel

    taken = []

    def keep(_build, program, _n, _devices, options, _notify, _data):
        text = ctypes.create_string_buffer(1 << 20)
        context.cl.clGetProgramInfo(c_void_p(program), PROGRAM_SOURCE, c_size_t(len(text)), text,
                                    None)
        taken.extend((text.value.decode(), ctypes.string_at(options).decode()))
        return BUILD_PROGRAM_FAILURE
    gemmcl.pretend({DEVICE_TYPE: bytes(c_ulong(GPU)), DEVICE_NAME: name.encode() + b"\0",
                    DEVICE_VENDOR: b"Intel(R) Corporation\0", DEVICE_EXTENSIONS: EXTENSIONS})
    gemmcl.replace("clBuildProgram", keep)
    zeros = (c_float * (SIZE * SIZE))()
    a, b, d = (context.buffer(ctypes.sizeof(zeros), ctypes.addressof(zeros)) for _ in range(3))
    size, none, one, zero = c_size_t(SIZE), c_size_t(0), c_float(1), c_float(0)
    clblast.CLBlastSgemm(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, size, size, size, one, a, none,
                         size, b, none, size, zero, d, none, size, byref(context.queue), None)
    return taken


def compile_all():
    """The figures of each of ENTRIES for each device; raises library.Missing without CLBlast."""
    compilers = isa.find_compilers()
    # CLBlast keeps the parameters of a device as long as the process lives.
    os.environ["LD_PRELOAD"] = str(ROOT / "build/tests/support/libgemmcl-test-hooks.so")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        taken = pool.map(take, DEVICES.values(), chunksize=1)
    del os.environ["LD_PRELOAD"]
    for target, (program, options) in zip(DEVICES, taken):
        yield from isa.compile_all(compilers, [isa.Program(entry, program, options, entry)
                                               for entry in ENTRIES], [target])
