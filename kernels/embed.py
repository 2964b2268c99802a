#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Embeds the programs in the folders beside kernels.def, each with its #includes inlined, and the
measurements that ship into a C file.

usage: embed.py KERNELS.DEF OUTPUT.C OUTPUT.D

OUTPUT.D is a depfile for Ninja. A source of a row or an included file that is missing is an error,
and so is a .clh that no program includes.
"""

import pathlib
import re
import sys

SHIPPED = 'tuning-shipped.json'


def find_sources(table):
    """The names of all programs, FOLDER/FILE. Each source of a row must be one."""
    names = sorted(str(path.relative_to(table.parent)) for path in table.parent.glob('*/*.cl'))
    missing = {*re.findall(r'"([\w/.]+\.cl)"', table.read_text())} - {*names}
    if missing:
        sys.exit(f'{table.name} needs {", ".join(sorted(missing))}, not in {table.parent}')
    return names


def inline(top, name, seen, used_by):
    """The text of a file below top with each #include "..." replaced by the file's text. seen: the
    names so far. A file with #pragma once is included once."""
    if not (top / name).is_file():
        sys.exit(f'{used_by} needs {name}, which is not in {top}')
    text = (top / name).read_text()
    if name in seen and '#pragma once\n' in text:
        return ''
    seen.append(name)
    out = [f'#line 1 "{name}"\n']
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        included = re.match(r'\s*#\s*include\s+"([\w/.]+)"', line)
        if included:
            out.append(inline(top, included[1], seen, name))
            line = f'#line {number + 1} "{name}"\n'
        out.append('\n' if line.startswith('#pragma once') else line)
    return ''.join(out)


def c_array(name, text):
    data = text.encode() + b'\0'
    lines = [', '.join(map(str, data[i:i + 24])) for i in range(0, len(data), 24)]
    return f'static const char {name}[] = {{\n  ' + ',\n  '.join(lines) + '\n};\n'


def embed(table, output, depfile):
    top, seen, texts = table.parent, [], {}
    for source in find_sources(table):
        included = []
        texts[source] = inline(top, source, included, table.name)
        seen += included
    texts[SHIPPED] = (top / SHIPPED).read_text()
    orphans = {str(path.relative_to(top)) for path in top.glob('*/*.clh')} - {*seen}
    if orphans:
        sys.exit('included by no program: ' + ', '.join(sorted(orphans)))
    # A folder's time stamp changes when a file is added.
    folders = {path.parent for path in top.glob('*/*.cl')}
    used = [table, top, top / SHIPPED, *folders, *(top / name for name in seen)]
    arrays, entries = [], []
    for source, text in texts.items():
        name = re.sub(r'\W', '_', source)
        arrays.append(c_array(name, text))
        entries.append(f'  {{ "{source}", {name} }},\n')
    output.write_text('/* Made by embed.py. */\n#include "device/program.h"\n\n' +
                      '\n'.join(arrays) +
                      '\nconst GemmclEmbedded gemmcl_embedded[] = {\n' + ''.join(entries) +
                      '  { NULL, NULL },\n};\n')
    depfile.write_text(f'{output}: ' + ' '.join(sorted({*map(str, used)})) + '\n')


if __name__ == '__main__':
    embed(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
