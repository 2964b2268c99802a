/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The tuning file: results are stored, merged and used for the problems that they cover; wrong
 * files are refused. The library's cache directory is the test's own.
 */

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "gemmcl.h"

#define M 96
#define N 64
#define K 128

static GemmclContext *context;
static Files files; /* XDG_CACHE_HOME */

static GemmclGemm
make_problem (gsize m, gsize n, gsize k)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  return gemm;
}

/* A kernel for the problem that is not the rules'. */
static gchar *
find_other (const GemmclGemm *gemm)
{
  g_auto (GStrv) names = gemmcl_tuning_list_candidates (context, gemm);

  g_assert_cmpuint (g_strv_length (names), >, 1);
  return g_strdup (names[1]);
}

static void
assert_choice (const GemmclGemm *gemm, const gchar *asked, GemmclChoiceSource source,
               const gchar *kernel)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, gemm, asked, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (gemmcl_choice_source_get_name (gemmcl_plan_get_choice_source (plan)), ==,
                   gemmcl_choice_source_get_name (source));
  if (kernel != NULL)
    g_assert_cmpstr (gemmcl_plan_get_kernel (plan), ==, kernel);
}

static void
store (const GemmclGemm *gemm, const gchar *kernel)
{
  g_autoptr (GError) error = NULL;

  gemmcl_tuning_store (context, gemm, kernel, 12.5, &error);
  g_assert_no_error (error);
}

static void
forget (void)
{
  g_autoptr (GError) error = NULL;

  gemmcl_tuning_forget (context, &error);
  g_assert_no_error (error);
}

static gchar *
read_file (void)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  gchar *text = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static void
write_file (const gchar *text)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  g_autoptr (GError) error = NULL;

  g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error);
  g_assert_no_error (error);
}

static guint
count_known (void)
{
  g_autoptr (GPtrArray) list = gemmcl_tuning_list (context);
  guint n = 0;

  for (guint i = 0; i < list->len; i++)
    n += ((GemmclTuningEntry *)list->pdata[i])->source == GEMMCL_CHOICE_TUNED;
  return n;
}

static void
test_candidates (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  g_auto (GStrv) names = gemmcl_tuning_list_candidates (context, &gemm);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  assert_choice (&gemm, "rules", GEMMCL_CHOICE_RULES, names[0]);
  for (guint i = 0; names[i] != NULL; i++) {
    g_assert_true (gemmcl_kernel_fits (context, names[i], &gemm, NULL));
    g_assert_true (g_hash_table_add (seen, names[i]));
  }
}

static void
test_use (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  g_autofree gchar *other = find_other (&gemm);

  assert_choice (&gemm, NULL, GEMMCL_CHOICE_RULES, NULL);
  store (&gemm, other);
  assert_choice (&gemm, NULL, GEMMCL_CHOICE_TUNED, other);
  assert_choice (&gemm, "auto", GEMMCL_CHOICE_TUNED, other);
  assert_choice (&gemm, "gemm_naive", GEMMCL_CHOICE_NAMED, "gemm_naive");
  {
    g_auto (GStrv) names = gemmcl_tuning_list_candidates (context, &gemm);
    assert_choice (&gemm, "rules", GEMMCL_CHOICE_RULES, names[0]);
    g_assert_cmpstr (names[0], !=, other);
  }
  forget ();
  assert_choice (&gemm, NULL, GEMMCL_CHOICE_RULES, NULL);
}

/* A batch of problems that share B runs as one tall problem. */
static void
test_batch (void)
{
  const GemmclGemm tall = make_problem (M, N, K);
  GemmclGemm batch = make_problem (M / 4, N, K);
  g_autofree gchar *other = find_other (&tall);

  batch.batch = 4;
  store (&tall, other);
  assert_choice (&batch, NULL, GEMMCL_CHOICE_TUNED, other);
  batch.b_stride = K * N;
  assert_choice (&batch, NULL, GEMMCL_CHOICE_RULES, NULL);
  forget ();
}

