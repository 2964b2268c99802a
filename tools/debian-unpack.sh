#!/bin/bash
# Packages of another release of Debian, with all they need, the C library among it, in a folder of
# their own: fetched by apt, which checks signatures, from the mirror that this machine's own apt
# uses, and unpacked. Nothing is installed, and it takes no root.
#
#   tools/debian-unpack.sh RELEASE FOLDER PACKAGE...
#
# FOLDER appears whole or not at all; if it is there nothing is done. What runs at the same time for
# the same FOLDER waits. Exit status 77, with the reason, where the packages cannot be had.
set -euo pipefail

unable () {
  echo "Debian's packages cannot be had: $*" >&2
  exit 77
}

# configure_apt WORK RELEASE MIRROR: an apt for which nothing is installed yet.
configure_apt () {
  local work=$1 release=$2 mirror=$3
  mkdir -p "$work"/{lists,archives}/partial
  : >"$work/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" \
    >"$work/sources.list"
  # A mirror can be behind testing's dates. What this machine does after an update is not for us.
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
}

# fetch RELEASE FOLDER PACKAGE...
fetch () {
  local release=$1 folder=$2 mirror work said tool package
  shift 2
  [ "$(uname -m)" = x86_64 ] || unable "these are for x86_64, this is $(uname -m)"
  for tool in apt-get dpkg; do
    command -v "$tool" >/dev/null || unable "there is no $tool"
  done
  mirror=$("$(dirname "$0")/debian-mirror.sh")
  [ -n "$mirror" ] || unable "this machine's apt knows no mirror of Debian: apt-get update"
  work=$(mktemp -d "$folder.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  echo "Fetching $* of Debian $release into $folder" >&2
  configure_apt "$work" "$release" "$mirror"
  export APT_CONFIG=$work/apt.conf
  said=$(apt-get --quiet update 2>&1 &&
    apt-get --quiet --yes --download-only install "$@" 2>&1) ||
    unable "apt could not fetch them: ${said##*$'\n'}"
  for package in "$work"/archives/*.deb; do
    dpkg --extract "$package" "$work/tree"
  done
  rm -rf "$work/tree/usr/share"/{doc,man,locale,i18n}
  mv -T "$work/tree" "$folder"
}

if [ $# -lt 3 ]; then
  echo "usage: tools/debian-unpack.sh RELEASE FOLDER PACKAGE..." >&2
  exit 2
fi
folder=$2
if [ ! -d "$folder" ]; then
  mkdir -p "$(dirname "$folder")"
  exec 9>"$folder.lock"
  flock 9
  [ -d "$folder" ] || (fetch "$@")
fi
