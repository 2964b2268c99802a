#!/bin/bash
# Runs the tests of the library, the kernels and the element on Debian 13 (trixie) and Debian
# testing, each in a chroot: other versions of the compilers, PoCL, GStreamer and GLib. Some of them
# run once more on Mesa's Rusticl, as a CPU and as a GPU; with GEMMCL_TEST_BRIEF, only a part.
#
#   distros.sh                             the test suite in both
#   distros.sh trixie|testing              the test suite in one
#   distros.sh trixie|testing COMMAND...   COMMAND in a copy of the sources there
#   distros.sh --packages [NAME]           build, check and install Debian's packages in both
#                                          and in bookworm, or in one; they remain in
#                                          build-distros/NAME-packages
#   distros.sh --packages NAME-arm64       the same and brief tests of the library, for arm64
#   distros.sh NAME-bare COMMAND...        COMMAND, timed, in a new chroot, which has apt and little
#                                          else, and ends with the run
#
# The first run makes the chroot with debian-tree.sh, in gemmcl-distros/ of the user's cache
# directory, and installs the packages of `scripts/setup.sh chroot`. Later runs reuse it and install
# only packages that are new in setup.sh. To start afresh, remove the chroot's directory.
#
# On other machines qemu-user-static runs the programs of arm64; the kernel knows it until the next
# boot. Only gcc, lintian and apt-get are not emulated, since they would take hours: Debian's cross
# compiler and the others of the same release run on this machine. Tests that take too long are
# skipped by name.
#
# The test runs on a copy of the sources, without the files that git ignores. The copy and its build
# are in memory. They end with the run, as do all mounts and processes, even if it is killed.
# build-distros/NAME.log remains, and NAME.json, NAME-rusticl-cpu.json and NAME-rusticl-gpu.json,
# which test-results.py counts.
#
# The last line is "N passed, N failed, N skipped", as in scripts/test.sh. A distribution counts as
# skipped, with the reason, if its chroot cannot be made, or if it takes longer than
# GEMMCL_DISTRO_LIMIT, in the syntax of timeout (default 25m, and 150m for arm64). Tests that hang
# reach their own limits first.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8

. scripts/maintain/common.sh
cache=$XDG_CACHE_HOME/gemmcl-distros
results=$PWD/build-distros
limit=25m
arch=
packages=chroot
prefixes='/usr/local /usr /root/.local'
options=(-Dgst=enabled -Dtools=enabled -Ddocs=enabled)
suites=(--suite lib --suite kernels --suite gst --suite install)
if [ -n "${GEMMCL_TEST_DEBIAN-}" ]; then
  suites=(--suite install)
fi
case ${1-}/${2-} in
  *-arm64/* | --*/*-arm64)
    limit=150m
    arch=arm64
    packages=demo
    prefixes=
    options=(-Dgst=disabled -Dtools=disabled -Dintrospection=disabled)
    # Others compile so many programs that emulation takes too long.
    suites=(private frame matrix first-use introspection debian)
    export GEMMCL_TEST_BRIEF=1
    ;;
esac
limit=${GEMMCL_DISTRO_LIMIT:-$limit}
on_rusticl=(--suite lib --suite kernels --suite gst)
if [ -n "${GEMMCL_TEST_BRIEF-}" ]; then
  on_rusticl=(kernels-0 kernels-1 kernels-2 kernels-3 blocks choice kernel-table runs threads
    gst-values gst-foreign gst-media gst-context gst-memory gst-offer gst-opencl-memory)
fi

# furnish ROOT: mounts what a run needs, and copies the sources, all in memory.
furnish () {
  local root=$1 name
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  mkdir -p "$root/dev/shm" "$root/var/cache/gemmcl/pocl"
  find "$root/var/cache/gemmcl/pocl" -mindepth 2 -maxdepth 2 -mtime +14 -exec rm -rf {} +
  for name in tmp mnt dev/shm; do
    mount -t tmpfs tmpfs "$root/$name"
  done
  cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir "$root/mnt/source"
  # Git also lists tracked files that have been removed.
  # shellcheck disable=SC2016
  git ls-files -z --cached --others --exclude-standard --deduplicate |
    xargs -0 sh -c 'for name; do [ ! -e "$name" ] || printf "%s\0" "$name"; done' sh |
    tar --create --null --files-from - |
    tar --extract --no-same-owner --directory "$root/mnt/source"
}

