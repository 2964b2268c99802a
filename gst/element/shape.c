/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/shape.h"

#include <math.h>
#include <string.h>

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
  return frame->features == GEMMCL_FEATURE_PIXEL   ? 1
         : frame->features == GEMMCL_FEATURE_PATCH ? frame->patch_width
                                                   : frame->width;
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

gsize
gst_gemmcl_count_results (const GemmclGemm *gemm, gsize m)
{
  gsize across, down;

  return gemm->pool == GEMMCL_POOL_NONE ? m : gemmcl_gemm_get_pooled_grid (gemm, &across, &down);
}

void
gst_gemmcl_shape_get_result (const GemmclGemm *gemm, const GemmclFrame *frame,
                             const GstGemmclTensor *a, gsize m, gsize n, GstGemmclTensor *result)
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
  if (gemm->pool != GEMMCL_POOL_NONE) {
    gemmcl_gemm_get_pooled_grid (gemm, &across, &down);
    result->dims[1] = (guint32)across;
    result->dims[2] = (guint32)down;
  }
  result->type = GEMMCL_TYPE_F32;
  result->rank = MAX (result->rank, 2);
  result->dims[0] = (guint32)n;
}

gboolean
gst_gemmcl_rows_fit (const GstGemmclSettings *settings, guint n, GError **error)
{
  return settings->gemm.row_outputs == 0 || gst_gemmcl_output_omits_d (settings) ||
         gst_gemmcl_output_is_meta (settings) || n < GST_GEMMCL_MAX_TENSORS ||
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

  if (gst_gemmcl_tensor_count_dims (tensor) > 3)
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

/* Reads "2" or "[3,2]": rows and columns of a grid. */
static gboolean
parse_sizes (const gchar *property, const gchar *value, gsize *rows, gsize *columns, GError **error)
{
  g_autofree gchar *text = g_strstrip (g_strdup (value)), *found = NULL;
  const gboolean is_list = g_str_has_prefix (text, "[") && g_str_has_suffix (text, "]");
  g_auto (GStrv) parts = NULL;
  guint64 numbers[2];
  guint n = 0;

  if (is_list)
    text[strlen (text) - 1] = '\0';
  parts = g_strsplit (text + is_list, ",", -1);
  while (n < 2 && parts[n] &&
         g_ascii_string_to_unsigned (g_strstrip (parts[n]), 10, 0, G_MAXINT32, &numbers[n], NULL))
    n++;
  if (n > 0 && !parts[n] && is_list == (n > 1)) {
    *rows = numbers[0];
    *columns = numbers[n - 1];
    return TRUE;
  }
  found = gemmcl_quote (value);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "%s=%s cannot be read. Expected a number of rows and columns, such as 2, "
                          "or both, such as [3,2].",
                          property, found);
}

/* Sets the grid of @gemm, which is that of pixels or patches. */
static gboolean
find_grid (const GstGemmclFormat *format, const GemmclFrame *frame, GemmclGemm *gemm,
           GError **error)
{
  const GstGemmclTensor *tensor = &format->tensors.tensor[format->index];
  const gboolean has_features =
      frame->features == GEMMCL_FEATURE_PIXEL || frame->features == GEMMCL_FEATURE_PATCH;

  if (frame->width > 0 && has_features) {
    gemmcl_frame_get_grid (frame, &gemm->pool_across, &gemm->pool_down);
    return TRUE;
  }
  if (frame->width == 0 && format->medium == GST_GEMMCL_MEDIUM_TENSORS &&
      !format->tensors.flexible && !format->varies) {
    gemm->pool_across = tensor->dims[1];
    gemm->pool_down = tensor->dims[2];
    return TRUE;
  }
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "pool needs a grid of pixels or patches. Expected video or tensors whose "
                          "caps state their dimensions, with feature-mode=pixel or patch, or "
                          "pool=none.");
}

