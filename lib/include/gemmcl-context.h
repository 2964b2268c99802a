/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

#include "gemmcl-error.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclDeviceType:
 * @GEMMCL_DEVICE_TYPE_AUTO: every type, best first: Intel GPU, other GPU, accelerator, CPU
 * @GEMMCL_DEVICE_TYPE_CPU: CPUs only
 * @GEMMCL_DEVICE_TYPE_GPU: GPUs only
 * @GEMMCL_DEVICE_TYPE_ACCELERATOR: accelerators only
 * @GEMMCL_DEVICE_TYPE_DEFAULT: the device that each platform calls its default
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
 * @platform: a number, counted as the OpenCL loader lists platforms, or a part of the platform's
 *   name or vendor, any case; %NULL, "" or "auto" for all of them
 * @type: which types count
 * @device: a number, counted over the devices that platform and type leave in their order of
 *   choice, or a part of the device's name, any case; %NULL, "" or "auto" for the first
 *
 * Which device is asked for. All zero asks for the best one.
 */
typedef struct {
  const gchar *platform;
  GemmclDeviceType type;
  const gchar *device;
} GemmclDeviceQuery;

/**
 * GemmclDeviceInfo:
 * @platform, @name, @vendor, @version, @driver, @extensions: as OpenCL tells them
 * @type: CPU, GPU or accelerator
 * @intel, @nvidia: who made it, from the vendor id and name
 * @nvidia_capability: of NVIDIA's, 61 for the compute capability 6.1; else 0
 * @compute_units: CL_DEVICE_MAX_COMPUTE_UNITS
 * @clock_mhz: CL_DEVICE_MAX_CLOCK_FREQUENCY; 0 where the driver does not know
 * @float_width: CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
 * @max_work_group: work-items in a work-group at most
 * @max_work_item_sizes: the same for each dimension
 * @global_bytes, @max_alloc_bytes, @local_bytes: memory in all, in one buffer, in a work-group
 * @max_image_width, @max_image_height: of an image in texels; 0: it has none, or, of a context's
 *   device, none of one channel of 32 bits
 * @host_unified: device and host share their memory
 * @fp16, @fp64: half and double arithmetic
 * @subgroup_sizes, @n_subgroup_sizes: what cl_intel_required_subgroup_size lets a kernel ask for,
 *   ascending; none without that extension
 * @cores: subslices (Xe cores) of an Intel GPU, each of which runs whole work-groups; @eus,
 *   execution units of all of them; @eu_threads, hardware threads of each of these. All three from
 *   cl_intel_device_attribute_query; 0 without it
 * @ip_version: the same extension's CL_DEVICE_IP_VERSION_INTEL, major << 22 | minor << 14 |
 *   revision, by whatever driver; 0 without it
 * @peak_gflops: f32 multiply-adds at the highest clock, as 10^9 operations a second; 0: unknown
 * @peak_source: how @peak_gflops was reckoned, in words; never %NULL
 *
 * What an OpenCL device is and can do. Read-only, owned by whoever handed it out.
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
  gboolean nvidia;
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
} GemmclDeviceInfo;

/**
 * gemmcl_device_info_has_extension:
 * @info: a device
 * @extension: the whole name of an extension
 *
 * Returns: whether the device lists @extension, as a whole word.
 */
gboolean gemmcl_device_info_has_extension (const GemmclDeviceInfo *info, const gchar *extension);

/**
 * gemmcl_list_devices:
 * @query: (nullable): which ones; %NULL for all
 * @error: set when nothing fits
 *
 * Looks at every OpenCL platform and creates no context.
 *
 * Returns: (transfer full) (element-type GemmclDeviceInfo): the devices that fit, in the order of
 *   choice, at least one; %NULL with #GEMMCL_ERROR_NO_DEVICE, whose message lists what there is.
 */
GPtrArray *gemmcl_list_devices (const GemmclDeviceQuery *query, GError **error);

/**
 * GemmclContext:
 *
 * A device, an OpenCL context on it, a queue, and the programs built for it. Every function on it
 * may be called from any thread; programs are built once and shared by all plans, and weights that
 * several plans have are on the device once.
 */
#define GEMMCL_TYPE_CONTEXT (gemmcl_context_get_type ())
G_DECLARE_FINAL_TYPE (GemmclContext, gemmcl_context, GEMMCL, CONTEXT, GObject)

/**
 * gemmcl_context_new:
 * @query: (nullable): which device; %NULL for the best one
 * @error: #GEMMCL_ERROR_NO_DEVICE or #GEMMCL_ERROR_OPENCL
 *
 * Returns: (transfer full): a context on the first device that fits, or %NULL.
 */
GemmclContext *gemmcl_context_new (const GemmclDeviceQuery *query, GError **error);

/**
 * gemmcl_context_get_shared:
 *
 * Does what gemmcl_context_new() does, but whoever asks for the same device while such a context is
 * alive gets that: its programs are built, and its weights uploaded, once. It is also the context
 * of the GStreamer plugin's elements that have no other.
 */
GemmclContext *gemmcl_context_get_shared (const GemmclDeviceQuery *query, GError **error);

/** gemmcl_context_fits: Returns: whether the device of @self, or the one that it is a part of, is
 * among those that @query (nullable) leaves. */
gboolean gemmcl_context_fits (GemmclContext *self, const GemmclDeviceQuery *query);

/** gemmcl_context_get_device_info: Returns: (transfer none): what the context's device is; lives as
 * long as @self. */
const GemmclDeviceInfo *gemmcl_context_get_device_info (GemmclContext *self);

/**
 * GemmclContextStats:
 * @programs: that were compiled, or loaded from the disk's cache, and are kept
 * @compiled: how many of these were compiled
 * @weights: different B of its plans that are on the device now, each counted once
 * @weight_bytes: of the device's memory in them
 */
typedef struct {
  guint programs;
  guint compiled;
  guint weights;
  guint64 weight_bytes;
} GemmclContextStats;

/** gemmcl_context_get_stats: @stats: (out): what the plans of @self share at this moment. */
void gemmcl_context_get_stats (GemmclContext *self, GemmclContextStats *stats);

GEMMCL_END_DECLS
