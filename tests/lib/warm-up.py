# SPDX-License-Identifier: LGPL-2.1-or-later
"""A new plan has compiled all that its first run needs. PoCL compiles a kernel at its first launch.
Its cache, empty at first, shows that: it has a library for each kernel and size of work-groups."""

import os
import tempfile
from pathlib import Path

CACHE = tempfile.TemporaryDirectory()
# This must precede loading OpenCL. The library's cache, too, is empty: binaries are compiled.
os.environ["POCL_CACHE_DIR"] = os.environ["XDG_CACHE_HOME"] = CACHE.name

from gemmcl import (ADDENDS, FIRST_OF_METHOD, IS_BRIEF, PRECISIONS, Buffer, Plan, TestCase,
                    allocate, describe, find_misfit, get_device, np)
from library import CPU
from pixels import PATCH, PIXEL, make_frame
from problem import MAX, NORM_A, NORM_D, SUM
from tap_unittest import main

SIDE = 20  # of a frame
RGB = make_frame(SIDE, SIDE, "RGB", features=PIXEL)
GRAY = make_frame(SIDE, SIDE, "GRAY8", (4, 4), features=PATCH)
SIZES = 33, 17, 40
CASES = [  # kernel, M, N and K, and other fields
    *(("gemm_naive", SIZES, fields) for fields in (
        {"bias": True, "addend": "output", "beta": 1, "activation": "relu"},
        {"a_type": "u8", "d_type": "u8"}, {"batch": 3, "b_stride": 17 * 40}, {"row_outputs": MAX},
        {"d_type": "u8", "activation": "softmax"}, {"d_type": "i8", "d_scale": 0.5},
        {"a_type": "u8", "d_type": "u8", "normalize": NORM_A | NORM_D},
        {"d_type": "i16", "addend": "previous", "beta": 1})),
    ("gemm_naive", (9000, 2, 3), {}), ("gemm_naive", (3000, 2, 3), {"batch": 3, "a_type": "i8"}),
    ("gemm_naive/2", (33, 17, 64), {"addend": "row", "activation": "tanh"}),
    ("vector_4x8_1x1", SIZES, {"layout": "column", "trans_b": True, "ldb": 50}),
    ("vector_4x8_1x1", (4, 1000, 600), {}), ("vector_4x8_1x1/2", (33, 17, 64), {}),
    ("vector_4x8_1x1", (33, 7, 40), {"row_outputs": SUM}), ("block_read_4x1_1x8", SIZES, {}),
    ("xmx_bf16_8x1_1x16", SIZES, {"precision": "bf16"}),
    ("dot_1x1_1x64", SIZES, {"precision": "i8"}), (None, SIZES, {"precision": "i8"}),
    (None, (SIDE * SIDE, 3, 3), {"a_frame": RGB, "d_frame": RGB}),
    (None, (25, 3, 16), {"a_frame": GRAY}),
]


def count():
    return len(list(Path(CACHE.name).rglob("*.so")))


def allocate_each(count, size):
    """Aligned memory for each problem, with rows of the frames' width."""
    return list(allocate((count, -(-size // 3840) * 64, 3 * SIDE), "u1"))


class WarmUp(TestCase):
    def setUp(self):
        super().setUp()
        device = get_device()
        if "Portable Computing" not in device.platform or device.type != CPU:
            self.skipTest("only PoCL on a CPU compiles when a kernel is launched")

    def run_all(self, plan):
        """Runs on host memory, on buffers with a B, and with a previous result where possible."""
        gemm = plan.gemm
        batch, frame = max(gemm.batch, 1), SIDE * SIDE * 4
        a = allocate_each(batch, frame if gemm.a_frame else gemm.m * gemm.k * 4)
        d = allocate_each(batch, 4 * max(gemm.m * gemm.n, frame))
        b = allocate_each(batch, 4 * max(gemm.k, gemm.ldb) * gemm.n)
        rows = allocate_each(batch, 4 * gemm.m)
        on = {"a": a, "d": d, **({"row_outputs": rows} if gemm.row_outputs else {})}
        if not gemm.b_stride:
            plan.run(**on, beta=gemm.beta)
        if ADDENDS[gemm.addend] == "previous":
            plan.run(**on, beta=gemm.beta, previous=d)
        buffers = {name: Buffer(np.concatenate(arrays)) for name, arrays in [*on.items(), ("b", b)]}
        plan.run(**buffers, beta=gemm.beta, strided=True)

    def check(self, kernel, sizes, fields):
        gemm, before = describe(*sizes, **fields), count()
        if kernel and find_misfit(kernel, gemm):
            return
        plan = Plan(gemm, kernel)
        made = count()
        self.assertEqual(plan.get_stats().runs, 0)
        _, n, k = sizes
        if not gemm.b_stride:  # a plan's own B is one for all problems
            plan.set("b", np.zeros((n, k) if fields.get("trans_b") else (k, n)))
        self.run_all(plan)
        self.assertEqual(count() - made, 0, f"{kernel}, {fields}: {made - before} by the plan")

    def test_cases(self):
        for case in CASES:
            self.check(*case)
        self.assertGreater(count(), len(CASES))

    def test_kernels(self):
        if IS_BRIEF:
            self.skipTest("GEMMCL_TEST_BRIEF: most of a minute goes to compiling")
        for kernel in FIRST_OF_METHOD.values():
            precision = PRECISIONS[kernel.precision]
            self.check(kernel.name.decode(), (4, 6, 32), {"precision": precision})


main()