/* Sets the fields of pooling. */
static gboolean
set_pool (const GstGemmclFormat *format, const GstGemmclSettings *settings, GstGemmclShape *shape,
          GError **error)
{
  GemmclGemm *gemm = &shape->gemm;
  gsize across, down;

  *gemm = settings->gemm;
  gemm->m = shape->m;
  if (gemm->pool == GEMMCL_POOL_NONE)
    return TRUE;
  if (!find_grid (format, &shape->frame, gemm, error) ||
      !parse_sizes ("pool-size", settings->pool_size, &gemm->pool_height, &gemm->pool_width,
                    error) ||
      !parse_sizes ("pool-stride", settings->pool_stride, &gemm->pool_stride_y,
                    &gemm->pool_stride_x, error))
    return FALSE;
  return gemmcl_gemm_get_pooled_grid (gemm, &across, &down) > 0 ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "pool-size=%s is larger than the grid of %zu rows and %zu columns. "
                          "Expected a smaller window, or 0 for the whole grid.",
                          settings->pool_size, gemm->pool_down, gemm->pool_across);
}

/* The shape without its gemm. */
static gboolean
shape_of_medium (const GstGemmclFormat *format, const GstGemmclSettings *settings, gsize weight_k,
                 GstGemmclShape *shape, GError **error)
{
  if (format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    return shape_of_frame (&format->frame, settings, weight_k, shape, error);
  if (format->medium == GST_GEMMCL_MEDIUM_TENSORS)
    return shape_of_tensor (format, settings, weight_k, shape, error);
  if (settings->gemm.row_outputs == 0 || gst_gemmcl_output_is_meta (settings))
    return gst_gemmcl_tensor_check_k ("A sample of all channels", &format->tensors.tensor[0],
                                      weight_k, error);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "Audio leaves as audio, which has no place for row outputs. Expected "
                          "row-outputs=0, output=meta, or video or tensors.");
}

gboolean
gst_gemmcl_shape_of_format (const GstGemmclFormat *format, const GstGemmclSettings *settings,
                            gsize weight_k, GstGemmclShape *shape, GError **error)
{
  *shape = (GstGemmclShape){.m = 0};
  return shape_of_medium (format, settings, weight_k, shape, error) &&
         set_pool (format, settings, shape, error);
}

/* Most sides of a frame, and most channels of a format. */
#define MAX_SIDE     G_MAXUINT16
#define MAX_CHANNELS 4

static gboolean
allows_mode (const GstGemmclSettings *settings, GstGemmclFeatureMode mode)
{
  return settings->feature_mode == mode || settings->feature_mode == GST_GEMMCL_FEATURE_MODE_AUTO;
}

void
gst_gemmcl_add_input_formats (GValue *values, gsize channels)
{
  for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++)
    if (channels == 0 || gemmcl_pixel_format_get_channels (i) == channels)
      gst_gemmcl_values_add (values, g_strdup (gemmcl_pixel_format_get_name (i)));
}

/* Appends video in the formats with @channels; 0: any number. Returns: (nullable): the new
 * structure, which @result owns; NULL if there is no such format. */
static GstStructure *
append_formats (GstCaps *result, gsize channels)
{
  GValue formats = G_VALUE_INIT;
  GstStructure *structure;

  gst_gemmcl_add_input_formats (&formats, channels);
  if (!G_IS_VALUE (&formats))
    return NULL;
  structure = gst_structure_new_empty (GST_GEMMCL_VIDEO_MEDIA);
  gst_structure_take_value (structure, "format", &formats);
  gst_caps_append_structure (result, structure);
  return structure;
}

/* Returns: (transfer full): @filter, (nullable), in plain formats and without memory; NULL: ANY. */
static GstCaps *
new_plain_filter (const GstCaps *filter)
{
  GstCaps *plain;

  if (!filter || gst_caps_is_any (filter))
    return gst_caps_new_any ();
  plain = gst_caps_new_empty ();
  for (guint i = 0; i < gst_caps_get_size (filter); i++)
    gst_caps_append_structure (plain, gst_gemmcl_drm_to_plain (gst_caps_get_structure (filter, i)));
  return plain;
}

static gboolean
fits (const GstCaps *filter, const GstStructure *structure)
{
  g_autoptr (GstCaps) caps = gst_caps_new_full (gst_structure_copy (structure), NULL);

  return gst_caps_can_intersect (filter, caps);
}

