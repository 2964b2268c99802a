/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The devices of all platforms, the selection by a query, and why none was found.
 */
#include "device/query.h"

#include <CL/cl_ext.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/device.h"

/* Kernels are in OpenCL C 1.2. */
#define LEAST_VERSION 12

GMutex gemmcl_driver_lock;

/* @part: a user's text, which need not be UTF-8 */
static gboolean
contains (const gchar *text, const gchar *part)
{
  g_autofree gchar *valid = g_utf8_make_valid (part, -1);
  g_autofree gchar *folded_text = g_utf8_casefold (text, -1);
  g_autofree gchar *folded_part = g_utf8_casefold (valid, -1);
  return strstr (folded_text, folded_part) != NULL;
}

/* The result of a search for devices. */
typedef struct {
  GPtrArray *devices;
  GString *faults; /* why platforms and devices cannot be used: sentences, each after a space */
  guint n_platforms;
} Found;

/* With less than this, drivers may fail to load: they open a few files, and map their compilers. */
#define SPARE_FILES 16
#define SPARE_MIB   256

/* Adds the shortage of files or memory that may have hidden devices: neither the loader nor drivers
 * report it. The first shortage is remembered, since the loader looks for drivers only once. */
static void
add_shortage (GString *faults)
{
  static gint status = 0; /* guarded by gemmcl_driver_lock, like the next line's */
  static const gchar *what;
  const gsize bytes = (gsize)SPARE_MIB << 20;
  gint files[SPARE_FILES], n = 0;
  void *spare;

  if (status == 0) {
    while (n < SPARE_FILES && (files[n] = open ("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
      n++;
    status = n < SPARE_FILES ? errno : 0;
    what = "open " G_STRINGIFY (SPARE_FILES) " more files (ulimit -n)";
    while (n > 0)
      close (files[--n]);
  }
  if (status == 0) {
    spare = mmap (NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    status = spare == MAP_FAILED ? errno : 0;
    what = "map " G_STRINGIFY (SPARE_MIB) " MiB more (ulimit -v)";
    if (status == 0)
      munmap (spare, bytes);
  }
  if (status != 0)
    g_string_append_printf (faults,
                            " The process could not %s when OpenCL looked for drivers: %s. Raise "
                            "the limit and start again.",
                            what, g_strerror (status));
}

static void
add_empty_platform (GString *faults, const gchar *name)
{
  g_string_append_printf (faults, " The platform %s has no devices.", name);
  if (contains (name, "rusticl")) {
    const gchar *enabled = g_getenv ("RUSTICL_ENABLE");
    g_autofree gchar *value = gemmcl_quote (enabled != NULL ? enabled : "not set");

    g_string_append_printf (faults,
                            " Rusticl offers those whose drivers the environment variable "
                            "RUSTICL_ENABLE names, such as radeonsi; it is %s%s.",
                            enabled != NULL ? "now " : "", value);
  } else if (contains (name, "Portable Computing Language")) {
    const gchar *folder = g_getenv ("POCL_CACHE_DIR");
    g_autofree gchar *path = gemmcl_quote (folder != NULL ? folder : g_get_user_cache_dir ());

    g_string_append_printf (faults,
                            " PoCL needs a cache directory that it can create and write: %s%s, or "
                            "that of the environment variable POCL_CACHE_DIR.",
                            path, folder != NULL ? "" : "/pocl");
  }
}

/* Adds a device unless it cannot be used. @inline_id: the platform's inline device, or NULL */
static void
add_device (Found *found, cl_device_id id, cl_device_id inline_id, guint platform_index,
            gboolean is_default)
{
  g_autoptr (GError) why = NULL;
  g_autoptr (GemmclDevice) device = gemmcl_device_new (id, &why);

  if (device == NULL) {
    g_string_append_printf (found->faults, " %s", why->message);
    return;
  }
  if (gemmcl_cl_get_version (device->info.version) < LEAST_VERSION) {
    g_string_append_printf (found->faults, " %s of platform %s has \"%s\"; expected OpenCL 1.2.",
                            device->info.name, device->info.platform, device->info.version);
    return;
  }
  device->platform_index = platform_index;
  device->is_default = is_default;
  if (gemmcl_device_may_use_inline (&device->info))
    device->inline_id = inline_id;
  g_ptr_array_add (found->devices, g_steal_pointer (&device));
}

static void
list_platform (Found *found, guint index, cl_platform_id platform)
{
  cl_uint n = 0;
  cl_device_id preferred = NULL, inline_id, ids[GEMMCL_MAX_DEVICES];
  const cl_int status = clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, GEMMCL_MAX_DEVICES, ids, &n);
  g_autofree gchar *name = gemmcl_platform_get_string (platform, CL_PLATFORM_NAME);
  g_autoptr (GError) why = NULL;

  if (status == CL_DEVICE_NOT_FOUND || (status == CL_SUCCESS && n == 0)) {
    add_empty_platform (found->faults, name);
    return;
  }
  if (!gemmcl_cl_check (status, &why, "clGetDeviceIDs of platform %s", name)) {
    g_string_append_printf (found->faults, " %s", why->message);
    return;
  }
  (void)clGetDeviceIDs (platform, CL_DEVICE_TYPE_DEFAULT, 1, &preferred, NULL);
  n = MIN (n, GEMMCL_MAX_DEVICES);
  inline_id = gemmcl_device_find_inline (ids, n);
  if (preferred == inline_id && inline_id != NULL)
    preferred = ids[ids[0] == inline_id];
  for (guint i = 0; i < n; i++)
    if (ids[i] != inline_id)
      add_device (found, ids[i], inline_id, index, ids[i] == preferred);
}

/* Lists the devices of every platform, in the loader's order. */
static void
list_all (Found *found)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&gemmcl_driver_lock);
  g_autoptr (GError) why = NULL;
  cl_uint n = 0;
  cl_platform_id platforms[GEMMCL_MAX_DEVICES];
  const cl_int status = clGetPlatformIDs (GEMMCL_MAX_DEVICES, platforms, &n);

  if (status != CL_PLATFORM_NOT_FOUND_KHR && !gemmcl_cl_check (status, &why, "clGetPlatformIDs"))
    g_string_append_printf (found->faults, " %s", why->message);
  found->n_platforms = status == CL_SUCCESS ? MIN (n, GEMMCL_MAX_DEVICES) : 0;
  for (guint i = 0; i < found->n_platforms; i++)
    list_platform (found, i, platforms[i]);
  if (found->devices->len == 0)
    add_shortage (found->faults);
}

static gboolean
is_any (const gchar *asked)
{
  return asked == NULL || *asked == '\0' || g_ascii_strcasecmp (asked, "auto") == 0;
}

gboolean
gemmcl_device_query_is_named (const GemmclDeviceQuery *query)
{
  return query != NULL && !is_any (query->device);
}

/* TRUE if @asked selects this item of @n: it is "auto", the number @index, or a part of @name. A
 * number that is no index is a part of a name. */
static gboolean
is_asked (const gchar *asked, guint index, guint n, const gchar *name)
{
  guint64 number;

  if (is_any (asked))
    return TRUE;
  if (g_ascii_string_to_unsigned (asked, 10, 0, G_MAXUINT32, &number, NULL) && number < n)
    return number == index;
  return contains (name, asked);
}

static guint
rank (const GemmclDeviceInfo *info)
{
  return info->type == GEMMCL_DEVICE_TYPE_GPU           ? !info->intel
         : info->type == GEMMCL_DEVICE_TYPE_ACCELERATOR ? 2
                                                        : 3;
}

/* GPtrArray's sort is stable: equals stay in the loader's order. */
static gint
compare_rank (gconstpointer a, gconstpointer b)
{
  return (gint)rank (*(GemmclDeviceInfo *const *)a) - (gint)rank (*(GemmclDeviceInfo *const *)b);
}

/* TRUE if @query's platform and type select @device. @n: the number of platforms */
static gboolean
is_candidate (const GemmclDevice *device, guint n, const GemmclDeviceQuery *query)
{
  g_autofree gchar *vendor = gemmcl_platform_get_string (device->platform, CL_PLATFORM_VENDOR);

  return (is_asked (query->platform, device->platform_index, n, device->info.platform) ||
          is_asked (query->platform, device->platform_index, n, vendor)) &&
         (query->type == GEMMCL_DEVICE_TYPE_DEFAULT
              ? device->is_default
              : query->type == GEMMCL_DEVICE_TYPE_AUTO || query->type == device->info.type);
}

/* The devices that match @query. */
static GPtrArray *
pick (const Found *found, const GemmclDeviceQuery *query)
{
  GPtrArray *fit = g_ptr_array_new_with_free_func ((GDestroyNotify)gemmcl_device_free);
  g_autoptr (GPtrArray) candidates = g_ptr_array_new ();

  for (guint i = 0; i < found->devices->len; i++)
    if (is_candidate (found->devices->pdata[i], found->n_platforms, query))
      g_ptr_array_add (candidates, found->devices->pdata[i]);
  for (guint i = 0; i < candidates->len; i++) {
    GemmclDevice *device = candidates->pdata[i];

    if (is_asked (query->device, i, candidates->len, device->info.name))
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
                const gchar *faults)
{
  g_autofree gchar *platform = gemmcl_quote (is_any (query->platform) ? "any" : query->platform);
  g_autofree gchar *name = gemmcl_quote (is_any (query->device) ? "any" : query->device);
  g_autoptr (GString) found = g_string_new (NULL);

  if (devices->len == 0 && *faults != '\0')
    return FAIL_NULL (error, GEMMCL_ERROR_NO_DEVICE, "No OpenCL device can be used.%s", faults);
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
                    "No OpenCL device matches platform %s, type %s, device %s. Available: %s.%s",
                    platform, type_name (query->type), name, found->str, faults);
}

GPtrArray *
gemmcl_list_devices (const GemmclDeviceQuery *query, GError **error)
{
  static const GemmclDeviceQuery any;
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify)gemmcl_device_free);
  g_autoptr (GString) faults = g_string_new (NULL);
  g_autoptr (GPtrArray) fit = NULL;
  Found found = {.devices = all, .faults = faults};

  if (query == NULL)
    query = &any;
  list_all (&found);
  g_ptr_array_sort (all, compare_rank);
  fit = pick (&found, query);
  return fit->len > 0 ? g_steal_pointer (&fit) : fail_no_device (error, query, all, faults->str);
}
