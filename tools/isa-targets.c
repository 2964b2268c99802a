/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa.h"

#define ENGINES "cl_intel_subgroup_matrix_multiply_accumulate cl_intel_bfloat16_conversions"

const IsaTarget isa_targets[] = {{"bdw", "Broadwell (Gen8)", 32, "", 0},
                                 {"skl", "Skylake (Gen9)", 32, "", 0},
                                 {"icllp", "Ice Lake (Gen11)", 32, "", 0},
                                 {"tgllp", "Tiger Lake (Xe-LP)", 32, "", 0},
                                 {"dg1", "DG1 (Xe-LP)", 32, "", 0},
                                 {"dg2", "Arc A (Xe-HPG)", 32, ENGINES, 16},
                                 {"mtl", "Meteor Lake (Xe-LPG)", 32, "", 0},
                                 {"arl-h", "Arrow Lake H (Xe-LPG+)", 32, ENGINES, 16},
                                 {"pvc", "Max (Xe-HPC)", 64, ENGINES, 8},
                                 {"lnl", "Lunar Lake (Xe2)", 64, ENGINES, 16},
                                 {"bmg", "Arc B (Xe2)", 64, ENGINES, 16},
                                 {"ptl", "Panther Lake (Xe3)", 64, ENGINES, 16},
                                 {NULL}};

const IsaTarget *
isa_target_find (const gchar *name)
{
  for (const IsaTarget *target = isa_targets; target->name != NULL; target++)
    if (g_strcmp0 (target->name, name) == 0)
      return target;
  return NULL;
}
