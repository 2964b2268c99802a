/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <va/va_backend.h>

#include "../support/doubles.h"

/* The surfaces of the fake libva driver, which its entry points and the OpenCL layer share. Each is
 * an atomic reference-counted box.
 *
 * A surface with references outlives vaDestroySurfaces(), but is then `destroyed`. The next new
 * surface gets its ID, as with drivers. DOUBLES_LOCK() guards all of this.
 *
 * Misuse ends the program at once with a message (g_error()), so that a debugger shows who did it.
 */

/** Holds the module's recursive lock until the end of the block. It guards everything but counts,
 * and is never held around a call into OpenCL, which calls back from its own threads. */
#define DOUBLES_LOCK()                                                                             \
  g_autoptr (GRecMutexLocker) locker G_GNUC_UNUSED = g_rec_mutex_locker_new (&doubles_lock)

extern GRecMutex doubles_lock;

extern DoublesCounts doubles_counts __attribute__ ((visibility ("default")));

typedef struct {
  gsize offset, pitch;  /* bytes */
  guint columns, rows;  /* elements */
  guint channels, size; /* of an element: 1 or 2 channels of 1 or 2 bytes */
} SurfacePlane;

#define SURFACE_PLANES   2
#define SURFACE_MAX_SIDE 16384 /* of a width or height */

typedef struct {
  VADisplay display;
  VASurfaceID id;
  guint32 fourcc;
  guint width, height;
  SurfacePlane planes[SURFACE_PLANES];
  gsize size;
  int fd; /* of a file in memory */
  guint8 *data;
  gboolean is_rendered; /* VideoProc, not the CPU, made the content */
  gboolean synced;      /* vaSyncSurface() was called since somebody may have written */
  guint readers;        /* OpenCL objects that are acquired now */
  gboolean destroyed;
} Surface;

/** Returns: TRUE if @display is a live display of the fake driver with Intel's vendor string. */
gboolean display_is_intel (VADisplay display);

void display_add (VADisplay display, const gchar *vendor);

/** Forgets @display and destroys its surfaces. */
void display_remove (VADisplay display);

/** @fourcc: VA_FOURCC_NV12 or VA_FOURCC_P010. @id: (out) */
VAStatus surface_new (VADisplay display, guint32 fourcc, guint width, guint height,
                      VASurfaceID *id);

/** Returns: (nullable) (transfer full): the surface @id of @display. */
Surface *surface_get (VADisplay display, VASurfaceID id);

void surface_unref (Surface *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Surface, surface_unref)

/** Implements vaDestroySurfaces(). It is misuse if OpenCL uses the surface. */
void surface_destroy (Surface *self);

/** Fills @planes for that size. Returns: its bytes; 0 if the driver does not support the format. */
gsize surface_lay_out (guint32 fourcc, guint width, guint height,
                       SurfacePlane planes[SURFACE_PLANES]);

/** Returns: a new file descriptor of a file in memory; negative on failure. */
int surface_new_file (gsize size);

/** Called when @who of VA writes to the surface. It is misuse if OpenCL uses it. */
void surface_write (Surface *self, const gchar *who);

/** Adds the entry points of images and VideoProc to the tables of @driver (va-copies.c). */
void va_copies_install (VADriverContextP driver);
