/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The disk's cache of programs. The directory is read once in a process, so each probe is one:
 *
 *     test-cache --probe ACTIVATION     prints act (3 * -2) as this device has it
 */

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <utime.h>
#include <unistd.h>

#include "../kernels/problem.h"
#include "files.h"

#define HEAD_LENGTH 136 /* magic, key and sum, see lib/device/base.h */

static const gchar *program;

typedef struct {
  gchar *home; /* XDG_CACHE_HOME */
  gchar *dir;  /* the library's part of it */
} Cache;

static int
probe (const gchar *activation)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, &error);
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  const gfloat a = 3, b = -2;
  gfloat d = 0;

  gemm.m = gemm.n = gemm.k = 1;
  gemm.activation = atoi (activation);
  if (context == NULL ||
      !gemmcl_gemm_run (context, &gemm, "gemm_naive", &a, &b, NULL, NULL, &d, &error)) {
    printf ("%s\n", error->message);
    return 1;
  }
  printf ("%g\n", d);
  return 0;
}

static GPid
start (const Cache *cache, GemmclActivation activation, gint *out)
{
  g_autofree gchar *number = g_strdup_printf ("%d", activation);
  const gchar *const argv[] = {program, "--probe", number, NULL};
  g_auto (GStrv) env = g_environ_setenv (g_get_environ (), "XDG_CACHE_HOME", cache->home, TRUE);
  g_autoptr (GError) error = NULL;
  GPid pid;

  /* PoCL's own cache stays where it is: what is looked at is the library's. */
  if (g_getenv ("POCL_CACHE_DIR") == NULL) {
    g_autofree gchar *pocl = g_build_filename (g_get_user_cache_dir (), "pocl", NULL);
    env = g_environ_setenv (env, "POCL_CACHE_DIR", pocl, TRUE);
  }
  g_spawn_async_with_pipes (NULL, (gchar **)argv, env, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid,
                            NULL, out, NULL, &error);
  g_assert_no_error (error);
  return pid;
}

/* Returns: (transfer full): what comes until the end. */
static gchar *
read_all (gint out)
{
  GString *text = g_string_new (NULL);
  gchar part[4096];
  gssize n;

  while ((n = read (out, part, sizeof part)) > 0)
    g_string_append_len (text, part, n);
  close (out);
  return g_string_free (text, FALSE);
}

static void
assert_says (GPid pid, gint out, const gchar *expected)
{
  g_autofree gchar *text = read_all (out);
  gint status;

  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpstr (g_strstrip (text), ==, expected);
  g_assert_cmpint (status, ==, 0);
}

static void
assert_probe (const Cache *cache, GemmclActivation activation, const gchar *expected)
{
  gint out;
  const GPid pid = start (cache, activation, &out);

  assert_says (pid, out, expected);
}

static void
cache_init (Cache *cache)
{
  cache->home = g_dir_make_tmp ("gemmcl-cache-XXXXXX", NULL);
  g_assert_nonnull (cache->home);
  cache->dir = g_build_filename (cache->home, "gemmcl", NULL);
}

static void
cache_clear (Cache *cache)
{
  files_remove_all (cache->home);
  g_free (cache->home);
  g_free (cache->dir);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Cache, cache_clear)

/* Returns: (transfer full): the names of all files, temporary ones too. */
static GPtrArray *
list_files (const Cache *cache)
{
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (cache->dir, 0, NULL);
  const gchar *name;

  while (dir && (name = g_dir_read_name (dir)))
    g_ptr_array_add (files, g_build_filename (cache->dir, name, NULL));
  return files;
}

/* Returns: (transfer full): the path of the only file. */
static gchar *
get_only_file (const Cache *cache)
{
  g_autoptr (GPtrArray) files = list_files (cache);

  g_assert_cmpuint (files->len, ==, 1);
  g_assert_true (g_str_has_suffix (files->pdata[0], ".bin"));
  return g_strdup (files->pdata[0]);
}

static gchar *
read_file (const gchar *path, gsize *length)
{
  gchar *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, length, NULL));
  g_assert_cmpuint (*length, >, HEAD_LENGTH);
  g_assert_true (g_str_has_prefix (content, "GEMMCL 1"));
  return content;
}

/* Fills a new cache with one entry. Returns: (transfer full): its path. */
static gchar *
fill (Cache *cache)
{
  cache_init (cache);
  assert_probe (cache, GEMMCL_ACTIVATION_NONE, "-6");
  return get_only_file (cache);
}

