/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What it is worth that a kernel makes softmax and row outputs by itself: the same plans with
 * GEMMCL_ROWS=apart, for which steps of their own do, taking turns with them.
 *
 *     bench-rows [OPTION...] [KERNEL]     KERNEL: as for gemmcl bench; auto if not given
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemmcl-opencl.h"
#include "gemmcl.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

enum { PASSED = 0, FAILED = 1, USAGE = 2, SKIPPED = 77 };

#define MAX_ROUNDS 1000
#define ALL        (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX)

static gint rounds = 60;

typedef struct {
  gsize m, n, k;
  GemmclActivation activation;
  guint outputs;
} Case;

static const Case cases[] = {
    {4096, 64, 256, GEMMCL_ACTIVATION_SOFTMAX, 0},
    {4096, 64, 256, GEMMCL_ACTIVATION_NONE, ALL},
    {4096, 64, 256, GEMMCL_ACTIVATION_SOFTMAX, ALL},
    {4096, 10, 64, GEMMCL_ACTIVATION_SOFTMAX, GEMMCL_ROW_ARG_MAX},
    {65536, 32, 32, GEMMCL_ACTIVATION_SOFTMAX, 0},
    {64, 64, 1024, GEMMCL_ACTIVATION_SOFTMAX, 0},
};

typedef struct {
  GemmclPlan *plan;
  GemmclData a, d, rows; /* buffers */
  gdouble seconds[MAX_ROUNDS];
} Way;

static cl_mem
create_buffer (GemmclContext *context, gsize n, GError **error)
{
  const cl_float half = 0.5f;
  cl_int status;
  cl_mem buffer = clCreateBuffer (gemmcl_context_get_cl_context (context), CL_MEM_READ_WRITE,
                                  n * sizeof (half), NULL, &status);

  if (buffer == NULL ||
      clEnqueueFillBuffer (gemmcl_context_get_cl_queue (context), buffer, &half, sizeof (half), 0,
                           n * sizeof (half), 0, NULL, NULL) != CL_SUCCESS)
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "There is no buffer of %zu floats.", n);
  return buffer;
}

static gboolean
create_data (GemmclData *data, GemmclContext *context, gsize n, GError **error)
{
  data->kind = GEMMCL_DATA_BUFFER;
  data->objects[0] = create_buffer (context, n, error);
  return data->objects[0] != NULL;
}

