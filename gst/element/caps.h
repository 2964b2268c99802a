/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* Computes the caps of a pad from those of the other, settings and weight. Pure functions. */

/** gst_gemmcl_caps_new_pad_template: Returns: (transfer full): the caps of
 * gst_gemmcl_caps_new_template(). A build with GstTensorMeta adds any video and audio to both pads,
 * and the sink pad's caps to the source pad. */
GstCaps *gst_gemmcl_caps_new_pad_template (GstPadDirection direction);

/** GstGemmclTerms: All that the caps of one pad depend on, besides the caps of the other pad. */
typedef struct {
  GstGemmclSettings settings;
  gboolean several;          /* several devices are used: outputs are in system memory */
  gsize k, n;                /* the shape of the weight; 0 without one */
  GstGemmclTensor described; /* as in gst_gemmcl_input_from_caps() */
} GstGemmclTerms;

/** gst_gemmcl_caps_read: Reads @caps, fixed caps of the sink pad, and gets the shape of A. Its
 * errors are those of gst_gemmcl_input_from_caps() and gst_gemmcl_shape_of_format(). */
gboolean gst_gemmcl_caps_read (const GstCaps *caps, const GstGemmclTerms *terms,
                               GstGemmclFormat *format, GstGemmclShape *shape, GError **error);

/**
 * gst_gemmcl_caps_transform:
 * @direction: the pad of @caps
 * @filter: (nullable): the caps that the caller can use
 *
 * Computes the caps that the other pad can have with @caps: first the medium of @caps, then
 * tensors, then pictures: video whose pixels are patches, windows or the rows of a tensor. Each has
 * every kind of memory: system memory comes first on the source pad and last on the sink pad.
 *
 * With output=meta both pads have the same caps, except for the field `tensors`: on the source pad
 * the element adds its tensors to it if @caps are fixed and K and N are known. With input=meta the
 * sink pad takes any video and audio.
 *
 * Returns: (transfer full): caps; EMPTY if none fit
 */
GstCaps *gst_gemmcl_caps_transform (GstPadDirection direction, const GstCaps *caps,
                                    const GstCaps *filter, const GstGemmclTerms *terms);

/** gst_gemmcl_caps_transform_leniently: As gst_gemmcl_caps_transform(); if nothing fits, ignores N
 * and the other pad's caps, or the output mode, and then K and all other settings, so that the
 * element can post the reason; upstream could only report "not negotiated". */
GstCaps *gst_gemmcl_caps_transform_leniently (GstPadDirection direction, const GstCaps *caps,
                                              const GstCaps *filter, const GstGemmclTerms *terms);
