# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl tune`: its results are stored and used, and it survives its worker. TAP out."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import tap
import tool

KEYS = {"device", "driver", "precision", "layout", "m", "n", "k", "seconds", "rules", "tuned",
        "gain", "stored", "candidates"}
# Enough for compilers on a busy machine; a search ends when it is done.
TIME = ("--time", "600")

# Separate cache directories, so that results here affect no other test; built kernels are kept.
CACHE = os.path.join(os.environ["XDG_CACHE_HOME"], "tune")
FILE = os.path.join(CACHE, "gemmcl", "tuning.json")
os.environ["XDG_CACHE_HOME"] = CACHE
os.environ.setdefault("POCL_CACHE_DIR", os.path.join(CACHE, "pocl"))

PROGRESS = (r"\A1 of 2: 8 x 8 x 8 f32, \d+ (s|min) left\n"
            r"2 of 2: 24 x 40 x 32 f32, \d+ (s|min) left\Z")

class Tune(tool.FolderTestCase):
    def setUp(self):
        super().setUp()
        self.forget()
        self.addCleanup(self.forget)

    def forget(self):
        Path(FILE).unlink(missing_ok=True)

    def entries(self):
        return [entry for entry in self.read("tune", "--list", "--json", "-")
                if entry["source"] == "tuned"]

    def known(self):
        return {(entry["m"], entry["n"], entry["k"]): entry["kernel"] for entry in self.entries()}


class Results(Tune):
    def test_is_remembered_and_used(self):
        found = self.read("tune", "48,40,32", "5x6x7", *TIME, "--json", "-")
        self.assertEqual([(one["m"], one["n"], one["k"]) for one in found],
                         [(48, 40, 32), (5, 6, 7)])
        for one in found:
            self.assertEqual(set(one), KEYS)
            self.assertEqual((one["precision"], one["layout"], one["stored"]), ("f32", "row", True))
            self.assertGreaterEqual(one["gain"], 1)
            self.assertGreater(one["rules"]["gflops"], 0)
            if one["gain"] == 1:
                self.assertEqual(one["tuned"], one["rules"])
            self.assertIsNone({c["kernel"]: c["why"] for c in one["candidates"]}
                              [one["tuned"]["kernel"]])
        self.assertEqual(self.known(), {
            (one["m"], one["n"], one["k"]): one["tuned"]["kernel"] for one in found})
        used, = self.read("bench", "-M", 48, "-N", 40, "-K", 32, "-i", 0, "--json", "-")
        self.assertEqual((used["kernel"], used["choice"]), (found[0]["tuned"]["kernel"], "tuned"))
        self.assertEqual(self.load(FILE)["version"], 1)

    def test_output_that_cannot_be_written(self):
        """Nothing is measured if the results could not be written."""
        self.refuses(1, "No such file", "tune", "9,9,9", *TIME, "--json",
                     self.path("none/tune.json"))
        self.assertEqual(self.known(), {})

    def test_listed_and_forgotten(self):
        self.ends(0, "tune", "33,17,9", "--layout", "col", "--precision", "f16", *TIME)
        entry, = self.entries()
        self.assertEqual((entry["layout"], entry["precision"]), ("col", "f16"))
        self.assertRegex(self.ends(0, "tune", "--list").stdout,
                         r"(?m)\AM x N(?:.*\n)+33 x 17 x 9 +f16 +col +\S+ +\d+\.\d+ +tuned$")
        self.ends(0, "tune", "--forget")
        self.assertEqual(self.known(), {})

    def test_nothing_is_known(self):
        said = self.ends(0, "tune", "--list", "--json", "-")
        if json.loads(said.stdout):
            self.skipTest("entries for this device ship with the library")
        name = self.read("devices", "--json")[0]["name"]
        sentence = f"Nothing is known of {name} yet."
        self.assertTrue(said.stderr.startswith(sentence), said.stderr)
        self.assertTrue(self.ends(0, "tune", "--list").stdout.startswith(sentence))

    def test_dry_run_remembers_nothing(self):
        one, = self.read("tune", "8,8,8", "--dry-run", *TIME, "--json", "-")
        self.assertIs(one["stored"], False)
        self.assertIsNotNone(one["tuned"])
        self.assertFalse(os.path.exists(FILE))


