/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/stream.h"

/* Negotiates caps, and says why a negotiation failed. */

void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);

/** gst_gemmcl_explain_failure: @input: (nullable): caps of the sink pad. Posts an error with the
 * reason why they could not be negotiated, unless an error was posted since caps were last accepted
 * or the element is shutting down. */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);
