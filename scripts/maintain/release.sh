#!/bin/bash
# Makes the files of a release in build-release/, and attaches them to the release of a tag. CI
# calls it (.github/workflows/release.yml, .gitlab-ci.yml); each command also runs by hand.
#
#   release.sh sources    the tarball of the last commit, and gemmcl.wrap, by which Meson fetches it
#   release.sh packages   as root on Debian: builds, checks, installs, tries and removes packages
#                         of this release and architecture; an archive of them
#   release.sh image      the container image of Containerfile, by buildah, tried; for `podman load`
#   release.sh publish    attaches the files to the release of the tag for which CI runs
#
# GEMMCL_RELEASE names another folder. The packages fetched and PoCL's compiled kernels stay in
# build-cache/, which CI keeps.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C.UTF-8
folder=$(realpath -m "${GEMMCL_RELEASE:-build-release}")
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
tag=${CI_COMMIT_TAG:-${GITHUB_REF_NAME-}}
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# install_packages PACKAGE...
install_packages () {
  DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends install "$@"
}

# get_url: prints the address of the files of the tag's release, or else of the folder.
get_url () {
  if [ -n "${GITHUB_REPOSITORY-}" ]; then
    echo "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/releases/download/$tag"
  elif [ -n "${CI_PROJECT_URL-}" ]; then
    echo "$CI_PROJECT_URL/-/releases/$tag/downloads"
  else
    echo "file://$folder"
  fi
}

make_sources () {
  local tarball=$folder/gemmcl-$version.tar.xz
  meson setup --auto-features=disabled "$work/build" >/dev/null
  meson dist -C "$work/build" --no-tests --allow-dirty --formats xztar >/dev/null
  cp "$work/build/meson-dist/gemmcl-$version.tar.xz" "$tarball"
  sed -e "s|@VERSION@|$version|; s|@URL@|$(get_url)|" \
    -e "s|@HASH@|$(sha256sum "$tarball" | cut -d ' ' -f 1)|; /^#/d" \
    docs/examples/subprojects/gemmcl.wrap >"$folder/gemmcl.wrap"
}

make_packages () {
  local name cache=$PWD/build-cache
  mkdir -p "$cache/apt/partial" "$cache/pocl"
  printf 'Dir::Cache::archives "%s"; APT::Keep-Downloaded-Packages "true";\n' "$cache/apt" \
    >"$work/apt.conf"
  export APT_CONFIG=$work/apt.conf POCL_CACHE_DIR=$cache/pocl
  apt-get -qq update
  install_packages python3
  name=gemmcl-$version-$(. /etc/os-release && echo "$VERSION_CODENAME")-$(dpkg --print-architecture)
  mkdir "$work/$name"
  GEMMCL_TEST_DEBIAN=$work/$name PYTHONPATH=tests/support python3 tests/project/debian.py .
  apt-get -qq autoclean
  tar --create --file "$folder/$name.tar" --directory "$work" "$name"
}

make_image () {
  local archive container image=gemmcl:$version
  archive=$folder/gemmcl-$version-image-$(uname -m).tar
  buildah build --tag "$image" .
  container=$(buildah from "$image")
  buildah run "$container" -- gst-launch-1.0 videotestsrc num-buffers=10 \
    ! video/x-raw,format=RGB,width=64,height=48 \
    ! gemmcl weight='[[0.393,0.349,0.272],[0.769,0.686,0.534],[0.189,0.168,0.131]]' ! fakesink
  buildah run "$container" -- gemmcl bench -M 64 -N 48 -K 32 -v
  buildah rm "$container"
  rm -f "$archive"*
  buildah push "$image" "docker-archive:$archive:$image"
  xz --threads 0 "$archive"
}

# publish_on_gitlab NOTES: the packages are links of the release, under the names that get_url has.
publish_on_gitlab () {
  local file name url project=$CI_API_V4_URL/projects/$CI_PROJECT_ID
  local -a ask=(curl --fail --silent --show-error --header "JOB-TOKEN: $CI_JOB_TOKEN")
  python3 - "$tag" "$1" >"$work/release.json" <<<'
import json, sys
print(json.dumps({"tag_name": sys.argv[1], "description": sys.argv[2]}))'
  "${ask[@]}" --json "@$work/release.json" "$project/releases"
  for file in "$folder"/*; do
    name=${file##*/}
    url=$project/packages/generic/gemmcl/$version/$name
    "${ask[@]}" --upload-file "$file" "$url"
    "${ask[@]}" --data "name=$name" --data "url=$url" --data "direct_asset_path=/$name" \
      "$project/releases/$tag/assets/links"
  done
}

publish () {
  local notes
  if [ "$tag" != "v$version" ]; then
    echo "Expected the tag v$version, by the version in meson.build; found ${tag:-none}." >&2
    exit 1
  fi
  if grep -H '\.invalid' debian/control; then
    echo 'Set Maintainer and Homepage in debian/control, which stand for the owner.' >&2
    exit 1
  fi
  notes=$(awk '/^## / { on = index($0, "## '"$version"',") } on && !/^## /' NEWS.md)
  if [ -n "${GITHUB_REPOSITORY-}" ]; then
    gh release create "$tag" --verify-tag --title "$tag" --notes "$notes" "$folder"/*
  else
    publish_on_gitlab "$notes"
  fi
}

case ${1-} in
  sources | packages | image) "make_$1" ;;
  publish) publish ;;
  *)
    echo 'usage: release.sh sources|packages|image|publish' >&2
    exit 2
    ;;
esac
