/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A preloaded library that gives the tool the faults and the devices that environment variables
 * name. The value of a variable for kernels is a pattern of their names. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../support/next.h"
#include "gemmcl.h"

/* Spilled bytes of a kernel that spills. */
#define SPILLED 128

/* Number of runs before a kernel crashes or hangs. */
#define GOOD_RUNS 20

/* Number of waits that succeed before GEMMCL_LOST_ONCE, enough to time some kernels. */
#define GOOD_WAITS 30

static guint runs;
static gint waits;
static gint lost;

/* Microseconds that hangs have skipped, shared with the processes that this one starts. */
static gint64 *skipped;

/* TRUE if the pattern in the environment variable @variable matches @kernel. */
static gboolean
is_named (const gchar *variable, const gchar *kernel)
{
  const gchar *pattern = g_getenv (variable);

  return pattern != NULL && kernel != NULL && g_pattern_match_simple (pattern, kernel);
}

static void __attribute__ ((constructor)) share_clock (void)
{
  skipped =
      mmap (NULL, sizeof (*skipped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

gint64
g_get_monotonic_time (void)
{
  return NEXT (g_get_monotonic_time) () + *skipped;
}

/* Hangs as a process named "hangs". GEMMCL_HANG_SECONDS pass at once for all processes. */
static void G_GNUC_NORETURN
hang (void)
{
  const gchar *seconds = g_getenv ("GEMMCL_HANG_SECONDS");

  prctl (PR_SET_NAME, "hangs");
  if (seconds != NULL)
    *skipped += g_ascii_strtoll (seconds, NULL, 10) * G_USEC_PER_SEC;
  for (;;)
    pause ();
}

/* As built, a GEMMCL_UNFIT_KERNEL needs too much. The compiler refuses a GEMMCL_UNBUILT_KERNEL,
 * crashes at a GEMMCL_CRASHING_KERNEL, and hangs at a GEMMCL_HANGING_KERNEL. */
GemmclPlan *
gemmcl_plan_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 GError **error)
{
  if (is_named ("GEMMCL_CRASHING_KERNEL", kernel))
    raise (SIGKILL);
  if (is_named ("GEMMCL_HANGING_KERNEL", kernel))
    hang ();
  if (is_named ("GEMMCL_UNBUILT_KERNEL", kernel)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD, "Kernel %s is too much.", kernel);
    return NULL;
  }
  if (is_named ("GEMMCL_UNFIT_KERNEL", kernel)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL, "Kernel %s needs more.", kernel);
    return NULL;
  }
  return NEXT (gemmcl_plan_new) (context, gemm, kernel, error);
}

/* With GEMMCL_CLAIMED_GPU the device claims to be a GPU. */
const GemmclDeviceInfo *
gemmcl_context_get_device_info (GemmclContext *context)
{
  const GemmclDeviceInfo *info = NEXT (gemmcl_context_get_device_info) (context);
  static GemmclDeviceInfo claimed;

  if (g_getenv ("GEMMCL_CLAIMED_GPU") == NULL)
    return info;
  claimed = *info;
  claimed.type = GEMMCL_DEVICE_TYPE_GPU;
  return &claimed;
}

/* A GEMMCL_WRONG_KERNEL computes 2 A B. Only first GEMMCL_CRASHING_RUN, _HANGING_RUN succeed. */
gboolean
gemmcl_plan_submit (GemmclPlan *plan, const GemmclRun *run, struct _cl_event **first,
                    struct _cl_event **done, GError **error)
{
  const gchar *kernel = gemmcl_plan_get_kernel (plan);
  GemmclRun given = *run;

  if (is_named ("GEMMCL_CRASHING_RUN", kernel) && runs++ >= GOOD_RUNS)
    raise (SIGKILL);
  if (is_named ("GEMMCL_HANGING_RUN", kernel) && runs++ >= GOOD_RUNS)
    hang ();
  if (is_named ("GEMMCL_WRONG_KERNEL", kernel))
    given.alpha *= 2;
  return NEXT (gemmcl_plan_submit) (plan, &given, first, done, error);
}

/* A GEMMCL_SPILLING_KERNEL spills registers, and a GEMMCL_EMULATED_KERNEL is not native. Subgroups
 * have GEMMCL_SIMD work-items. */
void
gemmcl_plan_get_info (GemmclPlan *plan, GemmclPlanInfo *info)
{
  const gchar *kernel = gemmcl_plan_get_kernel (plan), *simd = g_getenv ("GEMMCL_SIMD");

  NEXT (gemmcl_plan_get_info) (plan, info);
  if (simd != NULL)
    info->subgroup_size = (guint)g_ascii_strtoull (simd, NULL, 10);
  if (is_named ("GEMMCL_SPILLING_KERNEL", kernel))
    info->spill_bytes = SPILLED;
  if (is_named ("GEMMCL_EMULATED_KERNEL", kernel))
    info->level = GEMMCL_KERNEL_LEVEL_EMULATED;
}