static void
test_near (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  const GemmclGemm near[] = {make_problem (M, N, K * 5 / 4), make_problem (M * 4 / 3, N, K)};
  const GemmclGemm far[] = {make_problem (M, N, K * 3 / 2), make_problem (M, N / 2, K),
                            make_problem (3 * M, N, K)};
  GemmclGemm columns = gemm, transposed = gemm, transposed_a = gemm;

  store (&gemm, "gemm_naive");
  for (guint i = 0; i < G_N_ELEMENTS (near); i++)
    assert_choice (&near[i], NULL, GEMMCL_CHOICE_TUNED, "gemm_naive");
  for (guint i = 0; i < G_N_ELEMENTS (far); i++)
    assert_choice (&far[i], NULL, GEMMCL_CHOICE_RULES, NULL);
  columns.layout = GEMMCL_LAYOUT_COLUMN_MAJOR;
  assert_choice (&columns, NULL, GEMMCL_CHOICE_RULES, NULL);
  transposed_a.trans_a = TRUE;
  assert_choice (&transposed_a, NULL, GEMMCL_CHOICE_RULES, NULL);
  transposed.trans_b = TRUE;
  assert_choice (&transposed, NULL, GEMMCL_CHOICE_RULES, NULL);
  store (&transposed, "gemm_naive");
  assert_choice (&transposed, NULL, GEMMCL_CHOICE_TUNED, "gemm_naive");
  forget ();
}

/* gemm_naive has tiles of 8 x 8: of 9 x 9 it would compute four times too much. */
static void
test_padding (void)
{
  const GemmclGemm gemm = make_problem (8, 8, K), padded = make_problem (9, 9, K);

  store (&gemm, "gemm_naive");
  assert_choice (&gemm, NULL, GEMMCL_CHOICE_TUNED, "gemm_naive");
  assert_choice (&padded, NULL, GEMMCL_CHOICE_RULES, NULL);
  forget ();
}

/* The nearest speaks, not the first. */
static void
test_nearest (void)
{
  const GemmclGemm gemm = make_problem (M, N, K), longer = make_problem (M, N, K * 4 / 3),
                   between = make_problem (M, N, K * 5 / 4);
  g_autofree gchar *other = find_other (&gemm);

  store (&gemm, "gemm_naive");
  store (&longer, other);
  assert_choice (&between, NULL, GEMMCL_CHOICE_TUNED, other);
  assert_choice (&gemm, NULL, GEMMCL_CHOICE_TUNED, "gemm_naive");
  forget ();
}

static void
test_merge (void)
{
  const GemmclGemm gemm = make_problem (M, N, K), second = make_problem (M, N, 4 * K);
  g_autofree gchar *foreign = NULL;
  g_autofree gchar *text = NULL;
  g_autofree gchar *after = NULL;

  store (&gemm, "gemm_naive");
  text = read_file ();
  foreign = g_strdup_printf ("{\"version\": 1, \"entries\": [17, {\"device\": \"another\"}, %s",
                             strchr (strchr (text, '[') + 1, '{'));
  write_file (foreign);
  store (&second, "gemm_naive");
  store (&second, "gemm_naive");
  g_assert_cmpuint (count_known (), ==, 2);
  after = read_file ();
  g_assert_nonnull (strstr (after, "\"another\""));
  g_assert_null (strstr (after, "17"));
  forget ();
  g_assert_cmpuint (count_known (), ==, 0);
  g_free (after);
  after = read_file ();
  g_assert_nonnull (strstr (after, "\"another\""));
}

