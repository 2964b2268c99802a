/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

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
 * gst_gemmcl_context_open:
 *
 * Gives the element a context on the device that its properties ask for; one on another is not
 * taken, nor one without the VADisplay that the element knows, unless the application made it. Asks
 * in this order: the element itself, by gst_element_set_context(); the elements downstream; those
 * upstream; bins and the application, by a need-context message; and at last the process, whose
 * context is then announced by a have-context message. Any thread, no lock held.
 *
 * Returns: %FALSE with the error of the last step.
 */
gboolean gst_gemmcl_context_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_context_refresh: Does so again where the one that it has is not right any more: there
 * is another one, another device is asked for, or there is a VADisplay now. */
gboolean gst_gemmcl_context_refresh (GstGemmcl *self, GError **error);

/** gst_gemmcl_context_adapt: Gives the element a context with the display of @buffer, a surface, if
 * it has another one; then it asks for a new plan and new outputs. From the streaming thread. */
gboolean gst_gemmcl_context_adapt (GstGemmcl *self, GstBuffer *buffer, GError **error);

/** gst_gemmcl_context_set: what the element's set_context does: it is taken when streaming starts
 * next, if it is another one. */
void gst_gemmcl_context_set (GstGemmcl *self, GstContext *context);

/** gst_gemmcl_context_answer: Returns: whether @query asks for a context and the element has one,
 * which it then holds; if not, others may be asked. */
gboolean gst_gemmcl_context_answer (GstGemmcl *self, GstQuery *query);