# enter ROOT COMMAND...: runs COMMAND in the copy of the sources. PoCL's cache outlasts the run. The
# OpenCL device is PoCL's or, if $rusticl is cpu or gpu, Rusticl's, which reports that type.
# MALLOC_* put all memory in one heap, with mapped memory behind it: llvmpipe of Mesa 26.1 reads
# past the ends of buffers, without effect on results (docs/internals/testing.md).
rusticl=
enter () {
  local root=$1 vendor=${rusticl:+rusticl}
  shift
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    POCL_CACHE_DIR=/var/cache/gemmcl/pocl \
    OCL_ICD_VENDORS="/etc/OpenCL/vendors/${vendor:-pocl}.icd" \
    ${rusticl:+RUSTICL_ENABLE=llvmpipe RUSTICL_DEVICE_TYPE="$rusticl"} \
    ${rusticl:+MALLOC_ARENA_MAX=1 MALLOC_MMAP_MAX_=0 MALLOC_TOP_PAD_=268435456} \
    ${http_proxy:+http_proxy="$http_proxy"} \
    ${GEMMCL_TEST_BRIEF:+GEMMCL_TEST_BRIEF="$GEMMCL_TEST_BRIEF"} \
    ${GEMMCL_TEST_ROWS:+GEMMCL_TEST_ROWS="$GEMMCL_TEST_ROWS"} \
    GEMMCL_TEST_PREFIXES="$prefixes" \
    ${GEMMCL_TEST_DEBIAN:+GEMMCL_TEST_DEBIAN="$GEMMCL_TEST_DEBIAN"} \
    chroot "$root" sh -c 'cd /mnt/source && exec "$@"' sh "$@" </dev/null
}

# rusticl_suites NAME ROOT: tests on Rusticl, and `gemmcl check`.
rusticl_suites () {
  local log
  for rusticl in cpu gpu; do
    log=$results/$1-rusticl-$rusticl.json
    if [ ! -f "$2/etc/OpenCL/vendors/rusticl.icd" ]; then
      python3 scripts/maintain/test-results.py --stand-in SKIP "$1 has no mesa-opencl-icd" >"$log"
      continue
    fi
    enter "$2" meson test -C /mnt/build --no-rebuild --print-errorlogs --timeout-multiplier 10 \
      --logbase "rusticl-$rusticl" "${on_rusticl[@]}" || true
    cp "$2/mnt/build/meson-logs/rusticl-$rusticl.json" "$log"
    enter "$2" /mnt/build/tools/gemmcl check --seconds 60 64,64,64 -o /tmp/check.json ||
      python3 scripts/maintain/test-results.py --stand-in FAIL "gemmcl check" >>"$log"
  done
  rusticl=
}

# start_emulation: has the kernel run programs of arm64 by qemu-user.
start_emulation () {
  local formats=/proc/sys/fs/binfmt_misc known=/usr/lib/binfmt.d/qemu-aarch64.conf
  if [ "$(uname -m)" = aarch64 ] || [ -e "$formats/qemu-aarch64" ]; then
    return
  fi
  [ -f "$known" ] || unable 'qemu-user-static is missing'
  [ -e "$formats/register" ] || mount -t binfmt_misc binfmt_misc "$formats"
  cat "$known" >"$formats/register"
}

