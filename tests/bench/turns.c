/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "turns.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define TURN_S     0.04 /* approximate seconds of a turn */
#define MIN_TURN   8    /* minimum buffers of a turn */
#define MAX_TURN   5000
#define MIN_ROUNDS 5
#define MAX_ROUNDS 1000
#define A_BYTE     0x3f /* f32 of these bytes is 0.75 */

void
contestant_free (Contestant *self)
{
  self->free (self);
}

typedef struct {
  Contestant parent;
  GemmclPlan *plan;
  cl_command_queue queue; /* NULL: the plan runs on host memory */
  GemmclData a, d, rows;
} Plan;

static gboolean
run_plan (Contestant *contestant, guint n, GError **error)
{
  Plan *self = (Plan *)contestant;
  const GemmclRun run = {
      .size = sizeof run,
      .alpha = 1,
      .a = &self->a,
      .d = &self->d,
      .rows = self->rows.objects[0] ? &self->rows : NULL,
      .strided = self->queue != NULL,
  };

  for (guint i = 0; i < n; i++)
    if (!(self->queue ? gemmcl_plan_submit (self->plan, &run, NULL, NULL, error)
                      : gemmcl_plan_run (self->plan, &run, error)))
      return FALSE;
  if (self->queue)
    clFinish (self->queue);
  return TRUE;
}

static void
free_plan (Contestant *contestant)
{
  Plan *self = (Plan *)contestant;

  g_clear_object (&self->plan);
  g_clear_pointer (&self->a.objects[0], clReleaseMemObject);
  g_clear_pointer (&self->d.objects[0], clReleaseMemObject);
  g_clear_pointer (&self->rows.objects[0], clReleaseMemObject);
  g_free (self->d.host[0]);
  g_free (self);
}

static gboolean
make_buffer (GemmclData *data, GemmclContext *context, gsize size, GError **error)
{
  const guint8 byte = A_BYTE;

  data->kind = GEMMCL_DATA_BUFFER;
  data->objects[0] =
      clCreateBuffer (gemmcl_context_get_cl_context (context), CL_MEM_READ_WRITE, size, NULL, NULL);
  if (data->objects[0] &&
      clEnqueueFillBuffer (gemmcl_context_get_cl_queue (context), data->objects[0], &byte, 1, 0,
                           size, 0, NULL, NULL) == CL_SUCCESS)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "There is no buffer of %zu bytes.", size);
  return FALSE;
}

/* Sets the stride of a frame. Returns: the bytes of A or D. */
static gsize
describe (const GemmclImage *image, gsize elements, GemmclType type, GemmclData *data)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize size;

  if (!image)
    return elements * gemmcl_type_get_size (type);
  size = gemmcl_image_get_planes (image, planes);
  data->stride[0] = (gssize)planes[0].row_bytes;
  return size;
}

Contestant *
contestant_new_plan (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                     GemmclMatrix *b, gpointer a, GError **error)
{
  GemmclData a_data = {.host = {a}}, d_data = {0};
  const gsize a_size = describe (gemm->a_image, gemm->m * gemm->k, gemm->a_type, &a_data);
  const gsize d_size = describe (gemm->d_image, gemm->m * gemm->n, gemm->d_type, &d_data);
  Plan *self = g_new0 (Plan, 1);
  g_autoptr (Contestant) owner = &self->parent;

  self->parent = (Contestant){run_plan, free_plan};
  self->plan = gemmcl_plan_new (context, gemm, kernel, error);
  if (!self->plan || !gemmcl_plan_set_b (self->plan, b, error))
    return NULL;
  if (a) {
    self->a = a_data;
    self->d = d_data;
    self->d.host[0] = g_malloc0 (d_size);
    return g_steal_pointer (&owner);
  }
  self->queue = gemmcl_context_get_cl_queue (context);
  if (!make_buffer (&self->a, context, a_size, error) ||
      !make_buffer (&self->d, context, d_size, error) ||
      (gemm->row_outputs &&
       !make_buffer (&self->rows, context, gemm->m * 3 * sizeof (gfloat), error)))
    return NULL;
  return g_steal_pointer (&owner);
}

const gchar *
contestant_get_kernel (Contestant *self)
{
  return gemmcl_plan_get_kernel (((Plan *)self)->plan);
}

typedef struct {
  Contestant parent;
  gpointer from, to;
  gsize size;
} Copy;

