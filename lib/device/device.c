/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Devices: their properties, and the selection by a query.
 */
#include "device/device.h"

#include <CL/cl_ext.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_INTEL  0x8086
#define VENDOR_NVIDIA 0x10de

/* cl_nv_device_attribute_query; the headers of some distributions lack it. */
#define NV_COMPUTE_CAPABILITY_MAJOR 0x4000
#define NV_COMPUTE_CAPABILITY_MINOR 0x4001

GMutex gemmcl_driver_lock;

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

/* Leaves @value unchanged after a failure. @asked: (nullable): NULL for queries that a device may
 * not know */
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

static GemmclDeviceType
type_from_cl (cl_device_type type)
{
  if (type & CL_DEVICE_TYPE_GPU)
    return GEMMCL_DEVICE_TYPE_GPU;
  if (type & CL_DEVICE_TYPE_CPU)
    return GEMMCL_DEVICE_TYPE_CPU;
  return GEMMCL_DEVICE_TYPE_ACCELERATOR;
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
  info->type = type_from_cl (type);
  info->intel = vendor == VENDOR_INTEL || strstr (info->vendor, "Intel") != NULL;
  info->nvidia = vendor == VENDOR_NVIDIA || strstr (info->vendor, "NVIDIA") != NULL;
  if (info->nvidia)
    info->nvidia_capability = 10 * get_uint (NULL, id, NV_COMPUTE_CAPABILITY_MAJOR) +
                              get_uint (NULL, id, NV_COMPUTE_CAPABILITY_MINOR);
  GET (&asked, id, CL_DEVICE_MAX_COMPUTE_UNITS, info->compute_units);
  GET (&asked, id, CL_DEVICE_MAX_CLOCK_FREQUENCY, info->clock_mhz);
  GET (&asked, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, info->float_width);
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
}

void
gemmcl_device_free (GemmclDevice *self)
{
  g_atomic_rc_box_release_full (self, device_clear);
}

/* Each info is the first member of a GemmclDevice, which is constant once it is shared. */
G_DEFINE_BOXED_TYPE (GemmclDeviceInfo, gemmcl_device_info, g_atomic_rc_box_acquire,
                     (GBoxedFreeFunc)gemmcl_device_free)

/* Adds the devices of a platform. @reason: set if a device cannot be queried */
static void
list_platform (GPtrArray *devices, guint index, cl_platform_id platform, GError **reason)
{
  cl_uint n = 0;
  cl_device_id preferred = NULL, ids[GEMMCL_MAX_DEVICES];
  const cl_int status = clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, GEMMCL_MAX_DEVICES, ids, &n);

  if (status == CL_DEVICE_NOT_FOUND || !gemmcl_cl_check (status, reason, "clGetDeviceIDs"))
    return;
  (void)clGetDeviceIDs (platform, CL_DEVICE_TYPE_DEFAULT, 1, &preferred, NULL);
  for (guint i = 0; i < MIN (n, GEMMCL_MAX_DEVICES); i++) {
    GemmclDevice *device;

    g_clear_error (reason);
    device = gemmcl_device_new (ids[i], reason);
    if (device == NULL)
      continue;
    device->platform_index = index;
    device->is_default = ids[i] == preferred;
    g_ptr_array_add (devices, device);
  }
}

/* Adds the devices of every platform to @devices, in the loader's order, without those that cannot
 * be queried. @reason: the last failure; not NULL */
static void
list_all (GPtrArray *devices, GError **reason)
{
  cl_uint n = 0;
  cl_platform_id platforms[GEMMCL_MAX_DEVICES];
  const cl_int status = clGetPlatformIDs (GEMMCL_MAX_DEVICES, platforms, &n);

  if (status == CL_PLATFORM_NOT_FOUND_KHR || !gemmcl_cl_check (status, reason, "clGetPlatformIDs"))
    return;
  for (guint i = 0; i < MIN (n, GEMMCL_MAX_DEVICES); i++) {
    g_clear_error (reason);
    list_platform (devices, i, platforms[i], reason);
  }
}

/* @part: a user's text, which need not be UTF-8 */
static gboolean
contains (const gchar *text, const gchar *part)
{
  g_autofree gchar *valid = g_utf8_make_valid (part, -1);
  g_autofree gchar *folded_text = g_utf8_casefold (text, -1);
  g_autofree gchar *folded_part = g_utf8_casefold (valid, -1);
  return strstr (folded_text, folded_part) != NULL;
}

static gboolean
is_any (const gchar *asked)
{
  return asked == NULL || *asked == '\0' || g_ascii_strcasecmp (asked, "auto") == 0;
}

