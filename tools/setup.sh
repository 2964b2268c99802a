#!/bin/bash
# Installs what gemmcl needs from the distribution, as root or through sudo, and does nothing where
# everything is there already.
#
#   tools/setup.sh build    what it takes to build it
#   tools/setup.sh demo     ... and to run tools/demo.sh
#   tools/setup.sh test     ... and to run tools/test.sh (the default)
#   tools/setup.sh peers    what it takes to build it and to run tools/peers.sh
#
# Debian 12 and later, Ubuntu 24.04 and later. A name with bars is a choice: the first one that the
# distribution has.
set -euo pipefail

# Of dpkg-dev Meson asks where libraries belong.
# Without the last two the plugin takes no VA surfaces.
build=(
  dpkg-dev gcc libc6-dev meson ninja-build pkgconf python3
  libglib2.0-dev libjansson-dev libxxhash-dev ocl-icd-opencl-dev opencl-c-headers
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  libva-dev libgstreamer-plugins-bad1.0-dev
)
# PoCL is the OpenCL device of machines that have no other.
demo=(
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad pocl-opencl-icd python3-numpy
)
# clang-format 14 is the one whose layout the check asks for. g++ compiles the headers as C++,
# sklearn makes the digits demo's references again, OpenBLAS is what benchmarks compare with.
# debootstrap and pip fetch what else tests run on: other distributions, Intel's runtime for CPUs.
test=(
  g++ git clang 'clang-format-14|clang-format' 'libclang-rt-dev|libclang-rt-14-dev' clinfo
  libopenblas-dev python3-pil python3-sklearn groff man-db
  debootstrap python3-pip
)
# What tools/peers.sh compares with; the last two for pipelines with onnxruntime.
peers=(
  libclblast-dev libdnnl-dev libopenblas-dev pocl-opencl-icd python3-numpy python3-pip
  gstreamer1.0-plugins-base python3-gst-1.0
)

what=${1:-test}
case $what in
  build) packages=("${build[@]}") ;;
  demo) packages=("${build[@]}" "${demo[@]}") ;;
  test) packages=("${build[@]}" "${demo[@]}" "${test[@]}") ;;
  peers) packages=("${build[@]}" "${peers[@]}") ;;
  *)
    echo "usage: tools/setup.sh [build|demo|test|peers]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  cat >&2 <<END
tools/setup.sh knows Debian and Ubuntu, where apt-get installs packages; this is another system.
Install what these packages hold by its own means, then build with meson as CONTRIBUTING.md says:
  ${packages[*]}
END
  exit 1
fi

installed () {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Of "a|b": whether one of them is installed.
satisfied () {
  local name
  for name in ${1//|/ }; do
    if installed "$name"; then
      return 0
    fi
  done
  return 1
}

# Of "a|b": the first one that apt-get can install; "a" if there is none, so that apt-get says so.
choose () {
  local name
  for name in ${1//|/ }; do
    if grep -q 'Candidate: [^(]' <<<"$(apt-cache policy "$name")"; then
      echo "$name"
      return
    fi
  done
  echo "${1%%|*}"
}

# What a release may lack: without it, the tests that need it say so.
if [ "$what" = test ] && ! installed oclgrind &&
  grep -q 'Candidate: [^(]' <<<"$(apt-cache policy oclgrind)"; then
  packages+=(oclgrind)
fi

missing=()
for package in "${packages[@]}"; do
  satisfied "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Neither root nor sudo: as root, install: ${missing[*]//|/ or }" >&2
    exit 1
  fi
  root=(sudo)
fi
apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly () {
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "Failed: $*" >&2
    exit 1
  fi
}

echo "Installing: ${missing[*]//|/ or }"
# A third party's package list that cannot be had is no reason to stop: installing tells.
"${apt[@]}" update >"$log" 2>&1 </dev/null || cat "$log" >&2
chosen=()
for package in "${missing[@]}"; do
  chosen+=("$(choose "$package")")
done
quietly "${apt[@]}" install --yes --no-install-recommends "${chosen[@]}"
