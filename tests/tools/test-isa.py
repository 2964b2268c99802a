#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""gemmcl isa: what it reads in listings, and that kernels are as dense as they were. TAP out.

What was recorded is in ISA_RECORD (docs/record-isa.py writes it). Of each target a few rows are
compiled anew, with GEMMCL_TEST_ISA=all all of them: a row fails that no longer builds, spills or
has private memory or resource loops where it had none, or is less dense. GEMMCL_OCLOC, the ocloc in
PATH or what tools/ocloc.sh has fetched compiles; where there is no such compiler, or it is another
version, tests are skipped. The record of what multiplies by matrix engines is held to the same
without a compiler.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import isa_source
from tool import TOOL, TestCase, main

ROOT = Path(__file__).parent.parent.parent
RECORD = json.loads(Path(os.environ["ISA_RECORD"]).read_text(encoding="utf-8"))
# The densest rows of so many methods, per target.
METHODS = 4
# Rounding of what was recorded.
TOLERANCE = 0.0006
# Kernels that the tool is given to compile.
AT_A_TIME = 8
# What the best f32 row without flaws reaches at least.
GOALS = {"bdw": 0.9, "skl": 0.9, "dg2": 0.85, "pvc": 0.9, "lnl": 0.93, "bmg": 0.93, "ptl": 0.93}
FLAWS = ("spill", "private_memory", "resource_loops")
LESS_THAN_F32 = re.compile("_(f16|bf16|tf32|i8)_|^dot_")
# Targets with matrix engines, and the subgroups they are for.
ENGINES = {"dg2": 8, "arl-h": 8, "pvc": 16, "lnl": 16, "bmg": 16, "ptl": 16}
# K of a dpas, by the precision.
DPAS_K = {"bf16": 16, "f16": 16, "tf32": 8, "i8": 32}
# Of a thread alone, the share of the clocks of its loop in which the engine works, with tiles of
# 32x64.
ENGINE_GOAL = 0.9
# A that is rounded on its way costs a move for each of its registers, and a dpas takes half as long
# there as elsewhere: docs/model.md has what bounds it.
ROUNDED_GOALS = {("tf32", "pvc"): 0.87, ("bf16", "pvc"): 0.81, ("f16", "pvc"): 0.81}


def recorded(kernel, target):
    """{field: value}; a string, why not, of a kernel that does not build or was not asked for."""
    what = RECORD["kernels"].get(kernel, {}).get(target, "not recorded")
    return what if isinstance(what, str) else dict(zip(RECORD["fields"], what))


def built(target):
    """[(density, kernel)] of what builds for the target, the densest first."""
    known = [(recorded(kernel, target), kernel) for kernel in RECORD["kernels"]]
    dense = [(row["density"], kernel) for row, kernel in known if not isinstance(row, str)]
    return sorted(dense, reverse=True)


def choose(target):
    """The rows that are compiled."""
    if os.environ.get("GEMMCL_TEST_ISA") == "all":
        return [kernel for kernel, targets in RECORD["kernels"].items() if target in targets]
    chosen = {}
    for _, kernel in built(target):
        chosen.setdefault(kernel.split("_")[0], kernel)
    return list(chosen.values())[:METHODS]


def find_ocloc():
    """(paths with colons between, None), or (None, why not)."""
    there = os.environ.get("GEMMCL_OCLOC") or shutil.which("ocloc")
    if there:
        return there, None
    # This test's own cache is another one than the user's, where the compilers are.
    environment = {key: value for key, value in os.environ.items() if key != "XDG_CACHE_HOME"}
    said = subprocess.run(
        [ROOT / "tools/ocloc.sh", "--no-fetch", "sh", "-c", 'printf %s "$GEMMCL_OCLOC"'],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
    )
    return (said.stdout, None) if said.returncode == 0 else (None, said.stderr.strip())


OCLOC, NO_OCLOC = find_ocloc()


