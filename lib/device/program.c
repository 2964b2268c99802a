/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device/program.h"

#include <string.h>

#include "device/cache.h"

/* No relaxed or finite math: NaN and infinity must appear where the formula has them. */
#define COMMON_OPTIONS "-cl-mad-enable"
#define LANGUAGE       "-cl-std="

#define LOG_LIMIT 4000 /* bytes of a compiler's log in a message */

/* Parts of PTX. Only the target sm_90a has wgmma (kernels/nvidia/wgmma.clh). */
#define TARGET  "\n.target sm_90,"
#define HIDDEN  "//@"
#define VERSION "\n.version "

const gchar *
gemmcl_embedded_get_text (const gchar *name)
{
  const GemmclEmbedded *embedded = gemmcl_embedded;

  while (embedded->name != NULL && strcmp (embedded->name, name) != 0)
    embedded++;
  return embedded->text;
}

gchar *
gemmcl_program_make_key (const GemmclDeviceInfo *device, const gchar *text, const gchar *options)
{
  g_autofree gchar *all = g_strjoin ("\n", text, options, device->platform, device->name,
                                     device->vendor, device->version, device->driver, NULL);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, all, -1);
}

/* The error of a build that failed with @status: GEMMCL_ERROR_OPENCL for a lack of memory or of the
 * device, after which the same program may compile; otherwise it is a fault of the program. */
static GemmclError
get_code (cl_int status)
{
  const gboolean may_pass = status == CL_OUT_OF_HOST_MEMORY || status == CL_OUT_OF_RESOURCES ||
                            status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                            status == CL_DEVICE_NOT_AVAILABLE;

  return may_pass ? GEMMCL_ERROR_OPENCL : GEMMCL_ERROR_BUILD;
}

