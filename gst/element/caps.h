/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* Computes the caps of both pads. Pure functions of caps, settings and the shape of the weight. */

/** gst_gemmcl_caps_new_template: Returns: (transfer full): all caps of a pad whose medium is A or
 * D; for output=meta only those of the sink pad. */
GstCaps *gst_gemmcl_caps_new_template (GstPadDirection direction);

/** gst_gemmcl_caps_new_pad_template: Returns: (transfer full): the pad template's caps: with
 * input=meta the sink pad takes any video and audio, and with output=meta the source pad can have
 * all caps of the sink pad. */
GstCaps *gst_gemmcl_caps_new_pad_template (GstPadDirection direction);

/**
 * gst_gemmcl_caps_transform:
 * @direction: the pad of @caps
 * @caps: the caps of that pad
 * @filter: (nullable): the caps that the caller can use
 * @k, @n: the shape of the weight; 0 without one
 * @learned: (nullable): as in gst_gemmcl_carriers_read()
 *
 * Computes the caps that the other pad can have with @caps. The medium of @caps comes before
 * tensors. Each is listed with every kind of memory: system memory is first for the source pad and
 * last for the sink pad.
 *
 * With output=meta the caps of both pads are the same, but for the field `tensors` of the source
 * pad. The tensors of the element are appended to it if @caps are fixed and K and N are known.
 *
 * With input=meta the sink pad takes any video and audio, and the output is tensors, unless
 * output=meta.
 *
 * K and N restrict the caps of the sink pad. If none fit, N and @caps are ignored, and then also K:
 * upstream then sends caps that do not fit, and the element can post the reason. Otherwise upstream
 * could only report "not negotiated".
 *
 * Returns: (transfer full): caps; EMPTY only if @filter does not intersect the template
 */
GstCaps *gst_gemmcl_caps_transform (GstPadDirection direction, const GstCaps *caps,
                                    const GstCaps *filter, const GstGemmclSettings *settings,
                                    gsize k, gsize n, const GstGemmclTensor *learned);

/**
 * gst_gemmcl_caps_fixate:
 * @input: fixed caps of the sink pad
 * @output: (transfer full): the caps that the source pad can have; not empty
 * @opencl: prefer OpenCL memory, if @output has it; otherwise system memory
 *
 * Keeps the medium if @output has it, and chooses the nearest format to the input's.
 *
 * Returns: (transfer full): fixed caps for the source pad.
 */
GstCaps *gst_gemmcl_caps_fixate (const GstCaps *input, GstCaps *output, gboolean opencl);