static void
write_file (const gchar *path, const gchar *content, gsize length)
{
  g_assert_true (
      g_file_set_contents_full (path, content, length, G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL));
}

static void
test_written (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL, *content = NULL, *sum = NULL, *key = NULL;
  gsize length;

  path = fill (&cache);
  content = read_file (path, &length);
  sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, content + HEAD_LENGTH,
                                       length - HEAD_LENGTH);
  key = g_path_get_basename (path);
  g_assert_cmpmem (content + 8, 64, key, 64);
  g_assert_cmpmem (content + 72, 64, sum, 64);
}

static guint
get_mode (const gchar *path)
{
  GStatBuf status;

  g_assert_cmpint (g_lstat (path, &status), ==, 0);
  return status.st_mode;
}

/* Puts the program of one activation under the other one's key: probes say "0" while the entry is
 * used and "-6" while it is not.
 * Returns: (transfer full): the entry's path. */
static gchar *
plant (Cache *cache)
{
  g_auto (Cache) relu_cache = {0};
  g_autofree gchar *path = NULL, *relu_path = NULL, *content = NULL, *relu = NULL;
  gsize length, relu_length;

  cache_init (cache);
  cache_init (&relu_cache);
  assert_probe (cache, GEMMCL_ACTIVATION_NONE, "-6");
  assert_probe (&relu_cache, GEMMCL_ACTIVATION_RELU, "0");
  path = get_only_file (cache);
  relu_path = get_only_file (&relu_cache);
  content = read_file (path, &length);
  relu = read_file (relu_path, &relu_length);
  memcpy (relu + 8, content + 8, 64);
  write_file (path, relu, relu_length);
  return g_steal_pointer (&path);
}

static void
test_used (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL;

  path = plant (&cache);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "0");
}

static void
test_modes (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL;

  path = fill (&cache);
  g_assert_cmphex (get_mode (path), ==, S_IFREG | 0600);
  g_assert_cmphex (get_mode (cache.dir), ==, S_IFDIR | 0700);
}

/* An entry that others can write to is not executed; in its place comes one's own. */
static void
test_entry_of_others (void)
{
  static const struct {
    guint mode;
    gboolean linked, foreign;
  } cases[] = {
      {0620, FALSE, FALSE}, {0602, FALSE, FALSE}, {0600, TRUE, FALSE}, {0600, FALSE, TRUE}};
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL, *aside = NULL, *content = NULL;
  gsize length;

  path = plant (&cache);
  aside = g_build_filename (cache.home, "aside", NULL);
  content = read_file (path, &length);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    if (cases[i].foreign && geteuid () != 0)
      continue;
    g_assert_cmpint (g_unlink (path), ==, 0);
    write_file (cases[i].linked ? aside : path, content, length);
    if (cases[i].linked)
      g_assert_cmpint (symlink (aside, path), ==, 0);
    if (cases[i].foreign)
      g_assert_cmpint (chown (path, 1, -1), ==, 0);
    g_assert_cmpint (g_chmod (path, cases[i].mode), ==, 0);
    assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
    g_assert_cmphex (get_mode (path), ==, S_IFREG | 0600);
  }
  write_file (path, content, length);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "0");
  if (geteuid () != 0)
    g_test_message ("only root can make files of another user");
}

/* Nothing is read from such a directory, and nothing is written to it. */
static void
test_directory_of_others (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL, *real = NULL, *content = NULL, *same = NULL;
  gsize length;

  path = plant (&cache);
  content = read_file (path, &length);
  g_assert_cmpint (g_chmod (cache.dir, 0770), ==, 0);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  g_assert_cmpint (g_chmod (cache.dir, 0707), ==, 0);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  g_assert_cmpint (g_chmod (cache.dir, 0755), ==, 0);
  if (geteuid () == 0) {
    g_assert_cmpint (chown (cache.dir, 1, -1), ==, 0);
    assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
    g_assert_cmpint (chown (cache.dir, 0, -1), ==, 0);
  }
  real = g_build_filename (cache.home, "real", NULL);
  g_assert_cmpint (g_rename (cache.dir, real), ==, 0);
  g_assert_cmpint (symlink ("real", cache.dir), ==, 0);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  g_assert_cmpint (g_unlink (cache.dir), ==, 0);
  g_assert_cmpint (g_rename (real, cache.dir), ==, 0);
  same = read_file (path, &length);
  g_assert_cmpstr (same, ==, content);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "0");
}

