#!/bin/bash
# Prints the Debian mirror that this machine's apt uses, for any release; nothing if its lists name
# none.
set -euo pipefail

# shellcheck disable=SC2016
apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Identifier: Packages' |
  sed -n 's/^Debian|Debian|//p' | sort -u | head -n 1
