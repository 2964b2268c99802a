# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The figures of tools/isa.py for CLBlast's GEMM kernels with its own parameters, for
docs/internals/make-isa-table.py.

The machine's CLBlast (package libclblast1) is called on any OpenCL device. An object of OpenCL
begins with the address of a table of functions, by which the loader finds its driver. Here the
objects have a copy of the driver's table with three functions of this module: the device presents
itself as an Intel GPU, and the program that CLBlast makes for it is kept and not built.
"""

import ctypes
import multiprocessing
import sys
from ctypes import (CFUNCTYPE, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ulong,
                    c_void_p)
from pathlib import Path

from library import AUTO, Context, load, memory

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
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
EXTENSIONS = "cl_khr_fp16 cl_intel_subgroups cl_intel_required_subgroup_size"
ENTRIES = ["Xgemm", "XgemmDirectNN"]
SIZE = 1024
ROW_MAJOR, NOT_TRANSPOSED = 101, 111
DEVICE_TYPE, DEVICE_NAME, DEVICE_VENDOR, DEVICE_EXTENSIONS = 0x1000, 0x102B, 0x102C, 0x1030
GPU = 1 << 2  # CL_DEVICE_TYPE_GPU
BUILD_PROGRAM_FAILURE = -11
# Places in cl_icd_dispatch, and the number of those of OpenCL 1.2
GET_DEVICE_INFO, CREATE_PROGRAM, BUILD_PROGRAM, N_FUNCTIONS = 3, 26, 30, 92
Query = CFUNCTYPE(c_int, c_void_p, c_uint, c_size_t, c_void_p, c_void_p)
Create = CFUNCTYPE(c_void_p, c_void_p, c_uint, ctypes.POINTER(c_void_p),
                   ctypes.POINTER(c_size_t), c_void_p)
Build = CFUNCTYPE(c_int, c_void_p, c_uint, c_void_p, c_char_p, c_void_p, c_void_p)


class Capture:
    """A device that presents itself as another, and the program that CLBlast makes for it."""

    def __init__(self, name):
        self.answers = {DEVICE_TYPE: bytes(c_ulong(GPU)), DEVICE_NAME: name.encode() + b"\0",
                        DEVICE_VENDOR: b"Intel(R) Corporation\0",
                        DEVICE_EXTENSIONS: EXTENSIONS.encode() + b"\0"}
        self.program, self.options = "", ""
        self.clblast, self.context = load("libclblast.so.1"), Context(AUTO)
        driver = c_void_p.from_address(self.context.device.value).value
        self.table = (c_void_p * N_FUNCTIONS).from_buffer_copy(
            (c_void_p * N_FUNCTIONS).from_address(driver))
        self.query = Query(self.table[GET_DEVICE_INFO])
        self.create = Create(self.table[CREATE_PROGRAM])
        self.functions = {GET_DEVICE_INFO: Query(self._answer), CREATE_PROGRAM: Create(self._keep),
                          BUILD_PROGRAM: Build(self._fail)}
        for place, function in self.functions.items():
            self.table[place] = ctypes.cast(function, c_void_p).value
        for thing in (self.context.device, self.context.cl_context):
            self._use_table(thing.value)

    def _use_table(self, address):
        c_void_p.from_address(address).value = ctypes.addressof(self.table)

    def _answer(self, device, name, room, value, size):
        answer = self.answers.get(name)
        if answer is None:
            return self.query(device, name, room, value, size)
        if value:
            ctypes.memmove(value, answer, len(answer))
        if size:
            c_size_t.from_address(size).value = len(answer)
        return 0

    def _keep(self, context, n, texts, lengths, status):
        self.program = b"".join(
            ctypes.string_at(texts[i], lengths[i] if lengths else -1) for i in range(n)).decode()
        program = self.create(context, n, texts, lengths, status)
        self._use_table(program)
        return program

    def _fail(self, _program, _n, _devices, options, _notify, _data):
        self.options = options.decode()
        return BUILD_PROGRAM_FAILURE

    def call(self):
        """Calls CLBlast's SGEMM, which fails in the build."""
        a, b, d = (self.context.buffer(4 * SIZE * SIZE, memory(4 * SIZE * SIZE)[0])
                   for _ in range(3))
        size, none, one, zero = c_size_t(SIZE), c_size_t(0), c_float(1), c_float(0)
        self.clblast.CLBlastSgemm(
            ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, size, size, size, one, a, none, size, b,
            none, size, zero, d, none, size, byref(self.context.queue), None)


def take(name):
    """The program that CLBlast would build for a device of that name, and its options."""
    capture = Capture(name)
    capture.call()
    return capture.program, capture.options


def compile_all():
    """The figures of each of ENTRIES for each device; raises library.Missing without CLBlast."""
    compilers = isa.find_compilers()
    # CLBlast keeps the parameters of a device as long as the process lives.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        taken = pool.map(take, DEVICES.values(), chunksize=1)
    for target, (program, options) in zip(DEVICES, taken):
        yield from isa.compile_all(compilers, [isa.Program(entry, program, options, entry)
                                               for entry in ENTRIES], [target])
