# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests every row of the table of kernels with an Intel GPU's driver: the driver builds and
launches the row, its registers and memory suffice, and the rules choose as they should. Results are
not checked, so that this also runs without a GPU (intel-driver.sh). With GEMMCL_TEST_BRIEF
only rows that the rules may choose are tested, with full tiles."""

from ctypes import byref, c_size_t, c_uint64

import table
from gemmcl import (DTYPES, IS_BRIEF, TYPES, Entry, Plan, TestCase, describe, get_array,
                    get_context, get_device, get_info, get_level, get_values, np)
from kernels import add_test, begin, built
from library import GPU, good
from table import ENGINES
from tap_unittest import main, tap

ROWS = table.load()
PRIVATE_MEM_SIZE, SPILL_MEM_SIZE = 0x11b4, 0x4109  # CL_KERNEL_..., the last one of Intel
SIZES = [(1024, 1024, 1024), (4096, 512, 256), (257, 1000, 300), (123, 77, 45), (7, 13, 5),
         (921600, 3, 3), (1, 1000, 2048), (1, 1, 1)]
# Programs with an array in private memory, and with a tile that spills.
ARRAY = """kernel void f (global int *x, int n)
{
  int a[2000];
  for (int i = 0; i < 2000; i++) a[i] = x[i];
  for (int i = 0; i < 2000; i++) a[x[i]] += a[i];
  x[get_global_id (0)] = a[n];
}
"""
TILE = """#define EACH __attribute__ ((opencl_unroll_hint (16))) for (int j = 0; j < 16; j++)
__attribute__ ((intel_reqd_sub_group_size (32)))
kernel void f (global float16 *x, global float *y)
{
  const int i = get_global_id (0);
  float16 s[16];
  EACH s[j] = 0;
  for (int k = 0; k < 1000; k++)
    EACH s[j] = mad (x[i + k], y[k * 16 + j], s[j]);
  EACH x[16 * i + j] = s[j];
}
"""


def get_subgroups():
    info = get_info()
    return info.subgroup_sizes[:info.n_subgroup_sizes]


def is_meant(row):
    """True if the rules may choose the row: it is for these GPUs, and its subgroups have the
    smallest size of the device."""
    return row.family in table.ON_INTEL and row.subgroup in (0, get_subgroups()[0])


def has_instructions(row):
    """True if the driver has the row's instructions: 22.43 lacks int8, some GPUs lack engines."""
    words = get_info().extensions.decode().split()
    if row.dpas:
        return ENGINES + "_tf32" * (row.precision == "tf32") in words
    return not row.capability and (not row.quantizes_a or "cl_khr_integer_dot_product" in words)


class Driver(TestCase):
    def check_build(self, row, plan, is_chosen=False):
        """The build matches row and device. A chosen row neither spills nor uses memory."""
        info = plan.get_info()
        figures = get_values(info)
        print(f"# {row.name}: {figures}")
        with self.subTest(row=row.name, **figures):
            self.assertEqual(plan.level, "native")
            self.assertGreaterEqual(info.max_work_group, row.group_m * row.group_n)
            self.assertLessEqual(info.local_bytes, get_info().local_bytes)
            self.assertIn(info.subgroup_size, [row.subgroup] if row.subgroup else get_subgroups())
            if is_chosen:
                self.assertEqual((info.spill_bytes, info.private_bytes), (0, 0))

    def check_problem(self, row, *sizes, **fields):
        """Launches the row, whose sizes may be limited, on operands of zeros."""
        m, n, k = row.limit(*sizes)
        gemm = describe(m, n, k, precision=row.precision, **fields)
        plan = Plan(gemm, row.name, b=np.zeros((n, k) if gemm.trans_b else (k, n)))
        self.check_build(row, plan)
        plan.run(a=np.zeros((m, k), DTYPES[TYPES[gemm.a_type]]), d=np.zeros((m, n), "f4"),
                 beta=gemm.beta)

    def check_row(self, row):
        is_native = get_level(row.name) == "native"
        self.assertEqual(is_native, has_instructions(row))
        if not is_native:
            self.skipTest("this GPU or its driver lacks the instructions")
        self.check_problem(row, 256, 256, 256)
        if not IS_BRIEF and is_meant(row):
            self.check_problem(row, 67, 45, 33, trans_b=True, a_type="u8", a_scale=1 / 255,
                               d_type="f16", addend="row", beta=0.5, bias=True, activation="gelu")
            self.check_problem(row, 67, 45, 33, layout="column", addend="output", beta=1)

    def check_choice(self, gemm):
        """Returns the plan, whose kernel the rules or an entry chose, and the kernel's row."""
        plan = Plan(gemm)
        row = next(row for row in ROWS if row.name == plan.kernel.partition("/")[0])
        self.check_build(row, plan, True)
        return plan, row

    def test_choice(self):
        """The rules choose rows for these GPUs, with the smallest subgroup size."""
        for m, n, k in SIZES:
            _, row = self.check_choice(describe(m, n, k))
            self.assertTrue(is_meant(row), row.name)
            if m * n >= 1024 * 1024 and k >= 256:
                self.assertTrue(row.subgroup, row.name)

    def test_engines(self):
        found = {row.precision for row in ROWS
                 if row.dpas and is_meant(row) and has_instructions(row)}
        for precision in found:
            _, row = self.check_choice(describe(1024, 1024, 1024, precision=precision))
            self.assertEqual((row.dpas, row.precision), (True, precision))
        if not found:
            self.skipTest("this GPU has no matrix engines")

    def test_shipped(self):
        """Tuning results for this GPU that the library ships are used for their problems."""
        entries = get_array("tuning_list", get_context(), Entry)
        for entry in entries:
            plan, _ = self.check_choice(describe(entry.m, entry.n, entry.k, layout=entry.layout,
                                                 precision=entry.precision))
            self.assertEqual((plan.kernel, plan.get_info().source),
                             (entry.kernel.decode(), entry.source))
        if not entries:
            self.skipTest("the library ships no tuning results for this GPU")

    def test_figures(self):
        """The driver reports the private memory of an array, and the spilled bytes of a tile."""
        def measure(source):
            value = c_uint64()
            with built(source) as kernel:
                for name in PRIVATE_MEM_SIZE, SPILL_MEM_SIZE:
                    good(get_device().cl.clGetKernelWorkGroupInfo(
                        kernel, get_device().device, name, c_size_t(8), byref(value), None), name)
                    yield value.value
        self.assertGreaterEqual(sum(measure(ARRAY)), 2000 * 4)
        self.assertGreater(list(measure(TILE))[1], 0)


def add_rows():
    for row in ROWS:
        if is_meant(row) or not IS_BRIEF and row.subgroup in (0, *get_subgroups()):
            add_test(Driver, row, "row")


if __name__ == "__main__":
    begin()
    if not get_info().intel or get_device().type != GPU:
        tap.skip_all("no Intel GPU: intel-driver.sh runs its driver without one")
    add_rows()
    main()
