/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl-layer-entry.h"
#include "record.h"
#include "va-surface.h"

/*
 * The OpenCL layer. It adds two extensions to each device: cl_intel_va_api_media_sharing for the
 * fake libva driver's displays, and the import of dma-bufs by cl_khr_external_memory for any file
 * descriptor that can be mapped. It checks how programs use such objects, which OpenCL may read but
 * not write.
 *
 * RECORD_LOCK() guards all of this. It must not be held around calls of cl_next.
 */

/** Returns: TRUE if the extension "va" or "dmabuf" is offered: GEMMCL_DOUBLES_WITHOUT does not list
 * it. */
gboolean cl_offers (const gchar *what);

/** Each replaces functions of the implementation by its own. */
void cl_commands_install (cl_icd_dispatch *table);
void cl_objects_install (cl_icd_dispatch *table);

/** A context that was made with a VADisplay. */
typedef struct {
  cl_context context;
  VADisplay display;
  cl_context_properties *properties;
  gsize n_properties;
} SharedContext;

/** Returns: (nullable) (transfer none): the entry of @context; NULL if it has no VADisplay. */
SharedContext *shared_context_find (cl_context context);

/** A memory object that is shared: the image of a surface's plane, or a dma-buf. An atomic
 * reference-counted box. */
typedef struct {
  cl_mem mem;
  cl_context context;
  gboolean acquired;
  guint64 checksum; /* of the memory, when it was acquired */
  Surface *surface; /* (nullable): the surface that owns the memory */

  /* A surface's plane; the image itself has four channels, see cl_staging_upload(). */
  gboolean is_plane;
  guint plane;

  /* A dma-buf. */
  gpointer map;
  gsize size;
} SharedObject;

/** Registers @self (transfer full) for @self->mem, until OpenCL frees that. */
void shared_object_add (SharedObject *self);

/** Returns: (nullable) (transfer full): the shared object of @mem; NULL if @mem is not shared. */
SharedObject *shared_object_get (cl_mem mem);
void shared_object_unref (SharedObject *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SharedObject, shared_object_unref)

/** Returns: (transfer full): "plane 1 of surface 0x10002", for messages. */
gchar *shared_object_name (const SharedObject *self);

/** Returns: a checksum of the bytes of the surface's plane or of the dma-buf. */
guint64 shared_object_sum (const SharedObject *self);

/** Records misuse by @who if @mem is shared and may not be used now.
 * Returns: CL_SUCCESS, or the error with which the command is refused. */
cl_int shared_object_check_use (cl_mem mem, const gchar *who);

/** Marks @mem, an argument of kernels, as dead: the kernels must not use it any more. */
void cl_kernels_forget (cl_mem mem);

/**
 * Makes the image of a plane. PoCL has only images of four channels, so the image has four;
 * read_imagef() returns the same values as for CL_R and CL_RG. Acquiring fills the image from the
 * surface, and releasing overwrites it, so that kernels find the frame only in between.
 */
cl_mem cl_staging_new_image (cl_context context, const SurfacePlane *plane, cl_int *status);
cl_int cl_staging_upload (SharedObject *object, cl_device_id device);
cl_int cl_staging_spoil (SharedObject *object, cl_device_id device);

/*
 * Acquire and release: commands of the program's queue. A thread of the layer executes them when
 * the commands before are done and GEMMCL_DOUBLES_LATENCY_MS have passed (default: 2), so that
 * commands that do not wait come too early. A surface is in use from the call that acquires it
 * until the command that releases it is done.
 */
typedef struct {
  const gchar *function;
  gboolean planes;  /* planes of VA surfaces; FALSE: dma-bufs */
  gboolean acquire; /* FALSE: release */
} Transition;

/** Implements clEnqueueAcquire...() and clEnqueueRelease...(). On failure nothing changes. */
cl_int cl_enqueue_transition (const Transition *transition, cl_command_queue queue, cl_uint n,
                              const cl_mem *mems, WAIT_PARAMETERS);
