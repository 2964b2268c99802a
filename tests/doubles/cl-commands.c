/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <string.h>

/* Checks that kernels and transfers may use their objects. */

/* For each kernel a table of its arguments that are shared objects: index to cl_mem, or to DEAD.
 * OpenCL does not report when it frees a kernel, so a table stays until another kernel has the same
 * address. */
static GHashTable *kernels;

static int dead;
#define DEAD ((gpointer)&dead)

static GHashTable *
find_arguments (cl_kernel kernel)
{
  return kernels ? g_hash_table_lookup (kernels, kernel) : NULL;
}

void
cl_kernels_forget (cl_mem mem)
{
  GHashTableIter all, own;
  gpointer arguments, value;

  if (!kernels)
    return;
  g_hash_table_iter_init (&all, kernels);
  while (g_hash_table_iter_next (&all, NULL, &arguments)) {
    g_hash_table_iter_init (&own, arguments);
    while (g_hash_table_iter_next (&own, NULL, &value))
      if (value == mem)
        g_hash_table_iter_replace (&own, DEAD);
  }
}

static void
set_argument (cl_kernel kernel, cl_uint index, cl_mem mem)
{
  GHashTable *arguments = find_arguments (kernel);

  if (!kernels)
    kernels = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  if (!arguments) {
    arguments = g_hash_table_new (NULL, NULL);
    g_hash_table_insert (kernels, kernel, arguments);
  }
  g_hash_table_insert (arguments, GUINT_TO_POINTER (index), mem);
}

static cl_int CL_API_CALL
set_kernel_arg (cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
  const cl_int status = cl_next->clSetKernelArg (kernel, index, size, value);
  g_autoptr (SharedObject) object = NULL;
  cl_mem mem = NULL;

  if (status != CL_SUCCESS)
    return status;
  if (size == sizeof mem && value)
    memcpy (&mem, value, sizeof mem);
  RECORD_LOCK ();
  object = shared_object_get (mem);
  if (object)
    set_argument (kernel, index, mem);
  else if (find_arguments (kernel))
    g_hash_table_remove (find_arguments (kernel), GUINT_TO_POINTER (index));
  return CL_SUCCESS;
}

static cl_kernel CL_API_CALL
create_kernel (cl_program program, const char *name, cl_int *status)
{
  cl_kernel kernel = cl_next->clCreateKernel (program, name, status);

  RECORD_LOCK ();
  if (kernels && kernel)
    g_hash_table_remove (kernels, kernel);
  return kernel;
}

static cl_int
check_arguments (cl_kernel kernel)
{
  RECORD_LOCK ();
  GHashTable *arguments = find_arguments (kernel);
  cl_int status = CL_SUCCESS;
  GHashTableIter iter;
  gpointer index, mem;

  if (!arguments)
    return CL_SUCCESS;
  g_hash_table_iter_init (&iter, arguments);
  while (status == CL_SUCCESS && g_hash_table_iter_next (&iter, &index, &mem))
    if (mem == DEAD) {
      record_misuse ("dead-argument",
                     "A kernel runs whose argument %u is a shared object that was released.",
                     GPOINTER_TO_UINT (index));
      status = CL_INVALID_KERNEL_ARGS;
    } else {
      status = shared_object_check_use (mem, "A kernel");
    }
  return status;
}

static cl_int CL_API_CALL
enqueue_range (cl_command_queue queue, cl_kernel kernel, cl_uint n_dims, const size_t *offset,
               const size_t *size, const size_t *group, WAIT_PARAMETERS)
{
  cl_int status = record_fault ("clEnqueueNDRangeKernel");

  if (status == CL_SUCCESS)
    status = check_arguments (kernel);
  return status != CL_SUCCESS ? status
                              : cl_next->clEnqueueNDRangeKernel (queue, kernel, n_dims, offset,
                                                                 size, group, WAIT_ARGUMENTS);
}

static cl_int
check_shared (const gchar *function, cl_mem mem)
{
  g_autoptr (SharedObject) object = shared_object_get (mem);
  cl_int status;

  if (!object)
    return CL_SUCCESS;
  record_count ("shared-transfers", 1);
  status = shared_object_check_use (mem, function);
  if (status == CL_SUCCESS && object->is_plane)
    return RECORD_REFUSAL (CL_INVALID_OPERATION, "image-transfer",
                           "%s copies plane %u of surface %#x, which only kernels can read.",
                           function, object->plane, object->surface->id);
  return status;
}

/* Counts the transfer, and again if one of its objects (nullable) is shared, which must then be
 * acquired. Returns: CL_SUCCESS, or the error with which the transfer is refused. */
static cl_int
check_transfer (const gchar *function, const gchar *kind, cl_mem mem, cl_mem other)
{
  cl_int status = record_fault (function);

  record_count (kind, 1);
  if (status == CL_SUCCESS)
    status = check_shared (function, mem);
  return status == CL_SUCCESS ? check_shared (function, other) : status;
}

#define TRANSFER(function, parameters, arguments, is_blocking, kind, memory, other)                \
  static cl_int CL_API_CALL layer_##function parameters                                            \
  {                                                                                                \
    const cl_int status = check_transfer (#function, kind, memory, other);                         \
                                                                                                   \
    return status != CL_SUCCESS ? status : cl_next->function arguments;                            \
  }
#include "cl-transfers.def"
#undef TRANSFER

static void *CL_API_CALL
map_buffer (MAP_PARAMETERS)
{
  *status = check_transfer ("clEnqueueMapBuffer", "maps", buffer, NULL);
  return *status != CL_SUCCESS ? NULL
                               : cl_next->clEnqueueMapBuffer (queue, buffer, blocking, flags,
                                                              offset, size, WAIT_ARGUMENTS, status);
}

void
cl_commands_install (cl_icd_dispatch *table)
{
  table->clSetKernelArg = set_kernel_arg;
  table->clEnqueueNDRangeKernel = enqueue_range;
  table->clCreateKernel = create_kernel;
  table->clEnqueueMapBuffer = map_buffer;
#define TRANSFER(function, ...) table->function = layer_##function;
#include "cl-transfers.def"
#undef TRANSFER
}
