/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread goes round: the pipes of its EU, the data port and local memory of its core, the way to
 * the large cache, memory, and back. At each it takes a known number of clocks a turn, and queues
 * behind others; besides, it waits for answers. That is a closed network of queues: Bard's and
 * Schweitzer's approximation of mean value analysis says how many turns all make together. An EU's
 * threads have the pipes to themselves, a core's the port, and all of them memory.
 */
#include "isa-model.h"

#include <math.h>

#define LINE            64.0
#define GATHER_LANES    16.0
#define SLM_WORD        4.0
#define PAD_DISTANCE    32
#define MAX_LANES       32
#define MAX_ITERATIONS  1000
#define SMALL_CHANGE    1e-9
#define BYTES_PER_FLOAT 4.0
/* Rows of a dpas, each of which is a pass. */
#define DPAS_ROWS 8
/* What is busier than this is what bounds. */
#define BOUND_BUSY 0.8

/* What a thread does in a step of K. */
typedef struct {
  gdouble mads;
  gdouble dpas, passes, integers, conflicts;
  gdouble others;
  gdouble loads, load_bytes, stores;
  gdouble slm_bytes, slm_stores;
  gdouble rounds, slm_rounds, barriers;
} Work;

typedef struct {
  const IsaFigures *figures;
  const IsaShape *shape;
  const IsaDevice *device;
  const IsaProblem *problem;
  Work work;
  gdouble rows, columns;
  gdouble group_threads;
  gdouble most_threads;
  gdouble clocks[ISA_N_STATIONS];
  gdouble waiting;
} Model;

const gchar *
isa_bound_get_name (IsaBound bound)
{
  static const gchar *const names[] = {
      [ISA_BOUND_ISSUE] = "issue",      [ISA_BOUND_PORT] = "data port",
      [ISA_BOUND_SLM] = "local memory", [ISA_BOUND_FILL] = "L2 to L1",
      [ISA_BOUND_LINK] = "LLC to L3",   [ISA_BOUND_MEMORY] = "memory",
      [ISA_BOUND_WAITING] = "waiting",
  };
  return names[bound];
}

/* @turns of @loop; of one round a resource, waits were counted with the loop around it. */
static void
add_loop (Work *work, const IsaLoop *loop, guint simd, gdouble turns, gboolean waits)
{
  work->mads += turns * (loop->mads + loop->dpas_macs) * simd;
  work->dpas += turns * loop->dpas;
  work->passes += turns * (loop->passes - DPAS_ROWS * loop->dpas);
  work->integers += turns * loop->integers;
  work->conflicts += turns * loop->conflicts;
  work->loads += turns * loop->loads;
  work->load_bytes += turns * loop->load_bytes;
  work->stores += turns * loop->stores;
  work->slm_bytes += turns * loop->slm_load_bytes;
  work->slm_stores += turns * loop->slm_stores;
  work->others += turns * (loop->loads + loop->slm_loads + loop->stores + loop->slm_stores +
                           loop->other_sends + loop->control);
  work->barriers += turns * loop->barriers;
  if (waits) {
    work->rounds += turns * loop->rounds;
    work->slm_rounds += turns * loop->slm_rounds;
  }
}

/* Turns in which a loop that fills local memory brings a thread's share of the tiles. */
static gdouble
count_fill_turns (const Model *model, const IsaLoop *loop)
{
  const gdouble bytes = (gdouble)model->figures->slm / model->shape->sides / model->group_threads;

  return loop->slm_stores > 0 && loop->multiply == 0 && loop->load_bytes > 0
             ? ceil (bytes / loop->load_bytes)
             : 0;
}

/* @turns of the hot loop, of which a step has @step_turns. Loops within fill local memory, once a
 * step and with its barriers, or are for resources. */
static void
add_hot (Work *work, const Model *model, gdouble turns, gdouble step_turns)
{
  const IsaFigures *figures = model->figures;
  const IsaLoop *hot = &figures->loops[figures->hot];
  gdouble barriers = hot->barriers;

  add_loop (work, hot, figures->simd, turns, TRUE);
  work->barriers -= turns * hot->barriers;
  for (guint l = 0; l < figures->n_loops; l++) {
    const IsaLoop *loop = &figures->loops[l];
    const gdouble fill = count_fill_turns (model, loop);
    if (loop->parent != figures->hot || loop->multiply > 0)
      continue;
    add_loop (work, loop, figures->simd, fill > 0 ? turns * fill / step_turns : turns, fill > 0);
    if (fill > 0)
      barriers = hot->barriers / step_turns;
  }
  work->barriers += turns * barriers;
}

