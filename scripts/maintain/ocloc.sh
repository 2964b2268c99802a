#!/bin/bash
# Provides Intel's offline OpenCL compilers for isa.py: the one of Debian 12 for GPUs from bdw
# to dg2, and the one of Debian testing for GPUs from tgllp on.
#
#   ocloc.sh COMMAND...      runs COMMAND, such as a shell, with GEMMCL_OCLOC naming both
#
# The first run fetches them and their dependencies, the C library included, by
# debian-tree.sh into gemmcl-ocloc/ of the user's cache directory (600 MB). Nothing is
# installed. To update the compiler of testing, remove its directory. Nothing is fetched if
# GEMMCL_OCLOC is set, or with --no-fetch as the first option.
#
# Exit status: that of COMMAND; 77, with the reason, if the compilers cannot be fetched or started.
set -euo pipefail

. "$(dirname "$0")/common.sh"
cache=$XDG_CACHE_HOME/gemmcl-ocloc
library=usr/lib/x86_64-linux-gnu

subject="Intel's offline compiler"

# make_wrapper RELEASE: makes a program that runs the release's ocloc with the release's libraries.
make_wrapper () {
  local root=$cache/$1 program loader new help
  program=$(find "$root/usr/bin" -name 'ocloc*' | sort | tail -n 1)
  loader=$(find "$root" -name 'ld-linux-x86-64.so.2' -type f)
  if [ -z "$program" ] || [ -z "$loader" ]; then
    unable "Debian $1's packages have none"
  fi
  # The disassembler of Debian 12 loads the library by this name.
  [ -e "$root/$library/libiga64.so" ] ||
    ln -sf "$(basename "$(find "$root/$library" -name 'libiga64.so.*' | sort | head -n 1)")" \
      "$root/$library/libiga64.so"
  new=$(mktemp "$cache/ocloc.XXXXXX")
  cat >"$new" <<END
#!/bin/sh
root='$root'
exec '$loader' --library-path "\$root/$library:\$root/lib/x86_64-linux-gnu" '$program' "\$@"
END
  chmod 755 "$new"
  mv "$new" "$cache/ocloc-$1"
  # ocloc of Debian 12 prints its help, but exits with an error.
  help=$("$cache/ocloc-$1" compile --help 2>&1) || true
  grep -q 'can be:' <<<"$help" || unable "the one of Debian $1 does not start: $help"
}

# have RELEASE PACKAGE,...: fetches a compiler if necessary, and makes its wrapper.
have () {
  local status=0
  need_x86_64
  "$(dirname "$0")/debian-tree.sh" "$1" "$cache/$1" --mode=chrootless --variant=extract \
    --include="$2" || status=$?
  [ "$status" -eq 0 ] || unable "the one of Debian $1 could not be fetched"
  # Written atomically on each run, since the cache may have moved.
  make_wrapper "$1"
}

if [ "${1-}" = --no-fetch ]; then
  shift
  [ -n "${GEMMCL_OCLOC-}" ] || { [ -d "$cache/bookworm" ] && [ -d "$cache/testing" ]; } ||
    unable 'it was not fetched yet: ocloc.sh true'
fi
if [ -z "${GEMMCL_OCLOC-}" ]; then
  # The driver packages bring the compiler's libraries; in Debian 12 also ocloc itself.
  have bookworm intel-opencl-icd
  have testing intel-ocloc,intel-opencl-icd
  export GEMMCL_OCLOC=$cache/ocloc-testing:$cache/ocloc-bookworm
fi

exec "$@"
