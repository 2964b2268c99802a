/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa.h"

#include <stdio.h>
#include <string.h>

/* The surface number of local memory in descriptors of messages before LSC. */
#define SLM_SURFACE   0xfe
#define SURFACE(desc) ((desc)&0xff)
/* Bits of each operand that dpas multiplies per lane, row and step of its depth. */
#define DPAS_BITS 32

/* The words of a line; they point into @copy. */
typedef struct {
  gchar *copy;
  gboolean predicated;
  const gchar *operation;
  guint lanes;
  const gchar *operands[8];
  guint n_operands;
  const gchar *comment;
} Words;

/* Operations that are neither messages nor arithmetic, by their names up to the first dot. */
static const gchar *const moves[] = {"mov", "movi", "sel", "csel", NULL};
static const gchar *const controls[] = {"jmpi",  "goto", "join", "while", "if",  "else", "endif",
                                        "break", "cont", "halt", "brc",   "brd", "call", "calla",
                                        "ret",   "sync", "wait", "nop",   NULL};

/* Splits @line at its spaces. Returns: FALSE if it is not an instruction. */
static gboolean
split_line (const gchar *line, gsize length, Words *words)
{
  gchar *context = NULL, *comment;
  gchar *copy = words->copy = g_strndup (line, length);

  comment = strstr (copy, "//");
  if (comment != NULL) {
    *comment = '\0';
    words->comment = comment + 2;
  } else {
    words->comment = "";
  }
  /* The scoreboard annotation begins at a brace. */
  copy[strcspn (copy, "{")] = '\0';
  for (gchar *word = strtok_r (copy, " ", &context); word != NULL;
       word = strtok_r (NULL, " ", &context)) {
    if (words->operation == NULL && word[0] == '(')
      words->predicated = !g_str_equal (word, "(W)");
    else if (words->operation == NULL)
      words->operation = word;
    else if (words->lanes == 0 && word[0] == '(' && strchr (word, '|') != NULL)
      words->lanes = (guint)g_ascii_strtoull (word + 1, NULL, 10);
    else if (words->n_operands < G_N_ELEMENTS (words->operands) && strstr (word, ")f") == NULL)
      words->operands[words->n_operands++] = word;
  }
  return words->operation != NULL && words->operation[strlen (words->operation) - 1] != ':' &&
         !g_str_has_prefix (words->operation, "illegal");
}

static gboolean
is_operation (const Words *words, const gchar *name)
{
  const gsize length = strlen (name);
  return strncmp (words->operation, name, length) == 0 &&
         (words->operation[length] == '\0' || words->operation[length] == '.');
}

/* Returns: the type of an operand, after its colon: "f", "ud" ... */
static const gchar *
get_type (const Words *words, guint operand)
{
  const gchar *colon = operand < words->n_operands ? strrchr (words->operands[operand], ':') : NULL;
  return colon != NULL ? colon + 1 : "";
}

static gboolean
is_float (const gchar *type)
{
  return g_str_equal (type, "f") || g_str_equal (type, "hf") || g_str_equal (type, "bf") ||
         g_str_equal (type, "df");
}

/* Returns: the bits of an operand's type in dpas: "s8", "u4", "bf", "tf32" ... */
static guint
get_dpas_bits (const gchar *type)
{
  const gsize digits = strcspn (type, "0123456789");

  if (g_str_equal (type, "bf") || g_str_equal (type, "hf"))
    return 16;
  if (g_str_equal (type, "b") || g_str_equal (type, "ub"))
    return 8;
  return type[digits] != '\0' ? (guint)g_ascii_strtoull (type + digits, NULL, 10) : DPAS_BITS;
}

/* Counts the multiply-adds of "dpas.8x4 (16|M0)": 8 steps deep, 4 rows of results in each lane.
 * With a null accumulator it counts as other arithmetic: on Xe-HPG compilers emit one first, and do
 * not use its result. */
static void
count_dpas (const Words *words, IsaInstruction *instruction)
{
  guint depth = 0, rows = 0;
  const guint bits = get_dpas_bits (get_type (words, 2));

  sscanf (words->operation, "%*[a-z].%ux%u", &depth, &rows);
  if (words->n_operands > 1 && g_str_has_prefix (words->operands[1], "null")) {
    instruction->class = ISA_FLOAT;
    return;
  }
  instruction->class = ISA_DPAS;
  instruction->amount = (gdouble)words->lanes * depth * rows * DPAS_BITS / MAX (bits, 1);
}

static void
read_arithmetic (const Words *words, IsaInstruction *instruction)
{
  const gchar *type = get_type (words, 0);

  instruction->class = is_float (type) || is_operation (words, "math") ? ISA_FLOAT : ISA_INTEGER;
  if (is_operation (words, "dpas") || is_operation (words, "dpasw")) {
    count_dpas (words, instruction);
  } else if ((is_operation (words, "mad") || is_operation (words, "mac")) && is_float (type)) {
    instruction->class = ISA_MULTIPLY;
    instruction->amount = words->lanes;
  } else if (is_operation (words, "dp4a")) {
    instruction->class = ISA_MULTIPLY;
    instruction->amount = 4.0 * words->lanes;
  } else if (is_operation (words, "fbl")) {
    instruction->finds_lane = TRUE;
  }
}

/* Returns: the number after @key in a comment; 0 without @key. */
static guint
get_number (const gchar *text, const gchar *key)
{
  const gchar *at = strstr (text, key);
  return at != NULL ? (guint)g_ascii_strtoull (at + strlen (key), NULL, 10) : 0;
}

