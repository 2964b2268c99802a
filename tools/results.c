/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared-options.h"
#include "results.h"

typedef enum {
  FORM_TEXT,
  FORM_MARKDOWN,
  FORM_CSV,
} Form;

static Form form = FORM_TEXT;

gboolean
tool_set_table (const gchar *option, const gchar *text, G_GNUC_UNUSED gpointer data, GError **error)
{
  static const gchar *const names[] = {"text", "markdown", "csv"};

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (text, names[i])) {
      form = i;
      return TRUE;
    }
  return tool_refuse (error, "%s takes text, markdown or csv, not \"%s\".", option, text);
}

void
tool_table_fit (ToolColumn *column, const gchar *text)
{
  column->width = MAX (column->width, (gint)g_utf8_strlen (text, -1));
}

/* Prints @cell, in CSV as RFC 4180 says. No spaces follow the last cell of a row. */
static void
print_cell (FILE *out, const ToolColumn *column, const gchar *cell, gboolean is_last)
{
  const gint space = MAX (column->width - (gint)g_utf8_strlen (cell, -1), 0);
  g_autoptr (GString) text = g_string_new (cell + (form != FORM_TEXT ? strspn (cell, " ") : 0));

  if (form == FORM_MARKDOWN)
    g_string_replace (text, "|", "\\|", 0);
  else if (form == FORM_CSV && strpbrk (cell, ",\"\n") != NULL) {
    g_string_replace (text, "\"", "\"\"", 0);
    g_string_prepend_c (text, '"');
    g_string_append_c (text, '"');
  }
  fprintf (out, "%*s%s%*s", form == FORM_TEXT && column->numbers ? space : 0, "", text->str,
           form == FORM_TEXT && !column->numbers && !is_last ? space : 0, "");
}

/* @cells: (element-type utf8): a cell for each column; NULL is an empty one */
static void
print_row (FILE *out, const ToolColumn *columns, const GPtrArray *cells)
{
  static const gchar *const gaps[] = {"  ", " | ", ","};
  const gchar *gap = form == FORM_MARKDOWN ? "| " : "";
  guint n = cells->len;

  while (form == FORM_TEXT && n > 0 && (cells->pdata[n - 1] == NULL || columns[n - 1].hidden))
    n--;
  for (guint i = 0; i < n; i++) {
    if (columns[i].hidden)
      continue;
    fputs (gap, out);
    print_cell (out, &columns[i], cells->pdata[i] != NULL ? cells->pdata[i] : "", i + 1 == n);
    gap = gaps[form];
  }
  fputs (form == FORM_MARKDOWN ? " |\n" : "\n", out);
  fflush (out);
}

/* Returns: "64 x 1024 x 1" of a list of whole numbers. */
static gchar *
join_sizes (const json_t *list)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; i < json_array_size (list); i++)
    g_string_append_printf (text, "%s%" JSON_INTEGER_FORMAT, i > 0 ? " x " : "",
                            json_integer_value (json_array_get (list, i)));
  return g_string_free (text, FALSE);
}

/* Returns: (nullable): the text of the column's cell for @object. */
static gchar *
make_cell (const ToolColumn *column, const json_t *object)
{
  g_auto (GStrv) keys = g_strsplit (column->key != NULL ? column->key : "", ".", -1);
  const gchar *unit = column->unit != NULL ? column->unit : "";
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];

  if (column->key == NULL)
    return tool_json_get_problem (object);
  for (guint i = 0; keys[i] != NULL && json_is_object (object); i++)
    object = json_object_get (object, keys[i]);
  if (object == NULL || json_is_string (object))
    return g_strdup (json_string_value (object));
  if (json_is_array (object))
    return join_sizes (object);
  if (json_is_boolean (object))
    return g_strdup (json_is_true (object) ? "ok" : "MISMATCH");
  if (!json_is_number (object))
    return g_strdup ("-");
  g_ascii_formatd (number, sizeof number, column->format,
                   json_number_value (object) * (g_str_equal (unit, " %") ? 100 : 1));
  /* In CSV the title has the unit. */
  return g_strconcat (number, form != FORM_CSV ? unit : NULL, NULL);
}

