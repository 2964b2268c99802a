/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds the loops of a listing and counts the instructions of one iteration of each.
 */
#include "isa.h"

/* A loop: the instructions from @head to @tail, the branch back. */
typedef struct {
  gint head, tail;
} Span;

/* The best path from a loop's head to an instruction, including that. */
typedef struct {
  gboolean reached;
  gdouble mads, bytes;
  guint instructions;
  gint from;
} Way;

static const IsaInstruction *
get (const GArray *instructions, gint i)
{
  return &g_array_index (instructions, IsaInstruction, i);
}

static gint
compare_spans (gconstpointer a, gconstpointer b)
{
  const Span *left = a, *right = b;

  /* With the same head, the larger span comes first: it is the outer one. */
  if (left->head != right->head)
    return left->head < right->head ? -1 : 1;
  return left->tail == right->tail ? 0 : left->tail > right->tail ? -1 : 1;
}

/* Returns: one span for each head, up to its last branch back. */
static GArray *
find_spans (const GArray *instructions)
{
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (Span));

  for (gint i = 0; i < (gint)instructions->len; i++) {
    const gint target = get (instructions, i)->target;
    if (target >= 0 && target <= i)
      g_array_append_vals (spans, &(Span){target, i}, 1);
  }
  g_array_sort (spans, compare_spans);
  for (guint i = 1; i < spans->len;) {
    if (g_array_index (spans, Span, i).head == g_array_index (spans, Span, i - 1).head)
      g_array_remove_index (spans, i);
    else
      i++;
  }
  return spans;
}

/* Returns: the innermost loop of each instruction; -1 outside of loops. */
static gint *
assign_loops (const GArray *instructions, const GArray *spans)
{
  gint *loops = g_new (gint, instructions->len);

  for (guint i = 0; i < instructions->len; i++)
    loops[i] = -1;
  /* Inner loops come after outer ones. */
  for (guint l = 0; l < spans->len; l++) {
    const Span *span = &g_array_index (spans, Span, l);
    for (gint i = span->head; i <= span->tail; i++)
      loops[i] = (gint)l;
  }
  return loops;
}

static gdouble
get_mads (const IsaInstruction *instruction)
{
  return instruction->class == ISA_MULTIPLY || instruction->class == ISA_DPAS ? instruction->amount
                                                                              : 0;
}

static gboolean
is_better (const Way *way, const Way *than)
{
  if (way->mads != than->mads)
    return way->mads > than->mads;
  /* A full tile takes the conditional loads. */
  if (way->bytes != than->bytes)
    return way->bytes > than->bytes;
  return way->instructions < than->instructions;
}

static void
reach (Way *to, const Way *from, gint index)
{
  if (to->reached && !is_better (from, to))
    return;
  *to = *from;
  to->from = index;
}

/* Returns: the best paths from the head of loop @l to its instructions. An inner loop is passed
 * once. */
static Way *
find_ways (const GArray *instructions, const Span *span, const gint *loops, gint l)
{
  const gint n = span->tail - span->head + 1;
  Way *ways = g_new0 (Way, n);

  ways[0] = (Way){.reached = TRUE, .from = -1};
  for (gint i = 0; i < n; i++) {
    const IsaInstruction *instruction = get (instructions, span->head + i);
    const gint target = instruction->target - span->head;

    if (!ways[i].reached)
      continue;
    if (loops[span->head + i] == l) {
      ways[i].mads += get_mads (instruction);
      ways[i].bytes += instruction->class == ISA_LOAD ? instruction->amount : 0;
      ways[i].instructions++;
    }
    if (!instruction->stops && i + 1 < n)
      reach (&ways[i + 1], &ways[i], i);
    if (instruction->target >= 0 && target > i && target < n)
      reach (&ways[target], &ways[i], i);
  }
  return ways;
}

static void
count (IsaLoop *loop, const IsaInstruction *instruction, guint simd)
{
  guint *const counters[] = {
      [ISA_MULTIPLY] = &loop->multiply,    [ISA_DPAS] = &loop->dpas,
      [ISA_MOVE] = &loop->moves,           [ISA_INTEGER] = &loop->integers,
      [ISA_FLOAT] = &loop->floats,         [ISA_LOAD] = &loop->loads,
      [ISA_STORE] = &loop->stores,         [ISA_SLM_LOAD] = &loop->slm_loads,
      [ISA_SLM_STORE] = &loop->slm_stores, [ISA_OTHER_SEND] = &loop->other_sends,
      [ISA_BARRIER] = &loop->barriers,     [ISA_CONTROL] = &loop->control,
  };

  ++*counters[instruction->class];
  loop->instructions++;
  if (instruction->class == ISA_MULTIPLY)
    loop->mads += instruction->amount / simd;
  else if (instruction->class == ISA_DPAS)
    loop->dpas_macs += instruction->amount / simd;
  else if (instruction->class == ISA_LOAD)
    loop->load_bytes += instruction->amount;
  else if (instruction->class == ISA_SLM_LOAD)
    loop->slm_load_bytes += instruction->amount;
}

/* Counts one iteration of loop @l. */
static void
describe_loop (const GArray *instructions, const GArray *spans, const gint *loops, gint l,
               guint simd, IsaLoop *loop)
{
  const Span *span = &g_array_index (spans, Span, l);
  g_autofree Way *ways = find_ways (instructions, span, loops, l);
  const gint last = span->tail - span->head;

  loop->parent = -1;
  for (gint other = 0; other < l; other++)
    if (g_array_index (spans, Span, other).tail >= span->tail)
      loop->parent = other;
  loop->first = get (instructions, span->head)->line;
  loop->last = get (instructions, span->tail)->line;
  if (!ways[last].reached)
    return;
  for (gint i = last; i >= 0; i = ways[i].from)
    if (loops[span->head + i] == l)
      count (loop, get (instructions, span->head + i), simd);
}

static gboolean
has_loop_within (const IsaFigures *figures, guint l)
{
  return l + 1 < figures->n_loops && figures->loops[l + 1].parent == (gint)l;
}

/* TRUE for a loop over resources. It takes the first remaining lane and all lanes with the same
 * surface, and sends one message for them. */
static gboolean
is_resource_loop (const GArray *instructions, const Span *span, const IsaLoop *loop)
{
  gboolean finds = FALSE;

  for (gint i = span->head; i <= span->tail; i++)
    finds |= get (instructions, i)->finds_lane;
  return finds && loop->multiply == 0 && loop->loads + loop->stores > 0;
}

void
isa_loops_find (const GArray *instructions, IsaFigures *figures)
{
  g_autoptr (GArray) spans = find_spans (instructions);
  g_autofree gint *loops = assign_loops (instructions, spans);
  const guint simd = MAX (figures->simd, 1);
  gdouble most = 0;

  figures->instructions = instructions->len;
  figures->n_loops = spans->len;
  figures->loops = g_new0 (IsaLoop, spans->len);
  figures->resource_loops = 0;
  figures->hot = -1;
  for (guint l = 0; l < spans->len; l++)
    describe_loop (instructions, spans, loops, (gint)l, simd, &figures->loops[l]);
  for (guint l = 0; l < spans->len; l++) {
    const IsaLoop *loop = &figures->loops[l];
    const gdouble mads = loop->mads + loop->dpas_macs;

    if (!has_loop_within (figures, l) &&
        is_resource_loop (instructions, &g_array_index (spans, Span, l), loop))
      figures->resource_loops++;
    if (mads > most || (mads > 0 && mads == most &&
                        loop->instructions < figures->loops[figures->hot].instructions)) {
      most = mads;
      figures->hot = (gint)l;
    }
  }
}