/* Where a loop within @outer fills local memory: as many turns of the cheapest as the tiles need.
 * There are several where layouts differ. */
static void
add_fill (Work *work, const Model *model, gint outer)
{
  const IsaFigures *figures = model->figures;
  const IsaLoop *best = NULL;
  gdouble best_turns = 0;

  for (guint l = 0; l < figures->n_loops; l++) {
    const IsaLoop *loop = &figures->loops[l];
    const gdouble turns = count_fill_turns (model, loop);
    if (loop->parent != outer || turns == 0)
      continue;
    if (best == NULL || turns * loop->passes < best_turns * best->passes) {
      best = loop;
      best_turns = turns;
    }
  }
  if (best != NULL)
    add_loop (work, best, figures->simd, best_turns, TRUE);
}

/* Returns: FALSE where nothing multiplies. */
static gboolean
count_work (Model *model)
{
  const IsaFigures *figures = model->figures;
  const IsaLoop *hot = &figures->loops[figures->hot];
  const gdouble depth =
      (hot->mads + hot->dpas_macs) / (model->shape->tile_m * model->shape->tile_n);
  const gdouble step_turns = depth > 0 ? MAX (model->shape->step / depth, 1) : 1;
  const IsaLoop *outer = hot->parent >= 0 ? &figures->loops[hot->parent] : NULL;

  if (outer == NULL || depth < 1 || step_turns <= 1) {
    add_hot (&model->work, model, 1, step_turns);
  } else {
    add_hot (&model->work, model, step_turns, step_turns);
    add_loop (&model->work, outer, figures->simd, 1, TRUE);
    if (outer->slm_stores == 0)
      add_fill (&model->work, model, hot->parent);
  }
  return model->work.mads > 0;
}

/* Threads of an EU: whole work-groups on a core, as its threads and its local memory allow. */
static gdouble
count_threads (const Model *model)
{
  const IsaFigures *figures = model->figures;
  const IsaDevice *device = model->device;
  const guint threads = figures->threads > 0     ? MIN (figures->threads, device->threads)
                        : figures->registers > 0 ? device->threads * 128 / figures->registers
                                                 : device->threads;
  gdouble groups = floor (device->core_eus * threads / model->group_threads);

  if (figures->slm > 0)
    groups = MIN (groups, floor (device->slm_size / figures->slm));
  return MIN (MAX (groups, 1) * model->group_threads / device->core_eus, threads);
}

/* How many lanes of @lanes meet in the busiest bank. */
static gdouble
count_conflicts (guint lanes, guint apart, guint pad, guint banks)
{
  guint busy[MAX_LANES] = {0}, most = 1;

  for (guint n = 0; n < MIN (lanes, MAX_LANES); n++) {
    const guint at = n * apart;
    guint *bank = &busy[(at + at / PAD_DISTANCE * pad) % MIN (banks, MAX_LANES)];
    most = MAX (most, ++*bank);
  }
  return most;
}

/* Lines of 64 bytes that the loads touch, where work-items load one element after the other: all of
 * a row of A the same one, and of B each its own, @apart columns from the neighbour's. */
static gdouble
count_lines (const Model *model)
{
  const IsaShape *shape = model->shape;
  const gdouble bytes = model->work.load_bytes / MAX (model->work.loads, 1);
  const gdouble lanes = MIN (MIN (model->figures->simd, GATHER_LANES), bytes / shape->b_bytes);
  const gdouble width = bytes / MAX (lanes, 1);
  const gdouble neighbours = MIN (lanes, shape->group_n);
  const gdouble of_a = MAX (1, lanes / shape->group_n);
  const gdouble of_b = MAX (1, neighbours * MAX (shape->apart * shape->b_bytes, width) / LINE);
  const gdouble share_a = (gdouble)shape->tile_m / (shape->tile_m + shape->tile_n);

  return model->work.loads * (share_a * of_a + (1 - share_a) * of_b);
}

/* Bytes from behind a cache of @size for each multiply-add. Groups that run at the same time want
 * the same rows and columns; what one has read another finds if it comes before the cache has
 * forgotten it. The cache holds so many steps of K of all of them: of the distance between two
 * groups nothing is known but that it is less than K. */
