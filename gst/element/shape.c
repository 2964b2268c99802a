/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/shape.h"

#include "memory/error.h"

const gchar *
gst_gemmcl_feature_mode_get_nick (GstGemmclFeatureMode mode)
{
  static const gchar *const nicks[] = {"auto", "pixel", "row", "frame", "patch"};

  return nicks[mode];
}

static const gchar *
get_noun (const GemmclFrame *frame)
{
  return frame->channels > 0 ? "tensor" : "frame";
}

static gboolean
check_patch (const GemmclFrame *frame, GError **error)
{
  const gsize dilation = MAX (frame->patch_dilation, 1);

  if (frame->patch_width == 0 || frame->patch_height == 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE, "needs patch-width and patch-height");
  return (dilation * (frame->patch_width - 1) < frame->width + 2 * frame->patch_padding &&
          dilation * (frame->patch_height - 1) < frame->height + 2 * frame->patch_padding) ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "a patch of %zux%zu pixels with patch-dilation=%zu is larger than the %s "
                          "with patch-padding=%zu",
                          frame->patch_width, frame->patch_height, dilation, get_noun (frame),
                          frame->patch_padding);
}

static gboolean
shape_of_mode (const GemmclFrame *frame, GstGemmclFeatureMode mode, GstGemmclShape *shape,
               GError **error)
{
  shape->frame = *frame;
  shape->frame.features = (GemmclFeatureMode)(mode - 1);
  if (mode != GST_GEMMCL_FEATURE_MODE_PATCH)
    shape->frame.patch_width = shape->frame.patch_height = 0;
  else if (!check_patch (frame, error))
    return FALSE;
  return gemmcl_frame_get_shape (&shape->frame, &shape->m, &shape->k, error);
}

/* Returns: a hint if a weight for RGB meets a frame of RGBA; "" otherwise. */
static const gchar *
describe_alpha (const GemmclFrame *frame, gsize weight_k)
{
  if (frame->channels > 0 || gemmcl_frame_get_channels (frame) != 4 || weight_k != 3)
    return "";
  return " The weight lacks a row for alpha, the fourth channel: as 4 x 4, a 3 x 3 weight that "
         "keeps alpha is [[a,b,c,0],[d,e,f,0],[g,h,i,0],[0,0,0,1]].";
}

static gsize
get_row_width (const GemmclFrame *frame)
{
  switch (frame->features) {
  case GEMMCL_FEATURE_PIXEL:
    return 1;
  case GEMMCL_FEATURE_PATCH:
    return frame->patch_width;
  default:
    return frame->width;
  }
}

/* TRUE if @other, of a later feature mode and of the same K, makes the same A as @shape: as many
 * rows, of rectangles of one size. Padding adds to the frame. */
static gboolean
is_same_a (const GstGemmclShape *shape, const GstGemmclShape *other)
{
  return shape->m == other->m && get_row_width (&shape->frame) == get_row_width (&other->frame) &&
         (other->frame.features != GEMMCL_FEATURE_PATCH || other->frame.patch_padding == 0);
}

/* @shape: (out): the shape of @frame, a frame or a tensor, in the feature mode that @settings allow
 * and whose K is @weight_k. Of modes with the same A, pixels come first, since they can stay video,
 * then patches, whose result has the most dimensions. */
static gboolean
shape_of_frame (const GemmclFrame *frame, const GstGemmclSettings *settings, gsize weight_k,
                GstGemmclShape *shape, GError **error)
{
  const GstGemmclFeatureMode wanted = settings->feature_mode;
  const guint channels = gemmcl_frame_get_channels (frame);
  /* "pixel: K = 3, row: K = 960, frame: K = 230400, patch: needs patch-width and patch-height" */
  g_autoptr (GString) modes = g_string_new (NULL);
  GemmclFrame patched = *frame;
  guint n = 0;

  patched.patch_width = settings->patch_width;
  patched.patch_height = settings->patch_height;
  patched.patch_stride = settings->patch_stride;
  patched.patch_padding = settings->patch_padding;
  patched.patch_dilation = settings->patch_dilation;
  for (GstGemmclFeatureMode mode = GST_GEMMCL_FEATURE_MODE_PIXEL;
       mode <= GST_GEMMCL_FEATURE_MODE_PATCH; mode++) {
    g_autoptr (GError) reason = NULL;
    GstGemmclShape each;

    g_string_append_printf (modes, "%s%s: ", modes->len ? ", " : "",
                            gst_gemmcl_feature_mode_get_nick (mode));
    if (!shape_of_mode (&patched, mode, &each, &reason)) {
      g_string_append (modes, reason->message);
      continue;
    }
    g_string_append_printf (modes, "K = %zu", each.k);
    if (each.k != weight_k || (wanted != mode && wanted != GST_GEMMCL_FEATURE_MODE_AUTO))
      continue;
    if (n == 0 || !is_same_a (shape, &each))
      n++;
    else if (shape->frame.features == GEMMCL_FEATURE_PIXEL)
      continue;
    *shape = each;
  }
  if (n == 1)
    return TRUE;
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_SHAPE,
      "The weight's K = %zu %s feature-mode=%s of a %zux%zu %s with %u channel%s (%s). %s%s",
      weight_k, n > 1 ? "fits several modes by" : "does not fit",
      gst_gemmcl_feature_mode_get_nick (wanted), frame->width, frame->height, get_noun (frame),
      channels, channels == 1 ? "" : "s", modes->str,
      n > 1 ? "Choose one of those with this K by feature-mode."
            : "Use another weight (transpose-weight=true if K is its columns), another "
              "feature-mode, patch or padding, or convert, scale or crop the input.",
      n > 1 ? "" : describe_alpha (frame, weight_k));
}