/* TRUE if @asked selects this item: it is "auto", the number @index, or a part of @name. */
static gboolean
is_asked (const gchar *asked, guint index, const gchar *name)
{
  guint64 number;

  if (is_any (asked))
    return TRUE;
  if (g_ascii_string_to_unsigned (asked, 10, 0, G_MAXUINT32, &number, NULL))
    return number == index;
  return contains (name, asked);
}

static gboolean
platform_fits (const GemmclDevice *device, const gchar *asked)
{
  g_autofree gchar *vendor = NULL;

  if (is_asked (asked, device->platform_index, device->info.platform))
    return TRUE;
  vendor = get_platform_string (NULL, device->platform, CL_PLATFORM_VENDOR);
  return is_asked (asked, device->platform_index, vendor);
}

static gboolean
type_fits (const GemmclDevice *device, GemmclDeviceType asked)
{
  if (asked == GEMMCL_DEVICE_TYPE_DEFAULT)
    return device->is_default;
  return asked == GEMMCL_DEVICE_TYPE_AUTO || asked == device->info.type;
}

static guint
rank (const GemmclDeviceInfo *info)
{
  switch (info->type) {
  case GEMMCL_DEVICE_TYPE_GPU:
    return info->intel ? 0 : 1;
  case GEMMCL_DEVICE_TYPE_ACCELERATOR:
    return 2;
  default:
    return 3;
  }
}

/* GPtrArray's sort is stable: equals stay in the loader's order. */
static gint
compare_rank (gconstpointer a, gconstpointer b)
{
  return (gint)rank (*(GemmclDeviceInfo *const *)a) - (gint)rank (*(GemmclDeviceInfo *const *)b);
}

/* The devices of @all that match @query. */
static GPtrArray *
pick (const GPtrArray *all, const GemmclDeviceQuery *query)
{
  GPtrArray *fit = g_ptr_array_new_with_free_func ((GDestroyNotify)gemmcl_device_free);
  guint index = 0;

  for (guint i = 0; i < all->len; i++) {
    GemmclDevice *device = all->pdata[i];

    if (platform_fits (device, query->platform) && type_fits (device, query->type) &&
        is_asked (query->device, index++, device->info.name))
      g_ptr_array_add (fit, g_atomic_rc_box_acquire (device));
  }
  return fit;
}

static const gchar *
type_name (GemmclDeviceType type)
{
  static const gchar *const type_names[] = {"any", "CPU", "GPU", "accelerator", "default"};
  return (guint)type < G_N_ELEMENTS (type_names) ? type_names[type] : "unknown";
}

/* Returns: NULL. */
static gpointer
fail_no_device (GError **error, const GemmclDeviceQuery *query, const GPtrArray *devices,
                const GError *reason)
{
  g_autoptr (GString) found = g_string_new (NULL);

  if (devices->len == 0 && reason != NULL)
    return FAIL_NULL (error, GEMMCL_ERROR_NO_DEVICE, "No OpenCL device can be used. %s",
                      reason->message);
  if (devices->len == 0)
    return FAIL_NULL (error, GEMMCL_ERROR_NO_DEVICE,
                      "No OpenCL device was found. Install an OpenCL driver: "
                      "intel-opencl-icd for Intel GPUs, pocl-opencl-icd for any CPU.");
  for (guint i = 0; i < devices->len; i++) {
    const GemmclDevice *device = devices->pdata[i];
    g_string_append_printf (found, "%s%s %s of platform %u (%s)", i ? ", " : "",
                            type_name (device->info.type), device->info.name,
                            device->platform_index, device->info.platform);
  }
  return FAIL_NULL (error, GEMMCL_ERROR_NO_DEVICE,
                    "No OpenCL device matches platform %s, type %s, device %s. Available: %s.",
                    is_any (query->platform) ? "any" : query->platform, type_name (query->type),
                    is_any (query->device) ? "any" : query->device, found->str);
}

GPtrArray *
gemmcl_list_devices (const GemmclDeviceQuery *query, GError **error)
{
  static const GemmclDeviceQuery any;
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify)gemmcl_device_free);
  g_autoptr (GPtrArray) fit = NULL;
  g_autoptr (GError) reason = NULL;

  if (query == NULL)
    query = &any;
  g_mutex_lock (&gemmcl_driver_lock);
  list_all (all, &reason);
  g_mutex_unlock (&gemmcl_driver_lock);
  g_ptr_array_sort (all, compare_rank);
  fit = pick (all, query);
  return fit->len > 0 ? g_steal_pointer (&fit) : fail_no_device (error, query, all, reason);
}
