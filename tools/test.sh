#!/bin/bash
# All tests: installs what they need, builds, runs them, and counts. The last line is
#
#     N passed, N failed, N skipped
#
# and the exit status is not 0 if anything failed. Above it stands why what was skipped was.
#
#   build/           gcc, warnings are errors, every test
#   build-sanitize/  clang with AddressSanitizer and UBSan, the tests that are C programs
#   build-thread/    clang with ThreadSanitizer, those of the library and the element
#
# PoCL takes long to compile kernels, so these tests are brief: PoCL compiles without optimisation
# (tests/doubles/cl-brief-layer.c), and the options that make another program of a kernel are tested
# with the first row of each method. More tests:
#
#   --ci             and the tests of the library, the kernels and the element in the chroots of
#                    tools/distros.sh
#   --full           with every row, optimised; the library's tests on Intel's OpenCL runtime for
#                    CPUs, too; what Intel's driver for GPUs, without one, makes of every row; and
#                    the fuzz targets under libFuzzer, in build-fuzz/, for a minute each
#   --all            and all kernels on Intel's runtime for CPUs, and everything in the chroots:
#                    hours where nothing of it was done before
#
# Without --all, Intel's runtime runs the first kernel of each method with subgroups.
# docs/internals/testing.md says what each of these is good for.
set -euo pipefail
cd "$(dirname "$0")/.."
# The distribution's Python is the one that has NumPy.
export PATH=/usr/bin:$PATH LC_ALL=C.UTF-8

# PoCL takes far longer to compile the kernels than to run them, and builds and clones share them.
export POCL_CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/gemmcl-tests/pocl
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
  # What an earlier run found does not count, and must not if this one does not come to its tests.
  rm -f "$directory"/meson-logs/*.json
  if [ -f "$directory/build.ninja" ]; then
    meson setup --reconfigure "$directory" "${options[@]}" "$@" >/dev/null
  else
    CC=$compiler meson setup "$directory" "${options[@]}" "$@"
  fi
}

distros=()
drivers=()
fuzz=
intel_rows=subgroups
intel_tests=(kernels-0 kernels-1 kernels-2 kernels-3 native-8 native-16)
case ${1-} in
  '') export GEMMCL_TEST_BRIEF=1 ;;
  --ci)
    export GEMMCL_TEST_BRIEF=1
    intel_tests+=(pictures rows)
    distros=(trixie testing)
    ;;
  --full)
    fuzz=yes
    intel_tests+=(--suite lib)
    mapfile -t drivers < <(tools/intel-driver.sh --targets)
    ;;
  --all)
    fuzz=yes
    intel_rows=
    intel_tests=(--suite lib --suite kernels)
    mapfile -t drivers < <(tools/intel-driver.sh --targets)
    distros=(trixie testing)
    ;;
  *)
    echo 'usage: tools/test.sh [--ci|--full|--all]' >&2
    exit 2
    ;;
esac

section 'installing'
if ! tools/setup.sh test; then
  printf '\n0 passed, 1 failed, 0 skipped\n'
  exit 1
fi

# A build that fails leaves no log, which counts as a failure.
intel_log=build/meson-logs/intel-cpu.json
rm -f "$intel_log"
if configure build gcc && ninja --quiet -C build; then
  section 'testing build/'
  meson test -C build --no-rebuild --print-errorlogs --timeout-multiplier 10 || true
fi
section "testing build/ on Intel's OpenCL runtime for CPUs"
if said=$(tools/intel-runtime.sh true 2>&1); then
  env ${intel_rows:+GEMMCL_TEST_ROWS=$intel_rows} tools/intel-runtime.sh \
    meson test -C build --no-rebuild --print-errorlogs --logbase intel-cpu --timeout-multiplier 10 \
    "${intel_tests[@]}" || true
else
  python3 tools/test-results.py --stand-in SKIP "${said##*$'\n'}" >"$intel_log"
fi
for target in "${drivers[@]}"; do
  section "testing what Intel's driver makes of the kernels for $target"
  driver_log=build/meson-logs/driver-$target-intel-driver.sh.json
  rm -f "$driver_log"
  if said=$(tools/intel-driver.sh "$target" true 2>&1); then
    GEMMCL_DRIVER_CACHE=${XDG_CACHE_HOME:-$HOME/.cache} meson test -C build --no-rebuild \
      --print-errorlogs --logbase "driver-$target" --timeout-multiplier 10 \
      --wrapper "$PWD/tools/intel-driver.sh $target" driver build-info gst-va-driver || true
  else
    python3 tools/test-results.py --stand-in SKIP "${said##*$'\n'}" >"$driver_log"
  fi
done
# In the builds for sanitizers Meson builds what the tests need, and no more; optimised less, with
# as much debugging information as a report takes.
sanitizers=(-Dtools=enabled -Doptimization=1 -Ddebug=false -Dc_args=-g1 -Db_lundef=false)

# Python, GStreamer's tools and compilers are no sanitized programs, so what runs them is left out;
# and of the kernels, which PoCL compiles without sanitizers, all but the first row; and what of the
# tool takes long. GStreamer must look at the plugin in the test itself: its scanner cannot load it.
# The sanitizers' exit status is not one that a test knows, lest a report pass for a skip.
sanitized () {
  GST_REGISTRY_FORK=no \
    ASAN_OPTIONS=detect_leaks=1:exitcode=99 \
    LSAN_OPTIONS=suppressions=$PWD/tests/project/leaks.supp:print_suppressions=0 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=99 \
    meson test -C build-sanitize --print-errorlogs --timeout-multiplier 10 "$@" || true
}
kernels_log=build-sanitize/meson-logs/kernels.json
tool_log=build-sanitize/meson-logs/tool.json
if configure build-sanitize clang "${sanitizers[@]}" -Db_sanitize=address,undefined; then
  sanitized --no-suite script --no-suite kernels --no-suite tools
  sanitized --logbase tool tool-usage tool-devices
  sanitized --logbase kernels --test-args='-p /kernels/gemm_naive' kernels-0
fi

# The setup of this build tells the sanitizer what GLib orders (tests/project/meson.build).
if configure build-thread clang "${sanitizers[@]}" -Db_sanitize=thread -Dtools=disabled \
  -Ddocs=disabled && meson compile -C build-thread order-glib; then
  GEMMCL_TEST_BRIEF=1 meson test -C build-thread --print-errorlogs --suite lib --suite gst \
    --no-suite script --no-suite one-thread || true
fi

if [ -n "$fuzz" ] && configure build-fuzz clang -Dfuzz=true -Db_sanitize=address,undefined \
  -Db_lundef=false -Dtools=disabled -Ddocs=disabled && ninja --quiet -C build-fuzz fuzz-targets
then
  section 'fuzzing'
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 meson test -C build-fuzz --no-rebuild \
    --print-errorlogs --suite fuzz || true
fi

results=(gcc=build sanitized=build-sanitize sanitized="$kernels_log" sanitized="$tool_log"
  threads=build-thread intel-cpu="$intel_log" ${fuzz:+fuzz=build-fuzz})
for target in "${drivers[@]}"; do
  results+=("driver-$target=build/meson-logs/driver-$target-intel-driver.sh.json")
done
for name in "${distros[@]}"; do
  tools/distros.sh --no-count "$name"
  results+=("$name=build-distros/$name.json")
done

section 'results'
python3 tools/test-results.py "${results[@]}"
