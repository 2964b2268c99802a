/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "gemmcl.h"

/**
 * ToolColumn:
 * @title: the title; the column is at least as wide as it
 * @width: the minimum width in characters
 * @numbers: align to the right, not to the left
 * @hidden: the column is not printed
 * @key: the member of an object that the column shows; "rules.gflops" is a member of a member;
 *   %NULL stands for "m", "n" and "k" together
 * @format: of a number, such as "%.4f"
 * @unit: (nullable): follows a number; " %" shows 100 times the number
 *
 * A column of a table that is printed row by row, as soon as each row is known.
 */
typedef struct {
  const gchar *title;
  gint width;
  gboolean numbers;
  gboolean hidden;
  const gchar *key;
  const gchar *format;
  const gchar *unit;
} ToolColumn;

/** TOOL_OPTION_TABLE: --table, the form of the tables of this process. */
#define TOOL_OPTION_TABLE                                                                          \
  TOOL_OPTION (                                                                                    \
      "table", tool_set_table,                                                                     \
      "Form of the table: text, or markdown or csv, with all other lines on the standard "         \
      "error (default: text)",                                                                     \
      "text|markdown|csv")
gboolean tool_set_table (const gchar *option, const gchar *text, gpointer data, GError **error);

/** tool_table_fit: Widens @column to @text. */
void tool_table_fit (ToolColumn *column, const gchar *text);

/** tool_table_titles: Prints the titles of @columns, the last of which has none, and fits the
 * columns to them, and to the objects of the list @rows (nullable). */
void tool_table_titles (FILE *out, ToolColumn *columns, const json_t *rows);

/** tool_table_print: Prints @object as a row; %NULL: an empty line, in text alone. An absent member
 * is an empty cell, a null a dash, a list of whole numbers sizes, and a boolean the result of a
 * check. The last cell may be longer than its column. */
void tool_table_print (FILE *out, const ToolColumn *columns, const json_t *object);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

/** tool_json_string: Returns: @text as valid UTF-8; null for %NULL. */
json_t *tool_json_string (const gchar *text);

/** tool_json_get_string: Returns: (nullable): the string @key of @object. */
const gchar *tool_json_get_string (const json_t *object, const gchar *key);

/** tool_json_get_number: Returns: the number @key of @object; NaN if it has none. */
gdouble tool_json_get_number (const json_t *object, const gchar *key);

/** tool_json_get_sizes: Sets M, N and K of @gemm to "m", "n" and "k" of @object. */
void tool_json_get_sizes (const json_t *object, GemmclGemm *gemm);

/** tool_json_get_problem: Returns: (transfer full): "64 x 1024 x 1024" of "m", "n" and "k". */
gchar *tool_json_get_problem (const json_t *object);

/** tool_json_number: Returns: @number; null for NaN and infinities, which JSON lacks. */
json_t *tool_json_number (gdouble number);

/** tool_table_get_output: Returns: the file for tables: the standard error if JSON goes to the
 * standard output (@path is "-"), else the standard output. @path: (nullable) */
FILE *tool_table_get_output (const gchar *path);

/** tool_notes_get_output: Returns: the file for other lines: that of tables, if they are text. */
FILE *tool_notes_get_output (const gchar *path);

/**
 * tool_save_matrix:
 * @name: (nullable): of the tensor in a safetensors file; %NULL: the file has NumPy's format
 * @path: a file, which is replaced whole or not at all; "-": the standard output
 *
 * Returns: %FALSE with the error of gemmcl_matrix_save_npy() or gemmcl_matrix_save_safetensors(),
 *   or a #GFileError.
 */
gboolean tool_save_matrix (const GemmclMatrix *matrix, const gchar *name, const gchar *path,
                           GError **error);

/**
 * tool_json_write:
 * @path: (nullable): a file, which is replaced whole or not at all; "-": the standard output;
 *   %NULL: nothing is written
 *
 * Returns: %FALSE with a #GFileError or %TOOL_ERROR_FAILED.
 */
gboolean tool_json_write (const json_t *json, const gchar *path, GError **error);
