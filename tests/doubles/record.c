/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For the module's threads, so that none of them can keep a program from ending. */
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
static guint forgiven[G_N_ELEMENTS (misuse_names)];
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

static json_t *
make_report (void)
{
  json_t *misuse = json_array ();
  json_t *pardoned = json_object ();
  json_t *numbers = json_object ();

  for (GList *l = notes.head; l; l = l->next) {
    const Note *note = l->data;

    json_array_append_new (misuse, json_pack ("{s:s, s:s}", "kind", misuse_names[note->kind],
                                              "message", note->message));
  }
  for (gsize i = 0; i < G_N_ELEMENTS (misuse_names); i++)
    if (forgiven[i] > 0)
      json_object_set_new (pardoned, misuse_names[i], json_integer (forgiven[i]));
  for (gsize i = 0; i < N_COUNTS; i++)
    json_object_set_new (numbers, count_names[i], json_integer (counts[i]));
  return json_pack ("{s:s?, s:b, s:o, s:o, s:o}", "program", g_get_prgname (), "ok",
                    g_queue_is_empty (&notes), "misuse", misuse, "forgiven", pardoned, "counts",
                    numbers);
}

__attribute__ ((visibility ("default"))) char *
gemmcl_doubles_report (void)
{
  wait_until_idle ();
  RECORD_LOCK ();
  json_t *report = make_report ();
  char *text = json_dumps (report, JSON_INDENT (2));

  json_decref (report);
  return text;
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
      forgiven[note->kind]++;
      n++;
      note_free (l->data);
      g_queue_delete_link (&notes, l);
    }
  }
  return n;
}

/* When the process ends; the module stays loaded until then (-z nodelete). */
static void __attribute__ ((destructor)) write_report (void)
{
  const gchar *pattern = g_getenv ("GEMMCL_DOUBLES_REPORT");
  g_autofree gchar *number = g_strdup_printf ("%ld", (long)getpid ());
  g_autoptr (GString) path = NULL;
  json_t *report;

  wait_until_idle ();
  RECORD_LOCK ();
  if (final_check)
    final_check ();
  if (!pattern || !*pattern)
    return;
  path = g_string_new (pattern);
  g_string_replace (path, "%p", number, 0);
  report = make_report ();
  if (json_dump_file (report, path->str, JSON_INDENT (2)) != 0)
    fprintf (stderr, "doubles: the report could not be written to %s.\n", path->str);
  json_decref (report);
}
