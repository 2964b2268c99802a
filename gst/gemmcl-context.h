/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

G_BEGIN_DECLS

/**
 * GST_GEMMCL_CONTEXT_TYPE:
 *
 * The type of the GstContext by which elements and applications share an OpenCL context. Its
 * fields:
 *
 *     cl_context      gpointer   a cl_context; all that an application has to set
 *     cl_device_id    gpointer   one of its devices; without it the context's first
 *     gemmcl-context  GObject    the GemmclContext around both, which keeps them alive; without it
 *                                whoever set the context does
 */
#define GST_GEMMCL_CONTEXT_TYPE          "OpenCL"
#define GST_GEMMCL_CONTEXT_FIELD_CONTEXT "cl_context"
#define GST_GEMMCL_CONTEXT_FIELD_DEVICE  "cl_device_id"
#define GST_GEMMCL_CONTEXT_FIELD_GEMMCL  "gemmcl-context"

/**
 * gst_gemmcl_context_find:
 * @query: what the element asks for; a context on another device is not taken
 *
 * Asks for a context, in this order: the element itself, by gst_element_set_context(); the elements
 * downstream; those upstream; bins and the application, by a need-context message; and at last the
 * process, whose context is then announced by a have-context message. Any thread, no lock held.
 *
 * Returns: (transfer full): a context, or %NULL with the error of the last step.
 */
GemmclContext *gst_gemmcl_context_find (GstGemmcl *self, const GemmclDeviceQuery *query,
                                        GError **error);

/** gst_gemmcl_context_set: what the element's set_context does: it is taken when streaming starts
 * next, if it is another one. */
void gst_gemmcl_context_set (GstGemmcl *self, GstContext *context);

/**
 * gst_gemmcl_context_answer:
 *
 * Returns: whether @query asks for a context and the element has one, which it then holds; if not,
 *   others may be asked.
 */
gboolean gst_gemmcl_context_answer (GstGemmcl *self, GstQuery *query);

G_END_DECLS
