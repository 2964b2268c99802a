/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/caps.h"

/* Returns: (transfer full): caps of any video and audio, which carriers may have. */
static GstCaps *
new_carriers (void)
{
  return gst_caps_from_string (GST_GEMMCL_VIDEO_MEDIA "(ANY); " GST_GEMMCL_AUDIO_MEDIA "(ANY)");
}

GstCaps *
gst_gemmcl_caps_new_pad_template (GstPadDirection direction)
{
  GstCaps *caps = gst_gemmcl_caps_new_template (direction);

#ifdef GEMMCL_HAVE_ANALYTICS
  if (direction == GST_PAD_SRC)
    caps = gst_caps_merge (caps, gst_gemmcl_caps_new_template (GST_PAD_SINK));
  gst_caps_append (caps, new_carriers ());
#endif
  return caps;
}

gboolean
gst_gemmcl_caps_read (const GstCaps *caps, const GstGemmclTerms *terms, GstGemmclFormat *format,
                      GstGemmclShape *shape, GError **error)
{
  return gst_gemmcl_input_from_caps (format, caps, &terms->settings, &terms->described, error) &&
         gst_gemmcl_shape_of_format (format, &terms->settings, terms->k, shape, error);
}

static gboolean
is_for_tensors (const GstGemmclSettings *settings)
{
  return gst_gemmcl_output_get_form (settings) == GST_GEMMCL_OUTPUT_TENSORS ||
         gst_gemmcl_output_get_form (settings) == GST_GEMMCL_OUTPUT_FLEXIBLE;
}

/* TRUE if the rows of D may be pixels of video. */
static gboolean
allows_video (const GstGemmclSettings *settings)
{
  return settings->gemm.row_outputs == 0 && !is_for_tensors (settings) &&
         !(settings->gemm.normalize & GEMMCL_NORMALIZE_D) &&
         settings->output_type == GST_GEMMCL_OUTPUT_TYPE_AUTO &&
         !gst_gemmcl_output_is_scaled (settings);
}

/* TRUE if pixels of video may stay pixels of the same frame. */
static gboolean
allows_pixel_mode (const GstGemmclSettings *settings)
{
  return allows_video (settings) && settings->gemm.pool == GEMMCL_POOL_NONE &&
         (settings->feature_mode == GST_GEMMCL_FEATURE_MODE_AUTO ||
          settings->feature_mode == GST_GEMMCL_FEATURE_MODE_PIXEL);
}

/* Appends video like @from in @formats, which it takes. Without formats it appends nothing. */
static void
append_video (GstCaps *result, const GstStructure *from, GValue *formats)
{
  GstStructure *structure;

  if (!G_IS_VALUE (formats))
    return;
  structure = gst_structure_copy (from);
  gst_structure_set_name (structure, GST_GEMMCL_VIDEO_MEDIA);
  /* The product changes colours; fixation chooses the new colorimetry. */
  gst_structure_remove_fields (structure, "colorimetry", "chroma-site", NULL);
  gst_structure_take_value (structure, "format", formats);
  gst_caps_append_structure (result, structure);
}

static void
append_audio (GstCaps *result, const GstStructure *from, gsize channels)
{
  GstStructure *structure = gst_structure_copy (from);

  gst_structure_remove_fields (structure, "channel-mask", "channels", NULL);
  if (channels > 0)
    gst_structure_set (structure, "channels", G_TYPE_INT, (gint)MIN (channels, G_MAXINT32), NULL);
  gst_caps_append_structure (result, structure);
}

/* TRUE if frames may become frames of another size: a pixel for each patch or window. */
static gboolean
allows_pictures (const GstGemmclSettings *settings)
{
  return allows_video (settings) &&
         (settings->gemm.pool != GEMMCL_POOL_NONE ||
          (settings->patch_width > 0 && (settings->feature_mode == GST_GEMMCL_FEATURE_MODE_AUTO ||
                                         settings->feature_mode == GST_GEMMCL_FEATURE_MODE_PATCH)));
}

static void
copy_framerate (GstStructure *to, const GstStructure *from)
{
  const GValue *framerate = gst_structure_get_value (from, "framerate");

  if (framerate)
    gst_structure_set_value (to, "framerate", framerate);
}

