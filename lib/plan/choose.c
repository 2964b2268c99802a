/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernel plans that are ready for runs, and the choice of their kernel: the one that the user
 * named; else the one that tuning found; else the first in the order of the rules that builds and
 * does not spill registers. Each passes its proof if it needs one.
 */
#include "plan/choose.h"

#include <string.h>

#include "device/cache.h"
#include "device/program.h"
#include "kernels/subgroups.h"
#include "kernels/tuning.h"
#include "plan/data.h"
#include "plan/kept.h"
#include "plan/runs.h"

#define MAX_BUILT 16 /* kernels that are built in search of one that does not spill */

/* The speed of one thread of a CPU in small products: its share of the peak, the bytes of B that it
 * reads in a nanosecond, and the nanoseconds in which it reads or writes an element of A or D and
 * converts it. Estimated from products and frames that take 1 to 200 us. */
#define SHARE_OF_PEAK 0.4
#define B_PER_NS      20
#define NS_PER_VALUE  0.1

/* The sizes of a proof's problem. They are several tiles and steps of each kernel, with edges. Rows
 * of A consist of whole chunks of 16 bytes. */
#define M 130
#define N 262
#define K 600

/* Enqueues @run on temporary memory of the size that a real run uses. */
static gboolean
enqueue_warm_up (GemmclKernelPlan *self, GemmclKernelRun *run, GError **error)
{
  const GemmclGemm *problem = &self->problem;
  const gboolean has_rows = problem->row_outputs != 0;
  const gboolean has_d = !problem->omit_d || problem->addend == GEMMCL_ADDEND_PREVIOUS;
  g_auto (cl_mem) a = gemmcl_data_create_copy (self, GEMMCL_OPERAND_A, error);
  g_auto (cl_mem) d = a && has_d ? gemmcl_data_create_copy (self, GEMMCL_OPERAND_D, error) : NULL;
  g_auto (cl_mem) row_outputs =
      a && (d || !has_d) && has_rows
          ? gemmcl_data_create_copy (self, GEMMCL_OPERAND_ROW_OUTPUTS, error)
          : NULL;

  run->a = a;
  run->previous = d;
  run->d = problem->omit_d ? NULL : d;
  run->row_outputs = row_outputs;
  return a != NULL && (!has_d || d != NULL) && (!has_rows || row_outputs != NULL) &&
         gemmcl_kept_warm_up_b (self, run->chain.queue, error) &&
         gemmcl_steps_enqueue (self, run, error);
}

/* Makes PoCL, which compiles a kernel at its first launch, compile the kernels of a run: launches a
 * part of each grid (see GemmclChain.warm_up). A failure is only logged: smaller runs may have
 * enough memory, and a lasting error fails the runs. */
static void
warm_up (GemmclKernelPlan *self)
{
  const GemmclRun whole = GEMMCL_RUN_INIT;
  GemmclKernelRun run = gemmcl_kernel_run_init (self, &whole);
  g_autoptr (GPtrArray) events = gemmcl_events_new ();
  g_autoptr (GError) failure = NULL;
  g_auto (cl_command_queue) queue = NULL;

  if (self->device->type != GEMMCL_DEVICE_TYPE_CPU)
    return;
  queue = gemmcl_context_create_queue (self->context, 0, &failure);
  if (queue != NULL) {
    gboolean enqueued;

    run.chain = (GemmclChain){.queue = queue, .events = events, .warm_up = TRUE};
    enqueued = enqueue_warm_up (self, &run, &failure);
    gemmcl_cl_check (clFinish (queue), enqueued ? &failure : NULL, "clFinish after warming up");
  }
  gemmcl_kept_clear (&self->kept[GEMMCL_PLAN_B]);
  if (failure != NULL)
    g_debug ("The first run compiles instead: %s", failure->message);
}

