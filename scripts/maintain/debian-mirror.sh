#!/bin/bash
# Prints the Debian mirror that this machine's apt uses, for any release. Prints nothing if apt's
# lists name no mirror.
set -euo pipefail

# shellcheck disable=SC2016
apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Identifier: Packages' |
  sed -n 's/^Debian|Debian|//p' | sort -u | head -n 1
