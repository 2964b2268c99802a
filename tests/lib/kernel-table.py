# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of kernels for users: names, methods, needs, sources, builds, and wrong names."""

import ctypes
import re
from ctypes import byref, c_void_p

from gemmcl import (KERNELS, Plan, TestCase, ask, call, describe, find_misfit, get_context,
                    get_info, get_level, get_name, np, pretend, replace, take)
from problem import ARG_MAX, MAX, SUM
from tap_unittest import main

INT = 2**31 - 1
LOCAL_MEM_SIZE = 0x1023  # CL_DEVICE_...


def get_source(name, gemm):
    options = c_void_p()
    source = ask("kernel_get_source", name, byref(gemm), byref(options))
    return ctypes.string_at(source).decode(), take(options.value)


class Table(TestCase):
    def test_rows(self):
        names = [kernel.name.decode() for kernel in KERNELS]
        self.assertEqual(len(set(names)), len(names))
        for number, kernel in enumerate(KERNELS):
            # The method, or the method and the tile.
            self.assertRegex(kernel.name.decode(), f"^{kernel.method.decode()}"
                             r"(_\d+x\d+_\d+x\d+(_[a-z0-9]+)*)?$")
            self.assertRegex(kernel.method.decode(), "^[A-Za-z][A-Za-z0-9_]*$")
            self.assertRegex(kernel.summary.decode(), "^[^\n]{11,}$")
            self.assertIsNotNone(get_name("precision_get_name", kernel.precision))
            self.assertIsNotNone(kernel.needs)
            self.assertEqual(call("get_kernel", number), ctypes.addressof(kernel))

    def test_fallback(self):
        """The first row needs nothing and takes every problem."""
        self.assertEqual(KERNELS[0].name, b"gemm_naive")
        for gemm in describe(1, 1, 1), describe(INT, 1, 1), None:
            self.assertIsNone(find_misfit("gemm_naive", gemm))
        self.refuses("invalid", "", "kernel_fits", get_context(), "gemm_naive",
                     byref(describe(0, 0, 0)))

    def test_fits(self):
        """The message about a problem that does not fit has the reason, and a plan's message is the
        same. A kernel of a lower precision does not take a problem of f32."""
        for kernel in KERNELS:
            for sizes in (1, 1, 1), (5, 5, 5), (300, 3, 4), (64, 64, 64), (7, 1000, 17):
                gemm = describe(*sizes)
                why = find_misfit(kernel.name, gemm)
                if why:
                    self.assertIn(kernel.name.decode(), why)
                    self.refuses("kernel", why, "plan_new", get_context(), byref(gemm), kernel.name)
                else:
                    self.assertEqual(kernel.precision, 0)

    def test_near_names(self):
        for wrong, near in [("gemm_naiv", "gemm_naive"), ("GEMM-NAIVE", "gemm_naive"),
                            ("naive", "gemm_naive"), ("vector_12x23_1x1", "vector_12x32_1x1"),
                            ("", ""), ("gemm_naive ", ""), ("täfelchen", "")]:
            for words in wrong, "Similar names: ", near:
                self.refuses("kernel", words, "plan_new", get_context(), byref(describe(2, 2, 2)),
                             wrong)
            self.refuses("kernel", wrong, "kernel_fits", get_context(), wrong, None)


class Sources(TestCase):
    """What offline compilers get: a whole program, and the options of the row."""

    def test_all(self):
        for kernel in KERNELS:
            text, options = get_source(kernel.name, describe(8, 8, 8))
            self.assertIn("gemm (", text)
            self.assertNotIn('#include "', text)
            self.assertIn("-cl-std=", options)
            self.assertIn("-DTILE_M=", options)

    def test_alignment(self):
        """Kernels use vectors and block reads only if rows begin at multiples of their sizes."""
        halves = {"precision": "f16", "a_type": "f16"}
        for kernel, define, others, expected in [
                ("tiled_8x8_8x8", "D_FLOAT4", {}, True),
                ("tiled_8x8_8x8", "D_FLOAT4", {"ldd": 20, "d_start": 4}, True),
                ("tiled_8x8_8x8", "D_FLOAT4", {"d_start": 2}, False),
                ("tiled_8x8_8x8", "D_FLOAT4", {"ldd": 18}, False),
                ("tiled_8x8_8x8", "A_FLOAT4", {"lda": 20, "a_start": 4}, True),
                ("tiled_8x8_8x8", "A_FLOAT4", {"a_start": 2}, False),
                ("buffer_read_f16_4x1_1x16", "A_BLOCKS", {"lda": 18, "a_start": 2, **halves}, True),
                ("buffer_read_f16_4x1_1x16", "A_BLOCKS", {"a_start": 1, **halves}, False),
                ("buffer_read_f16_4x1_1x16", "A_BLOCKS", {"lda": 17, **halves}, False)]:
            options = get_source(kernel, describe(16, 16, 16, **others))[1].split()
            self.assertEqual("-D" + define in options, expected, (kernel, define, others))

    def test_rows(self):
        """A kernel or a later step computes the row outputs, but the kernel the softmax."""
        for kernel, n, outputs, inside in [
                ("xmx_i8_32x4_8x64", 64, ARG_MAX, True), ("xmx_i8_32x4_8x64", 65, SUM | MAX, True),
                ("xmx_i8_32x4_8x64", 65, ARG_MAX, False),
                ("xmx_i8_32x4_8x64", 256, MAX | ARG_MAX, False),
                ("xmx_bf16_32x4_8x64", 256, MAX | ARG_MAX, True)]:
            options = get_source(kernel, describe(64, n, 64, activation="softmax",
                                                  row_outputs=outputs))[1]
            self.assertIn("-DWHOLE_ROWS", options)
            self.assertEqual("-DROW_COUNT=" in options, inside)
            self.assertEqual("-DROWS_ACROSS" in options, n > 64)

    def test_refused(self):
        for code, words, name, size in [
                ("invalid", "", "gemm_naive", 0), ("kernel", "Similar names", "gemm_nave", 1),
                ("kernel", 'without a split of K, found "gemm_naive/4"', "gemm_naive/4", 64)]:
            self.refuses(code, words, "kernel_get_source", name,
                         byref(describe(size, size, size)), byref(c_void_p()))


