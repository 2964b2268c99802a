/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compiles a program and reads its figures, which are kept on disk in a file for each key:
 *
 *     SHA-256 of the rest, 64 hex digits | JSON
 *
 * A file is written whole or not at all. A damaged file is ignored.
 */
#include <glib/gstdio.h>
#include <string.h>
#include <time.h>
#include <utime.h>

#include "isa.h"
#include "output.h"
#include "tool.h"

/* Part of every key. Raise it if the figures of the same listing change. */
#define FIGURES_VERSION "5"
#define MAX_AGE_SECONDS (30 * 24 * 60 * 60)
#define DIGEST_LENGTH   64
#define SOURCE          "program.cl"
#define BINARY          "program.bin"

void
isa_program_free (IsaProgram *program)
{
  g_free (program->name);
  g_free (program->source);
  g_free (program->options);
  g_free (program->entry);
  g_free (program);
}

static gchar *
get_cache_folder (void)
{
  return g_build_filename (g_get_user_cache_dir (), "gemmcl", "isa", NULL);
}

static gchar *
get_cache_file (const IsaCompiler *compiler, const IsaProgram *program, const IsaTarget *target)
{
  const gchar *parts[] = {FIGURES_VERSION, compiler->version, target->name,   program->name,
                          program->entry,  program->options,  program->source};
  g_autoptr (GChecksum) key = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree gchar *folder = get_cache_folder ();

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    g_checksum_update (key, (const guchar *)parts[i], (gssize)strlen (parts[i]) + 1);
  return g_build_filename (folder, g_checksum_get_string (key), NULL);
}

static IsaFigures *
load (const gchar *file)
{
  g_autofree gchar *text = NULL, *digest = NULL;
  g_autoptr (json_t) json = NULL;
  gsize length;

  if (!g_file_get_contents (file, &text, &length, NULL) || length < DIGEST_LENGTH)
    return NULL;
  digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text + DIGEST_LENGTH, -1);
  if (strncmp (digest, text, DIGEST_LENGTH) != 0)
    return NULL;
  json = json_loads (text + DIGEST_LENGTH, 0, NULL);
  /* The age of a file counts from its last use. */
  g_utime (file, NULL);
  return json != NULL ? isa_figures_from_json (json) : NULL;
}

static void
store (const gchar *file, const IsaFigures *figures)
{
  g_autoptr (json_t) json = isa_figures_to_json (figures);
  char *text = json_dumps (json, JSON_COMPACT);
  g_autofree gchar *folder = g_path_get_dirname (file);
  g_autofree gchar *digest = NULL, *both = NULL;

  if (text == NULL)
    return;
  digest = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
  both = g_strconcat (digest, text, NULL);
  free (text);
  if (g_mkdir_with_parents (folder, 0700) == 0)
    g_file_set_contents (file, both, -1, NULL);
}

void
isa_forget_old (void)
{
  g_autofree gchar *folder = get_cache_folder ();
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const time_t oldest = time (NULL) - MAX_AGE_SECONDS;

  for (const gchar *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);
    GStatBuf status;
    if (g_stat (path, &status) == 0 && status.st_mtime < oldest)
      g_unlink (path);
  }
}

/* Returns: (transfer full): the first error in @output, without the prefix that all errors have. */
static gchar *
find_error (const gchar *output)
{
  g_auto (GStrv) lines = g_strsplit (output, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++) {
    const gchar *at = strstr (lines[i], "error: ");
    const gchar *in_kernel = "in kernel '";
    if (at == NULL)
      continue;
    at += strlen ("error: ");
    if (g_str_has_prefix (at, in_kernel) && strstr (at, "': ") != NULL)
      at = strstr (at, "': ") + strlen ("': ");
    return g_strstrip (g_strdup (at));
  }
  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], "rror") != NULL)
      return g_strstrip (g_strdup (lines[i]));
  return g_strdup ("ocloc does not say why");
}

/* Returns: (transfer full): the kernel's listing in the output of the disassembler. */
static gchar *
read_listing (const gchar *folder, const gchar *entry, GError **error)
{
  g_autofree gchar *today = g_strdup_printf ("%s/.text.%s.asm", folder, entry);
  g_autofree gchar *before = g_strdup_printf ("%s/%s_KernelHeap.asm", folder, entry);
  gchar *text = NULL;

  if (g_file_get_contents (today, &text, NULL, NULL) ||
      g_file_get_contents (before, &text, NULL, NULL))
    return text;
  g_set_error (
      error, TOOL_ERROR, TOOL_ERROR_FAILED,
      "ocloc's disassembler made no listing of the kernel %s. On Debian 12 it needs the library "
      "libiga64.so.1 also under the name libiga64.so.",
      entry);
  return NULL;
}

