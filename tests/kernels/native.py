# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the sources for the matrix engines and 2D block reads of Intel's GPUs on Intel's OpenCL
runtime for CPUs, which is made to look like such a GPU. engines.cl, which precedes each source, has
the GPU's functions. Elements are random, so that a wrong lane or order shows.

    native.py SIZE      SIZE: lanes of the device's smallest subgroups, 8 or 16"""

import ctypes
import functools
import os
import re
import sys
import tempfile
import unittest
import zlib
from contextlib import contextmanager
from ctypes import c_char_p, c_void_p
from pathlib import Path

import table
from gemmcl import (DeviceInfo, Refused, describe, find_misfit, get_array, get_level, np, pretend,
                    replace)
from kernels import Kernels, begin, launch
from library import CPU
from problem import Problem
from table import ENGINES
from tap_unittest import main, tap

SUBGROUP = int(sys.argv[1])
SOURCE = (f"#define NATIVE_SUBGROUP {SUBGROUP}\n" +
          Path(__file__).with_name("engines.cl").read_text("utf-8")).encode()
# The CPU's compiler lacks this option.
REGISTERS = b"-cl-intel-256-GRF-per-thread"
BUILD_PROGRAM_FAILURE = -11  # CL_...
DEVICE_TYPE, VERSION, EXTENSIONS, SUBGROUP_SIZES = 0x1000, 0x102d, 0x1030, 0x4108  # CL_DEVICE_...


def become_gpu(info):
    """Makes the device with this info look like an Intel GPU from now on. A checksum of engines.cl
    is added to the version of its driver, which is a part of the keys of caches."""
    extensions = f" {ENGINES}"
    if SUBGROUP == 16:
        extensions += f" {ENGINES}_tf32 cl_intel_subgroup_2d_block_io"
    pretend({DEVICE_TYPE: np.uint64(4).tobytes(),
             VERSION: info.driver + b".%d\0" % zlib.crc32(SOURCE),
             EXTENSIONS: info.extensions + extensions.encode() + b"\0",
             SUBGROUP_SIZES: np.array([8, 16, 32][SUBGROUP // 16:], "u8").tobytes()})

    def create(create_next, context, n, texts, lengths, status):
        text = c_char_p.from_address(texts).value
        if ENGINES.encode() in text or b"cl_intel_subgroup_2d_block_io" in text:
            texts, lengths = (c_char_p * 1)(SOURCE + text), None
        return create_next(context, n, ctypes.cast(texts, c_void_p), lengths, status)

    def build(build_next, program, n, devices, options, notify, data):
        text = ctypes.string_at(options)
        if re.search(b"SG_KHR|SG_EMULATED", text):  # no other level may stand in
            return BUILD_PROGRAM_FAILURE
        known = c_char_p(text.replace(REGISTERS, b""))
        return build_next(program, n, devices, ctypes.cast(known, c_void_p), notify, data)
    replace("clCreateProgramWithSource", create)
    replace("clBuildProgram", build)


BREACH = """/* cl_intel_subgroup_2d_block_io: an odd column of 16 bits */
__attribute__ ((intel_reqd_sub_group_size (16)))
kernel void f (global ushort *from)
{
  ushort column[8];
  intel_sub_group_2d_block_read_16b_8r16x1c (from, 64, 8, 64, (int2)(1, 0), column);
  from[get_sub_group_local_id ()] = column[0];
}
"""


class Breach(Exception):
    """A call that the extension does not define."""


@contextmanager
def watched():
    """Raises Breach if kernels print a line about a breach within the block."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            flush(None)
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        found = re.search("BREACH: (.*)", file.read().decode(errors="replace"))
    if found:
        raise Breach(found[1])


# K: 80, 88 and 96 fit 2D reads, whole steps of A, or both; what follows a row of 88 is NaN. A is
# f32 unless it is stored in the type that the kernel multiplies. The last number is the parts of K.
PRODUCTS = [(96, True, {}, 1), (80, False, {}, 1), (83, False, {}, 1), (192, True, {}, 4),
            (88, True, {"lda": 104}, 1), (20, False, {"batch": 2}, 1),
            (41, False, {"trans_a": True}, 1), (80, True, {"a_scale": 2}, 1)]
STORED = {"tf32": "f32", "i8": "u8"}  # else the precision


class Rows(Kernels):
    def check_row(self, row):
        """Problems of several work-groups, which are not whole."""
        tested = 0
        self.assertEqual(get_level(row.name), "native")
        m, n = row.group[0] + 3, row.group[1] + 5
        for k, is_stored, fields, parts in PRODUCTS:
            a_type = STORED.get(row.precision, row.precision) if is_stored else "f32"
            fields = {"m": m, "n": n, "k": k, "a_stride": m * k, "b_stride": k * n,
                      "d_stride": m * n, "precision": row.precision, "a_type": a_type, **fields}
            name = f"{row.name}/{parts}" if parts > 1 else row.name
            if not find_misfit(name, describe(**fields)):
                with watched():
                    tested += self.solve_problem(name, Problem(seed=7, **fields))
        self.assertGreater(tested, 1)

    @unittest.skipIf(SUBGROUP != 16, "a device of small subgroups has no 2D block reads")
    def test_breach(self):
        with self.assertRaisesRegex(Breach, "2D block: the column's address is no multiple of 4"):
            with watched():
                launch(SOURCE.decode() + BREACH, np.zeros(512, "u2"), 16, "-cl-std=CL2.0")


def add_rows():
    """Adds the rows for matrix engines and those with 2D block reads, all of which run."""
    for row in table.load():
        if row.subgroup == SUBGROUP and (row.dpas or SUBGROUP == 16 and
                                         row.method == "buffer_read"):
            setattr(Rows, f"test_{row.name}_row", functools.partialmethod(Rows.check_row, row))


def find_intel():
    try:
        info = get_array("list_devices", None, DeviceInfo)[0]
    except Refused:
        return None
    return info if info.platform.startswith(b"Intel") and info.type == CPU else None


if __name__ == "__main__":
    INFO = find_intel()
    if not INFO:
        tap.skip_all("this is not Intel's OpenCL runtime for CPUs: intel-runtime.sh runs it")
    become_gpu(INFO)
    begin()
    add_rows()
    main()