class IsaTestCase(TestCase):
    def compile(self, target, names, *more):
        """The figures of the kernels. A few at a time: some take compilers half a minute."""
        figures = []
        for first in range(0, len(names), AT_A_TIME):
            with tempfile.TemporaryDirectory() as folder:
                answer = Path(folder, "figures.json")
                self.ends(
                    0, "isa", "-k", ",".join(names[first : first + AT_A_TIME]), "--target", target,
                    "--json", answer, *more, GEMMCL_OCLOC=OCLOC,
                )  # fmt: skip
                figures += json.loads(answer.read_text(encoding="utf-8"))
        return figures


class Densities(IsaTestCase):
    """A test per target, which is added below."""

    def check(self, figures, was):
        name = figures["kernel"]
        if isinstance(was, str):
            self.assertIsNotNone(figures["why_not"], f"{name} builds: have docs/record-isa.py run")
            return
        self.assertIsNone(figures["why_not"], name)
        for flaw in FLAWS:
            self.assertLessEqual(figures[flaw], was[flaw], f"{name}: {flaw}")
        self.assertGreaterEqual(figures["density"], was["density"] - TOLERANCE, name)

    def check_target(self, target):
        if OCLOC is None:
            self.skipTest(NO_OCLOC)
        version = RECORD["compilers"][target]
        for figures in self.compile(target, choose(target)):
            if figures["compiler"] != version:
                self.skipTest(f"recorded with ocloc {version}, here is {figures['compiler']}")
            with self.subTest(kernel=figures["kernel"], target=target):
                self.check(figures, recorded(figures["kernel"], target))


for name in RECORD["compilers"]:
    setattr(Densities, f"test_{name}", lambda self, name=name: self.check_target(name))


class EngineTestCase(IsaTestCase):
    """Every row for matrix engines emits as many dpas as it should: compilers leave them out
    without a word where they are given other subgroups than the engine's."""

    def rows(self, subgroup):
        """{kernel: precision}"""
        rows = {
            row["name"]: row["precisions"]
            for row in self.read("kernels", "--json")
            if f"subgroups of {subgroup}, matrix engines" in row["needs"]
        }
        self.assertTrue(rows)
        return rows

    def check(self, row, options, target, precision, rounded):
        """Large tiles have a share to reach, unless they round A and have none to the side."""
        self.assertEqual((row["spill"], row["private_memory"]), (0, 0))
        told = dict(re.findall(r"-D(\w+)=(\d+)", options))
        tile_m, tile_n, depth, subgroup, group_n = (
            int(told[name])
            for name in ("TILE_M", "TILE_N", "DEPTH", "SUBGROUP_SIZE", "GROUP_N")
        )
        expected = tile_m // 8 * tile_n * depth * subgroup // DPAS_K[precision]
        self.assertEqual(row["dpas"], expected)
        if (tile_m, tile_n * subgroup) == (32, 64) and not (rounded and group_n == subgroup):
            goal = ROUNDED_GOALS.get((precision, target), ENGINE_GOAL) if rounded else ENGINE_GOAL
            self.assertGreaterEqual(row["dpas_share"], goal)


class Engines(EngineTestCase):
    """As compiled now."""

    def choose(self, target):
        rows = self.rows(ENGINES[target])
        if os.environ.get("GEMMCL_TEST_ISA") == "all":
            return rows
        # The largest tile of each precision.
        largest = {precision: kernel for kernel, precision in rows.items()}
        return {kernel: precision for precision, kernel in largest.items()}

    def check_figures(self, figures, precision, rounded):
        self.assertIsNone(figures["why_not"])
        share = figures.get("model", {}).get("dpas_share")
        row = {**figures, "dpas": figures["loops"][figures["hot"]]["dpas"], "dpas_share": share}
        self.check(row, figures["options"], figures["target"], precision, rounded)

    def check_target(self, target):
        if OCLOC is None:
            self.skipTest(NO_OCLOC)
        rows = self.choose(target)
        for precision in sorted(set(rows.values())):
            names = [name for name, its in rows.items() if its == precision]
            # As f32, and as it is multiplied.
            for more in ([], ["--a-type", precision]) if precision.endswith("f16") else ([],):
                for figures in self.compile(target, names, "--model", *more):
                    with self.subTest(kernel=figures["kernel"], target=target, more=more):
                        self.check_figures(figures, precision, not more and precision != "i8")


for name in ENGINES:
    setattr(Engines, f"test_{name}", lambda self, name=name: self.check_target(name))


