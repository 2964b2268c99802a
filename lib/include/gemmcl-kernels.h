/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-context.h"
#include "gemmcl-gemm.h"

GEMMCL_BEGIN_DECLS

/** The kernels of the library. All functions may be called from any thread. */

/**
 * GemmclKernelInfo:
 * @name: what users type
 * @method: the part of the name before the sizes, "tiled" of "tiled_8x8_8x8"
 * @summary: one line
 * @precision: the precision that it computes in
 * @needs: the needs that follow, in words, "K <= 65536, groups of 64"; "" for none
 * @max_m, @max_n, @max_k: the largest problem; 0: any
 * @work_group: work-items of a work-group
 * @subgroup: work-items of a subgroup; 0: it uses none
 * @images: A and B are OpenCL images
 * @matrix_engines: it multiplies by matrix engines
 *
 * Devices without subgroups, images or matrix engines emulate them.
 */
typedef struct {
  const gchar *name;
  const gchar *method;
  const gchar *summary;
  GemmclPrecision precision;
  const gchar *needs;
  gsize max_m, max_n, max_k;
  guint work_group;
  guint subgroup;
  gboolean images;
  gboolean matrix_engines;
} GemmclKernelInfo;

/** gemmcl_get_n_kernels: Returns: the number of kernels. */
guint gemmcl_get_n_kernels (void);

/** gemmcl_get_kernel: Returns: kernel @index, the fallback first; static. */
const GemmclKernelInfo *gemmcl_get_kernel (guint index);

/** gemmcl_kernel_exists: Returns: %TRUE if @name is a kernel's name, with or without a split (see
 * gemmcl_plan_new()); else %FALSE with #GEMMCL_ERROR_KERNEL, which lists similar names. */
gboolean gemmcl_kernel_exists (const gchar *name, GError **error);

/**
 * gemmcl_kernel_fits:
 * @name: the name of a kernel
 * @gemm: (nullable): a problem; %NULL to ask for the device alone
 *
 * Returns: %TRUE if the kernel can do @gemm on the device of @context; else %FALSE with
 *   #GEMMCL_ERROR_KERNEL, which says why not.
 */
gboolean gemmcl_kernel_fits (GemmclContext *context, const gchar *name, const GemmclGemm *gemm,
                             GError **error);

/**
 * GemmclKernelLevel:
 * @GEMMCL_KERNEL_LEVEL_NATIVE: the device has the subgroups that the kernel uses, if any
 *   (cl_intel_subgroups, cl_intel_required_subgroup_size)
 * @GEMMCL_KERNEL_LEVEL_KHR: its subgroups use cl_khr_subgroup_shuffle and have no block reads
 * @GEMMCL_KERNEL_LEVEL_EMULATED: its subgroups exchange data through local memory: right, but slow;
 *   used only when the kernel is named
 *
 * How a kernel runs on a device, best first. The environment variable GEMMCL_SUBGROUPS, set to a
 * level's name, disables better levels. On a CPU "khr" must be asked for this way: its shuffles are
 * no faster than the emulation and may take minutes to compile.
 */
typedef enum {
  GEMMCL_KERNEL_LEVEL_NATIVE,
  GEMMCL_KERNEL_LEVEL_KHR,
  GEMMCL_KERNEL_LEVEL_EMULATED,
} GemmclKernelLevel;

/** gemmcl_kernel_level_get_name: Returns: "native", "khr" or "emulated"; static. */
const gchar *gemmcl_kernel_level_get_name (GemmclKernelLevel level);

/**
 * gemmcl_kernel_get_level:
 * @name: the name of a kernel
 * @level: (out): how it runs on the device of @context
 *
 * Tries the subgroups on the device by building a small program. A kernel that does not build at
 * this level runs at the next one.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_KERNEL, which says why it does not run there.
 */
gboolean gemmcl_kernel_get_level (GemmclContext *context, const gchar *name,
                                  GemmclKernelLevel *level, GError **error);

/**
 * gemmcl_kernel_get_source:
 * @name: the name of a kernel
 * @gemm: the problem that it would be built for
 * @options: (out) (transfer full): the compiler's options
 *
 * The program and options that gemmcl_plan_new() would compile, for offline compilers and devices
 * that are not here. Subgroups are native.
 *
 * Returns: (transfer none): OpenCL C without #include, whose kernel is called gemm; %NULL with
 *   #GEMMCL_ERROR_KERNEL or an error of gemmcl_gemm_validate().
 */
const gchar *gemmcl_kernel_get_source (const gchar *name, const GemmclGemm *gemm, gchar **options,
                                       GError **error);

/**
 * GemmclChoiceSource:
 * @GEMMCL_CHOICE_NAMED: the caller named the kernel
 * @GEMMCL_CHOICE_TUNED: an entry of the tuning file, measured on this machine
 * @GEMMCL_CHOICE_SHIPPED: an entry that the library ships, measured on the same kind of device
 * @GEMMCL_CHOICE_RULES: the rules over the table of kernels
 *
 * Where the choice of a kernel comes from.
 */
typedef enum {
  GEMMCL_CHOICE_NAMED,
  GEMMCL_CHOICE_TUNED,
  GEMMCL_CHOICE_SHIPPED,
  GEMMCL_CHOICE_RULES,
} GemmclChoiceSource;

/** gemmcl_choice_source_get_name: Returns: "named", "tuned", "shipped" or "rules"; static. */
const gchar *gemmcl_choice_source_get_name (GemmclChoiceSource source);

GEMMCL_END_DECLS
