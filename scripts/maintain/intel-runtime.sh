#!/bin/bash
# Runs a command on Intel's OpenCL runtime for CPUs, the closest match to an Intel GPU on a machine
# without one: it shares its compiler, subgroups and block reads with Intel's GPU driver.
#
#   intel-runtime.sh COMMAND...    runs COMMAND, such as a shell, with the runtime as only
#                                  OpenCL platform
#
# The first run fetches the runtime with pip (260 MB, 550 MB unpacked) into gemmcl-intel-runtime/ of
# the user's cache directory; versions and checksums are below. Nothing is installed. The runtime
# comes with Intel's licence, which applies to it.
#
# Exit status: that of COMMAND; 77, with the reason, if the runtime cannot be fetched or started.
set -euo pipefail

version=2026.2.0
# The runtime and the libraries that it links with.
requirements='
intel-opencl-rt==2026.2.0 \
  --hash=sha256:6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67
intel-cmplr-lib-rt==2026.2.0 \
  --hash=sha256:9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748
intel-cmplr-lic-rt==2026.2.0 \
  --hash=sha256:402d9bc7fd418ab2df7a75b0545cf447bb52e02bedf4e3af0e7d5809b66d749d
tbb==2023.2.0 \
  --hash=sha256:7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c
tcmlib==1.6.0 \
  --hash=sha256:46c2491988bfd18c4733eeb08aca6a386706a497b92cc51d155f37ddea003c14
'
. "$(dirname "$0")/common.sh"
runtime=$XDG_CACHE_HOME/gemmcl-intel-runtime/$version

subject="Intel's OpenCL runtime for CPUs"
"$(dirname "$0")/wheels.sh" "$runtime" <<<"$requirements" || unable 'it could not be fetched'
# This OpenCL loader would replace the one that gemmcl was linked with.
rm -f "$runtime"/lib/libOpenCL.so*

export OCL_ICD_VENDORS=$runtime/lib/libintelocl.so
need_device clinfo
exec "$@"