/* Appends tensors of any number and shape in @format. */
static void
append_any_tensors (GstCaps *result, const GstStructure *from, const gchar *format)
{
  GstStructure *structure =
      gst_structure_new (GST_GEMMCL_TENSORS_MEDIA, "format", G_TYPE_STRING, format, NULL);

  copy_framerate (structure, from);
  gst_caps_append_structure (result, structure);
}

/* Appends @video with its formats of eight bits or, with @deep, of more. */
static void
append_depth (GstCaps *result, const GstCaps *video, gboolean deep)
{
  for (guint i = 0; i < gst_caps_get_size (video); i++) {
    const GstStructure *structure = gst_caps_get_structure (video, i);
    const GValue *names = gst_structure_get_value (structure, "format");
    GValue formats = G_VALUE_INIT;
    const gchar *name;

    for (guint j = 0; (name = gst_gemmcl_values_get (names, j)); j++) {
      const GstVideoFormatInfo *info =
          gst_video_format_get_info (gst_video_format_from_string (name));

      if ((GST_VIDEO_FORMAT_INFO_DEPTH (info, 0) > 8) == deep)
        gst_gemmcl_values_add (&formats, g_strdup (name));
    }
    append_video (result, structure, &formats);
  }
}

/* @d: (out): a result of @input as a tensor, with @n elements for each row of A */
static void
get_result (const GstGemmclFormat *input, const GstGemmclShape *shape, gsize n, GstGemmclTensor *d)
{
  const GstGemmclTensor none = {.rank = 0};

  gst_gemmcl_shape_get_result (
      &shape->gemm, &shape->frame,
      input->medium == GST_GEMMCL_MEDIUM_TENSORS ? &input->tensors.tensor[input->index] : &none,
      shape->m, n, d);
}

/* Appends output tensors of @input if D or, in its place, row outputs are @d. Row outputs behind
 * D have the same outer dimensions. */
static void
append_result (GstCaps *result, const GstStructure *from, const GstGemmclSettings *settings,
               const GstGemmclFormat *input, const GstGemmclTensor *d)
{
  const guint n_rows = gemmcl_gemm_count_row_outputs (&settings->gemm);
  guint n_types;
  const GemmclType *types = gst_gemmcl_output_get_types (settings, &n_types);
  GstGemmclTensors tensors = input->tensors;
  GstStructure *structure;

  if (input->medium != GST_GEMMCL_MEDIUM_TENSORS)
    tensors.n = 1;
  tensors.flexible |= gst_gemmcl_output_get_form (settings) == GST_GEMMCL_OUTPUT_FLEXIBLE;
  tensors.tensor[input->index] = *d;
  if (n_rows > 0 && !gst_gemmcl_output_omits_d (settings) && tensors.n > 0) {
    tensors.tensor[tensors.n] = *d;
    tensors.tensor[tensors.n++].dims[0] = n_rows;
  }
  structure = gst_gemmcl_tensors_to_structure (&tensors, input->index, types, n_types);
  copy_framerate (structure, from);
  gst_caps_append_structure (result, structure);
}

/* Appends the output tensors of a known input: first with the outer dimensions of the input, which
 * a next convolution reads, then as the matrix N:M. */
static void
append_known_tensors (GstCaps *result, const GstStructure *from, const GstGemmclTerms *terms,
                      const GstGemmclFormat *input, const GstGemmclShape *shape)
{
  const gboolean makes_flexible =
      gst_gemmcl_output_get_form (&terms->settings) == GST_GEMMCL_OUTPUT_FLEXIBLE;
  const gsize rows = gst_gemmcl_count_results (&shape->gemm, shape->m);
  const gsize n = gst_gemmcl_output_count_columns (&terms->settings, terms->n);
  const GstGemmclTensor flat = {.type = GEMMCL_TYPE_F32, .rank = 2, .dims = {n, rows}};
  GstGemmclTensor d;

  /* Tensors that pass through would need headers. */
  if (makes_flexible && !input->tensors.flexible && input->tensors.n > 1)
    return;
  get_result (input, shape, n, &d);
  append_result (result, from, &terms->settings, input, &d);
  if (d.rank > 2 && rows <= G_MAXINT32 && !makes_flexible && !input->tensors.flexible)
    append_result (result, from, &terms->settings, input, &flat);
}