/* Nothing is read of an entry that is too large; and a debug line says what is ignored. */
static void
test_too_large (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL, *said = NULL;
  struct rusage usage;
  gint out, status;
  GPid pid;

  path = fill (&cache);
  g_assert_cmpint (truncate (path, 3000000000), ==, 0);
  g_assert_true (g_setenv ("G_MESSAGES_DEBUG", "gemmcl", TRUE));
  pid = start (&cache, GEMMCL_ACTIVATION_NONE, &out);
  g_unsetenv ("G_MESSAGES_DEBUG");
  said = read_all (out);
  g_assert_cmpint (wait4 (pid, &status, 0, &usage), ==, pid);
  g_assert_cmpint (status, ==, 0);
  g_assert_nonnull (strstr (said, "-6\n"));
  g_assert_nonnull (strstr (said, path));
  g_assert_nonnull (strstr (said, "has 3000000000 bytes"));
  g_assert_cmpint (usage.ru_maxrss, <, 1500 * 1024); /* KiB, most of them the driver's */
}

/* Every damage is as if nothing were there, and is repaired. */
static void
test_damaged (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL, *content = NULL;
  gsize length;

  path = fill (&cache);
  content = read_file (path, &length);
  for (guint i = 0; i < 9; i++) {
    const gsize lengths[] = {0, 7, HEAD_LENGTH, HEAD_LENGTH + 1, length / 2, length - 1};
    g_autofree gchar *damaged = g_memdup2 (content, length);
    g_autofree gchar *repaired = NULL;
    gsize repaired_length;

    if (i == 6)
      damaged[3] ^= 1;
    else if (i == 7)
      damaged[HEAD_LENGTH - 1] ^= 4;
    else if (i == 8)
      damaged[length - 100] ^= 16;
    write_file (path, damaged, i < G_N_ELEMENTS (lengths) ? lengths[i] : length);
    assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
    repaired = read_file (path, &repaired_length);
    g_assert_cmpmem (repaired, 72, content, 72);
  }
}

/* The head is right, but what follows is no program of this device: the driver says so. */
static void
test_foreign (void)
{
  static const gchar rubbish[] = "this is no program, however right its sum is";
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL, *content = NULL, *sum = NULL;
  g_autoptr (GString) forged = NULL;
  gsize length;

  path = fill (&cache);
  content = read_file (path, &length);
  sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, rubbish, -1);
  forged = g_string_new_len (content, 72);
  g_string_append (forged, sum);
  g_string_append (forged, rubbish);
  write_file (path, forged->str, forged->len);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (symlink ("nowhere", path), ==, 0);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
}

static void
test_directory_in_place (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL, *inside = NULL;
  g_autoptr (GPtrArray) files = NULL;

  path = fill (&cache);
  g_assert_cmpint (g_unlink (path), ==, 0);
  inside = g_build_filename (path, "inside", NULL);
  g_assert_cmpint (g_mkdir_with_parents (inside, 0700), ==, 0);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  files = list_files (&cache);
  g_assert_cmpuint (files->len, ==, 1);
}

/* Below a regular file and below /proc not even root can make a directory. */
static void
test_unwritable (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *file = NULL, *old = NULL;

  cache_init (&cache);
  file = g_build_filename (cache.home, "file", NULL);
  write_file (file, "x", 1);
  old = g_steal_pointer (&cache.home);
  cache.home = g_build_filename (file, "below", NULL);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  g_free (cache.home);
  cache.home = g_strdup ("/proc/gemmcl");
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  g_free (cache.home);
  cache.home = g_steal_pointer (&old);
}

static void
test_read_only (void)
{
  g_auto (Cache) cache = {0};
  g_autoptr (GPtrArray) files = NULL;

  cache_init (&cache);
  if (geteuid () == 0) {
    g_test_skip ("permissions do not stop root");
    return;
  }
  g_assert_cmpint (g_mkdir_with_parents (cache.dir, 0500), ==, 0);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  files = list_files (&cache);
  g_assert_cmpuint (files->len, ==, 0);
}

