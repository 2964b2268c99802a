/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl-layer-entry.h"
#include "va-surface.h"

/* Memory objects that are shared: images of surfaces' planes, and buffers of dma-bufs. OpenCL may
 * read but not write them. Their own bytes are a copy of the shared content, from the command that
 * acquires an object to the one that releases it; otherwise they are overwritten, so that a kernel
 * that reads too early or too late computes something else. */

/** Returns: (nullable): an image of a plane. PoCL has only images of four channels, so it has four;
 * read_imagef() returns the same values as for CL_R and CL_RG. */
cl_mem shared_image_new (cl_context context, Surface *surface, guint plane, cl_int *status);

/** Returns: (nullable): a buffer of @size bytes of the file @fd. */
cl_mem shared_buffer_new (cl_context context, int fd, gsize size, cl_int *status);

/** Returns: (nullable): the plane that the image @mem shows; NULL for other memory objects. */
const SurfacePlane *shared_image_get_plane (cl_mem mem);

/** Acquires or releases objects, of planes or of dma-bufs, by a command that takes
 * GEMMCL_DOUBLES_LATENCY_MS (default: 2). A surface is in use from the call that acquires it until
 * the command that releases it is done. */
cl_int shared_objects_move (const gchar *function, gboolean planes, gboolean acquire,
                            cl_command_queue queue, cl_uint n, const cl_mem *mems, WAIT_PARAMETERS);