/* With GEMMCL_WRONG_RESULTS no result passes verification. */
gboolean
gemmcl_gemm_verify (const GemmclGemm *gemm, gconstpointer a, const gfloat *b, const gfloat *c,
                    const gfloat *bias, const gfloat *d, gdouble *max_error, gdouble *error_bound)
{
  if (g_getenv ("GEMMCL_WRONG_RESULTS") == NULL)
    return NEXT (gemmcl_gemm_verify) (gemm, a, b, c, bias, d, max_error, error_bound);
  *max_error = 0.5;
  *error_bound = 0.25;
  return FALSE;
}

/* TRUE if this process has lost its device: always with GEMMCL_LOST_ALWAYS; with GEMMCL_LOST_ONCE
 * after GOOD_WAITS waits, if it is the first process to remove the file of that name. */
static gboolean
is_lost (void)
{
  const gchar *file = g_getenv ("GEMMCL_LOST_ONCE");

  if (g_getenv ("GEMMCL_LOST_ALWAYS") != NULL ||
      (file != NULL && g_atomic_int_add (&waits, 1) == GOOD_WAITS && unlink (file) == 0))
    g_atomic_int_set (&lost, TRUE);
  return g_atomic_int_get (&lost);
}

/* Every wait of a process that has lost its device fails. */
cl_int
clWaitForEvents (cl_uint count, const cl_event *events)
{
  const cl_int status = NEXT (clWaitForEvents) (count, events);

  return is_lost () ? CL_OUT_OF_RESOURCES : status;
}

/* GEMMCL_NO_TIME: nanoseconds of commands, 0 with Intel's driver without GPU, 1 with Rusticl. */
cl_int
clGetEventProfilingInfo (cl_event event, cl_profiling_info name, size_t size, void *value,
                         size_t *size_ret)
{
  const cl_int status = NEXT (clGetEventProfilingInfo) (event, name, size, value, size_ret);

  const gchar *time = g_getenv ("GEMMCL_NO_TIME");

  if (status == CL_SUCCESS && value != NULL && time != NULL)
    *(cl_ulong *)value =
        7 + (name == CL_PROFILING_COMMAND_END ? g_ascii_strtoull (time, NULL, 10) : 0);
  return status;
}

/* Devices also have the extensions in GEMMCL_EXTENSIONS, separated by spaces. */
gboolean
gemmcl_device_info_has_extension (const GemmclDeviceInfo *info, const gchar *extension)
{
  const gchar *given = g_getenv ("GEMMCL_EXTENSIONS");
  g_auto (GStrv) more = g_strsplit (given != NULL ? given : "", " ", -1);

  return g_strv_contains ((const gchar *const *)more, extension) ||
         NEXT (gemmcl_device_info_has_extension) (info, extension);
}

/* Sets the numbers of @info that GEMMCL_INFO names, such as "eus=512 clock_mhz=2100". */
static void
set_numbers (GemmclDeviceInfo *info)
{
  static const struct {
    const gchar *name;
    gsize offset;
  } fields[] = {{"nvidia_capability", G_STRUCT_OFFSET (GemmclDeviceInfo, nvidia_capability)},
                {"compute_units", G_STRUCT_OFFSET (GemmclDeviceInfo, compute_units)},
                {"clock_mhz", G_STRUCT_OFFSET (GemmclDeviceInfo, clock_mhz)},
                {"eus", G_STRUCT_OFFSET (GemmclDeviceInfo, eus)},
                {"ip_version", G_STRUCT_OFFSET (GemmclDeviceInfo, ip_version)}};
  const gchar *given = g_getenv ("GEMMCL_INFO");
  g_auto (GStrv) numbers = g_strsplit (given != NULL ? given : "", " ", -1);

  for (guint i = 0; numbers[i] != NULL; i++) {
    g_auto (GStrv) pair = g_strsplit (numbers[i], "=", 2);

    for (guint f = 0; f < G_N_ELEMENTS (fields); f++)
      if (g_str_equal (pair[0], fields[f].name))
        G_STRUCT_MEMBER (guint, info, fields[f].offset) =
            (guint)g_ascii_strtoull (pair[1], NULL, 10);
  }
}

/* Devices have the subgroup sizes in GEMMCL_SUBGROUP_SIZES, separated by spaces, the numbers in
 * GEMMCL_INFO and the problem in GEMMCL_PROBLEM. */
GPtrArray *
gemmcl_list_devices (const GemmclDeviceQuery *query, GError **error)
{
  GPtrArray *devices = NEXT (gemmcl_list_devices) (query, error);
  const gchar *given = g_getenv ("GEMMCL_SUBGROUP_SIZES");
  g_auto (GStrv) sizes = given != NULL ? g_strsplit (given, " ", -1) : NULL;

  for (guint i = 0; devices != NULL && i < devices->len; i++) {
    GemmclDeviceInfo *info = g_ptr_array_index (devices, i);

    set_numbers (info);
    info->problem = g_strdup (g_getenv ("GEMMCL_PROBLEM"));
    if (sizes == NULL)
      continue;
    info->n_subgroup_sizes = g_strv_length (sizes);
    for (guint j = 0; sizes[j] != NULL; j++)
      info->subgroup_sizes[j] = (guint)g_ascii_strtoull (sizes[j], NULL, 10);
  }
  return devices;
}