/* A file system of a page, in a name space of its own; whole files only, or none. */
static void
test_full_disk (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *script = NULL, *out = NULL, *quoted_home = NULL, *quoted_program = NULL;
  g_autofree gchar *pocl = NULL;
  const gchar *argv[] = {"unshare", "--mount", "--map-root-user", "sh", "-c", NULL, NULL};
  gint status = 0;

  cache_init (&cache);
  quoted_home = g_shell_quote (cache.home);
  quoted_program = g_shell_quote (program);
  pocl = g_build_filename (g_get_user_cache_dir (), "pocl", NULL);
  script = g_strdup_printf ("mount -t tmpfs -o size=4k tmpfs %s || exit 77; "
                            "export XDG_CACHE_HOME=%s POCL_CACHE_DIR=\"${POCL_CACHE_DIR:-%s}\"; "
                            "%s --probe 0; find %s -type f | wc -l",
                            quoted_home, quoted_home, pocl, quoted_program, quoted_home);
  argv[5] = script;
  if (!g_spawn_sync (NULL, (gchar **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                     NULL, NULL, &out, NULL, &status, NULL) ||
      !g_str_has_prefix (out, "-6")) {
    g_assert_cmpstr (out, ==, "");
    g_test_skip ("no file system of its own can be mounted here");
    return;
  }
  g_assert_cmpstr (g_strstrip (out), ==, "-6\n0");
}

/* Processes that start at the same time with nothing cached, and then one that finds it all. */
static void
test_concurrent (void)
{
  g_auto (Cache) cache = {0};
  g_autofree gchar *path = NULL;
  GPid pids[4];
  gint outs[4];

  cache_init (&cache);
  for (guint i = 0; i < G_N_ELEMENTS (pids); i++)
    pids[i] = start (&cache, GEMMCL_ACTIVATION_NONE, &outs[i]);
  for (guint i = 0; i < G_N_ELEMENTS (pids); i++)
    assert_says (pids[i], outs[i], "-6");
  path = get_only_file (&cache);
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
}

/* It does not grow for ever: the oldest entries go. The newest, and other files, stay. */
static void
test_limit (void)
{
  static const struct utimbuf old = {1, 1};
  g_auto (Cache) cache = {0};
  g_autofree gchar *other = NULL, *path = NULL;
  g_autoptr (GPtrArray) files = NULL;

  cache_init (&cache);
  g_assert_cmpint (g_mkdir_with_parents (cache.dir, 0700), ==, 0);
  other = g_build_filename (cache.dir, "tuning.json", NULL);
  write_file (other, "{}", 2);
  assert_probe (&cache, GEMMCL_ACTIVATION_RELU, "0");
  files = list_files (&cache);
  g_assert_cmpuint (files->len, ==, 2);
  path = g_strdup (files->pdata[g_str_equal (files->pdata[0], other)]);
  g_clear_pointer (&files, g_ptr_array_unref);
  for (guint i = 0; i < 3000; i++) {
    g_autofree gchar *entry = g_strdup_printf ("%s/%064x.bin", cache.dir, i);
    write_file (entry, "old", 3);
    g_assert_cmpint (utime (entry, &old), ==, 0);
  }
  assert_probe (&cache, GEMMCL_ACTIVATION_NONE, "-6");
  files = list_files (&cache);
  g_assert_cmpuint (files->len, <, 2000);
  g_assert_true (g_file_test (other, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS));
}

int
main (int argc, char **argv)
{
  if (argc == 3 && strcmp (argv[1], "--probe") == 0)
    return probe (argv[2]);
  program = argv[0];
  test_init_device (&argc, &argv);
  g_test_add_func ("/cache/written", test_written);
  g_test_add_func ("/cache/used", test_used);
  g_test_add_func ("/cache/modes", test_modes);
  g_test_add_func ("/cache/entry-of-others", test_entry_of_others);
  g_test_add_func ("/cache/directory-of-others", test_directory_of_others);
  g_test_add_func ("/cache/too-large", test_too_large);
  g_test_add_func ("/cache/damaged", test_damaged);
  g_test_add_func ("/cache/foreign", test_foreign);
  g_test_add_func ("/cache/directory-in-place", test_directory_in_place);
  g_test_add_func ("/cache/unwritable", test_unwritable);
  g_test_add_func ("/cache/read-only", test_read_only);
  g_test_add_func ("/cache/full-disk", test_full_disk);
  g_test_add_func ("/cache/concurrent", test_concurrent);
  g_test_add_func ("/cache/limit", test_limit);
  return g_test_run ();
}
