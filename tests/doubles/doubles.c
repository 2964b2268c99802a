/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doubles.h"

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static char *(*get_report) (void);
static unsigned (*forgive) (const char *);
static void (*fail) (const char *, unsigned, int);

static gboolean
find (gpointer module, const gchar *name, gpointer function)
{
  void *symbol = dlsym (module, name);

  memcpy (function, &symbol, sizeof symbol);
  return symbol != NULL;
}

const gchar *
doubles_unfit (void)
{
  cl_platform_id platform;
  cl_device_id device;
  cl_bool shared = CL_FALSE;

  if (clGetPlatformIDs (1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
    return "there is no OpenCL device to put the layer over";
  clGetDeviceInfo (device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shared, &shared, NULL);
  return shared ? NULL : "the device has memory of its own, which what the layer imports is not in";
}

/* Returns: (nullable): why what is asked of the module cannot be. */
static const gchar *
load_module (void)
{
  const gchar *path = g_getenv ("GEMMCL_DOUBLES");
  gpointer module;

  if (get_report)
    return NULL;
  if (!path)
    return "it does not run under tests/doubles/run.sh";
  module = dlopen (path, RTLD_NOW);
  if (!module)
    return "the module that GEMMCL_DOUBLES names cannot be loaded";
  if (!find (module, "gemmcl_doubles_forgive", &forgive) ||
      !find (module, "gemmcl_doubles_fail", &fail) ||
      !find (module, "gemmcl_doubles_report", &get_report))
    return "the module that GEMMCL_DOUBLES names is not that of the doubles";
  return NULL;
}

const gchar *
doubles_missing (void)
{
  const gchar *missing = load_module ();

  return missing ? missing : doubles_unfit ();
}

static json_t *
load_report (void)
{
  g_assert_null (load_module ());
  char *text = get_report ();
  json_t *report = json_loads (text, 0, NULL);

  free (text);
  g_assert_nonnull (report);
  return report;
}

gint64
doubles_count (const gchar *name)
{
  json_t *report = load_report ();
  json_t *count = json_object_get (json_object_get (report, "counts"), name);
  const gint64 n = json_integer_value (count);

  g_assert_nonnull (count);
  json_decref (report);
  return n;
}

gboolean
doubles_wait_for (const gchar *name, gint64 n)
{
  const gint64 end = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;

  while (doubles_count (name) != n && g_get_monotonic_time () < end)
    g_usleep (1000);
  return doubles_count (name) == n;
}

guint
doubles_misused (const gchar *name)
{
  json_t *report = load_report ();
  json_t *misuse;
  gsize index;
  guint n = 0;

  json_array_foreach (json_object_get (report, "misuse"), index, misuse)
  {
    const gchar *kind = json_string_value (json_object_get (misuse, "kind"));

    if (!name || strcmp (kind, name) == 0)
      n++;
  }
  json_decref (report);
  return n;
}

guint
doubles_forgive (const gchar *name)
{
  g_assert_null (load_module ());
  return forgive (name);
}

void
doubles_fail (const gchar *function, guint n, gint error)
{
  g_assert_null (load_module ());
  fail (function, n, error);
}

void
doubles_assert_right (void)
{
  json_t *report = load_report ();
  json_t *misuse = json_object_get (report, "misuse");

  if (json_array_size (misuse) > 0) {
    g_autofree char *text = json_dumps (misuse, 0);

    g_error ("The doubles saw misuse: %s", text);
  }
  json_decref (report);
}
