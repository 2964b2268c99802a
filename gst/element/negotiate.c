/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/negotiate.h"

#include "element/element.h"
#include "element/plans.h"
#include "memory/imports.h"
#include "memory/va.h"

/* Warnings that are posted once. */
enum {
  WARNED_OF_SURFACES = 1 << 0,
  WARNED_OF_STRINGS = 1 << 1,
};

/* Posts a warning once: the element that fails later only reports "not negotiated". */
static void
warn_once (GstGemmcl *self, guint warning, const gchar *text, const GError *reason)
{
  if (!(g_atomic_int_or (&self->stream.warnings, warning) & warning))
    gst_gemmcl_post (self, GST_MESSAGE_WARNING, text, reason);
}

static gboolean
refuse_memory (GError **error)
{
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "VA surfaces, and results in OpenCL memory, belong to one device, but "
                          "devices selects several. Expected frames and results in system memory.");
}

/* Takes @caps of the sink pad. Returns: those that the device can read; without a device, @caps. */
static GstCaps *
offer (GstGemmcl *self, GstCaps *caps, gboolean several)
{
  g_autoptr (GemmclContext) context = gst_gemmcl_sharing_get_context (&self->sharing);
  const gboolean was_empty = gst_caps_is_empty (caps);
  g_autoptr (GError) reason = NULL;
  gboolean va;

  if (!context)
    return caps;
  va = several ? refuse_memory (&reason) : gst_gemmcl_va_check (&self->sharing, context, &reason);
  if (!va)
    GST_LOG_OBJECT (self, "no VA surfaces: %s", reason->message);
  caps = gst_gemmcl_caps_offer (caps, va, !several && gst_gemmcl_dmabuf_can_import (context));
  /* Upstream accepts only surfaces. */
  if (!was_empty && gst_caps_is_empty (caps))
    warn_once (self, WARNED_OF_SURFACES,
               "VA surfaces (video/x-raw(memory:VAMemory) or tiled dma-bufs) are not accepted.",
               reason);
  return caps;
}

static GstCaps *
transform_caps (GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  const GstGemmclTerms terms = gst_gemmcl_get_terms (self);
  const gboolean has_carriers = gst_gemmcl_carriers_are_set (&terms.settings);
  g_autoptr (GError) error = NULL;
  GstCaps *result;

  if (!gst_gemmcl_tensors_check_strings (filter, &error))
    warn_once (self, WARNED_OF_STRINGS, NULL, error);
  /* Passthrough would ask upstream for the tensors that downstream expects. */
  gst_base_transform_set_prefer_passthrough (trans, !gst_gemmcl_output_is_meta (&terms.settings) &&
                                                        !has_carriers);
  result = gst_gemmcl_caps_transform_leniently (direction, caps, filter, &terms);
  if (direction == GST_PAD_SRC && !has_carriers)
    result = offer (self, result, terms.several);
  GST_LOG_OBJECT (self, "%s %" GST_PTR_FORMAT " makes %" GST_PTR_FORMAT,
                  direction == GST_PAD_SINK ? "sink" : "src", caps, result);
  return result;
}

/* TRUE if the caps of downstream name OpenCL memory. Caps with any memory do not. */
static gboolean
downstream_wants_opencl (GstBaseTransform *trans)
{
  g_autoptr (GstCaps) caps = gst_pad_peer_query_caps (trans->srcpad, NULL);

  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    if (gst_gemmcl_caps_get_memory (caps, i) == GST_GEMMCL_MEMORY_OPENCL)
      return TRUE;
  return FALSE;
}

/* Sets the colorimetry of @output, whose format is fixed, as videoconvert does: primaries and
 * transfer are those of the input. Luma and chroma become colours of the full range; samples of
 * other inputs keep their range. */