static gboolean
read_figures (const gchar *folder, const gchar *entry, const gchar *copy, IsaFigures *figures,
              GError **error)
{
  g_autofree gchar *listing = read_listing (folder, entry, error);
  g_autoptr (GArray) instructions = NULL;

  if (listing == NULL || (copy != NULL && !g_file_set_contents (copy, listing, -1, error)) ||
      !isa_attributes_read (folder, entry, listing, figures, error))
    return FALSE;
  instructions = isa_listing_read (listing, figures->register_bytes);
  isa_loops_find (instructions, figures);
  return TRUE;
}

/* Adds the macros of the target's extensions, which ocloc 22.43 does not define. */
static gchar *
make_options (const IsaProgram *program, const IsaTarget *target)
{
  g_auto (GStrv) names = g_strsplit (target->extensions, " ", -1);
  GString *options = g_string_new (program->options);

  for (guint i = 0; names[i] != NULL; i++)
    g_string_append_printf (options, " -D%s", names[i]);
  return g_string_free (options, FALSE);
}

static gboolean
compile_in (const gchar *folder, const IsaCompiler *compiler, const IsaProgram *program,
            const gchar *listing, IsaFigures *figures, GError **error)
{
  const gchar *target = figures->target->name;
  g_autofree gchar *options = make_options (program, figures->target);
  const gchar *compile[] = {
      compiler->path, "compile", "-file",   SOURCE, "-device",           target,
      "-options",     options,   "-output", BINARY, "-output_no_suffix", NULL};
  const gchar *disassemble[] = {compiler->path, "disasm", "-file", BINARY, "-device",
                                target,         "-dump",  "dump",  NULL};
  g_autofree gchar *source = g_build_filename (folder, SOURCE, NULL);
  g_autofree gchar *with_suffix = g_build_filename (folder, BINARY ".bin", NULL);
  g_autofree gchar *binary = g_build_filename (folder, BINARY, NULL);
  g_autofree gchar *dump = g_build_filename (folder, "dump", NULL);
  g_autofree gchar *output = NULL, *said = NULL;
  gboolean well;

  if (!g_file_set_contents (source, program->source, -1, error) ||
      !isa_ocloc_run (folder, compile, &output, &well, error))
    return FALSE;
  /* Newer compilers add the suffix even with -output_no_suffix. */
  g_rename (with_suffix, binary);
  if (!well || !g_file_test (binary, G_FILE_TEST_EXISTS)) {
    figures->why_not = find_error (output);
    return TRUE;
  }
  return isa_ocloc_run (folder, disassemble, &said, &well, error) &&
         read_figures (dump, program->entry, listing, figures, error);
}

IsaFigures *
isa_compile (const IsaCompilers *compilers, const IsaProgram *program, const IsaTarget *target,
             const gchar *listing, GError **error)
{
  const IsaCompiler *compiler = isa_compilers_find (compilers, target);
  g_autofree gchar *file = NULL, *folder = NULL;
  g_autoptr (IsaFigures) figures = NULL;
  gboolean well;

  if (compiler == NULL) {
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "No ocloc here compiles for %s.",
                 target->name);
    return NULL;
  }
  file = get_cache_file (compiler, program, target);
  figures = listing == NULL ? load (file) : NULL;
  if (figures != NULL)
    return g_steal_pointer (&figures);
  folder = g_dir_make_tmp ("gemmcl-isa-XXXXXX", error);
  if (folder == NULL)
    return NULL;
  figures = g_new0 (IsaFigures, 1);
  figures->kernel = g_strdup (program->name);
  figures->target = target;
  figures->compiler = g_strdup (compiler->version);
  figures->options = g_strdup (program->options);
  figures->register_bytes = target->register_bytes;
  figures->hot = -1;
  well = compile_in (folder, compiler, program, listing, figures, error);
  isa_remove_folder (folder);
  if (!well)
    return NULL;
  store (file, figures);
  return g_steal_pointer (&figures);
}
