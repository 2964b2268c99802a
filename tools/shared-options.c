/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared-options.h"

#include <CL/cl.h>
#include <math.h>
#include <string.h>

static GemmclDeviceQuery query;

GemmclGemm tool_gemm = GEMMCL_GEMM_INIT;

/* --precision, or an option of `choices`, was given. */
static gboolean has_precision, has_choice;

static gboolean
set_alpha (const gchar *option, const gchar *text, G_GNUC_UNUSED gpointer data, GError **error)
{
  return tool_parse_number (option, text, &tool_gemm.alpha, error);
}

const GOptionEntry tool_epilogue_entries[] = {
    TOOL_OPTION ("precision", tool_set_choice,
                 "Precision of the products: f32; f16, bf16 or tf32 with sums in f32; i8 with "
                 "scales (default: that of the named kernel, else f32)",
                 "f32|f16|bf16|tf32|i8"),
    TOOL_OPTION ("alpha", set_alpha, "Factor of the product A B (default: 1)", "NUMBER"),
    {"transpose-a", 0, 0, G_OPTION_ARG_NONE, &tool_gemm.trans_a, "A is stored transposed, K x M",
     NULL},
    {"transpose-b", 0, 0, G_OPTION_ARG_NONE, &tool_gemm.trans_b, "B is stored transposed, N x K",
     NULL},
    {NULL}};

gboolean
tool_has_gemm_options (void)
{
  static const GemmclGemm defaults = GEMMCL_GEMM_INIT;

  return has_choice || memcmp (&tool_gemm, &defaults, sizeof defaults) != 0;
}

const gchar *
tool_layout_get_name (GemmclLayout layout)
{
  return layout == GEMMCL_LAYOUT_COLUMN_MAJOR ? "col" : "row";
}

static const gchar *
normalize_get_name (GemmclNormalize normalize)
{
  static const gchar *const names[] = {"none", "input", "output", "input+output"};

  return names[normalize];
}

static const gchar *
row_output_get_name (guint bit)
{
  static const gchar *const names[] = {"sum", "max", "arg-max", "top-k"};

  return names[bit];
}

/* The options whose values are names, and the fields that they set. flags: the value is one or more
 * names with + between, each of them a bit. */
static const struct {
  const gchar *option;
  const gchar *(*get_name) (guint value);
  guint n;
  guint *field;
  gboolean flags;
} choices[] = {
    {"--precision", gemmcl_precision_get_name, GEMMCL_N_PRECISIONS, &tool_gemm.precision},
    {"--layout", tool_layout_get_name, 2, &tool_gemm.layout},
    {"--a-type", gemmcl_type_get_name, GEMMCL_N_TYPES, &tool_gemm.a_type},
    {"--activation", gemmcl_activation_get_name, GEMMCL_N_ACTIVATIONS, &tool_gemm.activation},
    {"--normalize", normalize_get_name, 4, &tool_gemm.normalize},
    {"--row-outputs", row_output_get_name, 4, &tool_gemm.row_outputs, TRUE},
};

gboolean
tool_set_choice (const gchar *option, const gchar *text, G_GNUC_UNUSED gpointer data,
                 GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL);
  g_auto (GStrv) parts = NULL;
  const gchar *wrong = *text == '\0' ? text : NULL;
  guint row = 0, value = 0, n;

  while (!g_str_equal (option, choices[row].option))
    row++;
  n = choices[row].n;
  has_choice = TRUE;
  has_precision |= choices[row].field == &tool_gemm.precision;
  parts = g_strsplit (text, "+", choices[row].flags ? -1 : 1);
  for (guint part = 0; parts[part] != NULL; part++) {
    guint i = 0;

    while (i < n && !g_str_equal (parts[part], choices[row].get_name (i)))
      i++;
    if (i == n && wrong == NULL)
      wrong = parts[part];
    value |= choices[row].flags ? 1u << i : i;
  }
  if (wrong == NULL) {
    *choices[row].field = value;
    return TRUE;
  }
  for (guint i = 0; i < n; i++)
    g_string_append_printf (names, "%s%s",
                            i == 0      ? ""
                            : i + 1 < n ? ", "
                                        : " or ",
                            choices[row].get_name (i));
  return tool_refuse (error, "%s takes %s%s, not \"%s\".", option, names->str,
                      choices[row].flags ? ", or several with + between them" : "", wrong);
}

/* word: the value of the element's device-type. article: the value in the article of L3_SLM in
 * kernels.def, from which the option comes. label: the name in tables. */
