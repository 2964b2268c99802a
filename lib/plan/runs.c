/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs: the copies of A, the kernels, the copies of D, in a chain of commands across up to three
 * queues:
 *
 *     upload     A, and D if it is also C:  host -> slot
 *     queue      acquire, copies and images -> slot, release, kernels, slot -> buffers
 *     download                                                         slot -> host: D, row outputs
 *
 * Copies of other runs thus overlap with the kernels of this one. If the device shares the host's
 * memory, or the caller names a queue, one queue has all commands. Data that kernels can use in the
 * caller's memory are not copied.
 */
#include "plan/runs.h"

#include "plan/data.h"

/* The resources of a run from its submission until it is done; then the next run reuses them. */
typedef struct {
  cl_mem copies[GEMMCL_N_OPERANDS]; /* copies of the caller's data; NULL: not needed yet */
  GPtrArray *acquired;              /* objects of A that the run has to release */
  GPtrArray *events;                /* of all commands, including the next three */
  GArray *wait;                     /* of cl_event, for the first kernel; may be NULL */
  cl_event first, kernel;
  cl_event done;      /* NULL: the slot is free */
  gboolean elsewhere; /* the run is in the caller's queue */
  gdouble flops;
  guint64 bytes_in, bytes_out;
} Slot;

/* A run that is being enqueued, in both forms. */
typedef struct {
  GemmclRuns *runs;
  GemmclKernelPlan *plan;
  const GemmclRun *caller;
  const GemmclData *a, *d_before; /* its a and previous; NULL if their factor is 0 */
  GemmclKernelRun run;            /* with buffers of the slot or of the caller */
  Slot *slot;
  cl_command_queue queue;
  gboolean apart;    /* host copies use the upload and download queues */
  cl_event previous; /* of the run that makes the previous result; NULL: none to wait for */
  cl_mem shared[4];  /* buffers on host memory to release after the submission */
  guint n_shared, n_copied;
} Submission;

