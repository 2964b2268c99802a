# SPDX-License-Identifier: LGPL-2.1-or-later
"""TAP on standard output for tests that unittest runs."""

import ctypes
import gc
import os
import re
import sys
import tempfile
import unittest
from functools import partial
from pathlib import Path

import tap

IS_SANITIZED = hasattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check")
# In a line of a stack: a source in a folder of lib/ or gst/, or a binary without symbols
OURS = r"/(lib|gst)/\w+/[\w-]+\.c:|libgemmcl\.so|libgstgemmcl\.so"


class FolderTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        Path(self.path(name)).write_bytes(content)
        return self.path(name)


def run(test):
    """Returns the faults of a test; subtests fail separately."""
    result = unittest.TestResult()
    test.run(result)
    faults = [f"{part.id()}: {text}" for part, text in result.failures + result.errors]
    if result.skipped and not faults:
        raise tap.Skipped(result.skipped[0][1])
    return faults


def find_leaks():
    """Returns the memory that the library or the element lost, from LeakSanitizer's report. Memory
    that Python and its modules keep is reported, too, but its stacks have no function of ours."""
    gc.collect()
    sanitizer = ctypes.CDLL(None)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, f"leaks.{os.getpid()}")

        @ctypes.CFUNCTYPE(None)
        def die():
            """Prints the report when the sanitizer fails and ends the process, since
            scripts/maintain/test-results.py looks for its message."""
            sys.stderr.write(report.read_text("utf-8", "replace"))
            sys.stderr.flush()
        sanitizer.__sanitizer_set_death_callback(die)
        sanitizer.__sanitizer_set_report_path(os.fsencode(report.with_suffix("")))
        sanitizer.__lsan_do_recoverable_leak_check()
        sanitizer.__sanitizer_set_report_path(b"stderr")
        sanitizer.__sanitizer_set_death_callback(None)
        leaks = report.read_text("utf-8", "replace").split("\n\n") if report.exists() else []
    return [leak for leak in leaks if re.search(OURS, leak) and " leak of " in leak]


def main():
    """Runs the tests of the main module, and drops each test with all that it holds. With -p only
    the tests whose names begin with one of the following arguments run, such as Class.test_it."""
    main_module = sys.modules["__main__"]
    checks = {test.id().replace("__main__.", "", 1): partial(run, test)
              for tests in unittest.defaultTestLoader.loadTestsFromModule(main_module)
              for test in tests}
    if "-p" in sys.argv:
        names = tuple(sys.argv[sys.argv.index("-p") + 1:])
        for name in names:
            if not any(title.startswith(name) for title in checks):
                sys.exit(f"no test's name begins with {name}")
        checks = {title: checks[title] for title in checks if title.startswith(names)}
    if IS_SANITIZED and "detect_leaks=0" not in os.environ.get("ASAN_OPTIONS", ""):
        checks["no memory is lost"] = find_leaks
    tap.play(checks)