static void
remove_last (GstCaps *caps)
{
  gst_caps_remove_structure (caps, gst_caps_get_size (caps) - 1);
}

/* GStreamer has no ranges of one number. */
static void
set_range (GstStructure *structure, const gchar *field, gint least, gint most)
{
  if (least < most)
    gst_structure_set (structure, field, GST_TYPE_INT_RANGE, least, most, NULL);
  else
    gst_structure_set (structure, field, G_TYPE_INT, least, NULL);
}

/* Appends frames that hold a patch, or the patches that @d has pixels, if patches of @channels have
 * @k elements and @filter allows. */
static void
append_patched (GstCaps *result, const GstCaps *filter, const GstGemmclSettings *settings,
                const GstGemmclTensor *d, gsize k, guint channels)
{
  const guint sizes[] = {settings->patch_width, settings->patch_height};
  gint64 least[2], most[2] = {MAX_SIDE, MAX_SIDE};
  GstStructure *structure;

  if (k != (gsize)sizes[0] * sizes[1] * channels || d->rank > 3)
    return;
  for (guint i = 0; i < 2; i++) {
    const gint64 stride = settings->patch_stride ? settings->patch_stride : sizes[i];

    least[i] = (gint64)settings->patch_dilation * (sizes[i] - 1) + 1 - 2 * settings->patch_padding;
    if (d->rank > 2) {
      least[i] += (d->dims[1 + i] - 1) * stride;
      most[i] = MIN (least[i] + stride - 1, MAX_SIDE);
    }
    least[i] = MAX (least[i], 1);
    if (least[i] > most[i])
      return;
  }
  if (!(structure = append_formats (result, channels)))
    return;
  set_range (structure, "width", (gint)least[0], (gint)most[0]);
  set_range (structure, "height", (gint)least[1], (gint)most[1]);
  if (!fits (filter, structure))
    remove_last (result);
}

/* Finds the sizes of frames of @pixels that @filter allows. @best: gets a square, or the size
 * nearest to 4:3. @all: gets lists of widths and heights: a structure for each size would make caps
 * slow to compare. Returns: their number. */
static guint
find_sizes (gsize pixels, const GstCaps *filter, GstStructure *best, GstStructure *all)
{
  g_autoptr (GstStructure) sized = gst_structure_new_empty (GST_GEMMCL_VIDEO_MEDIA);
  g_auto (GValue) widths = G_VALUE_INIT, heights = G_VALUE_INIT;
  gdouble least = G_MAXDOUBLE, distance;
  guint n = 0;

  gst_value_list_init (&widths, 0);
  gst_value_list_init (&heights, 0);
  for (gsize width = 1; width <= MIN (pixels, MAX_SIDE); width++) {
    const gsize height = pixels / width;

    if (pixels % width > 0 || height > MAX_SIDE)
      continue;
    gst_structure_set (sized, "width", G_TYPE_INT, (gint)width, "height", G_TYPE_INT, (gint)height,
                       NULL);
    if (!fits (filter, sized))
      continue;
    n++;
    gst_value_list_append_value (&widths, gst_structure_get_value (sized, "width"));
    gst_value_list_append_value (&heights, gst_structure_get_value (sized, "height"));
    distance = width == height ? -1.0 : fabs (log2 (3.0 * width) - log2 (4.0 * height));
    if (distance < least)
      gst_structure_set (best, "width", G_TYPE_INT, (gint)width, "height", G_TYPE_INT, (gint)height,
                         NULL);
    least = MIN (least, distance);
  }
  gst_structure_set_value (all, "width", &widths);
  gst_structure_set_value (all, "height", &heights);
  return n;
}

/* Appends frames of @channels with the number of @pixels: the best size that @filter allows, then
 * lists of all widths and heights. */
static void
append_frames (GstCaps *result, const GstCaps *filter, gsize pixels, guint channels)
{
  GstStructure *best = append_formats (result, channels), *all = append_formats (result, channels);

  for (guint n = best ? find_sizes (pixels, filter, best, all) : 2; n < 2; n++)
    remove_last (result);
}

