# SPDX-License-Identifier: LGPL-2.1-or-later
"""isa.py: how it reads listings, and the kernels' figures with Intel's compilers. TAP out.

The compilers are named by GEMMCL_OCLOC, or the ocloc in PATH, or fetched earlier by ocloc.sh.
Releases 22.43 and 26.27 are tested if present. The rows for matrix engines and the densest
f32 rows are compiled; with GEMMCL_TEST_ISA=all every row that the rules may choose, which takes
half an hour the first time. The script keeps the figures in the user's cache directory."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partialmethod
from pathlib import Path
from unittest import mock

import isa
import isa_listing
import isa_rows
from tool import TOOL, FolderTestCase, TestCase, main

ROOT = Path(__file__).parent.parent.parent
ALL = os.environ.get("GEMMCL_TEST_ISA") == "all"
# Each release of ocloc, and the targets that it compiles for in Debian.
RELEASES = {"22.43": ["bdw", "skl", "icllp", "tgllp", "dg1", "dg2", "pvc"],
            "26.27": ["tgllp", "dg1", "dg2", "mtl", "arl-h", "pvc", "lnl", "bmg", "ptl"]}
# {(release, target): rows} that do not fit into registers, from make-isa-table.py's last table;
# plans reject them (tests/kernels/driver.py). All other rows must not spill.
REFUSED = {(release, target): re.findall("`(.*?)`", rows)
           for release, target, rows in re.findall(
               r"^\| ([\d.]+) \| ([\w-]+) \| ((?:`\w+` \d+ \+ \d+(?:, )?)+|none) \|$",
               (ROOT / "docs/internals/intel.md").read_text(encoding="utf-8"), re.M,
           )}
# The densest f32 row of a target, and its density at least.
DENSITIES = {"bdw": ("block_read_32x2_1x8", 0.9), "skl": ("block_read_32x2_1x8", 0.9),
             "dg2": ("block_read_16x4_1x8", 0.9), "pvc": ("buffer_read_16x2_1x16", 0.9),
             "lnl": ("buffer_read_8x4_4x16", 0.93), "bmg": ("buffer_read_8x4_4x16", 0.93),
             "ptl": ("buffer_read_8x4_4x16", 0.93)}


def find_ocloc():
    """(paths separated by colons, None), or (None, the reason why there are none)."""
    there = os.environ.get("GEMMCL_OCLOC") or shutil.which("ocloc")
    if there:
        return there, None
    command = [ROOT / "scripts/maintain/ocloc.sh", "--no-fetch", "sh", "-c",
               'printf %s "$GEMMCL_OCLOC"']
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return (said.stdout, None) if said.returncode == 0 else (None, said.stderr.strip())


OCLOC, NO_OCLOC = find_ocloc()
COMPILERS = {one.release: one for one in isa.find_compilers(OCLOC)} if OCLOC else {}


class CompilerTestCase(TestCase):
    def compile(self, release, targets, programs):
        if release not in COMPILERS:
            self.skipTest(NO_OCLOC or f"there is no ocloc {release}, but {', '.join(COMPILERS)}")
        return list(isa.compile_all([COMPILERS[release]], programs, targets))

    def compile_kernels(self, release, targets, names, *options):
        return self.compile(release, targets, isa.read_programs(names, *options, gemmcl=TOOL))

    def check_memory(self, figures, in_memory=False):
        self.assertIsNone(figures["why_not"])
        self.assertEqual(figures["spill"] + figures["private_memory"] > 0, in_memory)


class Registers(CompilerTestCase):
    """A test for each release and target, added below: rows that are not refused fit in registers.
    Rows for engines have all dpas, which compilers may omit silently."""

    def check_rows(self, release, target, rows, *more):
        refused = REFUSED[release, target]
        names = ",".join(row.name for row in rows)
        all_figures = self.compile_kernels(release, [target], names, *more)
        for row, figures in zip(rows, all_figures):
            with self.subTest(kernel=row.name, more=more):
                self.check_memory(figures, row.name in refused)
                if row.dpas:
                    dpas = figures["loops"][figures["hot"]]["dpas"]
                    self.assertEqual(dpas, isa_rows.count_dpas(row, figures["options"]))

    def check_target(self, release, target):
        rows = isa_rows.list_rows(release, target)
        densest, _ = DENSITIES.get(target, (None, 0))
        chosen = [row for row in rows if ALL or row.dpas or row.name == densest]
        if not chosen:
            self.skipTest("no row of this target is compiled without GEMMCL_TEST_ISA=all")
        self.check_rows(release, target, chosen)

    def check_stored(self, release, target):
        """Rows with A in the precision of the kernel."""
        engines = [row for row in isa_rows.list_rows(release, target) if row.dpas]
        for precision in "bf16", "f16":
            rows = [row for row in engines if row.precision == precision]
            self.check_rows(release, target, rows if ALL else rows[-1:], f"--a-type={precision}")


for release, targets in RELEASES.items():
    for target in targets:
        name = f"test_{target}_{release}"
        setattr(Registers, name, partialmethod(Registers.check_target, release, target))
        if target in isa_rows.ENGINES:
            stored = partialmethod(Registers.check_stored, release, target)
            setattr(Registers, f"{name}_stored", stored)


class Rows(CompilerTestCase):
    def test_whole_rows(self):
        """A row in which several subgroups share rows of D has enough registers for softmax, sum
        and max. The library does not use it for arg-max, which needs too many."""
        (program,) = isa.read_programs("xmx_i8_32x4_8x64", gemmcl=TOOL)
        softmax = program.options.replace("_NONE", "_SOFTMAX")
        self.assertNotEqual(softmax, program.options)
        program.options = (f"{softmax} -DWHOLE_ROWS -DROWS_ACROSS -DROW_COUNT=2 -DROW_SUM=1 "
                           "-DROW_MAX=1 -DROW_ARG_MAX=0 -DROW_TOP_K=0")
        for figures in self.compile("26.27", ["bmg", "ptl"], [program]):
            with self.subTest(target=figures["target"]):
                self.check_memory(figures)

    def test_densest(self):
        for target, (name, least) in DENSITIES.items():
            release = "26.27" if target in RELEASES["26.27"] else "22.43"
            # Outside of the subtest, since each subtest would count as a skipped test.
            (figures,) = self.compile_kernels(release, [target], name)
            with self.subTest(target=target):
                self.check_memory(figures)
                self.assertEqual(figures["resource_loops"], 0)
                self.assertGreaterEqual(figures["density"], least)

    def test_dp4a(self):
        """The loop has as many dp4a, each of four int8 products, as the tile needs."""
        for figures in self.compile_kernels("26.27", ["tgllp", "dg1", "mtl"], "dot_8x4_4x16"):
            with self.subTest(target=figures["target"]):
                self.check_memory(figures)
                self.assertEqual(figures["resource_loops"], 0)
                loop = figures["loops"][figures["hot"]]
                # 8 x 4 outputs, 16 of K in an iteration.
                self.assertEqual((loop["multiply"], loop["mads"]), (128, 512))


HELP = """  -device <device_type>   Target device.
   <device_type> can be: skl, bmg, version or hexadecimal value
