/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gemmcl-error.h"

/* The program of one target, the macro TARGET. */

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  TARGET (data, size);
  return 0;
}

const gchar *
fuzz_write_file (const gchar *name, gconstpointer data, gsize size)
{
  static gchar path[PATH_MAX];
  g_autofree gchar *folder = g_build_filename (g_get_user_cache_dir (), "gemmcl", NULL);
  gint fd;

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_snprintf (path, sizeof path, "%s/%s", folder, name);
  fd = g_open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, data, size), ==, size);
  g_assert_cmpint (close (fd), ==, 0);
  return path;
}

void
fuzz_check_error (gboolean failed, GError *error)
{
  g_assert_true (failed == (error != NULL));
  if (error == NULL)
    return;
  g_assert_true (error->domain == GEMMCL_ERROR);
  g_assert_true (error->message[0] != '\0' && g_utf8_validate (error->message, -1, NULL));
  g_assert_cmpuint (strlen (error->message), <=, 1024);
  for (const gchar *p = error->message; *p != '\0'; p = g_utf8_next_char (p))
    g_assert_true (g_unichar_isprint (g_utf8_get_char (p)));
}

#ifndef HAVE_LIBFUZZER

/* Runs a target on files of folders and on damaged copies, without libFuzzer. TAP out. */

  #define COPIES 200 /* of each file */

static void
damage (GString *file, GRand *random)
{
  static const gchar bytes[] = "\0\xff{}[]()'\",:0123456789-L<>|#fiuVO\\ \n";
  const gint kind = g_rand_int_range (random, 0, 8);
  gsize at = g_rand_int_range (random, 0, file->len);

  if (kind == 0) {
    file->str[at] ^= 1 << g_rand_int_range (random, 0, 8);
  } else if (kind == 1) {
    g_string_overwrite_len (file, at, &bytes[g_rand_int_range (random, 0, sizeof bytes - 1)], 1);
  } else if (kind == 2) {
    g_string_erase (file, at, 1);
  } else if (kind == 3) {
    g_string_truncate (file, at);
  } else {
    /* Most often another digit: with other damage a header is rarely valid. */
    while (at < file->len && !g_ascii_isdigit (file->str[at]))
      at++;
    if (at < file->len)
      file->str[at] = '0' + g_rand_int_range (random, 0, 10);
  }
}

static void
run_damaged (const gchar *data, gsize size)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (20240229);

  for (guint i = 0; i < COPIES; i++) {
    g_autoptr (GString) file = g_string_new_len (data, size);

    for (gint n = g_rand_int_range (random, 1, 3); n > 0 && file->len > 0; n--)
      damage (file, random);
    LLVMFuzzerTestOneInput ((const guint8 *)file->str, file->len);
  }
}

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
    run_damaged (data, size);
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