/* The result that downstream takes: dimensions of a tensor without those of 1 behind the last, or
 * of a picture. Of rank 0 if downstream does not state them. */
static GstGemmclTensor
read_result (const GstStructure *output)
{
  const gchar *dimensions = gst_structure_get_string (output, "dimensions");
  const gchar *types = gst_structure_get_string (output, "types");
  GstGemmclTensors tensors;
  GstGemmclTensor *d = &tensors.tensor[0];
  gint width, height;

  if (gst_structure_get (output, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, NULL))
    return (GstGemmclTensor){.rank = 3, .dims = {1, (guint32)width, (guint32)height}};
  if (!dimensions ||
      !gst_gemmcl_tensors_parse (&tensors, dimensions, types ? types : "float32", 0, NULL))
    return (GstGemmclTensor){.rank = 0};
  d->rank = gst_gemmcl_tensor_count_dims (d);
  return *d;
}

/* Appends video whose pixels have @k channels, in the size or number that @d states, if @filter
 * allows it. */
static void
append_pixels (GstCaps *result, const GstCaps *filter, const GstGemmclTensor *d, gsize k)
{
  GstStructure *video;

  if (d->rank == 1 || d->rank == 2) {
    append_frames (result, filter, d->dims[1], k);
    return;
  }
  if (d->rank > 3 || MAX (d->dims[1], d->dims[2]) > MAX_SIDE ||
      !(video = append_formats (result, k)))
    return;
  if (d->rank == 3)
    gst_structure_set (video, "width", G_TYPE_INT, (gint)d->dims[1], "height", G_TYPE_INT,
                       (gint)d->dims[2], NULL);
  if (!fits (filter, video))
    remove_last (result);
}

/* Appends frames whose rows, or which as a whole, have @k elements, as @settings allow. */
static void
append_sized (GstCaps *result, const GstCaps *filter, const GstGemmclSettings *settings,
              const GstGemmclTensor *d, gsize k, guint channels)
{
  const gsize pixels = k / channels;
  GstStructure *structure;

  if (k % channels > 0 || settings->gemm.pool != GEMMCL_POOL_NONE)
    return;
  if (allows_mode (settings, GST_GEMMCL_FEATURE_MODE_ROW) && MAX (pixels, d->dims[1]) <= MAX_SIDE &&
      d->rank <= 2 && (structure = append_formats (result, channels))) {
    gst_structure_set (structure, "width", G_TYPE_INT, (gint)pixels, NULL);
    if (d->rank > 0)
      gst_structure_set (structure, "height", G_TYPE_INT, (gint)d->dims[1], NULL);
  }
  if (allows_mode (settings, GST_GEMMCL_FEATURE_MODE_FRAME) && d->rank <= 1)
    append_frames (result, filter, pixels, channels);
}

GstCaps *
gst_gemmcl_new_fitting_video (const GstCaps *upstream, const GstStructure *output,
                              const GstGemmclSettings *settings, gsize k)
{
  const gboolean has_pixels = allows_mode (settings, GST_GEMMCL_FEATURE_MODE_PIXEL);
  /* The sizes before pooling are not known. */
  const GstGemmclTensor d =
      settings->gemm.pool ? (GstGemmclTensor){.rank = 0} : read_result (output);
  g_autoptr (GstCaps) filter = new_plain_filter (upstream);
  GstCaps *result = gst_caps_new_empty ();

  if (k == 0) {
    append_formats (result, 0);
    return result;
  }
  if (has_pixels)
    append_pixels (result, filter, &d, k);
  for (guint i = 1; i <= MAX_CHANNELS; i++)
    if (allows_mode (settings, GST_GEMMCL_FEATURE_MODE_PATCH))
      append_patched (result, filter, settings, &d, k, i);
  if (!gst_caps_is_any (filter) && !gst_caps_is_empty (result))
    return result;
  for (guint i = 1; i <= MAX_CHANNELS; i++)
    /* Pixels of K channels already have any size. */
    if (i != k || !has_pixels)
      append_sized (result, filter, settings, &d, k, i);
  return result;
}
