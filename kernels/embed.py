#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Embeds the programs beside kernels.def, each with its #includes inlined, and the measurements
that ship into a C file.

usage: embed.py KERNELS.DEF OUTPUT.C OUTPUT.D

OUTPUT.D is a depfile for Ninja. A source of a row or an included file that is missing is an error,
and so is a .clh that no program includes.
"""

import pathlib
import re
import sys

SHIPPED = 'tuning-shipped.json'


def find_sources(table):
    """The names of all programs. Each source of a row must be one."""
    names = sorted(path.name for path in table.parent.glob('*.cl'))
    missing = {*re.findall(r'"([\w.]+\.cl)"', table.read_text())} - {*names}
    if missing:
        sys.exit(f'{table.name} needs {", ".join(sorted(missing))}, not in {table.parent}')
    return names


def inline(path, seen, used_by):
    """The text of path with each #include "..." replaced by the file's text. A file is included
    once, as with #pragma once. seen: the files so far."""
    if path in seen:
        return ''
    if not path.is_file():
        sys.exit(f'{used_by} needs {path.name}, which is not in {path.parent}')
    seen.append(path)
    out = [f'#line 1 "{path.name}"\n']
    for number, line in enumerate(path.read_text().splitlines(keepends=True), 1):
        included = re.match(r'\s*#\s*include\s+"([\w.]+)"', line)
        if included:
            out.append(inline(path.parent / included[1], seen, path.name))
            line = f'#line {number + 1} "{path.name}"\n'
        out.append('\n' if line.startswith('#pragma once') else line)
    return ''.join(out)


def c_array(name, text):
    data = text.encode() + b'\0'
    lines = [', '.join(map(str, data[i:i + 24])) for i in range(0, len(data), 24)]
    return f'static const char {name}[] = {{\n  ' + ',\n  '.join(lines) + '\n};\n'


def embed(table, output, depfile):
    used = [table, table.parent]  # a folder's time stamp changes when a file is added
    texts = {}
    for source in find_sources(table):
        seen = []
        texts[source] = inline(table.parent / source, seen, table.name)
        used += [path for path in seen if path not in used]
    texts[SHIPPED] = (table.parent / SHIPPED).read_text()
    used.append(table.parent / SHIPPED)
    orphans = {*table.parent.glob('*.clh')} - set(used)
    if orphans:
        sys.exit('included by no program: ' + ', '.join(sorted(path.name for path in orphans)))
    arrays, entries = [], []
    for source, text in texts.items():
        name = re.sub(r'\W', '_', source)
        arrays.append(c_array(name, text))
        entries.append(f'  {{ "{source}", {name} }},\n')
    output.write_text('/* Made by embed.py. */\n#include "device/device.h"\n\n' +
                      '\n'.join(arrays) +
                      '\nconst GemmclEmbedded gemmcl_embedded[] = {\n' + ''.join(entries) +
                      '  { NULL, NULL },\n};\n')
    depfile.write_text(f'{output}: ' + ' '.join(str(path) for path in used) + '\n')


if __name__ == '__main__':
    embed(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
