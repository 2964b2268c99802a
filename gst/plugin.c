/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgemmcl.h"

/* No OpenCL here: this runs in GStreamer's plugin scanner. */
static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (gemmcl, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, gemmcl,
                   "Multiplies video, audio and tensors by a matrix on OpenCL", plugin_init,
                   PACKAGE_VERSION, "LGPL", PACKAGE, PACKAGE_ORIGIN)
