# Common to the scripts that fetch what the distribution lacks; they source it.
# shellcheck shell=bash

# A relative XDG_CACHE_HOME is ignored, as by gemmcl.
[[ ${XDG_CACHE_HOME-} == /* ]] || XDG_CACHE_HOME=$HOME/.cache

# unable REASON...: exits as skipped. $subject is that of the sentence.
subject=
unable () {
  echo "${subject:+$subject: }$*" >&2
  exit 77
}

need_x86_64 () {
  [ "$(uname -m)" = x86_64 ] || unable "it is for x86_64, this is $(uname -m)"
}

# need_device COMMAND...: COMMAND runs clinfo, which must find a device.
need_device () {
  local devices
  command -v clinfo >/dev/null ||
    unable 'clinfo, which checks it, is missing: scripts/setup.sh test'
  devices=$("$@" -l 2>&1 </dev/null) || unable "clinfo failed: $devices"
  grep -q 'Device #0' <<<"$devices" ||
    unable "it does not start here: clinfo found no device${devices:+: $devices}"
}
