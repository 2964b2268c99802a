/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Common names for calls that differ between oneDNN 2 (Debian 12) and oneDNN 3 (Debian 13). */
#pragma once

#include <glib.h>
#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t Layout;
typedef const_dnnl_memory_desc_t ConstLayout;

static inline Layout
layout_new (const dnnl_dims_t sizes, dnnl_format_tag_t tag, int dimensions)
{
  Layout self = NULL;

  return dnnl_memory_desc_create_with_tag (&self, dimensions, sizes, dnnl_f32, tag) == dnnl_success
             ? self
             : NULL;
}

static inline void
layout_free (Layout self)
{
  dnnl_memory_desc_destroy (self);
}

static inline dnnl_status_t
append_relu (dnnl_post_ops_t operations)
{
  return dnnl_post_ops_append_eltwise (operations, dnnl_eltwise_relu, 0.0f, 0.0f);
}

static inline dnnl_status_t
describe_matmul (dnnl_primitive_desc_t *self, dnnl_engine_t engine, ConstLayout a, ConstLayout b,
                 ConstLayout bias, ConstLayout d, const_dnnl_primitive_attr_t attributes)
{
  return dnnl_matmul_primitive_desc_create (self, engine, a, b, bias, d, attributes);
}

static inline dnnl_status_t
describe_inner_product (dnnl_primitive_desc_t *self, dnnl_engine_t engine, ConstLayout a,
                        ConstLayout b, ConstLayout bias, ConstLayout d,
                        const_dnnl_primitive_attr_t attributes)
{
  return dnnl_inner_product_forward_primitive_desc_create (self, engine, dnnl_forward_inference, a,
                                                           b, bias, d, attributes);
}
#else
typedef dnnl_memory_desc_t *Layout;
typedef const dnnl_memory_desc_t *ConstLayout;

static inline Layout
layout_new (const dnnl_dims_t sizes, dnnl_format_tag_t tag, int dimensions)
{
  g_autofree Layout self = g_new0 (dnnl_memory_desc_t, 1);

  return dnnl_memory_desc_init_by_tag (self, dimensions, sizes, dnnl_f32, tag) == dnnl_success
             ? g_steal_pointer (&self)
             : NULL;
}

static inline void
layout_free (Layout self)
{
  g_free (self);
}

static inline dnnl_status_t
append_relu (dnnl_post_ops_t operations)
{
  return dnnl_post_ops_append_eltwise (operations, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
}

static inline dnnl_status_t
describe_matmul (dnnl_primitive_desc_t *self, dnnl_engine_t engine, ConstLayout a, ConstLayout b,
                 ConstLayout bias, ConstLayout d, const_dnnl_primitive_attr_t attributes)
{
  dnnl_matmul_desc_t problem;
  const dnnl_status_t status = dnnl_matmul_desc_init (&problem, a, b, bias, d);

  return status == dnnl_success
             ? dnnl_primitive_desc_create (self, &problem, attributes, engine, NULL)
             : status;
}

static inline dnnl_status_t
describe_inner_product (dnnl_primitive_desc_t *self, dnnl_engine_t engine, ConstLayout a,
                        ConstLayout b, ConstLayout bias, ConstLayout d,
                        const_dnnl_primitive_attr_t attributes)
{
  dnnl_inner_product_desc_t problem;
  const dnnl_status_t status =
      dnnl_inner_product_forward_desc_init (&problem, dnnl_forward_inference, a, b, bias, d);

  return status == dnnl_success
             ? dnnl_primitive_desc_create (self, &problem, attributes, engine, NULL)
             : status;
}
#endif
