# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl check`: the contents of the report, and faults of kernels that it survives. TAP out."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import tool

KERNELS = ("gemm_naive", "tiled_4x4_8x8")
SHAPE = "16,48,32"
# Enough for compilers on a busy machine; a check ends when it is done.
SECONDS = ("--seconds", "600")
ROW = {"kernel", "precision", "needs", "level", "why", "seconds", "result", "subgroup_size",
       "private_bytes", "spill_bytes"}
ENTRY = {"precision", "layout", "m", "n", "k", "candidates", "rules", "tuned", "gain", "seconds"}


class Check(tool.FolderTestCase):
    def setUp(self):
        super().setUp()
        self.file = self.path("check.json")

    def check(self, status, *arguments, kernels=KERNELS, **environment):
        """Checks a few kernels; returns the report, its rows by name, and the output."""
        said = self.ends(status, "check", "-k", ",".join(kernels), "-o", self.file, *SECONDS,
                         *(arguments or (SHAPE,)), **environment)
        report = self.load(self.file)
        return report, {row["kernel"]: row for row in report["rows"]}, said


class Report(Check):
    def test_all_is_well(self):
        report, rows, said = self.check(0)
        device = self.read("devices", "--json")[0]
        for key in device.keys() - {"device"}:
            self.assertEqual(report["device"][key], device[key])
        self.assertEqual(report["format"], 2)
        self.assertEqual(set(report["system"]), {"system", "release", "machine"})
        self.assertNotIn(os.uname().nodename, json.dumps(report["system"]))
        self.assertEqual(set(rows), set(KERNELS))
        for row in rows.values():
            self.assertEqual(set(row), ROW)
            self.assertEqual((row["level"], row["result"], row["why"]), ("native", "ok", None))
        for words in ("2 of 2 native kernels are right", device["name"],
                      f"The report is in {self.file}."):
            self.assertIn(words, said.stdout)
        if report["shares_surfaces"]:
            self.assertIn(report["va"]["result"], ("absent", "passed"))
        else:
            self.assertEqual(report["va"]["result"], "absent")
            self.assertIn("cl_intel_va_api_media_sharing", report["va"]["why"])
        self.check_speed(report["speed"], said.stdout)
        self.check_shares(report, said.stdout)

    def check_speed(self, entries, table):
        self.assertEqual(entries[0]["precision"], "f32")
        self.assertEqual(entries[0]["rules"]["kernel"], self.choose(16, 48, 32))
        for entry in entries:
            self.assertEqual(set(entry), ENTRY)
            self.assertEqual((entry["m"], entry["n"], entry["k"]), (16, 48, 32))
            candidates = {one["kernel"]: one for one in entry["candidates"]}
            self.assertEqual(next(iter(candidates)), entry["rules"]["kernel"])
            self.assertLessEqual(len(candidates), 5)
            for one in entry["rules"], entry["tuned"]:
                timed = candidates[one["kernel"]]
                self.assertEqual((timed["why"], timed["gflops"]), (None, one["gflops"]))
            self.assertGreaterEqual(entry["gain"], 1)
            self.assertNotIn(True, [one["faulty"] for one in candidates.values()])
            self.assertRegex(table, rf"(?m)^16 x 48 x 32 +{entry['precision']} +\S+ +\d")

    def check_shares(self, report, table):
        """Shares are of the peak in the precision of the kernel, if that is known."""
        precisions = {row["name"]: row["precisions"] for row in self.read("kernels", "--json")}
        for entry in report["speed"]:
            row, = re.findall(rf"(?m)^16 x 48 x 32 +{entry['precision']} +(\S.*)$", table)
            cells = re.split(" {2,}", row)
            for one, share in (entry["rules"], cells[2]), (entry["tuned"], cells[5]):
                peak = report["device"]["peaks_gflops"][precisions[one["kernel"]]]
                self.assertEqual(share, f"{100 * one['gflops'] / peak:.1f} %" if peak else "-")

    def test_standard_output(self):
        said = self.ends(0, "check", "-k", KERNELS[0], "-o", "-", *SECONDS, SHAPE)
        self.assertEqual(json.loads(said.stdout)["rows"][0]["result"], "ok")
        self.assertIn("1 of 1 native kernels are right", said.stderr)

    def test_output_that_cannot_be_written(self):
        """Nothing is checked, so that the error is the only line."""
        self.refuses(1, r"\A.*No such file.*\n\Z", "check", "-k", KERNELS[0], *SECONDS, SHAPE, "-o",
                     self.path("none/check.json"))

    def test_default_file(self):
        subprocess.run([tool.TOOL, "check", "-k", KERNELS[0], *SECONDS, SHAPE], cwd=self.folder,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(os.listdir(self.folder), ["gemmcl-check.json"])

    def test_rows_that_are_not_native(self):
        foreign = [row["name"] for row in self.read("kernels", "--json") if row["here"] != "native"]
        if not foreign:
            self.skipTest("all are native here")
        _, rows, _ = self.check(0, kernels=(KERNELS[0], foreign[0]))
        self.assertNotIn("result", rows[foreign[0]])
        self.assertEqual(rows[KERNELS[0]]["result"], "ok")

    def test_every_precision_is_exact(self):
        """A row of each precision, and a row that takes few rows of A, are right."""
        rows = {row["precisions"]: row["name"] for row in self.read("kernels", "--json")
                if row["here"] == "native"}
        _, found, _ = self.check(0, kernels=("gemv_4x4_64x4", *rows.values()))
        self.assertEqual({row["result"] for row in found.values()}, {"ok"})


class Faults(Check):
    """A fault of a kernel is reported, and the other kernels are checked."""

    def test_of_kernels(self):
        found = {
            "tiled_4x4_8x8": ("wrong", r"^stored, 40 x 48 x 96: D \(0, 0\) is \S+, expected \S+; "
                                       r"\d+ of \d+ elements are wrong$"),
            "tiled_8x4_8x8": ("failed", r"Kernel tiled_8x4_8x8 is too much"),
            "tiled_8x8_8x8": ("failed", r"does not build natively"),
        }
        _, rows, said = self.check(1, kernels=("gemm_naive", *found), **tool.faults(
            GEMMCL_WRONG_KERNEL="tiled_4x4_8x8", GEMMCL_UNBUILT_KERNEL="tiled_8x4_8x8",
            GEMMCL_EMULATED_KERNEL="tiled_8x8_8x8"))
        self.assertEqual(rows["gemm_naive"]["result"], "ok")
        for kernel, (result, pattern) in found.items():
            self.assertEqual(rows[kernel]["result"], result)
            self.assertRegex(rows[kernel]["why"], pattern)
            self.assertIn(f"{kernel} {result}: ", said.stdout)
        self.assertIn("1 of 4 native kernels are right, 1 wrong, 2 failed, 0 lost", said.stdout)
        self.assertIn("3 faults were found", said.stderr)

    def test_spilling_is_no_fault(self):
        _, rows, said = self.check(0, **tool.faults(GEMMCL_SPILLING_KERNEL="tiled_4x4_8x8"))
        self.assertEqual(rows["tiled_4x4_8x8"]["spill_bytes"], 128)
        self.assertEqual(rows["gemm_naive"]["spill_bytes"], 0)
        self.assertRegex(said.stdout, "tiled_4x4_8x8 has .* 128 of them spilled")

    def test_wrong_where_it_is_timed(self):
        report, rows, said = self.check(1, **tool.faults(GEMMCL_WRONG_RESULTS=""))
        self.assertEqual({row["result"] for row in rows.values()}, {"ok"})
        for entry in report["speed"]:
            self.assertEqual({one["faulty"] for one in entry["candidates"]}, {True})
            self.assertIsNone(entry["tuned"])
        self.assertRegex(said.stdout, r"(?m)^  \S+: The result is wrong")

    def test_of_rows_that_would_be_timed(self):
        """A kernel that is wrong on exact problems is not timed, and counted once."""
        first = self.choose(16, 48, 32)
        report, rows, said = self.check(1, kernels=(KERNELS[0], first),
                                        **tool.faults(GEMMCL_WRONG_KERNEL=first))
        left, second = report["speed"][0]["candidates"][:2]
        self.assertEqual((left["why"], left["gflops"]), (rows[first]["why"], None))
        self.assertEqual(report["speed"][0]["rules"]["kernel"], second["kernel"])
        self.assertIn("1 faults were found", said.stderr)


class Losses(Check):
    """Lost processes, and checks that end early. Losses while kernels are timed: test-tune.py."""

    def test_device_always(self):
        rows = [row["name"] for row in self.read("kernels", "--json") if row["here"] == "native"]
        _, found, said = self.check(1, kernels=rows[:6], **tool.faults(GEMMCL_LOST_ALWAYS=""))
        results = [row["result"] for row in found.values()]
        self.assertEqual((results.count("lost"), results.count("not reached")), (4, 2))
        self.assertIn("4 lost", said.stdout)

    def test_hang(self):
        """A kernel that hangs where it is timed ends with the check's time."""
        report, rows, _ = self.check(0, kernels=KERNELS[:1], **tool.faults(
            GEMMCL_HANGING_KERNEL=self.choose(16, 48, 32), GEMMCL_HANG_SECONDS="700"))
        self.assertEqual(rows[KERNELS[0]]["result"], "ok")
        self.assertIsNone(report["speed"][0]["seconds"])

    def test_interrupt(self):
        with tool.start("check", "-k", KERNELS[0], "-o", self.file, *SECONDS,
                        "1024,1024,1024") as process:
            self.wait_for(process, process.stderr, "1024 x 1024 x 1024")
            self.interrupted(process)
        self.assertEqual(self.load(self.file)["rows"][0]["result"], "ok")

    def test_budget(self):
        said = self.ends(0, "check", "-o", self.file, "--seconds", "2")
        report = self.load(self.file)
        self.assertIn("not reached", said.stdout)
        self.assertIn("not reached", [row.get("result") for row in report["rows"]])
        shapes = {(entry["m"], entry["n"], entry["k"]) for entry in report["speed"]}
        self.assertEqual(len(shapes), 8)
        self.assertTrue({(1024, 1024, 1024), (1, 4096, 4096)} <= shapes)


class Surfaces(Check):
    """The results for VA surfaces with and without GStreamer, which a script replaces here."""

    def surfaces(self, status, launch):
        path = Path(self.path("gst-launch-1.0"))
        path.write_text(f"#!/bin/sh\n{launch}\n", encoding="ascii")
        path.chmod(stat.S_IRWXU)
        self.ends(status, "check", "-k", KERNELS[0], "-o", self.file, *SECONDS, SHAPE,
                  PATH=f"{self.folder}:{os.environ['PATH']}",
                  **tool.faults(GEMMCL_EXTENSIONS="cl_intel_va_api_media_sharing"))
        return self.load(self.file)["va"]

    def test_passed(self):
        said = Path(self.path("said"))
        va = self.surfaces(0, f'printf "%s\\n" "$@" > {said}')
        self.assertEqual((va["result"], va["why"]), ("passed", None))
        line = said.read_text(encoding="utf-8").replace("\n", " ")
        self.assertRegex(line, r"vapostproc ! video/x-raw\(memory:VAMemory\),\S+ ! gemmcl weight=")
        device = f'device="{self.load(self.file)["device"]["name"]}"'
        self.assertIn(device, said.read_text(encoding="utf-8").splitlines())

    def test_failed(self):
        va = self.surfaces(1, "echo ERROR: not negotiated >&2; exit 1")
        self.assertEqual((va["result"], va["said"]), ("failed", "ERROR: not negotiated"))
        self.assertIn("code 1", va["why"])

    def test_hangs(self):
        """A pipeline that hangs is not started again, so that other steps have their time."""
        starts = Path(self.path("starts"))
        va = self.surfaces(1, f"echo >> {starts}; exec sleep 1000")
        self.assertEqual(starts.read_text(), "\n")
        self.assertEqual(va["result"], "failed")
        self.assertRegex(va["why"], r"no answer in \d+ seconds")

    def test_without_vapostproc(self):
        va = self.surfaces(0, "echo 'erroneous: no element \"vapostproc\"' >&2; exit 1")
        self.assertEqual((va["result"], va["why"]),
                         ("absent", 'GStreamer has no element "vapostproc" here.'))


tool.main()
