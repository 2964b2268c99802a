#!/bin/bash
# Intel's OpenCL driver for GPUs, with no GPU: asked to, it writes its commands to a file instead of
# to hardware. Its extensions, limits, compiler and checks are then those of the GPU that it is told
# to find. Commands are done at once and compute nothing, so results and times mean nothing.
#
#   tools/intel-driver.sh TARGET COMMAND...    runs COMMAND with it as the only OpenCL platform
#   tools/intel-driver.sh --targets            lists the targets
#
# The first run of a target fetches the driver, Debian 12's or Debian testing's, with all it needs,
# by tools/debian-unpack.sh, into gemmcl-intel-driver/ of the user's cache directory (about 350 MB
# each). Nothing is installed, and it takes no root. To have testing's newest again, remove its
# directory there. GEMMCL_DRIVER_CACHE is where that cache directory is, if XDG_CACHE_HOME is for
# COMMAND alone.
#
# Testing's driver wants testing's C library, so COMMAND is run by testing's dynamic loader: it must
# be a program, no script, and the programs that it starts see no OpenCL.
#
# Exit status: COMMAND's, or 77, with the reason, where the driver cannot be had or does not start.
set -euo pipefail

library=usr/lib/x86_64-linux-gnu
cache=${GEMMCL_DRIVER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}}/gemmcl-intel-driver

# target, release of Debian, and what the driver is told to find there: for most also how many
# slices x subslices x EUs, which it would ask the hardware for.
# What testing's must do without here.
new='UseAubStream=0 UseBindlessMode=0'
targets="
skl    bookworm  ProductFamilyOverride=skl
tgllp  bookworm  ProductFamilyOverride=tgllp
dg2    bookworm  ProductFamilyOverride=dg2 HardwareInfoOverride=2x4x16
mtl    testing   ProductFamilyOverride=mtl HardwareInfoOverride=2x4x16 $new
arl-h  testing   ProductFamilyOverride=arl-h HardwareInfoOverride=2x4x16 $new
lnl    testing   ProductFamilyOverride=lnl HardwareInfoOverride=2x4x8 $new
ptl    testing   ProductFamilyOverride=ptl HardwareInfoOverride=2x6x8 $new
"

unable () {
  echo "Intel's OpenCL driver for GPUs: $*" >&2
  exit 77
}

# run RELEASE PROGRAM [ARGUMENT...], in place of this shell.
run () {
  local root=$cache/$1 program path
  program=$(type -P "$2") || {
    echo "tools/intel-driver.sh: there is no program $2" >&2
    exit 127
  }
  shift 2
  if [ "$(basename "$root")" = bookworm ]; then
    # What this machine has is as new, or newer, and its programs want it.
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/$library:$root/$library
    exec "$program" "$@"
  fi
  [ "$(head -c 4 "$program" | tr -d '\0')" = $'\x7fELF' ] || {
    echo "tools/intel-driver.sh: on this target it runs programs, no scripts as $program" >&2
    exit 126
  }
  path=$root/$library:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/$library
  exec "$root/$library/ld-linux-x86-64.so.2" --library-path "$path" --argv0 "$program" \
    "$program" "$@"
}

usage () {
  echo "usage: tools/intel-driver.sh TARGET COMMAND...|--targets" >&2
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

# Testing's driver opens the second one, by its name, when it starts.
packages=(intel-opencl-icd)
[ "$release" = bookworm ] || packages+=(libze-intel-gpu1)
"$(dirname "$0")/debian-unpack.sh" "$release" "$cache/$release" "${packages[@]}"

# Where the cache lies may change, so this is written each time, but atomically.
icd=$(mktemp "$cache/icd.XXXXXX")
echo "$cache/$release/$library/intel-opencl/libigdrcl.so" >"$icd"
mkdir -p "$cache/$release/vendors"
mv "$icd" "$cache/$release/vendors/intel.icd"
export OCL_ICD_VENDORS=$cache/$release/vendors
# 1: commands go to a file. The file can be large, and nobody reads it.
export NEOReadDebugKeys=1 SetCommandStreamReceiver=1 AUBDumpCaptureFileName=/dev/null
# Compiled binaries: gemmcl keeps its own.
export NEO_CACHE_PERSISTENT=0
for key in $keys; do
  export "${key?}"
done

command -v clinfo >/dev/null || unable 'clinfo, which checks it, is missing: tools/setup.sh test'
devices=$(run "$release" clinfo -l 2>&1 </dev/null) || unable "clinfo failed: $devices"
grep -q 'Device #0' <<<"$devices" ||
  unable "it does not start: clinfo found no device${devices:+: $devices}"
run "$release" "$@"
