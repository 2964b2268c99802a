/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/devices.h"
#include "element/problem.h"
#include "element/stats.h"
#include "memory/inflight.h"
#include "memory/sharing.h"

/* Finds A, D and row outputs in buffers, and submits runs. For callers with the stream lock. */

/** GstGemmclInput: A buffer, the place, size and shape of A in it, and its output. Read when the
 * buffer arrives: another element may write the buffer later. All zero: none. */
typedef struct {
  GstBuffer *buffer;      /* not referenced */
  GstBuffer *data;        /* (nullable): with A, if A is in the metadata of buffer; owned */
  gsize offset;           /* of A in data or, if that is NULL, in buffer; 0 for frames */
  gsize size;             /* bytes of A */
  gsize m;                /* rows of A, if they differ between buffers; otherwise 0 */
  gboolean progressive;   /* a progressive frame in a stream that has interlaced frames, too */
  GstGemmclTensor a;      /* the shape of A, if that is a tensor; otherwise its rank is 0 */
  GstGemmclPlaces places; /* of the tensors in buffer; all zero for other media */
  GstBuffer *output;      /* NULL before it is prepared; owned */
} GstGemmclInput;

/** gst_gemmcl_input_clear: Releases @data and @output. */
static inline void
gst_gemmcl_input_clear (GstGemmclInput *self)
{
  gst_clear_buffer (&self->data);
  gst_clear_buffer (&self->output);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GstGemmclInput, gst_gemmcl_input_clear)

/** GstGemmclRun: A batch of buffers, and all that the run which multiplies them needs. batch.c adds
 * buffers as they arrive, binds the run to a device, has it submitted and pushes its outputs. A run
 * that failed can be bound to another device and submitted again. */
typedef struct {
  /* Parts of the element; constant. */
  const GstGemmclStream *stream;
  const GstGemmclProblem *problem; /* of the plans of all devices */
  GstGemmclSharing *sharing;
  GstGemmclStats *stats;

  GPtrArray *items;       /* the buffers and the events between them, in order */
  guint n;                /* number of inputs */
  GstGemmclInput *inputs; /* with their outputs; they have the same m and progressive */
  GstGemmclFactors factors;
  GPtrArray *labels;       /* (nullable): the labels when the batch began */
  GstGemmclDevice *device; /* with its plan; NULL until the batch ends */

  /* run.c */
  GemmclRun call;              /* the run for the library, with what it waits for */
  GemmclData *a;               /* the place of each A */
  GemmclData *d;               /* of all outputs, then of all row outputs behind D */
  GstGemmclMapping *mapped;    /* the mappings of d, while the run is submitted */
  cl_event *wait;              /* the events that the run waits for */
  GstGemmclInflight *inflight; /* of the run, with the mappings of inputs */
  guint n_held;                /* the number of inputs that inflight holds until its end */
} GstGemmclRun;

/** GstGemmclLastRun: What a run leaves for the next one. */
typedef struct {
  GstGemmclInflight *inflight; /* not referenced; NULL before the first run */
  cl_command_queue queue;      /* of the run; compared only; NULL: the context's queue */
  guint untimed;               /* runs since the last run in a queue with profiling */
  gsize m;                     /* rows of A in each input */

  gboolean feedback; /* beta was not 0: the plan keeps the previous output; element.c, batch.c */
  GstBuffer *output; /* otherwise, the last output, in case beta is set */
  gboolean limited;  /* outputs are from a pool with a limit, so none is kept; allocation.c */
} GstGemmclLastRun;

/** gst_gemmcl_run_init: Allocates a run of at most @batch buffers. */
void gst_gemmcl_run_init (GstGemmclRun *self, GstGemmcl *element, guint batch);

/** gst_gemmcl_run_empty: Drops the buffers, events and outputs. */
void gst_gemmcl_run_empty (GstGemmclRun *self);
void gst_gemmcl_run_clear (GstGemmclRun *self);

/** gst_gemmcl_run_get_m: Returns: the rows of A in each buffer. */
static inline gsize
gst_gemmcl_run_get_m (const GstGemmclRun *self)
{
  return self->inputs[0].m > 0 ? self->inputs[0].m : self->problem->gemm.m;
}

/** gst_gemmcl_run_check_input: Checks that @buffer, the next one, is in the kind of memory that
 * caps name. @needs_context: (out): %TRUE for a VA surface of another display. */
gboolean gst_gemmcl_run_check_input (GstGemmcl *self, GstBuffer *buffer, gboolean *needs_context,
                                     GError **error);

/** gst_gemmcl_run_submit: Submits @self to its device. @last: (nullable): the run before it; %NULL
 * with several devices, whose runs do not follow one another. gst_gemmcl_output_prepare() must have
 * made the outputs. They may be pushed at once. */
gboolean gst_gemmcl_run_submit (GstGemmclRun *self, GstGemmclLastRun *last, GError **error);

/** gst_gemmcl_run_finish: Waits for the run, records its time and releases its inputs. Returns:
 * %FALSE if the run failed; @error then stays if it was set before. */
gboolean gst_gemmcl_run_finish (GstGemmclRun *self, GError **error);

/** gst_gemmcl_run_reset_previous: Resets the previous output to zeros. @plan: (nullable): that of
 * the first device; with several devices no plan keeps a previous output. */
void gst_gemmcl_run_reset_previous (GstGemmclLastRun *last, GemmclPlan *plan);

/** gst_gemmcl_run_wants_feedback: Returns: %TRUE if plans must keep the previous output as C, since
 * beta was not 0 or is controlled. Always %FALSE with batches, several devices, or row outputs in
 * place of D. */
gboolean gst_gemmcl_run_wants_feedback (GstGemmcl *self);
