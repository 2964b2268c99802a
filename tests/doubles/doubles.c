/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doubles.h"

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <string.h>

static long long (*count) (const char *);
static unsigned (*misused) (const char *), (*forgive) (const char *);
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

/* Returns: (nullable): the reason why the module cannot be used. */
static const gchar *
load_module (void)
{
  const gchar *path = g_getenv ("GEMMCL_DOUBLES");
  gpointer module;

  if (count)
    return NULL;
  if (!path)
    return "it does not run under tests/doubles/run.sh";
  module = dlopen (path, RTLD_NOW);
  if (!module)
    return "the module that GEMMCL_DOUBLES names cannot be loaded";
  if (!find (module, "gemmcl_doubles_forgive", &forgive) ||
      !find (module, "gemmcl_doubles_fail", &fail) ||
      !find (module, "gemmcl_doubles_misused", &misused) ||
      !find (module, "gemmcl_doubles_count", &count))
    return "the module that GEMMCL_DOUBLES names is not that of the doubles";
  return NULL;
}

const gchar *
doubles_missing (void)
{
  const gchar *missing = load_module ();

  return missing ? missing : doubles_unfit ();
}

gint64
doubles_count (const gchar *name)
{
  gint64 n;

  g_assert_null (load_module ());
  n = count (name);
  g_assert_cmpint (n, !=, -1);
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
  g_assert_null (load_module ());
  return misused (name);
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
  if (doubles_misused (NULL) > 0)
    g_error ("The doubles saw misuse: see the standard error");
}
