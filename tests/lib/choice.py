#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rows of the table that are native on a device, and the row that the rules choose. hooks.c
makes the real device answer as one that is not here. Nothing is compiled or run.

    choice.py --table     prints the table of docs/internals/intel.md"""

import itertools
import os
import pathlib
import re
import sys
from contextlib import contextmanager
from ctypes import byref, c_void_p

import table
from gemmcl import (LIB, PRECISIONS, TestCase, ask, describe, find_misfit, get_context, get_info,
                    list_candidates, np, pretend, take)
from table import ENGINES
from tap_unittest import main

# CL_DEVICE_... and CL_PLATFORM_NAME, and the types of the answers; text otherwise.
QUERIES = {"platform": (0x902, ""), "type": (0x1000, "u8"), "vendor": (0x1001, "u4"),
           "units": (0x1002, "u4"), "group": (0x1004, "u8"), "group_sizes": (0x1005, "u8"),
           "clock": (0x100c, "u4"), "images": (0x1016, "u4"), "local": (0x1023, "u8"),
           "name": (0x102b, ""), "maker": (0x102c, ""), "version": (0x102f, ""),
           "extensions": (0x1030, ""), "width": (0x103a, "u4"), "nvidia_major": (0x4000, "u4"),
           "nvidia_minor": (0x4001, "u4"), "sizes": (0x4108, "u8"), "slices": (0x4252, "u4"),
           "cores": (0x4253, "u4"), "eus": (0x4254, "u4"), "threads": (0x4255, "u4")}
CPU, GPU = 2, 4  # CL_DEVICE_TYPE_...
INTEL, NVIDIA = ({"type": GPU, "platform": "Imagined", "vendor": vendor, "maker": ""}
                 for vendor in (0x8086, 0x10de))
# As the drivers answer (intel-driver.sh TARGET clinfo), with the numbers of the product.
SUBGROUPS = ("cl_khr_fp16 cl_intel_subgroups cl_intel_subgroups_short"
             " cl_intel_required_subgroup_size cl_intel_device_attribute_query")
DOT = "cl_khr_integer_dot_product"
XE = f"{SUBGROUPS} {ENGINES}"
XE2 = f"{XE} {ENGINES}_tf32 cl_intel_subgroup_2d_block_io"


def make_gpu(name, extensions, slices, cores, eus, threads, subgroup):
    return {**INTEL, "name": name, "extensions": extensions, "slices": slices, "cores": cores,
            "eus": eus, "threads": threads, "sizes": [subgroup, 2 * subgroup],
            "units": slices * cores * eus}


# skl, adl-s, tgl, dg1, mtl have no matrix engines. The Max 1550 is one of its two stacks, Panther
# Lake the one of 12 cores.
GPUS = {gpu[0]: make_gpu(*gpu) for gpu in (
    ("HD 530", SUBGROUPS, 1, 3, 8, 7, 8), ("UHD 770", SUBGROUPS, 1, 2, 16, 7, 8),
    ("Iris Xe", SUBGROUPS, 1, 6, 16, 7, 8), ("DG1", f"{SUBGROUPS} {DOT}", 1, 6, 16, 7, 8),
    ("Meteor Lake", f"{SUBGROUPS} {DOT}", 2, 4, 16, 8, 8),
    ("Arc A380", XE, 2, 4, 16, 8, 8), ("Arc A770", XE, 8, 4, 16, 8, 8),
    ("Arrow Lake H", f"{XE} {DOT}", 2, 4, 16, 8, 8), ("Max 1550", XE2, 8, 8, 8, 8, 16),
    ("Arc 140V", XE2, 2, 4, 8, 8, 16), ("Arc B580", XE2, 5, 4, 8, 8, 16),
    ("Panther Lake", XE2, 2, 6, 8, 10, 16), ("Wildcat Lake", XE2, 1, 2, 8, 10, 16))}
ANY_CPU = {"type": CPU, "vendor": 0, "maker": "", "platform": "Imagined", "extensions": "",
           "units": 8, "group": 4096, "group_sizes": [4096] * 3, "local": 1 << 20}
ANY_GPU = {"type": GPU, "units": 64}
ROWS = {row.name: row for row in table.load()}


@contextmanager
def on(device):
    """A context on the real device, which answers as this one."""
    answers = {}
    for name, value in device.items():
        query, kind = QUERIES[name]
        answers[query] = np.array(value, kind).tobytes() if kind else value.encode() + b"\0"
    get_context()
    end = pretend(answers)
    context = c_void_p(ask("context_new", None))
    try:
        yield context
    finally:
        LIB.g_object_unref(context)
        end()


def choose(device, m, n, k, **others):
    with on(device) as context:
        return list_candidates(describe(m, n, k, **others), context)[0]


def count_threads(device, name, m, n):
    """The threads that each execution unit gets. The row's name gives the sizes: method_1x2_3x4/5
    has tiles of 1 x 2, groups of 3 x 4, K in 5 parts. With matrix engines a subgroup has a tile."""
    sizes = re.search(r"_(\d+)x(\d+)_(\d+)x(\d+)[^/]*(?:/(\d+))?$", name).groups("1")
    tile_m, tile_n, group_m, group_n, parts = map(int, sizes)
    # The work-items of a column share K there.
    rows = tile_m if name.startswith("gemv") else tile_m * group_m
    groups = -(-m // rows) * (-(-n // (tile_n * group_n)) if tile_n else 1) * parts
    return groups * -(-group_m * group_n // device["sizes"][0]) / device["units"]


def print_table():
    shapes = [(4096, 4096, 4096), (1024, 1024, 1024), (256, 4096, 4096), (64, 4096, 4096),
              (64, 1024, 1024), (16, 1024, 1024), (3600, 96, 147), (1, 4096, 4096),
              (2, 300, 1000), (64, 1000, 1000), (100, 100, 100)]
    plain = {name: gpu for name, gpu in GPUS.items() if ENGINES not in gpu["extensions"]}
    engines = {name: gpu for name, gpu in GPUS.items() if name not in plain}
    for precision, gpus in (("f32", plain), ("f32", engines), ("bf16", engines), ("i8", engines)):
        print(f"| {precision} | {' | '.join(gpus)} |\n|{'---|' * (1 + len(gpus))}")
        for m, n, k in shapes:
            names = [choose(gpu, m, n, k, precision=precision) for gpu in gpus.values()]
            cells = [f"`{name}` {count_threads(gpu, name, m, n):.1f}"
                     for name, gpu in zip(names, gpus.values())]
            print(f"| {m}x{n}x{k} | {' | '.join(cells)} |")
        print()


class Choice(TestCase):
    def test_intel_tiles(self):
        """The rules choose the largest tiles that leave an execution unit four threads."""
        for gpu, m, kernel in (
                ("Arc A770", 4096, "xmx_bf16_16x8_8x32"), ("Arc A770", 1024, "xmx_bf16_16x4_4x16"),
                ("Arc A380", 1024, "xmx_bf16_16x8_8x32"), ("Arc B580", 4096, "xmx_bf16_32x4_8x64"),
                ("Max 1550", 1024, "xmx_bf16_16x2_4x32")):
            self.assertEqual(choose(GPUS[gpu], m, m, m, precision="bf16"), kernel, gpu)

    def test_intel_images(self):
        """In f32 the rules choose kernels of images if packing A pays, with and without engines."""
        for sizes, kernel in (((1024, 1024, 1024), "block_read_32x2_8x8"),
                              ((3600, 96, 147), "buffer_read_16x2_4x8")):
            for gpu in "UHD 770", "Meteor Lake", "Arc A380", "Arrow Lake H":
                if "block" not in kernel or get_info().max_image_width:
                    self.assertEqual(choose(GPUS[gpu], *sizes), kernel, gpu)

    def test_intel_few_columns(self):
        """Few rows and columns leave a core more than a part of a work-group."""
        for gpu in "Max 1550", "Arc A770", "Arc B580":
            name = choose(GPUS[gpu], 2, 300, 1000)
            self.assertGreater(count_threads(GPUS[gpu], name, 2, 300), 2, gpu)

    def test_intel_few_rows(self):
        """With few rows K is split until an execution unit has four threads."""
        for gpu, precision, n in (
                ("Arc A770", "f32", 1024), ("Arc A770", "bf16", 4096), ("Arc B580", "bf16", 4096),
                ("Max 1550", "bf16", 4096), ("Arc 140V", "bf16", 1024),
                ("Panther Lake", "bf16", 1024)):
            name = choose(GPUS[gpu], 64, n, n, precision=precision)
            self.assertGreaterEqual(count_threads(GPUS[gpu], name, 64, n), 4, (gpu, name))

    def test_measured(self):
        """The rules choose rows, and splits of K, that were measured on an H200."""
        gpu = {**make_nvidia(90), "units": 132}
        for precision, sizes, kernel in (
                ("f32", (1, 1000000, 512), "gemv_1x4_64x4"),
                ("f32", (16, 1000000, 512), "staged_4x8_4x16"),
                ("f32", (32, 1000000, 512), "staged_8x8_4x16"),
                ("f32", (64, 4096, 4096), "staged_8x8_4x16/8"),
                ("tf32", (1024, 1024, 1024), "wgmma_tf32_2x32_32x4"),
                ("tf32", (64, 4096, 4096), "wgmma_tf32_2x32_32x4/4"),
                ("tf32", (256, 1024, 1024), "mma_tf32_4x8_16x8/2"),
                ("tf32", (16, 28672, 8192), "mma_tf32_2x8_8x16"),
                ("tf32", (16, 4096, 4096), "mma_tf32_2x8_8x16/8"),
                ("f16", (256, 1024, 1024), "wgmma_f16_2x32_32x4"),
                ("f16", (300, 1000, 2048), "wgmma_f16_2x32_32x4/2"),
                ("f16", (128, 1024, 8192), "wgmma_f16_2x32_32x4/8"),
                ("f16", (1, 28672, 8192), "gemv_f16_1x8_32x8"),
                ("f16", (4, 1000000, 512), "mma_f16_2x8_8x16"),
                ("i8", (1, 1000000, 512), "gemv_i8_1x4_8x16"),
                ("i8", (4, 1000000, 512), "mma_i8_2x8_8x16"),
                ("i8", (4, 28672, 8192), "mma_i8_2x8_8x16"),
                ("i8", (16, 8192, 28672), "mma_i8_2x8_8x16/8"),
                ("i8", (32, 1000000, 512), "mma_i8_4x8_8x16")):
            self.assertEqual(choose(gpu, *sizes, precision=precision), kernel, (precision, sizes))

    def test_batches(self):
        """Batches run as one tall problem, but without a split of K. They get its kernel with K +
        16, which cannot be split either: its parts would be no multiples of 16."""
        better_cut = 0
        for m, n, k in (16, 256, 2048), (32, 128, 4096), (64, 256, 1024):
            batches = choose(ANY_GPU, m, n, k, batch=4)
            tall, whole = (choose(ANY_GPU, 4 * m, n, depth, batch=1) for depth in (k, k + 16))
            self.assertNotIn("/", whole)
            self.assertEqual(batches, whole)
            better_cut += "/" in tall and not whole.startswith(tall.partition("/")[0])
        if not better_cut:
            self.skipTest("no kernel of this device would be better for one of these with K cut")

    def test_width(self):
        """Kernels have vectors as wide as the device's, and no wider ones."""
        for width in 4, 8, 16:
            name = choose({**ANY_CPU, "width": width}, 512, 512, 512)
            options = c_void_p()
            ask("kernel_get_source", name, byref(describe(512, 512, 512)), byref(options))
            self.assertIn(f"-DWIDTH={width} ", take(options.value), name)

    def test_bytes(self):
        """int8 is multiplied as bytes by PoCL on a CPU with AVX2, and as f32 by other drivers."""
        cpu = {**ANY_CPU, "width": 8}
        pocl = {**cpu, "platform": "Portable Computing Language"}
        flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
        for m, ours, other in (1, "vector_i8_1x32_1x1", "vector_1x32_1x1"), \
                              (4, "vector_i8_4x24_1x1", "vector_4x24_1x1"):
            self.assertEqual(choose(cpu, m, 250000, 512, precision="i8"), other)
            self.assertEqual(choose(pocl, m, 250000, 512, precision="i8"),
                             ours if "avx2" in flags else other)

    def test_unknown_width(self):
        """A CPU has vectors of four floats also if its driver reports none, as PoCL does where LLVM
        does not know the host's features; its clock is unknown, too."""
        for shape in (512, 512, 512), (1, 512, 512), (64, 10, 9), (2, 4096, 1024):
            for precision in PRECISIONS:
                name = choose({**ANY_CPU, "width": 4}, *shape, precision=precision)
                self.assertEqual(ROWS[name].method.split("_")[0], "vector")
                for width in 0, 1, 2:
                    device = {**ANY_CPU, "width": width, "clock": 0}
                    self.assertEqual(choose(device, *shape, precision=precision), name)
        with on({**ANY_CPU, "width": 1, "clock": 1000}) as context:
            self.assertEqual(get_info(context).float_width, 4)
            self.assertEqual(get_info(context).peak_gflops, 2 * 8 * 2 * 4)


