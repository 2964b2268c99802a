/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/sizes.h"
#include "element/tensors.h"

#include <math.h>

#include "memory/memory-caps.h"

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

/* Returns: (transfer full) (nullable): @filter in plain formats and without memory; NULL: any. */
static GstCaps *
new_plain_filter (const GstCaps *filter)
{
  GstCaps *plain;

  if (!filter || gst_caps_is_any (filter))
    return NULL;
  plain = gst_caps_new_empty ();
  for (guint i = 0; i < gst_caps_get_size (filter); i++)
    gst_caps_append_structure (plain, gst_gemmcl_drm_to_plain (gst_caps_get_structure (filter, i)));
  return plain;
}

/* TRUE if @structure fits a structure of @filter, of new_plain_filter(). */
static gboolean
fits (const GstCaps *filter, const GstStructure *structure)
{
  if (!filter)
    return TRUE;
  for (guint i = 0; i < gst_caps_get_size (filter); i++)
    if (gst_structure_can_intersect (gst_caps_get_structure (filter, i), structure))
      return TRUE;
  return FALSE;
}

/* Appends frames that hold a patch, if patches of @channels have @k elements and @filter allows
 * such frames. */
static void
append_patched (GstCaps *result, const GstCaps *filter, const GstGemmclSettings *settings, gsize k,
                guint channels)
{
  const guint sizes[] = {settings->patch_width, settings->patch_height};
  gint64 least[2];
  GstStructure *structure;

  if (k != (gsize)sizes[0] * sizes[1] * channels)
    return;
  for (guint i = 0; i < 2; i++) {
    least[i] = (gint64)settings->patch_dilation * (sizes[i] - 1) + 1 - 2 * settings->patch_padding;
    least[i] = MAX (least[i], 1);
    if (least[i] >= MAX_SIDE)
      return;
  }
  if (!(structure = append_formats (result, channels)))
    return;
  gst_structure_set (structure, "width", GST_TYPE_INT_RANGE, (gint)least[0], MAX_SIDE, "height",
                     GST_TYPE_INT_RANGE, (gint)least[1], MAX_SIDE, NULL);
  if (!fits (filter, structure))
    gst_caps_remove_structure (result, gst_caps_get_size (result) - 1);
}

typedef struct {
  gint width, height;
} Size;

static gboolean
allows_size (const GstCaps *filter, const GstStructure *video, Size size)
{
  g_autoptr (GstStructure) sized = gst_structure_copy (video);

  gst_structure_set (sized, "width", G_TYPE_INT, size.width, "height", G_TYPE_INT, size.height,
                     NULL);
  return fits (filter, sized);
}

/* Squares come first, then sizes in the order of their distance to 4:3. */
static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  const Size *sizes[] = {a, b};
  gdouble distance[2];

  for (guint i = 0; i < 2; i++) {
    const Size *size = sizes[i];

    distance[i] = size->width == size->height
                      ? -1.0
                      : fabs (log2 (3.0 * size->width) - log2 (4.0 * size->height));
  }
  return (distance[0] > distance[1]) - (distance[0] < distance[1]);
}

/* Returns: (transfer full): the sizes of frames of @pixels that @filter allows for @video, the best
 * first. */
static GArray *
list_sizes (gsize pixels, const GstCaps *filter, const GstStructure *video)
{
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (Size));

  if (pixels > (gsize)MAX_SIDE * MAX_SIDE)
    return sizes;
  for (gsize side = (pixels + MAX_SIDE - 1) / MAX_SIDE; side * side <= pixels; side++) {
    const Size wide = {(gint)(pixels / side), (gint)side}, high = {wide.height, wide.width};

    if (pixels % side > 0)
      continue;
    if (allows_size (filter, video, wide))
      g_array_append_val (sizes, wide);
    if (wide.width > wide.height && allows_size (filter, video, high))
      g_array_append_val (sizes, high);
  }
  g_array_sort (sizes, compare_sizes);
  return sizes;
}