"""

# A loop of two multiply-adds of all lanes, one of half the lanes, and one of integers. The path
# through the loads does not count.
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
        cmp (8|M0)  (lt)f0.1  null<1>:f  r6.0<0;1,0>:f  r6.1<0;1,0>:f
(W)  send (8|M0)  r5:uw  r4  0xA  0x021C0042  // wr:1h+0, rd:1; hdc.dc0; hword scratch block read x1
        while (8|M0)  L416
(W)  send (8|M0)  null  r127  0x27  0x02000010  {EOT} // wr:1+0, rd:0; spawner; end of thread
"""
OLD_INFO = """---
version:         '1.20'
kernels:
  - name:            gemm
    execution_env:
      grf_count:       128
      simd_size:       8
      slm_size:        16640
    per_thread_memory_buffers:
      - type:            scratch
        usage:           spill_fill_space
        size:            1024
      - type:            global
        usage:           private_space
        size:            256
        is_simt_thread:  true
kernels_misc_info:
...
"""

# Two nested loops. The inner one's dpas is 8 deep, with 8 rows of 16 bits: 16 * 8 * 8 * 2
# multiply-adds of 16 lanes. The dpas before it has no accumulator, as compilers emit it on Xe-HPG.
# The outer loop finds a lane of a mask, but multiplies. The prefetching path through the inner loop
# does not count.
ZEBIN = """L0:
        mov (16|M0)  r4.0<1>:f  0.0:f
L16:
(W)  fbl (1|M0)  r5.0<1>:ud  r79.0<0;1,0>:uw
        mad (16|M0)  r29.0<1>:f  r29.0<1;0>:f  r14.0<1;0>:f  r112.0<0>:f  {$3.dst}
(W)  send.ugm (1|M0)  null  r5  null:0  0x0  0x02080203  // wr:1+0, rd:0; load_block2d.ugm.d32.a64
L32:
(W&f0.1) jmpi  L40
(W)  add (1|M0)  r5.0<1>:d  r5.0<0;1,0>:d  8:d
(W)  send.ugm (1|M0)  null  r5  null:0  0x0  0x02080203  // wr:1+0, rd:0; load_block2d.ugm.d32.a64
L40:
(W)  send.ugm (16|M0)  r50  r5  null:0  0x0  0x0220E580  {$3} // wr:1+0, rd:4; load.ugm.d32x32t.a64
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
kernels_misc_info:
  - name:            gemm
    simd_size:       99
...
"""
# A fake ocloc with the output in the folder DUMPS; it fails for programs with the word "wrong".
FAKE = """#!/bin/sh
case $1 in
  query) printf '25.1.2 \\0' >OCL_DRIVER_VERSION ;;
  compile)
    [ "$2" != --help ] || { cat "$DUMPS/help"; exit 1; }
    if grep -q wrong "$3"; then
      echo "1:2: error: in kernel 'gemm': it is wrong"
      exit 1
    fi
    touch program.bin ;;
  disasm) cp -r "$DUMPS/$5/." "$7" ;;
esac
"""


