/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-objects.h"
#include "record.h"

#include <CL/cl_va_api_media_sharing_intel.h>

static GHashTable *contexts;

static void
context_free (gpointer data)
{
  SharedContext *self = data;

  g_free (self->properties);
  g_free (self);
}

SharedContext *
shared_context_find (cl_context context)
{
  return contexts ? g_hash_table_lookup (contexts, context) : NULL;
}

/*
 * @all: what the program asks for
 * @rest: (out) (transfer full): what is passed on, without what is the layer's
 * Returns: (transfer full) (nullable): NULL if it has no VADisplay
 */
static SharedContext *
parse_properties (const cl_context_properties *all, cl_context_properties **rest)
{
  g_autoptr (GArray) kept = g_array_new (TRUE, TRUE, sizeof (cl_context_properties));
  SharedContext *self = g_new0 (SharedContext, 1);
  gsize n = 0;

  for (; all && all[n]; n += 2)
    if (all[n] == CL_CONTEXT_VA_API_DISPLAY_INTEL)
      self->display = (VADisplay)all[n + 1];
    else if (all[n] == CL_CONTEXT_INTEROP_USER_SYNC)
      self->user_sync = all[n + 1] != CL_FALSE;
    else
      g_array_append_vals (kept, &all[n], 2);
  if (!self->display) {
    context_free (self);
    *rest = NULL;
    return NULL;
  }
  self->n_properties = n + 1;
  self->properties = g_memdup2 (all, self->n_properties * sizeof *all);
  *rest = (cl_context_properties *)g_array_free (g_steal_pointer (&kept), FALSE);
  return self;
}

static void CL_CALLBACK
forget_context (cl_context context, void *data G_GNUC_UNUSED)
{
  RECORD_LOCK ();
  g_hash_table_remove (contexts, context);
  record_count (COUNT_LIVE_CONTEXTS, -1);
}

/* @self: (transfer full) */
static void
add (SharedContext *self)
{
  {
    RECORD_LOCK ();
    if (!contexts)
      contexts = g_hash_table_new_full (NULL, NULL, NULL, context_free);
    g_hash_table_insert (contexts, self->context, self);
    record_count (COUNT_LIVE_CONTEXTS, 1);
  }
  cl_next->clSetContextDestructorCallback (self->context, forget_context, NULL);
}

static gboolean
check_display (const SharedContext *self)
{
  if (display_is_known (self->display) && display_is_intel (self->display))
    return TRUE;
  record_misuse (MISUSE_FOREIGN_DISPLAY,
                 "A context was asked for with the VADisplay %p, which is not Intel's or is "
                 "terminated: ask who made the display first.",
                 self->display);
  return FALSE;
}

typedef void (CL_CALLBACK *Notify) (const char *, const void *, size_t, void *);

typedef struct {
  cl_uint n;
  const cl_device_id *devices; /* (nullable): NULL for whatever is of the type */
  cl_device_type type;
  Notify notify;
  void *data;
} Request;

static cl_context
pass_on (const cl_context_properties *properties, const Request *request, cl_int *status)
{
  return request->devices ? cl_next->clCreateContext (properties, request->n, request->devices,
                                                      request->notify, request->data, status)
                          : cl_next->clCreateContextFromType (
                                properties, request->type, request->notify, request->data, status);
}

static cl_context
create (const cl_context_properties *properties, const Request *request, cl_int *status)
{
  g_autofree cl_context_properties *rest = NULL;
  SharedContext *self = cl_offers_va () ? parse_properties (properties, &rest) : NULL;
  cl_int ignored;

  if (!status)
    status = &ignored;
  if (!self)
    return pass_on (properties, request, status);
  *status =
      check_display (self) ? cl_fault ("clCreateContext") : CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL;
  if (*status == CL_SUCCESS)
    self->context = pass_on (rest[0] ? rest : NULL, request, status);
  if (!self->context) {
    context_free (self);
    return NULL;
  }
  add (self);
  return self->context;
}

static cl_context CL_API_CALL
create_context (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                Notify notify, void *data, cl_int *status)
{
  return create (properties, &(Request){n, devices, 0, notify, data}, status);
}

static cl_context CL_API_CALL
create_context_from_type (const cl_context_properties *properties, cl_device_type type,
                          Notify notify, void *data, cl_int *status)
{
  return create (properties, &(Request){0, NULL, type, notify, data}, status);
}

static cl_int CL_API_CALL
get_context_info (cl_context context, cl_context_info name, size_t room, void *value, size_t *n)
{
  if (name == CL_CONTEXT_PROPERTIES) {
    RECORD_LOCK ();
    const SharedContext *self = shared_context_find (context);

    if (self)
      return cl_answer (self->properties, self->n_properties * sizeof *self->properties, room,
                        value, n);
  }
  return cl_next->clGetContextInfo (context, name, room, value, n);
}

void
cl_contexts_install (cl_icd_dispatch *table)
{
  table->clCreateContext = create_context;
  table->clCreateContextFromType = create_context_from_type;
  table->clGetContextInfo = get_context_info;
}
