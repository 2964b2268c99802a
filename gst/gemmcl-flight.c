/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-flight.h"

#include "gemmcl-context.h"
#include "gemmcl-dmabuf.h"
#include "gemmcl-negotiate.h"
#include "gemmcl-run.h"
#include "gemmcl-va.h"

GstGemmclFlight *
gst_gemmcl_flights_new (guint n, guint batch)
{
  GstGemmclFlight *flights = g_new0 (GstGemmclFlight, n);

  for (guint i = 0; i < n; i++) {
    flights[i].inputs = g_new0 (GstBuffer *, batch);
    flights[i].outputs = g_new0 (GstBuffer *, batch);
    flights[i].mappings = g_new0 (GstGemmclMapping, 2 * batch);
    flights[i].row_mappings = g_new0 (GstGemmclMapping, batch);
    flights[i].a = g_new0 (GemmclHostData, batch);
    flights[i].d = g_new0 (GemmclHostData, batch);
    flights[i].rows = g_new0 (gfloat *, batch);
    flights[i].device_a = g_new0 (GemmclDeviceData, batch);
    flights[i].device_d = g_new0 (GemmclDeviceData, batch);
    flights[i].planes_a = g_new0 (GemmclPlaneImages, batch);
    flights[i].wait = g_new0 (cl_event, 2 * batch * GST_OPENCL_MAX_EVENTS);
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
    g_free (flights[i].row_mappings);
    g_free (flights[i].a);
    g_free (flights[i].d);
    g_free (flights[i].rows);
    g_free (flights[i].device_a);
    g_free (flights[i].device_d);
    g_free (flights[i].planes_a);
    g_free (flights[i].wait);
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
  /* Larger outputs, too, from a pool. */
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
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

static GstGemmclMapping *
get_input (GstGemmclFlight *flight, guint index)
{
  return &flight->mappings[2 * index];
}

static GstGemmclMapping *
get_output (GstGemmclFlight *flight, guint index)
{
  return &flight->mappings[2 * index + 1];
}

static void
unmap_inputs (GstGemmclFlight *flight)
{
  for (guint i = 0; i < flight->n; i++)
    gst_gemmcl_mapping_clear (get_input (flight, i));
}

static void
unmap_rows (GstGemmclFlight *flight)
{
  for (guint i = 0; i < flight->n; i++)
    gst_gemmcl_mapping_clear (&flight->row_mappings[i]);
}

static void
unmap_outputs (GstGemmclFlight *flight)
{
  for (guint i = 0; i < flight->n; i++)
    gst_gemmcl_mapping_clear (get_output (flight, i));
}

/* Whether the inputs are to be read as VA surfaces. dma-bufs may be such, too, and then lie in
 * memory as only the media driver knows; if caps say so, nothing else will do. */
static gboolean
are_surfaces (GstGemmclFlight *flight, GstGemmcl *self)
{
  if (self->input_memory == GST_GEMMCL_MEMORY_TILED)
    return TRUE;
  if (self->input_memory != GST_GEMMCL_MEMORY_VA && self->input_memory != GST_GEMMCL_MEMORY_DMABUF)
    return FALSE;
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_va_has_surface (flight->inputs[i]))
      return gst_gemmcl_dmabuf_is_torn (flight->inputs[i]);
  return self->input_memory == GST_GEMMCL_MEMORY_VA ||
         (gemmcl_pixel_format_get_n_planes (self->problem.a_image.format) == 2 &&
          (self->problem.a_image.width | self->problem.a_image.height) % 2 == 0 &&
          gst_gemmcl_va_check (self, self->context, NULL));
}

static gboolean
open_surfaces (GstGemmclFlight *flight, GstGemmcl *self, GError **error)
{
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_va_expect_surface (self, flight->inputs[i], error))
      return FALSE;
  if (!gst_gemmcl_context_adapt (self, flight->inputs[0], error))
    return FALSE;
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_va_open (self, flight->inputs[i], &flight->planes_a[i], &flight->acquire,
                             &flight->release, error))
      return FALSE;
  flight->a_memory = GST_GEMMCL_MEMORY_VA;
  return TRUE;
}

static gboolean
open_opencl (GstGemmclFlight *flight, GstGemmcl *self)
{
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_device_open_input (self, get_input (flight, i), flight->inputs[i],
                                       &flight->device_a[i])) {
      unmap_inputs (flight);
      return FALSE;
    }
  flight->a_memory = GST_GEMMCL_MEMORY_OPENCL;
  flight->a_on_device = TRUE;
  return TRUE;
}

