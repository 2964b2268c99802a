/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A and B in the form that multiply reads: B in panels and in int8, A and B in images. The programs
 * in kernels/ document these forms.
 */
#pragma once

#include "plan/kernel-plan.h"

gboolean gemmcl_pack_is_int8 (GemmclKernelPlan *self);

/** TRUE if multiply reads a B that is packed, in panels or an image. */
gboolean gemmcl_pack_is_needed (GemmclKernelPlan *self);

/** N rounded up to whole panels. */
gsize gemmcl_pack_get_padded_n (GemmclKernelPlan *self);

/** Elements of one packed B, or of its part of a split K. */
gsize gemmcl_pack_get_size (GemmclKernelPlan *self);

/** The compiler's options for the programs that pack B in panels, and A or B in images. */
gchar *gemmcl_pack_make_options (GemmclKernelPlan *self);
gchar *gemmcl_pack_make_image_options (GemmclKernelPlan *self, GemmclOperand which);

/** The kernel for gemmcl_pack_launch(). */
cl_kernel gemmcl_pack_create_kernel (GemmclKernelPlan *self, GError **error);

/** Memory for @n packed B. */
cl_mem gemmcl_pack_create_b (GemmclKernelPlan *self, gsize n, GError **error);

/** Enqueues packing @b, laid out as @strides, into @packed. @scales: (nullable): for a B that was
 * int8: N scales of its columns, then N zero points, all f32 */
gboolean gemmcl_pack_launch (GemmclKernelPlan *self, cl_kernel kernel, cl_mem b,
                             const GemmclStrides *strides, cl_mem scales, cl_mem packed,
                             gsize batch, GemmclChain *chain, GError **error);

/** An image for A. Computes the blocks of A and B. */
cl_mem gemmcl_pack_create_a (GemmclKernelPlan *self, GError **error);

/** Packs A of @p, in @from, into the plan's image. Changes the strides of A and B in @p to those of
 * blocks. */
gboolean gemmcl_pack_launch_a (GemmclKernelPlan *self, cl_kernel kernel, cl_mem from,
                               GemmclArguments *p, gsize batch, GemmclChain *chain, GError **error);
