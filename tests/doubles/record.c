/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record.h"

#include <stdio.h>
#include <unistd.h>

/* Limit of the wait for the module's threads, so that a program always ends. */
#define MAX_WAIT_S 60

GRecMutex record_lock;

/* Counts that begin with "live" can decrease. */
static const gchar *const count_names[] = {
    "live-displays",
    "live-surfaces",
    "live-surface-maps",
    "live-contexts",
    "live-objects",
    "surface-gets",
    "surface-readbacks",
    "surface-exports",
    "va-objects",
    "dmabuf-objects",
    "acquires",
    "reads",
    "shared-transfers",
    "writes",
    "copies",
    "fills",
    "maps",
};
static gint64 counts[G_N_ELEMENTS (count_names)];

/* The misuses, each "KIND: MESSAGE". */
static GPtrArray *notes;
static void (*final_check) (void);

void
record_misuse (const gchar *name, const gchar *format, ...)
{
  g_autofree gchar *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  fprintf (stderr, "doubles: %s: %s\n", name, message);
  RECORD_LOCK ();
  if (!notes)
    notes = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (notes, g_strdup_printf ("%s: %s", name, message));
}

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

void
record_set_final_check (void (*check) (void))
{
  final_check = check;
}

static gint busy; /* threads that reports wait for; atomic */

void
record_busy (gint n)
{
  g_atomic_int_add (&busy, n);
}

static void
wait_until_idle (void)
{
  const gint64 end = g_get_monotonic_time () + MAX_WAIT_S * G_TIME_SPAN_SECOND;

  while (g_atomic_int_get (&busy) > 0 && g_get_monotonic_time () < end)
    g_usleep (1000);
}

static gint64
get_count (const gchar *name)
{
  wait_until_idle ();
  RECORD_LOCK ();
  return *find_count (name);
}

/* Counts the misuses of the kind @name (NULL: of any kind), and with @forget forgets them. */
static guint
count_misuse (const gchar *name, gboolean forget)
{
  g_autofree gchar *start = g_strconcat (name ? name : "", name ? ":" : "", NULL);
  guint n = 0;

  wait_until_idle ();
  RECORD_LOCK ();
  for (guint i = notes ? notes->len : 0; i-- > 0;)
    if (g_str_has_prefix (notes->pdata[i], start)) {
      n++;
      if (forget)
        g_ptr_array_remove_index (notes, i);
    }
  return n;
}

static guint
get_misused (const gchar *name)
{
  return count_misuse (name, FALSE);
}

static guint
forgive (const gchar *name)
{
  return count_misuse (name, TRUE);
}

typedef struct {
  gchar *function;
  guint left;
  gint error;
} Fault;

static GList *faults;

static void
fail (const gchar *function, guint n, gint error)
{
  Fault *fault = g_new0 (Fault, 1);

  *fault = (Fault){g_strdup (function), n, error};
  RECORD_LOCK ();
  faults = g_list_append (faults, fault);
}

gint
record_fault (const gchar *function)
{
  RECORD_LOCK ();
  for (GList *l = faults; l; l = l->next) {
    Fault *fault = l->data;

    if (fault->left > 0 && g_str_equal (fault->function, function) && --fault->left == 0)
      return fault->error;
  }
  return 0;
}

extern const DoublesRecord gemmcl_doubles __attribute__ ((visibility ("default")));
const DoublesRecord gemmcl_doubles = {get_count, get_misused, forgive, fail};

/* Runs when the process ends; the module stays loaded until then (-z nodelete). */
static void __attribute__ ((destructor)) write_report (void)
{
  const gchar *folder = g_getenv ("GEMMCL_DOUBLES_REPORTS");
  g_autofree gchar *path = g_strdup_printf ("%s/%ld", folder, (long)getpid ()), *text = NULL;

  wait_until_idle ();
  RECORD_LOCK ();
  if (final_check)
    final_check ();
  if (!folder)
    return;
  if (notes)
    g_ptr_array_add (notes, NULL);
  text = notes ? g_strjoinv ("\n", (gchar **)notes->pdata) : g_strdup ("");
  if (!g_file_set_contents (path, text, -1, NULL))
    fprintf (stderr, "doubles: the report could not be written to %s.\n", path);
}