# ease ROOT RELEASE: spares a chroot of arm64 some emulation. Its apt-get, gcc and lintian, as far
# as they are installed, are those of a tree of the same release for this machine, of the same
# versions and with the same output. It does without the compilation of Python's modules and without
# appstream's catalogue.
ease () {
  local name tree=$cache/$2-for-arm64 native=$1/mnt/native
  [ "$(uname -m)" != aarch64 ] || return 0
  scripts/maintain/debian-tree.sh "$2" "$tree" --variant=minbase \
    --include=gcc-aarch64-linux-gnu,lintian
  mkdir -p "$native"
  mount --bind "$tree" "$native"
  mount --bind "$1/tmp" "$native/tmp"
  printf '#!/bin/sh\nexec chroot /mnt/native lintian "$@"\n' >"$1/mnt/lintian"
  chmod +x "$1/mnt/lintian"
  [ ! -e "$1/usr/bin/lintian" ] || mount --bind "$1/mnt/lintian" "$1/usr/bin/lintian"
  ln -sfn usr/lib64 "$1/lib64"
  for name in "$tree"/usr/{lib64,lib/{x86_64-linux-gnu,apt},lib{,exec}/gcc-cross} \
    "$tree"/usr/bin/{apt-get,apt-cache,aarch64-linux-gnu-{as,ld.bfd,gcc-[0-9]*}}; do
    [ ! -d "$name" ] || mkdir -p "$1/${name#"$tree"}"
    [ ! -e "$1/${name#"$tree"}" ] || mount --bind -o ro "$name" "$1/${name#"$tree"}"
  done
  for name in "$1"/usr/bin/{py3compile,appstreamcli}; do
    [ ! -e "$name" ] || mount --bind "$1/usr/bin/true" "$name"
  done
}

