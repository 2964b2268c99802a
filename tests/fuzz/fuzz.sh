#!/bin/bash
# Runs a fuzz target under libFuzzer.
#
#   fuzz.sh PROGRAM CORPUS DICTIONARY [OPTION...]
#
# GEMMCL_FUZZ_SECONDS is the duration in seconds (default: 60). Inputs that reach new code are kept
# beside the program for the next run. Inputs that break it are kept, too, and named in the last
# lines.
set -euo pipefail

program=$1 corpus=$2 dictionary=$3
shift 3
found=$program.found
mkdir -p "$found"
# Most readers need a file for each input.
if [ -d /dev/shm ]; then
  export TMPDIR=/dev/shm
fi
XDG_CACHE_HOME=$(mktemp -d)
export XDG_CACHE_HOME
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
"$program" -max_total_time="${GEMMCL_FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 \
  -max_len=1024 -dict="$dictionary" -artifact_prefix="$program-" -error_exitcode=99 \
  -print_final_stats=1 -verbosity=0 "$@" "$found" "$corpus"