def run_script(*arguments, **environment):
    command = [sys.executable, ROOT / "scripts/maintain/isa.py", "--gemmcl", TOOL, *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True,
                          check=False)


class Listings(FolderTestCase):
    FILES = {"help": HELP, "ocloc": FAKE, "skl/.text.gemm.asm": LEGACY, "skl/.ze_info": OLD_INFO,
             "bmg/.text.gemm.asm": ZEBIN, "bmg/.ze_info": ZE_INFO}

    def setUp(self):
        super().setUp()
        patch = mock.patch.dict(os.environ, DUMPS=self.folder, XDG_CACHE_HOME=self.folder)
        patch.start()
        self.addCleanup(patch.stop)
        self.folder = Path(self.folder)
        for name, text in self.FILES.items():
            self.write(name, text)
        self.ocloc = self.folder / "ocloc"
        self.ocloc.chmod(0o755)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def figures(self, target, source="right", listings=None):
        compilers = isa.find_compilers(str(self.ocloc))
        program = isa.Program("gemm", source, "")
        return isa.compile_program(compilers, program, target, listings)

    def holds(self, what, **values):
        self.assertEqual({name: what[name] for name in values}, values)

    def test_legacy(self):
        figures = self.figures("skl")
        self.holds(figures, simd=8, registers=128, slm=16640, why_not=None, hot=0)
        self.holds(figures, spill=1024, private_memory=256, compiler="25.1.2")
        (loop,) = figures["loops"]
        self.holds(loop, parent=-1, instructions=10, multiply=3, mads=2.5, integers=1, control=2)
        # Reading back a spilled register is a load, too.
        self.holds(loop, loads=2, load_bytes=160, slm_loads=1, others=1)
        self.assertAlmostEqual(figures["density"], 0.25)

    def test_zebin(self):
        figures = self.figures("bmg")
        self.holds(figures, simd=16, registers=128, register_bytes=64, slm=4096)
        self.holds(figures, spill=32, private_memory=64, resource_loops=0, hot=1)
        outer, inner = figures["loops"]
        self.holds(outer, parent=-1, instructions=5, mads=1, integers=1, control=2, others=1)
        self.holds(inner, parent=0, instructions=7, dpas=1, dpas_macs=128, others=1)
        self.holds(inner, loads=1, load_bytes=128, integers=0)
        self.holds(inner, slm_loads=1, barriers=1, control=2)

    def test_resource_loops(self):
        find, load = "(W) fbl (1|M0) r5:ud r7:uw\n", "send (8|M0) r9 r5 0x0 // wr:1, rd:1; read\n"
        inner = "L2:\n(f0.1) jmpi L2\n"
        multiply = "mad (8|M0) r9:f r9:f r9:f r9:f\n"
        for body, number in ((find + load, 1), (find, 0), (load, 0), (find + load + multiply, 0),
                             (find + load + inner, 0)):
            with self.subTest(body=body):
                instructions = isa_listing.read_listing(f"L1:\n{body}while (8|M0) L1\n", 32)
                loops = isa_listing.find_loops(instructions, 8)
                self.assertEqual(loops["resource_loops"], number)

    def test_newest_compiler(self):
        old = self.folder / "old"
        old.write_text(FAKE.replace("25.1.2", "9.30.4"), encoding="utf-8")
        old.chmod(0o755)
        compilers = isa.find_compilers(f"{old}:{self.ocloc}")
        self.assertEqual([one.version for one in compilers], ["25.1.2", "9.30.4"])

    def test_listing(self):
        self.figures("skl")
        self.figures("skl", listings=self.folder)
        self.assertEqual((self.folder / "gemm.skl.asm").read_text(), LEGACY)

    def test_remembered(self):
        first = self.figures("bmg")
        self.write("bmg/.ze_info", ZE_INFO.replace("128", "256"))
        self.assertEqual(self.figures("bmg"), first)
        self.assertEqual(self.figures("bmg", "another")["registers"], 256)
        for path in isa.get_cache().iterdir():
            path.write_text(path.read_text()[:-1])
        self.assertEqual(self.figures("bmg")["registers"], 256)

    def test_does_not_build(self):
        figures = self.figures("skl", "wrong")
        self.holds(figures, why_not="it is wrong", loops=[], hot=-1, spill=0)

    def test_script(self):
        said = run_script("-k", "gemm_naive", "--ocloc", self.ocloc, "--json", "-")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual([one["target"] for one in json.loads(said.stdout)], ["skl", "bmg"])
        row = "gemm_naive skl 8 128 1024 256 10 2.5 0 2 160 1 0 0.250"
        self.assertIn(row.split(), [line.split() for line in said.stderr.splitlines()])
        self.assertRegex(said.stderr, r"gemm_naive +bmg .* in an outer loop\n")

    def test_unknown_target(self):
        with self.assertRaisesRegex(isa.IsaError, "No ocloc here compiles for pvc"):
            self.figures("pvc")


class Usage(TestCase):
    def test_refused(self):
        naive = ("-k", "gemm_naive")
        for status, pattern, arguments, environment in (
            (2, 'not "gen7"', ("--target", "gen7"), {}), (2, "no_such", ("-k", "no_such"), {}),
            (1, "scripts/maintain/ocloc.sh", naive, {"GEMMCL_OCLOC": "", "PATH": "/nowhere"}),
            (1, "no version", naive, {"GEMMCL_OCLOC": "/bin/true"}),
            (1, "No such file", naive, {"GEMMCL_OCLOC": "/nowhere/ocloc"}),
        ):
            with self.subTest(arguments=arguments):
                said = run_script(*arguments, **environment)
                self.assertEqual((said.returncode, said.stdout), (status, ""))
                self.assertRegex(said.stderr, pattern)


main()
