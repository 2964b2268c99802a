/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * oneDNN, which chooses the order of the packed weights itself (format_tag::any), while A and D are
 * row-major. The variants are its two primitives for this: "matmul" and "inner-product".
 */
#include "process.h"

#include "onednn-compat.h"

/* A, B row-major, B in the primitive's order, the bias, and D. */
enum { A, B, ANY, BIAS, D, N_LAYOUTS };

typedef struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  Layout layouts[N_LAYOUTS];
  dnnl_memory_t memories[N_LAYOUTS]; /* [ANY]: the packed weights */
  dnnl_exec_arg_t arguments[4];
  int n_arguments;
} OneDnn;

static void
onednn_close (gpointer data)
{
  OneDnn *self = data;

  g_clear_pointer (&self->primitive, dnnl_primitive_destroy);
  for (guint i = 0; i < N_LAYOUTS; i++) {
    g_clear_pointer (&self->memories[i], dnnl_memory_destroy);
    g_clear_pointer (&self->layouts[i], layout_free);
  }
  g_clear_pointer (&self->stream, dnnl_stream_destroy);
  g_clear_pointer (&self->engine, dnnl_engine_destroy);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OneDnn, onednn_close)

/* Makes the layouts. The weights of an inner product are N x K, the transpose of B, and its bias
 * has one dimension; that of matmul has two. */
static gboolean
make_layouts (OneDnn *self, const PeersProblem *problem, gboolean matmul)
{
  const dnnl_dim_t m = problem->m, n = problem->n, k = problem->k;
  const dnnl_dims_t a = {m, k}, b = {matmul ? k : n, matmul ? n : k}, d = {m, n};
  const dnnl_dims_t bias_row = {1, n}, bias = {n};

  self->layouts[A] = layout_new (a, dnnl_ab, 2);
  self->layouts[B] = layout_new (b, matmul ? dnnl_ab : dnnl_ba, 2);
  self->layouts[ANY] = layout_new (b, dnnl_format_tag_any, 2);
  self->layouts[BIAS] = matmul ? layout_new (bias_row, dnnl_ab, 2) : layout_new (bias, dnnl_a, 1);
  self->layouts[D] = layout_new (d, dnnl_ab, 2);
  for (guint i = 0; i < N_LAYOUTS; i++)
    if (!self->layouts[i])
      return FALSE;
  return TRUE;
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

static gboolean
make_memory (OneDnn *self, guint which, ConstLayout layout, gpointer data)
{
  return dnnl_memory_create (&self->memories[which], layout, self->engine, data) == dnnl_success;
}

static gboolean
execute (OneDnn *self, const_dnnl_primitive_t primitive, int n, const dnnl_exec_arg_t *arguments)
{
  return dnnl_primitive_execute (primitive, self->stream, n, arguments) == dnnl_success &&
         dnnl_stream_wait (self->stream) == dnnl_success;
}

/* Packs B in the order that the primitive chose. */
static gboolean
pack (OneDnn *self, const PeersProblem *problem, ConstLayout layout)
{
  dnnl_primitive_desc_t description = NULL;
  dnnl_primitive_t reorder = NULL;
  gboolean good = make_memory (self, B, self->layouts[B], problem->b) &&
                  make_memory (self, ANY, layout, DNNL_MEMORY_ALLOCATE) &&
                  dnnl_reorder_primitive_desc_create (&description, self->layouts[B], self->engine,
                                                      layout, self->engine, NULL) == dnnl_success &&
                  dnnl_primitive_create (&reorder, description) == dnnl_success;

  if (good) {
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, self->memories[B]},
                                         {DNNL_ARG_TO, self->memories[ANY]}};
    good = execute (self, reorder, 2, arguments);
  }
  dnnl_primitive_destroy (reorder);
  dnnl_primitive_desc_destroy (description);
  return good;
}

static gboolean
make_arguments (OneDnn *self, const PeersProblem *problem)
{
  if (!make_memory (self, A, self->layouts[A], problem->a) ||
      !make_memory (self, BIAS, self->layouts[BIAS], problem->bias) ||
      !make_memory (self, D, self->layouts[D], problem->d))
    return FALSE;
  self->arguments[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, self->memories[A]};
  self->arguments[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, self->memories[ANY]};
  self->arguments[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, self->memories[D]};
  self->arguments[3] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, self->memories[BIAS]};
  self->n_arguments = problem->layer ? 4 : 3;
  return TRUE;
}

static gboolean
make_primitive (OneDnn *self, const PeersProblem *problem, gboolean matmul, GString *about)
{
  const ConstLayout bias = problem->layer ? self->layouts[BIAS] : NULL;
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_primitive_desc_t description = NULL;
  const char *implementation = "";
  const gboolean good =
      make_attributes (&attributes, problem->layer) &&
      (matmul ? describe_matmul : describe_inner_product) (
          &description, self->engine, self->layouts[A], self->layouts[ANY], bias, self->layouts[D],
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
  const gboolean matmul = peers_is (problem, "matmul");
  g_autoptr (OneDnn) self = g_new0 (OneDnn, 1);

  if (dnnl_engine_create (&self->engine, dnnl_cpu, 0) == dnnl_success &&
      dnnl_stream_create (&self->stream, self->engine, dnnl_stream_default_flags) == dnnl_success &&
      make_layouts (self, problem, matmul) && make_primitive (self, problem, matmul, about) &&
      make_arguments (self, problem))
    return g_steal_pointer (&self);
  peers_fail (error, PEERS_ERROR_FAILED, "oneDNN could not be set up.");
  return NULL;
}

static gboolean
onednn_run (gpointer data, GError **error)
{
  OneDnn *self = data;

  return execute (self, self->primitive, self->n_arguments, self->arguments) ||
         peers_fail (error, PEERS_ERROR_FAILED, "oneDNN failed.");
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender onednn = {.open = onednn_open, .run = onednn_run, .close = onednn_close};

  return peers_process_main (&onednn, argc, argv);
}