# unpack ROOT RELEASE: installs the packages of a run in a new chroot of arm64. This machine's dpkg
# unpacks them, which takes far longer by emulation. The packages for all architectures are not
# built there.
unpack () {
  ease "$@"
  echo 'APT::Architecture "arm64"; APT::Get::Arch-Only "true";' >"$1/etc/apt/apt.conf.d/arm64"
  mkdir -p "$1/etc/dpkg"
  echo build=any >"$1/etc/dpkg/buildpackage.conf"
  echo 'APT::Get::Download-Only "true";' >"$1/tmp/fetch.conf"
  enter "$1" env APT_CONFIG=/tmp/fetch.conf sh -ec "scripts/setup.sh $packages
    apt-get -qq --yes --no-install-recommends install build-essential fakeroot lintian
    apt-get -qq --yes --no-install-recommends build-dep ./"
  dpkg --root="$1" --force-depends --force-architecture --force-unsafe-io --unpack \
    "$1"/var/cache/apt/archives/*.deb >/dev/null
  ease "$@"
  enter "$1" dpkg --force-unsafe-io --configure --pending
}

# inside NAME [COMMAND...]: the part of a run that has its own namespaces of mounts and processes.
inside () {
  local name=$1 root=$cache/$1 long
  shift
  if [[ $name == *-bare ]]; then
    mkdir -p "$root"
    mount -t tmpfs tmpfs "$root"
    scripts/maintain/debian-tree.sh "${name%-bare}" "$root/root" --variant=minbase
    furnish "$root/root"
    time enter "$root/root" "$@"
    return
  fi
  if [ -d "$root" ]; then
    furnish "$root"
    [ -z "$arch" ] || ease "$root" "${name%-arm64}"
    enter "$root" scripts/setup.sh "$packages"
  else
    # The remains of an interrupted run.
    rm -rf --one-file-system "$root.new"
    scripts/maintain/debian-tree.sh "${name%-arm64}" "$root.new" --variant=minbase \
      ${arch:+--arch="$arch" --skip=check/qemu}
    furnish "$root.new"
    [ -z "$arch" ] || unpack "$root.new" "${name%-arm64}"
    enter "$root.new" scripts/setup.sh "$packages"
    enter "$root.new" apt-get clean
    rm "$root.new.lock"
    mv -T "$root.new" "$root"
  fi
  if [ $# -gt 0 ]; then
    enter "$root" "$@"
    return
  fi
  mkdir "$root/mnt/packages"
  # Without -Dwerror, since newer compilers may have new warnings.
  enter "$root" meson setup /mnt/build -Dtests=enabled "${options[@]}"
  enter "$root" ninja --quiet -C /mnt/build
  # The parts that depend on the versions of compilers, PoCL, GStreamer and GLib.
  enter "$root" meson test -C /mnt/build --no-rebuild --print-errorlogs --timeout-multiplier 10 \
    "${suites[@]}" || true
  cp "$root/mnt/build/meson-logs/testlog.json" "$results/$name.json"
  if [ -n "$arch" ]; then
    long=$(enter "$root" meson test -C /mnt/build --no-rebuild --list --suite lib 2>/dev/null |
      sed 's|.* / ||' | grep -vxF "$(printf '%s\n' "${suites[@]}")" | paste -sd ' ')
    python3 scripts/maintain/test-results.py --stand-in SKIP \
      "by emulation these take too long: libgemmcl-doc $long" >>"$results/$name.json"
  fi
  if [ -n "${GEMMCL_TEST_DEBIAN-}" ]; then
    rm -rf "$results/$name-packages"
    cp -r "$root$GEMMCL_TEST_DEBIAN" "$results/$name-packages"
  else
    rusticl_suites "$name" "$root"
  fi
}

# outside NAME [COMMAND...]: runs inside within the limit, one run per distribution at a time.
outside () {
  local name=$1 status=0
  [ "$(id -u)" -eq 0 ] || unable 'a chroot takes root'
  unshare --mount --pid --fork true 2>/dev/null ||
    unable 'namespaces of mounts and processes cannot be made here'
  [ -z "$arch" ] || start_emulation
  mkdir -p "$cache"
  exec 9>"$cache/$name.lock"
  flock 9
  # unshare ignores other signals, and its end kills all its processes.
  timeout --foreground --signal=KILL "$limit" \
    unshare --mount --pid --fork --kill-child scripts/maintain/distros.sh --inside "$@" 9>&- ||
    status=$?
  if [ "$status" -eq 137 ]; then
    echo "stopped after $limit" >&2
    status=124
  fi
  return "$status"
}

# suite NAME: runs the test suite. If it ends early, a stand-in takes the place of the first results
# that are missing.
suite () {
  local name=$1 status log verdict=FAIL
  printf '\n== %s ==\n' "$name"
  mkdir -p "$results"
  rm -f "$results/$name"{,-rusticl-cpu,-rusticl-gpu}.json
  set +e
  outside "$name" 2>&1 | tee "$results/$name.log"
  status=${PIPESTATUS[0]}
  set -e
  if [ "$status" -ne 0 ]; then
    [[ $status != 77 && $status != 124 ]] || verdict=SKIP
    for log in "$results/$name"{,-rusticl-cpu,-rusticl-gpu}.json; do
      [ -f "$log" ] || break
    done
    python3 scripts/maintain/test-results.py --stand-in "$verdict" \
      "$(tail -n 1 "$results/$name.log")" >>"$log"
  fi
}

if [ "${1-}" = --inside ]; then
  inside "${@:2}"
  exit
fi
logs=()
names=(trixie testing)
if [ "${1-}" = --packages ]; then
  export GEMMCL_TEST_DEBIAN=/mnt/packages
  names=(bookworm trixie testing)
  shift
fi
case ${1-} in
  bookworm | trixie | testing | *-arm64 | *-bare) names=("$1") ;;
  '') ;;
  *)
    echo 'usage: distros.sh [--packages] [NAME [COMMAND...]]' >&2
    exit 2
    ;;
esac

# A proxy that is configured only for apt.
if [ -z "${http_proxy-}" ] && command -v apt-config >/dev/null; then
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
fi
if [ -n "${http_proxy-}" ]; then
  export http_proxy
fi

if [ $# -gt 1 ]; then
  outside "$@"
  exit
fi
for name in "${names[@]}"; do
  suite "$name"
  for log in "build-distros/$name"{,-rusticl-cpu,-rusticl-gpu}.json; do
    [ ! -f "$log" ] || logs+=("$(basename "$log" .json)=$log")
  done
done
printf '\n== results ==\n'
python3 scripts/maintain/test-results.py "${logs[@]}"
