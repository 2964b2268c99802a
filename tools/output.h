/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <glib.h>
#include <jansson.h>
#include <stdio.h>

/**
 * ToolColumn:
 * @title: what stands on top; its length is the least width
 * @width: the least width in characters
 * @numbers: set to the right rather than to the left
 *
 * A column of a table that is printed row by row, as its rows become known.
 */
typedef struct {
  const gchar *title;
  gint width;
  gboolean numbers;
} ToolColumn;

/** tool_table_fit: Makes @column wide enough for @text. */
void tool_table_fit (ToolColumn *column, const gchar *text);

/** tool_table_titles: Prints the titles of the @n columns and fits the columns to them. */
void tool_table_titles (FILE *out, ToolColumn *columns, guint n);

/**
 * tool_table_row:
 * @cells: (array length=n): what stands in the columns, from the left; a row may have fewer than
 *   the table, and its last cell may be longer than its column
 */
void tool_table_row (FILE *out, const ToolColumn *columns, const gchar *const *cells, guint n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

/** tool_json_string: Returns: @text as valid UTF-8; null for %NULL. */
json_t *tool_json_string (const gchar *text);

/** tool_json_get_string: Returns: (nullable): the string @key of @object. */
const gchar *tool_json_get_string (const json_t *object, const gchar *key);

/** tool_json_number: Returns: @number, or null where JSON has no word for it (NaN, infinities). */
json_t *tool_json_number (gdouble number);

/**
 * tool_json_write:
 * @path: a file, which is replaced whole or not at all; "-" is the standard output
 *
 * Returns: %FALSE with a #GFileError or %TOOL_ERROR_FAILED.
 */
gboolean tool_json_write (const json_t *json, const gchar *path, GError **error);
