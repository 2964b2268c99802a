/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/gst.h>

/**
 * GST_GEMMCL_CONTEXT_TYPE:
 *
 * The type of the GstContext with which elements and applications share an OpenCL context. Its
 * fields are:
 *
 *     cl_context      gpointer   a cl_context; the only field that an application has to set
 *     cl_device_id    gpointer   one of its devices; default: its first device
 *     gemmcl-context  GObject    the GemmclContext around both, which keeps them alive; without it
 *                                the owner of the GstContext must keep them alive
 */
#define GST_GEMMCL_CONTEXT_TYPE          "OpenCL"
#define GST_GEMMCL_CONTEXT_FIELD_CONTEXT "cl_context"
#define GST_GEMMCL_CONTEXT_FIELD_DEVICE  "cl_device_id"
#define GST_GEMMCL_CONTEXT_FIELD_GEMMCL  "gemmcl-context"

/** GstGemmclSharing: The OpenCL context of an element, and its VADisplay. Only sharing.c writes the
 * fields, unless another file is named. @context changes between the states NULL and READY, when
 * streaming starts, and in the streaming thread, which may read it without the lock. @lock is taken
 * after any other lock of the element. It is never held while calling other elements or waiting. */
typedef struct {
  GstElement *element; /* the owner, for queries, messages and logs; not referenced */

  GMutex lock;
  GemmclContext *context;  /* NULL in the state NULL */
  GemmclDeviceQuery query; /* the query of context; its strings are interned */
  GstObject *display;      /* (nullable): a GstVaDisplay; va.c sets it and the next two */
  gint display_failed;     /* atomic: making a context with display failed */
  gint display_is_new;     /* atomic: display was not yet compared with that of context */
} GstGemmclSharing;

void gst_gemmcl_sharing_init (GstGemmclSharing *self, GstElement *element);
void gst_gemmcl_sharing_clear (GstGemmclSharing *self);

/**
 * gst_gemmcl_sharing_open:
 * @query: selects the device; its strings are interned
 *
 * Gives the element a context on a device that @query selects. The context has the VADisplay of the
 * element unless the application made the context. The present context stays unless @query, the
 * GstContext or the VADisplay has changed. A new context comes from the first of these that has
 * one: the element's own GstContexts (gst_element_set_context()); elements downstream; elements
 * upstream; bins and the application, by a need-context message; and last the process-wide context,
 * which is announced by a have-context message. Any thread, no lock held.
 *
 * Returns: %FALSE with the error of the last step.
 */
gboolean gst_gemmcl_sharing_open (GstGemmclSharing *self, GemmclDeviceQuery query, GError **error);

/** gst_gemmcl_sharing_close: Releases the context and the display. */
void gst_gemmcl_sharing_close (GstGemmclSharing *self);

/** gst_gemmcl_sharing_answer: Answers @query if it asks for an OpenCL context and the element has
 * one. Returns: %TRUE if it did. Any thread. */
gboolean gst_gemmcl_sharing_answer (GstGemmclSharing *self, GstQuery *query);

/** gst_gemmcl_sharing_get_context: Returns: (transfer full) (nullable): the context. Any thread. */
GemmclContext *gst_gemmcl_sharing_get_context (GstGemmclSharing *self);
