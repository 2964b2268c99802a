#!/bin/bash
# gemmcl on real input: installs what it needs, builds into build/, and runs the three demos. Each
# shows its pipelines and fails where a result is wrong. What they make is left in build/demo/.
set -euo pipefail
cd "$(dirname "$0")/.."
# The distribution's Python is the one that has NumPy.
export PATH=/usr/bin:$PATH LC_ALL=C.UTF-8

tools/setup.sh demo
if [ ! -f build/build.ninja ]; then
  meson setup build >/dev/null
fi
ninja --quiet -C build

# demo NAME TITLE
demo () {
  printf '\n== %s ==\n\n' "$2"
  meson devenv -C build python3 "$PWD/demos/$1/run.py" "$PWD/build/demo"
}
demo digits 'Handwritten digits: a network of two layers'
demo colour 'A photograph in sepia: a colour matrix'
demo audio 'Stereo to mono: a down-mix'
printf '\nAll three demos gave the right results.\n'
