/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include "gemmcl-kernels.h"

/* gemmcl_kernel_exists(): a kernel's name, maybe with a split. */
int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree gchar *name = FUZZ_TEXT (data, size);
  g_autoptr (GError) error = NULL;
  const gboolean exists = gemmcl_kernel_exists (name, &error);

  fuzz_check_error (!exists, error);
  return 0;
}
