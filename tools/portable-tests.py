#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packs built tests into a folder that runs on another machine.

usage: portable-tests.py [--build BUILD] [--output FOLDER] [--suite SUITE]... [--no-build]

FOLDER (default BUILD/portable-tests) holds the suites' programs, scripts and plugin, GStreamer and
all other libraries that they load, and run.py, which runs them. The other machine needs x86-64,
Python 3.8, an OpenCL driver, and a C library that is no older than this machine's; the last two are
not in the folder. The default suites are lib, kernels and gst. See docs/internals/testing.md.

Programs and libraries are stripped. Files of the build and of the sources keep their relative
paths, in build/ and source/, since programs look for one another.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
SUITES = ["lib", "kernels", "gst"]
# Number of shards of the kernels' tests, for machines with many cores; meson.build's is for two.
SHARDS = 16
SHARDED = re.compile(r"(.*)-\d+")

# GStreamer plugins that the tests load or name in pipelines.
GST_PLUGINS = ["app", "audiotestsrc", "coreelements", "coretracers", "multifile", "rawparse",
               "rtp", "va", "videotestsrc"]
GST_PROGRAMS = ["gst-inspect-1.0", "gst-launch-1.0"]

# Variables that name files written by tests, which are not packed.
WRITTEN = {"GST_REGISTRY", "XDG_CACHE_HOME"}

# Libraries of glibc: the other machine must use its own, which its driver needs.
OF_LIBC = re.compile(r"(ld-linux-x86-64|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl))\.so\.\d+")
# System programs load these, too, and may need newer ones than the packed ones.
OF_SYSTEM = re.compile(r"lib(blkid|mount|selinux)\.so\.\d+")


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
    """The folder while it is filled. The name of a packed file is a path for run.py to expand, such
    as "{here}/build/lib/libgemmcl.so.0"."""

    def __init__(self, folder, build, source):
        self.folder = folder
        self.roots = {"build": build, "source": source}
        self.originals = {}  # path of each packed file -> its place in the folder

    def add(self, original, place):
        """Copies a file, the target of a link, or the files of a folder."""
        if original.is_dir():
            for path in original.iterdir():
                self.add(path, place / path.name)
        elif place not in self.originals.values():
            self.originals[original] = place
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(original, self.folder / place)

    def add_libraries_of(self, folder, place):
        for path in folder.glob("*.so*"):
            if path.is_file():
                self.add(path, place / path.name)

    def name(self, text, may_be_relative=False, is_written=False):
        """Packs a path of the build or of the sources, unless tests write it. Returns its name, or
        None if text is another path."""
        base = self.roots["build"]
        if may_be_relative and not (base / text).is_file():
            return None
        if not may_be_relative and not text.startswith("/"):
            return None
        path = Path(os.path.normpath(base / text))
        for root, top in self.roots.items():
            if path == top or top in path.parents:
                place = root / path.relative_to(top)
                if not is_written:
                    self.add_named(path, place)
                return f"{{here}}/{place}"
        return None

    def add_named(self, path, place):
        """Adds a path: a script with those beside it, which it may import; a folder of the build
        as its libraries only."""
        if path.suffix == ".py":
            for other in path.parent.glob("*.py"):
                self.add(other, place.parent / other.name)
        elif path.is_file():
            self.add(path, place)
        elif path.is_dir() and place.parts[0] == "build":
            self.add_libraries_of(path, place)
        elif path.is_dir():
            self.add(path, place)

    def add_shared_libraries(self):
        """Adds the libraries that packed files load, except those of glibc."""
        packed = {place.name for place in self.originals.values()}
        for original in [path for path in self.originals if is_elf(path)]:
            for line in say("ldd", str(original)).splitlines():
                name, arrow, found = line.strip().partition(" => ")
                if arrow and found == "not found":
                    fail(f"{original} needs {name}, which is not here")
                if arrow and name not in packed and not OF_LIBC.fullmatch(name):
                    folder = "lib-system" if OF_SYSTEM.fullmatch(name) else "lib"
                    self.add(Path(found.split()[0]), Path(folder) / name)

    def strip(self):
        for place in self.originals.values():
            path = self.folder / place
            if is_elf(path):
                path.chmod(0o755)
                subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)

    def count_bytes(self):
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def is_python(program):
    return re.fullmatch(r"python[0-9.]*", Path(program).name) is not None


def pack_argument(pack, text):
    if is_python(text):
        return "{python}"
    return pack.name(text) or pack.name(text, may_be_relative=True) or text


def pack_variable(pack, name, value):
    parts = value.split(":")
    return ":".join(pack.name(part, is_written=name in WRITTEN) or part for part in parts)


def pack_test(pack, test):
    """Packs one of Meson's tests. Returns its entry for run.py."""
    program = test["cmd"][0]
    known = {name: test[name] for name in ("name", "timeout", "protocol", "is_parallel")}
    if not is_python(program) and not pack.name(program):
        known["left_out"] = f"{Path(program).name} is not packed"
        return known
    known["cmd"] = [pack_argument(pack, text) for text in test["cmd"]]
    known["env"] = {
        name: pack_variable(pack, name, value) for name, value in test["env"].items()
    }
    return known


def reshard(tests):
    """Replaces the shards of the kernels' tests, whose last arguments are the shard's number and
    the number of shards, by SHARDS shards."""
    rest = [test for test in tests if "kernels" not in test["suites"] or
            not SHARDED.fullmatch(test["name"])]
    first = [test for test in tests if test not in rest][:1]
    return [
        {**test, "name": f"{SHARDED.fullmatch(test['name']).group(1)}-{shard}",
         "cmd": test["cmd"][:-2] + [str(shard), str(SHARDS)]}
        for test in first
        for shard in range(SHARDS)
    ] + rest


def read_tests(build, suites):
    with open(build / "meson-info" / "intro-tests.json", encoding="utf-8") as file:
        tests = json.load(file)
    for test in tests:
        test["suites"] = {suite.partition(":")[2] for suite in test["suite"]}
    return reshard([test for test in tests if test["suites"] & set(suites)])


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
    with open(build / "meson-info" / "meson-info.json", encoding="utf-8") as file:
        tops = json.load(file)["directories"]
    pack = Pack(folder, Path(tops["build"]), Path(tops["source"]))
    tests = [pack_test(pack, test) for test in read_tests(build, suites)]
    if "gst" in suites:
        add_gstreamer(pack)
    # run.py prints the devices with it.
    tool = build / "tools" / "gemmcl"
    if tool.exists():
        pack.add(tool, Path("build/tools/gemmcl"))
    pack.add_shared_libraries()
    pack.strip()
    for name, copy in ("portable-run.py", "run.py"), ("test-results.py", "test-results.py"):
        shutil.copy(TOOLS / name, folder / copy)
    with open(folder / "tests.json", "w", encoding="utf-8") as file:
        json.dump(tests, file, indent=1)
    return len(tests), pack.count_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=TOOLS.parent / "build")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--suite", action="append")
    parser.add_argument("--no-build", action="store_true")
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