/* Returns: the descriptor, the last hexadecimal number among the operands. */
static guint32
get_descriptor (const Words *words)
{
  for (guint i = words->n_operands; i-- > 0;)
    if (g_str_has_prefix (words->operands[i], "0x"))
      return (guint32)g_ascii_strtoull (words->operands[i], NULL, 16);
  return 0;
}

/* Returns: the bytes of "load.ugm.d32x4t.a64": 4 x 32 bits, of the whole thread with a t, otherwise
 * of each lane; 0 if the comment has no size. */
static gdouble
get_lsc_bytes (const Words *words)
{
  const gchar *at = strstr (words->comment, ".d");
  gchar *end = NULL;
  guint64 bits, n = 1;

  if (at == NULL || strstr (words->comment, "load_") != NULL)
    return 0;
  bits = g_ascii_strtoull (at + 2, &end, 10);
  if (g_str_has_prefix (end, "u32"))
    end += 3;
  if (*end == 'x')
    n = g_ascii_strtoull (end + 1, &end, 10);
  return (gdouble)(bits / 8 * n) * (*end == 't' ? 1 : words->lanes);
}

static gdouble
get_load_bytes (const Words *words, guint register_bytes)
{
  const gdouble registers = (gdouble)get_number (words->comment, "rd:") * register_bytes;
  const gdouble said = get_lsc_bytes (words);

  return said > 0 ? MIN (said, registers) : registers;
}

static gboolean
is_slm (const Words *words)
{
  if (strstr (words->comment, ".slm.") != NULL)
    return TRUE;
  return (strstr (words->comment, "untyped") != NULL || strstr (words->comment, "byte") != NULL ||
          strstr (words->comment, "oword") != NULL) &&
         SURFACE (get_descriptor (words)) == SLM_SURFACE;
}

static void
read_message (const Words *words, guint register_bytes, IsaInstruction *instruction)
{
  const gboolean reads =
      get_number (words->comment, "rd:") > 0 || strstr (words->comment, " load") != NULL;

  if (strstr (words->comment, "end of thread") != NULL) {
    instruction->class = ISA_OTHER_SEND;
    instruction->stops = TRUE;
  } else if (strstr (words->comment, "barrier") != NULL) {
    instruction->class = ISA_BARRIER;
  } else if (strstr (words->comment, "fence") != NULL ||
             strstr (words->comment, "atomic") != NULL) {
    instruction->class = ISA_OTHER_SEND;
  } else if (reads && words->n_operands > 0 && g_str_equal (words->operands[0], "null")) {
    instruction->class = ISA_OTHER_SEND;
  } else if (reads) {
    instruction->class = is_slm (words) ? ISA_SLM_LOAD : ISA_LOAD;
    instruction->amount = get_load_bytes (words, register_bytes);
  } else {
    instruction->class = is_slm (words) ? ISA_SLM_STORE : ISA_STORE;
  }
}

static gboolean
is_one_of (const Words *words, const gchar *const *names)
{
  for (; *names != NULL; names++)
    if (is_operation (words, *names))
      return TRUE;
  return FALSE;
}

/* Returns: (nullable): the label to which all lanes together branch. goto, break and cont have two
 * labels: the first is for lanes that wait, the second for all. join and endif branch only for
 * lanes that wait. */
static const gchar *
get_label (const Words *words)
{
  static const gchar *const first[] = {"jmpi", "while", "if", "else", "brc", "brd", NULL};
  static const gchar *const second[] = {"goto", "break", "cont", NULL};

  if (is_one_of (words, first) && words->n_operands > 0)
    return words->operands[0];
  if (is_one_of (words, second) && words->n_operands > 1)
    return words->operands[1];
  return NULL;
}

static void
read_instruction (const Words *words, guint register_bytes, IsaInstruction *instruction)
{
  static const gchar *const always[] = {"jmpi", "goto", "break", "cont", "ret", NULL};

  instruction->lanes = MAX (words->lanes, 1);
  instruction->target = -1;
  if (is_one_of (words, controls)) {
    instruction->class = ISA_CONTROL;
    instruction->stops =
        is_operation (words, "else") || (!words->predicated && is_one_of (words, always));
  } else if (g_str_has_prefix (words->operation, "send")) {
    read_message (words, register_bytes, instruction);
  } else {
    read_arithmetic (words, instruction);
    if (is_one_of (words, moves))
      instruction->class = ISA_MOVE;
  }
}

GArray *
isa_listing_read (const gchar *text, guint register_bytes)
{
  GArray *instructions = g_array_new (FALSE, TRUE, sizeof (IsaInstruction));
  g_autoptr (GHashTable) places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);
  guint line = 0;

  for (const gchar *end; *text != '\0'; text = *end != '\0' ? end + 1 : end) {
    Words words = {0};
    IsaInstruction instruction = {0};

    end = text + strcspn (text, "\n");
    line++;
    if (split_line (text, (gsize)(end - text), &words)) {
      instruction.line = line;
      read_instruction (&words, register_bytes, &instruction);
      g_array_append_val (instructions, instruction);
      g_ptr_array_add (labels,
                       instruction.class == ISA_CONTROL ? g_strdup (get_label (&words)) : NULL);
    } else if (words.operation != NULL && g_str_has_suffix (words.operation, ":")) {
      g_hash_table_insert (places, g_strndup (words.operation, strlen (words.operation) - 1),
                           GUINT_TO_POINTER (instructions->len));
    }
    g_free (words.copy);
  }
  for (guint i = 0; i < labels->len; i++) {
    gpointer place;
    if (labels->pdata[i] != NULL &&
        g_hash_table_lookup_extended (places, labels->pdata[i], NULL, &place))
      g_array_index (instructions, IsaInstruction, i).target = GPOINTER_TO_INT (place);
  }
  return instructions;
}