static void
fixate_colours (const GstStructure *input, GstStructure *output)
{
  const GstVideoFormatInfo *from =
      gst_video_format_get_info (gst_gemmcl_caps_get_first_format (input));
  const GstVideoFormatInfo *to =
      gst_video_format_get_info (gst_gemmcl_caps_get_first_format (output));
  const gchar *text = gst_structure_get_string (input, "colorimetry");
  g_autofree gchar *wanted = NULL;
  GstVideoColorimetry colours;

  if (!text || !gst_video_colorimetry_from_string (&colours, text))
    return;
  if (GST_VIDEO_FORMAT_INFO_IS_YUV (from))
    colours.range = GST_VIDEO_COLOR_RANGE_0_255;
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (to))
    colours.matrix = GST_VIDEO_COLOR_MATRIX_RGB;
  else if (!GST_VIDEO_FORMAT_INFO_IS_GRAY (from))
    colours.matrix = GST_VIDEO_COLOR_MATRIX_BT601;
  wanted = gst_video_colorimetry_to_string (&colours);
  if (!wanted)
    return;
  if (gst_structure_has_field (output, "colorimetry"))
    gst_structure_fixate_field_string (output, "colorimetry", wanted);
  else
    gst_structure_set (output, "colorimetry", G_TYPE_STRING, wanted, NULL);
}

