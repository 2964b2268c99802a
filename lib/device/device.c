/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device/device.h"

#include <CL/cl_ext.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_INTEL  0x8086
#define VENDOR_NVIDIA 0x10de

#define CPU_WIDTH 4 /* floats of the vectors of 128 bits that every CPU is taken to have */

/* cl_nv_device_attribute_query; the headers of some distributions lack it. */
#define NV_COMPUTE_CAPABILITY_MAJOR 0x4000
#define NV_COMPUTE_CAPABILITY_MINOR 0x4001

/* Stores in @asked (nullable) the first failure of the queries that every device must answer. */
static gboolean
note (cl_int *asked, cl_int status)
{
  if (asked != NULL && *asked == CL_SUCCESS)
    *asked = status;
  return status == CL_SUCCESS;
}

/* Gets a string as valid UTF-8 without the spaces that some drivers pad it with; "" after a
 * failure. */
#define DEFINE_GET_STRING(name, Id, Info, query)                                                   \
  static gchar *name (cl_int *asked, Id id, Info what)                                             \
  {                                                                                                \
    gsize size = 0;                                                                                \
    g_autofree gchar *text = NULL;                                                                 \
                                                                                                   \
    if (!note (asked, query (id, what, 0, NULL, &size)))                                           \
      return g_strdup ("");                                                                        \
    text = g_malloc0 (size + 1);                                                                   \
    if (!note (asked, query (id, what, size, text, NULL)))                                         \
      return g_strdup ("");                                                                        \
    return g_utf8_make_valid (g_strstrip (text), -1);                                              \
  }

DEFINE_GET_STRING (get_string, cl_device_id, cl_device_info, clGetDeviceInfo)
DEFINE_GET_STRING (get_platform_string, cl_platform_id, cl_platform_info, clGetPlatformInfo)

gchar *
gemmcl_platform_get_string (cl_platform_id platform, cl_platform_info what)
{
  return get_platform_string (NULL, platform, what);
}

/* A failure leaves @value unchanged, and is noted in @asked, (nullable): NULL for queries that a
 * device may not know. */
#define GET(asked, id, what, value)                                                                \
  note (asked, clGetDeviceInfo (id, what, sizeof (value), &(value), NULL))

static guint
get_uint (cl_int *asked, cl_device_id id, cl_device_info what)
{
  cl_uint value = 0;
  GET (asked, id, what, value);
  return value;
}