/* Sets the aspect of the pixels of @picture, which are windows of patches of @from. */
static void
set_aspect (GstStructure *picture, const GstStructure *from, const GstGemmclShape *shape)
{
  const GemmclFrame *frame = &shape->frame;
  const GemmclGemm *gemm = &shape->gemm;
  gsize width = 1, height = 1;
  gint num, den;

  if (!gst_structure_get_fraction (from, "pixel-aspect-ratio", &num, &den))
    return;
  if (frame->features == GEMMCL_FEATURE_PATCH && frame->patch_stride == 0) {
    width = frame->patch_width;
    height = frame->patch_height;
  }
  if (gemm->pool != GEMMCL_POOL_NONE) {
    width *= gemm->pool_stride_x ?: gemm->pool_width ?: gemm->pool_across;
    height *= gemm->pool_stride_y ?: gemm->pool_height ?: gemm->pool_down;
  }
  if (MAX (width, height) <= G_MAXINT &&
      gst_util_fraction_multiply (num, den, (gint)width, (gint)height, &num, &den))
    gst_structure_set (picture, "pixel-aspect-ratio", GST_TYPE_FRACTION, num, den, NULL);
}

/* Appends frames whose pixels are the rows of D, if N fits and D is a grid. @input: (nullable):
 * %NULL: the grid is not known */
static void
append_picture (GstCaps *result, const GstStructure *from, const GstGemmclTerms *terms,
                const GstGemmclFormat *input, const GstGemmclShape *shape)
{
  GValue formats = G_VALUE_INIT;
  GstStructure *picture;
  GstGemmclTensor d = {.rank = 0};

  if (input) {
    get_result (input, shape, terms->n, &d);
    if (input->varies || input->tensors.n > 1 || d.rank < 3 ||
        gst_gemmcl_tensor_count_dims (&d) > 3 || MAX (d.dims[1], d.dims[2]) > G_MAXUINT16)
      return;
  }
  gst_gemmcl_add_output_formats (&formats, gst_gemmcl_caps_get_first_format (from), terms->n);
  if (!G_IS_VALUE (&formats))
    return;
  picture = gst_structure_new_empty (GST_GEMMCL_VIDEO_MEDIA);
  gst_structure_take_value (picture, "format", &formats);
  if (input) {
    gst_structure_set (picture, "width", G_TYPE_INT, (gint)d.dims[1], "height", G_TYPE_INT,
                       (gint)d.dims[2], NULL);
    set_aspect (picture, from, shape);
  }
  copy_framerate (picture, from);
  gst_structure_set (picture, "interlace-mode", G_TYPE_STRING, "progressive", NULL);
  gst_caps_append_structure (result, picture);
}

/* Appends tensors from @input or, if that is %NULL, tensors of any shape. */
static void
append_tensors (GstCaps *result, const GstStructure *from, const GstGemmclTerms *terms,
                const GstGemmclFormat *input, const GstGemmclShape *shape, gboolean is_tensors)
{
  const gboolean makes_flexible =
      gst_gemmcl_output_get_form (&terms->settings) == GST_GEMMCL_OUTPUT_FLEXIBLE;

  if (input) {
    append_known_tensors (result, from, terms, input, shape);
    return;
  }
  if (!is_tensors || gst_gemmcl_caps_allow_format (from, "static"))
    append_any_tensors (result, from, makes_flexible ? "flexible" : "static");
  if (is_tensors && gst_gemmcl_caps_allow_format (from, "flexible"))
    append_any_tensors (result, from, "flexible");
}

