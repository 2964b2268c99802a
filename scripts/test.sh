#!/bin/bash
# Runs all tests: installs the packages that they need, builds, runs the tests, and counts. The last
# line is
#
#     N passed, N failed, N skipped
#
# Above it are the skipped tests with reasons. The exit status is not 0 if a test failed.
#
# Without an option it makes one build, build/ with gcc, in which warnings are errors, and runs all
# tests. PoCL takes long to compile kernels, so these tests are brief: PoCL compiles without
# optimisation (tests/doubles/cl-layer.c), and options that need another program of a kernel
# are tested only with the first row of each method. Options add tests:
#
#   --ci             Two builds with sanitizers: build-sanitize/ (clang with AddressSanitizer and
#                    UBSan) for the tests that are C programs and scripts that load the code, and
#                    build-thread/ (clang with ThreadSanitizer) for the C programs of the library
#                    and the element. Some tests run on Intel's OpenCL runtime for CPUs, and those
#                    of the library, the kernels and the element in the chroots of
#                    distros.sh.
#   --full           The sanitizers, and every row, optimised. Also the library's tests on Intel's
#                    runtime; every row with Intel's driver for GPUs, which needs no GPU; the fuzz
#                    targets under libFuzzer, in build-fuzz/, for a minute each; convolutions
#                    compared with PyTorch, where the distribution has it; and Debian's packages in
#                    chroots of Debian 12, 13 and testing.
#   --all            The same with all kernels on Intel's runtime, and everything in the chroots.
#                    With empty caches this takes hours.
#
# Without --all, Intel's runtime and the chroots run the first kernel of each method with subgroups.
# docs/internals/testing.md describes the purpose of each of these.
set -euo pipefail
cd "$(dirname "$0")/.."
# Only the distribution's Python is sure to have NumPy.
export PATH=/usr/bin:$PATH LC_ALL=C.UTF-8

. scripts/maintain/common.sh
# Builds and clones share PoCL's compiled kernels, which take far longer to compile than to run.
export POCL_CACHE_DIR=$XDG_CACHE_HOME/gemmcl-tests/pocl
mkdir -p "$POCL_CACHE_DIR"
find "$POCL_CACHE_DIR" -mindepth 2 -maxdepth 2 -mtime +14 -exec rm -rf {} +

options=(-Dwerror=true -Dgst=enabled -Dtools=enabled -Dtests=enabled -Ddocs=enabled)

section () {
  printf '\n== %s ==\n' "$*"
}

