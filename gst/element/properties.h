/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/stream.h"

/* The properties of the element. */

void gst_gemmcl_properties_install (GObjectClass *klass);

/** gst_gemmcl_properties_init: Sets all defaults. */
void gst_gemmcl_properties_init (GstGemmcl *self);
