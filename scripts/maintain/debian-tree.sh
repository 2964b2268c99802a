#!/bin/bash
# Makes a tree of a release of Debian with mmdebstrap, whose further options are OPTIONs. The
# packages come from the mirror that this machine's apt uses.
#
#   debian-tree.sh RELEASE FOLDER OPTION...
#   debian-tree.sh RELEASE FOLDER --mode=chrootless --variant=extract --include=PACKAGE,...
#                                 only unpacks packages and what they need, the C library included.
#                                 Nothing is installed, and no root is needed
#
# FOLDER appears only when complete; an existing one is left alone. Concurrent runs for the same
# FOLDER wait. Exit status: 77, with the reason, if the packages cannot be fetched.
set -euo pipefail

. "$(dirname "$0")/common.sh"
subject="Debian's packages cannot be fetched"

# find_mirror: prints the mirror of Debian, for any release, that apt's lists name, if any.
find_mirror () {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Identifier: Packages' |
    sed -n 's/^Debian|Debian|//p' | sort -u | head -n 1
}

if [ $# -lt 3 ]; then
  echo "usage: debian-tree.sh RELEASE FOLDER OPTION..." >&2
  exit 2
fi
release=$1 folder=$2
shift 2
[ ! -d "$folder" ] || exit 0
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
[ ! -d "$folder" ] || exit 0
command -v mmdebstrap >/dev/null || unable 'mmdebstrap is missing: run scripts/setup.sh test'
mirror=$(find_mirror)
if [ -z "$mirror" ] && [ "$(id -u)" -eq 0 ]; then
  # An image of Debian may come without lists.
  apt-get -qq update || true
  mirror=$(find_mirror)
fi
[ -n "$mirror" ] || unable "this machine's apt knows no mirror of Debian: apt-get update"
# A proxy that is configured only for apt
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
echo "Making $folder of Debian $release" >&2

work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
# A mirror's index of testing may have expired. An incomplete tree is made afresh, so dpkg need not
# sync.
said=$(env ${http_proxy:+http_proxy="$http_proxy"} mmdebstrap --quiet \
  --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=force-unsafe-io \
  "$@" "$release" "$work/tree" "$mirror" 2>&1) || unable "mmdebstrap failed: ${said##*$'\n'}"
mv -T "$work/tree" "$folder"