/* Builds @program, or fails with the compiler's log. */
static gboolean
build (cl_program program, const GemmclDevice *device, const gchar *name, const gchar *options,
       GError **error)
{
  g_autofree gchar *log = NULL;
  gsize size = 0;
  cl_int status = clBuildProgram (program, 1, &device->id, options, NULL, NULL);

  if (status == CL_SUCCESS)
    return TRUE;
  (void)clGetProgramBuildInfo (program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  log = g_malloc0 (size + 1);
  (void)clGetProgramBuildInfo (program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  log[MIN (size, LOG_LIMIT)] = '\0';
  return gemmcl_fail (
      error, get_code (status),
      "clBuildProgram of %s with \"%s\" failed on %s with %s (%d). The compiler says: %s", name,
      options, device->info.name, gemmcl_cl_error_name (status), status, g_strstrip (log));
}

static cl_program
build_binary (cl_context context, const GemmclDevice *device, const gchar *name,
              gconstpointer binary, gsize size, const gchar *options, GError **error)
{
  const guchar *data = binary;
  cl_int status;
  g_auto (cl_program) program =
      clCreateProgramWithBinary (context, 1, &device->id, &size, &data, NULL, &status);

  return gemmcl_cl_check (status, error, "clCreateProgramWithBinary for %s", name) &&
                 build (program, device, name, options, error)
             ? g_steal_pointer (&program)
             : NULL;
}

/* (transfer full): the binary of @program for @device; NULL if there is none. */
static guchar *
get_binary (cl_program program, cl_device_id device, gsize *size)
{
  cl_device_id devices[GEMMCL_MAX_DEVICES];
  gsize sizes[GEMMCL_MAX_DEVICES] = {0};
  guchar *binaries[GEMMCL_MAX_DEVICES] = {NULL};
  gsize bytes;

  if (clGetProgramInfo (program, CL_PROGRAM_DEVICES, sizeof (devices), devices, &bytes) !=
          CL_SUCCESS ||
      clGetProgramInfo (program, CL_PROGRAM_BINARY_SIZES, sizeof (sizes), sizes, NULL) !=
          CL_SUCCESS)
    return NULL;

  /* A wrapped context may have several devices. OpenCL skips those whose place for a binary is
   * NULL. */
  for (gsize i = 0; i < bytes / sizeof (*devices); i++)
    if (devices[i] == device && sizes[i] > 0) {
      g_autofree guchar *binary = binaries[i] = g_malloc0 (sizes[i] + 1);

      *size = sizes[i];
      return clGetProgramInfo (program, CL_PROGRAM_BINARIES, bytes, binaries, NULL) == CL_SUCCESS
                 ? g_steal_pointer (&binary)
                 : NULL;
    }
  return NULL;
}

gchar *
gemmcl_ptx_retarget (const gchar *ptx, GError **error)
{
  g_autoptr (GString) made = g_string_new (ptx);

  /* g_string_replace() returns the number of replacements. */
  if (g_string_replace (made, VERSION, VERSION, 0) == 1 &&
      g_string_replace (made, ".target", ".target", 0) == 1 &&
      g_string_replace (made, TARGET, "\n.target sm_90a,", 0) == 1 &&
      g_string_replace (made, HIDDEN, "   ", 0) > 0)
    return g_string_free (g_steal_pointer (&made), FALSE);
  return FAIL_NULL (
      error, GEMMCL_ERROR_BUILD,
      "Expected PTX with one line \".target sm_90,\" and hidden instructions from the "
      "compiler, found something else.");
}

/* Builds @program, which NVIDIA's compiler built for sm_90, for sm_90a. */
static cl_program
retarget (cl_context context, const GemmclDevice *device, const gchar *name, cl_program program,
          GError **error)
{
  gsize size;
  g_autofree guchar *binary = get_binary (program, device->id, &size);
  g_autofree gchar *ptx = gemmcl_ptx_retarget (binary ? (const gchar *)binary : "", error);

  return ptx != NULL ? build_binary (context, device, name, ptx, strlen (ptx) + 1, "", error)
                     : NULL;
}

static cl_program
build_from_source (cl_context context, const GemmclDevice *device, const gchar *name,
                   const gchar *text, const gchar *options, GError **error)
{
  cl_int status;
  g_auto (cl_program) program = clCreateProgramWithSource (context, 1, &text, NULL, &status);

  if (!gemmcl_cl_check (status, error, "clCreateProgramWithSource for %s", name) ||
      !build (program, device, name, options, error))
    return NULL;
  return strstr (options, GEMMCL_SM_90A) ? retarget (context, device, name, program, error)
                                         : g_steal_pointer (&program);
}

gchar *
gemmcl_program_complete_options (const gchar *options)
{
  const gchar *language = strstr (options, LANGUAGE) ? "" : LANGUAGE "CL1.2 ";

  return g_strconcat (language, COMMON_OPTIONS " ", options, NULL);
}

/* Compiles an empty kernel before the first program that the process compiles, so that the static
 * objects of that device's compiler exist before exit() can come in the middle of a long build
 * (gemmcl_cl_begin_work()). */
static void
start_compiler (cl_context context, const GemmclDevice *device)
{
  static gsize is_started;
  const gchar *text = "kernel void f (void) {}";
  g_auto (cl_program) program = NULL;
  g_autofree guchar *binary = NULL;
  gsize size;

  if (!g_once_init_enter (&is_started))
    return;
  if (gemmcl_cl_begin_work (NULL, NULL)) {
    program = build_from_source (context, device, "an empty kernel", text, "", NULL);
    binary = program != NULL ? get_binary (program, device->id, &size) : NULL;
    gemmcl_cl_end_work ();
  }
  g_once_init_leave (&is_started, TRUE);
}

static cl_program
load_or_compile (cl_context context, const GemmclDevice *device, const gchar *source,
                 const gchar *options, gboolean *compiled, GError **error)
{
  const gchar *text = gemmcl_embedded_get_text (source);
  g_autofree gchar *all_options = gemmcl_program_complete_options (options);
  g_autofree gchar *key = gemmcl_program_make_key (&device->info, text, all_options);
  g_autoptr (GBytes) cached = gemmcl_cache_load (key);
  g_autofree guchar *binary = NULL;
  cl_program program = NULL;
  gint64 start;
  gsize size;

  *compiled = FALSE;
  if (cached != NULL)
    program = build_binary (context, device, source, g_bytes_get_data (cached, NULL),
                            g_bytes_get_size (cached), all_options, NULL);
  if (program != NULL)
    return program;
  start_compiler (context, device);
  start = g_get_monotonic_time ();
  program = build_from_source (context, device, source, text, all_options, error);
  if (program == NULL)
    return NULL;
  /* Failing to get or store the binary is harmless: the next process compiles again. */
  binary = get_binary (program, device->id, &size);
  if (binary != NULL)
    gemmcl_cache_store (key, binary, size);
  g_info ("Compiled %s for %s in %.0f ms, with %s", source, device->info.name,
          (g_get_monotonic_time () - start) / 1e3, all_options);
  *compiled = TRUE;
  return program;
}

cl_program
gemmcl_program_build (cl_context context, const GemmclDevice *device, const gchar *source,
                      const gchar *options, gboolean *compiled, GError **error)
{
  cl_program program;

  if (!gemmcl_cl_begin_work (NULL, error))
    return NULL;
  program = load_or_compile (context, device, source, options, compiled, error);
  gemmcl_cl_end_work ();
  return program;
}