static gboolean
open_dmabufs (GstGemmclFlight *flight, GstGemmcl *self)
{
  if (self->input_memory != GST_GEMMCL_MEMORY_DMABUF)
    return FALSE;
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_dmabuf_open (self, flight->inputs[i], &flight->device_a[i], &flight->acquire,
                                 &flight->release)) {
      flight->acquire = flight->release = NULL;
      return FALSE;
    }
  flight->a_memory = GST_GEMMCL_MEMORY_DMABUF;
  return TRUE;
}

/* On the device, if all are there. */
static gboolean
map_inputs (GstGemmclFlight *flight, GstGemmcl *self, GError **error)
{
  if (are_surfaces (flight, self))
    return open_surfaces (flight, self, error);
  if (open_opencl (flight, self) || open_dmabufs (flight, self))
    return TRUE;
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_map_input (self, get_input (flight, i), flight->inputs[i], &flight->a[i],
                               error))
      return FALSE;
  flight->a_memory = GST_GEMMCL_MEMORY_SYSTEM;
  return TRUE;
}

static gboolean
map_outputs (GstGemmclFlight *flight, GstGemmcl *self, GError **error)
{
  flight->d_on_device = TRUE;
  for (guint i = 0; flight->d_on_device && i < flight->n; i++)
    flight->d_on_device = gst_gemmcl_device_open_output (self, get_output (flight, i),
                                                         flight->outputs[i], &flight->device_d[i]);
  if (flight->d_on_device)
    return TRUE;
  unmap_outputs (flight);
  for (guint i = 0; i < flight->n; i++)
    if (!gst_gemmcl_map_output (self, get_output (flight, i), flight->outputs[i], &flight->d[i],
                                error))
      return FALSE;
  return TRUE;
}

static gboolean
map_rows (GstGemmclFlight *flight, GstGemmcl *self, GError **error)
{
  for (guint i = 0; self->problem.gemm.row_outputs != 0 && i < flight->n; i++)
    if (!gst_gemmcl_map_rows (&flight->row_mappings[i], flight->outputs[i], &flight->rows[i],
                              error))
      return FALSE;
  return TRUE;
}

/* What the run has to wait for. */
static guint
collect_events (GstGemmclFlight *flight)
{
  guint n = 0;

  for (guint i = 0; flight->a_on_device && i < flight->n; i++)
    n += gst_opencl_memory_get_events (get_input (flight, i)->memory, GST_MAP_READ,
                                       flight->wait + n);
  for (guint i = 0; flight->d_on_device && i < flight->n; i++)
    n += gst_opencl_memory_get_events (get_output (flight, i)->memory, GST_MAP_WRITE,
                                       flight->wait + n);
  return n;
}

/* From now on @done stands for the run, and the device's memory needs no maps. */
static void
leave_event (GstGemmclFlight *flight, cl_event done)
{
  for (guint i = 0; flight->a_on_device && i < flight->n; i++)
    gst_opencl_memory_add_event (get_input (flight, i)->memory, GST_MAP_READ, done);
  for (guint i = 0; flight->d_on_device && i < flight->n; i++)
    gst_opencl_memory_add_event (get_output (flight, i)->memory, GST_MAP_WRITE, done);
  if (flight->a_on_device)
    unmap_inputs (flight);
  if (flight->d_on_device)
    unmap_outputs (flight);
}

/* Whether the output may be written where it is although beta may scale it: nobody else writes into
 * a buffer of which the element has a reference, and the system's memory stays where it is. */
static gboolean
keeps_output (GstGemmclFlight *flight, GstGemmcl *self)
{
  const guint index = gst_gemmcl_get_output_index (self);
  GstBuffer *output = flight->outputs[0];

  if (self->problem.gemm.addend != GEMMCL_ADDEND_OUTPUT)
    return FALSE;
  if (flight->d_on_device)
    return TRUE;
  if (self->output.medium != GST_GEMMCL_MEDIUM_TENSORS && gst_buffer_n_memory (output) != 1)
    return FALSE;
  return gemmcl_context_get_device_info (self->context)->host_unified &&
         gst_memory_is_type (gst_buffer_peek_memory (output, index), GST_ALLOCATOR_SYSMEM);
}

/* What beta scales. It stays as it is while last_output holds it; a run that reads it comes after
 * all that the plan was given before, so that there is nothing to wait for. */
static cl_mem
map_previous (GstGemmclFlight *flight, GstGemmcl *self, GstGemmclMapping *mapping)
{
  GemmclDeviceData data;

  if (!flight->d_on_device || self->run_beta == 0.0 || !self->last_output ||
      !gst_gemmcl_device_open_previous (self, mapping, self->last_output, &data))
    return NULL;
  return data.buffer;
}

