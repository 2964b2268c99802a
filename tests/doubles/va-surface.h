/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <sys/stat.h>
#include <va/va.h>

/*
 * The surfaces of the fake libva driver: what its entry points and the OpenCL layer have in common.
 *
 * A surface's planes lie in a memfd. What VideoProc renders becomes visible there only when
 * somebody synchronises, as on a GPU: until then the old bytes stay.
 *
 * A surface outlives vaDestroySurfaces() for whoever holds a reference, but is then `destroyed`;
 * its id goes to the next surface that is made, as drivers do. All of this is under RECORD_LOCK().
 */

typedef struct {
  gsize offset, pitch;  /* bytes */
  guint columns, rows;  /* elements */
  guint channels, size; /* of an element: 1 or 2 channels, 1 or 2 bytes each */
} SurfacePlane;

#define SURFACE_PLANES  2
#define SURFACE_FORMATS 2

typedef struct {
  gint references;
  VADisplay display;
  VASurfaceID id;
  guint32 fourcc;
  guint width, height;
  SurfacePlane planes[SURFACE_PLANES];
  gsize size;
  int fd;
  guint8 *data;
  int tiled_fd;         /* what is exported instead of fd if there is a modifier; else -1 */
  guint8 *rendered;     /* (nullable): what was rendered and nobody has waited for */
  gboolean is_rendered; /* whether VideoProc, and not the CPU, made what is in it */
  gboolean is_exported; /* dma-bufs wait by themselves, so that rendering shows at once */
  guint maps;           /* by the CPU, now */
  guint readers;        /* OpenCL objects that are acquired, now */
  gboolean destroyed;
} Surface;

/** Whether the fake driver made @display, which says that it is Intel's, and it has not been
 * terminated; any pointer will do. */
gboolean display_is_intel (VADisplay display);

void display_add (VADisplay display, const gchar *vendor);

/** Forgets @display and destroys its surfaces. */
void display_remove (VADisplay display);

/**
 * @fourcc: VA_FOURCC_NV12 or VA_FOURCC_P010
 * @id: (out): what it is called
 */
VAStatus surface_new (VADisplay display, guint32 fourcc, guint width, guint height,
                      VASurfaceID *id);

/** Returns: (nullable) (transfer full): the surface of that id on @display. */
Surface *surface_get (VADisplay display, VASurfaceID id);

/** Returns: (nullable) (transfer full): the surface that was exported as @file. */
Surface *surface_get_by_file (const struct stat *file);

/** The memory to export the surface with, which is its own or, if @tiled, one in which nobody finds
 * a pixel. Returns: a new file descriptor; negative if there is none. */
int surface_export (Surface *self, gboolean tiled);

/** Whether @id is one of another display's. */
gboolean surface_is_foreign (VADisplay display, VASurfaceID id);

Surface *surface_ref (Surface *self);
void surface_unref (Surface *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Surface, surface_unref)

/** vaDestroySurfaces(): notes misuse where OpenCL uses it. */
void surface_destroy (Surface *self);

/** Fills @planes for a surface or image of that size. Returns: the bytes that it takes; 0 if the
 * format is not one of the driver's. */
gsize surface_lay_out (guint32 fourcc, guint width, guint height,
                       SurfacePlane planes[SURFACE_PLANES]);

/** Makes what was rendered visible. */
void surface_wait (Surface *self);

/** Before @who of VA writes to the surface: notes misuse where OpenCL uses it. */
void surface_check_unused (Surface *self, const gchar *who);

/** Before the CPU reads: counts what goes from the GPU back to the host. */
void surface_count_readback (Surface *self);
