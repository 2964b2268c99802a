/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_va_api_media_sharing_intel.h>
#include <glib.h>
#include <va/va.h>

#include "doubles.h"
#include "va-display.h"

/* Objects that the tests of the doubles share: a VADisplay, a cl_context with it, a queue, and
 * kernels that read planes and buffers. */

/** Kernel: read (image, floats) stores .x and .y of read_imagef() of a plane; copy (from, to)
 * copies bytes. */
typedef enum { KERNEL_READ, KERNEL_COPY, N_KERNELS } Kernel;

typedef struct {
  VADisplay display;
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_kernel kernels[N_KERNELS];

  clCreateFromVA_APIMediaSurfaceINTEL_fn create;
  clEnqueueAcquireVA_APIMediaSurfacesINTEL_fn acquire;
  clEnqueueReleaseVA_APIMediaSurfacesINTEL_fn release;
  clEnqueueAcquireExternalMemObjectsKHR_fn acquire_external;
  clEnqueueReleaseExternalMemObjectsKHR_fn release_external;
} Rig;

/** Makes the objects, or fails the test.
 * @user_sync: the context has CL_CONTEXT_INTEROP_USER_SYNC, which the doubles require */
Rig *rig_new (gboolean user_sync);

/** Waits for the queue, and asserts that there was no misuse that was not forgiven. */
void rig_free (Rig *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Rig, rig_free)

/** Returns: an NV12 surface with the bytes of rig_expected(), written by the CPU. */
VASurfaceID rig_new_surface (Rig *self, guint width, guint height);

/** Returns: the byte that rig_new_surface() wrote. */
guint8 rig_expected (guint plane, guint x, guint y, guint channel);

/** Renders @from into @to with VideoProc; does not wait. */
void rig_render (Rig *self, VASurfaceID from, VASurfaceID to);

/** Returns: an image of a plane, for reading. Fails the test without one. */
cl_mem rig_new_plane (Rig *self, VASurfaceID surface, guint plane);

/** Returns: a buffer of @size bytes. */
cl_mem rig_new_buffer (Rig *self, gsize size);

/** Enqueues a kernel over @columns x @rows with arguments @a and @b. Returns: OpenCL's status. */
cl_int rig_enqueue (Rig *self, Kernel kernel, cl_mem a, cl_mem b, gsize columns, gsize rows);

/** Reads a buffer, and waits for it. Returns: OpenCL's status. */
cl_int rig_read (Rig *self, cl_mem buffer, gsize offset, gpointer data, gsize size);

/** Acquires, or releases, one plane. Returns: OpenCL's status. */
cl_int rig_acquire (Rig *self, cl_mem mem);
cl_int rig_release (Rig *self, cl_mem mem);

/** Asserts that there was misuse of that kind once since the last time, and nothing else. */
void rig_assert_misuse (const gchar *kind);

/** Asserts that a call succeeded. */
#define ASSERT_GOOD(status) g_assert_cmpint (status, ==, CL_SUCCESS)

/** Asserts that a call failed with @error, and that the doubles noted @kind. */
#define ASSERT_REFUSED(status, error, kind)                                                        \
  do {                                                                                             \
    g_assert_cmpint (status, ==, error);                                                           \
    rig_assert_misuse (kind);                                                                      \
  } while (FALSE)