/* Remembers what the next run may want, and where this one's was. */
static void
note_run (GstGemmclFlight *flight, GstGemmcl *self)
{
  static const gchar *const memories[] = {
      [GST_GEMMCL_MEMORY_SYSTEM] = "system",
      [GST_GEMMCL_MEMORY_OPENCL] = "OpenCL",
      [GST_GEMMCL_MEMORY_VA] = "VA",
      [GST_GEMMCL_MEMORY_DMABUF] = "DMABuf",
  };

  if (!flight->d_on_device && self->run_beta != 0.0)
    gst_buffer_replace (&flight->previous, self->last_output);
  gst_buffer_replace (&self->last_output, keeps_output (flight, self) ? flight->outputs[0] : NULL);
  self->last_d = flight->d_on_device ? (GemmclHostData){.data = {NULL}} : flight->d[0];
  g_mutex_lock (&self->lock);
  self->read_memory = memories[flight->a_memory];
  self->wrote_device = flight->d_on_device;
  g_mutex_unlock (&self->lock);
}

/* @run without what it waits for. */
static gboolean
submit_run (GstGemmclFlight *flight, GstGemmcl *self, GemmclMixedRun *run, GError **error)
{
  GstGemmclMapping previous = {.is_frame = FALSE};
  cl_event done = NULL;

  run->previous = map_previous (flight, self, &previous);
  run->n_wait = collect_events (flight);
  flight->run = gemmcl_plan_submit_mixed (self->plan, run, &done, error);
  gst_opencl_release_events (run->n_wait, run->wait);
  if (flight->run) {
    leave_event (flight, done);
    if (previous.memory)
      gst_opencl_memory_add_event (previous.memory, GST_MAP_READ, done);
    clReleaseEvent (done);
  }
  gst_gemmcl_mapping_clear (&previous);
  return flight->run != NULL;
}

static void
set_input (GstGemmclFlight *flight, GemmclMixedRun *run)
{
  switch (flight->a_memory) {
  case GST_GEMMCL_MEMORY_VA:
    run->planes_a = flight->planes_a;
    break;
  case GST_GEMMCL_MEMORY_OPENCL:
  case GST_GEMMCL_MEMORY_DMABUF:
    run->device_a = flight->device_a;
    break;
  default:
    run->host_a = flight->a;
  }
  run->acquire = flight->acquire;
  run->release = flight->release;
}

static gboolean
submit (GstGemmclFlight *flight, GstGemmcl *self, gsize m, GError **error)
{
  /* The application may put another weight into the plan, but only this thread replaces it. */
  GemmclPlan *plan = self->plan;
  GemmclMixedRun run = {
      .m = m,
      .batch = flight->n,
      .host_d = flight->d_on_device ? NULL : flight->d,
      .device_d = flight->d_on_device ? flight->device_d : NULL,
      .rows = self->problem.gemm.row_outputs != 0 ? flight->rows : NULL,
      .keeps_d = !flight->d_on_device && keeps_output (flight, self),
      .wait = flight->wait,
  };

  set_input (flight, &run);
  if (m != self->last_m) {
    gemmcl_plan_reset_output (plan);
    gst_gemmcl_forget_output (self);
  }
  if (self->last_output && self->last_d.data[0])
    run.host_previous = &self->last_d;
  self->last_m = m;
  gemmcl_plan_set_scalars (plan, self->run_alpha, self->run_beta);
  if (!submit_run (flight, self, &run, error))
    return FALSE;
  flight->plan = g_object_ref (plan);
  note_run (flight, self);
  return TRUE;
}

static gboolean
launch (GstGemmclFlight *flight, GstGemmcl *self, GError **error)
{
  gsize m;

  flight->a_on_device = flight->d_on_device = flight->leaves_early = FALSE;
  flight->acquire = flight->release = NULL;
  if (gst_gemmcl_is_empty (self, flight->inputs[0]))
    return TRUE;
  /* There is none after one could not be made, if buffers come all the same. */
  if (!self->plan && !gst_gemmcl_make_plan (self, 0, error))
    return FALSE;
  m = get_m (self, flight->inputs[0], error);
  if (m == 0 || !check_scalars (self, error) || !make_room (self, m, error))
    return FALSE;
  if (map_inputs (flight, self, error) && map_outputs (flight, self, error) &&
      map_rows (flight, self, error) && submit (flight, self, m, error)) {
    flight->leaves_early = flight->d_on_device && self->problem.gemm.row_outputs == 0;
    return TRUE;
  }
  unmap_inputs (flight);
  unmap_outputs (flight);
  unmap_rows (flight);
  flight->a_on_device = flight->d_on_device = FALSE;
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
  gst_clear_buffer (&flight->previous);
  unmap_inputs (flight);
  unmap_outputs (flight);
  unmap_rows (flight);
  if (!ok) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return GST_FLOW_ERROR;
  }
  g_mutex_lock (&self->lock);
  self->buffers += flight->n;
  g_mutex_unlock (&self->lock);
  return GST_FLOW_OK;
}
