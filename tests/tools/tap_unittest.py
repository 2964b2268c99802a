# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""TAP on standard output for tests that unittest runs."""

import sys
import traceback
import unittest


class Tap(unittest.TestResult):
    """Prints a line per test as it ends."""

    failing = None
    skipped_number = 0

    def line(self, word, test, directive=""):
        name = test.id().replace("__main__.", "", 1)
        print(f"{word} {self.testsRun} {name}{directive}", flush=True)

    def wrong(self, test, error):
        # Subtests fail separately, but have no lines of their own.
        if self.failing is not test:
            self.line("not ok", test)
        self.failing = test
        for line in "".join(traceback.format_exception(*error)).splitlines():
            print(f"# {line}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        # Subtests are skipped separately, too.
        if self.skipped_number != self.testsRun:
            self.line("ok", test, f" # SKIP {reason}")
        self.skipped_number = self.testsRun

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.wrong(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self.wrong(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.wrong(test, err)
            print(f"# in {subtest.id()}", flush=True)


def main():
    """Runs the tests of the main module."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}", flush=True)
    result = Tap()
    suite.run(result)
    sys.exit(not result.wasSuccessful())