class Recorded(EngineTestCase):
    """As recorded, with A as f32."""

    def test_engines(self):
        for target, subgroup in ENGINES.items():
            rows = self.rows(subgroup)
            for kernel, (_, options) in isa_source.read_sources(rows, TOOL).items():
                with self.subTest(kernel=kernel, target=target):
                    row = recorded(kernel, target)
                    self.assertNotIsInstance(row, str, row)
                    self.check(row, options, target, rows[kernel], rows[kernel] != "i8")


class WholeRows(IsaTestCase):
    """What finishes rows of D that several subgroups share has registers for it, as far as the
    library lets it: of the row that lacks them for arg-max."""

    ROW = "xmx_i8_32x4_8x64"
    TARGETS = "bmg,ptl"

    def test_shared(self):
        if OCLOC is None:
            self.skipTest(NO_OCLOC)
        text, options = isa_source.read_sources([self.ROW], TOOL)[self.ROW]
        softmax = options.replace("-DACTIVATION=0", "-DACTIVATION=9")
        self.assertNotEqual(softmax, options)
        with tempfile.TemporaryDirectory() as folder:
            source, answer = Path(folder, "source.cl"), Path(folder, "figures.json")
            source.write_text(text, encoding="utf-8")
            self.ends(
                0, "isa", "--source", source, "--target", self.TARGETS, "--json", answer,
                "--build-options",
                f"{softmax} -DWHOLE_ROWS -DROWS_ACROSS -DROW_COUNT=2 -DROW_SUM -DROW_MAX",
                GEMMCL_OCLOC=OCLOC,
            )  # fmt: skip
            for figures in json.loads(answer.read_text(encoding="utf-8")):
                with self.subTest(target=figures["target"]):
                    self.assertIsNone(figures["why_not"])
                    self.assertEqual((figures["spill"], figures["private_memory"]), (0, 0))


class Goals(TestCase):
    def test_best_rows(self):
        for target, goal in GOALS.items():
            with self.subTest(target=target):
                fit = [
                    density
                    for density, kernel in built(target)
                    if LESS_THAN_F32.search(kernel) is None
                    and not any(recorded(kernel, target)[flaw] for flaw in FLAWS)
                ]
                self.assertGreaterEqual(max(fit), goal)


# What an ocloc of the tests' own says, in each dialect.
HELP = """  -device <device_type>   Target device.
   <device_type> can be: skl, bmg, version or hexadecimal value
"""

# A loop of two whole multiply-adds and one of half the lanes, and one of integers. The way over the
# loads does not count.
LEGACY = """L0:
(W)  mov (8|M0)  r42.0<1>:ud  r0.0<1;1,0>:ud
L416:
(W&f0.1) jmpi  L944
L500:
        send (8|M0)  r24:f  r24:uq  0xC  0x044409FF  // wr:2+0, rd:4; hdc.dc1; gathering read
        send (8|M0)  r4:f  r4  0xC  0x02106EFE  // wr:1+0, rd:1; hdc.dc1; untyped read
L944:
        mad (8|M0)  r74.0<1>:f  r74.0<8;1>:f  r24.0<8;1>:f  r6.3<0;1>:f  {Compacted}
        mad (8|M0)  r75.0<1>:f  r75.0<8;1>:f  r24.0<8;1>:f  r6.3<0;1>:f  {Compacted}
        mad (4|M0)  r76.0<1>:f  r76.0<8;1>:f  r24.0<8;1>:f  r6.3<0;1>:f  {Compacted}
        mad (8|M0)  r77.0<1>:d  r77.0<8;1>:d  r24.0<8;1>:d  r6.3<0;1>:d
        cmp (8|M0)  (lt)f0.1  null<1>:d  r6.0<0;1,0>:d  r6.1<0;1,0>:d
(W)  send (8|M0)  r5:uw  r4  0xA  0x021C0042  // wr:1h+0, rd:1; hdc.dc0; hword scratch block read x1
        while (8|M0)  L416
L952:
(W)  send (8|M0)  null  r127  0x27  0x02000010  {EOT} // wr:1+0, rd:0; spawner; end of thread
"""
TOKENS = """Kernel #0
\tKernelName gemm
Unidentified PatchToken:
\t4 Token 18
\t4 Size 16
\tHex 0 0 0 0 0 10 0 0
Unidentified PatchToken:
\t4 Token 15
\t4 Size 16
\tHex 0 0 0 0 0 41 0 0
Unidentified PatchToken:
\t4 Token 23
\t4 Size 140
\tHex 8 0 0 0 1 0 0 0 1 0 0 0 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 \
0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 80 0 0 0 24 \
0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 7 0 0 0
"""  # fmt: skip