gboolean
gst_gemmcl_tensor_check_k (const gchar *noun, const GstGemmclTensor *tensor, gsize weight_k,
                           GError **error)
{
  g_autofree gchar *text = NULL;

  if (tensor->dims[0] == weight_k)
    return TRUE;
  text = gst_gemmcl_tensor_print (tensor);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "%s, %s, needs a weight with K = %u, but the weight has K = %zu. Use "
                          "another weight (transpose-weight=true if K is its columns), convert the "
                          "input, or choose another of several tensors by tensor-index or "
                          "input-tensor-id.",
                          noun, text, tensor->dims[0], weight_k);
}

void
gst_gemmcl_shape_get_result (const GemmclFrame *frame, const GstGemmclTensor *a, gsize m, gsize n,
                             GstGemmclTensor *result)
{
  const gboolean is_frame = frame->width > 0;
  const gboolean is_grid = is_frame && (frame->features == GEMMCL_FEATURE_PIXEL ||
                                        frame->features == GEMMCL_FEATURE_PATCH);
  gsize across = 1, down = m;

  *result = *a;
  if (is_frame)
    gemmcl_frame_get_grid (frame, &across, &down);
  if (is_frame || a->rank == 0)
    *result = (GstGemmclTensor){
        .rank = is_grid ? 3 : 2,
        .dims = {[1] = (guint32)(is_grid ? across : down), (guint32)down},
    };
  result->type = GEMMCL_TYPE_F32;
  result->rank = MAX (result->rank, 2);
  result->dims[0] = (guint32)n;
}

gboolean
gst_gemmcl_rows_fit (const GstGemmclSettings *settings, guint n, GError **error)
{
  return settings->gemm.row_outputs == 0 || settings->output == GST_GEMMCL_OUTPUT_META ||
         n < GST_GEMMCL_MAX_TENSORS ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "A buffer has %u tensors, and row-outputs would add another one. "
                          "Expected row-outputs=0, or at most %u tensors.",
                          n, GST_GEMMCL_MAX_TENSORS - 1);
}

/* FALSE if @tensor has more dimensions than channels:width:height, not counting dimensions of 1. */
static gboolean
tensor_to_frame (const GstGemmclTensor *tensor, GemmclFrame *frame)
{
  const guint32 *dims = tensor->dims;

  for (guint i = 3; i < tensor->rank; i++)
    if (dims[i] > 1)
      return FALSE;
  *frame = (GemmclFrame){
      .width = dims[1],
      .height = dims[2],
      .channels = dims[0],
      .type = tensor->type,
  };
  return TRUE;
}

static gboolean
shape_of_tensor (const GstGemmclFormat *format, const GstGemmclSettings *settings, gsize weight_k,
                 GstGemmclShape *shape, GError **error)
{
  const guint index = format->index;
  const GstGemmclTensors *tensors = &format->tensors;
  const GstGemmclTensor *tensor = &tensors->tensor[index];
  g_autofree gchar *text = NULL;
  GemmclFrame frame;

  if (tensors->n > 0 && index >= tensors->n)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "tensor-index is %u, but a buffer has %u tensor%s. Expected 0 to %u.",
                            index, tensors->n, tensors->n == 1 ? "" : "s", tensors->n - 1);
  if (!gst_gemmcl_rows_fit (settings, tensors->n, error))
    return FALSE;
  if (settings->feature_mode > GST_GEMMCL_FEATURE_MODE_PIXEL) {
    if (!tensors->flexible && tensor_to_frame (tensor, &frame))
      return shape_of_frame (&frame, settings, weight_k, shape, error);
    text = tensors->flexible ? g_strdup ("flexible") : gst_gemmcl_tensor_print (tensor);
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "feature-mode=%s of a tensor, %s, needs dimensions "
                            "channels:width:height in caps. Expected static tensors with 1 as each "
                            "further dimension, or feature-mode=pixel.",
                            gst_gemmcl_feature_mode_get_nick (settings->feature_mode), text);
  }
  if (tensors->flexible) {
    shape->k = weight_k;
    return TRUE;
  }
  gst_gemmcl_tensor_get_shape (tensor, &shape->m, &shape->k);
  return gst_gemmcl_tensor_check_k (format->varies ? "The tensor of a buffer"
                                                   : "The tensor that caps announce",
                                    tensor, weight_k, error);
}

gboolean
gst_gemmcl_shape_of_format (const GstGemmclFormat *format, const GstGemmclSettings *settings,
                            gsize weight_k, GstGemmclShape *shape, GError **error)
{
  *shape = (GstGemmclShape){.m = 0};
  if (format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    return shape_of_frame (&format->frame, settings, weight_k, shape, error);
  if (format->medium == GST_GEMMCL_MEDIUM_TENSORS)
    return shape_of_tensor (format, settings, weight_k, shape, error);
  if (settings->gemm.row_outputs == 0 || settings->output == GST_GEMMCL_OUTPUT_META)
    return gst_gemmcl_tensor_check_k ("A sample of all channels", &format->tensors.tensor[0],
                                      weight_k, error);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "Audio leaves as audio, which has no place for row outputs. Expected "
                          "row-outputs=0, output=meta, or video or tensors.");
}
