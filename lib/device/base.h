/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors, files, and scoped values of JSON. Needs GLib and Jansson alone. Any thread.
 */
#pragma once

#include <glib-object.h>
#include <jansson.h>

#include "gemmcl-error.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

/** Defines the boxed type of @Struct, whose copies are shallow, and name_new(), which returns
 * @init. */
#define GEMMCL_DEFINE_PLAIN_STRUCT(Struct, name, init)                                             \
  static gpointer name##_copy (gpointer self)                                                      \
  {                                                                                                \
    return g_memdup2 (self, sizeof (Struct));                                                      \
  }                                                                                                \
  G_DEFINE_BOXED_TYPE (Struct, name, name##_copy, g_free)                                          \
                                                                                                   \
  Struct *name##_new (void)                                                                        \
  {                                                                                                \
    Struct self = init;                                                                            \
    return name##_copy (&self);                                                                    \
  }

/** Sets @error like g_set_error(), with the message made printable. Text from users and files is
 * quoted by gemmcl_quote(). Returns: %FALSE, for callers to return. */
gboolean gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/** Like gemmcl_fail(), with the name of the file @path, quoted, before the message. */
gboolean gemmcl_fail_file (GError **error, GemmclError code, const gchar *path, const gchar *format,
                           ...) G_GNUC_PRINTF (4, 5);

/** gemmcl_fail() and gemmcl_fail_file() for functions that return a pointer. Returns: %NULL. */
#define FAIL_NULL(...)      (gemmcl_fail (__VA_ARGS__), NULL)
#define FAIL_FILE_NULL(...) (gemmcl_fail_file (__VA_ARGS__), NULL)

/** A file descriptor, or -1. g_auto (GemmclFd) closes it; g_steal_fd() keeps it open. */
typedef gint GemmclFd;

void gemmcl_fd_close (GemmclFd *fd);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFd, gemmcl_fd_close)

/** An open file. Start from {.fd = -1}. Data read from it is a copy, which later changes of the
 * file do not affect. */
typedef struct {
  const gchar *path; /* for messages; the caller's */
  GemmclFd fd;
  gsize size; /* in bytes, when the file was opened */
} GemmclFile;

void gemmcl_file_close (GemmclFile *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFile, gemmcl_file_close)

/** Opens a regular file; a pipe is refused without waiting for a writer. %FALSE with
 * #GEMMCL_ERROR_IO, or #GEMMCL_ERROR_FORMAT for an empty file. */
gboolean gemmcl_file_open (GemmclFile *self, const gchar *path, GError **error);

/** (transfer full): a copy of @n bytes within the file, aligned for any type, or %NULL with
 * #GEMMCL_ERROR_IO or #GEMMCL_ERROR_TOO_LARGE. */
gpointer gemmcl_file_read (const GemmclFile *self, gsize offset, gsize n, GError **error);

/** Replaces the file by the concatenation of @parts (each nullable), atomically. @mode: the file's
 * permissions before the umask. %FALSE with #GEMMCL_ERROR_IO. */
gboolean gemmcl_file_save (const gchar *path, gint mode, GBytes *const *parts, gsize n,
                           GError **error);
