/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/va.h"

/**
 * GST_GEMMCL_CONTEXT_TYPE:
 *
 * The type of the GstContext by which elements and applications share an OpenCL context. Its
 * fields:
 *
 *     cl_context      gpointer   a cl_context; all that an application has to set
 *     cl_device_id    gpointer   one of its devices; default: its first
 *     gemmcl-context  GObject    the GemmclContext around both, which keeps them alive; without it
 *                                whoever set the GstContext keeps them alive
 */
#define GST_GEMMCL_CONTEXT_TYPE          "OpenCL"
#define GST_GEMMCL_CONTEXT_FIELD_CONTEXT "cl_context"
#define GST_GEMMCL_CONTEXT_FIELD_DEVICE  "cl_device_id"
#define GST_GEMMCL_CONTEXT_FIELD_GEMMCL  "gemmcl-context"

/**
 * GstGemmclDevice:
 *
 * The OpenCL context of an element, with what belongs to it. Only device.c writes the
 * fields. @context changes in NULL to READY, when streaming starts, and in the streaming thread,
 * which may read it without the lock. @lock is taken after any other lock of the element; nothing
 * is called or waited for with it held.
 */
typedef struct {
  GstElement *element; /* whose device it is, not referenced: it asks, posts and logs */
  GstGemmclVa va;      /* has a lock of its own */

  GMutex lock;
  GemmclContext *context;  /* NULL in the state NULL */
  GstAllocator *allocator; /* of memory of context; made when it is first needed */
  gboolean stale;          /* another GstContext was set since context was opened */

  /* What context was opened for. */
  gchar *platform;
  gchar *name;
  GemmclDeviceType type;

  /* The streaming thread's own. */
  GstGemmclImports *imports; /* NULL unless streaming */
} GstGemmclDevice;

void gst_gemmcl_device_init (GstGemmclDevice *self, GstElement *element);
void gst_gemmcl_device_clear (GstGemmclDevice *self);

/**
 * gst_gemmcl_device_open:
 * @query: the device that is wanted
 *
 * Gives the element a context on such a device, with the VADisplay that the element knows unless
 * the application made the context. Asks, in this order: the element itself, by
 * gst_element_set_context(); the elements downstream; those upstream; bins and the application, by
 * a need-context message; and last the process, whose context is announced by a have-context
 * message. Any thread, no lock held.
 *
 * Returns: %FALSE with the error of the last step.
 */
gboolean gst_gemmcl_device_open (GstGemmclDevice *self, const GemmclDeviceQuery *query,
                                 GError **error);

/** gst_gemmcl_device_refresh: Opens the device again if @query, the GstContext or the VADisplay has
 * changed since. */
gboolean gst_gemmcl_device_refresh (GstGemmclDevice *self, const GemmclDeviceQuery *query,
                                    GError **error);

/** gst_gemmcl_device_close: Releases the context and the display. */
void gst_gemmcl_device_close (GstGemmclDevice *self);

/** gst_gemmcl_device_set_context: The element's set_context: another OpenCL context is used from
 * the next gst_gemmcl_device_refresh() on. Any thread. */
void gst_gemmcl_device_set_context (GstGemmclDevice *self, GstContext *context);

/** gst_gemmcl_device_answer: Returns: whether @query asks for a context and the element has one,
 * which is then in @query. Any thread. */
gboolean gst_gemmcl_device_answer (GstGemmclDevice *self, GstQuery *query);

/** gst_gemmcl_device_get_context: Returns: (transfer full) (nullable). Any thread. */
GemmclContext *gst_gemmcl_device_get_context (GstGemmclDevice *self);

/** gst_gemmcl_device_get_allocator: Returns: (transfer full) (nullable): the allocator of memory of
 * the context; %NULL with @error if there can be none. Any thread. */
GstAllocator *gst_gemmcl_device_get_allocator (GstGemmclDevice *self, GError **error);