static void
way_clear (Way *self)
{
  const cl_mem buffers[] = {self->a.objects[0], self->d.objects[0], self->rows.objects[0]};

  g_clear_object (&self->plan);
  for (gsize i = 0; i < G_N_ELEMENTS (buffers); i++)
    if (buffers[i] != NULL)
      clReleaseMemObject (buffers[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Way, way_clear)

static gboolean
way_init (Way *self, GemmclContext *context, const Case *what, const gchar *kernel, gboolean apart,
          GError **error)
{
  g_autofree gfloat *weights = g_new (gfloat, what->k * what->n);
  g_autoptr (GemmclMatrix) b = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = what->m;
  gemm.n = what->n;
  gemm.k = what->k;
  gemm.activation = what->activation;
  gemm.row_outputs = what->outputs;
  for (gsize i = 0; i < what->k * what->n; i++)
    weights[i] = (gfloat)(i * 7 % 19) / 190;
  if (apart)
    g_setenv ("GEMMCL_ROWS", "apart", TRUE);
  self->plan = gemmcl_plan_new (context, &gemm, kernel, error);
  g_unsetenv ("GEMMCL_ROWS");
  if (self->plan != NULL)
    b = gemmcl_matrix_new (GEMMCL_TYPE_F32, what->k, what->n, weights, error);
  if (b == NULL || !gemmcl_plan_set_b (self->plan, b, error) ||
      !create_data (&self->a, context, what->m * what->k, error) ||
      !create_data (&self->d, context, what->m * what->n, error))
    return FALSE;
  return !what->outputs || create_data (&self->rows, context, what->m * 3, error);
}

static gboolean
way_run (Way *self, cl_command_queue queue, gdouble *seconds, GError **error)
{
  const gint64 begin = g_get_monotonic_time ();
  const GemmclRun run = {
      .size = sizeof run,
      .alpha = 1,
      .a = &self->a,
      .d = &self->d,
      .rows = self->rows.objects[0] ? &self->rows : NULL,
      .strided = TRUE,
  };

  if (!gemmcl_plan_submit (self->plan, &run, NULL, NULL, error))
    return FALSE;
  clFinish (queue);
  *seconds = (g_get_monotonic_time () - begin) / 1e6;
  return TRUE;
}

static int
compare (const void *a, const void *b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
  return (x > y) - (x < y);
}

static gdouble
get_median (Way *self)
{
  qsort (self->seconds, rounds, sizeof (gdouble), compare);
  return self->seconds[rounds / 2];
}

static gchar *
print_name (const Case *what)
{
  return g_strdup_printf ("%zux%zux%zu%s%s%s", what->m, what->n, what->k,
                          what->activation ? " " : "",
                          what->activation ? gemmcl_activation_get_name (what->activation) : "",
                          what->outputs ? " row outputs" : "");
}

static json_t *
report (const gchar *name, Way *whole, Way *apart)
{
  const gchar *kernel = gemmcl_plan_get_kernel (whole->plan);
  const gdouble us = get_median (whole) * 1e6, apart_us = get_median (apart) * 1e6;

  printf ("%-32s %-18s %10.1f %10.1f %6.2f\n", name, kernel, apart_us, us, apart_us / us);
  return json_pack ("{s:s, s:s, s:i, s:f, s:f, s:f}", "case", name, "kernel", kernel, "rounds",
                    (int)rounds, "apart_us", apart_us, "whole_us", us, "ratio", apart_us / us);
}

/* Returns: (transfer full): what came of it; %NULL with an error. */
static json_t *
run_case (GemmclContext *context, const Case *what, const gchar *name, const gchar *kernel,
          GError **error)
{
  const cl_command_queue queue = gemmcl_context_get_cl_queue (context);
  g_auto (Way) whole = {0};
  g_auto (Way) apart = {0};
  gdouble ignored;

  if (!way_init (&whole, context, what, kernel, FALSE, error) ||
      !way_init (&apart, context, what, kernel, TRUE, error) ||
      !way_run (&whole, queue, &ignored, error) || !way_run (&apart, queue, &ignored, error))
    return NULL;
  for (gint i = 0; i < rounds; i++)
    if (!way_run (&whole, queue, &whole.seconds[i], error) ||
        !way_run (&apart, queue, &apart.seconds[i], error))
      return NULL;
  return report (name, &whole, &apart);
}

static gint
run_all (GemmclContext *context, const gchar *part, const gchar *kernel, const gchar *json_path)
{
  g_autoptr (json_t) list = json_array ();

  printf ("%-32s %-18s %10s %10s %6s\n", "M x N x K", "kernel", "apart, us", "whole, us", "ratio");
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *name = print_name (&cases[i]);
    g_autoptr (GError) error = NULL;
    json_t *one;

    if (part && !strstr (name, part))
      continue;
    one = run_case (context, &cases[i], name, kernel, &error);
    if (one == NULL) {
      fprintf (stderr, "%s: %s\n", name, error->message);
      return FAILED;
    }
    json_array_append_new (list, one);
  }
  if (json_path == NULL || json_dump_file (list, json_path, JSON_INDENT (2)) == 0)
    return PASSED;
  fprintf (stderr, "%s cannot be written.\n", json_path);
  return FAILED;
}

int
main (int argc, char **argv)
{
  g_autofree gchar *json_path = NULL, *part = NULL;
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_FILENAME, &json_path, "Write the results there", "FILE"},
      {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "Runs of each, 1 to 1000; 60", "N"},
      {"case", 0, 0, G_OPTION_ARG_STRING, &part, "Only the cases whose names have it", "PART"},
      {NULL},
  };
  g_autoptr (GOptionContext) options = g_option_context_new ("[KERNEL] - rows in the kernel");
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) context = NULL;

  g_option_context_add_main_entries (options, entries, NULL);
  if (!g_option_context_parse (options, &argc, &argv, &error)) {
    fprintf (stderr, "%s\n", error->message);
    return USAGE;
  }
  rounds = CLAMP (rounds, 1, MAX_ROUNDS);
  context = gemmcl_context_new (NULL, &error);
  if (context == NULL) {
    fprintf (stderr, "%s\n", error->message);
    return SKIPPED;
  }
  return run_all (context, part, argc > 1 ? argv[1] : NULL, json_path);
}
