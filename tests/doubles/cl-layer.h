/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "cl-layer-entry.h"

/*
 * The OpenCL layer: it adds cl_intel_va_api_media_sharing, over the fake libva driver's displays,
 * and the import of dma-bufs by cl_khr_external_memory, over whatever can be mapped, to every
 * device of every platform; and it watches what programs do with such objects.
 *
 * GEMMCL_DOUBLES_WITHOUT, a list of "va" and "dmabuf", leaves either out.
 */

gboolean cl_offers_va (void);
gboolean cl_offers_dmabuf (void);

/** Each puts its functions in the place of those below. */
void cl_info_install (cl_icd_dispatch *table);
void cl_contexts_install (cl_icd_dispatch *table);
void cl_dmabuf_install (cl_icd_dispatch *table);
void cl_kernels_install (cl_icd_dispatch *table);
void cl_objects_install (cl_icd_dispatch *table);
void cl_transfers_install (cl_icd_dispatch *table);
void cl_image_transfers_install (cl_icd_dispatch *table);

/** Returns: (nullable): the extensions' function of that name. */
void *cl_va_find (const gchar *name);
void *cl_dmabuf_find (const gchar *name);

/**
 * For functions that can be told to fail, before they do anything; see gemmcl_doubles_fail().
 * GEMMCL_DOUBLES_FAIL, "NAME:N:ERROR,...", does so from outside.
 * Returns: the error to fail with; CL_SUCCESS most of the time.
 */
cl_int cl_fault (const gchar *function);

/** From now on the @n-th call (1 is the next) of @function returns @error. */
void gemmcl_doubles_fail (const char *function, unsigned n, int error);
