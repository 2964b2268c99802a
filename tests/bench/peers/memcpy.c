/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>
#include <string.h>

void peers_memcpy (char *to, const char *from, size_t bytes, int threads);

/* Copies by memcpy, each thread a share, for host.py. */
void
peers_memcpy (char *to, const char *from, size_t bytes, int threads)
{
  const size_t share = (bytes / (size_t)threads + 63) / 64 * 64;

#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; i++) {
    const size_t start = (size_t)i * share, end = start + share;

    if (start < bytes)
      memcpy (to + start, from + start, (end < bytes ? end : bytes) - start);
  }
}
