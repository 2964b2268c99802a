#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the shell commands that make an installation known to the system, if any are needed.

usage: after-install.py LIBDIR BINDIR GSTREAMER-PLUGINS

Meson runs it after an installation. It prints nothing for folders that the system searches anyway,
and nothing for a package's staging directory (DESTDIR).
"""

import os
import subprocess
import sys
from pathlib import Path


def is_same(one, other):
    return Path(one).resolve() == Path(other).resolve()


def is_in(directory, paths):
    return any(is_same(directory, path) for path in paths.split(":") if path)


def is_known_to_loader(libdir):
    """Returns True if ldconfig's cache covers LIBDIR, False if it will after a run of ldconfig, and
    None if it never will."""
    command = ["/sbin/ldconfig", "-v", "-N", "-X"]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    covered = [line.split(":")[0] for line in said.stdout.splitlines() if line.startswith("/")]
    if not any(is_same(libdir, directory) for directory in covered):
        return None
    cache = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=False)
    return any(is_same(Path(line.rpartition("=> ")[2]).parent, libdir)
               for line in cache.stdout.splitlines() if "libgemmcl.so.0 " in line)


def lines(libdir, bindir, plugins):
    """Yields (shell command, the programs that need it)."""
    plugin = Path(libdir, "gstreamer-1.0")
    if (plugin / "libgstgemmcl.so").exists() and not is_same(plugin, plugins or "/"):
        yield f"export GST_PLUGIN_PATH={plugin}", "GStreamer"
    if Path(bindir, "gemmcl").exists() and not is_in(bindir, os.environ.get("PATH", "")):
        yield f"export PATH={bindir}:$PATH", "the tool gemmcl"
    typelibs = Path(libdir, "girepository-1.0")
    if typelibs.exists() and not typelibs.is_relative_to("/usr/lib"):
        yield f"export GI_TYPELIB_PATH={typelibs}", "PyGObject and other users of typelibs"
    known = is_known_to_loader(libdir)
    if known is None:
        yield f"export LD_LIBRARY_PATH={libdir}", "programs that link libgemmcl"
    elif not known:
        yield "ldconfig", "programs that link libgemmcl; as root"
    said = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if not is_in(Path(libdir, "pkgconfig"), said.stdout.strip()):
        yield f"export PKG_CONFIG_PATH={libdir}/pkgconfig", "pkg-config"


def open_output():
    """Opens Meson's standard output, since Meson 1.0 hides the output of scripts."""
    try:
        return open(f"/proc/{os.getppid()}/fd/1", "a", encoding="utf-8")
    except OSError:
        return os.fdopen(os.dup(1), "w")


def main():
    if os.environ.get("DESTDIR"):
        return
    found = list(lines(*sys.argv[1:4]))
    if found:
        width = max(len(line) for line, _ in found)
        with open_output() as output:
            print("\nThese lines make the installation known:\n", file=output)
            for line, whom in found:
                print(f"    {line:{width}}  # {whom}", file=output)


if __name__ == "__main__":
    main()
