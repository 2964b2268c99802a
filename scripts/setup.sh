#!/bin/bash
# Installs the packages that gemmcl needs, as root or through sudo; does nothing if all are present.
#
#   scripts/setup.sh demo     packages to build gemmcl and to run scripts/demo.sh, without those of
#                             introspection and, where there is no DRM device, of VA surfaces
#   scripts/setup.sh build    packages to build all of gemmcl
#   scripts/setup.sh test     all of these, and those to run scripts/test.sh (the default)
#   scripts/setup.sh chroot   the packages of test, and Rusticl, a second OpenCL driver for
#                             distros.sh
#   scripts/setup.sh full     the packages of test, and those that only test.sh --full needs
#   scripts/setup.sh peers    packages to build it and to run peers.sh
#
# The size is said first. On a terminal apt-get shows what it fetches and installs. With --ask as
# the first option it also asks first; if the output is no terminal, this script asks in its place.
#
# For Debian 12 and later and Ubuntu 24.04 and later. "a | b" is the first package that the
# distribution has.
set -euo pipefail

# Meson asks dpkg-dev for the library directory. Weights from ONNX models need the last three.
light=(
  dpkg-dev gcc libc6-dev meson ninja-build pkgconf python3
  libglib2.0-dev libjansson-dev libxxhash-dev ocl-icd-opencl-dev opencl-c-headers
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  libprotobuf-c-dev protobuf-c-compiler protobuf-compiler
)
# VA surfaces, and GstTensorMeta. Their headers depend on those of OpenCV and others.
va=(libva-dev libgstreamer-plugins-bad1.0-dev)
build=(
  "${light[@]}" "${va[@]}"
  gobject-introspection 'libgirepository1.0-dev | gir1.2-glib-2.0-dev'
)
# PoCL is the OpenCL device of machines that have no other.
runtime=(
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good pocl-opencl-icd
  python3-numpy
)
demo=("${light[@]}" "${runtime[@]}")
left_out="introspection for Python and Vala (40 MB)"
if compgen -G '/dev/dri/renderD*' >/dev/null; then
  demo+=("${va[@]}" gstreamer1.0-plugins-bad)
else
  left_out="VA surfaces and GstTensorMeta, as there is no DRM device (1.2 GB), $left_out"
fi
# clang-format lays out C (ninja clang-format). g++ compiles the headers as C++, sklearn recomputes
# the references of the digits demo, matplotlib draws charts, benchmarks compare with OpenBLAS,
# python3-gst-1.0, PyGObject and GStreamer's typelibs play the element in tests; they and valac run
# the examples in their languages.
# mmdebstrap and pip fetch other distributions and Intel's runtime for CPUs.
test=(
  "${build[@]}" "${runtime[@]}" gstreamer1.0-plugins-bad g++ git clang
  'clang-format-14 | clang-format' 'libclang-rt-dev | libclang-rt-14-dev' clinfo libopenblas-dev
  python3-matplotlib python3-pil python3-sklearn python3-gst-1.0 python3-gi gir1.2-gstreamer-1.0
  gir1.2-gst-plugins-base-1.0 valac groff man-db mmdebstrap python3-pip
)
# Some releases lack these packages; the tests that need them are then skipped.
optional_test=(abigail-tools gi-docgen oclgrind python3-onnx reuse)
# Some releases also lack PyTorch, with which convolutions are compared. It is 50 MB to fetch.
optional_full=("${optional_test[@]}" python3-torch)
# Peers of peers.sh. packaging is for faiss, threadpoolctl names the OpenBLAS of NumPy, the
# last two are for the element, and python3-onnx makes onnxruntime's model.
peers=(
  "${light[@]}" libclblast-dev libdnnl-dev libopenblas-dev pocl-opencl-icd python3-numpy
  python3-packaging python3-pip python3-threadpoolctl gstreamer1.0-plugins-base python3-gst-1.0
)
optional_peers=(python3-onnx)

yes=(--yes)
if [ "${1-}" = --ask ]; then
  yes=()
  shift
fi
case ${1:-test} in
  build) packages=("${build[@]}") optional=() ;;
  demo) packages=("${demo[@]}") optional=() ;;
  test) packages=("${test[@]}") optional=("${optional_test[@]}") ;;
  chroot) packages=("${test[@]}") optional=("${optional_test[@]}" mesa-opencl-icd) ;;
  full) packages=("${test[@]}") optional=("${optional_full[@]}") ;;
  peers) packages=("${peers[@]}") optional=("${optional_peers[@]}") ;;
  *)
    echo "usage: scripts/setup.sh [--ask] [build|demo|test|chroot|full|peers]" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null; then
  cat >&2 <<END
scripts/setup.sh supports only Debian and Ubuntu, where apt-get installs packages; this is another
system. Install the content of these packages by its own means, then build with meson as
CONTRIBUTING.md says:
  ${packages[*]}
END
  exit 1
fi

# choose: sets the command of apt-get, by the optional packages that the lists have.
choose () {
  local available
  mapfile -t available < <(
    [ ${#optional[@]} -eq 0 ] || LC_ALL=C apt-cache policy "${optional[@]}" |
      awk '/^[^ ]/ { sub(":$", "", $1); name = $1 }
           $1 == "Candidate:" && $2 != "(none)" { print name }'
  )
  satisfy=(satisfy --no-install-recommends "${packages[@]}" "${available[@]}")
}

# find_missing: prints the packages that apt-get would install; fails without lists of packages.
find_missing () {
  local said
  said=$(LC_ALL=C apt-get -qq --simulate "${satisfy[@]}" 2>&1) || return 1
  awk '$1 == "Inst" { print $2 }' <<<"$said"
}

choose
if missing=$(find_missing) && [ -z "$missing" ]; then
  exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Neither root nor sudo: as root, apt-get ${satisfy[*]@Q}" >&2
    exit 1
  fi
  root=(sudo)
fi
apt=("${root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# quietly COMMAND...: shows the output of a command only if it fails.
quietly () {
  "$@" >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    return 1
  }
}

# is_agreed: TRUE after a yes, or if there is nothing to ask: without --ask, or without a terminal.
is_agreed () {
  local answer
  [ ! -t 0 ] || [ ${#yes[@]} -gt 0 ] ||
    { read -r -p 'Do you want to continue? [Y/n] ' answer && [[ $answer =~ ^([Yy].*)?$ ]]; }
}

echo 'Reading the lists of packages'
# An unreachable third-party list is no reason to stop; the installation fails if it matters.
quietly "${apt[@]}" -qq update || true
choose
missing=$(find_missing) || true
# With --assume-no apt-get only says what it would do.
size=$("${apt[@]}" --assume-no "${satisfy[@]}" 2>&1 </dev/null |
  sed -n 's/^After this operation, \(.*B\) of additional disk space.*/\1/p') || true
[ -z "$missing" ] ||
  echo "To install: $(wc -l <<<"$missing") packages${size:+, $size on disk}"
if [ "${1-}" = demo ]; then
  echo "Left out: $left_out. scripts/setup.sh build installs these, too."
fi
if [ -t 0 ] && [ -t 1 ]; then
  "${apt[@]}" "${yes[@]}" "${satisfy[@]}"
else
  echo "${missing//$'\n'/ }"
  is_agreed && quietly "${apt[@]}" -qq --yes "${satisfy[@]}"
fi || {
  echo "Failed: apt-get ${satisfy[*]@Q}" >&2
  exit 1
}
