# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds Debian's packages, checks them with lintian, installs them and runs debian/tests. TAP out.

It installs packages of the system, as root, so that it runs only if GEMMCL_TEST_DEBIAN is set, to a
folder in which the packages remain. `distros.sh --packages` does so in its chroots, and
`release.sh packages` does."""

import os
import re
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import tap

if "GEMMCL_TEST_DEBIAN" not in os.environ:
    tap.skip_all("GEMMCL_TEST_DEBIAN is not set; distros.sh --packages sets it in chroots")
directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
TOP = Path(directory.name)
INSTALL = "apt-get -qq --yes --no-install-recommends install"
# The owner's name stands in debian/control alone.
SIGN = """sed -i "s|^ -- .*>|$(sed -n 's/^Maintainer:/ --/p' debian/control)|" debian/changelog"""
LINT = "lintian --allow-root --fail-on error,warning"


def run(line, **environment):
    tap.require("sh", "-ec", line, cwd=TOP / "gemmcl", env={
        **os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **environment})


def autopkgtest(name, packages):
    run(" ".join([INSTALL, *re.split(r"[,\s]+", packages)]))
    with tempfile.TemporaryDirectory() as folder:
        run(f"debian/tests/{name}", AUTOPKGTEST_TMP=folder)


with directory:
    shutil.copytree(sys.argv[1], TOP / "gemmcl", symlinks=True,
                    ignore=shutil.ignore_patterns(".git", "build*"))
    stanzas = (TOP / "gemmcl/debian/tests/control").read_text("utf-8").split("\n\n")
    fields = [dict(re.findall(r"^(\w+): *((?:.|\n )*)", stanza, re.M)) for stanza in stanzas]
    tap.play({
        "dependencies are installed": lambda: run(
            f"apt-get -qq update; {INSTALL} build-essential fakeroot lintian;"
            " apt-get -qq --yes build-dep ./"),
        "the packages are built": lambda: run(
            f'{SIGN}; dpkg-buildpackage --no-sign; cp ../*.deb "$GEMMCL_TEST_DEBIAN"',
            DEB_BUILD_OPTIONS="noautodbgsym"),
        # Informational tags do not count: they differ from release to release.
        "lintian finds neither errors nor warnings": lambda: run(f"{LINT} {TOP}/*.changes"),
        "the packages can be installed": lambda: run(f"{INSTALL} ../*.deb"),
        **{f"debian/tests/{name}": partial(autopkgtest, name, field["Depends"])
           for field in fields for name in field["Tests"].split()},
        "the packages can be removed": lambda: run(
            "cd ..; apt-get -qq purge --yes $(ls *.deb | cut -d _ -f 1)"),
    })
