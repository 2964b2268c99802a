# SPDX-License-Identifier: LGPL-2.1-or-later
"""release.sh: builds docs/examples with gemmcl as a subproject, which Meson fetches by gemmcl.wrap,
and attaches files to releases with a gh and a curl that print. TAP out."""

import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import tap

MESON, SOURCE, VERSION = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
RESULTS = "4.5 0\n10.5 0\n14.5 0\n10.5 0\n"  # A B + bias by hand
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("CI_", "GITHUB_"))}
GITHUB = {"GITHUB_REPOSITORY": "o/gemmcl", "GITHUB_SERVER_URL": "https://hub.invalid"}
GITLAB = {"CI_API_V4_URL": "https://lab.invalid/api", "CI_PROJECT_ID": "7", "CI_JOB_TOKEN": "t",
          "CI_PROJECT_URL": "https://lab.invalid/o/gemmcl"}


def copy(folder):
    shutil.copytree(SOURCE, folder, symlinks=True,
                    ignore=shutil.ignore_patterns(".git", "build*"))
    return folder


def commit(folder):
    """A repository of sources that are in none, as in a chroot of distros.sh."""
    git = ["git", "-C", copy(folder), "-c", "user.name=a", "-c", "user.email=a@a.invalid"]
    tap.require("git", "init", "--quiet", folder)
    tap.require(*git, "add", "--all")
    tap.require(*git, "commit", "--quiet", "--message=all")
    return folder


def build(top):
    if not shutil.which("git"):
        raise tap.Skipped("git is not installed")
    source = SOURCE if (SOURCE / ".git").exists() else commit(top / "source")
    tap.require(source / "scripts/maintain/release.sh", "sources",
                env={**ENVIRONMENT, "GEMMCL_RELEASE": top / "release"})
    project = Path(shutil.copytree(SOURCE / "docs/examples", top / "project"))
    shutil.copy(top / "release/gemmcl.wrap", project / "subprojects")
    (project / "multiply.c").write_text(tap.read_block(SOURCE / "docs/library.md", "c"),
                                        encoding="utf-8")
    tap.require(MESON, "setup", "build", "--force-fallback-for", "gemmcl-1.0", cwd=project)
    tap.require("ninja", "--quiet", "-C", "build", cwd=project)
    said = tap.require("build/multiply", cwd=project)
    tap.expect(said[-len(RESULTS):], RESULTS, said)


def publish(variables, owner, status, *expected, top):
    """Attaches a file a.tar. gh and curl print their arguments."""
    control = copy(top / "source") / "debian/control"
    control.write_text(control.read_text("utf-8").replace("gemmcl.invalid", owner), "utf-8")
    for name in "gh", "curl":
        program = top / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    (top / "release").mkdir()
    (top / "release/a.tar").touch()
    said = tap.run(top / "source/scripts/maintain/release.sh", "publish", env={
        **ENVIRONMENT, **variables, "PATH": f"{top}:{os.environ['PATH']}",
        "GEMMCL_RELEASE": top / "release"})
    tap.expect(said.returncode, status, said.stdout)
    return [f"{line!r} is not in {said.stdout}" for line in expected if line not in said.stdout]


def attempt(check):
    with tempfile.TemporaryDirectory() as directory:
        return check(top=Path(directory))


TAG = f"v{VERSION}"
tap.play({name: partial(attempt, check) for name, check in {
    "a project fetches and builds gemmcl": build,
    "GitHub's release has the files": partial(
        publish, {**GITHUB, "GITHUB_REF_NAME": TAG}, "a.org", 0,
        f"gh release create {TAG} --verify-tag", "The first version.", "/release/a.tar"),
    "GitLab's release has the files": partial(
        publish, {**GITLAB, "CI_COMMIT_TAG": TAG}, "a.org", 0,
        f"https://lab.invalid/api/projects/7/packages/generic/gemmcl/{VERSION}/a.tar",
        "direct_asset_path=/a.tar"),
    "another tag has no release": partial(
        publish, {**GITHUB, "GITHUB_REF_NAME": "v0"}, "a.org", 1, f"Expected the tag {TAG}"),
    "a release has an owner": partial(
        publish, {**GITHUB, "GITHUB_REF_NAME": TAG}, "gemmcl.invalid", 1,
        "Set Maintainer and Homepage"),
}.items()})