# Two loops, one in the other. The inner one's dpas is 8 deep, of 8 rows, of 16 bits: 16 * 8 * 8 * 2
# multiply-adds of 16 lanes; the one before it adds to nothing, as compilers begin on Xe-HPG. The
# outer one finds a lane of a mask, but multiplies.
ZEBIN = """L0:
        mov (16|M0)  r4.0<1>:f  0.0:f
L16:
(W)  fbl (1|M0)  r5.0<1>:ud  r79.0<0;1,0>:uw
        mad (16|M0)  r29.0<1>:f  r29.0<1;0>:f  r14.0<1;0>:f  r112.0<0>:f  {$3.dst}
L32:
(W)  send.ugm (1|M0)  r50  r5  null:0  0x0  0x0220E580  {$3} // wr:1+0, rd:2; load.ugm.d32x32t.a64
        send.slm (16|M0)  r60  r5  null:0  0x0  0x0220E580  {$4} // wr:1+0, rd:4; load.slm.d32x4.a32
(W)  send.gtwy (1|M0)  null  r3  null  0x0  0x02000004  {$5} // wr:1+0, rd:0; signal barrier
        dpas.8x8 (16|M0)  r30:f  null:f  r30:bf  r30.0:bf  {Atomic}
        dpas.8x8 (16|M0)  r30:f  r30:f  r10:bf  r20.0:bf  {$6}
(f0.0)  goto.b (16|M0)  L48  L32
L48:
        join (16|M0)  L64
(W&f1.0) jmpi  L16
L64:
        while (16|M0)  L900
"""
ZE_INFO = """---
version:         '1.73'
kernels:
  - name:            other
    execution_env:
      grf_count:       256
  - name:            gemm
    execution_env:
      grf_count:       128
      private_size:    64
      simd_size:       16
      slm_size:        4096
      spill_size:      32
      eu_thread_count: 8
kernels_misc_info:
  - name:            gemm
    simd_size:       99
...
"""
# Says what ocloc would, from the folder DUMPS; fails for programs that are to fail.
FAKE = """#!/bin/sh
case $1 in
  query) echo '25.1.2 ' >OCL_DRIVER_VERSION ;;
  compile)
    [ "$2" != --help ] || { cat "$DUMPS/help"; exit 1; }
    if grep -q wrong "$3"; then
      echo "1:2: error: in kernel 'gemm': it is wrong"
      exit 1
    fi
    touch program.bin ;;
  disasm) cp -r "$DUMPS/$5" "$7" ;;
esac
"""


