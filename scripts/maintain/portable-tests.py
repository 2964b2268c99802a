#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packs built tests into a folder that runs on another machine.

The folder holds the suites' programs, scripts and plugin, GStreamer and all other libraries that
they load, and run.py, which runs them; docs/internals/testing.md says what the other machine needs.

The folder build/ has all programs, libraries and scripts of the build, stripped, and source/ the
folder tests of the sources: programs look for one another there.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = ["lib", "kernels", "gst"]
# Number of shards of the kernels' tests, for machines with many cores; meson.build's is for two.
SHARDS = 16

# GStreamer plugins that the tests load or name in pipelines.
GST_PLUGINS = ["app", "audiotestsrc", "coreelements", "coretracers", "multifile", "rawparse",
               "rtp", "va", "videotestsrc"]
GST_PROGRAMS = ["gst-inspect-1.0", "gst-launch-1.0"]

# Folders of the build with other packed tests, with programs of Meson's, and with compiled kernels.
NOT_PACKED = {"meson-private", "portable-tests", "portable-tests.new", "cache"}

# Libraries of the system: the other machine must use its own, which its driver and its programs
# need.
OF_SYSTEM = re.compile(
    r"(ld-linux-x86-64|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl|blkid|mount|selinux))\.so\.\d+")


def fail(message):
    sys.exit(f"portable-tests.py: {message}")


def say(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def gst_variable(name):
    return Path(say("pkg-config", f"--variable={name}", "gstreamer-1.0").strip())


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Pack:
    """The folder while it is filled."""

    def __init__(self, folder):
        self.folder = folder
        self.originals = {}  # path of each packed file -> its place in the folder

    def add(self, original, place):
        """Copies a file, or the target of a link."""
        if place not in self.originals.values():
            self.originals[original] = place
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(original, self.folder / place)

    def add_build(self, build):
        """Adds programs, libraries, scripts and the table of kernels, but no objects."""
        for path in build.rglob("*"):
            place = path.relative_to(build)
            if any(part.endswith(".p") or part in NOT_PACKED for part in place.parts):
                continue
            if path.is_file() and (path.suffix == ".sh" or path.name == "kernel-table.txt" or
                                   is_elf(path)):
                self.add(path, "build" / place)

    def add_shared_libraries(self):
        """Adds the libraries that packed files load, except those of the system."""
        packed = {place.name for place in self.originals.values()}
        for original in [path for path in self.originals if is_elf(path)]:
            for line in say("ldd", str(original)).splitlines():
                name, arrow, found = line.strip().partition(" => ")
                if arrow and found == "not found":
                    fail(f"{original} needs {name}, which is not here")
                if arrow and name not in packed and not OF_SYSTEM.fullmatch(name):
                    self.add(Path(found.split()[0]), Path("lib") / name)

    def strip(self):
        for place in self.originals.values():
            path = self.folder / place
            if is_elf(path):
                path.chmod(0o755)
                subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)


def pack_test(test, build, source):
    """Returns the entry of one of Meson's tests for run.py, which expands {here} and {python}."""

    def move(text):
        if re.fullmatch(r"python[0-9.]*", Path(text).name):
            return "{python}"
        if (build / text).exists():
            text = os.path.normpath(build / text)
        return text.replace(str(build), "{here}/build").replace(str(source), "{here}/source")

    program, *arguments = test["cmd"]
    known = {name: test[name] for name in ("name", "timeout", "protocol")}
    if move(program) == program:
        return {**known, "left_out": f"{Path(program).name} is not packed"}
    known["cmd"] = [move(text) for text in (program, *arguments)]
    known["env"] = {name: move(value) for name, value in test["env"].items()}
    return known


def reshard(tests):
    """Replaces the shards of the kernels' tests, whose last arguments are the shard's number and
    the number of shards, by SHARDS shards."""
    shards = [test for test in tests if re.fullmatch(r"kernels-\d+", test["name"])]
    rest = [test for test in tests if test not in shards]
    return [{**test, "name": f"kernels-{shard}",
             "cmd": test["cmd"][:-2] + [str(shard), str(SHARDS)]}
            for test in shards[:1] for shard in range(SHARDS)] + rest


def read_tests(build, suites):
    tests = json.loads((build / "meson-info/intro-tests.json").read_text("utf-8"))
    wanted = {f"gemmcl:{suite}" for suite in suites}
    return reshard([test for test in tests if wanted & set(test["suite"])])


def add_gstreamer(pack):
    plugins, here = gst_variable("pluginsdir"), Path("gstreamer")
    for name in GST_PLUGINS:
        path = plugins / f"libgst{name}.so"
        if path.exists():
            pack.add(path, here / path.name)
        else:
            print(f"There is no plugin {name} here; tests that want it will be skipped.")
    scanner = gst_variable("pluginscannerdir") / "gst-plugin-scanner"
    pack.add(scanner, Path("bin") / scanner.name)
    for name in GST_PROGRAMS:
        pack.add(gst_variable("toolsdir") / name, Path("bin") / name)


def pack_all(folder, build, suites):
    tops = json.loads((build / "meson-info/meson-info.json").read_text("utf-8"))["directories"]
    build, source = Path(tops["build"]), Path(tops["source"])
    tests = [pack_test(test, build, source) for test in read_tests(build, suites)]
    pack = Pack(folder)
    pack.add_build(build)
    if "gst" in suites:
        add_gstreamer(pack)
    pack.add_shared_libraries()
    pack.strip()
    shutil.copytree(source / "tests", folder / "source/tests",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name, copy in ("portable-run.py", "run.py"), ("test-results.py", "test-results.py"):
        shutil.copy(HERE / name, folder / copy)
    (folder / "tests.json").write_text(json.dumps(tests, indent=1), "utf-8")
    return len(tests), sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--output", type=Path, metavar="FOLDER",
                        help="the folder (default: portable-tests in the build directory)")
    parser.add_argument("--suite", action="append",
                        help="a suite; may be repeated (default: lib, kernels and gst)")
    parser.add_argument("--no-build", action="store_true", help="pack what was built before")
    options = parser.parse_args()
    build = options.build
    folder = options.output or build / "portable-tests"
    if not (build / "meson-info" / "intro-tests.json").exists():
        fail(f"{build} is no build of gemmcl: meson setup {build}")
    if not options.no_build:
        subprocess.run(["ninja", "--quiet", "-C", str(build)], check=True)
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    n_tests, n_bytes = pack_all(fresh, build, options.suite or SUITES)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    place = os.path.relpath(folder)
    print(f"{place}: {n_tests} tests, {n_bytes / 2**20:.1f} MiB; there, python3 {place}/run.py")


if __name__ == "__main__":
    main()
