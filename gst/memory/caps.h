/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* In which memories buffers come and go, as caps say it. */

/** GstGemmclMemory: Where caps say that buffers lie. The last three are for the sink pad alone. */
typedef enum {
  GST_GEMMCL_MEMORY_OTHER, /* nothing that the element knows */
  GST_GEMMCL_MEMORY_SYSTEM,
  GST_GEMMCL_MEMORY_OPENCL,
  GST_GEMMCL_MEMORY_VA,
  GST_GEMMCL_MEMORY_TILED, /* dma-bufs that only the media driver can read: surfaces, too */
  GST_GEMMCL_MEMORY_DMABUF,
} GstGemmclMemory;

/** gst_gemmcl_caps_get_memory: Returns: that of structure @index; the system's for any features. */
GstGemmclMemory gst_gemmcl_caps_get_memory (const GstCaps *caps, guint index);

/** gst_gemmcl_caps_spread: Returns: (transfer full): @caps, of the system's memory, in each memory
 * that a pad of @direction may have, the preferred one first. */
GstCaps *gst_gemmcl_caps_spread (GstCaps *caps, GstPadDirection direction);

/** gst_gemmcl_caps_offer: Returns: (transfer full): what of @caps (transfer full), of the sink pad,
 * a device can have: surfaces only with @va; without @import dma-bufs are the last choice, since
 * they are mapped and copied. */
GstCaps *gst_gemmcl_caps_offer (GstCaps *caps, gboolean va, gboolean import);

/** gst_gemmcl_caps_are_surfaces: Returns: whether structure @index of @caps is of VA surfaces. */
gboolean gst_gemmcl_caps_are_surfaces (const GstCaps *caps, guint index);

/** gst_gemmcl_caps_are_opencl: Returns: whether structure @index of @caps is in OpenCL memory. */
gboolean gst_gemmcl_caps_are_opencl (const GstCaps *caps, guint index);
