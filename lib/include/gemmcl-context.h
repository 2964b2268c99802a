/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Devices, and contexts that plans share. Any thread.
 */
#pragma once

#include <glib-object.h>

#include "gemmcl-error.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclDeviceType:
 * @GEMMCL_DEVICE_TYPE_AUTO: any; Intel GPUs first, then other GPUs, accelerators, CPUs
 * @GEMMCL_DEVICE_TYPE_CPU: CPUs only
 * @GEMMCL_DEVICE_TYPE_GPU: GPUs only
 * @GEMMCL_DEVICE_TYPE_ACCELERATOR: accelerators only
 * @GEMMCL_DEVICE_TYPE_DEFAULT: the default device of each platform
 */
typedef enum {
  GEMMCL_DEVICE_TYPE_AUTO,
  GEMMCL_DEVICE_TYPE_CPU,
  GEMMCL_DEVICE_TYPE_GPU,
  GEMMCL_DEVICE_TYPE_ACCELERATOR,
  GEMMCL_DEVICE_TYPE_DEFAULT,
} GemmclDeviceType;

/**
 * GemmclDeviceQuery:
 * @platform: the index of a platform in the OpenCL loader's order, or a part of the platform's name
 *   or vendor in any case; %NULL, "" or "auto" for every platform
 * @type: the type of the device
 * @device: the index of a device among those of @platform and @type, in the order of
 *   %GEMMCL_DEVICE_TYPE_AUTO, or a part of the device's name in any case; %NULL, "" or "auto" for
 *   the first
 *
 * Selects a device. All zeros select the preferred one. A number that is no index, such as "770",
 * is a part of a name. Strings need not be UTF-8; functions do not keep them.
 */
typedef struct {
  const gchar *platform;
  GemmclDeviceType type;
  const gchar *device;
  /*< private >*/
  gpointer _reserved[4];
} GemmclDeviceQuery;

/**
 * GemmclDeviceInfo:
 * @platform: the platform's name; this and the other strings are OpenCL's, as valid UTF-8 without
 *   leading and trailing spaces
 * @name: the device's name
 * @vendor: the device's vendor
 * @version: the version of OpenCL
 * @driver: the version of the driver
 * @extensions: the extensions, with spaces between them
 * @type: CPU, GPU or accelerator
 * @intel: the vendor is Intel, by its id or name
 * @nvidia_capability: the compute capability of a device of NVIDIA, by its vendor's id or name, 61
 *   for 6.1; else 0
 * @compute_units: CL_DEVICE_MAX_COMPUTE_UNITS
 * @clock_mhz: CL_DEVICE_MAX_CLOCK_FREQUENCY; 0: unknown
 * @float_width: CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT; of a CPU at least 4, since each is taken to
 *   have vectors of 128 bits
 * @max_work_group: the largest number of work-items in a work-group
 * @max_work_item_sizes: the largest number of work-items in each dimension of a work-group
 * @global_bytes: bytes of device memory
 * @max_alloc_bytes: bytes of the largest buffer
 * @local_bytes: bytes of local memory per work-group
 * @max_image_width: the width of the largest 2D image, in texels; 0: no images. In the info of a
 *   context, 0 also means that images cannot have a single channel of 32 bits
 * @max_image_height: the height of the largest 2D image, in texels
 * @host_unified: device and host share memory
 * @fp16: half arithmetic in kernels
 * @fp64: double arithmetic in kernels
 * @subgroup_sizes: the sizes for cl_intel_required_subgroup_size, ascending; none without it
 * @n_subgroup_sizes: the number of @subgroup_sizes
 * @cores: subslices (Xe cores) of an Intel GPU; a work-group runs on one of them
 * @eus: execution units in all subslices
 * @eu_threads: hardware threads per execution unit. @cores, @eus and @eu_threads are from
 *   cl_intel_device_attribute_query; 0 without it
 * @ip_version: CL_DEVICE_IP_VERSION_INTEL of the same extension, as major << 22 | minor << 14 |
 *   revision, converted from the form of older drivers; 0 without it
 * @peak_gflops: peak f32 rate at the highest clock, in 10^9 operations per second; a multiply-add
 *   counts as two; 0: unknown
 * @peak_source: how @peak_gflops was calculated; never %NULL
 * @problem: (nullable): why OpenCL could not make a context on this device for the last query that
 *   selects it (gemmcl_context_new()); %NULL if it could, or was not tried
 *
 * Description of an OpenCL device. Read-only; belongs to the context or the array that returned it.
 * A copy as a boxed type is a reference.
 */
