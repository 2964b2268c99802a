/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fd.h"

#include <errno.h>
#include <unistd.h>

void
gemmcl_fd_close (GemmclFd *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

gboolean
gemmcl_fd_read (gint fd, gpointer data, gsize n, goffset offset)
{
  gchar *at = data;

  while (n > 0) {
    const gssize got = pread (fd, at, n, offset);

    if (got < 0 && errno == EINTR)
      continue;
    if (got == 0)
      errno = ENODATA;
    if (got <= 0)
      return FALSE;
    at += got;
    offset += got;
    n -= got;
  }
  return TRUE;
}

gboolean
gemmcl_fd_write (gint fd, gconstpointer data, gsize n)
{
  const gchar *at = data;

  while (n > 0) {
    const gssize written = write (fd, at, n);

    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return FALSE;
    at += written;
    n -= written;
  }
  return TRUE;
}
