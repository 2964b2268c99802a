/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* GStreamer's own plugins, for tests that load them by themselves and so need no registry of all.
 */

/** Returns: their folder: $GEMMCL_TEST_PLUGINS, or that of the GStreamer that this was built with.
 */
const gchar *plugins_get_folder (void);

/** Returns: (transfer full) (nullable): the plugin of that name ("coreelements"), loaded. */
GstPlugin *plugins_load (const gchar *name, GError **error);

/**
 * One of GStreamer's tracers, from now on.
 * @name: "leaks", "latency"
 * Returns: (transfer full) (nullable): NULL if this GStreamer has none
 */
GstTracer *plugins_start_tracer (const gchar *name);
