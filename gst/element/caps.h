/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/problem.h"

/* Computes the caps of both pads. Pure functions of caps, settings and the shape of the weight. */

/** gst_gemmcl_caps_new_pad_template: Returns: (transfer full): those, and with GstTensorMeta any
 * video and audio on the sink pad, and all caps of the sink pad on the source pad. */
GstCaps *gst_gemmcl_caps_new_pad_template (GstPadDirection direction);

/** GstGemmclTerms: The caps of each pad depend on those of the other and on these. */
typedef struct {
  GstGemmclSettings settings;
  gboolean several;        /* devices: results are in system memory */
  gsize k, n;              /* the shape of the weight; 0 without one */
  GstGemmclTensor learned; /* as in gst_gemmcl_input_from_caps() */
} GstGemmclTerms;

/** gst_gemmcl_caps_read: Reads @caps, fixed ones of the sink pad, and gets the shape of A, with the
 * errors of gst_gemmcl_input_from_caps() and gst_gemmcl_shape_of_format(). */
gboolean gst_gemmcl_caps_read (const GstCaps *caps, const GstGemmclTerms *terms,
                               GstGemmclFormat *format, GstGemmclShape *shape, GError **error);

/**
 * gst_gemmcl_caps_transform:
 * @direction: the pad of @caps
 * @filter: (nullable): the caps that the caller can use
 *
 * Computes the caps that the other pad can have with @caps: the medium of @caps before tensors,
 * each with every kind of memory, system memory first for the source pad and last for the sink pad.
 *
 * With output=meta the caps of both pads are the same, but for the field `tensors` of the source
 * pad, which gets the tensors of the element if @caps are fixed and K and N are known. With
 * input=meta the sink pad takes any video and audio.
 *
 * Returns: (transfer full): caps; EMPTY if none fit
 */
GstCaps *gst_gemmcl_caps_transform (GstPadDirection direction, const GstCaps *caps,
                                    const GstCaps *filter, const GstGemmclTerms *terms);

/** gst_gemmcl_caps_let_in: As gst_gemmcl_caps_transform(). If no caps fit, it ignores terms, one
 * after the other: the element can then post the reason when the input comes. Otherwise upstream
 * could only report "not negotiated". */
GstCaps *gst_gemmcl_caps_let_in (GstPadDirection direction, const GstCaps *caps,
                                 const GstCaps *filter, const GstGemmclTerms *terms);

/** gst_gemmcl_caps_fixate: Keeps the medium of @input, fixed caps of the sink pad, if @output,
 * (transfer full), not empty, has it, and chooses the nearest format, in OpenCL memory if @opencl
 * and @output has it. Returns: (transfer full): fixed caps for the source pad. */
GstCaps *gst_gemmcl_caps_fixate (const GstCaps *input, GstCaps *output, gboolean opencl);
