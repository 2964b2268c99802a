/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl-layer-entry.h"
#include "record.h"
#include "va-surface.h"

/*
 * The OpenCL layer. It adds cl_intel_va_api_media_sharing, for the fake libva driver's displays,
 * and the import of dma-bufs by cl_khr_external_memory, for all that can be mapped, to each device.
 * It watches how programs use such objects, which OpenCL may read and not write.
 *
 * What follows is under RECORD_LOCK(), which must not be held around calls of cl_next.
 */

/** Whether the extension "va" or "dmabuf" is there: GEMMCL_DOUBLES_WITHOUT, a list of both, leaves
 * it out. */
gboolean cl_offers (const gchar *what);

/** Each puts its functions in the place of those below. */
void cl_commands_install (cl_icd_dispatch *table);
void cl_objects_install (cl_icd_dispatch *table);
void cl_sharing_install (cl_icd_dispatch *table);

/** Returns: (nullable): the function @name of the extensions. */
void *cl_sharing_find (const gchar *name);

/**
 * For functions that can be told to fail, before they do anything; see gemmcl_doubles_fail().
 * Returns: the error to fail with; CL_SUCCESS most of the time.
 */
cl_int cl_fault (const gchar *function);

/** The @n-th call of @function from now on (1 is the next) returns @error. */
void gemmcl_doubles_fail (const char *function, unsigned n, int error);

/** A context that was made with a VADisplay. */
typedef struct {
  cl_context context;
  VADisplay display;
  cl_context_properties *properties;
  gsize n_properties;
} SharedContext;

/** Returns: (nullable) (transfer none). */
SharedContext *shared_context_find (cl_context context);

/** A memory object that is shared: the image of a surface's plane, or a dma-buf. */
typedef struct {
  gint references;
  cl_mem mem;
  cl_context context;
  gboolean acquired;
  guint64 checksum; /* of the memory, when it was acquired */
  Surface *surface; /* (nullable): whose memory it is */

  /* Of a surface's plane; the image itself has four channels, see cl_staging_upload(). */
  gboolean is_plane;
  guint plane;

  /* Of a dma-buf. */
  gpointer map;
  gsize size;
} SharedObject;

/** Makes @self (transfer full) known as what @self->mem is, until OpenCL frees it. */
void shared_object_add (SharedObject *self);

/** Returns: (nullable) (transfer full): what @mem is. */
SharedObject *shared_object_get (cl_mem mem);
void shared_object_unref (SharedObject *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SharedObject, shared_object_unref)

/** Returns: (transfer full): "plane 1 of surface 0x10002", for messages. */
gchar *shared_object_name (const SharedObject *self);

/** Returns: a checksum of the bytes of the surface's plane or of the dma-buf. */
guint64 shared_object_sum (const SharedObject *self);

/** Notes misuse by @who unless @mem may be used now, or is not shared.
 * Returns: the error that the command is refused with. */
cl_int shared_object_check_use (cl_mem mem, const gchar *who);

/** Forgets that kernels have @mem as argument; @mem must not be used by them any more. */
void cl_kernels_forget (cl_mem mem);

/**
 * PoCL has images of four channels only, so a plane's image has four, of which read_imagef() sees
 * the same values as of CL_R and CL_RG. Acquiring fills it from the surface, and releasing spoils
 * it, so that a kernel finds the frame in between only.
 */
cl_mem cl_staging_new_image (cl_context context, const SurfacePlane *plane, cl_int *status);
cl_int cl_staging_upload (SharedObject *object, cl_device_id device);
cl_int cl_staging_spoil (SharedObject *object, cl_device_id device);

/*
 * Acquire and release, as commands of the program's queue that a thread of the layer does when
 * their turn has come, and GEMMCL_DOUBLES_LATENCY_MS later (2 if unset), so that each command that
 * does not wait comes too early. A surface is in use from the call that acquires it until the
 * command that releases it is done.
 */
typedef struct {
  const gchar *function;
  gboolean planes;  /* of VA, or dma-bufs */
  gboolean acquire; /* or release */
} Transition;

/** As clEnqueueAcquire...() and clEnqueueRelease...(): nothing changes if it fails. */
cl_int cl_enqueue_transition (const Transition *transition, cl_command_queue queue, cl_uint n,
                              const cl_mem *mems, WAIT_PARAMETERS);
