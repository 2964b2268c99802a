/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "va-surface.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Surfaces of all displays have distinct IDs, so that another display's is never valid. */
#define MAX_SURFACES     4096
#define FIRST_ID         0x10000
#define PITCH_ALIGNMENT  64
#define HEIGHT_ALIGNMENT 16

GRecMutex doubles_lock;
DoublesCounts doubles_counts;

static Surface *surfaces[MAX_SURFACES]; /* by ID */
static GHashTable *displays;            /* (element-type VADisplay gboolean): TRUE for Intel's */

gboolean
display_is_intel (VADisplay display)
{
  DOUBLES_LOCK ();
  return displays && g_hash_table_lookup (displays, display) != NULL;
}

void
display_add (VADisplay display, const gchar *vendor)
{
  const gboolean is_intel = g_str_has_prefix (vendor, "Intel iHD driver");

  DOUBLES_LOCK ();
  if (!displays)
    displays = g_hash_table_new (NULL, NULL);
  g_hash_table_insert (displays, display, GINT_TO_POINTER (is_intel));
}

void
display_remove (VADisplay display)
{
  DOUBLES_LOCK ();
  for (guint i = 0; i < MAX_SURFACES; i++)
    if (surfaces[i] && surfaces[i]->display == display)
      surface_destroy (surfaces[i]);
  g_hash_table_remove (displays, display);
}

gsize
surface_lay_out (guint32 fourcc, guint width, guint height, SurfacePlane planes[SURFACE_PLANES])
{
  const guint size = fourcc == VA_FOURCC_P010 ? 2 : 1;
  const guint columns = (width + 1) / 2, rows = (height + 1) / 2;
  /* Wider and higher than necessary, so that programs cannot assume tight planes. */
  const gsize pitch = (2 * columns * size + PITCH_ALIGNMENT) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
  const gsize lines = (height + HEIGHT_ALIGNMENT) / HEIGHT_ALIGNMENT * HEIGHT_ALIGNMENT;

  if (fourcc != VA_FOURCC_NV12 && fourcc != VA_FOURCC_P010)
    return 0;
  planes[0] = (SurfacePlane){0, pitch, width, height, 1, size};
  planes[1] = (SurfacePlane){pitch * lines, pitch, columns, rows, 2, size};
  return pitch * lines + pitch * rows;
}

int
surface_new_file (gsize size)
{
  const int fd = memfd_create ("va-surface", MFD_CLOEXEC);

  if (fd < 0 || ftruncate (fd, (off_t)size) == 0)
    return fd;
  close (fd);
  return -1;
}

static void
clear (gpointer data)
{
  Surface *self = data;

  munmap (self->data, self->size);
  close (self->fd);
}

void
surface_unref (Surface *self)
{
  g_atomic_rc_box_release_full (self, clear);
}

VAStatus
surface_new (VADisplay display, guint32 fourcc, guint width, guint height, VASurfaceID *id)
{
  DOUBLES_LOCK ();
  Surface *self;
  SurfacePlane planes[SURFACE_PLANES];
  const gsize size = surface_lay_out (fourcc, width, height, planes);
  guint slot = 0;

  if (size == 0)
    return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
  while (slot < MAX_SURFACES && surfaces[slot])
    slot++;
  if (slot == MAX_SURFACES)
    return VA_STATUS_ERROR_ALLOCATION_FAILED;
  *id = FIRST_ID + slot;
  self = surfaces[slot] = g_atomic_rc_box_new0 (Surface);
  *self = (Surface){display, *id, fourcc, width, height, .size = size, .synced = TRUE};
  memcpy (self->planes, planes, sizeof planes);
  self->fd = surface_new_file (size);
  self->data = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
  g_assert (self->data != MAP_FAILED);
  g_atomic_int_inc (&doubles_counts.live_surfaces);
  return VA_STATUS_SUCCESS;
}

Surface *
surface_get (VADisplay display, VASurfaceID id)
{
  DOUBLES_LOCK ();
  Surface *self = id - FIRST_ID < MAX_SURFACES ? surfaces[id - FIRST_ID] : NULL;

  return self && self->display == display ? g_atomic_rc_box_acquire (self) : NULL;
}

void
surface_destroy (Surface *self)
{
  DOUBLES_LOCK ();
  if (self->readers > 0)
    g_error ("Surface %#x was destroyed while OpenCL used it: it must live until the event of its "
             "release.",
             self->id);
  self->destroyed = TRUE;
  surfaces[self->id - FIRST_ID] = NULL;
  g_atomic_int_add (&doubles_counts.live_surfaces, -1);
  surface_unref (self);
}

void
surface_write (Surface *self, const gchar *who)
{
  DOUBLES_LOCK ();
  if (self->readers > 0)
    g_error ("%s wrote to surface %#x while OpenCL used it: the surface must wait for the event of "
             "its release.",
             who, self->id);
  self->synced = FALSE;
}
