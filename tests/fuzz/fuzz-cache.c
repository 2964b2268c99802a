/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include "device/base.h"

#include <string.h>

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* gemmcl_cache_load(): an entry of the program cache, as it is and with a head that fits. */
int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree gchar *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
  g_autoptr (GByteArray) whole = g_byte_array_new ();
  g_autoptr (GBytes) damaged = NULL, found = NULL;

  fuzz_write_cache (KEY ".bin", data, size);
  damaged = gemmcl_cache_load (KEY);
  if (damaged != NULL)
    g_assert_cmpuint (g_bytes_get_size (damaged), <, size);
  g_byte_array_append (whole, (const guint8 *)"GEMMCL 1" KEY, strlen ("GEMMCL 1" KEY));
  g_byte_array_append (whole, (const guint8 *)sum, strlen (sum));
  g_byte_array_append (whole, data, size);
  fuzz_write_cache (KEY ".bin", whole->data, whole->len);
  found = gemmcl_cache_load (KEY);
  g_assert_true ((found != NULL) == (size > 0));
  if (found != NULL)
    g_assert_true (memcmp (g_bytes_get_data (found, NULL), data, size) == 0);
  return 0;
}
