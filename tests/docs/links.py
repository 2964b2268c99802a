# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that the files and headings to which the documents refer exist. TAP out."""

import re
import sys
from functools import partial
from itertools import chain
from pathlib import Path

import tap

ROOT = Path(sys.argv[1]).resolve()
FOLDERS = [".github", "demos", "docs", "tests"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
# A path of the repository, outside of a link, but neither build/... nor a pattern (lib/*/plan.c).
PATH = re.compile(r"(?<![\w./*<-])((?:docs|demos|gst|kernels|lib|scripts|tests|tools)/[\w./-]+"
                  r"\.(?:[ch]|clh?|def|json|md|py|sh))\b")
PLACEHOLDERS = {"METHOD", "SUBCOMMAND"}
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(path):
    headings = HEADING.findall(path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path, text):
    for target in LINK.findall(text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if path.parent.name == "ISSUE_TEMPLATE":  # The page of an issue is REPOSITORY/issues/1.
            file = ROOT / (name.removeprefix("../blob/main/") if "/blob/" in name else "nowhere")
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield target


def missing_files(_, text):
    for name in PATH.findall(text):
        if not (ROOT / name).exists() and Path(name).stem not in PLACEHOLDERS:
            yield name


def find_faults(find):
    folders = [(ROOT / folder).rglob("*.md") for folder in FOLDERS]
    for path in sorted({*ROOT.glob("*.md"), *chain(*folders)}):
        for what in find(path, path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}: {what}"


tap.play({"links lead somewhere": partial(find_faults, broken_links),
          "files that are named exist": partial(find_faults, missing_files)})
