#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the source that Intel's GPUs compile for their matrix engines and 2D block reads on Intel's
OpenCL runtime for CPUs, which looks like such a GPU, with the functions that a program needs for
them (engines.cl) before its source. Elements are random, so that a wrong lane
or order shows. Before, the functions of engines.cl are compared with examples in the texts of the
extensions.
GEMMCL_NATIVE is the size of the device's smallest subgroups: 8 or 16.
"""

import ctypes
import os
import re
import sys
import tempfile
import unittest
import zlib
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path

from gemmcl import (KERNELS, PRECISIONS, DeviceInfo, Refused, TestCase, answer, ask, built,
                    describe, get_array, get_context, get_device, np, replace)
from kernels import begin, find_problem
from library import CPU, good
from problem import Problem, encode, get_dtype
from tap_unittest import main

SUBGROUP = 8 if os.environ.get("GEMMCL_NATIVE") == "8" else 16
ENGINES = "cl_intel_subgroup_matrix_multiply_accumulate"
NATIVE = 0  # GemmclKernelLevel
SOURCE = (f"#define NATIVE_SUBGROUP {SUBGROUP}\n" +
          Path(__file__).with_name("engines.cl").read_text("utf-8")).encode()


# The CPU's compiler lacks this option.
REGISTERS = b"-cl-intel-256-GRF-per-thread"
DEVICE_TYPE, VERSION, EXTENSIONS, SUBGROUP_SIZES = 0x1000, 0x102d, 0x1030, 0x4108  # CL_DEVICE_...


def become_gpu():
    """From now on the device looks like an Intel GPU. The version of its driver, of which the key
    of caches has a part, has a checksum of engines.cl."""
    extensions = f" {ENGINES}"
    if SUBGROUP == 16:
        extensions += f" {ENGINES}_tf32 cl_intel_subgroup_2d_block_io"
    answers = {DEVICE_TYPE: np.uint64(4).tobytes(),
               SUBGROUP_SIZES: np.array([8, 16, 32][SUBGROUP // 16:], "u8").tobytes()}
    more = {VERSION: b".%d" % zlib.crc32(SOURCE), EXTENSIONS: extensions.encode()}

    def get_info(get_next, device, name, room, value, size):
        if name in answers:
            return answer(answers[name], room, value, size)
        if name not in more:
            return get_next(device, name, room, value, size)
        text = ctypes.create_string_buffer(65536)
        get_next(device, name, len(text), ctypes.addressof(text), None)
        return answer(text.value + more[name] + b"\0", room, value, size)

    def create(create_next, context, n, texts, lengths, status):
        text = c_char_p.from_address(texts).value
        if ENGINES.encode() in text or b"cl_intel_subgroup_2d_block_io" in text:
            texts, lengths = (c_char_p * 1)(SOURCE + text), None
        return create_next(context, n, ctypes.cast(texts, c_void_p), lengths, status)

    def build(build_next, program, n, devices, options, notify, data):
        known = c_char_p(ctypes.string_at(options).replace(REGISTERS, b""))
        return build_next(program, n, devices, ctypes.cast(known, c_void_p), notify, data)
    for name, function in (("clGetDeviceInfo", get_info), ("clCreateProgramWithSource", create),
                           ("clBuildProgram", build)):
        replace(name, function)


class Breach(Exception):
    """A call that the extension does not define."""


@contextmanager
def watched():
    """Raises Breach if kernels print a line about one meanwhile."""
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


def run_example(text, options, *arguments):
    """Runs the kernel "example" with one subgroup. An argument is an int, or an array, whose buffer
    is read afterwards."""
    device, size, buffers = get_device(), c_size_t(SUBGROUP), []
    with built(SOURCE.decode() + text, "example", options) as kernel, watched():
        for i, value in enumerate(arguments):
            if isinstance(value, np.ndarray):
                buffers.append((device.buffer(value.nbytes, value.ctypes.data), value))
            set_to = buffers[-1][0] if isinstance(value, np.ndarray) else c_int(value)
            good(device.cl.clSetKernelArg(kernel, i, c_size_t(ctypes.sizeof(set_to)),
                                          byref(set_to)), "clSetKernelArg")
        good(device.cl.clEnqueueNDRangeKernel(device.queue, kernel, 1, None, byref(size),
                                              byref(size), 0, None, None), "A launch")
        for buffer, array in buffers:
            device.read(buffer, array.nbytes, array.ctypes.data)
            device.cl.clReleaseMemObject(buffer)


# The words of row after row of A, of lane after lane, are A by rows in the extensions' texts.
MULTIPLY = f"""/* {ENGINES} */
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2 (a, b)
__attribute__ ((intel_reqd_sub_group_size (SUBGROUP), reqd_work_group_size (SUBGROUP, 1, 1)))
kernel void example (global const VECTOR *a, global const B_VECTOR *b, global SUM *sum)
{{
  const int lane = get_sub_group_local_id ();
  VECTOR rows[A_WORDS];
  B_VECTOR column[8];
  SUM sums[8];
  for (int i = 0; i < A_WORDS; i++)
    rows[i] = a[i * SUBGROUP + lane];
  for (int i = 0; i < 8; i++) {{
    column[i] = b[i * SUBGROUP + lane];
    sums[i] = sum[i * SUBGROUP + lane];
  }}
  vstore8 (FUNCTION (PASTE (vload, A_WORDS) (0, rows), vload8 (0, column), vload8 (0, sums)),
           0, sums);
  for (int i = 0; i < 8; i++)
    sum[i * SUBGROUP + lane] = sums[i];
}}
"""
READ = """/* cl_intel_subgroup_2d_block_io */
__attribute__ ((intel_reqd_sub_group_size (16), reqd_work_group_size (16, 1, 1)))
kernel void example (global ELEMENT *from, const int x, const int y, global ELEMENT *to)
{
  ELEMENT column[8];
  FUNCTION (from, WIDTH * sizeof (ELEMENT), HEIGHT, PITCH * sizeof (ELEMENT),
            (int2)(x, y), column);
  for (int i = 0; i < 8; i++)
    to[i * 16 + get_sub_group_local_id ()] = column[i];
}
"""
# The types of A and B of each function, K, and the types of a lane's words of A by subgroup.
MULTIPLIES = {
    "bf16_bf16_matrix_mad_k16": ("bf16", "bf16", 16, {8: "int", 16: "short"}),
    "f16_f16_matrix_mad_k16": ("f16", "f16", 16, {8: "int", 16: "short"}),
    "u8_i8_matrix_mad_k32": ("u8", "i8", 32, {8: "uint", 16: "ushort"}),
    "i8_i8_matrix_mad_k32": ("i8", "i8", 32, {8: "int", 16: "short"}),
    "tf32_tf32_matrix_mad_k8": ("f32", "f32", 8, {16: "float"}),
}
# A matrix of 40 x 5 elements with gaps after its rows.
WIDTH, HEIGHT, PITCH = 40, 5, 48


class Examples(TestCase):
    def test_multiply(self):
        for name, (a_type, b_type, k, vectors) in MULTIPLIES.items():
            if SUBGROUP not in vectors:
                continue
            is_float, is_tf32 = a_type[-1] != "8", a_type == "f32"
            rows, steps, columns = np.arange(8), np.arange(k), np.arange(SUBGROUP)
            a = steps + 1 + (-10 if a_type == "i8" else 10) * rows[:, None]
            b = (3 * steps[:, None] + 5 * columns) % 7 - 3
            sums = (100 * rows[:, None] + columns).astype("f4" if is_float else "i4")
            expected = sums + a @ b
            per_word = 4 // get_dtype(b_type).itemsize
            words = encode(b, b_type).reshape(-1, per_word, SUBGROUP).swapaxes(1, 2)
            options = {"SUBGROUP": SUBGROUP, "VECTOR": vectors[SUBGROUP],
                       "B_VECTOR": "float" if is_tf32 else "int",
                       "SUM": "float" if is_float else "int", "A_WORDS": 4 if is_tf32 else 8,
                       "FUNCTION": "intel_sub_group_" + name}
            with self.subTest(name):
                run_example(MULTIPLY, "-cl-std=CL2.0" + "".join(
                    f" -D{each}={value}" for each, value in options.items()),
                            encode(a, a_type), np.ascontiguousarray(words), sums)
                self.same(sums, expected)

    def read(self, function, element, x, y):
        """The rows of a block, by lanes, of a matrix that counts its elements."""
        kind = {"uint": "u4", "ushort": "u2"}[element]
        found = np.zeros((8, 16), kind)
        run_example(READ, f"-cl-std=CL2.0 -DELEMENT={element} -DWIDTH={WIDTH} -DHEIGHT={HEIGHT}"
                    f" -DPITCH={PITCH} -DFUNCTION=intel_sub_group_2d_block_read_{function}",
                    1000 + np.arange(PITCH * HEIGHT, dtype=kind), x, y, found)
        return found

    @unittest.skipIf(SUBGROUP != 16, "a device of small subgroups has no 2D block reads")
    def test_read(self):
        i, lane = np.indices((8, 16))
        # Eight rows of 16 columns, or two blocks of 8 columns side by side.
        one, halves = (i, lane), (i % 4 * 2 + lane // 8, i // 4 * 8 + lane % 8)
        for function, element, (rows, columns) in (
                ("32b_8r16x1c", "uint", one), ("16b_8r16x1c", "ushort", one),
                ("32b_8r8x2c", "uint", halves)):
            for x, y in (0, 0), (30, 2), (-2, -1), (4, 100):
                with self.subTest(function, x=x, y=y):
                    row, column = rows + y, columns + x
                    is_inside = (column >= 0) & (column < WIDTH) & (row >= 0) & (row < HEIGHT)
                    self.same(self.read(function, element, x, y),
                              np.where(is_inside, 1000 + row * PITCH + column, 0))

    @unittest.skipIf(SUBGROUP != 16, "a device of small subgroups has no 2D block reads")
    def test_breach(self):
        """A read that the extension does not define is reported."""
        with self.assertRaisesRegex(Breach, "2D block: the column's address is no multiple of 4"):
            self.read("16b_8r16x1c", "ushort", 1, 0)


# K: 80 and 96 fit 2D reads, whole steps of A, or both. A is f32 unless it is stored in the type
# that the kernel multiplies. The last number is the parts of K.
PRODUCTS = [
    (96, True, {}, 1), (80, False, {}, 1), (83, False, {}, 1), (192, True, {}, 4),
    (20, False, {"batch": 2}, 1), (41, False, {"trans_a": True}, 1), (80, True, {"a_scale": 2}, 1),
]
STORED = {"f32": "f32", "f16": "f16", "bf16": "bf16", "tf32": "f32", "i8": "u8"}


class Rows(TestCase):
    """Problems of several work-groups, which are not whole."""

    def check(self, kernel):
        name, method = kernel.name.decode(), kernel.method.decode()
        precision, level, tested = PRECISIONS[kernel.precision], c_int(), 0
        ask("kernel_get_level", get_context(), name, byref(level))
        self.assertEqual(level.value, NATIVE)
        tile_m, tile_n, group_m, group_n = map(int, re.findall(r"\d+", name[len(method):])[:4])
        m, n = tile_m * group_m + 3, tile_n * group_n + 5
        for k, is_stored, fields, parts in PRODUCTS:
            fields = {"m": m, "n": n, "k": k, "a_stride": m * k, "b_stride": k * n,
                      "d_stride": m * n, "precision": precision,
                      "a_type": STORED[precision] if is_stored else "f32", **fields}
            choice = f"{name}/{parts}" if parts > 1 else name
            if find_problem(choice, describe(**fields)):
                continue
            problem = Problem(seed=7, **fields)
            with watched():
                problem.run_host(choice)
            self.assertIsNone(problem.check(), (choice, fields))
            tested += 1
        self.assertGreater(tested, 1)


def add_rows():
    """Adds the rows for matrix engines, and those that may read B by 2D block reads."""
    for kernel in KERNELS:
        needs = kernel.needs.decode()
        if f"subgroups of {SUBGROUP}" in needs and (
                "matrix engines" in needs or SUBGROUP == 16 and kernel.method == b"buffer_read"):
            setattr(Rows, "test_" + kernel.name.decode(),
                    lambda self, kernel=kernel: self.check(kernel))


def is_intel():
    try:
        device = get_array("list_devices", None, DeviceInfo)[0]
    except Refused:
        return False
    return device.platform.startswith(b"Intel") and device.type == CPU


if __name__ == "__main__":
    if not is_intel():
        print("1..0 # SKIP this is not Intel's OpenCL runtime for CPUs: tools/intel-runtime.sh"
              " runs it")
        sys.exit(0)
    become_gpu()
    begin()
    add_rows()
    main()