typedef struct {
  gchar *platform;
  gchar *name;
  gchar *vendor;
  gchar *version;
  gchar *driver;
  gchar *extensions;
  GemmclDeviceType type;
  gboolean intel;
  guint nvidia_capability;
  guint compute_units;
  guint clock_mhz;
  guint float_width;
  gsize max_work_group;
  gsize max_work_item_sizes[3];
  guint64 global_bytes;
  guint64 max_alloc_bytes;
  guint64 local_bytes;
  gsize max_image_width, max_image_height;
  gboolean host_unified;
  gboolean fp16;
  gboolean fp64;
  guint subgroup_sizes[16];
  guint n_subgroup_sizes;
  guint cores;
  guint eus;
  guint eu_threads;
  guint32 ip_version;
  gdouble peak_gflops;
  gchar *peak_source;
  gchar *problem;
} GemmclDeviceInfo;

#define GEMMCL_TYPE_DEVICE_INFO (gemmcl_device_info_get_type ())
GType gemmcl_device_info_get_type (void);

/**
 * gemmcl_device_info_has_extension:
 * @info: a device
 * @extension: the complete name of an extension
 *
 * Returns: %TRUE if the device lists @extension.
 */
gboolean gemmcl_device_info_has_extension (const GemmclDeviceInfo *info, const gchar *extension);

/**
 * gemmcl_list_devices:
 * @query: (nullable): the selection; %NULL for every device
 * @error: set if no device matches
 *
 * Queries every OpenCL platform. Creates no context. Any thread: the library lets one thread at a
 * time list devices or make a context, since some drivers are not safe there. A program whose own
 * threads do so, too, must have listed the devices before.
 *
 * Returns: (transfer container) (element-type GemmclDeviceInfo): the devices that match, at least
 *   one, in order of preference; %NULL with %GEMMCL_ERROR_NO_DEVICE, whose message lists the
 *   devices that exist.
 */
GPtrArray *gemmcl_list_devices (const GemmclDeviceQuery *query, GError **error);

/**
 * GemmclContext:
 *
 * A device with an OpenCL context, a queue and the programs built for it. Plans of one context
 * share programs and equal weights: the device holds one copy of each.
 *
 * A process that listed devices or made a context must not use this library in a child of fork(),
 * which lacks the threads of OpenCL's drivers: calls fail or never return. Call fork() first, or
 * exec() in the child.
 */
#define GEMMCL_TYPE_CONTEXT (gemmcl_context_get_type ())
G_DECLARE_FINAL_TYPE (GemmclContext, gemmcl_context, GEMMCL, CONTEXT, GObject)

/**
 * gemmcl_context_new:
 * @query: (nullable): the selection; %NULL for the preferred device
 * @error: %GEMMCL_ERROR_NO_DEVICE or %GEMMCL_ERROR_OPENCL
 *
 * If @query names no device, devices on which OpenCL cannot make a context are passed over. Their
 * descriptions then have the reason as GemmclDeviceInfo.problem, which a program may list to warn
 * its user. It disappears when a context is made.
 *
 * Returns: (transfer full): a context on the first device that matches, or %NULL with the reason of
 *   the first.
 */
GemmclContext *gemmcl_context_new (const GemmclDeviceQuery *query, GError **error);

/**
 * gemmcl_context_get_shared:
 * @query: (nullable): the selection; %NULL for the preferred device
 *
 * Like gemmcl_context_new(), but returns the existing shared context of the device while one is
 * alive. The GStreamer plugin's elements use this context unless they are given another.
 *
 * Returns: (transfer full): the context, or %NULL.
 */
GemmclContext *gemmcl_context_get_shared (const GemmclDeviceQuery *query, GError **error);

/**
 * gemmcl_context_list_shared:
 * @query: (nullable): the selection; %NULL for every device
 *
 * Like gemmcl_context_get_shared(), but for each device that matches @query.
 *
 * Returns: (transfer container) (element-type GemmclContext): at least one context, in the order of
 *   gemmcl_list_devices(); %NULL with @error if one that @query names cannot be made, or none
 */
GPtrArray *gemmcl_context_list_shared (const GemmclDeviceQuery *query, GError **error);

/**
 * gemmcl_context_fits:
 * @query: (nullable): the selection; %NULL for any device
 *
 * Returns: %TRUE if @query matches the device of @self or, for a sub-device, a parent of it.
 */
gboolean gemmcl_context_fits (GemmclContext *self, const GemmclDeviceQuery *query);

/**
 * gemmcl_context_get_device_info:
 *
 * Returns: (transfer none): the device of @self; valid as long as @self.
 */
const GemmclDeviceInfo *gemmcl_context_get_device_info (GemmclContext *self);

/**
 * GemmclContextStats:
 * @programs: programs in the context, compiled or loaded from the disk cache
 * @compiled: programs that were compiled because the disk cache had none
 * @weights: matrices B on the device; equal ones count once
 * @weight_bytes: device memory of @weights, in bytes
 */
typedef struct {
  guint programs;
  guint compiled;
  guint weights;
  guint64 weight_bytes;
  /*< private >*/
  gpointer _reserved[4];
} GemmclContextStats;

/**
 * gemmcl_context_get_stats:
 * @stats: (out): the programs and weights that @self holds now.
 */
void gemmcl_context_get_stats (GemmclContext *self, GemmclContextStats *stats);

GEMMCL_END_DECLS
