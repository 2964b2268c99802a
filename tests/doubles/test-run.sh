#!/bin/bash
# Tests run.sh: its exit status and its messages.
#
#   test-run.sh RUN.SH PROGRAM     PROGRAM: test-misuse, which takes steps
run=$1
program=$2
n=0

# check NAME STATUS WORDS COMMAND...: WORDS are on the standard error.
check () {
  local name=$1 status=$2 words=$3 errors result=0
  shift 3
  errors=$("$run" "$@" 2>&1 >/dev/null) || result=$?
  n=$((n + 1))
  if [ $result -ne "$status" ] || ! grep -q "$words" <<<"$errors"; then
    echo "# ${errors//$'\n'/$'\n'# }"
    echo -n 'not '
  fi
  echo "ok $n - $name"
}

if "$run" "$program" --verbose -p /doubles/vendor 2>&1 | grep -q SKIP; then
  echo '1..0 # SKIP the doubles need a device that shares memory with the host'
  exit
fi
echo 1..4
check right 0 '' "$program" --steps ARF
check wrong 1 left-acquired "$program" --steps A
check unused 1 'neither of the doubles' true
check status 77 '' bash -c 'exit 77'
