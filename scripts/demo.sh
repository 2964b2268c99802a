#!/bin/bash
# Runs gemmcl's demos on real input. First it installs the packages that they need and builds into
# build/. Each demo shows its pipelines and fails if a result is wrong. Outputs: build/demo/.
#
#   scripts/demo.sh         asks before it installs anything, if there is a terminal
#   scripts/demo.sh --yes   does not ask
set -euo pipefail
cd "$(dirname "$0")/.."
# Only the distribution's Python is sure to have NumPy.
export PATH=/usr/bin:$PATH LC_ALL=C.UTF-8

case ${*:-} in
  '') ask=(--ask) ;;
  --yes) ask=() ;;
  *)
    echo 'usage: scripts/demo.sh [--yes]' >&2
    exit 2
    ;;
esac

echo 'This installs the packages that are missing, builds gemmcl into build/ and runs the demos.'
echo 'After the packages, that takes some two minutes on two cores, and less the next time.'
scripts/setup.sh "${ask[@]}" demo
# A build from before the packages may lack the plugin or the tool.
[ -f build/build.ninja ] && again=(--reconfigure) || again=()
meson setup "${again[@]}" -Dgst=enabled -Dtools=enabled build >/dev/null
if [ -t 1 ]; then
  ninja -C build
else
  echo 'Building'
  ninja --quiet -C build
fi

# demo PROGRAM TITLE: runs a program of demos/ under a heading.
demo () {
  printf '\n== %s ==\n\n' "$2"
  meson devenv -C build python3 "$PWD/demos/$1.py" "$PWD/build/demo"
}
demo digits/run 'Handwritten digits: a network of two layers'
demo digits/convolutions 'Handwritten digits: a convolutional network'
demo digits/embeddings 'Handwritten digits: the nearest of 500 labelled embeddings'
demo colour/run 'A photograph in sepia: a colour matrix'
demo audio/run 'Stereo to mono: a down-mix'
printf '\nAll demos gave the right results.\n'
