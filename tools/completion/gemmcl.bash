# Completion of gemmcl for bash. SPDX-License-Identifier: LGPL-2.1-or-later
_gemmcl()
{
    mapfile -t COMPREPLY < <(gemmcl --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null |
                             cut -f1)
}
complete -o default -F _gemmcl gemmcl
