#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles every row of kernels.def as OpenCL C 1.2 with clang, without a device. TAP out.

usage: kernels.py KERNELS-DIRECTORY

Each row is compiled with the smallest and with the largest set of the options of
lib/kernels/options.c. Rows with subgroups or inline PTX are compiled natively, and the first row of
each source at each level, also with its images in buffers. The first row of each source that
computes whole rows of D is compiled with that, too. im2col is compiled for one kind of frame; tests
on a device cover the others. With GEMMCL_TEST_BRIEF the rows that differ from one before only by
their tiles are left out.
"""

import os
import shutil
import sys
from functools import partial
from pathlib import Path

import tap

sys.path.append(str(Path(__file__).parent.parent / "kernels"))
import table

KERNELS = Path(sys.argv[1])
CLANG = ["clang", "-x", "cl", "-cl-mad-enable", "-Xclang"]
CLANG += ["-finclude-default-header", "-fsyntax-only", "-Wall", "-Wextra", "-Wundef", "-Werror"]
# Warnings about OpenCL's own idioms and about shared code that is included.
CLANG += ["-Wno-unused-function", "-Wno-sign-compare", "-Wno-unused-parameter"]

F32, F16, BF16, I8, U8 = 0, 2, 3, 4, 5
NONE, SIGMOID, SOFTMAX = (f"ACTIVATION=ACTIVATION_{name}"
                          for name in ("NONE", "SIGMOID", "SOFTMAX"))
TYPES = {"f32": F32, "f16": F16, "bf16": BF16, "tf32": F32, "i8": I8}
VARIANTS = {
    "plain": [f"A_TYPE={F32}", f"D_TYPE={F32}", NONE],
    "full": [
        f"A_TYPE={U8}", f"D_TYPE={U8}", f"C_TYPE={U8}", "C_IS_D", "A_SCALED", "A_UNIT_COL",
        "D_UNIT_COL", SIGMOID,
    ],
}
WHOLE_ROWS = [*VARIANTS["plain"][:2], SOFTMAX, "WHOLE_ROWS", "ROW_COUNT=3",
              "ROW_SUM", "ROW_MAX", "ROW_ARG_MAX"]
# The levels of subgroup.clh, and the options with which clang declares their functions.
LEVELS = {
    "native": ["-cl-std=CL1.2", "-DSUBGROUP_LEVEL=0", "-Dcl_intel_subgroups", "-cl-no-stdinc",
               "-Dcl_intel_subgroups_short", "-Dcl_khr_fp16", "-D__opencl_c_images"],
    "khr": ["-cl-std=CL3.0", "-DSUBGROUP_LEVEL=1", "-Dcl_khr_subgroups",
            "-Dcl_khr_subgroup_shuffle"],
    "emulated": ["-cl-std=CL1.2", "-DSUBGROUP_LEVEL=2", "-DREPEAT_IN_LOOPS"],
}
# The same for rows with inline PTX, whose constraints only this target knows.
PTX_LEVELS = {
    "native": ["-cl-std=CL1.2", "--target=nvptx64-nvidia-cuda", "-DMMA_PTX", "-Xclang",
               "-cl-ext=+cl_khr_fp16"],
    "emulated": ["-cl-std=CL1.2"],
}
# Declarations for matrix engines, which clang lacks.
DPAS = ["-Dcl_intel_subgroup_matrix_multiply_accumulate"]
DPAS += ["-Dcl_intel_subgroup_matrix_multiply_accumulate_tf32"]
DPAS += ["-Dintel_convert_tfloat32_as_float(x)=(x)"]
DPAS += [f"-Dintel_sub_group_{kind}_matrix_mad_{k}(a,b,sum)=((void)(a),(void)(b),(sum))"
         for kind, k in (("bf16_bf16", "k16"), ("f16_f16", "k16"), ("tf32_tf32", "k8"),
                         ("u8_i8", "k32"))]
# A frame of three bytes per pixel, in patches.
IMAGE = ["-DA_IMAGE", "-DA_ORDER=0x210", "-DA_X=-1", "-DA_WIDTH=12", "-DA_HEIGHT=8",
         "-DA_CHANNELS=3", "-DA_SAMPLES=3", "-DA_SAMPLE_BYTES=1",
         "-DA_PATCH_WIDTH=4", "-DA_PATCH_HEIGHT=4", "-DA_STRIDE_X=4", "-DA_STRIDE_Y=4",
         "-DA_PADDING=0", "-DA_DILATION=1", "-DA_ACROSS=3", "-DA_DOWN=2"]
# The options of sources that are no rows.
HELPERS = {
    "im2col": IMAGE,
    "pack": ["-DPANEL=64", "-DB_TYPE=3", "-DDPAS_PACK=2", "-DSUBGROUP_SIZE=16"],
    "pack_bytes": ["-DPANEL=64"],
    "normalize": ["-DGROUP=64", "-DWIDTH=4"],
    "quantize": ["-DGROUP=64", "-DWIDTH=16"],
    "pack_image": ["-DOF_A", "-DTEXEL_F16"],
    "reduce": ["-DSPLIT=4"],
    "softmax": ["-DGROUP=64"],
    "row_outputs": ["-DGROUP=64", "-DWIDTH=4", "-DROW_COUNT=9", "-DROW_SUM", "-DROW_MAX",
                    "-DROW_ARG_MAX", "-DROW_TOP_K=3"],
    "planes": ["-DSAMPLE_BYTES=1"],
    "subgroup_probe": ["-DSUBGROUP_SIZE=8", "-DSUBGROUP_LEVEL=2", "-DGROUP_M=4", "-DGROUP_N=8"],
}


def rows():
    """Yields (name, source, defines, levels, variants) of the table."""
    brief = "GEMMCL_TEST_BRIEF" in os.environ
    seen, kinds = set(), set()
    for row in table.read(KERNELS / "kernels.def"):
        name, source, subgroup = row.name, row.source, row.number("subgroup")
        kind = (source, row.precision, subgroup, row.fields.get("defines"))
        if brief and row.kind != "HELPER" and kind in kinds:
            continue
        kinds.add(kind)
        options = [f"-D{field.upper()}={row.fields[field]}"
                   for field in ("tile_m", "tile_n", "group_m", "group_n", "depth")
                   if field in row.fields]
        b_type = TYPES[row.precision]
        halves = b_type == F16
        dpas = row.has("dpas")
        images = row.has("images")
        if row.has("packed"):
            side = subgroup if dpas else row.number("group_n")
            options += [f"-DPANEL={row.number('tile_n') * side}", f"-DB_TYPE={b_type}"]
        options += DPAS if dpas else []
        if images:
            options += ["-DIMAGES"] + (["-DA_IS_F16", "-DB_IS_F16"] if halves else [])
        if halves:
            options += ["-DSG_F16"]
        if row.kind == "HELPER":
            options += HELPERS.get(name, [])
        if row.has("fixed_n_k"):
            options += ["-DN=3", "-DK=3"]
        options += row.fields.get("defines", "").replace("NULL", "").split()
        if "capability" in row.fields:
            levels = PTX_LEVELS if source not in seen else {"native": PTX_LEVELS["native"]}
        elif subgroup:
            options += [f"-DSUBGROUP_SIZE={subgroup}"]
            options += ["-DREPEAT_IN_LOOPS"] if subgroup > 8 else []
            levels = LEVELS if source not in seen else {"native": LEVELS["native"]}
        else:
            levels = {"": ["-cl-std=CL1.2"]}
        if source not in seen and (images or name == "pack_image"):
            base = "emulated" if images else ""
            level = f"{base} in buffers".strip()
            levels = {**levels, level: [*levels[base], "-DIMAGES_IN_BUFFERS"]}
        variants = VARIANTS
        if row.has("whole_rows") and source not in seen:
            variants = {**VARIANTS, "whole rows": WHOLE_ROWS}
        seen.add(source)
        yield name, KERNELS / source, options, levels, variants


def check(source, *options):
    tap.require(*CLANG, f"-I{KERNELS}", *options, source)


if not shutil.which("clang"):
    tap.skip_all("there is no clang")
tap.play({
    f"{name}, {variant} options {level}".strip():
        partial(check, source, *options, *language, *(f"-D{define}" for define in defines))
    for name, source, options, levels, variants in rows()
    for level, language in levels.items()
    for variant, defines in variants.items()
    if variant != "plain" or level != "native" or "emulated" in levels
})
