# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles every row of kernels.def as OpenCL C 1.2 with clang, without a device. TAP out.

usage: kernels-compile.py KERNELS-DIRECTORY GEMMCL

`gemmcl kernels --source` prints the programs for native subgroups, which this machine's devices may
lack, and their options. Each program is compiled with these options and with the largest set of
types; the first row of each source also at the other levels, with its images in buffers, and with
whole rows of D. Rows without PTX use nothing that clang adds to OpenCL C, at some of which
Rusticl's compiler ends the process. With GEMMCL_TEST_BRIEF rows that differ from an earlier row
only by numbers, like the size of tiles, are left out."""

import json
import os
import re
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import table
import tap

KERNELS, TOOL = map(Path, sys.argv[1:])
CLANG = ["clang", "-x", "cl", "-Xclang"]
CLANG += ["-finclude-default-header", "-fsyntax-only", "-Wall", "-Wextra", "-Wundef", "-Werror"]
# These warn about OpenCL's own idioms and about shared code that a program includes.
CLANG += ["-Wno-unused-function", "-Wno-sign-compare", "-Wno-unused-parameter"]
# A function that clang lacks
CLANG += ["-Ddot_acc_sat_4x8packed_us_int(a,b,sum)=((void)(a),(void)(b),(sum))"]

# The options with which clang declares the functions of a level of subgroup.clh and matrix engines.
LEVELS = {
    "native": ["-DSUBGROUP_LEVEL=SG_NATIVE", "-Dcl_intel_subgroups", "-cl-no-stdinc",
               "-Dcl_intel_subgroups_short", "-Dcl_khr_fp16", "-D__opencl_c_images",
               "-Dcl_intel_subgroup_matrix_multiply_accumulate",
               "-Dcl_intel_subgroup_matrix_multiply_accumulate_tf32",
               "-Dintel_convert_tfloat32_as_float(x)=(x)",
               *(f"-Dintel_sub_group_{kind}_matrix_mad_{k}(a,b,sum)=((void)(a),(void)(b),(sum))"
                 for kind, k in (("bf16_bf16", "k16"), ("f16_f16", "k16"), ("tf32_tf32", "k8"),
                                 ("u8_i8", "k32")))],
    "khr": ["-cl-std=CL3.0", "-DSUBGROUP_LEVEL=SG_KHR", "-Dcl_khr_subgroups",
            "-Dcl_khr_subgroup_shuffle"],
    "emulated": ["-DSUBGROUP_LEVEL=SG_EMULATED", "-DREPEAT_IN_LOOPS"],
}
# Inline PTX has constraints that only this target knows.
PTX = ["--target=nvptx64-nvidia-cuda", "-Xclang", "-cl-ext=+cl_khr_fp16"]
WHOLE_ROWS = ["-DWHOLE_ROWS", "-DROW_COUNT=7", "-DROW_SUM", "-DROW_MAX", "-DROW_ARG_MAX",
              "-DROW_TOP_K=2"]


def check(source, options):
    with tempfile.NamedTemporaryFile("w", suffix=".cl", encoding="utf-8") as file:
        file.write(source)
        file.flush()
        tap.require(*CLANG, *options, file.name)


def check_standard(source, options):
    said = tap.require("clang", "-x", "cl", "-E", "-P", "-cl-no-stdinc", *options, "-",
                       stdin=None, input=source)
    tap.expect(re.findall(r".*(?:ext_vector_type|__builtin_).*", said), [])


def without(options, pattern):
    return [option for option in options if not re.match(pattern, option)]


def variants(row, program, is_first):
    own = without(program["options"].split(), "-cl-intel-")
    yield "as it is", own
    full = [option.replace("_NONE", "_SIGMOID") for option in without(own, "-D[ACD]_")]
    yield "full", [*full, "-DA_TYPE=U8", "-DD_TYPE=U8", "-DC_TYPE=U8", "-DA_SCALED",
                   "-DA_UNIT_COL", "-DD_UNIT_COL"]
    if not is_first:
        return
    plain = without(own, "-DMMA_PTX|-cl-std|-DSUBGROUP_LEVEL|-D.*_(BLOCKS|PITCHED)$")
    if row.whole_rows:
        yield "whole rows", [option.replace("_NONE", "_SOFTMAX") for option in own] + WHOLE_ROWS
    if "-DMMA_PTX" in own:
        yield "emulated", plain
    if row.subgroup:
        for level in "khr", "emulated":
            yield level, ["-cl-std=CL1.2", *plain, *LEVELS[level]]
    if row.images:
        yield "in buffers", ["-cl-std=CL1.2", *plain, *LEVELS["emulated"], "-DIMAGES_IN_BUFFERS"]


def programs():
    listed = json.loads(tap.require(TOOL, "kernels", "--json", "--source", "all"))
    rows = {row.name: row for row in table.read(KERNELS / "kernels.def")}
    brief = "GEMMCL_TEST_BRIEF" in os.environ
    seen, kinds = set(), set()
    for program in listed:
        row = rows[program["name"]]
        kind = row.source, row.precision, row.subgroup, re.sub(r"=\d+", "", str(row.defines))
        if brief and kind in kinds:
            continue
        kinds.add(kind)
        for title, options in variants(row, program, row.source not in seen):
            if "-DMMA_PTX" in options:
                options = [*options, *PTX]
            elif "-DSUBGROUP_LEVEL=SG_NATIVE" in options:
                options = [*options, *LEVELS["native"]]
            yield f"{row.name}, {title}", partial(check, program["source"], options)
            if title == "full" and "-DMMA_PTX" not in options:
                yield f"{row.name}, standard", partial(check_standard, program["source"], options)
        seen.add(row.source)


if not shutil.which("clang"):
    tap.skip_all("there is no clang")
tap.play(dict(programs()))