/* Replacements in a sound entry that make it invalid. */
static const gchar *const wrongs[][2] = {
    {"\"kernel\": \"gemm_naive\"", "\"kernel\": \"gemm_clever\""},
    {"\"kernel\": \"gemm_naive\"", "\"kernel\": \"gemm_naive/3\""},
    {"\"kernel\": \"gemm_naive\"", "\"kernel\": \"gemm_naive/99999999999\""},
    {"\"kernel\": \"gemm_naive\"", "\"kernel\": \"gemv_1x4_64x4\""},
    {"\"kernel\": \"gemm_naive\"", "\"kernel\": null"},
    {"\"gflops\": 12.5", "\"gflops\": -1"},
    {"\"gflops\": 12.5", "\"gflops\": \"fast\""},
    {"\"driver\": \"", "\"driver\": \"other "},
    {"\"device\": \"", "\"device\": \"other "},
    {"\"units\": ", "\"units\": 1"},
    {"\"m\": ", "\"m\": -"},
    {"\"m\": ", "\"m\": 99999999999999"},
    {"\"n\": ", "\"n\": 0."},
    {"\"k\": ", "\"l\": "},
    {"\"layout\": \"row\"", "\"layout\": \"diagonal\""},
    {"\"precision\": \"f32\"", "\"precision\": \"f31\""},
    {"\"transposed\": \"\"", "\"transposed\": 3"},
    {"\"version\": 1", "\"version\": 2"},
    {"\"version\": 1", "\"version\": \"1\""},
    {"\"entries\": [", "\"entries\": {"},
    {"]", ""},
};

static gchar *
replace (const gchar *text, const gchar *from, const gchar *to)
{
  g_auto (GStrv) parts = g_strsplit (text, from, 2);

  g_assert_cmpuint (g_strv_length (parts), ==, 2);
  return g_strjoinv (to, parts);
}

static void
test_wrong (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  g_autofree gchar *text = NULL;

  write_file ("");
  store (&gemm, "gemm_naive");
  text = read_file ();
  for (guint i = 0; i < G_N_ELEMENTS (wrongs); i++) {
    g_autofree gchar *wrong = replace (text, wrongs[i][0], wrongs[i][1]);

    write_file (wrong);
    g_test_message ("%s -> %s", wrongs[i][0], wrongs[i][1]);
    assert_choice (&gemm, NULL, GEMMCL_CHOICE_RULES, NULL);
  }
  write_file (text);
  assert_choice (&gemm, NULL, GEMMCL_CHOICE_TUNED, "gemm_naive");
  forget ();
}

/* A damaged file is replaced; the file of a newer library is not. */
static void
test_damaged (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  const gchar *const newer = "{\"version\": 2, \"entries\": [], \"more\": 1}";
  const gchar *const damaged[] = {"", "{", "[]", "\xff\xfe", "{\"version\": 1}", "null"};
  g_autoptr (GError) error = NULL;
  g_autofree gchar *text = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (damaged); i++) {
    write_file (damaged[i]);
    assert_choice (&gemm, NULL, GEMMCL_CHOICE_RULES, NULL);
    store (&gemm, "gemm_naive");
    assert_choice (&gemm, NULL, GEMMCL_CHOICE_TUNED, "gemm_naive");
  }
  write_file (newer);
  g_assert_false (gemmcl_tuning_store (context, &gemm, "gemm_naive", 1, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_IO);
  g_assert_nonnull (strstr (error->message, "newer"));
  text = read_file ();
  g_assert_cmpstr (text, ==, newer);
  write_file ("");
}

/* A file or directory that others can write to is not used, and no measurement in it overwritten.
 */
static void
test_of_others (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  g_autofree gchar *dir = g_path_get_dirname (path);
  g_autofree gchar *aside = files_path (&files, "aside");
  g_autofree gchar *text = NULL;
  GStatBuf status;

  store (&gemm, "gemm_naive");
  text = read_file ();
  g_assert_cmpint (g_stat (path, &status), ==, 0);
  g_assert_cmphex (status.st_mode, ==, S_IFREG | 0600);
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *same = NULL;

    if (i == 4 && geteuid () != 0)
      continue;
    if (i == 0)
      g_chmod (path, 0620);
    else if (i == 1)
      g_chmod (dir, 0702);
    else if (i == 2)
      g_assert_true (g_rename (path, aside) == 0 && symlink (aside, path) == 0);
    else if (i == 3)
      g_assert_true (g_rename (dir, aside) == 0 && symlink (aside, dir) == 0);
    else
      g_assert_cmpint (chown (path, 1, -1), ==, 0);
    g_test_message ("case %u", i);
    assert_choice (&gemm, NULL, GEMMCL_CHOICE_RULES, NULL);
    g_assert_false (gemmcl_tuning_store (context, &gemm, "gemm_naive", 1, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_IO);
    same = read_file ();
    g_assert_cmpstr (same, ==, text);

    if (i == 2 || i == 3)
      g_assert_cmpint (g_unlink (i == 2 ? path : dir) | g_rename (aside, i == 2 ? path : dir), ==,
                       0);
    g_assert_cmpint (chown (path, geteuid (), -1), ==, 0);
    g_assert_cmpint (g_chmod (path, 0600) | g_chmod (dir, 0700), ==, 0);
    assert_choice (&gemm, NULL, GEMMCL_CHOICE_TUNED, "gemm_naive");
  }
  forget ();
}

