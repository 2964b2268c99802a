/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl-objects.h"

/*
 * PoCL has images of four channels only, so a plane's image has four, of which read_imagef() sees
 * the same values as of CL_R and CL_RG; its contents are moved when it is acquired and released. In
 * between, nothing is in it that a kernel could take for a picture.
 */

/** Returns: (nullable): an image for @plane. */
cl_mem cl_staging_new_image (cl_context context, cl_mem_flags flags, const SurfacePlane *plane,
                             cl_int *status);

/** Moves the surface's plane into the image. */
cl_int cl_staging_upload (SharedObject *object, cl_device_id device);

/** Moves the image into the surface's plane. */
cl_int cl_staging_download (SharedObject *object, cl_device_id device);

/** Fills the image with what is no picture. */
cl_int cl_staging_spoil (SharedObject *object, cl_device_id device);
