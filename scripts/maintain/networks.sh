#!/bin/bash
# Prints a table of networks that `gemmcl import` takes, against onnxruntime
# (tests/bench/networks.py, which takes the options; --help lists them).
#
#   networks.sh [--threads N]
#
# Debian has PyTorch and scikit-learn: apt install python3-onnx python3-sklearn python3-torch. pip
# fetches the rest from PyPI into gemmcl-networks/ of the user's cache directory; versions and
# checksums are below. BUILD names the build directory.
set -euo pipefail

# onnx has tests with models. Its wheels are for Python 3.11, and for later versions.
requirements='
onnx==1.23.2 \
  --hash=sha256:c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348 \
  --hash=sha256:7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b
onnxconverter-common==1.16.0 \
  --hash=sha256:df39ee96f17fff119dff10dd245467651b60b9e8a96020eb93402239794852f7
skl2onnx==1.18.0 \
  --hash=sha256:1345d8a1d3aa4a11abfbed4bc984b777023dad85e1c9fe4eb727cba5ee0fcaa8
'
root=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/common.sh"
eval "$("$root/scripts/maintain/peers.sh" --env)"
GEMMCL_NETWORKS=$XDG_CACHE_HOME/gemmcl-networks/$(cksum <<<"$requirements" | cut -d ' ' -f 1)
export GEMMCL_NETWORKS
"$root/scripts/maintain/wheels.sh" "$GEMMCL_NETWORKS" <<<"$requirements" >&2
# The distribution's Python has PyTorch.
export PATH=/usr/bin:$PATH
build=${BUILD:-$root/build}
[ -d "$build" ] || meson setup "$build" "$root" >&2
ninja --quiet -C "$build" >&2
PYTHONDONTWRITEBYTECODE=1 meson devenv -C "$build" \
  /usr/bin/python3 -W ignore "$root/tests/bench/networks.py" "$@"
