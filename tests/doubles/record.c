/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record.h"

GRecMutex record_lock;

/* Counts that begin with "live" can decrease. */
static const gchar *const count_names[] = {
    "live-surfaces",   "live-contexts", "live-objects",   "surface-readbacks",
    "surface-exports", "va-objects",    "dmabuf-objects", "acquires",
};
static gint64 counts[G_N_ELEMENTS (count_names)];

static gint64 *
find_count (const gchar *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (count_names); i++)
    if (g_str_equal (count_names[i], name))
      return &counts[i];
  g_error ("There is no count %s", name);
}

void
record_count (const gchar *name, gint64 n)
{
  RECORD_LOCK ();
  *find_count (name) += n;
}

static gint64
get_count (const gchar *name)
{
  RECORD_LOCK ();
  return *find_count (name);
}

static struct {
  const gchar *function;
  guint left; /* calls until it fails; 0: never */
  gint error;
} fault;

static void
fail (const gchar *function, guint n, gint error)
{
  RECORD_LOCK ();
  fault.function = g_intern_string (function);
  fault.left = n;
  fault.error = error;
}

gint
record_fault (const gchar *function)
{
  RECORD_LOCK ();
  return fault.left > 0 && g_str_equal (fault.function, function) && --fault.left == 0 ? fault.error
                                                                                       : 0;
}

extern const DoublesRecord gemmcl_doubles __attribute__ ((visibility ("default")));
const DoublesRecord gemmcl_doubles = {get_count, fail};
