/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-objects.h"
#include "record.h"

#include <string.h>

/* Which shared objects kernels have as arguments, and whether they are right when a kernel runs. */

/* Kernels, each a table of its arguments that are shared objects: index to cl_mem, or to DEAD.
 * There is no telling when OpenCL frees a kernel: its table stays until another one has its
 * address. */
static GHashTable *kernels;

static int dead;
#define DEAD ((gpointer)&dead)

static GHashTable *
find_arguments (cl_kernel kernel)
{
  return kernels ? g_hash_table_lookup (kernels, kernel) : NULL;
}

static void
forget_kernel (cl_kernel kernel)
{
  RECORD_LOCK ();
  if (kernels && kernel)
    g_hash_table_remove (kernels, kernel);
}

static void
set_argument (cl_kernel kernel, cl_uint index, gpointer value)
{
  GHashTable *arguments = find_arguments (kernel);

  if (!kernels)
    kernels = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
  if (!arguments) {
    arguments = g_hash_table_new (NULL, NULL);
    g_hash_table_insert (kernels, kernel, arguments);
  }
  g_hash_table_insert (arguments, GUINT_TO_POINTER (index), value);
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

static cl_int CL_API_CALL
set_kernel_arg (cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
  const cl_int status = cl_next->clSetKernelArg (kernel, index, size, value);
  g_autoptr (SharedObject) object = NULL;
  cl_mem mem = NULL;
  GHashTable *arguments;

  if (status != CL_SUCCESS)
    return status;
  if (size == sizeof mem && value)
    memcpy (&mem, value, sizeof mem);
  RECORD_LOCK ();
  object = mem ? shared_object_get (mem) : NULL;
  arguments = find_arguments (kernel);
  if (object)
    set_argument (kernel, index, mem);
  else if (arguments)
    g_hash_table_remove (arguments, GUINT_TO_POINTER (index));
  return CL_SUCCESS;
}

/* Whether all that the kernel would use may be used now. */
static cl_int
check_arguments (cl_kernel kernel)
{
  RECORD_LOCK ();
  GHashTable *arguments = find_arguments (kernel);
  GHashTableIter iter;
  gpointer index, mem;

  record_count (COUNT_KERNELS, 1);
  if (!arguments)
    return CL_SUCCESS;
  g_hash_table_iter_init (&iter, arguments);
  while (g_hash_table_iter_next (&iter, &index, &mem)) {
    cl_int status;

    if (mem == DEAD) {
      record_misuse (MISUSE_DEAD_ARGUMENT,
                     "A kernel runs whose argument %u is a shared object that was released.",
                     GPOINTER_TO_UINT (index));
      return CL_INVALID_KERNEL_ARGS;
    }
    status = shared_object_check_use (mem, "A kernel");
    if (status != CL_SUCCESS)
      return status;
  }
  return CL_SUCCESS;
}

static cl_int CL_API_CALL
enqueue_range (cl_command_queue queue, cl_kernel kernel, cl_uint n_dims, const size_t *offset,
               const size_t *size, const size_t *group, cl_uint n_waits, const cl_event *waits,
               cl_event *event)
{
  cl_int status = cl_fault ("clEnqueueNDRangeKernel");

  if (status == CL_SUCCESS)
    status = check_arguments (kernel);
  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueNDRangeKernel (queue, kernel, n_dims, offset, size, group, n_waits,
                                                waits, event);
}

static cl_int CL_API_CALL
enqueue_task (cl_command_queue queue, cl_kernel kernel, cl_uint n_waits, const cl_event *waits,
              cl_event *event)
{
  const cl_int status = check_arguments (kernel);

  return status != CL_SUCCESS ? status
                              : cl_next->clEnqueueTask (queue, kernel, n_waits, waits, event);
}

static cl_kernel CL_API_CALL
create_kernel (cl_program program, const char *name, cl_int *status)
{
  cl_kernel kernel = cl_next->clCreateKernel (program, name, status);

  forget_kernel (kernel);
  return kernel;
}

static cl_int CL_API_CALL
create_kernels (cl_program program, cl_uint n, cl_kernel *list, cl_uint *n_ret)
{
  cl_uint made = 0;
  const cl_int status = cl_next->clCreateKernelsInProgram (program, n, list, &made);

  for (cl_uint i = 0; list && status == CL_SUCCESS && i < made; i++)
    forget_kernel (list[i]);
  if (n_ret)
    *n_ret = made;
  return status;
}

/* A clone has the arguments of the first. */
static cl_kernel CL_API_CALL
clone_kernel (cl_kernel source, cl_int *status)
{
  cl_kernel kernel = cl_next->clCloneKernel (source, status);
  GHashTableIter iter;
  gpointer index, mem;

  forget_kernel (kernel);
  RECORD_LOCK ();
  if (kernel && find_arguments (source)) {
    g_hash_table_iter_init (&iter, find_arguments (source));
    while (g_hash_table_iter_next (&iter, &index, &mem))
      set_argument (kernel, GPOINTER_TO_UINT (index), mem);
  }
  return kernel;
}

void
cl_kernels_install (cl_icd_dispatch *table)
{
  table->clSetKernelArg = set_kernel_arg;
  table->clEnqueueNDRangeKernel = enqueue_range;
  table->clEnqueueTask = enqueue_task;
  table->clCreateKernel = create_kernel;
  table->clCreateKernelsInProgram = create_kernels;
  table->clCloneKernel = clone_kernel;
}
