#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks gst-inspect-1.0's text of each property, docs/element.md's table of them, and that the
tool's options take the same words. TAP out.

usage: properties.py element.md
"""

import re
import sys

import tap

INHERITED = {"name", "parent", "qos"}
# gst-inspect-1.0's words for "none" and for an empty cell of the table.
NOTHING = {"null", "", '""', "(NULL)", "<>"}


# The tool's options that are properties, too, and the command whose help has them.
OPTIONS = {"device-type": ("bench", "type"), "precision": ("bench", "precision"),
           "activation": ("run", "activation"), "normalize": ("run", "normalize"),
           "row-outputs": ("run", "row-outputs")}
# The type of the weight's file is the element's choice alone.
ELEMENT_ONLY = {("precision", "auto")}


def documented(path):
    """Returns {property: default} of the table below the heading, `a`, `b` | 1, 0 taken apart."""
    with open(path, encoding="utf-8") as document:
        section = document.read().split("\n## Properties\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*?) ?\| .*\|$", section, re.MULTILINE)
    table = {}
    for names, defaults in rows:
        names = re.findall(r"`([\w-]+)`", names)
        defaults = defaults.split(", ")
        table.update(zip(names, defaults if len(defaults) == len(names) else defaults * len(names)))
    return table


def inspected():
    """Returns {property: text of gst-inspect-1.0} for the element's own properties."""
    said = tap.require("gst-inspect-1.0", "gemmcl")
    blocks = re.split(r"\n  (?=[a-z][\w-]* +: )", said.split("Element Properties:")[1])
    table = {}
    for block in blocks:
        name, _, text = block.partition(":")
        if name.strip() and name.strip() not in INHERITED:
            table[name.strip()] = text.strip()
    return table


def get_default(said):
    default = re.search(r"Default: (.*)", said.partition("\n")[2])
    value = default.group(1).strip() if default else ""
    enum = re.match(r'(?:-?\d+|0x[0-9a-f]+), "\(?(.*?)\)?"', value)
    return enum.group(1) if enum else value.strip('"')


def flaws(said):
    """Yields the parts that the text of a property lacks."""
    blurb, *lines = said.splitlines()
    rest = "\n".join(lines)
    if not re.match(r"[A-Z].{10,}[^.\s]$", blurb):
        yield f"a sentence without a full stop, not {blurb!r}"
    if "flags: readable" not in rest:
        yield "flags"
    if "writable" in rest and "changeable" not in rest:
        yield "when it may be changed"
    if "writable" in rest and "Boxed" not in rest and "Default:" not in rest:
        yield "a default"
    if re.search(r"Integer|Double", rest) and "Range:" not in rest:
        yield "a range"
    if re.search(r"\b(Enum|Flags) ", rest) and not re.search(r"\(\w+\): \S+ +- \S", rest):
        yield "values and their texts"


def same(documented_value, value):
    if documented_value in ("none", ""):
        return value.replace(" ", "") in NOTHING or value == "none" or documented_value == ""
    try:
        return float(documented_value) == float(value.split()[0])
    except (ValueError, IndexError):
        return documented_value == value


def unknown_words(name, said):
    """Yields the values of the property that the help of the tool's option does not name."""
    command, option = OPTIONS[name]
    text = tap.require("gemmcl", command, "--help")
    (text,) = re.findall(rf"--{option}\b(.*?)(?=\n +(?:-\w, )?--|\n\n)", text, re.DOTALL)
    for word in re.findall(r"\n +\(\w+\): ([\w-]+) +- ", said):
        if (name, word) not in ELEMENT_ONLY and not re.search(rf"(?<![\w-]){word}(?![\w-])", text):
            yield f"gemmcl {command} --{option} lacks {word} of {name}"


table, element = documented(sys.argv[1]), inspected()
tap.play({
    "every property of the element is in the table": lambda: element.keys() - table.keys(),
    "every property of the table is in the element": lambda: table.keys() - element.keys(),
    "every property has its texts": lambda: (
        f"{name} lacks {flaw}" for name, said in element.items() for flaw in flaws(said)),
    "the defaults agree": lambda: (
        f"{name}: {table[name]}, {get_default(element[name])}"
        for name in table.keys() & element.keys()
        if not same(table[name], get_default(element[name]))),
    "the tool's options take the same words": lambda: (
        flaw for name in OPTIONS for flaw in unknown_words(name, element[name])),
})
