/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* Arrivals at a pad, in their order: buffers, serialised events and flushes. */

typedef enum {
  ARRIVAL_BUFFER,
  ARRIVAL_EVENT,
  ARRIVAL_FLUSH,
} ArrivalKind;

/**
 * Arrival:
 * @buffer: (nullable): the buffer
 * @caps: (nullable): the caps that the pad had when it came
 * @event: (nullable): the event; neither that of caps nor that of a stream's start
 */
typedef struct {
  ArrivalKind kind;
  GstBuffer *buffer;
  GstCaps *caps;
  GstEvent *event;
} Arrival;

/** Arrivals: Those of a pad so far, for one thread. */
typedef struct _Arrivals Arrivals;

/**
 * arrivals_new:
 * @pad: a sink pad; its buffers are dropped once they are noted
 * @maps: whether each buffer is mapped as it arrives, as most elements do, and not only later
 */
Arrivals *arrivals_new (GstPad *pad, gboolean maps);
void arrivals_free (Arrivals *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Arrivals, arrivals_free)

/** arrivals_peek: Returns: (nullable): the oldest arrival, until arrivals_drop(); %NULL if there is
 * none within @timeout us. */
const Arrival *arrivals_peek (Arrivals *self, guint64 timeout);

/** arrivals_drop: Frees the oldest arrival. */
void arrivals_drop (Arrivals *self);
