#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the page of the element gemmcl in the reference, from what gst-inspect-1.0 says of it.

usage: element-page.py GST_INSPECT FOLDER_OF_THE_PLUGIN"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap

INSPECT, PLUGINS = sys.argv[1:]
PROPERTY = re.compile(r"^  ([\w-]+) +: ", re.MULTILINE)


def inspect():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GST_PLUGIN_PATH": PLUGINS, "GST_PLUGIN_SYSTEM_PATH": "",
                       "GST_REGISTRY": f"{folder}/registry", "GST_REGISTRY_FORK": "no"}
        return subprocess.run([INSPECT, "--no-colors", "gemmcl"], check=True, text=True,
                              env=environment, stdout=subprocess.PIPE).stdout


def escape(text):
    return re.sub(r"([*_`[])", r"\\\1", text).replace("<", "&lt;")


head, _, properties = re.sub(r"(?m)^  Filename .*\n", "", inspect()).partition(
    "Element Properties:\n")
description, = re.findall(r"^  Description +(.*: D = .*)", head, re.MULTILINE)
examples, = re.findall(r"^  Examples +(.*)", head, re.MULTILINE)
print("Title: The GStreamer element gemmcl\n\n# The GStreamer element gemmcl\n\n"
      "![A photograph before and after a colour matrix](before-after.jpg)\n\n"
      f"{escape(description)}.\n\n## Example launch lines")
for purpose, line in re.findall(r"(?:^|; )([^;:]+): (gst-launch-1\.0 .*?)(?=; |$)", examples):
    print(f"\n{purpose[0].upper()}{purpose[1:]}:\n\n```\n{line}\n```")
print(f"\n## Factory, hierarchy and pads\n\n```\n{head.rstrip()}\n```\n\n## Properties")
_, *parts = PROPERTY.split(properties)
for name, text in zip(parts[::2], parts[1::2]):
    blurb, _, details = text.partition("\n")
    print(f"\n### {name}\n\n{escape(blurb)}\n\n```\n"
          f"{textwrap.dedent(details.expandtabs()).rstrip()}\n```")
