# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the library's binary interface with the last release's by abidiff (libabigail). TAP out.

The last release is the last tag before HEAD called v and a version; GEMMCL_ABI_REFERENCE names
another revision. Its library is built for the comparison. New functions are compatible. All other
changes that abidiff finds need a new soname or an entry in abi.suppr."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import tap

MESON, SOURCE, LIBRARY = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
HEADERS = "lib/include"


def get_soname(library):
    return re.search(r"SONAME.*\[(.+)\]", tap.require("readelf", "-d", library))[1]


def find_reference():
    named = os.environ.get("GEMMCL_ABI_REFERENCE")
    if named:
        return named
    if not shutil.which("git") or not (SOURCE / ".git").exists():
        raise tap.Skipped("the sources are no git repository")
    said = tap.run("git", "-C", SOURCE, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
    if said.returncode:
        raise tap.Skipped("there is no release yet: no tag v and a version before HEAD")
    return said.stdout.strip()


def build(revision, top):
    """The library of a revision, built in a folder, whose headers are then in its lib/include."""
    archive = top / "sources.tar"
    tap.require("git", "-C", SOURCE, "archive", f"--output={archive}", revision)
    shutil.unpack_archive(archive, top)
    tap.require(MESON, "setup", "--buildtype=debug", "-Doptimization=0",
                "--auto-features=disabled", top / "build", top)
    tap.require(MESON, "compile", "-C", top / "build")
    return (top / "build/lib/libgemmcl.so").resolve()


def names_the_soname():
    symbols = next((SOURCE / "debian").glob("libgemmcl*.symbols"))
    soname = get_soname(LIBRARY)
    expected = f"{soname} {soname.replace('.so.', '')} #MINVER#"
    found = symbols.read_text(encoding="utf-8").splitlines()[0]
    if found != expected or symbols.stem != expected.split()[1]:
        raise tap.Failed(f"The library is {soname}. The first line of {symbols} is {found!r}, not "
                     f"{expected!r}, or the file has the name of another package.")


def is_compatible():
    if not shutil.which("abidiff"):
        raise tap.Skipped("abidiff is not installed (abigail-tools)")
    if ".debug_info" not in tap.require("readelf", "-SW", LIBRARY):
        raise tap.Skipped("the library has no debugging information, which describes its types")
    reference = find_reference()
    with tempfile.TemporaryDirectory() as directory:
        old = build(reference, Path(directory))
        if get_soname(old) != get_soname(LIBRARY):
            return
        said = tap.run("abidiff", "--no-added-syms", "--drop-private-types", "--headers-dir1",
                       Path(directory, HEADERS), "--headers-dir2", SOURCE / HEADERS,
                       "--suppressions", SOURCE / "tests/project/abi.suppr", old, LIBRARY)
    if said.returncode:
        raise tap.Failed(f"Programs built with {reference} may fail with this library. Undo the "
                     "change, raise soversion in lib/meson.build, or explain in abi.suppr why it "
                     f"breaks no program.\n{said.stdout}")


tap.play({"debian/ is of the library's soname": names_the_soname,
          "programs of the last release can use this library": is_compatible})
