/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table.h"

#define GAP "  "

void
tool_table_fit (ToolColumn *column, const gchar *text)
{
  column->width = MAX (column->width, (gint)g_utf8_strlen (text, -1));
}

void
tool_table_titles (FILE *out, ToolColumn *columns, guint n)
{
  g_autofree const gchar **titles = g_new0 (const gchar *, n);

  for (guint i = 0; i < n; i++) {
    tool_table_fit (&columns[i], columns[i].title);
    titles[i] = columns[i].title;
  }
  tool_table_row (out, columns, titles, n);
}

void
tool_table_row (FILE *out, const ToolColumn *columns, const gchar *const *cells, guint n)
{
  for (guint i = 0; i < n; i++) {
    gint space = columns[i].width - (gint)g_utf8_strlen (cells[i], -1);
    gint before = columns[i].numbers ? MAX (space, 0) : 0;
    /* Nothing trails the last cell. */
    gint after = columns[i].numbers || i + 1 == n ? 0 : MAX (space, 0);
    fprintf (out, "%s%*s%s%*s", i > 0 ? GAP : "", before, "", cells[i], after, "");
  }
  fputc ('\n', out);
  fflush (out);
}