class Rows(TestCase):
    """Problems of which the rules choose each row for one, on some device."""
    M = 1, 2, 4, 8, 16, 24, 32, 64, 100, 128, 1024, 4096, 57600
    N = 8, 10, 64, 1000, 4096, 100000
    K = 9, 147, 2048, 4096

    @staticmethod
    def yield_devices():
        yield from GPUS.values()
        for width, units in itertools.product((4, 8, 16), (4, 16)):
            yield {**ANY_CPU, "width": width, "units": units}
        yield {**ANY_GPU, "vendor": 0x1002, "maker": "", "platform": "Imagined", "local": 65536,
               "extensions": "cl_khr_fp16", "group": 1024, "group_sizes": [1024] * 3}
        yield from map(make_nvidia, NVIDIA_CAPABILITIES)

    def test_each(self):
        """The rules choose each row, or it says why it is kept."""
        idle = {row.name for row in ROWS.values() if not row.kept}
        for device in self.yield_devices():
            with on(device) as context:
                for precision, *shape in itertools.product(PRECISIONS, self.M, self.N, self.K):
                    first = list_candidates(describe(*shape, precision=precision), context)[0]
                    idle.discard(first.partition("/")[0])
        self.assertEqual(idle, set())


# The features that Intel's GPUs may lack, extensions but for images, and the rows that need them.
LACKS = {
    "nothing": lambda row: False, "images": lambda row: row.images,
    "cl_intel_subgroups": lambda row: row.subgroup,
    "cl_intel_required_subgroup_size": lambda row: row.subgroup,
    "cl_intel_subgroups_short": lambda row: row.subgroup and (row.dpas or row.precision == "f16"),
    "cl_khr_fp16": lambda row: row.subgroup and row.precision == "f16",
    ENGINES: lambda row: row.dpas and row.precision != "tf32",
    ENGINES + "_tf32": lambda row: row.dpas and row.precision == "tf32",
    DOT: lambda row: not row.subgroup and row.quantizes_a,
}


