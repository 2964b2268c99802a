#!/bin/bash
# The test suite on other distributions: Debian 13 (trixie) and Debian testing, each in a chroot.
#
#   tools/distros.sh                             the test suite in both
#   tools/distros.sh trixie|testing              ... in one
#   tools/distros.sh trixie|testing COMMAND...   COMMAND, in a copy of the sources there
#
# The first run makes the chroot with debootstrap, from the mirror that this machine's own apt uses,
# and installs what tools/setup.sh test does, under gemmcl-distros/ of the user's cache directory.
# Later runs take it as it is, and install only what a newer setup.sh asks for besides. To have it
# made anew, remove its directory there.
#
# Tested is a copy of the sources: the files that git knows or does not ignore. It and its build lie
# in memory and end with the run, as do all mounts and processes, however it ends. What remains is
# build-distros/NAME.log, and NAME.json, which tools/test-results.py counts.
#
# The last line is that of tools/test.sh, "N passed, N failed, N skipped", unless --no-count stands
# in front. Where chroots cannot be made it says why, and that counts as skipped; so does a
# distribution that takes longer than GEMMCL_DISTRO_LIMIT (25m; as of timeout): what hangs is found
# by the limit that each test has.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

cache=${XDG_CACHE_HOME:-$HOME/.cache}/gemmcl-distros
results=$PWD/build-distros
limit=${GEMMCL_DISTRO_LIMIT:-25m}

# It cannot be done here: why, and the exit status that says so.
unable () {
  echo "$*" >&2
  exit 77
}

# bootstrap NAME ROOT: the distribution with nothing of ours in it.
bootstrap () {
  local name=$1 root=$2 mirror
  command -v debootstrap >/dev/null || unable 'debootstrap is missing: run tools/setup.sh test'
  mirror=$(tools/debian-mirror.sh)
  if [ -z "$mirror" ]; then
    # Only apt's lists tell whose a mirror is.
    apt-get -qq update || true
    mirror=$(tools/debian-mirror.sh)
  fi
  [ -n "$mirror" ] || unable "this machine's apt has no mirror of Debian"
  echo "Making a chroot of $name"
  # What a run left that did not come to its end.
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase "$name" "$root" "$mirror" >"$root.log" 2>&1 ||
    unable "debootstrap failed: $(tail -n 1 "$root.log")"
  rm "$root.log"
  # A mirror can be behind testing's dates.
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90gemmcl"
  # What is interrupted is made anew, so nothing has to reach the disk at once.
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/gemmcl"
}

# furnish ROOT: what it takes to run there, the sources among it, none of it on the disk.
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
  # Git knows of files that have been removed, too.
  # shellcheck disable=SC2016
  git ls-files -z --cached --others --exclude-standard --deduplicate |
    xargs -0 sh -c 'for name; do [ ! -e "$name" ] || printf "%s\0" "$name"; done' sh |
    tar --create --null --files-from - |
    tar --extract --no-same-owner --directory "$root/mnt/source"
}

# enter ROOT COMMAND...: runs it among the sources there. What PoCL compiles stays for later runs.
enter () {
  local root=$1
  shift
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    POCL_CACHE_DIR=/var/cache/gemmcl/pocl ${http_proxy:+http_proxy="$http_proxy"} \
    ${GEMMCL_TEST_BRIEF:+GEMMCL_TEST_BRIEF="$GEMMCL_TEST_BRIEF"} \
    chroot "$root" sh -c 'cd /mnt/source && exec "$@"' sh "$@" </dev/null
}

# inside NAME [COMMAND...]: what is done in namespaces of mounts and processes of its own.
inside () {
  local name=$1 root=$cache/$1
  shift
  if [ -d "$root" ]; then
    furnish "$root"
    enter "$root" tools/setup.sh test
  else
    bootstrap "$name" "$root.new"
    furnish "$root.new"
    enter "$root.new" tools/setup.sh test
    enter "$root.new" apt-get clean
    mv -T "$root.new" "$root"
  fi
  if [ $# -gt 0 ]; then
    enter "$root" "$@"
    return
  fi
  # Compilers to come may warn of what today's do not, so here warnings are no errors.
  enter "$root" meson setup /mnt/build -Dgst=enabled -Dtools=enabled -Dtests=enabled -Ddocs=enabled
  enter "$root" ninja --quiet -C /mnt/build
  enter "$root" meson test -C /mnt/build --no-rebuild --print-errorlogs --timeout-multiplier 3 ||
    true
  cp "$root/mnt/build/meson-logs/testlog.json" "$results/$name.json"
}

# outside NAME [COMMAND...]: inside, for the limit at most, one run of a distribution at a time.
outside () {
  local name=$1 child status=0
  [ "$(id -u)" -eq 0 ] || unable 'a chroot takes root'
  unshare --mount --pid --fork true 2>/dev/null ||
    unable 'namespaces of mounts and processes cannot be made here'
  mkdir -p "$cache"
  exec 9>"$cache/$name.lock"
  flock 9
  # It passes no signal on, but takes all that it started with it.
  unshare --mount --pid --fork --kill-child "tools/distros.sh" --inside "$@" 9>&- &
  child=$!
  # shellcheck disable=SC2064
  trap "kill -KILL $child 2>/dev/null || true" EXIT
  if ! timeout --foreground "$limit" tail --pid="$child" --follow /dev/null; then
    kill -KILL "$child"
    status=124
  fi
  wait "$child" 2>/dev/null || status=$((status ? status : $?))
  trap - EXIT
  [ "$status" -ne 124 ] || echo "stopped after $limit" >&2
  return "$status"
}

# suite NAME: the test suite, and in any case results.
suite () {
  local name=$1 status verdict=FAIL
  printf '\n== %s ==\n' "$name"
  mkdir -p "$results"
  rm -f "$results/$name.json"
  set +e
  outside "$name" 2>&1 | tee "$results/$name.log"
  status=${PIPESTATUS[0]}
  set -e
  if [ "$status" -ne 0 ]; then
    [[ $status != 77 && $status != 124 ]] || verdict=SKIP
    python3 tools/test-results.py --stand-in "$verdict" \
      "$(tail -n 1 "$results/$name.log")" >"$results/$name.json"
  fi
}

if [ "${1-}" = --inside ]; then
  inside "${@:2}"
  exit
fi
count=yes
logs=()
if [ "${1-}" = --no-count ]; then
  count=no
  shift
fi
case ${1-} in
  trixie | testing) names=("$1") ;;
  '') names=(trixie testing) ;;
  *)
    echo 'usage: tools/distros.sh [--no-count] [trixie|testing [COMMAND...]]' >&2
    exit 2
    ;;
esac

# A proxy that only apt was told of.
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
done
if [ "$count" = yes ]; then
  printf '\n== results ==\n'
  for name in "${names[@]}"; do
    logs+=("$name=build-distros/$name.json")
  done
  python3 tools/test-results.py "${logs[@]}"
fi