class Builds(TestCase):
    def setUp(self):
        """The fallback declares no local memory: all that it has is the driver's own."""
        super().setUp()
        self.plan = Plan(describe(1, 1, 1), "gemm_naive")
        self.fallback = self.plan.get_info()

    def test_fallback(self):
        device = get_info()
        self.assertEqual((self.plan.level, self.fallback.spill_bytes), ("native", 0))
        self.assertTrue(64 <= self.fallback.max_work_group <= device.max_work_group)
        self.assertLess(self.fallback.local_bytes, device.local_bytes)

    def test_local(self):
        """The kernel has 16 columns of 64 rows of A and of B in local memory, or more."""
        info = Plan(describe(5, 5, 5), "slm_4x4_16x16").get_info()
        size = 2 * 16 * 64 * 4
        self.assertGreaterEqual(info.max_work_group, 256)
        if info.local_bytes == self.fallback.local_bytes:
            self.skipTest("the driver tells nothing of local memory that kernels declare")
        self.assertTrue(size <= info.local_bytes < 2 * size + self.fallback.local_bytes)

    def test_sizes(self):
        """Whole work-groups of 16 x 16, or 64 x 4, work-items cover D, or its part of K."""
        for kernel, m, expected in (("slm_4x4_16x16", 130, [48, 32, 1]),
                                    ("gemv_1x4_64x4", 1, [64, 20, 1]),
                                    ("gemv_1x4_64x4/2", 1, [64, 20, 2])):
            info = Plan(describe(m, 70, 512), kernel).get_info()
            self.assertEqual((kernel, list(info.global_size)), (kernel, expected))
            self.assertEqual(list(info.local_size), [16, 16, 1] if m > 1 else [64, 4, 1])

    def test_room(self):
        """A device with too little local memory refuses a kernel before it compiles anything. The
        number in the row is what the built kernel has. Drivers may round that up."""
        builds = []
        self.addCleanup(pretend({LOCAL_MEM_SIZE: np.array(1024, "u8").tobytes()}))
        context = self.make_context()
        for kernel in ("gemv_4x4_64x4", "gemv_1x4_256x2", "tiled_4x4_16x16", "staged_16x8_4x16",
                       "L3_SLM_8x8_16x16", "slm_padded_4x4_16x16", "prefetch_8x8_16x16",
                       "mma_bf16_2x8_8x16", "wgmma_bf16_2x32_32x4"):
            with self.subTest(kernel=kernel):
                gemm = describe(1, 5, 5, precision="bf16" if "bf16" in kernel else "f32")
                if why := find_misfit(kernel, gemm):
                    self.skipTest(why)
                plan = Plan(gemm, kernel)
                if plan.level == "native" and ("mma" in kernel or "staged" in kernel):
                    self.skipTest("the number is that of the emulation")
                end = replace("clBuildProgram",
                              lambda build, *rest: builds.append(1) or build(*rest))
                try:
                    with self.refused("kernel", "bytes of local memory") as caught:
                        Plan(gemm, kernel, context)
                finally:
                    end()
                found = plan.get_info().local_bytes - self.fallback.local_bytes
                size = int(re.search(r"needs (\d+) bytes", str(caught.exception))[1])
                if not found:
                    self.skipTest("the driver does not report local memory")
                self.assertTrue(size <= found <= size + size // 8, (size, found))
        self.assertEqual(builds, [])

    def test_subgroups(self):
        """The level is that of the build. Native subgroups have the row's size."""
        kernel = "L3_SIMD_8x4_1x16"
        plan = Plan(describe(5, 5, 5), kernel)
        info = plan.get_info()
        self.assertEqual(plan.level, get_level(kernel))
        if plan.level != "emulated":
            self.assertEqual(info.subgroup_size, 16)
        elif info.local_bytes == self.fallback.local_bytes:
            self.skipTest("the driver tells nothing of local memory that kernels declare")
        else:
            self.assertGreater(info.local_bytes, 0)


main()
