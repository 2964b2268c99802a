/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds and runs Intel's offline compilers.
 */
#include "isa.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tool.h"

#define LIMIT_SECONDS 120
#define NICENESS      10

struct IsaCompilers {
  GPtrArray *all; /* of IsaCompiler, the newest first */
};

typedef struct {
  GMainLoop *loop;
  GSubprocess *process;
  gchar *output;
  gboolean late;
} Run;

static void
run_done (GObject *process, GAsyncResult *result, gpointer user_data)
{
  Run *run = user_data;

  g_subprocess_communicate_utf8_finish (G_SUBPROCESS (process), result, &run->output, NULL, NULL);
  g_main_loop_quit (run->loop);
}

static gboolean
run_late (gpointer user_data)
{
  Run *run = user_data;

  run->late = TRUE;
  g_subprocess_force_exit (run->process);
  return G_SOURCE_REMOVE;
}

/* Runs between fork and exec. Gives the compiler a low priority. */
static void
be_nice (G_GNUC_UNUSED gpointer user_data)
{
  setpriority (PRIO_PROCESS, 0, NICENESS);
}

static GSubprocess *
start (const gchar *folder, const gchar *const *arguments, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE);
  g_autoptr (GSubprocess) process = NULL;

  g_subprocess_launcher_set_cwd (launcher, folder);
  g_subprocess_launcher_set_child_setup (launcher, be_nice, NULL, NULL);
  process = g_subprocess_launcher_spawnv (launcher, arguments, error);
  if (process == NULL)
    g_prefix_error (error, "\"%s\" could not be run: ", arguments[0]);
  return g_steal_pointer (&process);
}

gboolean
isa_ocloc_run (const gchar *folder, const gchar *const *arguments, gchar **output, gboolean *well,
               GError **error)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GMainLoop) loop = g_main_loop_new (context, FALSE);
  g_autoptr (GSource) limit = g_timeout_source_new_seconds (LIMIT_SECONDS);
  g_autoptr (GSubprocess) process = start (folder, arguments, error);
  Run run = {loop, process, NULL, FALSE};

  if (process == NULL)
    return FALSE;
  g_main_context_push_thread_default (context);
  g_source_set_callback (limit, run_late, &run, NULL);
  g_source_attach (limit, context);
  g_subprocess_communicate_utf8_async (process, NULL, NULL, run_done, &run);
  g_main_loop_run (loop);
  g_source_destroy (limit);
  g_subprocess_wait (process, NULL, NULL);
  g_main_context_pop_thread_default (context);
  *well = g_subprocess_get_successful (process);
  if (run.late) {
    g_free (run.output);
    run.output = g_strdup_printf ("error: took longer than %d seconds\n", LIMIT_SECONDS);
  }
  *output = run.output != NULL ? run.output : g_strdup ("");
  return TRUE;
}

void
isa_remove_folder (const gchar *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);

  for (const gchar *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);
    if (!g_file_test (path, G_FILE_TEST_IS_SYMLINK) && g_file_test (path, G_FILE_TEST_IS_DIR))
      isa_remove_folder (path);
    else
      g_unlink (path);
  }
  g_rmdir (folder);
}

static void
compiler_free (gpointer data)
{
  IsaCompiler *compiler = data;

  g_free (compiler->path);
  g_free (compiler->version);
  g_clear_pointer (&compiler->targets, g_hash_table_unref);
  g_free (compiler);
}

/* Reads the targets from the compiler's help: the words after each "can be:". */
static void
read_targets (IsaCompiler *compiler, const gchar *help)
{
  static const gchar introduction[] = "can be:";

  compiler->targets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (const gchar *at = help; (at = strstr (at, introduction)) != NULL;) {
    g_autofree gchar *list = NULL;
    g_auto (GStrv) words = NULL;

    at += strlen (introduction);
    list = g_strndup (at, strcspn (at, "\n"));
    words = g_strsplit_set (list, " ,", -1);
    for (guint i = 0; words[i] != NULL; i++)
      g_hash_table_add (compiler->targets, g_strdup (words[i]));
  }
}

/* Returns: (transfer full): the compiler's version, which it writes to a file with the name of the
 * query. */
