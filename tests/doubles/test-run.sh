#!/bin/bash
# Tests run.sh: its exit status, its messages and its report.
#
#   test-run.sh RUN.SH PROGRAM     PROGRAM: test-misuse, which takes steps
run=$1
program=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n=0

# check NAME STATUS WORDS LINE COMMAND...: WORDS are on the standard error, LINE in the report (an
# empty one: no report).
check () {
  local name=$1 status=$2 words=$3 line=$4 result=0
  shift 4
  rm -f "$scratch/report"
  "$run" --report "$scratch/report" "$@" >/dev/null 2>"$scratch/errors" || result=$?
  n=$((n + 1))
  if [ $result -ne "$status" ] || { [ -n "$words" ] && ! grep -q "$words" "$scratch/errors"; } ||
    { [ -n "$line" ] && ! grep -q "^$line" "$scratch/report"; } ||
    { [ -z "$line" ] && [ -e "$scratch/report" ]; }; then
    sed 's/^/# /' "$scratch/errors"
    echo -n 'not '
  fi
  echo "ok $n - $name"
}

if "$run" "$program" --verbose -p /doubles/queries 2>&1 | grep -q SKIP; then
  echo '1..0 # SKIP the doubles need a device that shares memory with the host'
  exit
fi
echo 1..5
check right 0 '' 'misuse 0$' "$program" --steps ARF
check counts 0 '' 'acquires 1$' "$program" --steps ARF
check wrong 1 left-acquired '# left-acquired: ' "$program" --steps A
check unused 1 'neither of the doubles' '' true
check status 77 '' '' bash -c 'exit 77'