/* From the sink pad to the source pad. @caps: one structure */
static void
transform_input (GstCaps *result, const GstCaps *caps, const GstGemmclTerms *terms)
{
  const GstGemmclSettings *settings = &terms->settings;
  const GstStructure *from = gst_caps_get_structure (caps, 0);
  const gboolean carried = gst_gemmcl_carriers_have (caps, 0, settings);
  const gboolean is_tensors = !carried && gst_structure_has_name (from, GST_GEMMCL_TENSORS_MEDIA);
  const gboolean is_video = !carried && gst_structure_has_name (from, GST_GEMMCL_VIDEO_MEDIA);
  const gboolean is_media = gst_gemmcl_output_get_form (settings) == GST_GEMMCL_OUTPUT_MEDIA;
  gboolean stays;
  GstGemmclFormat format;
  GstGemmclShape shape = {.m = 0};
  GValue formats = G_VALUE_INIT;
  const GstGemmclFormat *known =
      terms->k > 0 && gst_caps_is_fixed (caps) &&
              gst_gemmcl_input_from_caps (&format, caps, settings, &terms->described, NULL)
          ? &format
          : NULL;

  if (known && !gst_gemmcl_shape_of_format (&format, settings, terms->k, &shape, NULL))
    return;
  if (!carried && gst_structure_has_name (from, GST_GEMMCL_AUDIO_MEDIA)) {
    if (!is_for_tensors (settings))
      append_audio (result, from, terms->n);
    return;
  }
  stays = is_video && allows_pixel_mode (settings) && shape.frame.features == GEMMCL_FEATURE_PIXEL;
  /* Formats with N channels, beginning with the one nearest to the first input format. */
  if (stays)
    gst_gemmcl_add_output_formats (&formats, gst_gemmcl_caps_get_first_format (from), terms->n);
  append_video (result, from, &formats);
  if (!is_video || !is_media)
    append_tensors (result, from, terms, known, &shape, is_tensors);
  if (is_video ? allows_pictures (settings) && !(known && stays)
               : is_tensors && allows_video (settings) && !is_media)
    append_picture (result, from, terms, known, &shape);
}

/* Appends video whose output can be @from, video or tensors. Upstream takes the first format that
 * it has. Formats of eight bits come first: an output of eight bits does not show the finer steps
 * of P010_10LE. If the output has more bits (GRAY16_LE), deeper formats come first. */
static void
append_video_input (GstCaps *result, const GstStructure *from, const GstCaps *filter,
                    const GstGemmclTerms *terms)
{
  const gboolean stays = gst_structure_has_name (from, GST_GEMMCL_VIDEO_MEDIA);
  const gboolean deep = stays && gst_gemmcl_caps_allow_format (from, "GRAY16_LE") &&
                        !gst_gemmcl_caps_allow_format (from, "GRAY8");
  g_autoptr (GstCaps) video = gst_caps_new_empty ();
  GstGemmclSettings settings = terms->settings;
  GValue formats = G_VALUE_INIT;

  if (stays && allows_pixel_mode (&settings)) {
    gst_gemmcl_add_input_formats (&formats, terms->k);
    append_video (video, from, &formats);
  }
  if (stays && settings.gemm.pool == GEMMCL_POOL_NONE) /* rows and frames make no pictures */
    settings.feature_mode = GST_GEMMCL_FEATURE_MODE_PATCH;
  if (!stays || allows_pictures (&terms->settings))
    gst_caps_append (video, gst_gemmcl_new_fitting_video (filter, from, &settings, terms->k));
  for (guint i = 0; i < gst_caps_get_size (video); i++)
    copy_framerate (gst_caps_get_structure (video, i), from);
  append_depth (result, video, deep);
  append_depth (result, video, !deep);
}

/* From the source pad to the sink pad: appends the inputs whose output can be @caps. */
static void
transform_output (GstCaps *result, const GstCaps *caps, const GstCaps *filter,
                  const GstGemmclTerms *terms)
{
  const GstStructure *from = gst_caps_get_structure (caps, 0);
  g_autoptr (GstCaps) inputs = gst_caps_new_empty ();
  GstGemmclTerms any_k = *terms; /* without K, transform_input() assumes that any input fits */

  any_k.k = 0;
  if (gst_structure_has_name (from, GST_GEMMCL_VIDEO_MEDIA)) {
    append_video_input (inputs, from, filter, terms);
    append_any_tensors (inputs, from, "static");
  } else if (gst_structure_has_name (from, GST_GEMMCL_AUDIO_MEDIA)) {
    append_audio (inputs, from, terms->k);
  } else {
    append_any_tensors (inputs, from, "static");
    if (terms->settings.feature_mode <= GST_GEMMCL_FEATURE_MODE_PIXEL &&
        terms->settings.gemm.pool == GEMMCL_POOL_NONE)
      append_any_tensors (inputs, from, "flexible");
    append_video_input (inputs, from, filter, terms);
  }
  for (guint i = 0; i < gst_caps_get_size (inputs); i++) {
    g_autoptr (GstCaps) input = gst_caps_copy_nth (inputs, i), made = gst_caps_new_empty ();

    /* Other media of downstream may need the same input: a chain would multiply them. */
    if (gst_caps_is_subset (input, result))
      continue;
    transform_input (made, input, &any_k);
    if (gst_caps_can_intersect (made, caps))
      gst_caps_append (result, g_steal_pointer (&input));
  }
}