# configure DIRECTORY COMPILER [OPTION...]
configure () {
  local directory=$1 compiler=$2
  shift 2
  section "$directory/ with $compiler"
  # Results of an earlier run must not count if this run fails before its tests.
  rm -f "$directory"/meson-logs/*.json
  if [ -f "$directory/build.ninja" ]; then
    meson setup --reconfigure "$directory" "${options[@]}" "$@" >/dev/null
  else
    CC=$compiler meson setup "$directory" "${options[@]}" "$@"
  fi
}

case ${1-} in
  '' | --ci)
    packages='test'
    export GEMMCL_TEST_BRIEF=1
    ;;
  --full | --all) packages=full ;;
  *)
    echo 'usage: scripts/test.sh [--ci|--full|--all]' >&2
    exit 2
    ;;
esac

section 'installing'
if ! scripts/setup.sh "$packages"; then
  printf '\n0 passed, 1 failed, 0 skipped\n'
  exit 1
fi

# The logs to count. A build that fails leaves no log, which counts as a failure.
results=()

# tested DIRECTORY LOG ARGUMENT...: meson test; the log is DIRECTORY/meson-logs/LOG.json. Two tests
# more than there are cores run at a time, since some tests wait most of the time.
tested () {
  local directory=$1 log=$2
  shift 2
  meson test -C "$directory" --num-processes $(($(nproc) + 2)) --print-errorlogs \
    --timeout-multiplier 10 --logbase "$log" "$@" || true
}

# stand_in LOG REASON: a log with one test that was skipped.
stand_in () {
  python3 scripts/maintain/test-results.py --stand-in SKIP "$2" >"$1"
}

with_gcc () {
  results+=(gcc=build)
  if configure build gcc && ninja --quiet -C build; then
    section 'testing build/'
    tested build testlog --no-rebuild
  fi
}

# on_intel_cpu ROWS ARGUMENT...: tests for these ROWS of kernels; an empty ROWS means all.
on_intel_cpu () {
  local log=build/meson-logs/intel-cpu.json rows=$1 said
  shift
  section "testing build/ on Intel's OpenCL runtime for CPUs"
  rm -f "$log"
  results+=(intel-cpu="$log")
  if said=$(scripts/maintain/intel-runtime.sh true 2>&1); then
    env ${rows:+GEMMCL_TEST_ROWS=$rows} scripts/maintain/intel-runtime.sh \
      meson test -C build --no-rebuild --print-errorlogs --logbase intel-cpu \
      --timeout-multiplier 10 "$@" || true
  else
    stand_in "$log" "${said##*$'\n'}"
  fi
}

# on_intel_driver TARGET
on_intel_driver () {
  local target=$1 said log
  log=build/meson-logs/driver-$target-intel-driver.sh.json
  section "testing the kernels with Intel's driver for $target"
  rm -f "$log"
  results+=("driver-$target=$log")
  if said=$(scripts/maintain/intel-driver.sh "$target" true 2>&1); then
    GEMMCL_DRIVER_CACHE=$XDG_CACHE_HOME tested build "driver-$target" \
      --no-rebuild --wrapper "$PWD/scripts/maintain/intel-driver.sh $target" driver gst-va-driver
  else
    stand_in "$log" "${said##*$'\n'}"
  fi
}

# Options of the builds for sanitizers: less optimisation, and only the debugging information that
# reports need.
sanitizers=(-Dtools=enabled -Doptimization=1 -Ddebug=false -Dc_args=-g1 -Db_lundef=false)

# sanitized LOG ARGUMENT...: tests with AddressSanitizer and UBSan. GStreamer's tools and compilers
# are not sanitized, so tests that run them are left out. So are scripts, unless they load the code
# into Python and preload a sanitizer for that; all rows of kernels but the first, since PoCL
# compiles them without sanitizers; and the tool's slow tests.
# GStreamer must scan the plugin in the test's process: its scanner cannot load it. The sanitizers'
# exit status must differ from that of a skipped test. LeakSanitizer guesses the size of a library's
# thread-local memory from the bytes before it, and may end with a signal; without
# intercept_tls_get_addr it finds that memory by its pointer.
sanitized () {
  GST_REGISTRY_FORK=no \
    ASAN_OPTIONS=detect_leaks=1:exitcode=99:intercept_tls_get_addr=0 \
    LSAN_OPTIONS=suppressions=$PWD/tests/project/leaks.supp:print_suppressions=0 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=99 \
    tested build-sanitize "$@"
}

with_sanitizers () {
  local logs=build-sanitize/meson-logs
  results+=(sanitized=build-sanitize "sanitized=$logs/kernels.json" "sanitized=$logs/tool.json")
  if configure build-sanitize clang "${sanitizers[@]}" -Db_sanitize=address,undefined; then
    sanitized testlog --no-suite script --no-suite kernels --no-suite tools
    sanitized tool tool-usage tool-devices
    GEMMCL_TEST_ROWS=gemm_naive sanitized kernels kernels-0
  fi
  # The build's setup tells the sanitizer how GLib synchronises (tests/project/meson.build).
  results+=(threads=build-thread)
  if configure build-thread clang "${sanitizers[@]}" -Db_sanitize=thread -Dtools=disabled \
    -Ddocs=disabled && meson compile -C build-thread order-glib; then
    GEMMCL_TEST_BRIEF=1 tested build-thread testlog --suite lib --suite gst --no-suite script \
      --no-suite one-thread
  fi
}

with_fuzzing () {
  results+=(fuzz=build-fuzz)
  if configure build-fuzz clang -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
    -Dtools=disabled -Ddocs=disabled && ninja --quiet -C build-fuzz fuzz-targets; then
    section 'fuzzing'
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 tested build-fuzz testlog --no-rebuild \
      --suite fuzz
  fi
}

# in_chroot NAME [ROWS]: the tests in another distribution and on Rusticl there, with these ROWS of
# kernels;
# packaged_in NAME: Debian's packages there.
in_chroot () {
  local log
  env ${2:+GEMMCL_TEST_ROWS=$2} scripts/maintain/distros.sh "$1" || true
  for log in "build-distros/$1"{,-rusticl-cpu,-rusticl-gpu}.json; do
    [ ! -f "$log" ] || results+=("$(basename "$log" .json)=$log")
  done
}

packaged_in () {
  scripts/maintain/distros.sh --packages "$1" || true
  mv "build-distros/$1.json" "build-distros/$1-packages.json"
  results+=("$1-packages=build-distros/$1-packages.json")
}

# full_steps: the steps that --full and --all share.
full_steps () {
  local target
  for target in $(scripts/maintain/intel-driver.sh --targets); do
    on_intel_driver "$target"
  done
  with_sanitizers
  with_fuzzing
  packaged_in bookworm
  packaged_in trixie
  packaged_in testing
}

kernels=(kernels-0 kernels-1 kernels-2 kernels-3 native-8 native-16)
with_gcc
case ${1-} in
  --ci)
    on_intel_cpu subgroups "${kernels[@]}" frames pictures products
    with_sanitizers
    in_chroot trixie subgroups
    in_chroot testing subgroups
    ;;
  --full)
    on_intel_cpu subgroups "${kernels[@]}" --suite lib
    full_steps
    ;;
  --all)
    on_intel_cpu '' --suite lib --suite kernels
    full_steps
    in_chroot trixie
    in_chroot testing
    ;;
esac

section 'results'
python3 scripts/maintain/test-results.py "${results[@]}"