static const struct {
  const gchar *word;
  const gchar *article;
  const gchar *constant;
  guint64 value;
  GemmclDeviceType type;
  const gchar *label;
} device_types[] = {
    {"auto", "all", "CL_DEVICE_TYPE_ALL", CL_DEVICE_TYPE_ALL, GEMMCL_DEVICE_TYPE_AUTO, "other"},
    {"cpu", "cpu", "CL_DEVICE_TYPE_CPU", CL_DEVICE_TYPE_CPU, GEMMCL_DEVICE_TYPE_CPU, "CPU"},
    {"gpu", "gpu", "CL_DEVICE_TYPE_GPU", CL_DEVICE_TYPE_GPU, GEMMCL_DEVICE_TYPE_GPU, "GPU"},
    {"accelerator", "acc", "CL_DEVICE_TYPE_ACCELERATOR", CL_DEVICE_TYPE_ACCELERATOR,
     GEMMCL_DEVICE_TYPE_ACCELERATOR, "accelerator"},
    {"default", "default", "CL_DEVICE_TYPE_DEFAULT", CL_DEVICE_TYPE_DEFAULT,
     GEMMCL_DEVICE_TYPE_DEFAULT, "other"},
};

static gboolean
set_device_type (const gchar *option, const gchar *text, G_GNUC_UNUSED gpointer data,
                 GError **error)
{
  gchar *end = NULL;
  guint64 value = g_ascii_strtoull (text, &end, 0);
  gboolean is_number = g_ascii_isdigit (text[0]) && *end == '\0';

  for (guint i = 0; i < G_N_ELEMENTS (device_types); i++) {
    if (is_number ? value == device_types[i].value
                  : g_ascii_strcasecmp (text, device_types[i].word) == 0 ||
                        g_ascii_strcasecmp (text, device_types[i].article) == 0 ||
                        g_ascii_strcasecmp (text, device_types[i].constant) == 0) {
      query.type = device_types[i].type;
      return TRUE;
    }
  }
  return tool_refuse (error,
                      "%s takes auto, cpu, gpu, accelerator, default or the name or number of one "
                      "of OpenCL's constants for these, not \"%s\".",
                      option, text);
}

const GOptionEntry tool_device_entries[] = {
    {"platform", 'p', 0, G_OPTION_ARG_STRING, &query.platform,
     "OpenCL platform: its number, or a part of its name or vendor; auto: any (default: auto)",
     "NUMBER|NAME"},
    {"type", 't', 0, G_OPTION_ARG_CALLBACK, (gpointer)set_device_type,
     "Type of device: auto (any; Intel GPUs come first, then other GPUs, accelerators, CPUs), "
     "default (of each platform), or OpenCL's constant, such as CL_DEVICE_TYPE_GPU or 4 (default: "
     "auto)",
     "auto|cpu|gpu|accelerator|default"},
    {"device", 'd', 0, G_OPTION_ARG_STRING, &query.device,
     "The device: its number among those of -p and -t, or a part of its name, which may be a "
     "number that no device has, such as 4090; auto: the first (default: auto)",
     "NUMBER|NAME"},
    {NULL}};

const gchar *
tool_device_type_get_name (GemmclDeviceType type)
{
  for (guint i = 0; i < G_N_ELEMENTS (device_types); i++)
    if (device_types[i].type == type)
      return device_types[i].label;
  return "other";
}

GemmclContext *
tool_open_context (GError **error)
{
  GemmclContext *context = gemmcl_context_new (&query, error);
  g_autoptr (GPtrArray) devices = context != NULL ? gemmcl_list_devices (&query, NULL) : NULL;

  for (guint i = 0; devices != NULL && i < devices->len; i++) {
    const GemmclDeviceInfo *info = devices->pdata[i];
    if (info->problem != NULL)
      g_printerr ("gemmcl: A device was skipped. %s\n", info->problem);
  }
  return context;
}

void
tool_adopt_precision (GemmclGemm *gemm, const gchar *kernel)
{
  if (!has_precision)
    gemm->precision = tool_get_precision (kernel);
}

const GemmclKernelInfo *
tool_get_kernel_info (const gchar *kernel)
{
  const gsize length = kernel != NULL ? strcspn (kernel, "/") : 0;

  for (guint i = 0; i < gemmcl_get_n_kernels () && length > 0; i++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (i);
    if (strncmp (info->name, kernel, length) == 0 && info->name[length] == '\0')
      return info;
  }
  return NULL;
}

GemmclPrecision
tool_get_precision (const gchar *kernel)
{
  const GemmclKernelInfo *info = tool_get_kernel_info (kernel);

  return info != NULL ? info->precision : GEMMCL_PRECISION_F32;
}

gboolean
tool_parse_number (const gchar *option, const gchar *text, gdouble *number, GError **error)
{
  gchar *end = NULL;
  gdouble value = g_ascii_strtod (text, &end);

  if (end == text || *end != '\0' || !isfinite (value))
    return tool_refuse (error,
                        "%s takes a finite number with a decimal point, such as 0.5, not \"%s\".",
                        option, text);
  *number = value;
  return TRUE;
}

