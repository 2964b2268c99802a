#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Unpacks wheels of PyPI into a folder, unless it exists.

usage: wheels.py FOLDER PATTERN <REQUIREMENTS

pip fetches the wheels of the requirements, which state versions and checksums. FOLDER gets the data
files whose names match PATTERN, and in python/ the modules. Wheels hold most libraries under two or
three names, which become links to one file.

FOLDER appears only when complete; concurrent runs wait. Exit status: 77, with the reason, if the
wheels cannot be fetched.
"""

import fcntl
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def unable(reason):
    print(reason, file=sys.stderr)
    sys.exit(77)


def unpack(wheels, target, pattern):
    written = {}
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                _, data, name = info.filename.partition(".data/data/")
                if info.is_dir() or (data and not re.fullmatch(pattern, name)):
                    continue
                path = target / (name if data else "python/" + info.filename)
                path.parent.mkdir(parents=True, exist_ok=True)
                first = written.setdefault((info.CRC, info.file_size), path)
                if first is path:
                    path.write_bytes(archive.read(info))
                else:
                    os.link(first, path)


def main():
    folder, pattern = Path(sys.argv[1]), sys.argv[2]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return
        if platform.machine() != "x86_64":
            unable(f"there is none for {platform.machine()}")
        print(f"Fetching into {folder}", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            pip = [sys.executable, "-m", "pip", "--quiet", "download", "--no-cache-dir",
                   "--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement",
                   "/dev/stdin", "--dest", f"{work}/wheels"]
            if subprocess.run(pip, stdout=sys.stderr, check=False).returncode != 0:
                unable("pip could not fetch it: run tools/setup.sh test if there is no pip")
            unpack(Path(work, "wheels"), Path(work, "new"), pattern)
            Path(work, "new").rename(folder)


main()
