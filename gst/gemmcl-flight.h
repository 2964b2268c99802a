/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-device.h"

/* A run of the plan: the buffers of a batch on their way through the device. */

G_BEGIN_DECLS

typedef enum {
  GST_GEMMCL_FLIGHT_BOARDING, /* buffers are collected, or there are none */
  GST_GEMMCL_FLIGHT_UNDER_WAY,
  GST_GEMMCL_FLIGHT_LANDING, /* some thread waits for it */
  GST_GEMMCL_FLIGHT_LANDED,
} GstGemmclFlightState;

/**
 * GstGemmclFlight:
 * @state: gemmcl-queue.c's
 * @n: buffers
 * @inputs, @outputs: (array length=n): not owned here
 * @sent: outputs that were taken
 * @flow: how it landed
 * @a_on_device, @d_on_device: A, or D, is in OpenCL memory. Inputs are then not needed any more
 *   once it is launched. A that the device only shares with others, VA surfaces and dma-bufs, is
 *   none such
 * @leaves_early: outputs may be sent once it is launched, with the event that says when they are
 *   there: D is in OpenCL memory, and there are no row outputs, which are written on the host
 *
 * The arrays have room for a batch, and a flight is used again and again.
 */
struct _GstGemmclFlight {
  GstGemmclFlightState state;
  guint n;
  GstBuffer **inputs;
  GstBuffer **outputs;
  guint sent;
  GstFlowReturn flow;

  GstGemmclMapping *mappings; /* two for each buffer */
  GstGemmclMapping *row_mappings;
  GemmclHostData *a, *d;
  gfloat **rows; /* where the row outputs go */
  GemmclDeviceData *device_a, *device_d;
  gboolean a_on_device, d_on_device;
  gboolean leaves_early;
  GemmclPlaneImages *planes_a;
  GstGemmclMemory a_memory; /* which of a, device_a and planes_a holds A */
  GemmclHandover acquire, release;
  cl_event *wait;
  GemmclPlan *plan;
  GemmclPendingRun *run; /* NULL: there is nothing to wait for */
  GstBuffer *previous;   /* what the run reads of the one before */
};

/** gst_gemmcl_flights_new: Returns: (transfer full): @n flights with room for @batch buffers. */
GstGemmclFlight *gst_gemmcl_flights_new (guint n, guint batch);

void gst_gemmcl_flights_free (GstGemmclFlight *flights, guint n);

/**
 * gst_gemmcl_flight_launch:
 *
 * Multiplies @n buffers, of audio all of the same size, or starts to. Posts an error when that
 * fails.
 *
 * Returns: GST_FLOW_OK or GST_FLOW_ERROR; then it is not to be landed.
 */
GstFlowReturn gst_gemmcl_flight_launch (GstGemmclFlight *flight, GstGemmcl *self);

/** gst_gemmcl_flight_land: Waits until the outputs are there. From any thread; otherwise alike. */
GstFlowReturn gst_gemmcl_flight_land (GstGemmclFlight *flight, GstGemmcl *self);

G_END_DECLS
