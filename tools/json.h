/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

/** tool_json_string: Returns: @text, mended where it is no UTF-8; null for %NULL. */
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
