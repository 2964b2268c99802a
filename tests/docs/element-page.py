# SPDX-License-Identifier: LGPL-2.1-or-later
"""The element's page in the reference, as text and as HTML. TAP out. usage: element-page.py
ELEMENT_MD FOLDER"""

import html
import re
import sys
from pathlib import Path

import tap

TABLE = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n## Properties\n")[1]
NAMES = set(re.findall(r"`([\w-]+)`", "".join(
    re.findall(r"(?m)^\| (`.*?) \|", TABLE.split("\n## ")[0]))))
TEXT = Path(sys.argv[2], "element.md").read_text(encoding="utf-8")
HTML = Path(sys.argv[2], "gemmcl-1.0", "element.html").read_text(encoding="utf-8")


def each_property_has_its_section():
    sections = dict(re.findall(r"(?m)^### (.*)\n\n(.+)\n\n```\n", TEXT))
    tap.expect(sorted(NAMES - set(sections)), [])
    for name in NAMES:
        if f"<h3 id=\"{name}\">" not in HTML:
            raise tap.Failed(f"{name} is not in the HTML")


def lines_to_start_with_come_first():
    start, _, rest = TEXT.partition("\n## Factory")
    tap.expect(start.count("\ngst-launch-1.0 "), 3)
    if "must be set" not in start or "Pad Templates:" not in rest or "Filename" in rest:
        raise tap.Failed(TEXT)


def the_html_has_the_text_unchanged():
    if not Path(sys.argv[2], "gemmcl-1.0", *re.findall(r'<img [^>]*src="([^"]+)"', HTML)).is_file():
        raise tap.Failed("there is no picture of a result")
    text = html.unescape(re.sub("<[^>]+>", "", HTML))
    for part in "alpha * A * B + beta * C", "<<1.0,2.0>,<3.0,4.0>>":
        if part not in text:
            raise tap.Failed(f"{part} is not in the HTML")


tap.play({check.__name__: check for check in (
    each_property_has_its_section, lines_to_start_with_come_first,
    the_html_has_the_text_unchanged)})