gboolean
tool_parse_positive (const gchar *option, const gchar *text, gdouble *number, GError **error)
{
  if (text == NULL)
    return TRUE;
  if (!tool_parse_number (option, text, number, error))
    return FALSE;
  return *number > 0.0 || tool_refuse (error, "%s takes more than 0, not %s.", option, text);
}

const gchar *
tool_find_kernel (const gchar *name, gboolean choosers, GError **error)
{
  static const gchar *const words[] = {"auto", "rules", NULL};
  /* gemm_naive may be called naive, as in the article of L3_SLM (kernels.def). */
  g_autofree gchar *prefixed = g_strconcat ("gemm_", name, NULL);
  g_autoptr (GError) why = NULL;

  if ((choosers && g_strv_contains (words, name)) || gemmcl_kernel_fits (NULL, name, NULL, &why))
    return g_intern_string (name);
  if (gemmcl_kernel_fits (NULL, prefixed, NULL, NULL))
    return g_intern_string (prefixed);
  tool_refuse (error, "%s", why->message);
  return NULL;
}

/* Names of several kernels, besides methods, in the order of their publication. */
static const struct {
  const gchar *name, *kernels;
} kernel_sets[] = {
    {"all", "*"},
    {"article", "gemm_naive,L3_SLM,L3_SIMD,block_read"},
    {"ladder", "gemm_naive,outputs,outputs_permuted,slm_4x4_16x16,slm_padded,slm_float4_4x4_16x16"},
};

static void
add_once (GPtrArray *found, const gchar *name)
{
  if (!g_ptr_array_find_with_equal_func (found, name, g_str_equal, NULL))
    g_ptr_array_add (found, (gpointer)name);
}

/* Appends the kernels that @name stands for. Returns: FALSE if it is unknown. */
static gboolean
add_kernels (GPtrArray *found, const gchar *name)
{
  gboolean known = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (kernel_sets); i++) {
    g_auto (GStrv) parts = g_strsplit (kernel_sets[i].kernels, ",", -1);

    for (guint j = 0; parts[j] != NULL && g_str_equal (name, kernel_sets[i].name); j++)
      known |= add_kernels (found, parts[j]);
  }
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (i);

    if (g_pattern_match_simple (name, info->name) || g_str_equal (name, info->method)) {
      add_once (found, info->name);
      known = TRUE;
    }
  }
  return known;
}

GPtrArray *
tool_list_kernels (const gchar *names, gboolean choosers, gboolean *has_sets, GError **error)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  g_auto (GStrv) asked = g_strsplit (*names != '\0' ? names : ",", ",", -1);
  gboolean sets = FALSE;

  for (guint i = 0; asked[i] != NULL; i++) {
    const gchar *name = tool_find_kernel (asked[i], choosers, NULL);

    if (name != NULL) {
      add_once (found, name);
      continue;
    }
    if (!add_kernels (found, asked[i])) {
      tool_find_kernel (asked[i], choosers, error);
      return NULL;
    }
    sets = TRUE;
  }
  if (has_sets != NULL)
    *has_sets = sets;
  return g_steal_pointer (&found);
}

gboolean
tool_parse_size (const gchar *text, gsize *size)
{
  guint64 number = 0;
  const gboolean ok = g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT32, &number, NULL);

  *size = number;
  return ok;
}

gboolean
tool_set_size (const gchar *option, const gchar *text, G_GNUC_UNUSED gpointer data, GError **error)
{
  const gchar which = option[strlen (option) - 1];
  gsize *size = which == 'M' || which == '1'   ? &tool_gemm.m
                : which == 'K' || which == '2' ? &tool_gemm.k
                                               : &tool_gemm.n;

  return tool_parse_size (text, size) ||
         tool_refuse (error, "%s takes a whole number from 1 to %d, not \"%s\".", option,
                      G_MAXINT32, text);
}

GArray *
tool_problems_new (gchar **arguments, const GemmclGemm *gemm, GError **error)
{
  g_autoptr (GArray) problems = g_array_new (FALSE, FALSE, sizeof (GemmclGemm));
  GemmclGemm problem = *gemm;

  for (guint i = 0; arguments[i] != NULL; i++) {
    g_auto (GStrv) sizes = g_strsplit_set (arguments[i], ",x", -1);

    if (g_strv_length (sizes) != 3 || !tool_parse_size (sizes[0], &problem.m) ||
        !tool_parse_size (sizes[1], &problem.n) || !tool_parse_size (sizes[2], &problem.k)) {
      tool_refuse (error,
                   "A problem is three whole numbers M,N,K, each from 1 to %d, such as "
                   "64,1024,1024; found \"%s\".",
                   G_MAXINT32, arguments[i]);
      return NULL;
    }
    g_array_append_val (problems, problem);
  }
  return g_steal_pointer (&problems);
}

gchar *
tool_problem_get_name (gsize m, gsize n, gsize k)
{
  return g_strdup_printf ("%zu x %zu x %zu", m, n, k);
}
