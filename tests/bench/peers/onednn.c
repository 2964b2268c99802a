/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * oneDNN, which chooses the order of the packed weights itself (format_tag::any), while A and D are
 * row-major. The variants are its two primitives for this: "matmul" and "inner-product".
 */
#include "process.h"

#include "onednn-compat.h"

typedef struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  Layout a_layout, b_layout, any_layout, bias_layout, d_layout;
  dnnl_memory_t a, b, packed, bias, d;
  dnnl_exec_arg_t arguments[4];
  int n_arguments;
} OneDnn;

static void
onednn_close (gpointer data)
{
  OneDnn *self = data;

  g_clear_pointer (&self->primitive, dnnl_primitive_destroy);
  g_clear_pointer (&self->a, dnnl_memory_destroy);
  g_clear_pointer (&self->b, dnnl_memory_destroy);
  g_clear_pointer (&self->packed, dnnl_memory_destroy);
  g_clear_pointer (&self->bias, dnnl_memory_destroy);
  g_clear_pointer (&self->d, dnnl_memory_destroy);
  g_clear_pointer (&self->a_layout, layout_free);
  g_clear_pointer (&self->b_layout, layout_free);
  g_clear_pointer (&self->any_layout, layout_free);
  g_clear_pointer (&self->bias_layout, layout_free);
  g_clear_pointer (&self->d_layout, layout_free);
  g_clear_pointer (&self->stream, dnnl_stream_destroy);
  g_clear_pointer (&self->engine, dnnl_engine_destroy);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OneDnn, onednn_close)

/* An inner product's weights are N x K, and so B's rows are their columns; its bias has one
 * dimension and so a layout that matmul's has not. */
static gboolean
make_layouts (OneDnn *self, const PeersProblem *problem, gboolean matmul)
{
  const dnnl_dim_t m = problem->m, n = problem->n, k = problem->k;
  const dnnl_dims_t a = {m, k}, b = {matmul ? k : n, matmul ? n : k}, d = {m, n};
  const dnnl_dims_t bias_row = {1, n}, bias = {n};

  self->a_layout = layout_new (a, dnnl_ab, 2);
  self->b_layout = layout_new (b, matmul ? dnnl_ab : dnnl_ba, 2);
  self->any_layout = layout_new (b, dnnl_format_tag_any, 2);
  self->bias_layout = matmul ? layout_new (bias_row, dnnl_ab, 2) : layout_new (bias, dnnl_a, 1);
  self->d_layout = layout_new (d, dnnl_ab, 2);
  return self->a_layout && self->b_layout && self->any_layout && self->bias_layout &&
         self->d_layout;
}

static gboolean
make_attributes (dnnl_primitive_attr_t *attributes, gboolean layer)
{
  dnnl_post_ops_t operations = NULL;
  gboolean good = dnnl_primitive_attr_create (attributes) == dnnl_success;

  if (!good || !layer)
    return good;
  good = dnnl_post_ops_create (&operations) == dnnl_success &&
         append_relu (operations) == dnnl_success &&
         dnnl_primitive_attr_set_post_ops (*attributes, operations) == dnnl_success;
  dnnl_post_ops_destroy (operations);
  return good;
}

/* Brings B into the order that the primitive wants. */
static gboolean
pack (OneDnn *self, const PeersProblem *problem, ConstLayout layout)
{
  dnnl_primitive_desc_t description = NULL;
  dnnl_primitive_t reorder = NULL;
  gboolean good =
      dnnl_memory_create (&self->b, self->b_layout, self->engine, problem->b) == dnnl_success &&
      dnnl_memory_create (&self->packed, layout, self->engine, DNNL_MEMORY_ALLOCATE) ==
          dnnl_success &&
      dnnl_reorder_primitive_desc_create (&description, self->b_layout, self->engine, layout,
                                          self->engine, NULL) == dnnl_success &&
      dnnl_primitive_create (&reorder, description) == dnnl_success;

  if (good) {
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, self->b}, {DNNL_ARG_TO, self->packed}};
    good = dnnl_primitive_execute (reorder, self->stream, 2, arguments) == dnnl_success &&
           dnnl_stream_wait (self->stream) == dnnl_success;
  }
  dnnl_primitive_destroy (reorder);
  dnnl_primitive_desc_destroy (description);
  return good;
}

static gboolean
make_arguments (OneDnn *self, const PeersProblem *problem)
{
  if (dnnl_memory_create (&self->a, self->a_layout, self->engine, problem->a) != dnnl_success ||
      dnnl_memory_create (&self->bias, self->bias_layout, self->engine, problem->bias) !=
          dnnl_success ||
      dnnl_memory_create (&self->d, self->d_layout, self->engine, problem->d) != dnnl_success)
    return FALSE;
  self->arguments[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, self->a};
  self->arguments[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, self->packed};
  self->arguments[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, self->d};
  self->arguments[3] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, self->bias};
  self->n_arguments = problem->layer ? 4 : 3;
  return TRUE;
}

static gboolean
make_primitive (OneDnn *self, const PeersProblem *problem, GString *about)
{
  const gboolean matmul = g_str_equal (problem->variant, "matmul");
  const ConstLayout bias = problem->layer ? self->bias_layout : NULL;
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_primitive_desc_t description = NULL;
  const char *implementation = "";
  const gboolean good =
      make_attributes (&attributes, problem->layer) &&
      (matmul ? describe_matmul : describe_inner_product) (
          &description, self->engine, self->a_layout, self->any_layout, bias, self->d_layout,
          attributes) == dnnl_success &&
      dnnl_primitive_create (&self->primitive, description) == dnnl_success &&
      pack (self, problem, dnnl_primitive_desc_query_md (description, dnnl_query_weights_md, 0)) &&
      dnnl_primitive_desc_query (description, dnnl_query_impl_info_str, 0, &implementation) ==
          dnnl_success;

  g_string_append_printf (about, "oneDNN %d.%d.%d, %s, threads: %u", dnnl_version ()->major,
                          dnnl_version ()->minor, dnnl_version ()->patch, implementation,
                          problem->threads);
  dnnl_primitive_desc_destroy (description);
  dnnl_primitive_attr_destroy (attributes);
  return good;
}

static gpointer
onednn_open (const PeersProblem *problem, GString *about, GError **error)
{
  g_autoptr (OneDnn) self = g_new0 (OneDnn, 1);

  if (dnnl_engine_create (&self->engine, dnnl_cpu, 0) == dnnl_success &&
      dnnl_stream_create (&self->stream, self->engine, dnnl_stream_default_flags) == dnnl_success &&
      make_layouts (self, problem, g_str_equal (problem->variant, "matmul")) &&
      make_primitive (self, problem, about) && make_arguments (self, problem))
    return g_steal_pointer (&self);
  g_set_error (error, PEERS_ERROR, PEERS_ERROR_FAILED, "oneDNN could not be set up.");
  return NULL;
}

static gboolean
onednn_run (gpointer data, GError **error)
{
  OneDnn *self = data;

  if (dnnl_primitive_execute (self->primitive, self->stream, self->n_arguments, self->arguments) ==
          dnnl_success &&
      dnnl_stream_wait (self->stream) == dnnl_success)
    return TRUE;
  g_set_error (error, PEERS_ERROR, PEERS_ERROR_FAILED, "oneDNN failed.");
  return FALSE;
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender onednn = {onednn_open, onednn_run, NULL, onednn_close, NULL};

  return peers_process_main (&onednn, argc, argv);
}