static gdouble
count_missed (const Model *model, gdouble size)
{
  const IsaShape *shape = model->shape;
  const IsaProblem *problem = model->problem;
  const gdouble k = problem->split > 0 ? MIN (problem->split, problem->k) : problem->k;
  const gdouble tall = ceil (problem->m / model->rows), wide = ceil (problem->n / model->columns);
  const gdouble running =
      CLAMP (model->most_threads * model->device->eus / model->group_threads, 1, tall * wide);
  const gdouble down = MIN (problem->walk > 0 ? MIN (problem->walk, tall) : tall, running);
  const gdouble right = MIN (running / down, wide);
  const gdouble wanted =
      down * model->rows * shape->a_bytes + right * model->columns * shape->b_bytes;
  const gdouble alone = shape->b_bytes / model->rows + shape->a_bytes / model->columns;
  const gdouble together = wanted / (running * model->rows * model->columns);
  const gdouble found = MIN (1, size / wanted / k);
  const gdouble once = shape->a_bytes / problem->n + shape->b_bytes / problem->m;
  const gdouble all = problem->k * (problem->m * shape->a_bytes + problem->n * shape->b_bytes);
  /* Each part but the first reads and writes sums. */
  const gdouble results = BYTES_PER_FLOAT * (2 * ceil (problem->k / k) - 1) / problem->k;

  if (all <= size)
    return once + results;
  return MAX (once, (1 - found) * alone + found * MIN (together, alone)) + results;
}

/* What a thread needs in a step, in clocks of each station. */
static void
count_clocks (Model *model)
{
  const IsaDevice *device = model->device;
  const IsaShape *shape = model->shape;
  const Work *work = &model->work;
  const gdouble slm_rate = device->slm_bytes > 0 ? device->slm_bytes : device->port_bytes;
  const guint neighbours = MIN (MIN (model->figures->simd, shape->group_n), device->slm_banks);
  const gdouble share_b = (gdouble)shape->tile_n / (shape->tile_m + shape->tile_n);
  const gdouble conflicts =
      shape->slm_apart == 0 ? 1
                            : 1 + share_b * (count_conflicts (neighbours, shape->slm_apart,
                                                              shape->slm_pad, device->slm_banks) -
                                             1);
  const gdouble lines = shape->apart > 0 ? count_lines (model) * LINE : 0;
  const gdouble missed = work->mads * count_missed (model, device->cache_size);
  const gdouble memory =
      work->mads * count_missed (model, MAX (device->cache_size, device->llc_size));
  const gdouble distinct =
      work->mads * (shape->b_bytes / model->rows + shape->a_bytes / model->columns);
  const gdouble slm_clocks = work->slm_bytes / slm_rate * conflicts + work->slm_stores;
  gdouble answer = device->port_clocks;

  model->clocks[ISA_BOUND_ISSUE] =
      MAX (device->dpas_clocks * work->dpas,
           device->pass_clocks * (device->integer_pipe
                                      ? MAX (work->passes - work->integers, work->integers)
                                      : work->passes) +
               device->conflict_clocks * work->conflicts);
  model->clocks[ISA_BOUND_PORT] =
      work->stores + MAX (work->loads, MAX (work->load_bytes, lines) / device->port_bytes);
  model->clocks[device->slm_bytes > 0 ? ISA_BOUND_SLM : ISA_BOUND_PORT] += slm_clocks;
  if (device->fill_bytes > 0) {
    model->clocks[ISA_BOUND_FILL] = distinct / device->fill_bytes;
    answer +=
        (device->fill_clocks - device->port_clocks) * MIN (1, distinct / MAX (work->load_bytes, 1));
  }
  if (device->link_bytes > 0)
    model->clocks[ISA_BOUND_LINK] = missed / device->link_bytes;
  model->clocks[ISA_BOUND_MEMORY] = memory * device->mhz / (device->memory_gbs * 1e3);
  answer += device->memory_ns * device->mhz * 1e-3 * MIN (1, missed / MAX (work->load_bytes, 1));
  model->waiting = work->rounds * answer + work->slm_rounds * device->slm_clocks +
                   work->barriers * device->barrier_clocks + work->others * device->pass_clocks;
}

/* Clocks of a step when each EU has @threads. */
static gdouble
solve (const Model *model, gdouble threads)
{
  const IsaDevice *device = model->device;
  const gdouble sharing[ISA_N_STATIONS] = {
      1, device->core_eus, device->core_eus, device->core_eus, device->eus, device->eus};
  /* Of several pipes a thread uses one: the rest is no queue, but time all the same. */
  const gdouble pipes = device->pipes;
  const gdouble alone = model->clocks[ISA_BOUND_ISSUE] * (pipes - 1) / pipes;
  gdouble queue[ISA_N_STATIONS], stay[ISA_N_STATIONS], step = 0;

  for (guint s = 0; s < ISA_N_STATIONS; s++)
    queue[s] = threads / ISA_N_STATIONS;
  for (guint i = 0; i < MAX_ITERATIONS; i++) {
    gdouble change = 0, total = model->waiting + alone;
    for (guint s = 0; s < ISA_N_STATIONS; s++) {
      const gdouble clocks = model->clocks[s] / (s == ISA_BOUND_ISSUE ? pipes : 1);
      const gdouble all = threads * sharing[s];
      stay[s] = clocks * (1 + queue[s] * sharing[s] * MAX (all - 1, 0) / all);
      total += stay[s];
    }
    for (guint s = 0; s < ISA_N_STATIONS; s++) {
      const gdouble next = threads * stay[s] / total;
      change = MAX (change, fabs (next - queue[s]));
      queue[s] = (queue[s] + next) / 2;
    }
    step = total;
    if (change < SMALL_CHANGE * threads)
      break;
  }
  return step;
}

