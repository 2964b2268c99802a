#!/bin/bash
# Runs a command with Intel's OpenCL driver for GPUs, without a GPU. The driver writes its commands
# to a file; its extensions, limits, compiler and checks are those of the chosen GPU. Commands
# complete at once and compute nothing, so results and times are meaningless.
#
#   intel-driver.sh TARGET COMMAND...    runs COMMAND with the driver as only OpenCL platform
#   intel-driver.sh --targets            lists the targets
#
# The first run of a target fetches the driver of Debian 12 or of Debian testing, and its
# dependencies, by debian-tree.sh into gemmcl-intel-driver/ of the user's cache directory
# (about 350 MB each). Nothing is installed, and no root is needed. To update the driver of testing,
# remove its directory. GEMMCL_DRIVER_CACHE replaces the user's cache directory if XDG_CACHE_HOME is
# meant for COMMAND only.
#
# The driver of testing needs the C library of testing, so COMMAND runs under its dynamic loader: it
# must be a program, not a script, and programs that it starts have no OpenCL.
#
# Exit status: that of COMMAND; 77, with the reason, if the driver cannot be fetched or started.
set -euo pipefail

library=usr/lib/x86_64-linux-gnu
. "$(dirname "$0")/common.sh"
cache=${GEMMCL_DRIVER_CACHE:-$XDG_CACHE_HOME}/gemmcl-intel-driver

# Settings that turn off features of the driver of testing that need hardware
new='UseAubStream=0 UseBindlessMode=0'
# Per target: its name, the release of Debian, and the driver's settings, for most of them with the
# number of slices x subslices x EUs, which the driver cannot query here
targets="
skl    bookworm  ProductFamilyOverride=skl
tgllp  bookworm  ProductFamilyOverride=tgllp
dg2    bookworm  ProductFamilyOverride=dg2 HardwareInfoOverride=2x4x16
mtl    testing   ProductFamilyOverride=mtl HardwareInfoOverride=2x4x16 $new
arl-h  testing   ProductFamilyOverride=arl-h HardwareInfoOverride=2x4x16 $new
lnl    testing   ProductFamilyOverride=lnl HardwareInfoOverride=2x4x8 $new
ptl    testing   ProductFamilyOverride=ptl HardwareInfoOverride=2x6x8 $new
"

subject="Intel's OpenCL driver for GPUs"

# run RELEASE PROGRAM [ARGUMENT...]: replaces this shell by the program.
run () {
  local root=$cache/$1 program path
  program=$(type -P "$2") || {
    echo "intel-driver.sh: there is no program $2" >&2
    exit 127
  }
  shift 2
  if [ "$(basename "$root")" = bookworm ]; then
    # This machine's libraries come first: they are as new or newer, and its programs need them.
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/$library:$root/$library
    exec "$program" "$@"
  fi
  [ "$(head -c 4 "$program" | tr -d '\0')" = $'\x7fELF' ] || {
    echo "intel-driver.sh: on this target it runs programs, no scripts as $program" >&2
    exit 126
  }
  path=$root/$library:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/$library
  exec "$root/$library/ld-linux-x86-64.so.2" --library-path "$path" --argv0 "$program" \
    "$program" "$@"
}

usage () {
  echo "usage: intel-driver.sh TARGET COMMAND...|--targets" >&2
  exit 2
}

names=$(awk 'NF { print $1 }' <<<"$targets")
if [ "${1-}" = --targets ]; then
  echo "$names"
  exit
fi
[ $# -ge 2 ] || usage
read -r _ release keys < <(awk -v name="$1" '$1 == name' <<<"$targets") || {
  echo "There is no target $1, but ${names//$'\n'/, }." >&2
  usage
}
shift

need_x86_64
# The driver of testing loads libze-intel-gpu1 by name when it starts.
packages=intel-opencl-icd
[ "$release" = bookworm ] || packages+=,libze-intel-gpu1
"$(dirname "$0")/debian-tree.sh" "$release" "$cache/$release" --mode=chrootless --variant=extract \
  --include="$packages"

export OCL_ICD_VENDORS=$cache/$release/$library/intel-opencl/libigdrcl.so
# SetCommandStreamReceiver 1: commands go to a file, which can be large and is not needed.
export NEOReadDebugKeys=1 SetCommandStreamReceiver=1 AUBDumpCaptureFileName=/dev/null
# The driver's own cache of binaries is off, since gemmcl has one.
export NEO_CACHE_PERSISTENT=0
for key in $keys; do
  export "${key?}"
done

need_device run "$release" clinfo
run "$release" "$@"