/* Makes everything besides multiply that runs need. */
static gboolean
complete (GemmclKernelPlan *self, GError **error)
{
  if (!gemmcl_data_build_gather (self, error) || !gemmcl_steps_build (self, error))
    return FALSE;
  warm_up (self);
  self->state_is_void =
      TRUE; /* after warm_up(), which would fill the state with zeros for nothing */
  self->name = gemmcl_choice_get_name (&(GemmclChoice){self->kernel, self->split, 0});
  return TRUE;
}

/* A positive integer as f16 or bf16. A normal f16 is its f32 with another bias and fewer digits. */
static guint16
get_half (gfloat value, GemmclType type)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof (bits));
  return type == GEMMCL_TYPE_BF16 ? bits >> 16 : (bits - 0x38000000) >> 13;
}

/* Runs a plan of one problem on the host's matrices, and waits. */
static gboolean
run_once (GemmclKernelPlan *self, gpointer a, const gfloat *b, gpointer d, GError **error)
{
  const GemmclData in = {.host = {a}}, out = {.host = {d}};
  g_autoptr (GemmclMatrix) matrix =
      gemmcl_matrix_new (GEMMCL_TYPE_F32, self->computed.k, self->computed.n, b, error);
  g_auto (GemmclRuns) runs = {0};
  GemmclRun run = GEMMCL_RUN_INIT;
  g_auto (cl_event) done = NULL;

  run.m = self->computed.m;
  run.batch = 1;
  run.a = &in;
  run.d = &out;
  return matrix != NULL &&
         gemmcl_kept_prepare (self, GEMMCL_PLAN_B, matrix, &self->kept[GEMMCL_PLAN_B], error) &&
         gemmcl_runs_submit (&runs, self, &run, NULL, &done, error) &&
         gemmcl_cl_check (gemmcl_context_wait (self->context, done), error, "A proof");
}

/* TRUE if the native @kernel multiplies an A of @type without error. Every precision holds the
 * elements: for int8 a row of A has the range 0 to 255 and a column of B at most 127, so that all
 * scales are 1. */
static gboolean
try_type (GemmclContext *context, const GemmclKernel *kernel, GemmclType type, GError **error)
{
  g_autofree gfloat *a = g_new (gfloat, M * K), *b = g_new (gfloat, K * N);
  g_autofree gfloat *d = g_new0 (gfloat, M * N);
  g_autofree guint16 *f16s = g_new (guint16, M * K);
  g_autoptr (GemmclKernelPlan) plan = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  gpointer elements = type == GEMMCL_TYPE_F32 ? (gpointer)a : f16s;
  gdouble error_of_d;

  gemm.m = M;
  gemm.n = N;
  gemm.k = K;
  gemm.precision = kernel->precision;
  gemm.a_type = type;
  for (gsize i = 0; i < M * K; i++) {
    a[i] = i / K == i % K ? 255 : (gfloat)(i * 7919 % 1009 % 17 + 1);
    f16s[i] = get_half (a[i], type);
  }
  for (gsize i = 0; i < K * N; i++)
    b[i] = i / N == i % N ? 127 : (gfloat)(i * 7919 % 1009 % 17) - 8;
  plan = gemmcl_kernel_plan_alloc (context, &gemm);
  if (!gemmcl_kernel_plan_build_multiply (plan, &(GemmclChoice){kernel, 1, 0},
                                          GEMMCL_KERNEL_LEVEL_NATIVE, error) ||
      !complete (plan, error) || !run_once (plan, elements, b, d, error))
    return FALSE;
  /* The error is NaN if an element is wrongly NaN or infinite. */
  if (gemmcl_gemm_verify (&gemm, elements, b, NULL, NULL, d, &error_of_d, NULL) && error_of_d == 0)
    return TRUE;
  return gemmcl_fail (
      error, GEMMCL_ERROR_KERNEL,
      "Expected an exact product, found an element that is not finite or off by %g.", error_of_d);
}