static gchar *
ask_version (const gchar *path, GError **error)
{
  static const gchar query[] = "OCL_DRIVER_VERSION";
  const gchar *arguments[] = {path, "query", query, NULL};
  g_autofree gchar *folder = g_dir_make_tmp ("gemmcl-ocloc-XXXXXX", error);
  g_autofree gchar *output = NULL, *file = NULL, *version = NULL;
  gboolean well;

  if (folder == NULL)
    return NULL;
  file = g_build_filename (folder, query, NULL);
  if (isa_ocloc_run (folder, arguments, &output, &well, error) &&
      !g_file_get_contents (file, &version, NULL, NULL))
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                 "\"%s query %s\" gave no version, so it is not ocloc: %s", path, query,
                 g_strstrip (output));
  isa_remove_folder (folder);
  return version != NULL ? g_strdup (g_strstrip (version)) : NULL;
}

static IsaCompiler *
compiler_new (const gchar *path, GError **error)
{
  const gchar *arguments[] = {path, "compile", "--help", NULL};
  g_autofree gchar *help = NULL, *version = ask_version (path, error);
  IsaCompiler *compiler;
  gboolean well;

  /* 22.43 prints its help but exits with an error. */
  if (version == NULL || !isa_ocloc_run (g_get_tmp_dir (), arguments, &help, &well, error))
    return NULL;
  compiler = g_new0 (IsaCompiler, 1);
  compiler->path = g_strdup (path);
  compiler->version = g_steal_pointer (&version);
  read_targets (compiler, help);
  return compiler;
}

/* Sorts the newest first: "26.27.039122" before "22.43.24595". */
static gint
compare_versions (gconstpointer a, gconstpointer b)
{
  const IsaCompiler *left = *(const IsaCompiler *const *)a, *right = *(const IsaCompiler *const *)b;
  const gchar *x = left->version, *y = right->version;

  while (*x != '\0' && *y != '\0') {
    gchar *x_end = NULL, *y_end = NULL;
    const guint64 x_part = g_ascii_strtoull (x, &x_end, 10);
    const guint64 y_part = g_ascii_strtoull (y, &y_end, 10);
    if (x_part != y_part)
      return x_part > y_part ? -1 : 1;
    x = x_end + (*x_end != '\0');
    y = y_end + (*y_end != '\0');
  }
  return 0;
}

IsaCompilers *
isa_compilers_new (const gchar *paths, GError **error)
{
  g_autoptr (IsaCompilers) compilers = g_new0 (IsaCompilers, 1);
  g_autofree gchar *in_path = NULL;
  g_auto (GStrv) split = NULL;

  compilers->all = g_ptr_array_new_with_free_func (compiler_free);
  if (paths == NULL)
    paths = g_getenv ("GEMMCL_OCLOC");
  if (paths == NULL || *paths == '\0')
    paths = in_path = g_find_program_in_path ("ocloc");
  if (paths == NULL) {
    g_set_error_literal (
        error, TOOL_ERROR, TOOL_ERROR_FAILED,
        "There is no ocloc, Intel's offline compiler, in PATH: install it, name it "
        "with --ocloc, or run this through tools/ocloc.sh, which fetches it.");
    return NULL;
  }
  split = g_strsplit (paths, ":", -1);
  for (guint i = 0; split[i] != NULL; i++) {
    IsaCompiler *compiler = compiler_new (split[i], error);
    if (compiler == NULL)
      return NULL;
    g_ptr_array_add (compilers->all, compiler);
  }
  g_ptr_array_sort (compilers->all, compare_versions);
  return g_steal_pointer (&compilers);
}

void
isa_compilers_free (IsaCompilers *compilers)
{
  g_ptr_array_unref (compilers->all);
  g_free (compilers);
}

const IsaCompiler *
isa_compilers_find (const IsaCompilers *compilers, const IsaTarget *target)
{
  for (guint i = 0; i < compilers->all->len; i++) {
    const IsaCompiler *compiler = compilers->all->pdata[i];
    if (g_hash_table_contains (compiler->targets, target->name))
      return compiler;
  }
  return NULL;
}

gboolean
isa_compilers_know (const IsaCompilers *compilers, const IsaTarget *target)
{
  return isa_compilers_find (compilers, target) != NULL;
}
