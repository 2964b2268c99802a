/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "va-surface.h"

#include "record.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* IDs of all displays are distinct, so that one of another display is never valid by chance. */
#define MAX_SURFACES     4096
#define DISPLAY_SHIFT    16
#define PITCH_ALIGNMENT  64
#define HEIGHT_ALIGNMENT 16
#define FRESH_BYTE       0xa5

typedef struct {
  VADisplay display;
  gchar *vendor;
  guint number;
  Surface *surfaces[MAX_SURFACES];
} Display;

static GList *displays;

static Display *
find_display (VADisplay display)
{
  for (GList *l = displays; l; l = l->next)
    if (((Display *)l->data)->display == display)
      return l->data;
  return NULL;
}

gboolean
display_is_intel (VADisplay display)
{
  RECORD_LOCK ();
  const Display *found = find_display (display);

  return found && g_str_has_prefix (found->vendor, "Intel iHD driver");
}

void
display_add (VADisplay display, const gchar *vendor)
{
  static guint last;
  Display *self = g_new0 (Display, 1);

  self->display = display;
  self->vendor = g_strdup (vendor);
  RECORD_LOCK ();
  self->number = ++last;
  displays = g_list_prepend (displays, self);
  record_count ("live-displays", 1);
}

void
display_remove (VADisplay display)
{
  RECORD_LOCK ();
  Display *self = find_display (display);

  if (!self)
    return;
  for (guint i = 0; i < MAX_SURFACES; i++)
    if (self->surfaces[i])
      surface_destroy (self->surfaces[i]);
  displays = g_list_remove (displays, self);
  record_count ("live-displays", -1);
  g_free (self->vendor);
  g_free (self);
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

/* Returns: a file descriptor of a file in memory; negative on failure. */
static int
new_file (gsize size)
{
  const int fd = memfd_create ("va-surface", MFD_CLOEXEC);

  if (fd < 0 || ftruncate (fd, (off_t)size) == 0)
    return fd;
  close (fd);
  return -1;
}

static gboolean
allocate (Surface *self)
{
  self->fd = new_file (self->size);
  if (self->fd < 0)
    return FALSE;
  self->data = mmap (NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
  if (self->data == MAP_FAILED) {
    self->data = NULL;
    return FALSE;
  }
  memset (self->data, FRESH_BYTE, self->size);
  return TRUE;
}

static void
clear (gpointer data)
{
  Surface *self = data;

  if (self->data)
    munmap (self->data, self->size);
  if (self->fd >= 0)
    close (self->fd);
  if (self->tiled_fd >= 0)
    close (self->tiled_fd);
  g_free (self->rendered);
}

void
surface_unref (Surface *self)
{
  g_atomic_rc_box_release_full (self, clear);
}

VAStatus
surface_new (VADisplay display, guint32 fourcc, guint width, guint height, VASurfaceID *id)
{
  RECORD_LOCK ();
  Display *owner = find_display (display);
  g_autoptr (Surface) self = g_atomic_rc_box_new0 (Surface);
  guint slot = 0;

  *self = (Surface){display, .fourcc = fourcc, width, height, .fd = -1, .tiled_fd = -1};
  self->size = surface_lay_out (fourcc, width, height, self->planes);
  if (!owner)
    return VA_STATUS_ERROR_INVALID_DISPLAY;
  if (self->size == 0)
    return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
  while (slot < MAX_SURFACES && owner->surfaces[slot])
    slot++;
  if (slot == MAX_SURFACES || !allocate (self))
    return VA_STATUS_ERROR_ALLOCATION_FAILED;
  self->id = *id = owner->number << DISPLAY_SHIFT | slot;
  owner->surfaces[slot] = g_steal_pointer (&self);
  record_count ("live-surfaces", 1);
  return VA_STATUS_SUCCESS;
}

Surface *
surface_get (VADisplay display, VASurfaceID id)
{
  const guint slot = id & ((1u << DISPLAY_SHIFT) - 1);
  RECORD_LOCK ();
  const Display *owner = find_display (display);

  if (!owner || id >> DISPLAY_SHIFT != owner->number || slot >= MAX_SURFACES ||
      !owner->surfaces[slot])
    return NULL;
  return g_atomic_rc_box_acquire (owner->surfaces[slot]);
}

gboolean
surface_is_foreign (VADisplay display, VASurfaceID id)
{
  RECORD_LOCK ();
  for (GList *l = displays; l; l = l->next) {
    const Display *other = l->data;

    if (other->display != display && id >> DISPLAY_SHIFT == other->number)
      return TRUE;
  }
  return FALSE;
}

static gboolean
is_file (int fd, const struct stat *file)
{
  struct stat own;

  return fd >= 0 && fstat (fd, &own) == 0 && own.st_ino == file->st_ino &&
         own.st_dev == file->st_dev;
}

int
surface_export (Surface *self, gboolean tiled)
{
  RECORD_LOCK ();
  if (tiled && self->tiled_fd < 0)
    self->tiled_fd = new_file (self->size);
  self->is_exported = TRUE;
  surface_wait (self);
  return fcntl (tiled ? self->tiled_fd : self->fd, F_DUPFD_CLOEXEC, 3);
}

Surface *
surface_get_by_file (const struct stat *file)
{
  RECORD_LOCK ();
  for (GList *l = displays; l; l = l->next) {
    const Display *owner = l->data;

    for (guint i = 0; i < MAX_SURFACES; i++)
      if (owner->surfaces[i] && owner->surfaces[i]->is_exported &&
          (is_file (owner->surfaces[i]->fd, file) || is_file (owner->surfaces[i]->tiled_fd, file)))
        return g_atomic_rc_box_acquire (owner->surfaces[i]);
  }
  return NULL;
}

void
surface_destroy (Surface *self)
{
  RECORD_LOCK ();
  Display *owner = find_display (self->display);

  if (self->readers > 0)
    record_misuse (
        "destroyed-in-use",
        "Surface %#x was destroyed while OpenCL used it: it must live until the event of "
        "its release.",
        self->id);
  self->destroyed = TRUE;
  owner->surfaces[self->id & ((1u << DISPLAY_SHIFT) - 1)] = NULL;
  record_count ("live-surfaces", -1);
  surface_unref (self);
}

void
surface_wait (Surface *self)
{
  RECORD_LOCK ();
  if (!self->rendered)
    return;
  memcpy (self->data, self->rendered, self->size);
  g_clear_pointer (&self->rendered, g_free);
}

void
surface_check_unused (Surface *self, const gchar *who)
{
  RECORD_LOCK ();
  if (self->readers > 0)
    record_misuse ("written-in-use",
                   "%s wrote to surface %#x while OpenCL used it: the surface must wait for the "
                   "event of its release.",
                   who, self->id);
}

void
surface_count_readback (Surface *self)
{
  RECORD_LOCK ();
  if (self->is_rendered)
    record_count ("surface-readbacks", 1);
}
