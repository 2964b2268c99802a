# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packs tests with scripts/maintain/portable-tests.py, moves the folder and runs it. TAP out."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import tool

SOURCE, BUILD = map(Path, sys.argv[1:])
# Tests of the library that need no device.
NAMES = ["matrix", "first-use"]
KEPT = 10  # seconds that run.py reserves for ending tests
ENDLESS = 10000


def make_test(name, script, timeout=60):
    return {"name": name, "cmd": ["sh", "-c", script], "env": {}, "timeout": timeout,
            "protocol": "exitcode"}


class Portable(tool.FolderTestCase):
    def run_python(self, status, *command):
        """Runs a script, whose environment has nothing of the build. Returns its output."""
        kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
        said = subprocess.run([sys.executable, *map(str, command)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=kept, check=False)
        self.assertEqual(said.returncode, status, said.stdout)
        return said.stdout

    def make_folder(self, tests):
        """Packs these tests, as scripts/maintain/portable-tests.py does."""
        folder = Path(self.folder)
        shutil.copy(SOURCE / "scripts/maintain/portable-run.py", folder / "run.py")
        shutil.copy(SOURCE / "scripts/maintain/test-results.py", folder)
        (folder / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
        return folder

    def test_packed_tests_run(self):
        packed, moved = Path(self.path("packed")), Path(self.path("moved"))
        self.run_python(0, SOURCE / "scripts/maintain/portable-tests.py", "--no-build",
                        "--build", BUILD, "--output", packed, "--suite", "lib")
        packed.rename(moved)
        # The test of the device needs a machine with one.
        (moved / "build" / "tools" / "gemmcl").unlink(missing_ok=True)
        said = self.run_python(0, moved / "run.py", *NAMES)
        self.assertRegex(said, r" passed, 0 failed, .*\n\Z")

    def test_results_are_counted(self):
        folder = self.make_folder([
            make_test("good", "exit 0"), make_test("bad", "echo this is why; exit 3"),
            make_test("none", "echo no reason; exit 77"),
            make_test("endless", f"sleep {ENDLESS} & wait", timeout=1),
            {"name": "elsewhere", "left_out": "there is none", "timeout": 60, "protocol": "tap"},
        ])
        said = self.run_python(1, folder / "run.py")
        self.assertTrue(said.endswith("\n1 passed, 2 failed, 2 skipped\n"), said)
        self.assertIn("portable elsewhere: there is none", said)
        self.assertIn("portable endless: TIMEOUT", said)
        logs = {path.name: path.read_text("utf-8") for path in (folder / "logs").iterdir()}
        self.assertEqual(set(logs), {"bad.txt", "endless.txt"})
        self.assertIn("this is why", logs["bad.txt"])
        self.assertNotIn("could not be ended", logs["endless.txt"])

    def test_limit_is_kept(self):
        folder = self.make_folder([make_test(f"slow-{i}", f"sleep {ENDLESS}", ENDLESS)
                                   for i in range(3)])
        said = self.run_python(1, folder / "run.py", "--jobs", 2, "--limit", KEPT + 1)
        self.assertTrue(said.endswith("\n0 passed, 3 failed, 0 skipped\n"), said)


tool.main()
