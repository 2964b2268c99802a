/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-flight.h"

#include "gemmcl-negotiate.h"
#include "gemmcl-queue.h"

GstGemmclFlight *
gst_gemmcl_flights_new (guint n, guint batch)
{
  GstGemmclFlight *flights = g_new0 (GstGemmclFlight, n);

  for (guint i = 0; i < n; i++) {
    flights[i].inputs = g_new0 (GstBuffer *, batch);
    flights[i].outputs = g_new0 (GstBuffer *, batch);
    flights[i].mappings = g_new0 (GstGemmclMapping, 2 * batch);
    flights[i].a = g_new0 (GemmclHostData, batch);
    flights[i].d = g_new0 (GemmclHostData, batch);
  }
  return flights;
}

void
gst_gemmcl_flights_free (GstGemmclFlight *flights, guint n)
{
  for (guint i = 0; i < n; i++) {
    g_free (flights[i].inputs);
    g_free (flights[i].outputs);
    g_free (flights[i].mappings);
    g_free (flights[i].a);
    g_free (flights[i].d);
  }
  g_free (flights);
}

/* Rows of D for @buffer; 0 after an error. */
static gsize
get_m (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  gsize offset, samples;

  if (self->input.medium != GST_GEMMCL_MEDIUM_AUDIO)
    return self->problem.gemm.m;
  if (!gst_gemmcl_get_samples (&self->input.audio, buffer, &offset, &samples, error))
    return 0;
  return samples;
}

/* More rows than the plan has room for make a new one, with room to spare so that it is the last.
 */
static gboolean
make_room (GstGemmcl *self, gsize m, GError **error)
{
  gsize room = self->problem.gemm.m;

  if (m <= room)
    return TRUE;
  if (m > G_MAXINT32) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                 "A buffer of audio has %" G_GSIZE_FORMAT " samples; expected %d at most.", m,
                 G_MAXINT32);
    return FALSE;
  }
  while (room < m)
    room = MIN (2 * room, (gsize)G_MAXINT32);
  return gst_gemmcl_make_plan (self, room, error);
}

static gboolean
check_scalars (GstGemmcl *self, GError **error)
{
  if (self->run_beta == 0.0 || self->problem.gemm.addend != GEMMCL_ADDEND_NONE)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
               "beta is %g, batch-size is %u and there is no addend: the buffers of a batch are "
               "multiplied at once, so none has a previous output to add. Expected beta=0, "
               "batch-size=1 or an addend.",
               self->run_beta, self->settings.batch_size);
  return FALSE;
}

static void
unmap (GstGemmclFlight *flight)
{
  for (guint i = 0; i < 2 * flight->n; i++)
    gst_gemmcl_mapping_clear (&flight->mappings[i]);
}

static gboolean
map (GstGemmclFlight *flight, GstGemmcl *self, GError **error)
{
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_map_input (self, &flight->mappings[2 * i], flight->inputs[i], &flight->a[i],
                               error) ||
        !gst_gemmcl_map_output (self, &flight->mappings[2 * i + 1], flight->outputs[i],
                                &flight->d[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
submit (GstGemmclFlight *flight, GstGemmcl *self, gsize m, GError **error)
{
  /* The application may put another weight into the plan, but only this thread replaces it. */
  GemmclPlan *plan = self->plan;
  const GemmclHostRun run = {.m = m, .batch = flight->n, .a = flight->a, .d = flight->d};

  if (m != self->last_m)
    gemmcl_plan_reset_output (plan);
  self->last_m = m;
  gemmcl_plan_set_scalars (plan, self->run_alpha, self->run_beta);
  flight->run = gemmcl_plan_submit (plan, &run, error);
  if (!flight->run)
    return FALSE;
  flight->plan = g_object_ref (plan);
  return TRUE;
}

static gboolean
launch (GstGemmclFlight *flight, GstGemmcl *self, GError **error)
{
  gsize m;

  if (gst_gemmcl_is_empty (self, flight->inputs[0]))
    return TRUE;
  m = get_m (self, flight->inputs[0], error);
  if (m == 0 || !check_scalars (self, error) || !make_room (self, m, error))
    return FALSE;
  if (map (flight, self, error) && submit (flight, self, m, error))
    return TRUE;
  unmap (flight);
  return FALSE;
}

GstFlowReturn
gst_gemmcl_flight_launch (GstGemmclFlight *flight, GstGemmcl *self)
{
  g_autoptr (GError) error = NULL;

  if (launch (flight, self, &error))
    return GST_FLOW_OK;
  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return GST_FLOW_ERROR;
}

GstFlowReturn
gst_gemmcl_flight_land (GstGemmclFlight *flight, GstGemmcl *self)
{
  g_autoptr (GError) error = NULL;
  gboolean ok = !flight->run || gemmcl_plan_finish (flight->plan, flight->run, &error);

  flight->run = NULL;
  g_clear_object (&flight->plan);
  unmap (flight);
  if (!ok) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return GST_FLOW_ERROR;
  }
  g_mutex_lock (&self->lock);
  self->buffers += flight->n;
  g_mutex_unlock (&self->lock);
  return GST_FLOW_OK;
}
