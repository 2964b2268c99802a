/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa.h"

#include "output.h"

typedef enum { FIELD_UINT, FIELD_INT, FIELD_NUMBER } FieldKind;

typedef struct {
  const gchar *name;
  FieldKind kind;
  gsize offset;
} Field;

#define LOOP_UINT(name)                                                                            \
  {                                                                                                \
    #name, FIELD_UINT, G_STRUCT_OFFSET(IsaLoop, name)                                              \
  }
#define LOOP_NUMBER(name)                                                                          \
  {                                                                                                \
    #name, FIELD_NUMBER, G_STRUCT_OFFSET(IsaLoop, name)                                            \
  }

static const Field loop_fields[] = {{"parent", FIELD_INT, G_STRUCT_OFFSET (IsaLoop, parent)},
                                    LOOP_UINT (instructions),
                                    LOOP_UINT (multiply),
                                    LOOP_NUMBER (mads),
                                    LOOP_UINT (dpas),
                                    LOOP_NUMBER (dpas_macs),
                                    LOOP_UINT (moves),
                                    LOOP_UINT (integers),
                                    LOOP_UINT (floats),
                                    LOOP_UINT (loads),
                                    LOOP_NUMBER (load_bytes),
                                    LOOP_UINT (stores),
                                    LOOP_UINT (slm_loads),
                                    LOOP_NUMBER (slm_load_bytes),
                                    LOOP_UINT (slm_stores),
                                    LOOP_UINT (other_sends),
                                    LOOP_UINT (barriers),
                                    LOOP_UINT (control),
                                    LOOP_UINT (first),
                                    LOOP_UINT (last),
                                    {NULL, FIELD_UINT, 0}};

#define FIGURE_UINT(name)                                                                          \
  {                                                                                                \
    #name, FIELD_UINT, G_STRUCT_OFFSET(IsaFigures, name)                                           \
  }

static const Field figure_fields[] = {FIGURE_UINT (simd),
                                      FIGURE_UINT (registers),
                                      FIGURE_UINT (register_bytes),
                                      FIGURE_UINT (threads),
                                      FIGURE_UINT (slm),
                                      FIGURE_UINT (spill),
                                      FIGURE_UINT (private_memory),
                                      FIGURE_UINT (resource_loops),
                                      FIGURE_UINT (instructions),
                                      {"hot", FIELD_INT, G_STRUCT_OFFSET (IsaFigures, hot)},
                                      {NULL, FIELD_UINT, 0}};

static void
write_fields (json_t *object, const Field *fields, gconstpointer from)
{
  for (; fields->name != NULL; fields++) {
    gconstpointer at = (const gchar *)from + fields->offset;
    json_object_set_new (object, fields->name,
                         fields->kind == FIELD_UINT  ? json_integer (*(const guint *)at)
                         : fields->kind == FIELD_INT ? json_integer (*(const gint *)at)
                                                     : json_real (*(const gdouble *)at));
  }
}

static gboolean
read_fields (const json_t *object, const Field *fields, gpointer to)
{
  for (; fields->name != NULL; fields++) {
    const json_t *value = json_object_get (object, fields->name);
    gpointer at = (gchar *)to + fields->offset;

    if (fields->kind == FIELD_NUMBER ? !json_is_number (value) : !json_is_integer (value))
      return FALSE;
    if (fields->kind == FIELD_UINT)
      *(guint *)at = (guint)json_integer_value (value);
    else if (fields->kind == FIELD_INT)
      *(gint *)at = (gint)json_integer_value (value);
    else
      *(gdouble *)at = json_number_value (value);
  }
  return TRUE;
}

json_t *
isa_figures_to_json (const IsaFigures *figures)
{
  json_t *object = json_pack (
      "{s:o, s:s, s:o, s:o, s:o}", "kernel", tool_json_string (figures->kernel), "target",
      figures->target->name, "compiler", tool_json_string (figures->compiler), "options",
      tool_json_string (figures->options), "why_not", tool_json_string (figures->why_not));
  json_t *loops = json_array ();

  write_fields (object, figure_fields, figures);
  json_object_set_new (object, "density", json_real (isa_figures_get_density (figures)));
  json_object_set_new (object, "loops", loops);
  for (guint i = 0; i < figures->n_loops; i++) {
    json_t *loop = json_object ();
    write_fields (loop, loop_fields, &figures->loops[i]);
    json_array_append_new (loops, loop);
  }
  return object;
}

IsaFigures *
isa_figures_from_json (const json_t *json)
{
  g_autoptr (IsaFigures) figures = g_new0 (IsaFigures, 1);
  const json_t *loops = json_object_get (json, "loops");

  figures->kernel = g_strdup (json_string_value (json_object_get (json, "kernel")));
  figures->target = isa_target_find (json_string_value (json_object_get (json, "target")));
  figures->compiler = g_strdup (json_string_value (json_object_get (json, "compiler")));
  figures->options = g_strdup (json_string_value (json_object_get (json, "options")));
  figures->why_not = g_strdup (json_string_value (json_object_get (json, "why_not")));
  if (figures->kernel == NULL || figures->target == NULL || !json_is_array (loops) ||
      !read_fields (json, figure_fields, figures))
    return NULL;
  figures->n_loops = json_array_size (loops);
  figures->loops = g_new0 (IsaLoop, figures->n_loops);
  for (guint i = 0; i < figures->n_loops; i++)
    if (!read_fields (json_array_get (loops, i), loop_fields, &figures->loops[i]))
      return NULL;
  if (figures->hot < -1 || figures->hot >= (gint)figures->n_loops)
    return NULL;
  return g_steal_pointer (&figures);
}

gdouble
isa_figures_get_density (const IsaFigures *figures)
{
  const IsaLoop *loop;

  if (figures->hot < 0)
    return 0;
  loop = &figures->loops[figures->hot];
  return (loop->mads + loop->dpas) / loop->instructions;
}

void
isa_figures_free (IsaFigures *figures)
{
  g_free (figures->kernel);
  g_free (figures->compiler);
  g_free (figures->options);
  g_free (figures->why_not);
  g_free (figures->loops);
  g_free (figures);
}

#define ENGINES "cl_intel_subgroup_matrix_multiply_accumulate cl_intel_bfloat16_conversions"

const IsaTarget isa_targets[] = {{"bdw", "Broadwell (Gen8)", 32, ""},
                                 {"skl", "Skylake (Gen9)", 32, ""},
                                 {"icllp", "Ice Lake (Gen11)", 32, ""},
                                 {"tgllp", "Tiger Lake (Xe-LP)", 32, ""},
                                 {"dg1", "DG1 (Xe-LP)", 32, ""},
                                 {"dg2", "Arc A (Xe-HPG)", 32, ENGINES},
                                 {"mtl", "Meteor Lake (Xe-LPG)", 32, ""},
                                 {"arl-h", "Arrow Lake H (Xe-LPG+)", 32, ENGINES},
                                 {"pvc", "Max (Xe-HPC)", 64, ENGINES},
                                 {"lnl", "Lunar Lake (Xe2)", 64, ENGINES},
                                 {"bmg", "Arc B (Xe2)", 64, ENGINES},
                                 {"ptl", "Panther Lake (Xe3)", 64, ENGINES},
                                 {NULL}};

const IsaTarget *
isa_target_find (const gchar *name)
{
  for (const IsaTarget *target = isa_targets; target->name != NULL; target++)
    if (g_strcmp0 (target->name, name) == 0)
      return target;
  return NULL;
}