/* Clocks that all threads take: as many at a time as fit, then the rest. */
static gdouble
count_time (const Model *model, gdouble *full_step)
{
  const IsaProblem *problem = model->problem;
  const gdouble steps =
      problem->k * model->rows * model->columns / (model->work.mads * model->group_threads);
  const gdouble threads =
      ceil (problem->m / model->rows) * ceil (problem->n / model->columns) * model->group_threads;
  const gdouble at_once = model->most_threads * model->device->eus;
  const gdouble rest = fmod (threads, at_once);
  gdouble time;

  *full_step = solve (model, model->most_threads);
  time = floor (threads / at_once) * steps * *full_step;
  if (rest > 0)
    time += steps * solve (model, MAX (rest / model->device->eus, 1));
  return time;
}

/* Clocks of a turn of @loop in the matrix engine, of these and one for each other pass and message.
 */
static gdouble
get_dpas_share (const IsaLoop *loop, const IsaDevice *device)
{
  const gdouble engine = device->dpas_clocks * loop->dpas;
  const gdouble arithmetic = loop->passes - DPAS_ROWS * loop->dpas;
  const guint others = loop->instructions - loop->multiply - loop->dpas - loop->moves -
                       loop->integers - loop->floats;

  return loop->dpas > 0 ? engine / (engine + arithmetic + others) : 0;
}

/* Multiply-adds that an EU can do in a clock. */
static gdouble
get_peak (const IsaFigures *figures, const IsaDevice *device)
{
  const IsaLoop *hot = &figures->loops[figures->hot];

  if (hot->dpas > 0)
    return hot->dpas_macs * figures->simd / hot->dpas / device->dpas_clocks;
  return device->pipes * (figures->register_bytes / BYTES_PER_FLOAT) / device->pass_clocks;
}

gboolean
isa_model_predict (const IsaFigures *figures, const IsaShape *shape, const IsaDevice *device,
                   const IsaProblem *problem, IsaPrediction *prediction)
{
  Model model = {.figures = figures, .shape = shape, .device = device, .problem = problem};
  gdouble lanes, step, time;

  *prediction = (IsaPrediction){0};
  if (figures->hot < 0 || figures->simd == 0 ||
      (figures->loops[figures->hot].dpas > 0 && device->dpas_clocks == 0))
    return FALSE;
  lanes = get_peak (figures, device);
  model.rows = (gdouble)shape->tile_m * shape->group_m;
  model.columns = (gdouble)shape->tile_n * shape->group_n;
  model.group_threads = ceil ((gdouble)shape->group_m * shape->group_n / figures->simd);
  if (!count_work (&model))
    return FALSE;
  model.most_threads = count_threads (&model);
  count_clocks (&model);
  time = count_time (&model, &step);

  prediction->efficiency = problem->m * problem->n * problem->k / (time * lanes * device->eus);
  prediction->gflops = prediction->efficiency * 2 * lanes * device->eus * device->mhz / 1000;
  prediction->threads = model.most_threads;
  prediction->dpas_share = get_dpas_share (&figures->loops[figures->hot], device);
  prediction->missed_bytes =
      problem->m * problem->n * problem->k * count_missed (&model, device->cache_size);
  for (guint s = 0; s < ISA_N_STATIONS; s++) {
    const gdouble sharing = s == ISA_BOUND_ISSUE  ? 1.0 / device->pipes
                            : s >= ISA_BOUND_LINK ? device->eus
                                                  : device->core_eus;
    prediction->busy[s] = model.clocks[s] * sharing * model.most_threads / step;
  }
  for (guint s = 1; s < ISA_N_STATIONS; s++)
    if (prediction->busy[s] > prediction->busy[prediction->bound])
      prediction->bound = (IsaBound)s;
  if (prediction->busy[prediction->bound] < BOUND_BUSY)
    prediction->bound = ISA_BOUND_WAITING;
  return TRUE;
}
