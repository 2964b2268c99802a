/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include "record.h"

#include <string.h>

#define N_ENTRIES (sizeof (cl_icd_dispatch) / sizeof (void *))

const cl_icd_dispatch *cl_next;

static gboolean
offers (const gchar *what)
{
  const gchar *without = g_getenv ("GEMMCL_DOUBLES_WITHOUT");
  g_auto (GStrv) words = g_strsplit (without ? without : "", ",", 0);

  return !g_strv_contains ((const gchar *const *)words, what);
}

gboolean
cl_offers_va (void)
{
  return offers ("va");
}

gboolean
cl_offers_dmabuf (void)
{
  return offers ("dmabuf");
}

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

typedef struct {
  gchar *function;
  guint left;
  cl_int error;
} Fault;

static GList *faults;

void __attribute__ ((visibility ("default")))
gemmcl_doubles_fail (const char *function, unsigned n, int error)
{
  Fault *fault = g_new0 (Fault, 1);

  *fault = (Fault){g_strdup (function), n, error};
  RECORD_LOCK ();
  faults = g_list_append (faults, fault);
}

static void
read_faults (void)
{
  const gchar *text = g_getenv ("GEMMCL_DOUBLES_FAIL");
  g_auto (GStrv) words = g_strsplit (text ? text : "", ",", 0);

  for (guint i = 0; words[i]; i++) {
    g_auto (GStrv) parts = g_strsplit (words[i], ":", 3);

    if (g_strv_length (parts) == 3)
      gemmcl_doubles_fail (parts[0], (guint)g_ascii_strtoull (parts[1], NULL, 10),
                           (cl_int)g_ascii_strtoll (parts[2], NULL, 10));
    else
      record_misuse (MISUSE_WRONG_ARGUMENT,
                     "GEMMCL_DOUBLES_FAIL holds \"%s\", expected FUNCTION:N:ERROR.", words[i]);
  }
}

cl_int
cl_fault (const gchar *function)
{
  RECORD_LOCK ();
  for (GList *l = faults; l; l = l->next) {
    Fault *fault = l->data;

    if (fault->left > 0 && strcmp (fault->function, function) == 0 && --fault->left == 0) {
      record_count (COUNT_INJECTED_FAULTS, 1);
      return fault->error;
    }
  }
  return CL_SUCCESS;
}

CL_API_ENTRY __attribute__ ((visibility ("default"))) cl_int CL_API_CALL
clGetLayerInfo (cl_layer_info name, size_t room, void *value, size_t *n)
{
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  static const gchar layer_name[] = "gemmcl-double";

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
  cl_info_install (&own);
  cl_contexts_install (&own);
  cl_objects_install (&own);
  cl_dmabuf_install (&own);
  cl_kernels_install (&own);
  cl_transfers_install (&own);
  cl_image_transfers_install (&own);
  read_faults ();
  *result = &own;
  *n_ret = N_ENTRIES;
  return CL_SUCCESS;
}
