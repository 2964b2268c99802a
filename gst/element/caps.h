/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* The caps of both pads. Pure functions of caps, settings and the shape of the weight. */

/** gst_gemmcl_caps_new_template: Returns: (transfer full): the pad template's caps. */
GstCaps *gst_gemmcl_caps_new_template (GstPadDirection direction);

/**
 * gst_gemmcl_caps_transform:
 * @direction: whose pad's @caps are
 * @caps: of that pad
 * @filter: (nullable): what the asker is interested in
 * @k, @n: the weight's, 0 when there is none yet
 *
 * What the other pad can have. The medium stands before tensors. Each comes in all memories: the
 * system's first for the source pad, last for the sink pad. The sink pad's answer is
 * narrowed to what K and N leave, but never to nothing: where nothing is left, all that the
 * template has is the answer. Then upstream sends caps that do not fit, and the element can say
 * why, where otherwise upstream could only say "not negotiated".
 *
 * Returns: (transfer full): caps, EMPTY only where @filter has nothing of the template.
 */
GstCaps *gst_gemmcl_caps_transform (GstPadDirection direction, const GstCaps *caps,
                                    const GstCaps *filter, const GstGemmclSettings *settings,
                                    gsize k, gsize n);

/**
 * gst_gemmcl_caps_fixate:
 * @input: fixed, of the sink pad
 * @output: (transfer full): not empty, what the source pad can have
 * @opencl: which memory is preferred, of what @output has
 *
 * Keeps the medium if @output has it, and the format as near to the input's as can be.
 *
 * Returns: (transfer full): fixed caps for the source pad.
 */
GstCaps *gst_gemmcl_caps_fixate (const GstCaps *input, GstCaps *output, gboolean opencl);
