/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/caps.h"

/* Chooses among the caps that the source pad can have. Pure functions. */

/** gst_gemmcl_caps_fixate: @input: fixed caps of the sink pad. @output: (transfer full): not empty.
 * Chooses the medium that gst_gemmcl_caps_transform() names first, and OpenCL memory if @opencl, if
 * @output has them, and the format nearest to that of @input. Returns: (transfer full): fixed caps
 * for the source pad. */
GstCaps *gst_gemmcl_caps_fixate (const GstCaps *input, GstCaps *output, gboolean opencl,
                                 const GstGemmclTerms *terms);
