/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How often a thread that has its EU alone would stand still: it goes through a loop, one register
 * a pass, each load's registers are ready ISA_WAIT_PASSES later, and an instruction waits for those
 * that it names. A load far enough ahead of its use costs nothing, and several that are under way
 * together cost one wait.
 */
#include "isa-listing.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REGISTERS 512
/* The first turn has nothing to wait for from the one before; the second may still be out of step.
 */
#define TURNS 3
/* As found by the authors of Mesa's compiler. */
#define BANK(number) (((number) >> 6 & 1) << 1 | ((number)&1))

/* When each register is ready, in passes. */
typedef struct {
  gdouble ready[MAX_REGISTERS];
  gboolean slm[MAX_REGISTERS];
  gdouble now;
  gdouble waited[2];
} Thread;

/* An instruction's line, and what is needed of it. */
typedef struct {
  const IsaInstruction *instruction;
  const gchar *text;
} Line;

static guint
get_type_bytes (const gchar *type)
{
  const gchar *end = type + strspn (type, "abcdefghijklmnopqrstuvwxyz");

  switch (end > type ? end[-1] : '\0') {
  case 'q':
    return 8;
  case 'w':
    return 2;
  case 'b':
    return 1;
  default:
    return g_str_has_prefix (type, "df") ? 8 : g_str_has_prefix (type, "hf") ? 2 : 4;
  }
}

/* Registers of an operand after its number: "3.0<2;1>:f", "30:2", "15:f". */
static guint
count_registers (const gchar *rest, guint lanes, guint register_bytes)
{
  const gchar *colon, *region = NULL;
  guint stride = 1;

  if (rest[0] == ':' && g_ascii_isdigit (rest[1]))
    return (guint)g_ascii_strtoull (rest + 1, NULL, 10);
  colon = strchr (rest, ':');
  region = strchr (rest, '<');
  if (colon == NULL || rest[0] == ':')
    return 1;
  if (region != NULL && region < colon) {
    if (region[1] == '0')
      return 1;
    /* Of results: <2> leaves every other element out. */
    if (strcspn (region, ";>") < strlen (region) && region[strcspn (region, ";>")] == '>')
      stride = (guint)g_ascii_strtoull (region + 1, NULL, 10);
  }
  return (lanes * get_type_bytes (colon + 1) * MAX (stride, 1) + register_bytes - 1) /
         register_bytes;
}

static guint
get_answer (const gchar *text)
{
  const gchar *at = strstr (text, "rd:");
  return at != NULL ? (guint)g_ascii_strtoull (at + strlen ("rd:"), NULL, 10) : 0;
}

static void
wait_for (Thread *thread, guint first, guint n)
{
  for (guint r = first; r < MIN (first + n, MAX_REGISTERS); r++)
    if (thread->ready[r] > thread->now) {
      thread->waited[thread->slm[r]] += thread->ready[r] - thread->now;
      thread->now = thread->ready[r];
    }
}

/* One instruction: it waits for what it names, and takes its passes. */
static void
go_through (Thread *thread, const Line *line, guint register_bytes)
{
  const IsaInstruction *instruction = line->instruction;
  const gboolean loads = instruction->class == ISA_LOAD || instruction->class == ISA_SLM_LOAD;
  const gsize length = strcspn (line->text, "\n");
  g_autofree gchar *copy = g_strndup (line->text, length);
  const guint answer = get_answer (copy);
  gint result = -1;
  gchar *comment = strstr (copy, "//");

  if (comment != NULL)
    *comment = '\0';
  for (const gchar *at = copy; *at != '\0'; at++) {
    gchar *rest;
    guint number;
    if (*at != 'r' || !g_ascii_isdigit (at[1]) || (at > copy && g_ascii_isalnum (at[-1])))
      continue;
    number = (guint)g_ascii_strtoull (at + 1, &rest, 10);
    if (loads && result < 0)
      result = (gint)number;
    else
      wait_for (thread, number, count_registers (rest, instruction->lanes, register_bytes));
    at = rest - 1;
  }
  if (loads && result >= 0)
    wait_for (thread, (guint)result, answer);
  thread->now += MAX (instruction->passes, 1);
  for (guint r = 0; loads && result >= 0 && r < answer; r++)
    if ((guint)result + r < MAX_REGISTERS) {
      thread->ready[result + r] = thread->now + ISA_WAIT_PASSES;
      thread->slm[result + r] = instruction->class == ISA_SLM_LOAD;
    }
}

/* Passes of a multiplication that take longer: its operands after the sum are of one bank. */
static gdouble
count_conflicts (const Line *line)
{
  gulong numbers[4];
  guint n = 0;

  if (line->instruction->class != ISA_MULTIPLY)
    return 0;
  for (const gchar *at = line->text; *at != '\n' && *at != '\0' && n < 4; at++)
    if (*at == 'r' && g_ascii_isdigit (at[1]) && (at == line->text || !g_ascii_isalnum (at[-1])))
      numbers[n++] = strtoul (at + 1, NULL, 10);
  return n == 4 && BANK (numbers[2]) == BANK (numbers[3]) ? line->instruction->passes : 0;
}

/* Whether line @line is of a loop within @outer that has turns of its own: one that multiplies, or
 * fills local memory. One round resources has one turn. */
static gboolean
is_of_inner (const IsaFigures *figures, guint outer, guint line)
{
  for (guint l = outer + 1; l < figures->n_loops; l++) {
    const IsaLoop *loop = &figures->loops[l];
    if (loop->first > figures->loops[outer].last)
      break;
    if ((loop->multiply > 0 || loop->slm_stores > 0) && line >= loop->first && line <= loop->last)
      return TRUE;
  }
  return FALSE;
}

static GArray *
collect_lines (const GArray *instructions, const gchar *const *starts, const IsaFigures *figures,
               guint l)
{
  GArray *lines = g_array_new (FALSE, FALSE, sizeof (Line));
  const IsaLoop *loop = &figures->loops[l];

  for (guint i = 0; i < instructions->len; i++) {
    const IsaInstruction *instruction = &g_array_index (instructions, IsaInstruction, i);
    const Line line = {instruction, starts[instruction->line]};
    if (instruction->line >= loop->first && instruction->line <= loop->last &&
        !is_of_inner (figures, l, instruction->line))
      g_array_append_val (lines, line);
  }
  return lines;
}

void
isa_registers_count (const GArray *instructions, const gchar *text, IsaFigures *figures)
{
  g_autoptr (GPtrArray) starts = g_ptr_array_new ();

  /* Lines count from 1. */
  g_ptr_array_add (starts, (gpointer)text);
  for (const gchar *at = text; at != NULL; at = strchr (at, '\n')) {
    at += *at == '\n';
    g_ptr_array_add (starts, (gpointer)at);
  }
  for (guint l = 0; l < figures->n_loops; l++) {
    g_autoptr (GArray) lines =
        collect_lines (instructions, (const gchar *const *)starts->pdata, figures, l);
    g_autofree Thread *thread = g_new0 (Thread, 1);

    for (guint turn = 0; turn < TURNS; turn++) {
      thread->waited[0] = thread->waited[1] = 0;
      for (guint i = 0; i < lines->len; i++)
        go_through (thread, &g_array_index (lines, Line, i), figures->register_bytes);
    }
    for (guint i = 0; i < lines->len; i++)
      figures->loops[l].conflicts += count_conflicts (&g_array_index (lines, Line, i));
    figures->loops[l].rounds = thread->waited[FALSE] / ISA_WAIT_PASSES;
    figures->loops[l].slm_rounds = thread->waited[TRUE] / ISA_WAIT_PASSES;
  }
}