static void
fixate_video (const GstStructure *input, GstStructure *output)
{
  g_auto (GValue) formats = G_VALUE_INIT;
  const gchar *format;

  gst_gemmcl_add_output_formats (&formats, gst_gemmcl_caps_get_first_format (input), 0);
  for (guint i = 0; (format = gst_gemmcl_values_get (&formats, i)); i++)
    if (gst_gemmcl_caps_allow_format (output, format))
      gst_structure_set (output, "format", G_TYPE_STRING, format, NULL);
  /* An input without this field leaves the choice to downstream, whose range may begin near 0. */
  if (gst_structure_has_field (output, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction (output, "pixel-aspect-ratio", 1, 1);
  fixate_colours (input, output);
}

/* Two channels are left and right. More channels have GStreamer's fallback positions, if any. */
static void
fixate_audio (const GstStructure *input, GstStructure *output)
{
  guint64 mask = 0;
  gint in_channels = 0, channels = 0;

  if (!gst_structure_get_int (output, "channels", &channels) || channels < 2 ||
      gst_structure_has_field (output, "channel-mask"))
    return;
  gst_structure_get_int (input, "channels", &in_channels);
  if (in_channels != channels ||
      !gst_structure_get (input, "channel-mask", GST_TYPE_BITMASK, &mask, NULL))
    mask = gst_audio_channel_get_fallback_mask (channels);
  gst_structure_set (output, "channel-mask", GST_TYPE_BITMASK, mask, NULL);
}

/* Returns: the index of the structure to fixate. Structures of @medium are preferred, then
 * structures in the wanted memory, then the first one. */
static guint
choose_structure (const gchar *medium, const GstCaps *output, gboolean opencl)
{
  guint best = 0, best_points = 0;

  for (guint i = 0; i < gst_caps_get_size (output); i++) {
    const GstStructure *structure = gst_caps_get_structure (output, i);
    const gboolean same = gst_structure_has_name (structure, medium);
    const guint points =
        1 + 2 * same +
        ((gst_gemmcl_caps_get_memory (output, i) == GST_GEMMCL_MEMORY_OPENCL) == opencl);

    if (points > best_points) {
      best = i;
      best_points = points;
    }
  }
  return best;
}

/* @input: fixed caps of the sink pad. @output: (transfer full): not empty. Chooses the medium that
 * gst_gemmcl_caps_transform() names first, and OpenCL memory if @opencl, if @output has them, and
 * the format nearest to that of @input. Returns: (transfer full): fixed caps. */
static GstCaps *
fixate (const GstCaps *input, GstCaps *output, gboolean opencl, const GstGemmclTerms *terms)
{
  g_autoptr (GstStructure) from = gst_gemmcl_drm_to_plain (gst_caps_get_structure (input, 0));
  g_autoptr (GstCaps) all = gst_gemmcl_caps_transform_leniently (GST_PAD_SINK, input, NULL, terms);
  const gchar *medium = gst_structure_get_name (gst_caps_get_structure (all, 0));
  GstCaps *result = gst_caps_copy_nth (output, choose_structure (medium, output, opencl));
  GstStructure *structure = gst_caps_get_structure (result, 0);

  if (gst_structure_has_name (structure, GST_GEMMCL_VIDEO_MEDIA))
    fixate_video (from, structure);
  else if (gst_structure_has_name (structure, GST_GEMMCL_AUDIO_MEDIA))
    fixate_audio (from, structure);
  gst_structure_fixate (structure);
  gst_caps_unref (output);
  return result;
}

static GstCaps *
fixate_caps (GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps, GstCaps *othercaps)
{
  const GstGemmclTerms terms = gst_gemmcl_get_terms (GST_GEMMCL (trans));

  if (direction == GST_PAD_SRC || gst_caps_is_empty (othercaps) ||
      gst_gemmcl_output_is_meta (&GST_GEMMCL (trans)->stream.settings))
    return gst_caps_fixate (othercaps);
  /* The base class does not ask downstream about fixed caps, which may lack a field. */
  if (gst_caps_is_fixed (othercaps)) {
    g_autoptr (GstCaps) peer = gst_pad_peer_query_caps (trans->srcpad, othercaps);
    g_autoptr (GstCaps) both = gst_caps_intersect_full (othercaps, peer, GST_CAPS_INTERSECT_FIRST);

    if (!gst_caps_is_empty (both))
      gst_caps_replace (&othercaps, both);
  }
  return fixate (caps, othercaps, downstream_wants_opencl (trans), &terms);
}

/* Returns: the duration of a buffer; 0 if caps do not state it. */
static GstClockTime
get_frame_duration (const GstGemmclFormat *format, const GstCaps *caps)
{
  gint num = 0, den = 1;

  if (format->medium == GST_GEMMCL_MEDIUM_AUDIO ||
      !gst_structure_get_fraction (gst_caps_get_structure (caps, 0), "framerate", &num, &den) ||
      num <= 0)
    return 0;
  return gst_util_uint64_scale (GST_SECOND, den, num);
}

/* Returns: an error that says what the property output needs. */
static GError *
refuse_mode (const GstGemmclTerms *terms)
{
  static const gchar *const needs[] = {
      [GST_GEMMCL_OUTPUT_MEDIA] = "media, but media of video needs feature-mode=pixel or patch, a "
                                  "weight with N = 1, 3 or 4, output-type=auto, output-scale=1, "
                                  "output-offset=0, no row-outputs and no normalize=output",
      [GST_GEMMCL_OUTPUT_TENSORS] = "tensors, which needs video or tensors, not audio",
      [GST_GEMMCL_OUTPUT_FLEXIBLE] = "flexible, which needs video, flexible tensors or a single "
                                     "static tensor, not audio or several static tensors",
  };

  return g_error_new (GEMMCL_ERROR, GEMMCL_ERROR_SHAPE,
                      "output=%s%s. The input, the settings or N = %zu do not fit that. Expected "
                      "such an input and settings, or output=auto or meta.",
                      gst_gemmcl_output_omits_d (&terms->settings) ? "rows, as " : "",
                      needs[gst_gemmcl_output_get_form (&terms->settings)], terms->n);
}

/* @output: (out): the format of the output. With output=meta, @outcaps are those of the input. */
static gboolean
get_output_format (GstGemmclFormat *output, const GstGemmclFormat *input, const GstCaps *outcaps,
                   const GstGemmclTerms *terms, GError **error)
{
  const GstGemmclOutputMode mode = gst_gemmcl_output_get_form (&terms->settings);
  const GstStructure *structure = gst_caps_get_structure (outcaps, 0);
  guint n;
  const GemmclType *types = gst_gemmcl_output_get_types (&terms->settings, &n);

  if (mode == GST_GEMMCL_OUTPUT_META) {
    *output =
        (GstGemmclFormat){.memory = GST_GEMMCL_MEMORY_SYSTEM, .medium = GST_GEMMCL_MEDIUM_TENSORS};
    output->tensors.tensor[0].type = types[0];
    return TRUE;
  }
  if (!gst_gemmcl_format_from_caps (output, outcaps, error))
    return FALSE;
  output->index = input->index;
  if (output->tensors.flexible)
    output->tensors.tensor[output->index].type = types[0];
  if (output->tensors.flexible && gst_structure_has_field (structure, "dimensions"))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "Downstream expects flexible tensors with dimensions in caps, but "
                            "their dimensions are in buffers. Expected caps with format=flexible "
                            "and no dimensions.");
  if ((mode != GST_GEMMCL_OUTPUT_MEDIA || output->medium == input->medium) &&
      (mode != GST_GEMMCL_OUTPUT_FLEXIBLE || output->tensors.flexible) &&
      (mode != GST_GEMMCL_OUTPUT_TENSORS || output->medium == GST_GEMMCL_MEDIUM_TENSORS))
    return TRUE;
  g_propagate_error (error, refuse_mode (terms));
  return FALSE;
}

/* Reads the formats of both pads, the input first: if it does not fit, @outcaps are a guess. */
static gboolean
set_formats (GstGemmcl *self, GstCaps *incaps, GstCaps *outcaps, GError **error)
{
  const GstGemmclTerms terms = gst_gemmcl_get_terms (self);
  const GemmclFrame *last = &self->stream.input.frame;
  GstGemmclFormat input, output;
  GstGemmclShape shape;

  if (!gst_gemmcl_caps_read (incaps, &terms, &input, &shape, error) ||
      !get_output_format (&output, &input, outcaps, &terms, error))
    return FALSE;
  /* Several devices read copies, not the dma-buf. */
  if (terms.several && input.memory == GST_GEMMCL_MEMORY_DMABUF)
    input.memory = GST_GEMMCL_MEMORY_SYSTEM;
  /* Caps lack left and top. input.c has read them from the buffer that is being negotiated for. */
  if (input.frame.format == last->format && input.frame.interlaced == last->interlaced) {
    input.frame.left = last->left;
    input.frame.top = last->top;
  }
  g_mutex_lock (&self->lock);
  self->stream.input = input;
  self->stream.output = output;
  self->stream.frame_duration = get_frame_duration (&input, incaps);
  self->stream.negotiating = TRUE;
  g_mutex_unlock (&self->lock);
  return !gst_gemmcl_memory_is_surface (input.memory) ||
         gst_gemmcl_va_check (&self->sharing, self->sharing.context, error);
}

/* Warns if A may exceed the range of f16, to which @plan rounds it nevertheless. */
static void
warn_of_infinities (GstGemmcl *self, GemmclPlan *plan)
{
  const gdouble largest = gst_gemmcl_problem_get_largest (&self->problem);
  GemmclPlanInfo info;

  gemmcl_plan_get_info (plan, &info);
  if (info.precision == GEMMCL_PRECISION_F16 && info.rounds_a && largest > GST_GEMMCL_LARGEST_F16)
    GST_ELEMENT_WARNING (
        self, STREAM, FORMAT,
        ("Elements of A may be as large as %.0f, but f16 holds at most %.0f; elements from 65520 "
         "on become infinite. Use input-scale, precision=auto or precision=bf16.",
         largest, GST_GEMMCL_LARGEST_F16),
        (NULL));
}

static gboolean
set_caps (GstBaseTransform *trans, GstCaps *incaps, GstCaps *outcaps)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  g_autoptr (GError) error = NULL;
  GemmclPlan *plan;
  gboolean ok;

  GST_DEBUG_OBJECT (self, "%" GST_PTR_FORMAT " to %" GST_PTR_FORMAT, incaps, outcaps);
  gst_gemmcl_runs_push_held (self);
  gst_gemmcl_run_reset_previous (&self->runs->last, self->devices->plan);
  ok = set_formats (self, incaps, outcaps, &error);
  if (ok && self->stream.input.tensors.flexible)
    gst_gemmcl_plan_drop (self); /* the first buffer describes A */
  else if (ok && (!self->described.fits_plan || self->needs_plan ||
                  !gst_gemmcl_problem_writes (&self->problem, &self->stream.output)))
    ok = gst_gemmcl_plan_make (self, 0, &error);
  plan = gst_gemmcl_devices_get_plan (self);
  g_mutex_lock (&self->lock);
  self->stream.configured = ok;
  self->stream.negotiating = FALSE;
  g_mutex_unlock (&self->lock);
  if (ok) {
    self->stream.error_posted = FALSE;
    self->stats.logged_copies = 0;
    if (plan)
      warn_of_infinities (self, plan);
    if (self->stream.settings.batch_size > 1)
      gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
    return TRUE;
  }
  if (!self->stream.error_posted)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  self->stream.error_posted = TRUE;
  return FALSE;
}