/* With output=meta, from the sink pad to the source pad. Adds the tensors to upstream's. */
static GstCaps *
transform_meta_input (const GstCaps *caps, const GstGemmclTerms *terms)
{
  const GstGemmclSettings *settings = &terms->settings;
  g_autofree gchar *rows_id = g_strconcat (settings->tensor_id, GST_GEMMCL_ROWS_SUFFIX, NULL);
  const guint n_rows = gemmcl_gemm_count_row_outputs (&terms->settings.gemm);
  GstCaps *result = gst_caps_new_empty ();
  guint n;

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstGemmclFormat format;
    GstGemmclShape shape;
    GstCaps *one;

    if (!gst_gemmcl_carriers_have (caps, i, settings) &&
        !gst_gemmcl_caps_are_supported (GST_PAD_SINK, caps, i))
      continue;
    one = gst_caps_copy_nth (caps, i);
    if (terms->k > 0 && gst_caps_is_fixed (one) &&
        gst_gemmcl_caps_read (one, terms, &format, &shape, NULL)) {
      GstStructure *structure = gst_caps_get_structure (one, 0);
      GstGemmclTensor tensor;

      if (!gst_gemmcl_output_omits_d (settings)) {
        get_result (&format, &shape, terms->n, &tensor);
        tensor.type = *gst_gemmcl_output_get_types (settings, &n);
        gst_gemmcl_carriers_announce (structure, settings->tensor_id, &tensor, format.varies);
      }
      if (n_rows > 0) {
        get_result (&format, &shape, n_rows, &tensor);
        gst_gemmcl_carriers_announce (structure, rows_id, &tensor, format.varies);
      }
    }
    gst_caps_append (result, one);
  }
  return result;
}

/* Transforms media and, from the sink pad, carriers. The pads' kinds of memory are independent. */
static GstCaps *
transform_each (GstPadDirection direction, const GstCaps *caps, const GstCaps *filter,
                const GstGemmclTerms *terms)
{
  g_autoptr (GstCaps) plain = gst_caps_new_empty (), result = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    if (direction == GST_PAD_SINK && gst_gemmcl_carriers_have (caps, i, &terms->settings)) {
      g_autoptr (GstCaps) carrier = gst_caps_copy_nth (caps, i);

      transform_input (result, carrier, terms);
    } else if (gst_gemmcl_caps_are_supported (direction, caps, i)) {
      /* A format in several memories counts once. */
      plain = gst_caps_merge_structure (plain,
                                        gst_gemmcl_drm_to_plain (gst_caps_get_structure (caps, i)));
    }
  }
  for (guint i = 0; i < gst_caps_get_size (plain); i++) {
    g_autoptr (GstCaps) medium = gst_caps_copy_nth (plain, i);

    if (direction == GST_PAD_SINK)
      transform_input (result, medium, terms);
    else
      transform_output (result, medium, filter, terms);
  }
  if (direction == GST_PAD_SRC)
    return gst_gemmcl_caps_spread (result, GST_PAD_SINK);
  return terms->several ? g_steal_pointer (&result) : gst_gemmcl_caps_spread (result, GST_PAD_SRC);
}

/* From tensors of the source pad to carriers on the sink pad. */
static GstCaps *
transform_to_carriers (const GstCaps *caps)
{
  GstCaps *result = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const GstStructure *tensors = gst_caps_get_structure (caps, i);
    GstCaps *carriers;

    if (!gst_structure_has_name (tensors, GST_GEMMCL_TENSORS_MEDIA))
      continue;
    carriers = new_carriers ();
    copy_framerate (gst_caps_get_structure (carriers, 0), tensors);
    gst_caps_append (result, carriers);
  }
  return result;
}

/* With output=meta, from the source pad to the sink pad: caps that fit K, without the tensors that
 * downstream expects: the element makes them, not upstream. */