static void
submission_clear (Submission *self)
{
  for (guint i = 0; i < self->n_shared; i++)
    clReleaseMemObject (self->shared[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Submission, submission_clear)

static void
drop_copies (Slot *self)
{
  for (guint i = 0; i < GEMMCL_N_OPERANDS; i++)
    g_clear_pointer (&self->copies[i], clReleaseMemObject);
}

static void
slot_free (gpointer data)
{
  Slot *self = data;

  drop_copies (self);
  g_ptr_array_unref (self->events);
  g_ptr_array_unref (self->acquired);
  g_clear_pointer (&self->wait, g_array_unref);
  g_free (self);
}

/* Adds a completed run to the statistics. */
static void
count (GemmclRuns *self, const Slot *slot)
{
  GemmclPlanStats *stats = &self->stats;
  guint64 ns;

  (void)gemmcl_events_get_duration (slot->first, slot->kernel, &ns);
  if (ns > 0)
    self->ns_per_flop = ns / slot->flops;
  else
    ns = self->ns_per_flop * slot->flops;
  stats->runs++;
  stats->kernel_ns += ns;
  stats->flops += slot->flops;
  stats->bytes_in += slot->bytes_in;
  stats->bytes_out += slot->bytes_out;
}

/* Makes the slot available again if its run is complete or failed. Returns: TRUE if it is. A run
 * whose state is not known counts as failed and may still use the copies, so they are dropped. */
static gboolean
reap (GemmclRuns *self, Slot *slot)
{
  cl_int status;

  if (slot->done == NULL)
    return TRUE;
  status = gemmcl_event_get_status (slot->done);
  if (status > CL_COMPLETE)
    return FALSE;
  if (status == CL_COMPLETE) {
    count (self, slot);
  } else {
    drop_copies (slot);
    self->cut_short = TRUE;
  }
  self->failed |= status != CL_COMPLETE && !slot->elsewhere;
  g_ptr_array_set_size (slot->events, 0);
  slot->done = NULL;
  return TRUE;
}

static void
drop_copy_queues (GemmclRuns *self)
{
  cl_command_queue *const queues[] = {&self->upload, &self->download};

  for (guint i = 0; i < G_N_ELEMENTS (queues); i++)
    if (*queues[i] != NULL)
      gemmcl_context_release_copy_queue (self->context, g_steal_pointer (queues[i]));
}

/* Leaves queues in which a run failed. The steps of two runs share memory, so none may be in flight
 * when another queue gets the next run. */
static void
renew_queues (GemmclRuns *self, GemmclContext *context)
{
  if (self->failed)
    gemmcl_context_replace_queue (context, self->queue);
  if (!gemmcl_context_follow_queue (context, &self->queue) && !self->failed)
    return;
  for (GList *each = self->slots.head; each != NULL; each = each->next) {
    Slot *slot = each->data;

    if (slot->done != NULL)
      gemmcl_context_wait (context, slot->done);
    reap (self, slot);
  }
  drop_copy_queues (self);
  self->failed = FALSE;
}

/* Returns: a slot for the newest run. Asking a driver for the state of an event takes a microsecond
 * or two, so only the oldest runs are asked, up to one that is not complete: runs end in their
 * order. All complete ones are asked, since one that failed may have spoiled its queue. */
static Slot *
find_slot (GemmclRuns *self, GemmclContext *context)
{
  GList *each = self->slots.head;
  Slot *slot;

  self->context = context;
  while (each != NULL && reap (self, each->data))
    each = each->next;
  renew_queues (self, context);
  slot = g_queue_peek_head (&self->slots);
  if (slot != NULL && slot->done == NULL) {
    g_queue_push_tail_link (&self->slots, g_queue_pop_head_link (&self->slots));
    return slot;
  }
  slot = g_new0 (Slot, 1);
  slot->events = gemmcl_events_new ();
  slot->acquired = g_ptr_array_new ();
  g_queue_push_tail (&self->slots, slot);
  return slot;
}

void
gemmcl_runs_clear (GemmclRuns *self)
{
  g_queue_clear_full (&self->slots, slot_free);
  drop_copy_queues (self);
  g_clear_pointer (&self->queue, clReleaseCommandQueue);
}

GPtrArray *
gemmcl_runs_get_events (GemmclRuns *self)
{
  GPtrArray *events = gemmcl_events_new ();

  for (GList *each = self->slots.head; each != NULL; each = each->next) {
    const Slot *slot = each->data;

    if (slot->done != NULL && clRetainEvent (slot->done) == CL_SUCCESS)
      g_ptr_array_add (events, slot->done);
  }
  return events;
}

gboolean
gemmcl_runs_are_done (GemmclRuns *self)
{
  for (GList *each = self->slots.head; each != NULL; each = each->next)
    if (!reap (self, each->data))
      return FALSE;
  return TRUE;
}

GemmclPlanStats
gemmcl_runs_get_stats (GemmclRuns *self)
{
  for (GList *each = self->slots.head; each != NULL; each = each->next)
    reap (self, each->data);
  return self->stats;
}

static GemmclTransfer
make_transfer (Submission *self, GemmclOperand which, gboolean to_device, const GemmclData *data,
               gsize index)
{
  return (GemmclTransfer){
      .plan = self->plan,
      .run = &self->run,
      .which = which,
      .to_device = to_device,
      .index = index,
      .data = &data[index],
      .buffer = self->slot->copies[which],
  };
}

/* Finds the buffer in which kernels access A, D or the row outputs: the caller's memory, or the
 * slot's copy, which is large enough for any run of the plan. @data: (nullable): NULL for none */
static gboolean
find_buffer (Submission *self, GemmclOperand which, gboolean to_device, const GemmclData *data,
             cl_mem *buffer, GError **error)
{
  cl_mem *copy = &self->slot->copies[which];
  GemmclTransfer transfer;

  if (data == NULL)
    return TRUE;
  if (self->caller->strided) {
    *buffer = data->objects[0];
    return TRUE;
  }
  transfer = make_transfer (self, which, to_device, data, 0);
  if (self->run.batch == 1 && (*buffer = gemmcl_transfer_share (&transfer)) != NULL) {
    if (data->kind == GEMMCL_DATA_HOST)
      self->shared[self->n_shared++] = *buffer;
    return TRUE;
  }
  if (*copy == NULL)
    *copy = gemmcl_data_create_copy (self->plan, which, error);
  *buffer = *copy;
  return *buffer != NULL;
}

static gboolean
find_buffers (Submission *self, GError **error)
{
  const GemmclRun *caller = self->caller;
  GemmclKernelRun *run = &self->run;

  return find_buffer (self, GEMMCL_OPERAND_A, TRUE, self->a, &run->a, error) &&
         find_buffer (self, GEMMCL_OPERAND_D, FALSE, caller->d, &run->d, error) &&
         find_buffer (self, GEMMCL_OPERAND_D, TRUE, self->d_before, &run->previous, error) &&
         find_buffer (self, GEMMCL_OPERAND_ROW_OUTPUTS, FALSE, caller->row_outputs,
                      &run->row_outputs, error);
}

static void
find_acquired (Submission *self)
{
  const GemmclFrame *frame = self->plan->problem.a_frame;
  GPtrArray *acquired = self->slot->acquired;

  for (gsize i = 0; i < (self->caller->strided ? 1 : self->run.batch); i++) {
    const GemmclData *a = &self->a[i];
    const guint n =
        a->kind == GEMMCL_DATA_IMAGES ? gemmcl_pixel_format_get_n_planes (frame->format) : 1;

    for (guint j = 0; a->acquired && a->kind != GEMMCL_DATA_HOST && j < n; j++)
      if (!g_ptr_array_find (acquired, a->objects[j], NULL))
        g_ptr_array_add (acquired, a->objects[j]);
  }
}

/* Calls @function with the acquired objects, if any. */
static gboolean
hand_over (Submission *self, GCallback function, const gchar *what, GError **error)
{
  GPtrArray *objects = self->slot->acquired;
  GemmclChain *chain = &self->run.chain;
  cl_event done = NULL;
  cl_int status;

  if (objects->len == 0)
    return TRUE;
  status = ((GemmclHandover)function) (chain->queue, objects->len, (cl_mem *)objects->pdata,
                                       CHAIN_WAIT (chain), &done);
  return gemmcl_chain_add (chain, status, done, what, error);
}

static gboolean
acquire (Submission *self, GError **error)
{
  if (self->caller->acquire != NULL && self->a != NULL)
    find_acquired (self);
  if (hand_over (self, self->caller->acquire, "Acquiring shared memory objects of A", error))
    return TRUE;
  g_ptr_array_set_size (self->slot->acquired, 0);
  return FALSE;
}

static gboolean
release (Submission *self, GError **error)
{
  const gboolean released =
      hand_over (self, self->caller->release, "Releasing shared memory objects of A", error);

  g_ptr_array_set_size (self->slot->acquired, 0);
  return released;
}

/* Switches the chain's queue: host data go through @apart, upload or download, all else through the
 * main queue. */
static gboolean
enter_queue (Submission *self, GemmclDataKind kind, cl_command_queue *apart, GError **error)
{
  const gboolean is_apart = self->apart && kind == GEMMCL_DATA_HOST;
  GemmclChain *chain = &self->run.chain;

  if (is_apart && *apart == NULL &&
      !(*apart = gemmcl_context_create_copy_queue (self->plan->context, self->queue, error)))
    return FALSE;
  /* A command that waits for an event of another queue needs that queue to be flushed. */
  if (chain->last != NULL && chain->queue != (is_apart ? *apart : self->queue) &&
      !gemmcl_cl_check (clFlush (chain->queue), error, "clFlush"))
    return FALSE;
  chain->queue = is_apart ? *apart : self->queue;
  return TRUE;
}

/* Copies all problems between the caller's memory and the slot's copy, if @at is that copy. */
static gboolean
copy_problems (Submission *self, GemmclOperand which, gboolean to_device, cl_mem at,
               const GemmclData *data, GError **error)
{
  cl_command_queue *apart = to_device ? &self->runs->upload : &self->runs->download;

  for (gsize i = 0; at != NULL && at == self->slot->copies[which] && i < self->run.batch; i++) {
    const GemmclTransfer transfer = make_transfer (self, which, to_device, data, i);

    if (!enter_queue (self, data[i].kind, apart, error) || !gemmcl_transfer (&transfer, error))
      return FALSE;
    self->n_copied += data[i].kind != GEMMCL_DATA_IMAGES;
  }
  return TRUE;
}

static gboolean
copy_inputs (Submission *self, GError **error)
{
  const GemmclKernelRun *run = &self->run;
  const gboolean copies_a = run->a != NULL && run->a == self->slot->copies[GEMMCL_OPERAND_A];
  const gboolean adds_d = self->plan->problem.addend == GEMMCL_ADDEND_OUTPUT && run->p.beta != 0.0f;

  return copy_problems (self, GEMMCL_OPERAND_A, TRUE, run->a, self->a, error) &&
         (!adds_d ||
          copy_problems (self, GEMMCL_OPERAND_D, TRUE, run->d, self->caller->d, error)) &&
         copy_problems (self, GEMMCL_OPERAND_D, TRUE, run->previous, self->d_before, error) &&
         enter_queue (self, GEMMCL_DATA_BUFFER, NULL, error) &&
         (!copies_a || release (self, error));
}

/* Makes the device's writes into host memory visible to the host, as a map does. On devices that
 * share the host's memory, the map may end at once. */
static gboolean
sync_host (Submission *self, GError **error)
{
  const gsize size = gemmcl_data_get_bytes (self->plan, GEMMCL_OPERAND_D, self->run.m);
  GemmclChain *chain = &self->run.chain;
  cl_event done = NULL;
  cl_int status;
  gpointer data = clEnqueueMapBuffer (chain->queue, self->run.d, CL_FALSE, CL_MAP_READ, 0, size,
                                      CHAIN_WAIT (chain), &done, &status);

  if (!gemmcl_chain_add (chain, status, done, "clEnqueueMapBuffer for D", error))
    return FALSE;
  status = clEnqueueUnmapMemObject (chain->queue, self->run.d, data, CHAIN_WAIT (chain), &done);
  return gemmcl_chain_add (chain, status, done, "clEnqueueUnmapMemObject for D", error);
}

static gboolean
copy_outputs (Submission *self, GError **error)
{
  const GemmclRun *caller = self->caller;
  const GemmclKernelRun *run = &self->run;
  const gboolean shows = caller->d != NULL && caller->d->kind == GEMMCL_DATA_HOST &&
                         run->d != self->slot->copies[GEMMCL_OPERAND_D];

  return (!shows || sync_host (self, error)) &&
         copy_problems (self, GEMMCL_OPERAND_D, FALSE, run->d, caller->d, error) &&
         copy_problems (self, GEMMCL_OPERAND_ROW_OUTPUTS, FALSE, run->row_outputs,
                        caller->row_outputs, error);
}

/* Finds the event of the run that makes the previous result, if this run reads that result and the
 * event is not complete. Fails if the run that makes it failed. */
static gboolean
find_previous (Submission *self, GError **error)
{
  const cl_event written = self->plan->state_written;
  cl_int status;

  if (written == NULL || self->plan->state_is_void || self->caller->previous != NULL ||
      self->run.p.beta == 0.0f)
    return TRUE;
  status = gemmcl_event_get_status (written);
  if (status < CL_COMPLETE)
    return gemmcl_fail (error, GEMMCL_ERROR_OPENCL,
                        "The run that made the previous result failed with %s (%d); "
                        "gemmcl_plan_reset_previous() makes that result zeros.",
                        gemmcl_cl_error_name (status), status);
  if (status > CL_COMPLETE)
    self->previous = written;
  return TRUE;
}

/* Makes the next command also wait for the previous result. The order of the queue does not
 * suffice: a failure of the run before reaches this run only by its event. */
static void
wait_for_previous (Submission *self)
{
  GemmclChain *chain = &self->run.chain;
  Slot *slot = self->slot;

  if (self->previous == NULL)
    return;
  if (slot->wait == NULL)
    slot->wait = g_array_new (FALSE, FALSE, sizeof (cl_event));
  g_array_set_size (slot->wait, 0);
  g_array_append_vals (slot->wait, chain->wait, chain->n_wait);
  g_array_append_val (slot->wait, self->previous);
  clRetainEvent (self->previous);
  g_ptr_array_add (slot->events, self->previous);
  chain->wait = (const cl_event *)(gpointer)slot->wait->data;
  chain->n_wait = slot->wait->len;
}

/* Enqueues the kernels. Only they wait for the previous result: the copies of A overlap with the
 * run that makes it. */
static gboolean
compute (Submission *self, GError **error)
{
  wait_for_previous (self);
  return gemmcl_steps_enqueue (self->plan, &self->run, error);
}

static gboolean
enqueue (Submission *self, GError **error)
{
  return acquire (self, error) && copy_inputs (self, error) && compute (self, error) &&
         release (self, error) && copy_outputs (self, error) &&
         gemmcl_cl_check (clFlush (self->run.chain.queue), error, "clFlush");
}

/* After enqueue() failed: waits for the commands that it enqueued, which use the caller's
 * memory. */
static void
give_up (Submission *self)
{
  if (self->slot->acquired->len > 0 && enter_queue (self, GEMMCL_DATA_BUFFER, NULL, NULL))
    release (self, NULL);
  if (self->run.chain.last != NULL) {
    clFlush (self->run.chain.queue);
    if (gemmcl_context_wait (self->plan->context, self->run.chain.last) != CL_SUCCESS) {
      drop_copies (self->slot);
      self->runs->cut_short = TRUE;
    }
  }
  g_ptr_array_set_size (self->slot->events, 0);
  self->runs->failed |= self->caller->queue == NULL;
}

static guint64
count_host_bytes (Submission *self, GemmclOperand which, const GemmclData *data)
{
  guint64 n = 0;

  for (gsize i = 0; data != NULL && !self->caller->strided && i < self->run.batch; i++)
    n += data[i].kind == GEMMCL_DATA_HOST;
  return n > 0 ? n * gemmcl_data_get_bytes (self->plan, which, self->run.m) : 0;
}

/* Records the run in its slot, which is occupied until the run is done. */
static void
track (Submission *self)
{
  const GemmclGemm *gemm = &self->plan->computed;
  Slot *slot = self->slot;

  slot->first = self->run.chain.first;
  slot->kernel = self->run.chain.kernel;
  slot->done = self->run.chain.last;
  slot->elsewhere = self->caller->queue != NULL;
  if (self->plan->problem.addend == GEMMCL_ADDEND_PREVIOUS) {
    g_clear_pointer (&self->plan->state_written, clReleaseEvent);
    self->plan->state_written = self->run.chain.kernel;
    clRetainEvent (self->run.chain.kernel);
  }
  slot->flops = 2.0 * self->run.m * gemm->n * gemm->k * self->run.batch;
  slot->bytes_in = count_host_bytes (self, GEMMCL_OPERAND_A, self->a);
  slot->bytes_out =
      self->plan->problem.omit_d
          ? count_host_bytes (self, GEMMCL_OPERAND_ROW_OUTPUTS, self->caller->row_outputs)
          : count_host_bytes (self, GEMMCL_OPERAND_D, self->caller->d);
  self->runs->stats.copies += self->n_copied;
}

/* Returns: the run, with a slot and a queue. */
static Submission
make_submission (GemmclRuns *runs, GemmclKernelPlan *plan, const GemmclRun *caller)
{
  Slot *slot = find_slot (runs, plan->context);
  Submission self = {
      .runs = runs,
      .plan = plan,
      .caller = caller,
      .run = gemmcl_kernel_run_init (plan, caller),
      .slot = slot,
      .queue = caller->queue ? caller->queue : runs->queue,
      .apart = caller->queue == NULL && !plan->device->host_unified,
  };

  if (runs->cut_short) {
    plan->parts_are_void = TRUE;
    g_clear_pointer (&plan->parts_cleared, clReleaseEvent);
    runs->cut_short = FALSE;
  }
  self.a = self.run.p.alpha != 0.0f ? caller->a : NULL;
  self.d_before = self.run.p.beta != 0.0f ? caller->previous : NULL;
  self.run.chain.queue = self.queue;
  self.run.chain.events = slot->events;
  return self;
}

gboolean
gemmcl_runs_submit (GemmclRuns *self, GemmclKernelPlan *plan, const GemmclRun *run, cl_event *first,
                    cl_event *done, GError **error)
{
  g_auto (Submission) submission = make_submission (self, plan, run);

  if (!find_previous (&submission, error) || !find_buffers (&submission, error))
    return FALSE;
  if (!enqueue (&submission, error)) {
    give_up (&submission);
    return FALSE;
  }
  track (&submission);
  if (first != NULL && clRetainEvent (submission.slot->first) == CL_SUCCESS)
    *first = submission.slot->first;
  if (done != NULL && clRetainEvent (submission.slot->done) == CL_SUCCESS)
    *done = submission.slot->done;
  return TRUE;
}
