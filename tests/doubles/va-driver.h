/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <va/va.h>
#include <va/va_backend.h>

#include "va-surface.h"

/*
 * The fake libva driver "gemmcl-double". It has surfaces, images and VideoProc for NV12 and P010,
 * but no codecs. VideoProc copies.
 * GEMMCL_DOUBLES_VENDOR is the vendor string (default: Intel's); GEMMCL_DOUBLES_MODIFIER is the
 * modifier of exported surfaces.
 *
 * Each of these adds its entry points to libva's table.
 */
void va_images_install (struct VADriverVTable *table);
void va_process_install (VADriverContextP context);

/** IDs of contexts are below this number, and start again at 0 after it. */
#define VA_MAX_CONTEXTS 1024

/** A buffer or image; all displays share them. */
typedef struct {
  VABufferType type;
  guint32 fourcc; /* of an image */
  gsize size;
  guint8 *data;
} Buffer;

/** Returns: (nullable) (transfer none): the buffer. The caller holds the lock. */
Buffer *va_buffer_find (VABufferID id);
