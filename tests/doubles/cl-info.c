/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <CL/cl_va_api_media_sharing_intel.h>
#include <string.h>

/* What platforms and devices say of themselves. */

#define VA_EXTENSION "cl_intel_va_api_media_sharing"
/* Intel's driver imports dma-bufs without naming cl_khr_external_memory_dma_buf. */
#define DMABUF_EXTENSION "cl_khr_external_memory"

#define MAX_ADDED 2

typedef cl_int (*Query) (gpointer object, cl_uint name, size_t room, void *value, size_t *n);

static guint
list_added (const gchar *names[MAX_ADDED])
{
  guint n = 0;

  if (cl_offers_va ())
    names[n++] = VA_EXTENSION;
  if (cl_offers_dmabuf ())
    names[n++] = DMABUF_EXTENSION;
  return n;
}

/* Returns: (transfer full) (nullable): what @query answers, and @spare bytes behind it. */
static gchar *
ask (Query query, gpointer object, cl_uint name, gsize spare, size_t *n, cl_int *status)
{
  g_autofree gchar *value = NULL;

  *n = 0;
  *status = query (object, name, 0, NULL, n);
  if (*status != CL_SUCCESS)
    return NULL;
  value = g_malloc0 (*n + spare);
  *status = query (object, name, *n, value, NULL);
  return *status == CL_SUCCESS ? g_steal_pointer (&value) : NULL;
}

static cl_int
extend_text (Query query, gpointer object, cl_uint name, size_t room, void *value, size_t *n_ret)
{
  const gchar *added[MAX_ADDED];
  const guint n_added = list_added (added);
  size_t n;
  cl_int status;
  g_autofree gchar *old = ask (query, object, name, 1, &n, &status);
  g_autoptr (GString) text = NULL;

  if (!old)
    return status;
  text = g_string_new (g_strchomp (old));
  for (guint i = 0; i < n_added; i++)
    g_string_append_printf (text, " %s", added[i]);
  return cl_answer (text->str, text->len + 1, room, value, n_ret);
}

static cl_int
extend_versions (Query query, gpointer object, cl_uint name, size_t room, void *value,
                 size_t *n_ret)
{
  const gchar *added[MAX_ADDED];
  const guint n_added = list_added (added);
  size_t n;
  cl_int status;
  g_autofree gchar *list =
      ask (query, object, name, MAX_ADDED * sizeof (cl_name_version), &n, &status);

  if (!list)
    return status;
  for (guint i = 0; i < n_added; i++) {
    cl_name_version entry = {.version = CL_MAKE_VERSION (1, 0, 0)};

    g_strlcpy (entry.name, added[i], sizeof entry.name);
    memcpy (list + n, &entry, sizeof entry);
    n += sizeof entry;
  }
  return cl_answer (list, n, room, value, n_ret);
}

static cl_int
query_device (gpointer object, cl_uint name, size_t room, void *value, size_t *n)
{
  return cl_next->clGetDeviceInfo (object, name, room, value, n);
}

static cl_int
query_platform (gpointer object, cl_uint name, size_t room, void *value, size_t *n)
{
  return cl_next->clGetPlatformInfo (object, name, room, value, n);
}

static const cl_external_memory_handle_type_khr imported[] = {
    CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR};

static cl_int CL_API_CALL
get_device_info (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *n)
{
  switch (name) {
  case CL_DEVICE_EXTENSIONS:
    return extend_text (query_device, device, name, room, value, n);
  case CL_DEVICE_EXTENSIONS_WITH_VERSION:
    return extend_versions (query_device, device, name, room, value, n);
  case CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
    if (cl_offers_dmabuf ())
      return cl_answer (imported, sizeof imported, room, value, n);
    break;
  }
  return query_device (device, name, room, value, n);
}

static cl_int CL_API_CALL
get_platform_info (cl_platform_id platform, cl_platform_info name, size_t room, void *value,
                   size_t *n)
{
  switch (name) {
  case CL_PLATFORM_EXTENSIONS:
    return extend_text (query_platform, platform, name, room, value, n);
  case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
    return extend_versions (query_platform, platform, name, room, value, n);
  case CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
    if (cl_offers_dmabuf ())
      return cl_answer (imported, sizeof imported, room, value, n);
    break;
  }
  return query_platform (platform, name, room, value, n);
}

static void *
find_function (const gchar *name)
{
  void *found = cl_offers_va () ? cl_va_find (name) : NULL;

  return found || !cl_offers_dmabuf () ? found : cl_dmabuf_find (name);
}

static void *CL_API_CALL
get_address (const char *name)
{
  void *found = find_function (name);

  return found ? found : cl_next->clGetExtensionFunctionAddress (name);
}

static void *CL_API_CALL
get_address_for_platform (cl_platform_id platform, const char *name)
{
  void *found = find_function (name);

  return found ? found : cl_next->clGetExtensionFunctionAddressForPlatform (platform, name);
}

void
cl_info_install (cl_icd_dispatch *table)
{
  table->clGetDeviceInfo = get_device_info;
  table->clGetPlatformInfo = get_platform_info;
  table->clGetExtensionFunctionAddress = get_address;
  table->clGetExtensionFunctionAddressForPlatform = get_address_for_platform;
}