/* TRUE if @why is a fault of the kernel; FALSE if it may pass, such as a shortage of memory. */
static gboolean
is_of_kernel (const GError *why)
{
  return g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL) ||
         g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_BUILD);
}

/* TRUE if @kernel needs no proof or passed it. A kernel that depends on more than a driver promises
 * (lib/device/program.c) first multiplies small integers, whose product is exact. The outcome is
 * logged at level INFO and cached for each driver, unless it is a failure that may pass. A kernel
 * that is not native here is refused when it is built, without a proof. */
static gboolean
is_proven (GemmclContext *context, const GemmclKernel *kernel, GError **error)
{
  static GMutex lock;
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);
  g_autofree gchar *key = NULL;
  g_autoptr (GBytes) known = NULL;
  g_autoptr (GError) why = NULL;
  gboolean ok;

  if (kernel->family != GEMMCL_FAMILY_WGMMA ||
      gemmcl_subgroups_get_level (kernel, device, GEMMCL_KERNEL_LEVEL_NATIVE) !=
          GEMMCL_KERNEL_LEVEL_NATIVE)
    return TRUE;
  key = gemmcl_program_make_key (device, gemmcl_embedded_get_text (kernel->source), kernel->name);
  g_mutex_lock (&lock);
  known = gemmcl_cache_load (key);
  if (known != NULL) {
    ok = *(const gchar *)g_bytes_get_data (known, NULL) == 'r';
  } else {
    const GemmclType own = gemmcl_kernel_get_b_type (kernel);

    ok = try_type (context, kernel, GEMMCL_TYPE_F32, &why) &&
         (own == GEMMCL_TYPE_F32 || own == GEMMCL_TYPE_I8 || try_type (context, kernel, own, &why));
    if (ok || is_of_kernel (why))
      gemmcl_cache_store (key, ok ? "right" : "wrong", 5);
    g_info ("Kernel %s is %s on %s%s%s", kernel->name, ok ? "proven" : "not used", device->name,
            ok ? "" : ": ", ok ? "" : why->message);
  }
  g_mutex_unlock (&lock);
  if (ok)
    return TRUE;
  if (why != NULL && !is_of_kernel (why)) {
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  return gemmcl_fail (error, GEMMCL_ERROR_BUILD,
                      "Kernel %s is not used on %s: it does not build there, or a product of small "
                      "integers was wrong. Name another kernel, or \"auto\".",
                      kernel->name, device->name);
}

/* Builds @choice for the problem, down to the level @worst, if it is proven. */
static gboolean
try_choice (GemmclKernelPlan *self, const GemmclChoice *choice, GemmclKernelLevel worst,
            GError **error)
{
  return gemmcl_choice_check (choice, self->device, &self->computed, error) &&
         is_proven (self->context, choice->kernel, error) &&
         gemmcl_kernel_plan_build_multiply (self, choice, worst, error);
}

/* Bytes per work-item that Intel's compiler spilled. */
static guint64
count_spilled (GemmclKernelPlan *self)
{
  GemmclPlanInfo info;

  if (!self->device->intel || self->device->type != GEMMCL_DEVICE_TYPE_GPU)
    return 0;
  info = gemmcl_kernel_plan_get_info (self);
  return MAX (info.spill_bytes, info.private_bytes);
}

/* Builds the first choice that this driver can build without spilling: spilling costs more than
 * choices differ by. If all of the first MAX_BUILT spill, takes the one that spills least. */
