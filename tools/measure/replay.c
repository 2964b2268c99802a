/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/replay.h"

#include <string.h>

#include "measure/bench-matrices.h"
#include "shared-options.h"

#define START "gemmcl_plan,"

/* The keys of lib/plan/verbose.c: the option that takes the value; NULL: bench does without it. */
static const struct {
  const gchar *key, *option;
} keys[] = {
    {"m", "-M"},
    {"n", "-N"},
    {"k", "-K"},
    {"batch", "batch"},
    {"layout", "--layout"},
    {"trans_a", "trans_a"},
    {"trans_b", "trans_b"},
    {"a_type", "--a-type"},
    {"activation", "--activation"},
    {"precision", "--precision"},
    {"kernel", "kernel"},
    {"choice", ""},
    {"device", ""},
    {"d_type", NULL},
    {"a_format", NULL},
    {"d_format", NULL},
    {"addend", NULL},
    {"bias", NULL},
    {"pool", NULL},
    {"normalize", NULL},
    {"row_outputs", NULL},
    {"omit_d", NULL},
};

/* Sets what @key says in #tool_gemm or @kernel; otherwise adds it to @left_out. */
static gboolean
take (const gchar *key, const gchar *value, const gchar **kernel, GString *left_out, GError **error)
{
  const gchar *option;
  guint i = 0;

  while (i < G_N_ELEMENTS (keys) && !g_str_equal (key, keys[i].key))
    i++;
  if (i == G_N_ELEMENTS (keys) || value == NULL)
    return tool_refuse (error, "Expected a key of docs/tuning.md and its value, found \"%s\".",
                        key);
  option = keys[i].option;
  if (option == NULL) {
    g_string_append_printf (left_out, " %s=%s", key, value);
    return TRUE;
  }
  if (g_str_has_prefix (option, "--"))
    return tool_set_choice (option, value, NULL, error);
  if (*option == '-')
    return tool_set_size (option, value, NULL, error);
  if (g_str_equal (option, "kernel"))
    return (*kernel = tool_find_kernel (value, FALSE, error)) != NULL;
  if (g_str_equal (option, "batch"))
    return tool_parse_size (value, &tool_gemm.batch) ||
           tool_refuse (error, "batch is a whole number from 1 to %d, not \"%s\".", G_MAXINT32,
                        value);
  if (*option != '\0' && !g_str_equal (value, "1"))
    return tool_refuse (error, "%s is 1, not \"%s\".", key, value);
  tool_gemm.trans_a |= g_str_equal (option, "trans_a");
  tool_gemm.trans_b |= g_str_equal (option, "trans_b");
  return TRUE;
}

/* Reads the fields of a line into #tool_gemm. @kernel: (out) (transfer none) */
static gboolean
parse (const gchar *fields, const gchar **kernel, GString *left_out, GError **error)
{
  /* The device comes last, since its name may have commas. */
  const gchar *device = strstr (fields, ",device=");
  g_autofree gchar *text =
      device != NULL ? g_strndup (fields, (gsize)(device - fields)) : g_strdup (fields);
  g_auto (GStrv) pairs = g_strsplit (text, ",", -1);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  tool_gemm = (GemmclGemm)GEMMCL_GEMM_INIT;
  *kernel = NULL;
  for (guint i = 0; pairs[i] != NULL; i++) {
    gchar *value = strchr (pairs[i], '=');

    if (value != NULL)
      *value++ = '\0';
    if (!take (pairs[i], value, kernel, left_out, error))
      return FALSE;
    if (!g_hash_table_add (seen, pairs[i]))
      return tool_refuse (error, "Expected each key once, found \"%s\" again.", pairs[i]);
  }
  if (tool_gemm.m == 0 || tool_gemm.n == 0 || tool_gemm.k == 0 || *kernel == NULL)
    return tool_refuse (error, "Expected m, n, k and kernel, found \"%s\".", text);
  if (!bench_can_store (tool_gemm.a_type)) {
    g_string_append_printf (left_out, " a_type=%s", gemmcl_type_get_name (tool_gemm.a_type));
    tool_gemm.a_type = GEMMCL_TYPE_F32;
  }
  tool_gemm.a_stride = tool_gemm.batch > 1 ? tool_gemm.m * tool_gemm.k : 0;
  return gemmcl_gemm_validate (&tool_gemm, error);
}

GArray *
bench_replay_read (const gchar *path, GPtrArray *kernels, GError **error)
{
  g_autoptr (GArray) problems = g_array_new (FALSE, FALSE, sizeof (GemmclGemm));
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree gchar *text = NULL, *name = g_filename_display_name (path);
  g_auto (GStrv) lines = NULL;
  gsize length;

  if (!g_file_get_contents (path, &text, &length, error))
    return NULL;
  if (strlen (text) < length) {
    tool_refuse (error, "%s: Expected text, found a zero byte. Remove it.", name);
    return NULL;
  }
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    g_autoptr (GString) left_out = g_string_new (NULL);
    const gchar *kernel;

    g_strchomp (lines[i]);
    if (!g_str_has_prefix (lines[i], START) || !g_hash_table_add (seen, lines[i]))
      continue;
    if (!parse (lines[i] + strlen (START), &kernel, left_out, error)) {
      g_prefix_error (error, "%s:%u: ", name, i + 1);
      return NULL;
    }
    if (left_out->len > 0)
      g_printerr ("gemmcl bench: %s:%u: measured without%s\n", name, i + 1, left_out->str);
    g_array_append_val (problems, tool_gemm);
    g_ptr_array_add (kernels, (gpointer)kernel);
  }
  if (problems->len > 0)
    return g_steal_pointer (&problems);
  tool_refuse (
      error, "%s: Expected lines that begin with " START " (GEMMCL_VERBOSE=1), found none.", name);
  return NULL;
}
