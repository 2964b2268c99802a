#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A and B in images, or in buffers on devices without images of one channel."""

from ctypes import byref, c_uint, c_void_p

from gemmcl import (LIB, Plan, ask, describe, get_context, get_device, get_info, get_level, np,
                    replace)
from problem import Problem, ProblemTestCase
from tap_unittest import main

ROW, F16_ROW = "block_read_4x1_1x8", "block_read_f16_4x1_1x16"
MAX_SIDE = 16384  # of an image in a buffer
RGBA, UINT32 = 0x10b5, 0x10dc  # cl_image_format


class Images(ProblemTestCase):
    def get_context(self):
        """The context of the test."""
        if not get_info().max_image_width:
            self.skipTest("the device has no images of one channel")
        return get_context()

    def setUp(self):
        super().setUp()
        self.context = self.get_context()
        self.info = get_info(self.context)

    def check(self, m, n, k, kernel=ROW, **fields):
        problem = Problem(m, n, k, **fields)
        problem.run_device(plan=Plan(problem.gemm, kernel, self.context))
        self.is_right(problem)

    def test_large(self):
        """An A that is longer than an image is wide, and an A with more tiles than fit side by
        side."""
        width, height = self.info.max_image_width, self.info.max_image_height
        self.check(5, 9, max(width, height, MAX_SIDE) + 100)
        self.check(4 * (max(width, MAX_SIDE) // 8) + 50, 3, 8)

    def test_rows(self):
        """Tiles side by side and edges, texels of two f16 elements, batches and both layouts."""
        m, n, k = 13, 37, 21
        fields = {"batch": 3, "a_stride": m * k + 5, "b_stride": k * n + 3}
        self.check(m, n, k, **fields)
        self.check(m, n, k, F16_ROW, precision="f16", **fields)
        self.check(m, n, k, F16_ROW, precision="f16", layout="column", a_type="f16", **fields)

    def test_without_b(self):
        """With alpha 0 a run needs neither A nor B."""
        d = np.ones((2, 2), "f4")
        Plan(describe(2, 2, 2, alpha=0.0), ROW, self.context).run(
            alpha=0, a=np.full((2, 2), np.nan, "f4"), d=d)
        self.same(d, np.zeros((2, 2)))

    def test_too_large(self):
        """A problem larger than any image is refused."""
        self.refuses("kernel", " x ", "kernel_fits", self.context, ROW,
                     byref(describe(2**20, 8, 2**20)))

    def test_level(self):
        get_level(ROW, self.context)


class Buffers(Images):
    def get_context(self):
        """A context around the same OpenCL context, with images of four channels only."""
        def list_formats(_next, _context, _flags, _type, _n, formats, count):
            c_uint.from_address(count).value = 1
            (c_uint * 2).from_address(formats)[:] = RGBA, UINT32
            return 0
        device, end = get_device(), replace("clGetSupportedImageFormats", list_formats)
        context = c_void_p(ask("context_get_wrapped", device.cl_context, device.device))
        end()
        self.addCleanup(LIB.g_object_unref, context)
        self.assertEqual(get_info(context).max_image_width, 0)
        return context

    def test_level(self):
        """Rows that read images are native only on devices with such images."""
        self.assertNotEqual(get_level(ROW, self.context), "native")


if __name__ == "__main__":
    main()
