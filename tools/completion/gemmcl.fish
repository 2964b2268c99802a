# Completion of gemmcl for fish. SPDX-License-Identifier: LGPL-2.1-or-later
complete -c gemmcl -a '(gemmcl --complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