gboolean
gemmcl_device_info_has_extension (const GemmclDeviceInfo *info, const gchar *extension)
{
  const gsize length = strlen (extension);

  for (const gchar *at = info->extensions; length && (at = strstr (at, extension)); at += length)
    if ((at == info->extensions || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
      return TRUE;
  return FALSE;
}

guint
gemmcl_cl_get_version (const gchar *version)
{
  const gsize prefix = strlen ("OpenCL ");

  return strlen (version) > prefix ? 10 * g_ascii_strtod (version + prefix, NULL) + 0.5 : 0;
}

static int
compare_guint (const void *a, const void *b)
{
  return *(const guint *)a < *(const guint *)b ? -1 : *(const guint *)a > *(const guint *)b;
}

static void
fill_subgroup_sizes (GemmclDeviceInfo *info, cl_device_id id)
{
  gsize sizes[G_N_ELEMENTS (info->subgroup_sizes)];
  gsize bytes = 0;

  if (!gemmcl_device_info_has_extension (info, "cl_intel_required_subgroup_size") ||
      clGetDeviceInfo (id, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof (sizes), sizes, &bytes) !=
          CL_SUCCESS)
    return;
  info->n_subgroup_sizes = bytes / sizeof (gsize);
  for (guint i = 0; i < info->n_subgroup_sizes; i++)
    info->subgroup_sizes[i] = sizes[i];
  qsort (info->subgroup_sizes, info->n_subgroup_sizes, sizeof (guint), compare_guint);
}

/* The extension's third version has major << 22 | minor << 14 | revision. Earlier drivers, 22.43
 * for example, report major << 16 | minor << 8 | revision, and 12.7 for the Arc A series, which is
 * 12.55. */
static guint32
get_ip_version (cl_device_id id)
{
  const guint32 ip = get_uint (NULL, id, CL_DEVICE_IP_VERSION_INTEL);
  const guint32 major = ip >> 16, minor = ip >> 8 & 0xff;

  if (ip >> 22 != 0)
    return ip;
  return major << 22 | (major == 12 && minor == 7 ? 55 : minor) << 14 | (ip & 0xff);
}

static void
fill_intel (GemmclDeviceInfo *info, cl_device_id id)
{
  if (!gemmcl_device_info_has_extension (info, "cl_intel_device_attribute_query"))
    return;
  info->cores = get_uint (NULL, id, CL_DEVICE_NUM_SLICES_INTEL) *
                get_uint (NULL, id, CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL);
  info->eus = info->cores * get_uint (NULL, id, CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL);
  info->eu_threads = get_uint (NULL, id, CL_DEVICE_NUM_THREADS_PER_EU_INTEL);
  info->ip_version = get_ip_version (id);
}

static void
fill_images (GemmclDeviceInfo *info, cl_device_id id)
{
  cl_bool support = CL_FALSE;

  GET (NULL, id, CL_DEVICE_IMAGE_SUPPORT, support);
  if (!support)
    return;
  GET (NULL, id, CL_DEVICE_IMAGE2D_MAX_WIDTH, info->max_image_width);
  GET (NULL, id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, info->max_image_height);
}

static guint
get_nvidia_lanes (guint capability)
{
  static const struct {
    guint capability, lanes;
  } table[] = {
      {30, 192}, {50, 128}, {60, 64},  {61, 128},  {70, 64},
      {80, 64},  {86, 128}, {90, 128}, {100, 128},
  };
  guint lanes = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (table) && table[i].capability <= capability; i++)
    lanes = table[i].lanes;
  return lanes;
}

/*
 * The largest number of f32 multiply-adds that a device starts per second:
 *
 *     CPU      cores x clock x 2 units x vector width. Intel since Haswell, AMD since Zen 2 and
 *              Arm's large cores have two FMA units. Compute units are hardware threads, so the
 *              result is twice the peak of a CPU with two threads per core.
 *     Intel    EUs x clock x 8 lanes (Gen7.5 to Gen12: two FPUs of 4; Xe-LP: 8 lanes) or 16 (the
 *              vector engines of Xe2 and Xe-HPC, whose smallest subgroup is 16)
 *     NVIDIA   multiprocessors x clock x lanes of the compute capability (CUDA C++ Programming
 *              Guide, "Arithmetic Instructions")
 *
 * A multiply-add counts as two operations. 0 for other devices, whose drivers do not report their
 * width.
 */
static void
fill_peak (GemmclDeviceInfo *info)
{
  const gchar *units = NULL;
  guint n = 0, lanes = 0;

  if (info->nvidia_capability >= 10) {
    units = "multiprocessors";
    n = info->compute_units;
    lanes = get_nvidia_lanes (info->nvidia_capability);
  } else if (info->type == GEMMCL_DEVICE_TYPE_GPU && info->eus > 0) {
    units = "EUs";
    n = info->eus;
    lanes = info->n_subgroup_sizes > 0 && info->subgroup_sizes[0] >= 16 ? 16 : 8;
  } else if (info->type == GEMMCL_DEVICE_TYPE_CPU) {
    units = "hardware threads";
    n = info->compute_units;
    lanes = 2 * info->float_width;
  }

  if (n == 0 || lanes == 0 || info->clock_mhz == 0) {
    info->peak_source = g_strdup ("unknown: the driver does not tell the device's width or clock");
    return;
  }
  info->peak_gflops = 2.0 * n * lanes * info->clock_mhz / 1000.0;
  info->peak_source = g_strdup_printf ("%u %s x %u f32 lanes x %u MHz x (MUL + ADD)", n, units,
                                       lanes, info->clock_mhz);
}

/* Fails if a query with @asked fails: an incomplete description would cause wrong choices for the
 * life of a shared context. */
static gboolean
fill_info (GemmclDeviceInfo *info, cl_device_id id, cl_platform_id platform, GError **error)
{
  cl_int asked = CL_SUCCESS;
  const guint vendor = get_uint (&asked, id, CL_DEVICE_VENDOR_ID);
  cl_device_type type = 0;

  info->platform = get_platform_string (&asked, platform, CL_PLATFORM_NAME);
  info->name = get_string (&asked, id, CL_DEVICE_NAME);
  info->vendor = get_string (&asked, id, CL_DEVICE_VENDOR);
  info->version = get_string (&asked, id, CL_DEVICE_VERSION);
  info->driver = get_string (&asked, id, CL_DRIVER_VERSION);
  info->extensions = get_string (&asked, id, CL_DEVICE_EXTENSIONS);
  GET (&asked, id, CL_DEVICE_TYPE, type);
  info->type = type & CL_DEVICE_TYPE_GPU   ? GEMMCL_DEVICE_TYPE_GPU
               : type & CL_DEVICE_TYPE_CPU ? GEMMCL_DEVICE_TYPE_CPU
                                           : GEMMCL_DEVICE_TYPE_ACCELERATOR;
  info->intel = vendor == VENDOR_INTEL || strstr (info->vendor, "Intel") != NULL;
  if (vendor == VENDOR_NVIDIA || strstr (info->vendor, "NVIDIA") != NULL)
    info->nvidia_capability = 10 * get_uint (NULL, id, NV_COMPUTE_CAPABILITY_MAJOR) +
                              get_uint (NULL, id, NV_COMPUTE_CAPABILITY_MINOR);
  GET (&asked, id, CL_DEVICE_MAX_COMPUTE_UNITS, info->compute_units);
  GET (&asked, id, CL_DEVICE_MAX_CLOCK_FREQUENCY, info->clock_mhz);
  GET (&asked, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, info->float_width);
  /* PoCL reports 1 or 2 where LLVM cannot tell the host's features, as on some Arm CPUs. */
  if (info->type == GEMMCL_DEVICE_TYPE_CPU)
    info->float_width = MAX (info->float_width, CPU_WIDTH);
  GET (&asked, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, info->max_work_group);
  GET (&asked, id, CL_DEVICE_MAX_WORK_ITEM_SIZES, info->max_work_item_sizes);
  GET (&asked, id, CL_DEVICE_GLOBAL_MEM_SIZE, info->global_bytes);
  GET (&asked, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, info->max_alloc_bytes);
  GET (&asked, id, CL_DEVICE_LOCAL_MEM_SIZE, info->local_bytes);
  GET (&asked, id, CL_DEVICE_HOST_UNIFIED_MEMORY, info->host_unified);
  info->fp16 = gemmcl_device_info_has_extension (info, "cl_khr_fp16");
  info->fp64 = gemmcl_device_info_has_extension (info, "cl_khr_fp64");
  fill_images (info, id);
  fill_subgroup_sizes (info, id);
  fill_intel (info, id);
  fill_peak (info);
  return gemmcl_cl_check (asked, error, "clGetDeviceInfo");
}

/* cl_device_id -> the problem of the device */
static GMutex problems_lock;
static GHashTable *problems;

void
gemmcl_device_set_problem (const GemmclDevice *self, const gchar *problem)
{
  g_mutex_lock (&problems_lock);
  if (problems == NULL)
    problems = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_hash_table_replace (problems, self->id, g_strdup (problem));
  g_mutex_unlock (&problems_lock);
}

GemmclDevice *
gemmcl_device_new (cl_device_id id, GError **error)
{
  g_autoptr (GemmclDevice) self = g_atomic_rc_box_new0 (GemmclDevice);

  self->id = id;
  if (!gemmcl_cl_check (
          clGetDeviceInfo (id, CL_DEVICE_PLATFORM, sizeof (self->platform), &self->platform, NULL),
          error, "clGetDeviceInfo for the platform") ||
      !fill_info (&self->info, id, self->platform, error))
    return NULL;
  g_mutex_lock (&problems_lock);
  self->info.problem = problems != NULL ? g_strdup (g_hash_table_lookup (problems, id)) : NULL;
  g_mutex_unlock (&problems_lock);
  return g_steal_pointer (&self);
}

static void
device_clear (gpointer device)
{
  GemmclDevice *self = device;

  g_free (self->info.platform);
  g_free (self->info.name);
  g_free (self->info.vendor);
  g_free (self->info.version);
  g_free (self->info.driver);
  g_free (self->info.extensions);
  g_free (self->info.peak_source);
  g_free (self->info.problem);
}

void
gemmcl_device_free (GemmclDevice *self)
{
  g_atomic_rc_box_release_full (self, device_clear);
}

/* Up to version 4, a command on the inline device deadlocks if it waits for another thread's. */
#define LEAST_INLINE_VERSION 5

gboolean
gemmcl_device_may_use_inline (const GemmclDeviceInfo *info)
{
  return g_str_equal (info->platform, "Portable Computing Language") &&
         g_str_has_prefix (info->name, "cpu-") &&
         g_ascii_strtod (info->driver, NULL) >= LEAST_INLINE_VERSION;
}

cl_device_id
gemmcl_device_find_inline (const cl_device_id *ids, guint n)
{
  cl_device_id found = NULL;

  for (guint i = 0; n > 1 && i < n; i++) {
    g_autofree gchar *name = get_string (NULL, ids[i], CL_DEVICE_NAME);

    if (g_str_has_prefix (name, "basic-") || g_str_has_prefix (name, "cpu-minimal-"))
      found = ids[i];
  }
  for (guint i = 0; found != NULL && i < n; i++) {
    cl_device_type type = 0;

    GET (NULL, ids[i], CL_DEVICE_TYPE, type);
    if (ids[i] != found && type & CL_DEVICE_TYPE_CPU)
      return found;
  }
  return NULL;
}

/* Each info is the first member of a GemmclDevice, which is constant once it is shared. */
G_DEFINE_BOXED_TYPE (GemmclDeviceInfo, gemmcl_device_info, g_atomic_rc_box_acquire,
                     (GBoxedFreeFunc)gemmcl_device_free)
