/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-context.h"
#include "gemmcl-gemm.h"

GEMMCL_BEGIN_DECLS

/* The kernels of the library. Any thread may call these functions. */

/**
 * GemmclKernelInfo:
 * @name: the name that users type
 * @method: the part of @name before the sizes, "tiled" of "tiled_8x8_8x8"
 * @summary: a line of text
 * @precision: the precision in which the kernel multiplies
 * @needs: what it needs of a problem and a device, "K <= 65536, groups of 64, subgroups of 8" for
 *   example; "" for nothing
 * @max_m: the largest M; 0: no limit
 * @max_n: the largest N; 0: no limit
 * @max_k: the largest K; 0: no limit
 *
 * A kernel. Subgroups, images and matrix engines are emulated on devices without them.
 */
typedef struct {
  const gchar *name;
  const gchar *method;
  const gchar *summary;
  GemmclPrecision precision;
  const gchar *needs;
  gsize max_m, max_n, max_k;
} GemmclKernelInfo;

/**
 * gemmcl_get_n_kernels:
 *
 * Returns: the number of kernels.
 */
guint gemmcl_get_n_kernels (void);

/**
 * gemmcl_get_kernel:
 *
 * Returns: kernel @index, which is less than gemmcl_get_n_kernels(); static. Kernel 0 is the
 *   fallback.
 */
const GemmclKernelInfo *gemmcl_get_kernel (guint index);

/**
 * gemmcl_kernel_fits:
 * @context: (nullable): the device; %NULL: only check that the kernel exists
 * @name: the name of a kernel, with or without a split (see gemmcl_plan_new())
 * @gemm: (nullable): a problem; %NULL for any problem
 *
 * Returns: %TRUE if there is such a kernel and it can do @gemm on the device of @context; else
 *   %FALSE with %GEMMCL_ERROR_KERNEL, whose message has the reason or similar names, or with an
 *   error of gemmcl_gemm_validate().
 */
gboolean gemmcl_kernel_fits (GemmclContext *context, const gchar *name, const GemmclGemm *gemm,
                             GError **error);

/**
 * GemmclKernelLevel:
 * @GEMMCL_KERNEL_LEVEL_NATIVE: the kernel uses no subgroups, or the device has them
 *   (cl_intel_subgroups, cl_intel_required_subgroup_size)
 * @GEMMCL_KERNEL_LEVEL_KHR: subgroups use cl_khr_subgroup_shuffle, without block reads
 * @GEMMCL_KERNEL_LEVEL_EMULATED: subgroups exchange data through local memory, which is slow
 *
 * How a kernel runs on a device, best first. Only native kernels are chosen automatically; the
 * other levels need a kernel that the caller names. The environment variable GEMMCL_SUBGROUPS names
 * the best level that may be used. A CPU uses khr, which may take minutes to compile, only if the
 * variable is "khr".
 */
typedef enum {
  GEMMCL_KERNEL_LEVEL_NATIVE,
  GEMMCL_KERNEL_LEVEL_KHR,
  GEMMCL_KERNEL_LEVEL_EMULATED,
} GemmclKernelLevel;

/**
 * gemmcl_kernel_level_get_name:
 *
 * Returns: "native", "khr" or "emulated"; static.
 */
const gchar *gemmcl_kernel_level_get_name (GemmclKernelLevel level);

/**
 * gemmcl_kernel_get_level:
 * @name: the name of a kernel
 * @level: (out): the level at which it runs on the device of @context
 *
 * Builds a small program to try the subgroups. A plan uses the next level if the kernel itself does
 * not build.
 *
 * Returns: %FALSE with %GEMMCL_ERROR_KERNEL, whose message says why the kernel does not run there.
 */
gboolean gemmcl_kernel_get_level (GemmclContext *context, const gchar *name,
                                  GemmclKernelLevel *level, GError **error);

/**
 * gemmcl_kernel_get_source:
 * @name: the name of a kernel, without a split
 * @gemm: the problem to build it for
 * @options: (out) (transfer full): the compiler's options
 *
 * Gets the program that gemmcl_plan_new() would compile, with native subgroups, for offline
 * compilers.
 *
 * Returns: (transfer none): OpenCL C without #include, with a kernel function called gemm; %NULL
 *   with %GEMMCL_ERROR_KERNEL or an error of gemmcl_gemm_validate().
 */
const gchar *gemmcl_kernel_get_source (const gchar *name, const GemmclGemm *gemm, gchar **options,
                                       GError **error);

/**
 * GemmclChoiceSource:
 * @GEMMCL_CHOICE_NAMED: the caller named the kernel
 * @GEMMCL_CHOICE_TUNED: an entry of the tuning file, measured on this machine
 * @GEMMCL_CHOICE_SHIPPED: an entry shipped with the library, measured on the same kind of device
 * @GEMMCL_CHOICE_RULES: the rules, which compare the kernels of the table
 *
 * The origin of a plan's kernel.
 */
typedef enum {
  GEMMCL_CHOICE_NAMED,
  GEMMCL_CHOICE_TUNED,
  GEMMCL_CHOICE_SHIPPED,
  GEMMCL_CHOICE_RULES,
} GemmclChoiceSource;

/**
 * gemmcl_choice_source_get_name:
 *
 * Returns: "named", "tuned", "shipped" or "rules"; static.
 */
const gchar *gemmcl_choice_source_get_name (GemmclChoiceSource source);

GEMMCL_END_DECLS
