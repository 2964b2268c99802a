/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include "record.h"

#include <string.h>

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

void
cl_layer_install (cl_icd_dispatch *table)
{
  cl_info_install (table);
  cl_contexts_install (table);
  cl_objects_install (table);
  cl_dmabuf_install (table);
  cl_kernels_install (table);
  cl_transfers_install (table);
  cl_image_transfers_install (table);
  read_faults ();
}
