/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <CL/cl_ext.h>
#include <string.h>

gboolean
cl_offers (const gchar *what)
{
  const gchar *without = g_getenv ("GEMMCL_DOUBLES_WITHOUT");
  g_auto (GStrv) words = g_strsplit (without ? without : "", ",", 0);

  return !g_strv_contains ((const gchar *const *)words, what);
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

/* Intel's driver imports dma-bufs without naming cl_khr_external_memory_dma_buf. */
static cl_int
get_extensions (cl_device_id device, size_t room, void *value, size_t *n_ret)
{
  g_autoptr (GString) text = g_string_new (NULL);
  size_t n = 0;
  cl_int status = cl_next->clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, 0, NULL, &n);

  if (status == CL_SUCCESS) {
    g_string_set_size (text, n);
    status = cl_next->clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, n, text->str, NULL);
  }
  if (status != CL_SUCCESS)
    return status;
  g_string_truncate (text, strlen (text->str));
  if (cl_offers ("va"))
    g_string_append (text, " cl_intel_va_api_media_sharing");
  if (cl_offers ("dmabuf"))
    g_string_append (text, " cl_khr_external_memory");
  return cl_answer (text->str, text->len + 1, room, value, n_ret);
}

static cl_int CL_API_CALL
get_device_info (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *n)
{
  static const cl_external_memory_handle_type_khr imported = CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR;

  if (name == CL_DEVICE_EXTENSIONS)
    return get_extensions (device, room, value, n);
  if (name == CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR && cl_offers ("dmabuf"))
    return cl_answer (&imported, sizeof imported, room, value, n);
  return cl_next->clGetDeviceInfo (device, name, room, value, n);
}

static void *CL_API_CALL
get_address (cl_platform_id platform, const char *name)
{
  void *found = cl_sharing_find (name);

  return found ? found : cl_next->clGetExtensionFunctionAddressForPlatform (platform, name);
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetDeviceInfo = get_device_info;
  table->clGetExtensionFunctionAddressForPlatform = get_address;
  cl_objects_install (table);
  cl_sharing_install (table);
  cl_commands_install (table);
}
