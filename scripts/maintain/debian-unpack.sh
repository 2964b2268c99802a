#!/bin/bash
# Unpacks packages of another release of Debian and their dependencies, the C library included, into
# a folder of their own. apt fetches them from the mirror that this machine's apt uses, and checks
# signatures. Nothing is installed, and no root is needed.
#
#   debian-unpack.sh RELEASE FOLDER PACKAGE...
#
# FOLDER appears only when complete; an existing one is left alone. Concurrent runs for the same
# FOLDER wait. Exit status: 77, with the reason, if the packages cannot be fetched.
set -euo pipefail

unable () {
  echo "Debian's packages cannot be fetched: $*" >&2
  exit 77
}

if [ $# -lt 3 ]; then
  echo "usage: debian-unpack.sh RELEASE FOLDER PACKAGE..." >&2
  exit 2
fi
release=$1 folder=$2
shift 2
[ ! -d "$folder" ] || exit 0
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
[ ! -d "$folder" ] || exit 0
[ "$(uname -m)" = x86_64 ] || unable "these are for x86_64, this is $(uname -m)"
for tool in apt-get dpkg; do
  command -v "$tool" >/dev/null || unable "there is no $tool"
done
mirror=$("$(dirname "$0")/debian-mirror.sh")
[ -n "$mirror" ] || unable "this machine's apt knows no mirror of Debian: apt-get update"
echo "Fetching $* of Debian $release into $folder" >&2

# An apt with no installed packages
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,archives}/partial
: >"$work/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" \
  >"$work/sources.list"
# A mirror's index of testing may have expired. This machine's own update hooks must not run.
cat >"$work/apt.conf" <<END
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache::archives "$work/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
export APT_CONFIG=$work/apt.conf
said=$(apt-get --quiet update 2>&1 &&
  apt-get --quiet --yes --download-only install "$@" 2>&1) ||
  unable "apt could not fetch them: ${said##*$'\n'}"

for package in "$work"/archives/*.deb; do
  dpkg --extract "$package" "$work/tree"
done
rm -rf "$work/tree/usr/share"/{doc,man,locale,i18n}
mv -T "$work/tree" "$folder"
