#!/bin/bash
# Compares gemmcl with other GEMM libraries on a CPU: installs them, builds the benchmark, runs it
# (tests/bench/peers/main.py, which takes the options; --help lists them).
#
#   peers.sh [OPTION...] [MxNxK[+layer|+u8|+search]...]
#   intel-runtime.sh peers.sh ...   the same on Intel's OpenCL runtime for CPUs
#   eval "$(peers.sh --env)"    sets up the peers from PyPI for the rest of a shell,
#                               for `meson test --benchmark peers search`
#
# scripts/setup.sh installs OpenBLAS, oneDNN and CLBlast from the distribution. pip fetches MKL,
# onnxruntime and faiss from PyPI into gemmcl-peers/ of the user's cache directory; versions and
# checksums are below, and their own licences apply. A benchmark runs without a library that cannot
# be fetched, and says so. BUILD names the build directory.
set -euo pipefail

# One checksum for each supported version of Python, 3.11 to 3.14, or one for all.
requirements='
mkl==2026.2.0 \
  --hash=sha256:eaab1875ce9f47ab3c66d5632cef06baf768c05781f2f28847bdbc4343500ed7
intel-openmp==2026.2.0 \
  --hash=sha256:2308a1a3e74718a9cd8cccf218c34d8cd80b43d3b89dfbb01b38dee205c50980
onnxruntime==1.31.1 \
  --hash=sha256:5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f \
  --hash=sha256:1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536 \
  --hash=sha256:74a6a52994616c4d18b33db1e13c226333a70a6ba07480a5cab9c2a50dff1430 \
  --hash=sha256:c20d7f15d84427db070b163f78c2c7146cc93edd6113fa7327671259a24184fe
faiss-cpu==1.15.1 \
  --hash=sha256:f2c31b7f2f6647eb76829a5cfe3c398fb9346df9f26b1d4db35269c91eb58c33
'
# The distribution's Python, even if PATH has another.
python=/usr/bin/python3
root=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/common.sh"
cache=$XDG_CACHE_HOME/gemmcl-peers
# One folder for each version of Python and set of wheels.
minor=$("$python" -c 'import sys; print(sys.version_info[1])')
GEMMCL_PEERS=$cache/$minor-$(cksum <<<"$requirements" | cut -d ' ' -f 1)
export GEMMCL_PEERS

have_wheels () {
  "$root/scripts/maintain/wheels.sh" "$GEMMCL_PEERS" <<<"$requirements" >&2 ||
    echo 'The benchmark runs without the libraries of PyPI.' >&2
}

if [ "${1-}" = --env ]; then
  have_wheels
  printf 'export GEMMCL_PEERS=%q\n' "$GEMMCL_PEERS"
  exit 0
fi

"$root/scripts/setup.sh" peers >&2
have_wheels
# Meson and the tools that it finds in PATH are the distribution's, too.
export PATH=/usr/bin:$PATH
build=${BUILD:-$root/build}
[ -d "$build" ] || meson setup "$build" "$root" >&2
ninja --quiet -C "$build" peers-programs >&2
# No bytecode in the source directory.
PYTHONDONTWRITEBYTECODE=1 \
  "$python" "$root/tests/bench/peers/main.py" --build "$build" "$@"
