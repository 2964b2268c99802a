/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Waits for commands.
 */
#include "device/device.h"

gint
gemmcl_context_wait (GemmclContext *self, cl_event event)
{
  cl_command_queue queue = NULL;
  cl_int waited, status;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), CL_INVALID_CONTEXT);
  g_return_val_if_fail (event != NULL, CL_INVALID_EVENT);

  waited = clWaitForEvents (1, &event);
  if (waited == CL_SUCCESS)
    return CL_SUCCESS;
  clGetEventInfo (event, CL_EVENT_COMMAND_QUEUE, sizeof (queue), &queue, NULL);
  /* Otherwise the command may still run. */
  if (waited != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && queue != NULL)
    clFinish (queue);
  gemmcl_context_replace_queue (self, queue);
  status = gemmcl_event_get_status (event);
  return status < CL_COMPLETE ? status : waited;
}

gboolean
gemmcl_context_finish (GemmclContext *self, cl_int status, cl_event done, const gchar *what,
                       GError **error)
{
  if (!gemmcl_cl_check (status, error, "%s", what))
    return FALSE;
  status = gemmcl_context_wait (self, done);
  clReleaseEvent (done);
  return gemmcl_cl_check (status, error, "%s", what);
}
