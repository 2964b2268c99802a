/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
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
