/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The line of GEMMCL_VERBOSE=1 about a new plan, which gemmcl bench --replay reads
 * (tools/measure/replay.c) and docs/tuning.md describes.
 */
#include "plan/plan.h"

static void
add_name (GString *line, const gchar *key, const gchar *name)
{
  if (name != NULL)
    g_string_append_printf (line, ",%s=%s", key, name);
}

/* Adds a number other than 0. */
static void
add_number (GString *line, const gchar *key, gsize number)
{
  if (number != 0)
    g_string_append_printf (line, ",%s=%" G_GSIZE_FORMAT, key, number);
}

static void
add_type (GString *line, const gchar *key, GemmclType type)
{
  add_name (line, key, type != GEMMCL_TYPE_F32 ? gemmcl_type_get_name (type) : NULL);
}

static void
add_frame (GString *line, const gchar *key, const GemmclFrame *frame)
{
  if (frame != NULL)
    add_name (line, key,
              frame->channels > 0 ? "tensor" : gemmcl_pixel_format_get_name (frame->format));
}

static void
add_problem (GString *line, const GemmclGemm *gemm)
{
  static const gchar *const addends[] = {NULL, "matrix", "row", "output", "previous"};
  static const gchar *const pools[] = {NULL, "max", "average"};

  add_number (line, "m", gemm->m);
  add_number (line, "n", gemm->n);
  add_number (line, "k", gemm->k);
  add_number (line, "batch", gemm->batch > 1 ? gemm->batch : 0);
  add_name (line, "layout", gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR ? "col" : NULL);
  add_number (line, "trans_a", gemm->trans_a != FALSE);
  add_number (line, "trans_b", gemm->trans_b != FALSE);
  add_type (line, "a_type", gemm->a_type);
  add_type (line, "d_type", gemm->d_type);
  add_frame (line, "a_format", gemm->a_frame);
  add_frame (line, "d_format", gemm->d_frame);
  add_name (line, "addend", addends[gemm->addend]);
  add_number (line, "bias", gemm->bias != FALSE);
  add_name (line, "activation",
            gemm->activation != GEMMCL_ACTIVATION_NONE
                ? gemmcl_activation_get_name (gemm->activation)
                : NULL);
  add_name (line, "pool", pools[gemm->pool]);
  add_number (line, "normalize", gemm->normalize);
  add_number (line, "row_outputs", gemm->row_outputs);
  add_number (line, "omit_d", gemm->omit_d != FALSE);
}

void
gemmcl_plan_print (GemmclPlan *self, const GemmclGemm *gemm)
{
  g_autoptr (GString) line = NULL;
  g_autofree gchar *device = NULL;
  GemmclPlanInfo info;

  if (g_strcmp0 (g_getenv ("GEMMCL_VERBOSE"), "1") != 0)
    return;
  line = g_string_new ("gemmcl_plan");
  device = gemmcl_quote (gemmcl_context_get_device_info (self->context)->name);
  info = gemmcl_kernel_plan_get_info (self->current);
  add_problem (line, gemm);
  add_name (line, "precision", gemmcl_precision_get_name (info.precision));
  add_name (line, "kernel", self->current->name);
  add_name (line, "choice", gemmcl_choice_source_get_name (info.source));
  add_name (line, "device", device);
  g_printerr ("%s\n", line->str);
}
