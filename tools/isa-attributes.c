/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads the attributes of the kernels in a compiled program: .ze_info, which is YAML, or, for older
 * GPUs, a list of numbered tokens.
 */
#include <string.h>

#include "isa.h"
#include "tool.h"

/* Tokens, and indices of their 32-bit words. */
enum {
  TOKEN_LOCAL_SURFACE = 15,
  LOCAL_SURFACE_SIZE = 1,
  TOKEN_VFE_STATE = 18,
  VFE_STATE_SCRATCH = 1,
  TOKEN_EXECUTION_ENVIRONMENT = 23,
  ENVIRONMENT_SIMD = 3,
  ENVIRONMENT_REGISTERS = 20,
  ENVIRONMENT_THREADS = 25,
  TOKEN_PRIVATE_MEMORY = 38,
  PRIVATE_MEMORY_SIZE = 3,
  MAX_WORDS = 32,
};

/* Descriptors of messages of data port 0: the bit of scratch memory, and below it the place and the
 * size of the block in hwords. */
#define HWORD             32
#define SCRATCH_BIT       (1u << 18)
#define SCRATCH_PLACE(d)  ((d)&0xfff)
#define SCRATCH_HWORDS(d) (1u << ((d) >> 12 & 3))

/* Parses "  key:   value". */
static void
read_pair (const gchar *line, const gchar *key, guint *value)
{
  const gchar *at = line + strspn (line, " -");

  if (g_str_has_prefix (at, key) && at[strlen (key)] == ':')
    *value = (guint)g_ascii_strtoull (at + strlen (key) + 1, NULL, 10);
}

static gboolean
read_ze_info (const gchar *text, const gchar *entry, IsaFigures *figures)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean found = FALSE, inside = FALSE;

  for (guint i = 0; lines[i] != NULL && !g_str_has_prefix (lines[i], "kernels_misc"); i++) {
    if (g_str_has_prefix (lines[i], "  - name:")) {
      inside = g_str_equal (g_strstrip (lines[i] + strlen ("  - name:")), entry);
      found |= inside;
    }
    if (!inside)
      continue;
    read_pair (lines[i], "simd_size", &figures->simd);
    read_pair (lines[i], "grf_count", &figures->registers);
    read_pair (lines[i], "eu_thread_count", &figures->threads);
    read_pair (lines[i], "slm_size", &figures->slm);
    read_pair (lines[i], "spill_size", &figures->spill);
    read_pair (lines[i], "private_size", &figures->private_memory);
  }
  return found;
}

/* Parses "80 1 0 0", the bytes of little-endian words in hexadecimal. */
static void
read_words (const gchar *line, guint32 words[MAX_WORDS])
{
  gchar *end = (gchar *)line;

  memset (words, 0, MAX_WORDS * sizeof (words[0]));
  for (guint i = 0; i < MAX_WORDS * 4; i++) {
    const gchar *at = end;
    const guint64 byte = g_ascii_strtoull (at, &end, 16);
    if (end == at)
      break;
    words[i / 4] |= (guint32)byte << i % 4 * 8;
  }
}

static void
read_token (guint token, const guint32 words[MAX_WORDS], guint *scratch, IsaFigures *figures)
{
  if (token == TOKEN_EXECUTION_ENVIRONMENT) {
    figures->simd = words[ENVIRONMENT_SIMD];
    figures->registers = words[ENVIRONMENT_REGISTERS];
    figures->threads = words[ENVIRONMENT_THREADS];
  } else if (token == TOKEN_LOCAL_SURFACE) {
    figures->slm = words[LOCAL_SURFACE_SIZE];
  } else if (token == TOKEN_VFE_STATE) {
    *scratch = MAX (*scratch, words[VFE_STATE_SCRATCH]);
  } else if (token == TOKEN_PRIVATE_MEMORY) {
    figures->private_memory = words[PRIVATE_MEMORY_SIZE];
  }
}

/* Returns: the bytes of spilled registers, from the messages, since no token has them. @first:
 * (out): the offset of the first of them; %G_MAXUINT without any. */
static guint
get_spill (const gchar *listing, guint *first)
{
  g_auto (GStrv) lines = g_strsplit (listing, "\n", -1);
  guint end = 0;

  *first = G_MAXUINT;
  for (guint i = 0; lines[i] != NULL; i++) {
    const gchar *comment = strstr (lines[i], "//");
    const gchar *at = comment != NULL ? g_strrstr_len (lines[i], comment - lines[i], "0x") : NULL;
    const guint32 descriptor = at != NULL ? (guint32)g_ascii_strtoull (at, NULL, 16) : 0;

    if (!(descriptor & SCRATCH_BIT) || strstr (lines[i], "dc0") == NULL)
      continue;
    *first = MIN (*first, SCRATCH_PLACE (descriptor) * HWORD);
    end = MAX (end, (SCRATCH_PLACE (descriptor) + SCRATCH_HWORDS (descriptor)) * HWORD);
  }
  return end > 0 ? end - *first : 0;
}

static gboolean
read_tokens (const gchar *text, const gchar *entry, const gchar *listing, IsaFigures *figures)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean found = FALSE, inside = FALSE;
  guint token = 0, scratch = 0, first;

  for (guint i = 0; lines[i] != NULL; i++) {
    const gchar *line = g_strstrip (lines[i]);
    guint32 words[MAX_WORDS];

    if (g_str_has_prefix (line, "KernelName ")) {
      inside = g_str_equal (line + strlen ("KernelName "), entry);
      found |= inside;
    } else if (inside && g_str_has_prefix (line, "4 Token ")) {
      token = (guint)g_ascii_strtoull (line + strlen ("4 Token "), NULL, 10);
    } else if (inside && g_str_has_prefix (line, "Hex ")) {
      read_words (line + strlen ("Hex "), words);
      read_token (token, words, &scratch, figures);
    }
  }
  /* Scratch memory has private arrays, then spilled registers; its size is rounded up. */
  figures->spill = get_spill (listing, &first);
  figures->private_memory = MAX (figures->private_memory, MIN (scratch, first));
  return found;
}

gboolean
isa_attributes_read (const gchar *folder, const gchar *entry, const gchar *listing,
                     IsaFigures *figures, GError **error)
{
  g_autofree gchar *ze_info = g_build_filename (folder, ".ze_info", NULL);
  g_autofree gchar *tokens = g_build_filename (folder, "PTM.txt", NULL);
  g_autofree gchar *text = NULL;

  if (g_file_get_contents (ze_info, &text, NULL, NULL)) {
    if (read_ze_info (text, entry, figures))
      return TRUE;
  } else if (g_file_get_contents (tokens, &text, NULL, NULL)) {
    if (read_tokens (text, entry, listing, figures))
      return TRUE;
  }
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
               "ocloc's disassembler said nothing about the kernel %s.", entry);
  return FALSE;
}