static void
add_side (GValue *sides, gint side)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_INT);
  g_value_set_int (&value, side);
  gst_value_list_append_and_take_value (sides, &value);
}

/* Appends frames of @channels with the number of @pixels: the best size that @filter allows, then
 * lists of all widths and heights. A structure for each size would make caps slow to compare. */
static void
append_frames (GstCaps *result, const GstCaps *filter, gsize pixels, guint channels)
{
  g_autoptr (GstStructure) video = gst_structure_new_empty (GST_GEMMCL_VIDEO_MEDIA);
  g_autoptr (GArray) sizes = list_sizes (pixels, filter, video);
  GValue widths = G_VALUE_INIT, heights = G_VALUE_INIT;
  const Size *best = (const Size *)sizes->data;
  GstStructure *structure;

  if (sizes->len == 0 || !(structure = append_formats (result, channels)))
    return;
  gst_structure_set (structure, "width", G_TYPE_INT, best->width, "height", G_TYPE_INT,
                     best->height, NULL);
  if (sizes->len == 1)
    return;
  gst_value_list_init (&widths, sizes->len);
  gst_value_list_init (&heights, sizes->len);
  for (guint i = 0; i < sizes->len; i++) {
    add_side (&widths, best[i].width);
    add_side (&heights, best[i].height);
  }
  structure = append_formats (result, channels);
  gst_structure_take_value (structure, "width", &widths);
  gst_structure_take_value (structure, "height", &heights);
}

/* The result that downstream takes: dimensions of a tensor without those of 1 behind the last. Of
 * rank 0 if downstream does not state them. */
static GstGemmclTensor
read_result (const GstStructure *output)
{
  const gchar *dimensions = gst_structure_get_string (output, "dimensions");
  const gchar *types = gst_structure_get_string (output, "types");
  GstGemmclTensors tensors;
  GstGemmclTensor *d = &tensors.tensor[0];

  if (!dimensions ||
      !gst_gemmcl_tensors_parse (&tensors, dimensions, types ? types : "float32", 0, NULL))
    return (GstGemmclTensor){.rank = 0};
  while (d->rank > 1 && d->dims[d->rank - 1] == 1)
    d->rank--;
  return *d;
}

/* Appends video whose pixels have @k channels, in the size that @d states, if @filter allows it. */
static void
append_pixels (GstCaps *result, const GstCaps *filter, const GstGemmclTensor *d, gsize k)
{
  GstStructure *video = append_formats (result, k);
  g_autoptr (GArray) sizes = NULL;
  gboolean allowed = TRUE;

  if (!video)
    return;
  if (d->rank > 2) {
    allowed = d->rank == 3 && MAX (d->dims[1], d->dims[2]) <= MAX_SIDE;
    gst_structure_set (video, "width", G_TYPE_INT, (gint)d->dims[1], "height", G_TYPE_INT,
                       (gint)d->dims[2], NULL);
  } else if (d->rank > 0) {
    /* N:M leaves the width open. */
    sizes = list_sizes (d->dims[1], filter, video);
    allowed = sizes->len > 0;
  }
  if (!allowed || !fits (filter, video))
    gst_caps_remove_structure (result, gst_caps_get_size (result) - 1);
}

/* Appends frames whose rows, or which as a whole, have @k elements, as @settings allow. */
static void
append_sized (GstCaps *result, const GstCaps *filter, const GstGemmclSettings *settings,
              const GstGemmclTensor *d, gsize k, guint channels)
{
  const gsize pixels = k / channels;
  GstStructure *structure;

  if (k % channels > 0)
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
  const GstGemmclTensor d = read_result (output);
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
      append_patched (result, filter, settings, k, i);
  if (filter && !gst_caps_is_empty (result))
    return result;
  for (guint i = 1; i <= MAX_CHANNELS; i++)
    /* Pixels of K channels already have any size. */
    if (i != k || !has_pixels)
      append_sized (result, filter, settings, &d, k, i);
  return result;
}