static gboolean
try_choices (GemmclKernelPlan *self, GArray *ranked, GError **error)
{
  GemmclChoice *best = NULL;
  guint64 spilled, least = G_MAXUINT64;
  g_autoptr (GError) failure = NULL;
  guint built = 0;

  for (guint i = 0; i < ranked->len && built < MAX_BUILT && least > 0; i++) {
    GemmclChoice *choice = &g_array_index (ranked, GemmclChoice, i);

    g_clear_error (&failure);
    if (!try_choice (self, choice, GEMMCL_KERNEL_LEVEL_NATIVE, &failure)) {
      g_debug ("%s", failure->message);
      continue;
    }
    built++;
    spilled = count_spilled (self);
    if (spilled < least) {
      least = spilled;
      best = choice;
    }
  }
  if (least == 0)
    return TRUE;
  if (best != NULL)
    return gemmcl_kernel_plan_build_multiply (self, best, GEMMCL_KERNEL_LEVEL_NATIVE, error);
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* Builds the kernel that the user named; else that of the tuning entry for the problem, if there is
 * one that builds; else the best one that this driver can build. */
static gboolean
choose_kernel (GemmclKernelPlan *self, const gchar *name, GError **error)
{
  const GemmclGemm as_run = gemmcl_gemm_get_as_run (&self->computed);
  const gboolean rules = g_strcmp0 (name, "rules") == 0;
  g_autoptr (GArray) ranked = NULL;
  g_autoptr (GError) failure = NULL;
  GemmclTuned tuned;

  if (name != NULL && !rules && strcmp (name, "auto") != 0) {
    self->source = GEMMCL_CHOICE_NAMED;
    return gemmcl_choice_find (&tuned.choice, name, error) &&
           try_choice (self, &tuned.choice, GEMMCL_KERNEL_LEVEL_EMULATED, error);
  }
  if (!rules && gemmcl_tuning_find (self->device, &as_run, &tuned)) {
    self->source = tuned.public.source;
    if (try_choice (self, &tuned.choice, GEMMCL_KERNEL_LEVEL_NATIVE, &failure))
      return TRUE;
    g_debug ("%s", failure->message);
  }
  self->source = GEMMCL_CHOICE_RULES;
  ranked = gemmcl_choice_rank (self->device, &as_run,
                               self->computed.batch > 1 ? 1 : GEMMCL_MAX_SPLIT, FALSE);
  if (ranked->len == 0)
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "No kernel writes frames from %zu features a pixel; write a matrix instead.",
        self->computed.k);
  return try_choices (self, ranked, error);
}

GemmclKernelPlan *
gemmcl_kernel_plan_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                        GError **error)
{
  g_autoptr (GemmclKernelPlan) self = gemmcl_kernel_plan_alloc (context, gemm);
  gboolean made;

  /* Drivers compile in builds, and PoCL also in the first run. */
  if (!gemmcl_cl_begin_work (NULL, error))
    return NULL;
  made = choose_kernel (self, kernel, error) && complete (self, error);
  gemmcl_cl_end_work ();
  return made ? g_steal_pointer (&self) : NULL;
}

/* Returns: the nanoseconds that one thread of @device needs for the problem, by estimate. */
static gdouble
estimate_ns (const GemmclDeviceInfo *device, const GemmclGemm *gemm)
{
  const gdouble m = (gdouble)gemm->m * gemmcl_gemm_get_batch (gemm);
  const gdouble b = (gdouble)gemm->k * gemm->n;
  const gdouble flops_per_ns = MAX (device->peak_gflops / MAX (device->compute_units, 1), 1);

  return 2 * m * b / (SHARE_OF_PEAK * flops_per_ns) + b * sizeof (gfloat) / B_PER_NS +
         m * (gemm->k + gemm->n) * NS_PER_VALUE;
}

GemmclContext *
gemmcl_context_find_inline (GemmclContext *self, const GemmclGemm *gemm)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (self);
  const gdouble threads = MAX (device->compute_units, 2);
  guint64 launch_ns;
  GemmclContext *found = gemmcl_context_get_inline (self, &launch_ns);

  return found != NULL && device->host_unified && gemm->addend != GEMMCL_ADDEND_PREVIOUS &&
                 estimate_ns (device, gemm) * (1 - 1 / threads) < launch_ns
             ? found
             : NULL;
}
