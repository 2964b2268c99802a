#!/bin/bash
# Unpacks wheels of PyPI into a folder, unless it exists.
#
#   wheels.sh FOLDER <REQUIREMENTS
#
# pip fetches the wheels of the requirements, which state versions and checksums. FOLDER gets their
# data files, such as lib/, and in python/ their modules. It appears only when complete; concurrent
# runs wait. Exit status: 77, with the reason, if the wheels cannot be fetched.
set -euo pipefail

. "$(dirname "$0")/common.sh"

folder=$1
# The distribution's Python, even if PATH has another.
python=/usr/bin/python3
mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
[ ! -d "$folder" ] || exit 0
need_x86_64
echo "Fetching into $folder" >&2
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$python" -m pip --quiet download --no-cache-dir --no-deps --only-binary :all: --require-hashes \
  --requirement /dev/stdin --dest "$work/wheels" >&2 ||
  unable 'pip could not fetch the wheels: run scripts/setup.sh test if there is no pip'
for wheel in "$work"/wheels/*.whl; do
  "$python" -m zipfile -e "$wheel" "$work/new/python"
  rm "$wheel"
done
for data in "$work"/new/python/*.data; do
  [ ! -d "$data/data" ] || cp -rl "$data/data/." "$work/new"
  rm -rf "$data"
done
# Wheels hold most libraries under two or three names.
hardlink --content --quiet "$work/new" || true
mv -T "$work/new" "$folder"
