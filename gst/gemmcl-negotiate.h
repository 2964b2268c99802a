/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* Caps, allocation and the plan that follows from them. */

G_BEGIN_DECLS

/** gst_gemmcl_negotiate_install: Gives @klass its functions for caps and allocation. */
void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);

/**
 * gst_gemmcl_make_plan:
 * @audio_m: samples to make room for; 0 for a first guess
 *
 * For the streaming thread: a plan for the formats and operands as they are now, in place of the
 * old one.
 *
 * Returns: %FALSE with @error; then there is no plan.
 */
gboolean gst_gemmcl_make_plan (GstGemmcl *self, gsize audio_m, GError **error);

/** gst_gemmcl_drop_plan: For the streaming thread: there is no plan afterwards. */
void gst_gemmcl_drop_plan (GstGemmcl *self);

/**
 * gst_gemmcl_explain_failure:
 * @input: (nullable): caps of the sink pad that could not be negotiated
 *
 * Posts an error that says why, unless one was posted since caps were last accepted or the
 * element is being shut down.
 */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);

G_END_DECLS
