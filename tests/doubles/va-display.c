/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doubles.h"

#include <stdlib.h>
#include <string.h>
#include <va/va_backend.h>

#define DRIVER "gemmcl-double"

/* libva exports these for its own libraries that make displays; no header has them. */
extern VADisplayContextP va_newDisplayContext (void);
extern VADriverContextP va_newDriverContext (VADisplayContextP display);

/* The first fields of libva's drm_state. */
typedef struct {
  int fd, auth_type, reserved[16];
} DrmState;

static int
is_valid (VADisplayContextP display)
{
  return display != NULL && display->pDriverContext != NULL;
}

static void
destroy (VADisplayContextP display)
{
  free (display->pDriverContext->drm_state);
  free (display->pDriverContext);
  free (display);
}

#if VA_CHECK_VERSION(1, 20, 0)
static VAStatus
get_driver_names (VADisplayContextP display __attribute__ ((unused)), char **names, unsigned *n)
{
  names[0] = strdup (DRIVER);
  *n = 1;
  return VA_STATUS_SUCCESS;
}
#else
static VAStatus
get_driver_name (VADisplayContextP display __attribute__ ((unused)), char **name)
{
  *name = strdup (DRIVER);
  return VA_STATUS_SUCCESS;
}
#endif

VADisplay
va_display_new (void)
{
  VADisplayContextP display = va_newDisplayContext ();
  VADriverContextP driver = display ? va_newDriverContext (display) : NULL;
  DrmState *state = calloc (1, sizeof *state);
  int major, minor;

  if (!driver || !state) {
    free (state);
    free (display);
    return NULL;
  }
  state->fd = -1;
  driver->drm_state = state;
  driver->display_type = VA_DISPLAY_DRM_RENDERNODES;
  display->vaIsValid = is_valid;
  display->vaDestroy = destroy;
#if VA_CHECK_VERSION(1, 20, 0)
  display->vaGetDriverNames = get_driver_names;
#else
  display->vaGetDriverName = get_driver_name;
#endif
  if (vaInitialize (display, &major, &minor) == VA_STATUS_SUCCESS)
    return display;
  vaTerminate (display);
  return NULL;
}