static void
test_refused (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  g_autoptr (GError) error = NULL;

  g_assert_false (gemmcl_tuning_store (context, &gemm, "gemm_clever", 1, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  g_clear_error (&error);
  g_assert_false (gemmcl_tuning_store (context, &gemm, "gemv_1x4_64x4", 1, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  g_clear_error (&error);

  g_assert_cmpint (g_remove (path), ==, 0);
  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  assert_choice (&gemm, NULL, GEMMCL_CHOICE_RULES, NULL);
  g_assert_false (gemmcl_tuning_store (context, &gemm, "gemm_naive", 1, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_IO);
  g_assert_nonnull (strstr (error->message, path));
  g_assert_cmpint (g_rmdir (path), ==, 0);
}

#define WRITERS 8

static gpointer
write_one (gpointer data)
{
  const GemmclGemm gemm = make_problem (M, N, (gsize)1 << (3 + GPOINTER_TO_UINT (data)));

  store (&gemm, "gemm_naive");
  return NULL;
}

static void
test_writers (void)
{
  GThread *threads[WRITERS];

  for (guint i = 0; i < WRITERS; i++)
    threads[i] = g_thread_new ("writer", write_one, GUINT_TO_POINTER (i));
  for (guint i = 0; i < WRITERS; i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (count_known (), ==, WRITERS);
  forget ();
}

static void
test_list (void)
{
  const GemmclGemm gemm = make_problem (M, N, K);
  g_autoptr (GPtrArray) list = NULL;
  const GemmclTuningEntry *entry;

  store (&gemm, "gemm_naive");
  list = gemmcl_tuning_list (context);
  entry = list->pdata[0];
  g_assert_cmpint (entry->source, ==, GEMMCL_CHOICE_TUNED);
  g_assert_cmpstr (entry->kernel, ==, "gemm_naive");
  g_assert_cmpuint (entry->m, ==, M);
  g_assert_cmpuint (entry->n, ==, N);
  g_assert_cmpuint (entry->k, ==, K);
  g_assert_cmpfloat (entry->gflops, ==, 12.5);
  forget ();
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  files_init (&files);
  files_enter_cache (&files);
  context = gemmcl_context_new (NULL, &error);
  if (context == NULL) {
    g_print ("1..0 # SKIP %s\n", error->message);
    files_clear (&files);
    return 0;
  }
  g_test_add_func ("/tuning/candidates", test_candidates);
  g_test_add_func ("/tuning/use", test_use);
  g_test_add_func ("/tuning/batch", test_batch);
  g_test_add_func ("/tuning/near", test_near);
  g_test_add_func ("/tuning/padding", test_padding);
  g_test_add_func ("/tuning/nearest", test_nearest);
  g_test_add_func ("/tuning/merge", test_merge);
  g_test_add_func ("/tuning/wrong", test_wrong);
  g_test_add_func ("/tuning/damaged", test_damaged);
  g_test_add_func ("/tuning/of-others", test_of_others);
  g_test_add_func ("/tuning/refused", test_refused);
  g_test_add_func ("/tuning/writers", test_writers);
  g_test_add_func ("/tuning/list", test_list);
  status = g_test_run ();
  g_clear_object (&context);
  files_clear (&files);
  return status;
}
