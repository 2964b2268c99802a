# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers for the tests of the command-line tool GEMMCL_TOOL."""

import json
import os
import signal
import subprocess
import unittest
from contextlib import suppress

import tap_unittest
from tap_unittest import main  # noqa: F401
from tap import skip_all  # noqa: F401

with suppress(ImportError):  # only MatrixTestCase needs it
    import numpy

TOOL = os.environ.get("GEMMCL_TOOL")
COMMANDS = ("devices", "kernels", "check", "bench", "tune", "warm", "run", "quantize", "import")
SECONDS = 500


def pipes(environment):
    """Arguments of subprocess: output as text, and an environment that adds to this process's."""
    return {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
            "text": True, "env": {**os.environ, **environment}}


def run(*arguments, **environment):
    return subprocess.run([TOOL, *map(str, arguments)], **pipes(environment), timeout=SECONDS,
                          check=False)


def start(*arguments, **environment):
    return subprocess.Popen([TOOL, *map(str, arguments)], **pipes(environment))


def read_process(pid, name):
    """The text of a file of /proc about a process; "" if the process has ended."""
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def has_ended(pid):
    return read_process(pid, "stat").rpartition(")")[2].split()[:1] in ([], ["Z"])


def workers(process):
    children = read_process(process.pid, f"task/{process.pid}/children").split()
    return [int(pid) for pid in children if not has_ended(pid)]


def faults(**variables):
    """The environment of a tool with the faults that the variables name; see faults.c."""
    return {"LD_PRELOAD": os.environ["GEMMCL_FAULTS"], **variables}


class TestCase(unittest.TestCase):
    maxDiff = None

    def ends(self, status, *arguments, **environment):
        said = run(*arguments, **environment)
        self.assertEqual(said.returncode, status, f"gemmcl {arguments}: {said.stdout}{said.stderr}")
        return said

    def refuses(self, status, pattern, *arguments, **environment):
        """The tool must exit with that status and print a reason that matches the pattern."""
        said = self.ends(status, *arguments, **environment)
        self.assertRegex(said.stderr, pattern)
        self.assertEqual(said.stdout, "")

    def wait_for(self, process, stream, text):
        """Reads lines up to one with that text, which the process must print."""
        while text not in stream.readline():
            self.assertIsNone(process.poll())

    def interrupted(self, process):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("Ctrl-C", errors)

    def load(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def read(self, *arguments, **environment):
        """Runs the tool, which must print only JSON on the standard output."""
        return json.loads(self.ends(0, *arguments, **environment).stdout)

    def choose(self, m, n, k):
        result, = self.read("bench", "-M", m, "-N", n, "-K", k, "-i", 0, "-k", "rules", "--json",
                            "-")
        return result["kernel"]


class FolderTestCase(TestCase, tap_unittest.FolderTestCase):
    """A TestCase with a folder for files."""


class MatrixTestCase(FolderTestCase):
    """A FolderTestCase with random matrices and their files. It needs NumPy."""

    def setUp(self):
        super().setUp()
        self.random = numpy.random.default_rng(3)

    def make(self, *shape):
        return self.random.uniform(-1, 1, shape).astype(numpy.float32)

    def save(self, name, array):
        path = self.path(f"{name}.npy")
        numpy.save(path, array)
        return path