class Broken(Tune):
    """Tuning goes on after a kernel with a fault."""

    def tune(self, **broken):
        """Tunes with broken kernels. Returns the result, {kernel: why it left} and the errors."""
        said = self.ends(0, "tune", "24,40,32", *TIME, "--json", "-",
                         **tool.faults(GEMMCL_HANG_SECONDS="100", **broken))
        found, = json.loads(said.stdout)
        self.assertEqual(self.known(), {(24, 40, 32): found["tuned"]["kernel"]})
        return found, {one["kernel"]: one["why"] for one in found["candidates"]}, said.stderr

    def test_one_of_them(self):
        """Breaks the rules' choice. Only this candidate must leave, and for this reason."""
        first = self.choose(24, 40, 32)
        died, silent = r"Child process killed by signal 9\b", r"There was no answer in \d+ sec"
        for variable, pattern in {
            "WRONG_KERNEL": "The result is wrong", "UNBUILT_KERNEL": "Kernel .* is too much",
            "CRASHING_KERNEL": died, "CRASHING_RUN": died, "HANGING_KERNEL": silent,
            "HANGING_RUN": silent, "EMULATED_KERNEL": "It does not build natively",
            "SPILLING_KERNEL": "It spills",
        }.items():
            with self.subTest(variable=variable):
                self.forget()
                found, why, errors = self.tune(**{f"GEMMCL_{variable}": first})
                self.assertRegex(why.pop(first), pattern)
                self.assertNotIn(first, (found["rules"]["kernel"], found["tuned"]["kernel"]))
                self.assertEqual([one for one in why.values() if re.match(pattern, one or "")], [])
                reported = 0 if variable == "SPILLING_KERNEL" else 1
                self.assertEqual(errors.count(f"{first} is out: "), reported, errors)

    def test_later_problems(self):
        """A kernel that crashed is not tried for another problem."""
        first = self.choose(24, 40, 32)
        found = self.read("tune", "24,40,32", "24,40,33", *TIME, "--json", "-",
                          **tool.faults(GEMMCL_CRASHING_KERNEL=first))
        for entry, faulty in zip(found, (True, False)):
            one, = (one for one in entry["candidates"] if one["kernel"] == first)
            self.assertIs(one["faulty"], faulty)
            self.assertIn("signal 9", one["why"])

    def test_all_spill(self):
        found, why, errors = self.tune(GEMMCL_SPILLING_KERNEL="*")
        first = self.choose(24, 40, 32)
        self.assertEqual((found["rules"]["kernel"], found["tuned"]["kernel"]), (first, first))
        self.assertIsNone(why.pop(first))
        self.assertEqual(set(why.values()), {"It spills registers."})
        self.assertNotIn("is out", errors)


class Progress(Tune):
    def test_on_a_terminal(self):
        """The progress is one changing line, which is erased before other lines and at the end."""
        master, slave = pty.openpty()
        with os.fdopen(master, "rb", buffering=0) as terminal:
            with subprocess.Popen([tool.TOOL, "tune", "8,8,8", "24,40,32", *TIME],
                                  env={**os.environ, "TERM": "xterm"}, stdin=subprocess.DEVNULL,
                                  stdout=slave, stderr=slave) as process:
                os.close(slave)
                drawn = b""
                with contextlib.suppress(OSError):  # no process has the terminal open
                    while True:
                        drawn += terminal.read(4096)
        self.assertEqual(process.returncode, 0, drawn)
        *lines, last = drawn.decode().split("\r\x1b[K")
        self.assertRegex("\n".join(line for line in lines if " of " in line), PROGRESS)
        self.assertEqual(last, "")

    def test_not_in_a_pipe(self):
        said = self.ends(0, "tune", "8,8,8", "24,40,32", *TIME)
        self.assertRegex(said.stderr[:-1], PROGRESS)


