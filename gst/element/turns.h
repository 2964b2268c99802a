/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/flexible.h"
#include "element/lanes.h"
#include "memory/inflight.h"

/* The way of a buffer: it is collected with others of its batch, the run of the batch is submitted,
 * and the outputs are pushed (turns.c).
 *
 * A batch also has the serialised events between its buffers. It ends when it is full, at its
 * timeout, or before a buffer or event that cannot be part of it.
 *
 * Each device has at most queue-depth runs in flight. One device does them in their order, so
 * outputs are pushed at once. With several devices, runs go to them by turns, and the element holds
 * outputs back until their runs are complete and all outputs before them are pushed. A run that
 * fails is done again by another device, so the inputs are kept, too. Whoever submits a run pushes
 * what is complete by then; a thread of GStreamer's pool pushes the rest.
 *
 * The caller of each function is the streaming thread, or holds the stream lock of the sink pad,
 * unless the function says otherwise. */

/** GstGemmclInput: A buffer of the sink pad, and the place of A in it. Other elements may still
 * write the buffer, so it is described once: when it comes. */
typedef struct {
  GstBuffer *buffer;      /* not referenced */
  GstBuffer *data;        /* (nullable): of the tensor in the metadata of buffer; owned */
  gsize offset;           /* of A in data or else in buffer; not of frames */
  gsize size;             /* bytes of A */
  GstGemmclPlaces places; /* of tensors; else all zero */
} GstGemmclInput;

/** GstGemmclTurn: A batch, and its run. */
typedef struct {
  GPtrArray *items; /* inputs and events, in their order */
  guint n;          /* number of inputs */
  GstGemmclInput *inputs;
  GstBuffer **outputs; /* NULL before they are prepared */
  GstGemmclInflight *inflight;
  guint n_held;        /* the number of inputs that inflight holds until the end of the run */
  GstGemmclLane *lane; /* the device of the run */
  GstGemmclScalars scalars;
} GstGemmclTurn;

/** GstGemmclTurns: The ring of turns, and what runs have in common. */
typedef struct {
  GstGemmclTurn *ring;
  guint size; /* one more than there may be in flight: for the batch that is being collected */
  guint first, n;
  guint next;         /* the lane after that of the last run */
  gboolean is_late;   /* push_late() is running */
  GstFlowReturn flow; /* of outputs that other threads pushed; the next buffer gets it */
  gboolean discont;   /* QoS dropped the buffer before the next one */
  GstClockID timer;   /* (nullable): of the timeout of the batch */

  /* The pool of the last input, and the largest number of its buffers to hold. */
  gconstpointer pool; /* compared only */
  guint limit;

  /* The description of the run that is being submitted (run.c). */
  GemmclData *a;
  GemmclData *d;            /* of all outputs, then of all row outputs */
  GstGemmclMapping *mapped; /* of d */
  cl_event *wait;

  GstGemmclInflight *latest; /* of the last run; not referenced */
  cl_command_queue queue;    /* of that run, compared only; NULL: the context's */
  guint untimed;             /* runs since the last one in a queue with profiling */

  /* Previous outputs (run.c). */
  gboolean feedback; /* beta was not 0: the plan keeps the previous output */
  GstBuffer *last;   /* otherwise, the last output, in case beta is set */
  gsize last_m;
} GstGemmclTurns;

/** gst_gemmcl_turns_start: Allocates queue-depth turns of batch-size buffers for each device. */
void gst_gemmcl_turns_start (GstGemmcl *self);

/** gst_gemmcl_turns_stop: As gst_gemmcl_turns_flush(), and frees the turns. */
void gst_gemmcl_turns_stop (GstGemmcl *self);

/** gst_gemmcl_turns_finish: Waits for all runs and pushes the outputs that are held. Posts an error
 * and returns GST_FLOW_ERROR if one failed on the last device. */
GstFlowReturn gst_gemmcl_turns_finish (GstGemmcl *self);

/** gst_gemmcl_turns_push_held: As gst_gemmcl_turns_finish() with several devices. With one device
 * no outputs are held, and it does nothing. */
GstFlowReturn gst_gemmcl_turns_push_held (GstGemmcl *self);

/** gst_gemmcl_turns_flush: Waits for all runs and drops the batch, and the outputs that are held.
 * Posts an error if a run of the only device failed. */
void gst_gemmcl_turns_flush (GstGemmcl *self);

/** gst_gemmcl_batch_add: Takes @buffer, which the element's input describes. Returns: the result of
 * gst_gemmcl_batch_end() if @buffer ended or filled a batch, otherwise GST_FLOW_OK. */
GstFlowReturn gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *buffer);

/** gst_gemmcl_batch_hold: Returns: %TRUE if @event was taken, to be pushed after the collected
 * buffers; %FALSE if there are none, or if it ends the batch. */
gboolean gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_batch_end: Submits the run of the batch, unless that is empty, to the device with the
 * fewest runs in flight, and pushes the outputs that are complete. Waits while there is no turn.
 * Posts an error if it fails, or an earlier run, on the last device. */
GstFlowReturn gst_gemmcl_batch_end (GstGemmcl *self);

/** gst_gemmcl_turns_get_latency: Returns: the latency of a batch and its run, in ns. Any thread. */
GstClockTime gst_gemmcl_turns_get_latency (GstGemmcl *self);