void
tool_table_titles (FILE *out, ToolColumn *columns, const json_t *rows)
{
  g_autoptr (GPtrArray) titles = g_ptr_array_new_with_free_func (g_free);

  for (ToolColumn *column = columns; column->title != NULL; column++) {
    const json_t *row;
    gsize i;

    tool_table_fit (column, column->title);
    g_ptr_array_add (titles,
                     g_strconcat (column->title, form == FORM_CSV ? column->unit : NULL, NULL));
    json_array_foreach (rows, i, row) {
      g_autofree gchar *text = make_cell (column, row);

      if (text != NULL)
        tool_table_fit (column, text);
    }
  }
  print_row (out, columns, titles);
  if (form != FORM_MARKDOWN)
    return;
  for (const ToolColumn *column = columns; column->title != NULL; column++)
    if (!column->hidden)
      fputs (column->numbers ? "|--:" : "|---", out);
  fputs ("|\n", out);
}

void
tool_table_print (FILE *out, const ToolColumn *columns, const json_t *object)
{
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (g_free);

  if (object == NULL) {
    fputs (form == FORM_TEXT ? "\n" : "", out);
    return;
  }
  for (const ToolColumn *column = columns; column->title != NULL; column++)
    g_ptr_array_add (cells, make_cell (column, object));
  print_row (out, columns, cells);
}

/* Digits of numbers in JSON: enough for floats, and too few to show binary fractions. */
#define DIGITS 9

json_t *
tool_json_string (const gchar *text)
{
  g_autofree gchar *valid = text != NULL ? g_utf8_make_valid (text, -1) : NULL;

  return valid != NULL ? json_string (valid) : json_null ();
}

const gchar *
tool_json_get_string (const json_t *object, const gchar *key)
{
  return json_string_value (json_object_get (object, key));
}

gdouble
tool_json_get_number (const json_t *object, const gchar *key)
{
  const json_t *number = json_object_get (object, key);

  return json_is_number (number) ? json_number_value (number) : NAN;
}

void
tool_json_get_sizes (const json_t *object, GemmclGemm *gemm)
{
  gemm->m = json_integer_value (json_object_get (object, "m"));
  gemm->n = json_integer_value (json_object_get (object, "n"));
  gemm->k = json_integer_value (json_object_get (object, "k"));
}

gchar *
tool_json_get_problem (const json_t *object)
{
  GemmclGemm gemm;

  tool_json_get_sizes (object, &gemm);
  return tool_problem_get_name (gemm.m, gemm.n, gemm.k);
}

json_t *
tool_json_number (gdouble number)
{
  return isfinite (number) ? json_real (number) : json_null ();
}

FILE *
tool_table_get_output (const gchar *path)
{
  return g_strcmp0 (path, "-") == 0 ? stderr : stdout;
}

FILE *
tool_notes_get_output (const gchar *path)
{
  return form == FORM_TEXT ? tool_table_get_output (path) : stderr;
}

static gboolean
save (const GemmclMatrix *matrix, const gchar *name, const gchar *path, GError **error)
{
  return name != NULL ? gemmcl_matrix_save_safetensors (matrix, path, name, error)
                      : gemmcl_matrix_save_npy (matrix, path, error);
}

gboolean
tool_save_matrix (const GemmclMatrix *matrix, const gchar *name, const gchar *path, GError **error)
{
  g_autoptr (GMappedFile) content = NULL;
  g_autofree gchar *temporary = NULL;
  gint fd;

  if (!g_str_equal (path, "-"))
    return save (matrix, name, path, error);
  fd = g_file_open_tmp ("gemmcl-XXXXXX", &temporary, error);
  if (fd < 0)
    return FALSE;
  close (fd);
  if (save (matrix, name, temporary, error))
    content = g_mapped_file_new (temporary, FALSE, error);
  g_unlink (temporary);
  if (content == NULL)
    return FALSE;
  /* Writes to the standard output are checked in main(). */
  fwrite (g_mapped_file_get_contents (content), 1, g_mapped_file_get_length (content), stdout);
  return TRUE;
}

gboolean
tool_json_write (const json_t *json, const gchar *path, GError **error)
{
  g_autofree gchar *text = NULL;
  char *dump;

  if (path == NULL)
    return TRUE;
  dump = json_dumps (json, JSON_INDENT (2) | JSON_REAL_PRECISION (DIGITS));
  if (dump == NULL)
    return tool_fail (error, "There is not enough memory to write JSON.");
  text = g_strconcat (dump, "\n", NULL);
  free (dump);
  /* Writes to the standard output are checked in main(). */
  if (g_str_equal (path, "-"))
    return fputs (text, stdout), TRUE;
  /* Renaming would replace a pipe, or a device such as /dev/null, by a file. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return tool_fail (
        error,
        "%s: Cannot write there: expected a file or nothing, found a directory, pipe, "
        "socket or device. - is the standard output.",
        path);
  return g_file_set_contents (path, text, -1, error);
}
