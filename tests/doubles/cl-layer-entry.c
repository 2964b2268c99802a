/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"

#include <string.h>

#define N_ENTRIES (sizeof (cl_icd_dispatch) / sizeof (void *))

const cl_icd_dispatch *cl_next;

cl_int
cl_answer (const void *from, size_t n, size_t room, void *to, size_t *n_ret)
{
  if (n_ret)
    *n_ret = n;
  if (!to)
    return CL_SUCCESS;
  if (room < n)
    return CL_INVALID_VALUE;
  memcpy (to, from, n);
  return CL_SUCCESS;
}

CL_API_ENTRY __attribute__ ((visibility ("default"))) cl_int CL_API_CALL
clGetLayerInfo (cl_layer_info name, size_t room, void *value, size_t *n)
{
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  static const char layer_name[] = "gemmcl-double";

  if (name == CL_LAYER_API_VERSION)
    return cl_answer (&version, sizeof version, room, value, n);
  if (name == CL_LAYER_NAME)
    return cl_answer (layer_name, sizeof layer_name, room, value, n);
  return CL_INVALID_VALUE;
}

CL_API_ENTRY __attribute__ ((visibility ("default"))) cl_int CL_API_CALL
clInitLayer (cl_uint n, const cl_icd_dispatch *next, cl_uint *n_ret, const cl_icd_dispatch **result)
{
  static cl_icd_dispatch own;

  if (!next || !n_ret || !result || n < N_ENTRIES)
    return CL_INVALID_VALUE;
  cl_next = next;
  memcpy (&own, next, sizeof own);
  cl_layer_install (&own);
  *result = &own;
  *n_ret = N_ENTRIES;
  return CL_SUCCESS;
}
