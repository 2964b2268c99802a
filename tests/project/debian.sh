#!/bin/bash
# Builds Debian's packages, checks them with lintian, installs them and runs debian/tests. TAP out.
#
# It installs packages of the system, as root, so that it runs only if GEMMCL_TEST_DEBIAN is set,
# which `tools/distros.sh --packages` does in its chroots.
set -uo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

if [ -z "${GEMMCL_TEST_DEBIAN-}" ]; then
  echo '1..0 # SKIP GEMMCL_TEST_DEBIAN is not set; tools/distros.sh --packages sets it in chroots'
  exit 0
fi
source=$(realpath "$1")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
number=0
failed=0

# trial NAME COMMAND...: a test. The output of a command that fails is shown.
trial () {
  local name=$1
  number=$((number + 1))
  if "${@:2}" >"$top/log" 2>&1 </dev/null; then
    echo "ok $number $name"
  else
    failed=1
    echo "not ok $number $name"
    tail -n 40 "$top/log" | sed 's/^/# /'
  fi
}

prepare () {
  cp -a "$source" "$top/gemmcl" && cd "$top/gemmcl" &&
    apt-get -qq update &&
    apt-get -qq install --yes --no-install-recommends build-essential fakeroot lintian &&
    apt-get -qq build-dep --yes ./
}

install_packages () {
  apt-get -qq install --yes --no-install-recommends "$top"/*.deb
}

# Informational tags do not count: they differ from release to release.
lint () {
  lintian --fail-on error,warning --suppress-tags bad-distribution-in-changes-file \
    --allow-root "$top"/*.changes
}

# autopkgtest NAME: runs debian/tests/NAME with what its stanza of debian/tests/control names.
autopkgtest () {
  local packages
  packages=$(awk -v RS= -v name="$1" '$0 ~ "Tests:.* ?" name' debian/tests/control |
    sed -n '/^Depends:/,/^[^ D]/{s/^Depends://;/^Restrictions/d;p}' | tr -d ',')
  # shellcheck disable=SC2086
  apt-get -qq install --yes --no-install-recommends $packages &&
    rm -rf "$top/autopkgtest" && mkdir "$top/autopkgtest" &&
    AUTOPKGTEST_TMP="$top/autopkgtest" "debian/tests/$1"
}

echo 1..9
trial 'dependencies are installed' prepare
cd "$top/gemmcl" || exit 1
trial 'the packages are built' dpkg-buildpackage --no-sign
trial 'lintian finds neither errors nor warnings' lint
trial 'the packages can be installed' install_packages
for name in demos introspection tool library; do
  trial "debian/tests/$name" autopkgtest "$name"
done
trial 'the packages can be removed' apt-get -qq purge --yes libgemmcl0 libgemmcl-dev \
  gir1.2-gemmcl-1.0 gstreamer1.0-gemmcl gemmcl-tools
exit "$failed"
