# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disk cache of programs. GLib reads its path once in a process, so each probe is a process."""

import contextlib
import hashlib
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

from gemmcl import ENVIRONMENT, TestCase, enter_cache, get_device
from tap_unittest import main

HEAD = 136  # bytes of magic, key and sum, see lib/device/cache.h
NONE, RELU = 0, 1
# Prints act (3 * -2), computed on the device; loads no NumPy.
PROBE = """
import sys
from ctypes import byref, c_float
from library import AUTO, Context, Gemm
context, a, b, d = Context(AUTO), c_float(3), c_float(-2), c_float()
gemm = Gemm(m=1, n=1, k=1, alpha=1, a_scale=1, activation=int(sys.argv[1]))
context.call("gemm_run", context.context, byref(gemm), b"gemm_naive", byref(a), byref(b), None,
             None, byref(d))
print(f"{d.value:g}")
"""


class Cache(TestCase):
    def setUp(self):
        super().setUp()
        get_device()
        self.set_home("home")

    def set_home(self, name):
        self.home = Path(self.folder) / name
        self.dir = self.home / "gemmcl"

    def start(self, activation=NONE, **environment):
        return subprocess.Popen(
            [sys.executable, "-c", PROBE, str(activation)], stdout=subprocess.PIPE,
            env={**ENVIRONMENT, "XDG_CACHE_HOME": str(self.home), **environment}, text=True)

    def ends(self, process, expected="-6"):
        said = process.communicate()[0]
        self.assertEqual((process.returncode, said.strip()), (0, expected))

    def probe(self, expected="-6", activation=NONE):
        self.ends(self.start(activation), expected)

    def fill(self):
        self.probe()
        path, = self.dir.iterdir()
        self.assertEqual(path.suffix, ".bin")
        return path

    def plant(self):
        """Puts the program of one activation under the other one's key: probes say "0" while the
        entry is used and "-6" while it is not. Returns the entry's path."""
        self.set_home("relu")
        self.probe("0", RELU)
        relu = next(self.dir.iterdir()).read_bytes()
        self.set_home("home")
        path = self.fill()
        path.write_bytes(relu[:8] + path.read_bytes()[8:72] + relu[72:])
        self.probe("0")
        return path

    def test_written(self):
        path = self.fill()
        content = path.read_bytes()
        digest = hashlib.sha256(content[HEAD:]).hexdigest()
        self.assertEqual(content[:HEAD].decode(), "GEMMCL 1" + path.stem + digest)
        self.assertEqual(path.stat().st_mode, 0o100600)
        self.assertEqual(self.dir.stat().st_mode, 0o40700)

    def test_relative(self):
        self.ends(self.start(XDG_CACHE_HOME=os.path.relpath(self.home), HOME=self.folder))
        ignored = self.dir
        self.set_home(".cache")
        self.fill()
        self.assertEqual(len(list(self.dir.iterdir())), 1)
        # Drivers have folders, too: NVIDIA's has .nv, Mesa's its cache in the relative one.
        self.assertFalse(ignored.exists())

    def test_entry_of_others(self):
        """An entry that others can write to is not executed, and is replaced."""
        path = self.plant()
        content = path.read_bytes()
        for mode, is_link, owner in ((0o620, False, -1), (0o602, False, -1), (0o600, True, -1),
                                     (0o600, False, 1)):
            if owner == 1 and os.geteuid() != 0:
                continue
            path.unlink()
            aside = Path(self.folder) / "aside"
            (aside if is_link else path).write_bytes(content)
            if is_link:
                path.symlink_to(aside)
            os.chown(path, owner, -1)
            path.chmod(mode)
            self.probe("-6")
            self.assertEqual(path.lstat().st_mode, 0o100600)
        path.write_bytes(content)
        self.probe("0")

    def test_directory_of_others(self):
        """Nothing is read from such a directory, and nothing is written to it."""
        path = self.plant()
        content = path.read_bytes()
        for mode in 0o770, 0o707:
            self.dir.chmod(mode)
            self.probe("-6")
        self.dir.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(self.dir, 1, -1)
            self.probe("-6")
            os.chown(self.dir, 0, -1)
        real = self.dir.rename(self.home / "real")
        self.dir.symlink_to("real")
        self.probe("-6")
        self.dir.unlink()
        real.rename(self.dir)
        self.assertEqual(path.read_bytes(), content)
        self.probe("0")

    def test_too_large(self):
        """An entry that is too large is not read; a debug line names it."""
        path = self.fill()
        os.truncate(path, 3000000000)
        said = self.start(G_MESSAGES_DEBUG="gemmcl").communicate()[0]
        self.assertIn("-6\n", said)
        self.assertIn(str(path), said)
        self.assertIn("has 3000000000 bytes", said)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(most, 1500 * 1024)  # KiB, most of them the driver's

    def test_damaged(self):
        """A damaged entry counts as missing, and is replaced."""
        path = self.fill()
        content = path.read_bytes()
        length = len(content)
        files = [content[:n] for n in (0, 7, HEAD, HEAD + 1, length // 2, length - 1)]
        for at, bit in (3, 1), (HEAD - 1, 4), (length - 100, 16):
            files.append(content[:at] + bytes([content[at] ^ bit]) + content[at + 1:])
        # The head is right, but the driver refuses the data.
        rubbish = b"this is no program, however right its sum is"
        files.append(content[:72] + hashlib.sha256(rubbish).hexdigest().encode() + rubbish)
        for damaged in files:
            path.write_bytes(damaged)
            self.probe()
            self.assertEqual(path.read_bytes()[:72], content[:72])

    def test_in_place(self):
        """A directory in the place of an entry changes no result."""
        path = self.fill()
        path.unlink()
        (path / "inside").mkdir(parents=True)
        self.probe()
        self.assertEqual(list(self.dir.iterdir()), [path])

    def test_unwritable(self):
        """No cache can be created below a regular file or /proc, not even by root."""
        self.write("file", b"x")
        for name in "file/below", "/proc/gemmcl":
            self.set_home(name)
            self.probe()

    def test_read_only(self):
        if os.geteuid() == 0:
            self.skipTest("permissions do not stop root")
        self.dir.mkdir(0o500, parents=True)
        self.probe()
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_full_disk(self):
        """On a file system of one page, in a name space of its own, no part of a file is left."""
        self.home.mkdir()
        home, program = shlex.quote(str(self.home)), f"{sys.executable} -c {shlex.quote(PROBE)}"
        script = (f"mount -t tmpfs -o size=4k tmpfs {home} || exit 77; XDG_CACHE_HOME={home} "
                  f"LD_PRELOAD={ENVIRONMENT.get('LD_PRELOAD', '')} {program} {NONE};"
                  f"find {home} -type f | wc -l")
        with contextlib.suppress(OSError):
            said = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  check=False).stdout
            if said:
                return self.assertEqual(said.split(), ["-6", "0"])
        return self.skipTest("no file system of its own can be mounted here")

    def test_concurrent(self):
        """Several processes start at once with an empty cache; a later one finds their entry."""
        for process in [self.start() for _ in range(4)]:
            self.ends(process)
        self.fill()

    def test_limit(self):
        """The oldest entries go. The newest, and other files, stay."""
        self.dir.mkdir(0o700, parents=True)
        other = self.dir / "tuning.json"
        other.write_text("{}")
        self.probe("0", RELU)
        newest, = set(self.dir.iterdir()) - {other}
        for i in range(3000):
            entry = self.dir / f"{i:064x}.bin"
            entry.write_text("old")
            os.utime(entry, (1, 1))
        self.probe()
        self.assertLess(len(list(self.dir.iterdir())), 2000)
        self.assertTrue(other.exists() and newest.exists())


if __name__ == "__main__":
    enter_cache(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")))
    main()
