# SPDX-License-Identifier: LGPL-2.1-or-later
"""A and B in images, or in buffers where kernels use no images."""

from ctypes import byref, c_uint

from gemmcl import Plan, describe, get_info, get_level, np, pretend
from problem import Problem, ProblemTestCase
from tap_unittest import main

ROW = "block_read_4x1_1x8"
MAX_SIDE = 16384  # of an image in a buffer
RGBA, UINT32 = 0x10b5, 0x10dc  # cl_image_format
VENDOR_ID, EXTENSIONS, INTEL = 0x1001, 0x1030, 0x8086
BLOCK_READS = "cl_intel_subgroups"


class Blocks(ProblemTestCase):
    def pretend(self, vendor, extensions):
        """The device has another vendor's number, and these extensions besides its own."""
        own = get_info().extensions.decode()
        self.addCleanup(pretend({VENDOR_ID: np.array(vendor, "u4").tobytes(),
                                 EXTENSIONS: f"{own} {extensions}".encode() + b"\0"}))

    def check(self, m, n, k, kernel=ROW, **fields):
        problem = Problem(m, n, k, **fields)
        problem.run_device(plan=Plan(problem.gemm, kernel, self.context))
        self.is_right(problem)


class Images(Blocks):
    def get_context(self):
        """The context of the test: of a device of Intel's with block reads."""
        if get_info().platform == b"rusticl":
            self.skipTest("Rusticl reads B from the image of A")
        if not get_info().max_image_width:
            self.skipTest("the device has no images of one channel")
        self.pretend(INTEL, BLOCK_READS)
        return self.wrap_context()

    def setUp(self):
        super().setUp()
        self.context = self.get_context()
        self.info = get_info(self.context)

    def test_large(self):
        """An A that is longer than an image is wide, or of more tiles than fit side by side."""
        width, height = self.info.max_image_width, self.info.max_image_height
        self.check(5, 9, max(width, height, MAX_SIDE) + 100)
        self.check(4 * (max(width, MAX_SIDE) // 8) + 50, 3, 8)

    def test_rows(self):
        """Tiles side by side and edges, an A in f16, batches and both layouts."""
        m, n, k = 13, 37, 21
        fields = {"batch": 3, "a_stride": m * k + 5, "b_stride": k * n + 3}
        self.check(m, n, k, **fields)
        self.check(m, n, k, layout="column", a_type="f16", **fields)

    def test_without_b(self):
        """With alpha 0 a run needs neither A nor B."""
        d = np.ones((2, 2), "f4")
        Plan(describe(2, 2, 2, alpha=0.0), ROW, self.context).run(
            alpha=0, a=np.full((2, 2), np.nan, "f4"), d=d)
        self.same(d, np.zeros((2, 2)))

    def test_too_large(self):
        self.refuses("kernel", " x ", "kernel_fits", self.context, ROW,
                     byref(describe(2**20, 8, 2**20)))

    def test_level(self):
        get_level(ROW, self.context)


class Buffers(Images):
    def get_context(self):
        """The context of such a device with images of four channels only."""
        def list_formats(_next, _context, _flags, _type, _n, formats, count):
            c_uint.from_address(count).value = 1
            (c_uint * 2).from_address(formats)[:] = RGBA, UINT32
            return 0
        self.pretend(INTEL, BLOCK_READS)
        self.replace("clGetSupportedImageFormats", list_formats)
        context = self.wrap_context()
        self.assertEqual(get_info(context).max_image_width, 0)
        return context

    def test_level(self):
        """Rows that read images are native only on devices with such images."""
        self.assertNotEqual(get_level(ROW, self.context), "native")


class Others(Blocks):
    def check_buffers(self, vendor, extensions):
        """A row that reads images computes, makes none, and is not native."""
        images = []
        self.pretend(vendor, extensions)
        self.replace("clCreateImage",
                     lambda create, *arguments: images.append(arguments) or create(*arguments))
        self.context = self.wrap_context()
        self.check(13, 37, 21)
        self.assertEqual(images, [])
        self.assertNotEqual(get_level(ROW, self.context), "native")

    def test_vendor(self):
        """Only Intel's devices have images: another one may read the wrong one."""
        if b"Intel" in get_info().vendor:
            self.skipTest("the device is Intel's")
        self.check_buffers(0, BLOCK_READS)

    def test_block_reads(self):
        """An Intel GPU with another driver, without block reads, has no images."""
        if b"cl_intel_subgroups" in get_info().extensions:
            self.skipTest("the device has block reads")
        self.check_buffers(INTEL, "")


main()
