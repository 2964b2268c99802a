/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* In which memories buffers come and go, as caps say it. */

/**
 * GstGemmclMemory:
 * @GST_GEMMCL_MEMORY_OTHER: nothing that the element knows
 * @GST_GEMMCL_MEMORY_TILED: dma-bufs in which only the media driver finds the pixels: they have to
 *   be VA surfaces, too
 *
 * Where caps say that buffers lie. The last three are for the sink pad alone.
 */
typedef enum {
  GST_GEMMCL_MEMORY_OTHER,
  GST_GEMMCL_MEMORY_SYSTEM,
  GST_GEMMCL_MEMORY_OPENCL,
  GST_GEMMCL_MEMORY_VA,
  GST_GEMMCL_MEMORY_TILED,
  GST_GEMMCL_MEMORY_DMABUF,
} GstGemmclMemory;

/** gst_gemmcl_caps_get_memory: Returns: that of structure @index; the system's for any features. */
GstGemmclMemory gst_gemmcl_caps_get_memory (const GstCaps *caps, guint index);

/**
 * gst_gemmcl_caps_spread:
 * @caps: of the system's memory
 * @direction: the pad's whose they are
 *
 * Returns: (transfer full): the same in each memory that the pad may have, the preferred one first.
 */
GstCaps *gst_gemmcl_caps_spread (GstCaps *caps, GstPadDirection direction);

/**
 * gst_gemmcl_caps_offer:
 * @caps: (transfer full): what the sink pad can have, on any device
 * @va: whether this one shares VA surfaces
 * @import: whether it imports dma-bufs; else they are mapped and copied, and so the last choice
 *
 * Returns: (transfer full): what it can have on this device.
 */
GstCaps *gst_gemmcl_caps_offer (GstCaps *caps, gboolean va, gboolean import);

/** gst_gemmcl_caps_are_surfaces: Returns: whether structure @index of @caps is of VA surfaces. */
gboolean gst_gemmcl_caps_are_surfaces (const GstCaps *caps, guint index);

/** gst_gemmcl_caps_are_opencl: Returns: whether structure @index of @caps is in OpenCL memory. */
gboolean gst_gemmcl_caps_are_opencl (const GstCaps *caps, guint index);
