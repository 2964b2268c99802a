/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/*
 * auto-tune: while a plan of the rules runs, a thread of low priority searches for a faster kernel
 * (gemmcl_tuning_search()) and makes a plan of it, which the streaming thread takes over between
 * two runs. All functions are for the streaming thread, unless they say otherwise.
 */

/** gst_gemmcl_tuner_start: Starts a search for the element's plan, if that is of the rules, the
 * kernel was not named, and auto-tune says so. */
void gst_gemmcl_tuner_start (GstGemmcl *self);

/**
 * gst_gemmcl_tuner_take:
 *
 * Returns: (transfer full) (nullable): a faster plan for the problem and the operands as they are,
 *   to take the place of the element's, after which gst_gemmcl_tuner_leave() is due; %NULL as long
 *   as there is none. Operands that changed since it was made are prepared by the search's thread.
 */
GemmclPlan *gst_gemmcl_tuner_take (GstGemmcl *self);

/** gst_gemmcl_tuner_leave: Leaves @old, whose place the other plan took, to the search's thread.
 * Takes @old. */
void gst_gemmcl_tuner_leave (GstGemmcl *self, GemmclPlan *old);

/** gst_gemmcl_tuner_cancel: Ends the search, of a plan that goes. Does not wait. */
void gst_gemmcl_tuner_cancel (GstGemmcl *self);

/** gst_gemmcl_tuner_stop: Ends the search and waits for its thread, but no longer than a second: a
 * compiler that does not return is left behind with it. */
void gst_gemmcl_tuner_stop (GstGemmcl *self);

/**
 * gst_gemmcl_tuner_describe:
 * @swapped: (out): whether the element's plan is the one that was found
 *
 * Any thread, with the element's lock held.
 *
 * Returns: (transfer full): what the statistics say of the search.
 */
gchar *gst_gemmcl_tuner_describe (GstGemmcl *self, gboolean *swapped);
