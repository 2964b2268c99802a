#!/bin/bash
# Installs the packages that gemmcl needs, as root or through sudo; does nothing if all are present.
#
#   tools/setup.sh build    packages to build it
#   tools/setup.sh demo     packages to build it and to run tools/demo.sh
#   tools/setup.sh test     the same, and those to run tools/test.sh (the default)
#   tools/setup.sh full     the same, and those that only tools/test.sh --full installs
#   tools/setup.sh peers    packages to build it and to run tools/peers.sh
#
# It says beforehand what it installs and how long that takes. tools/setup.sh --ask ... then asks
# whether to go on, if there is a terminal.
#
# For Debian 12 and later and Ubuntu 24.04 and later. A list "a|b" means the first package that the
# distribution has.
set -euo pipefail

# Meson asks dpkg-dev for the library directory.
# The last seven are optional: VA surfaces need the first two, weights from ONNX models the next
# three, introspection the last two.
build=(
  dpkg-dev gcc libc6-dev meson ninja-build pkgconf python3
  libglib2.0-dev libjansson-dev libxxhash-dev ocl-icd-opencl-dev opencl-c-headers
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  libva-dev libgstreamer-plugins-bad1.0-dev libprotobuf-c-dev protobuf-c-compiler protobuf-compiler
  gobject-introspection 'libgirepository1.0-dev|gobject-introspection'
)
# PoCL is the OpenCL device of machines without another one.
demo=(
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad pocl-opencl-icd python3-numpy
)
# clang-format lays out C (ninja clang-format). g++ compiles the headers as C++, sklearn recomputes
# the references of the digits demo, matplotlib draws charts, benchmarks compare with OpenBLAS,
# python3-gst-1.0 plays the element in tests; it and valac run the examples in their languages.
# debootstrap and pip fetch other distributions and Intel's runtime for CPUs.
test=(
  g++ git clang 'clang-format-14|clang-format' 'libclang-rt-dev|libclang-rt-14-dev' clinfo
  libopenblas-dev python3-matplotlib python3-pil python3-sklearn python3-gst-1.0 valac groff man-db
  debootstrap python3-pip
)
# Some releases lack these; their tests are then skipped.
optional_test=(abigail-tools gi-docgen oclgrind python3-onnx reuse)
# The same, but 50 MB to fetch: the reference of convolutions.
optional_full=(python3-torch)
# Peers of tools/peers.sh; the last two are for pipelines with onnxruntime, packaging for faiss.
peers=(
  libclblast-dev libdnnl-dev libopenblas-dev pocl-opencl-icd python3-numpy python3-packaging
  python3-pip
  gstreamer1.0-plugins-base python3-gst-1.0
)

ask=no
if [ "${1-}" = --ask ]; then
  ask=yes
  shift
fi
what=${1:-test}
case $what in
  build) packages=("${build[@]}") ;;
  demo) packages=("${build[@]}" "${demo[@]}") ;;
  test | full) packages=("${build[@]}" "${demo[@]}" "${test[@]}") ;;
  peers) packages=("${build[@]}" "${peers[@]}") ;;
  *)
    echo "usage: tools/setup.sh [--ask] [build|demo|test|full|peers]" >&2
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

# satisfied "a|b": succeeds if one of the packages is installed.
satisfied () {
  local name
  for name in ${1//|/ }; do
    if installed "$name"; then
      return 0
    fi
  done
  return 1
}

# choose "a|b": prints the first one that apt-get can install; "a" if none, for apt-get's message.
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

case $what in
  test) optional=("${optional_test[@]}") ;;
  full) optional=("${optional_test[@]}" "${optional_full[@]}") ;;
  *) optional=() ;;
esac
for package in "${optional[@]}"; do
  if ! installed "$package" && grep -q 'Candidate: [^(]' <<<"$(apt-cache policy "$package")"; then
    packages+=("$package")
  fi
done

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

# show_progress: reads apt-get's output. Shows its status lines, KIND:WHAT:PERCENT:TEXT, as one line
# of a terminal or as a few lines elsewhere; the rest goes into the log.
show_progress () {
  local line kind percent shown=
  while IFS= read -r line; do
    IFS=: read -r kind _ percent _ <<<"$line"
    case $kind in
      dlstatus) kind=Fetching ;;
      pmstatus) kind=Installing ;;
      *)
        echo "$line" >>"$log"
        continue
        ;;
    esac
    percent=${percent%%.*}
    if [ -t 1 ]; then
      printf '\r%s: %3d %%\033[K' "$kind" "$percent"
    elif [ "$shown" != "$kind $((percent / 25))" ]; then
      shown="$kind $((percent / 25))"
      echo "$kind: $percent %"
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}

echo 'Reading the lists of packages'
# An unreachable third-party list is no reason to stop; the installation fails if it matters.
"${apt[@]}" update >"$log" 2>&1 </dev/null || cat "$log" >&2
chosen=()
for package in "${missing[@]}"; do
  chosen+=("$(choose "$package")")
done
install=(install --no-install-recommends "${chosen[@]}")

# A line of apt-get for each package to fetch: 'URI' FILE BYTES CHECKSUM. The time is for 50 Mbit/s
# and half a second to unpack a package.
read -r count megabytes minutes <<<"$(
  { "${apt[@]}" --print-uris "${install[@]}" 2>/dev/null || true; } |
    awk "/^'/ { n++; bytes += \$3 }
         END { printf \"%d %.0f %.0f\", n, bytes / 1e6, (bytes / 6.25e6 + n / 2) / 60 + 0.5 }"
)"
echo "To install: ${chosen[*]}"
echo "With what they need, $count packages are fetched, $megabytes MB:" \
  "about $minutes min at 50 Mbit/s."
if [ "$ask" = yes ] && [ -t 0 ] && [ -t 2 ]; then
  read -r -p 'Install them? [Y/n] ' answer
  case $answer in
    '' | [Yy]*) ;;
    *)
      echo 'Nothing was installed.' >&2
      exit 1
      ;;
  esac
fi
: >"$log"
if ! "${apt[@]}" -o APT::Status-Fd=1 --yes "${install[@]}" 2>&1 </dev/null | show_progress; then
  cat "$log" >&2
  echo "Failed: apt-get ${install[*]}" >&2
  exit 1
fi
