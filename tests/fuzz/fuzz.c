/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include <stdio.h>

#include "gemmcl-error.h"

/* The program of one target, the macro TARGET. */

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  TARGET (data, size);
  return 0;
}

void
fuzz_check_error (gboolean failed, GError *error)
{
  g_assert_true (failed == (error != NULL));
  if (error == NULL)
    return;
  g_assert_true (error->domain == GEMMCL_ERROR);
  g_assert_true (error->message[0] != '\0' && g_utf8_validate (error->message, -1, NULL));
}

#ifndef HAVE_LIBFUZZER

/* Runs a target on the files of directories, without libFuzzer. TAP out. */

static guint
replay (const gchar *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const gchar *name;
  guint n = 0;

  for (; dir && (name = g_dir_read_name (dir)); n++) {
    g_autofree gchar *file = g_build_filename (path, name, NULL);
    g_autofree gchar *data = NULL;
    gsize size;

    printf ("# %s\n", name);
    fflush (stdout);
    g_assert_true (g_file_get_contents (file, &data, &size, NULL));
    LLVMFuzzerTestOneInput ((const guint8 *)data, size);
  }
  return n;
}

int
main (int argc, char **argv)
{
  guint n = 0;

  printf ("1..1\n");
  for (gint i = 1; i < argc; i++)
    n += replay (argv[i]);
  LLVMFuzzerTestOneInput ((const guint8 *)"", 0);
  printf ("%s 1 - %u files\n", n > 0 ? "ok" : "not ok", n);
  return n > 0 ? 0 : 1;
}

#endif