class Listings(TestCase):
    """With a program in ocloc's place."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("help", HELP)
        self.write("skl/gemm_KernelHeap.asm", LEGACY)
        self.write("skl/PTM.txt", TOKENS)
        self.write("bmg/.text.gemm.asm", ZEBIN)
        self.write("bmg/.ze_info", ZE_INFO)
        self.write("source.cl", "kernel void gemm () {}\n")
        self.ocloc = self.write("ocloc", FAKE)
        self.ocloc.chmod(self.ocloc.stat().st_mode | stat.S_IXUSR)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def environment(self):
        return {
            "GEMMCL_OCLOC": str(self.ocloc),
            "DUMPS": str(self.folder),
            "XDG_CACHE_HOME": str(self.folder),
        }

    def figures(self, target, *more):
        answer = self.folder / "figures.json"
        self.ends(
            0, "isa", "--source", self.folder / "source.cl", "--target", target, "--json", answer,
            *more, **self.environment(),
        )  # fmt: skip
        (figures,) = json.loads(answer.read_text(encoding="utf-8"))
        return figures

    def holds(self, what, **values):
        self.assertEqual({name: what[name] for name in values}, values)

    def test_legacy(self):
        figures = self.figures("skl")
        self.holds(figures, simd=8, registers=128, threads=7, slm=0x4100, why_not=None)
        self.holds(figures, spill=32, private_memory=0x42 * 32, compiler="25.1.2", hot=0)
        (loop,) = figures["loops"]
        self.holds(loop, parent=-1, instructions=10, multiply=3, mads=2.5, integers=2, control=2)
        # The spilled register's return is a load, too.
        self.holds(loop, loads=2, load_bytes=160, slm_loads=1, slm_load_bytes=32, moves=0)
        self.assertAlmostEqual(figures["density"], 0.25)

    def test_zebin(self):
        figures = self.figures("bmg")
        self.holds(figures, simd=16, registers=128, register_bytes=64, threads=8, slm=4096)
        self.holds(figures, spill=32, private_memory=64, resource_loops=0, hot=1)
        outer, inner = figures["loops"]
        self.holds(outer, parent=-1, instructions=4, mads=1, integers=1, control=2)
        self.holds(inner, parent=0, instructions=6, dpas=1, dpas_macs=128, floats=1)
        self.holds(inner, loads=1, load_bytes=128)
        self.holds(inner, slm_loads=1, slm_load_bytes=256, barriers=1, control=1)

    def test_remembered(self):
        first = self.figures("bmg")
        self.write("bmg/.ze_info", ZE_INFO.replace("128", "256"))
        self.assertEqual(self.figures("bmg"), first)
        for path in (self.folder / "gemmcl/isa").iterdir():
            path.write_text(path.read_text().replace("128", "129"))
        self.assertEqual(self.figures("bmg")["registers"], 256)

    def test_listing(self):
        self.figures("skl", "--listings", self.folder)
        self.assertEqual((self.folder / "gemm.skl.asm").read_text(), LEGACY)

    def test_does_not_build(self):
        self.write("source.cl", "wrong")
        figures = self.figures("skl")
        self.assertEqual(figures["why_not"], "it is wrong")
        self.assertEqual(figures["loops"], [])

    def test_unknown_target(self):
        self.refuses(1, "No ocloc here compiles for pvc", "isa", "--source",
                     self.folder / "source.cl", "--target", "pvc", "--json", "-",
                     **self.environment())  # fmt: skip


class Bytes(TestCase):
    """What adds up four products of bytes in an instruction is there as often as the tile says."""

    def test_dp4a(self):
        if OCLOC is None:
            self.skipTest(NO_OCLOC)
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder, "figures.json")
            self.ends(
                0, "isa", "-k", "dot_8x4_4x16", "--target", "tgllp,dg1,mtl", "--json", answer,
                GEMMCL_OCLOC=OCLOC,
            )  # fmt: skip
            for figures in json.loads(answer.read_text(encoding="utf-8")):
                with self.subTest(target=figures["target"]):
                    self.assertIsNone(figures["why_not"])
                    self.assertEqual([figures[flaw] for flaw in FLAWS], [0, 0, 0])
                    loop = figures["loops"][figures["hot"]]
                    # 8 x 4 outputs, 16 of K a turn.
                    self.assertEqual((loop["multiply"], loop["mads"]), (128, 512))


class Usage(TestCase):
    def test_refused(self):
        self.refuses(2, "not \"gen7\"", "isa", "--target", "gen7", GEMMCL_OCLOC="/bin/false")
        self.refuses(2, "no_such", "isa", "-k", "no_such", GEMMCL_OCLOC="/bin/true")
        self.refuses(2, "--entry", "isa", "-k", "gemm_naive", "--source", "x.cl")
        self.refuses(2, "row or col", "isa", "--layout", "diagonal")
        self.refuses(2, "1 or more", "isa", "-M", "0")

    def test_no_ocloc(self):
        isa = ("isa", "-k", "gemm_naive")
        self.refuses(1, "tools/ocloc.sh", *isa, GEMMCL_OCLOC="", PATH="/nowhere")
        self.refuses(1, "no version", *isa, GEMMCL_OCLOC="/bin/true")
        self.refuses(1, "could not be run", *isa, GEMMCL_OCLOC="/nowhere/ocloc")


if __name__ == "__main__":
    main()
