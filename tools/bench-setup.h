/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench-sizes.h"

/**
 * BenchSetup:
 * @info: the device
 * @gemm: the problem but for its sizes
 * @sizes: these
 * @names: (element-type utf8): the kernels, as they were asked for
 * @iterations: runs of each kernel
 * @verify: results are checked
 * @peak, @peak_source: 10^9 operations a second, in f32 whatever the kernels compute in, and where
 *   that comes from; 0: unknown, and why
 * @peak_stated: it is what the user says it is, of whatever precision
 * @bandwidth, @bandwidth_source: 10^9 bytes a second of the device's memory, likewise; 0: nobody
 *   asked
 *
 * What all measurements of a call of bench have in common. Nothing is owned but @bandwidth_source.
 */
typedef struct {
  const GemmclDeviceInfo *info;
  GemmclGemm gemm;
  const BenchSizes *sizes;
  GPtrArray *names;
  guint iterations;
  gboolean verify;
  gdouble peak;
  const gchar *peak_source;
  gboolean peak_stated;
  gdouble bandwidth;
  gchar *bandwidth_source;
} BenchSetup;
