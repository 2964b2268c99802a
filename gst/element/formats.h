/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/audio/audio.h>
#include <gst/video/video.h>

#include "element/settings.h"
#include "element/tensors.h"
#include "memory/memory-caps.h"

/* Reads caps of video, audio and tensors. Pure functions and plain values. */

#define GST_GEMMCL_AUDIO_MEDIA "audio/x-raw"

typedef enum {
  GST_GEMMCL_MEDIUM_VIDEO,
  GST_GEMMCL_MEDIUM_AUDIO,
  GST_GEMMCL_MEDIUM_TENSORS,
} GstGemmclMedium;

/** GstGemmclFormat: The contents of fixed caps. A plain value: it owns nothing. */
typedef struct {
  GstGemmclMemoryKind memory;
  GstGemmclMedium medium; /* the valid member of video, audio and tensors; audio is also described
                             as a tensor, with a column for each channel */
  GstVideoInfo video;
  GemmclFrame frame; /* the library's description of video; its rows are pixels */
  GstAudioInfo audio;
  GstGemmclTensors tensors;
  guint index;      /* of A or D among tensors */
  gboolean is_meta; /* A is in the metadata of buffers, and alone in tensors */
  gboolean varies;  /* caps do not describe the tensor A, which may differ between buffers */
} GstGemmclFormat;

/** gst_gemmcl_format_from_caps: Reads @caps, which must be fixed. Returns: %FALSE with
 * #GEMMCL_ERROR_FORMAT or #GEMMCL_ERROR_TOO_LARGE; @format is undefined then. */
gboolean gst_gemmcl_format_from_caps (GstGemmclFormat *format, const GstCaps *caps, GError **error);

/** gst_gemmcl_caps_new_template: Returns: (transfer full): all caps of a pad whose medium holds A
 * or D, unlike carriers. With output=meta the source pad has the caps of the sink pad instead. */
GstCaps *gst_gemmcl_caps_new_template (GstPadDirection direction);

/** gst_gemmcl_caps_are_supported: Returns: %TRUE if a pad of @direction supports the medium and the
 * memory of structure @index of @caps. */
gboolean gst_gemmcl_caps_are_supported (GstPadDirection direction, const GstCaps *caps,
                                        guint index);

/* Carriers are buffers of video or audio with A as a tensor in their metadata (GstTensorMeta). The
 * element does not read their video or audio. GStreamer 1.28 announces the tensors in the field
 * `tensors` of caps:
 *
 *     video/x-raw, tensors=[tensorgroups, ID=(/uniquelist){(GstCaps)[tensor/strided, tensor-id=ID,
 *         dims=<1,10>, dims-order=row-major, type=float32]}] */

/** gst_gemmcl_carriers_are_set: Returns: %TRUE if @settings make all inputs carriers. */
static inline gboolean
gst_gemmcl_carriers_are_set (const GstGemmclSettings *settings)
{
  return settings->input == GST_GEMMCL_INPUT_META ||
         (settings->input == GST_GEMMCL_INPUT_AUTO && settings->input_tensor_id);
}

/** gst_gemmcl_carriers_have: Returns: %TRUE if buffers with structure @index of @caps, of the sink
 * pad, are carriers: because @settings say so, or because the caps announce tensors in a medium
 * that the element cannot read. */
gboolean gst_gemmcl_carriers_have (const GstCaps *caps, guint index,
                                   const GstGemmclSettings *settings);

/** gst_gemmcl_input_from_caps: @format: (out): the format of @caps, fixed caps of the sink pad. A
 * in carriers is the tensor that caps announce. If they announce none, and in flexible tensors, A
 * is @described, the tensor of the last buffer, whose rank is 0 before the first buffer. Returns:
 * %FALSE with #GEMMCL_ERROR_FORMAT or #GEMMCL_ERROR_TOO_LARGE if @caps or A cannot be read. */
gboolean gst_gemmcl_input_from_caps (GstGemmclFormat *format, const GstCaps *caps,
                                     const GstGemmclSettings *settings,
                                     const GstGemmclTensor *described, GError **error);

/** gst_gemmcl_carriers_announce: Adds @tensor, in the group @id, to the tensors that @structure, of
 * fixed caps, announces. @varies: all dimensions but the innermost differ between buffers; one of 0
 * does in any case. */
#if GST_CHECK_VERSION(1, 28, 0)
void gst_gemmcl_carriers_announce (GstStructure *structure, const gchar *id,
                                   const GstGemmclTensor *tensor, gboolean varies);
#else
  #define gst_gemmcl_carriers_announce(structure, id, tensor, varies)                              \
    ((void)(structure), (void)(id), (void)(tensor), (void)(varies))
#endif

/** gst_gemmcl_get_input_id: Returns: (nullable): the id of the tensor that is A with input=meta.
 * @or_only: (out): %TRUE if the only tensor of a buffer is A whatever its id. */
const gchar *gst_gemmcl_get_input_id (const GstGemmclSettings *settings, gboolean *or_only);

/** gst_gemmcl_format_is_empty: Returns: %TRUE if @buffer, an input of @format, passes without a
 * run: a gap without data, or audio without samples. */
gboolean gst_gemmcl_format_is_empty (const GstGemmclFormat *format, GstBuffer *buffer);

/** GST_GEMMCL_ROWS_SUFFIX: Follows the id of D in the id of the tensor of row outputs. */
#define GST_GEMMCL_ROWS_SUFFIX "-rows"