static gboolean
run_copy (Contestant *contestant, guint n, GError **error G_GNUC_UNUSED)
{
  Copy *self = (Copy *)contestant;

  for (guint i = 0; i < n; i++)
    memcpy (self->to, self->from, self->size);
  return TRUE;
}

static void
free_copy (Contestant *contestant)
{
  g_free (((Copy *)contestant)->to);
  g_free (contestant);
}

Contestant *
contestant_new_memcpy (gpointer data, gsize size)
{
  Copy *self = g_new0 (Copy, 1);

  *self = (Copy){{run_copy, free_copy}, data, g_malloc0 (size), size};
  return &self->parent;
}

/* Plays a turn. Returns: the seconds of a buffer; negative with an error. */
static gdouble
take_turn (Contestant *one, guint n, GError **error)
{
  const gint64 start = g_get_monotonic_time ();

  one->end = 0;
  if (!one->run (one, n, error))
    return -1.0;
  return (gdouble)((one->end ? one->end : g_get_monotonic_time ()) - start) / G_USEC_PER_SEC / n;
}

/* Plays the first turns, which do not count. Returns: the seconds of a buffer of the slower
 * contestant. */
static gdouble
warm_up (Contestant *const both[2], guint n, GError **error)
{
  gdouble slower = 0.0;

  for (guint i = 0; i < 2; i++) {
    const gdouble first = take_turn (both[i], n, error);
    const gdouble second = first < 0.0 ? first : take_turn (both[i], n, error);

    if (second < 0.0)
      return second;
    slower = MAX (slower, second);
  }
  return slower;
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

gdouble
turns_quantile (gdouble *numbers, guint n, gdouble share)
{
  qsort (numbers, n, sizeof *numbers, compare_doubles);
  return numbers[(guint)(share * (n - 1) + 0.5)];
}

gboolean
turns_play (Turns *self, Contestant *theirs, Contestant *ours, guint turn, gdouble seconds,
            gboolean differences, GError **error)
{
  Contestant *const both[2] = {theirs, ours};
  const gdouble slower = warm_up (both, turn ? turn : MIN_TURN, error);
  const gint64 end = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  gdouble times[2][MAX_ROUNDS], figures[MAX_ROUNDS];
  guint n = 0;

  if (slower < 0.0)
    return FALSE;
  if (!turn)
    turn = (guint)CLAMP (TURN_S / slower, MIN_TURN, MAX_TURN);
  for (; n < MIN_ROUNDS || (n < MAX_ROUNDS && g_get_monotonic_time () < end); n++) {
    for (guint i = 0; i < 2; i++) {
      times[i][n] = take_turn (both[i], turn, error) * 1e6;
      if (times[i][n] < 0.0)
        return FALSE;
    }
    figures[n] = differences ? times[1][n] - times[0][n] : times[0][n] / times[1][n];
  }
  *self = (Turns){
      .rounds = n,
      .theirs = turns_quantile (times[0], n, 0.5),
      .ours = turns_quantile (times[1], n, 0.5),
      .low = turns_quantile (figures, n, 0.25),
      .middle = turns_quantile (figures, n, 0.5),
      .high = turns_quantile (figures, n, 0.75),
  };
  return TRUE;
}

gboolean
bench_init (Bench *self, const gchar *summary, const GOptionEntry *more, gint *argc, gchar ***argv)
{
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_FILENAME, &self->json_path, "Write the results there", "FILE"},
      {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &self->seconds, "Time for each case; 3", "SECONDS"},
      {"case", 0, 0, G_OPTION_ARG_STRING, &self->part, "Only the cases whose names have it",
       "PART"},
      {NULL},
  };
  g_autoptr (GOptionContext) options = g_option_context_new (summary);
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "");
  *self = (Bench){.seconds = 3.0, .list = json_array ()};
  g_option_context_add_main_entries (options, entries, NULL);
  g_option_context_add_main_entries (options, more, NULL);
  if (g_option_context_parse (options, argc, argv, &error))
    return TRUE;
  g_printerr ("%s\n", error->message);
  return FALSE;
}

gboolean
bench_wants (const Bench *self, const gchar *name)
{
  return !self->part || strstr (name, self->part);
}

gint
bench_end (Bench *self, gint status)
{
  if (status == PASSED && self->json_path &&
      json_dump_file (self->list, self->json_path, JSON_INDENT (2)) != 0) {
    g_printerr ("%s cannot be written.\n", self->json_path);
    status = FAILED;
  }
  json_decref (self->list);
  g_free (self->json_path);
  g_free (self->part);
  return status;
}