/* Returns: (transfer full): a text of @output, without the media that @peer does not take unless
 * none is left. */
static gchar *
quote_output (GstCaps *output, const GstCaps *peer)
{
  g_autoptr (GstCaps) media = gst_caps_new_empty (), both = NULL;

  for (guint i = 0; i < gst_caps_get_size (peer); i++)
    gst_caps_append_structure_full (
        media, gst_structure_new_empty (gst_structure_get_name (gst_caps_get_structure (peer, i))),
        gst_caps_features_new_any ());
  both = gst_caps_intersect_full (output, media, GST_CAPS_INTERSECT_FIRST);
  return gst_gemmcl_quote_caps (gst_caps_is_empty (both) ? output : both);
}

/* Returns: an error with the reason why @input, caps, cannot be negotiated; never NULL. */
static GError *
find_reason (GstGemmcl *self, GstCaps *input)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstGemmclTerms terms = gst_gemmcl_get_terms (self);
  g_autoptr (GstCaps) output = NULL, peer = NULL, opencl = NULL;
  g_autofree gchar *offered = NULL, *taken = NULL;
  GstGemmclFormat format;
  GstGemmclShape shape;
  GError *error = NULL;

  if (!gst_gemmcl_caps_read (input, &terms, &format, &shape, &error))
    return error;
  output = gst_gemmcl_caps_transform (GST_PAD_SINK, input, NULL, &terms);
  if (gst_caps_is_empty (output))
    return refuse_mode (&terms);
  peer = gst_pad_peer_query_caps (trans->srcpad, NULL);
  if (!gst_gemmcl_tensors_check_strings (peer, &error))
    return error;
  terms.several = FALSE;
  opencl = gst_gemmcl_caps_transform (GST_PAD_SINK, input, NULL, &terms);
  if (!gst_caps_can_intersect (output, peer) && gst_caps_can_intersect (opencl, peer)) {
    refuse_memory (&error);
    return error;
  }
  offered = quote_output (output, peer);
  taken = gst_gemmcl_quote_caps (peer);
  return g_error_new (
      GEMMCL_ERROR, GEMMCL_ERROR_SHAPE,
      "Downstream does not accept the output: N = %zu of the weight makes %s, but downstream "
      "expects %s. Pixels, patches and single static tensors of channels:width:height can leave "
      "as video of that size for N = 1 (GRAY8, GRAY16_LE), 3 (RGB, BGR, RGBx and so on) or 4 "
      "(RGBA, BGRA), audio stays audio, and all else leaves as tensors, static unless "
      "output=flexible. Use a weight of another N, another output or output-type, or an element "
      "downstream that accepts this output.",
      terms.n, offered, taken);
}

void
gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  g_autoptr (GError) error = NULL;

  if (self->stream.error_posted || GST_PAD_IS_FLUSHING (trans->srcpad) ||
      GST_PAD_IS_FLUSHING (trans->sinkpad))
    return;
  self->stream.error_posted = TRUE;
  if (input)
    error = find_reason (self, input);
  else
    error = g_error_new_literal (GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                                 "A buffer came before caps. Put a parser, a decoder or a caps "
                                 "filter before the element.");
  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
}

void
gst_gemmcl_negotiate_install (GstBaseTransformClass *klass)
{
  klass->transform_caps = transform_caps;
  klass->fixate_caps = fixate_caps;
  klass->set_caps = set_caps;
}
