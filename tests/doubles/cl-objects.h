/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl-layer.h"
#include "va-surface.h"

/* The memory objects that are shared, and the contexts that have a VADisplay. All under
 * RECORD_LOCK(), which must not be held around calls of cl_next. */

typedef struct {
  cl_context context;
  VADisplay display;
  gboolean user_sync; /* CL_CONTEXT_INTEROP_USER_SYNC */
  cl_context_properties *properties;
  gsize n_properties;
} SharedContext;

/** Returns: (nullable) (transfer none). */
SharedContext *shared_context_find (cl_context context);

typedef struct {
  gint references;
  cl_mem mem;
  cl_context context;
  cl_mem_flags flags;
  gboolean acquired;
  guint64 checksum; /* of the memory, when it was acquired, if OpenCL only reads */
  Surface *surface; /* (nullable): whose memory it is */

  /* Of a surface's plane; the image itself has four channels, see cl-staging.h. */
  gboolean is_plane;
  VASurfaceID id;
  guint plane;

  /* Of a dma-buf. */
  gpointer map;
  gsize size;
  cl_mem_properties *properties;
  gsize n_properties;
} SharedObject;

/** Makes @self (transfer full) known as what @self->mem is, until OpenCL frees it. */
void shared_object_add (SharedObject *self);

/** Returns: (nullable) (transfer full): what @mem is, or is a part of. */
SharedObject *shared_object_get (cl_mem mem);

SharedObject *shared_object_ref (SharedObject *self);
void shared_object_unref (SharedObject *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SharedObject, shared_object_unref)

/** Returns: (transfer full): "plane 1 of surface 0x10002", for messages. */
gchar *shared_object_name (const SharedObject *self);

/** Whether OpenCL may write to it. */
gboolean shared_object_is_written (const SharedObject *self);

/**
 * Before a command uses @mem: notes misuse if it is shared and not acquired, or its surface is
 * gone.
 * @who: what uses it, for the message
 * Returns: the error that the command is refused with, CL_SUCCESS if @mem is no shared object, too.
 */
cl_int shared_object_check_use (cl_mem mem, const gchar *who);

/** Forgets that kernels have @mem as argument; @mem must not be used by them any more. */
void cl_kernels_forget (cl_mem mem);

/** Returns: a checksum of the bytes of the surface's plane or of the dma-buf. */
guint64 shared_object_sum (const SharedObject *self);
