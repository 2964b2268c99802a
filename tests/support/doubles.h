/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <va/va.h>

/** DoublesCounts: atomic counters of the doubles' living objects and of calls so far. */
typedef struct {
  gint live_surfaces, live_contexts, live_objects;
  gint surface_readbacks, surface_exports, va_objects, dmabuf_objects, acquires;
} DoublesCounts;

/** DoublesFences: how the preloaded library answers ioctl() for fences of files that stand for
 * dma-bufs, and the calls so far. The variable is doubles_fences. */
typedef struct {
  gint unknown; /* the kernel does not know the calls */
  gint pending; /* exported fences are never signalled */
  gint broken;  /* the driver of the dma-buf fails to finish its writes */
  gint exports, starts, ends;
} DoublesFences;

/** Makes a display that needs neither a window system nor /dev/dri. libva loads the driver of
 * LIBVA_DRIVER_NAME for it; the double if that is unset. The preloaded library has this function.
 * Returns: (nullable): the display, which vaTerminate() frees; NULL without the driver. */
VADisplay va_display_new (void);
