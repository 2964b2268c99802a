# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that the layer has all OpenCL functions that the library and the plugin call, except those
of extensions, which are looked up by name. TAP out. usage: faults-complete.py LAYER BINARY..."""

import sys

import tap


def symbols(path, *options):
    """The names of a binary's symbols, without versions."""
    said = tap.require("nm", *options, path)
    return {line.split()[-1].partition("@")[0] for line in said.splitlines()}


def find_unwatched(layer, *binaries):
    watched = {name.removeprefix("layer_") for name in symbols(layer)
               if name.startswith("layer_cl")}
    called = {name for binary in binaries for name in symbols(binary, "-D", "--undefined-only")
              if name.startswith("cl") and name[2:3].isupper()}
    if not called:
        return ["no calls"]
    return [f"not in cl-faults.def: {name}" for name in called - watched]


tap.play({
    "the layer watches each OpenCL call of the binaries": lambda: find_unwatched(*sys.argv[1:]),
})