class Failures(Tune):
    def test_wrong_results_are_not_believed(self):
        said = self.ends(1, "tune", "8,8,8", *TIME, **tool.faults(GEMMCL_WRONG_RESULTS=""))
        self.assertRegex(said.stderr, r"gemm_naive is out: The result is wrong: .* 0\.5\b")
        self.assertIn("No kernel works", said.stderr)
        self.assertFalse(os.path.exists(FILE))

    def test_file_that_cannot_be_written(self):
        said = self.ends(1, "tune", "8,8,8", "24,40,32", *TIME, XDG_CACHE_HOME="/dev/null")
        self.assertRegex(said.stderr, "gemmcl tune: /dev/null/gemmcl: .*\n$")
        self.assertIn("\n8 x 8 x 8 ", said.stdout)
        self.assertNotIn("24 x 40 x 32 ", said.stdout.splitlines()[-1])

    def test_locked_file(self):
        """A process that keeps the lock does not keep the tool."""
        self.ends(0, "tune", "--forget")
        with open(os.path.join(CACHE, "gemmcl", "tuning.lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refuses(1, "tuning.lock: .*another process holds the lock", "tune", "--forget")

    def test_too_large(self):
        said = self.ends(1, "tune", "2147483647,2147483647,1", "8,8,8", *TIME)
        self.assertRegex(said.stderr, "2147483647 x 1: The bytes of D cannot be counted")
        self.assertEqual(list(self.known()), [(8, 8, 8)])

    def test_interrupt_keeps_what_was_found(self):
        path = self.path("tune.json")
        with tool.start("tune", "8,8,8", "1024,1024,1024", *TIME, "--json", path) as process:
            self.wait_for(process, process.stdout, "8 x 8 x 8")
            self.interrupted(process)
        self.assertEqual([one["m"] for one in self.load(path)], [8])
        self.assertIn((8, 8, 8), self.known())


class Worker(Tune):
    """The tool survives crashes and hangs of the process that runs the kernels."""

    def test_lost_device(self):
        once = Path(self.path("once"))
        once.touch()
        said = self.ends(0, "tune", "48,40,32", *TIME, **tool.faults(GEMMCL_LOST_ONCE=str(once)))
        self.assertFalse(once.exists())
        self.assertRegex(said.stderr, r" is out: clWaitForEvents .*(-5|CL_OUT_OF_RESOURCES)\b")
        self.assertEqual(said.stderr.count(" is out: "), 1, said.stderr)
        self.assertEqual(list(self.known()), [(48, 40, 32)])

    def test_ends_with_the_tool(self):
        """The end of the tool also ends a worker that hangs."""
        faults = tool.faults(GEMMCL_HANGING_KERNEL="*")
        with tool.start("tune", "8,8,8", *TIME, **faults) as process:
            while not (hanging := [pid for pid in tool.workers(process)
                                   if tool.read_process(pid, "comm") == "hangs\n"]):
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            process.kill()
            process.communicate(timeout=tool.SECONDS)
        child, = hanging
        self.assertTrue(tap.wait_until(lambda: tool.has_ended(child)))

    def test_repeated_crashes(self):
        with tool.start("tune", "8,8,8", "1024,1024,1024", *TIME) as process:
            self.wait_for(process, process.stdout, "8 x 8 x 8")
            while process.poll() is None:
                for worker in tool.workers(process):
                    os.kill(worker, signal.SIGKILL)
                time.sleep(0.02)
            _, errors = process.communicate(timeout=tool.SECONDS)
        self.assertEqual(process.returncode, 1, errors)
        self.assertRegex(errors, r"lost \d times in a row.*signal 9")
        self.assertEqual(list(self.known()), [(8, 8, 8)])


tool.main()
