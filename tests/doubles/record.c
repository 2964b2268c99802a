/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limit of the wait for the module's threads, so that a program always ends. */
#define MAX_WAIT_S 60

GRecMutex record_lock;

static const gchar *const misuse_names[] = {
#define X(id, name) name,
    RECORD_MISUSES (X)
#undef X
};

static const gchar *const count_names[] = {
#define X(id, name) name,
    RECORD_COUNTS (X)
#undef X
};

typedef struct {
  Misuse kind;
  gchar *message;
} Note;

static GQueue notes = G_QUEUE_INIT;
static gint64 counts[N_COUNTS];
static void (*final_check) (void);

static void
note_free (gpointer data)
{
  Note *note = data;

  g_free (note->message);
  g_free (note);
}

void
record_misuse (Misuse kind, const gchar *format, ...)
{
  Note *note = g_new0 (Note, 1);
  va_list args;

  va_start (args, format);
  note->kind = kind;
  note->message = g_strdup_vprintf (format, args);
  va_end (args);
  fprintf (stderr, "doubles: %s: %s\n", misuse_names[kind], note->message);
  RECORD_LOCK ();
  g_queue_push_tail (&notes, note);
}

void
record_count (Count count, gint64 n)
{
  RECORD_LOCK ();
  counts[count] += n;
}

void
record_set_final_check (void (*check) (void))
{
  final_check = check;
}

static GMutex busy_lock;
static GCond idle;
static gint busy;

void
record_busy (gint n)
{
  g_mutex_lock (&busy_lock);
  busy += n;
  if (busy == 0)
    g_cond_broadcast (&idle);
  g_mutex_unlock (&busy_lock);
}

static void
wait_until_idle (void)
{
  const gint64 end = g_get_monotonic_time () + MAX_WAIT_S * G_TIME_SPAN_SECOND;

  g_mutex_lock (&busy_lock);
  while (busy > 0 && g_cond_wait_until (&idle, &busy_lock, end))
    ;
  g_mutex_unlock (&busy_lock);
}

__attribute__ ((visibility ("default"))) long long
gemmcl_doubles_count (const char *name)
{
  wait_until_idle ();
  RECORD_LOCK ();
  for (guint i = 0; i < N_COUNTS; i++)
    if (strcmp (count_names[i], name) == 0)
      return counts[i];
  return -1;
}

__attribute__ ((visibility ("default"))) unsigned
gemmcl_doubles_misused (const char *name)
{
  unsigned n = 0;

  wait_until_idle ();
  RECORD_LOCK ();
  for (GList *l = notes.head; l; l = l->next)
    n += !name || strcmp (misuse_names[((const Note *)l->data)->kind], name) == 0;
  return n;
}

__attribute__ ((visibility ("default"))) unsigned
gemmcl_doubles_forgive (const char *name)
{
  unsigned n = 0;

  RECORD_LOCK ();
  for (GList *l = notes.head, *next; l; l = next) {
    const Note *note = l->data;

    next = l->next;
    if (strcmp (misuse_names[note->kind], name) == 0) {
      n++;
      note_free (l->data);
      g_queue_delete_link (&notes, l);
    }
  }
  return n;
}

static void
print_report (FILE *file)
{
  fprintf (file, "misuse %u\n", g_queue_get_length (&notes));
  for (GList *l = notes.head; l; l = l->next)
    fprintf (file, "# %s: %s\n", misuse_names[((const Note *)l->data)->kind],
             ((const Note *)l->data)->message);
  for (guint i = 0; i < N_COUNTS; i++)
    fprintf (file, "%s %" G_GINT64_FORMAT "\n", count_names[i], counts[i]);
}

/* Runs when the process ends; the module stays loaded until then (-z nodelete). */
static void __attribute__ ((destructor)) write_report (void)
{
  const gchar *pattern = g_getenv ("GEMMCL_DOUBLES_REPORT");
  g_autofree gchar *number = g_strdup_printf ("%ld", (long)getpid ());
  g_autoptr (GString) path = g_string_new (pattern);
  FILE *file;

  wait_until_idle ();
  RECORD_LOCK ();
  if (final_check)
    final_check ();
  if (path->len == 0)
    return;
  g_string_replace (path, "%p", number, 0);
  file = fopen (path->str, "w");
  if (file)
    print_report (file);
  if (!file || fclose (file) != 0)
    fprintf (stderr, "doubles: the report could not be written to %s.\n", path->str);
}