def make_device(smallest, lack):
    """An Intel GPU with matrix engines of each kind, without one feature."""
    extensions = ["cl_khr_icd", *(name for name in LACKS if name[:3] == "cl_" and name != lack)]
    return {**INTEL, "platform": "Imagined", "version": "OpenCL 3.0 imagined",
            "extensions": " ".join(extensions), "units": 128, "width": 1, "group": 1024,
            "group_sizes": [1024] * 3, "local": 65536, "images": lack != "images",
            "sizes": [size for size in (8, 16, 32) if size >= smallest]}


NVIDIA_CAPABILITIES = 75, 80, 89, 90, 100


def make_nvidia(capability, platform="NVIDIA CUDA"):
    return {**make_device(8, "cl_intel_subgroups"), **NVIDIA, "platform": platform,
            "nvidia_major": capability // 10, "nvidia_minor": capability % 10}


class Native(TestCase):
    """The candidates are native rows, and all of those that are meant for the device."""

    def check_candidates(self, context, families, is_native, **fields):
        """Returns the row that the rules choose."""
        gemm = describe(**fields)
        rows = [ROWS[name.partition("/")[0]] for name in list_candidates(gemm, context)]
        expected = [row for row in ROWS.values()
                    if row.family in families and row.float_width <= 2 and is_native(row) and
                    not find_misfit(row.name, gemm, context)]
        self.assertEqual({row.name for row in rows}, {row.name for row in expected}, fields)
        return rows[0]

    def check_lack(self, smallest, lack):
        """A row is native exactly if the device has all that it needs, by the comments of
        lib/kernels/table.h. Engines need the smallest subgroups, other rows take all sizes. The
        rules choose rows with the smallest subgroups, and with engines if there are any."""
        def is_native(row):
            has_size = not row.subgroup or (row.subgroup == smallest if row.dpas else
                                            row.subgroup >= smallest)
            return has_size and not row.capability and not LACKS[lack](row)
        with on(make_device(smallest, lack)) as context:
            has_images = get_info(context).max_image_width
            for precision in PRECISIONS:
                for m in 1024, 64, 1:
                    first = self.check_candidates(
                        context, table.ON_INTEL,
                        lambda row: is_native(row) and (has_images or not row.images),
                        m=m, n=1024, k=1024, precision=precision)
                    self.assertIn(first.subgroup, (0, smallest))
                    if m == 1024 and lack == "nothing":
                        self.assertEqual(first.dpas, precision != "f32" and
                                         (precision, smallest) != ("tf32", 8))

    def test_lacks(self):
        for lack, needs in LACKS.items():
            self.assertEqual(any(map(needs, ROWS.values())), lack != "nothing", lack)
            for smallest in 8, 16:
                with self.subTest(lack=lack, smallest=smallest):
                    self.check_lack(smallest, lack)

    def test_asked(self):
        """GEMMCL_SUBGROUPS lowers the level."""
        self.addCleanup(os.environ.pop, "GEMMCL_SUBGROUPS")
        os.environ["GEMMCL_SUBGROUPS"] = "emulated"
        with on(make_device(16, "nothing")) as context:
            for precision in PRECISIONS:
                self.check_candidates(
                    context, table.ON_INTEL,
                    lambda row: not (row.subgroup or row.capability or row.quantizes_a),
                    m=1024, n=1024, k=1024, precision=precision)

    def test_nvidia(self):
        """Rows with NVIDIA's instructions are native with NVIDIA's driver, from their capability
        on; wgmma only at its own. There the rules choose such rows for large problems."""
        for capability, platform in [*((each, "NVIDIA CUDA") for each in NVIDIA_CAPABILITIES),
                                     (90, "Portable Computing Language")]:
            is_nvidia = platform == "NVIDIA CUDA"

            def is_native(row):
                return not row.subgroup and (not row.capability or is_nvidia and (
                    capability == 90 if row.family == "WGMMA" else
                    capability >= row.capability))
            with on(make_nvidia(capability, platform)) as context:
                for precision in PRECISIONS:
                    first = self.check_candidates(context, table.ON_NVIDIA, is_native, m=4096,
                                                  n=4096, k=4096, precision=precision)
                    self.assertEqual(first.capability > 0, is_nvidia and capability >= 80)


if __name__ == "__main__":
    os.environ.pop("GEMMCL_SUBGROUPS", None)
    if sys.argv[1:] == ["--table"]:
        print_table()
    else:
        main()