static GstCaps *
transform_meta_output (const GstCaps *caps, const GstCaps *filter, const GstGemmclTerms *terms)
{
  g_autoptr (GstCaps) plain = gst_caps_copy (caps), both = NULL, all = NULL;
  g_autoptr (GstCaps) outputs = gst_gemmcl_caps_new_template (GST_PAD_SRC);
  GstGemmclTerms any_n = *terms;

  for (guint i = 0; i < gst_caps_get_size (plain); i++)
    gst_structure_remove_field (gst_caps_get_structure (plain, i), "tensors");
  any_n.n = 0;
  /* Frames pass, so downstream limits them as upstream does. */
  both = filter ? gst_caps_intersect ((GstCaps *)filter, plain) : gst_caps_ref (plain);
  all = gst_gemmcl_carriers_are_set (&terms->settings)
            ? new_carriers ()
            : transform_each (GST_PAD_SRC, outputs, both, &any_n);
  return gst_caps_intersect_full (all, plain, GST_CAPS_INTERSECT_FIRST);
}

GstCaps *
gst_gemmcl_caps_transform (GstPadDirection direction, const GstCaps *caps, const GstCaps *filter,
                           const GstGemmclTerms *terms)
{
  const gboolean is_meta = gst_gemmcl_output_is_meta (&terms->settings);
  g_autoptr (GstCaps) result = NULL, everything = NULL;

  if (gst_caps_is_any (caps) && !(is_meta && direction == GST_PAD_SRC))
    caps = everything = gst_gemmcl_caps_new_template (direction);
  if (is_meta)
    result = direction == GST_PAD_SRC ? transform_meta_output (caps, filter, terms)
                                      : transform_meta_input (caps, terms);
  else if (direction == GST_PAD_SRC && gst_gemmcl_carriers_are_set (&terms->settings))
    result = transform_to_carriers (caps);
  else
    result = transform_each (direction, caps, filter, terms);
  if (!filter)
    return g_steal_pointer (&result);
  return gst_caps_intersect_full ((GstCaps *)filter, result, GST_CAPS_INTERSECT_FIRST);
}

/* Returns: (transfer full): the caps in @filter, of upstream, that are carriers because they
 * announce tensors, if their output can have @caps, of the source pad. */
static GstCaps *
transform_announced (const GstCaps *caps, const GstCaps *filter, const GstGemmclTerms *terms)
{
  g_autoptr (GstCaps) announced = gst_caps_new_empty ();
  GstGemmclTerms carried = *terms;

  carried.settings.input = GST_GEMMCL_INPUT_META;
  for (guint i = 0; i < gst_caps_get_size (filter); i++)
    if (gst_gemmcl_carriers_have (filter, i, &terms->settings))
      gst_caps_append (announced, gst_caps_copy_nth (filter, i));
  return gst_gemmcl_caps_transform (GST_PAD_SRC, caps, announced, &carried);
}

GstCaps *
gst_gemmcl_caps_transform_leniently (GstPadDirection direction, const GstCaps *caps,
                                     const GstCaps *filter, const GstGemmclTerms *terms)
{
  const GstGemmclSettings *settings = &terms->settings;
  const gboolean is_meta = gst_gemmcl_output_is_meta (settings);
  GstGemmclTerms fewer = *terms;
  GstCaps *result = gst_gemmcl_caps_transform (direction, caps, filter, terms);

  if (direction == GST_PAD_SRC && filter && !gst_gemmcl_carriers_are_set (settings))
    result = gst_caps_merge (result, transform_announced (caps, filter, terms));
  /* First ignores N and downstream's caps, or the output mode, so that the error can use all other
   * settings. Then ignores all settings but those of metadata. */
  for (guint i = 0; gst_caps_is_empty (result) && i < 2; i++) {
    if (direction == GST_PAD_SRC) {
      caps = GST_CAPS_ANY;
      fewer.n = 0;
    } else if (!is_meta) {
      fewer.settings.output = GST_GEMMCL_OUTPUT_AUTO;
    }
    if (i == 1)
      fewer = (GstGemmclTerms){
          .settings = {.input = settings->input,
                       .input_tensor_id = settings->input_tensor_id,
                       .output = is_meta ? GST_GEMMCL_OUTPUT_META : GST_GEMMCL_OUTPUT_AUTO,
                       .tensor_id = settings->tensor_id},
          .several = terms->several};
    gst_caps_unref (result);
    result = gst_gemmcl_caps_transform (direction, caps, filter, &fewer);
  }
  return result;
}
