/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A network as a gst-launch line, and the file of its changed weights. */
#include "import/network.h"

#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>

#include "gemmcl.h"

/* A line, and the tensors of its file. */
typedef struct {
  GString *text;
  gchar *path; /* (nullable): the file */
  GPtrArray *matrices, *names;
} Line;

static void
line_clear (Line *self)
{
  if (self->text != NULL)
    g_string_free (self->text, TRUE);
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->matrices, g_ptr_array_unref);
  g_clear_pointer (&self->names, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Line, line_clear)

/* Adds the tensor in the quotes of the shell, which hands it on to the parser of gst-launch, where
 * a backslash makes the character behind it an ordinary one. */
static void
add_tensor (Line *self, const gchar *property, const gchar *path, const gchar *name)
{
  g_autofree gchar *place = model_name_tensor (path, name), *quoted = NULL;
  g_autoptr (GString) where = g_string_new (place);

  g_string_replace (where, "\\", "\\\\", 0);
  g_string_replace (where, "\"", "\\\"", 0);
  quoted = g_shell_quote (where->str);
  g_string_append_printf (self->text, " %s=%s", property, quoted);
}

static void
add_integer (Line *self, const gchar *property, gint64 value, gint64 otherwise)
{
  if (value != otherwise)
    g_string_append_printf (self->text, " %s=%" G_GINT64_FORMAT, property, value);
}

/* Adds two numbers, down and across, or one for both. */
static void
add_two (Line *self, const gchar *property, const gint64 *two)
{
  if (two[0] == two[1])
    add_integer (self, property, two[0], 0);
  else
    g_string_append_printf (self->text, " %s='[%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT "]'",
                            property, two[0], two[1]);
}

/* Adds a number, or a list if @n is more than 1; nothing if all are @otherwise. */
static void
add_numbers (Line *self, const gchar *property, const gdouble *values, gsize n, gdouble otherwise)
{
  gboolean is_needed = FALSE;

  for (gsize i = 0; i < n; i++)
    is_needed |= values[i] != otherwise;
  if (!is_needed)
    return;
  g_string_append_printf (self->text, " %s=%s", property, n > 1 ? "'<" : "");
  for (gsize i = 0; i < n; i++) {
    gchar number[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf (self->text, "%s%s", i > 0 ? "," : "",
                            g_ascii_formatd (number, sizeof number, "%.9g", values[i]));
  }
  g_string_append (self->text, n > 1 ? ">'" : "");
}

/* Adds a tensor of the file. */
static gboolean
add_values (Line *self, const gchar *property, guint index, const gdouble *values, gsize rows,
            gsize cols, GError **error)
{
  g_autofree gchar *name = g_strdup_printf ("layer%u.%s", index + 1, property);
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_new (GEMMCL_TYPE_F64, rows, cols, values, error);
  GemmclMatrix *floats = matrix != NULL ? gemmcl_matrix_to_f32 (matrix, FALSE, error) : NULL;

  if (floats == NULL)
    return FALSE;
  g_ptr_array_add (self->matrices, floats);
  add_tensor (self, property, self->path, name);
  g_ptr_array_add (self->names, g_steal_pointer (&name));
  return TRUE;
}

/* TRUE if gst-launch's parser reads the place of tensor @name back from the line. */
static gboolean
check_name (const Model *model, const OnnxNode *node, const gchar *path, const gchar *name,
            GError **error)
{
  g_autofree gchar *where = g_strconcat (path, "#", name, NULL);

  for (const gchar *at = where; *at != '\0'; at++)
    if (g_ascii_iscntrl (*at) || (*at == '\\' && at[1] == '\0')) {
      g_autofree gchar *quoted = gemmcl_quote (where);

      return model_fail (model, node, error,
                         "expected names of the file and the tensor without control characters, "
                         "and without a backslash at the end, since the line has them, found “%s”.",
                         quoted);
    }
  return TRUE;
}

static gboolean
add_weights (Line *self, const Network *network, guint index, GError **error)
{
  const Layer *layer = network->layers->pdata[index];
  const Model *model = network->model;
  g_autofree gchar *lower = g_ascii_strdown (model->path, -1);
  const gchar *weight, *bias;

  if (layer->b != NULL && self->path == NULL)
    return model_fail (model, layer->product, error,
                       "expected -o FOLDER, a folder for weights that are in another order or "
                       "multiplied by a normalization.");
  if (layer->b != NULL)
    return check_name (model, layer->product, self->path, "weight", error) &&
           add_values (self, "weight", index, layer->b, layer->k, layer->n, error) &&
           (layer->c == NULL || add_values (self, "bias", index, layer->c, 1, layer->n, error));
  if (!g_str_has_suffix (lower, ".onnx"))
    return model_fail (
        model, layer->product, error,
        "expected a model whose name ends in .onnx, since the line reads its weight. "
        "Rename the file.");
  weight = model_get_operand (model, layer->product, 1)->name;
  bias = layer->sum != NULL ? model_get_operand (model, layer->sum, layer->bias)->name : NULL;
  if (!check_name (model, layer->product, model->path, weight, error) ||
      (bias != NULL && !check_name (model, layer->sum, model->path, bias, error)))
    return FALSE;
  add_tensor (self, "weight", model->path, weight);
  if (layer->transposed)
    g_string_append (self->text, " transpose-weight=true");
  add_numbers (self, "alpha", &layer->alpha, 1, 1);
  if (bias != NULL) {
    add_tensor (self, layer->beta == 1 ? "bias" : "addend", model->path, bias);
    add_numbers (self, "beta", &layer->beta, 1, 1);
  }
  return TRUE;
}

static void
add_mode (Line *self, const Layer *layer)
{
  if (layer->mode == NULL)
    return;
  g_string_append_printf (self->text, " feature-mode=%s", layer->mode);
  if (g_str_equal (layer->mode, "pixel"))
    g_string_append (self->text, " output=tensors");
  if (!g_str_equal (layer->mode, "patch"))
    return;
  add_integer (self, "patch-width", layer->patch_width, 0);
  add_integer (self, "patch-height", layer->patch_height, 0);
  add_integer (self, "patch-stride", layer->stride, 0);
  add_integer (self, "patch-padding", layer->padding, 0);
  add_integer (self, "patch-dilation", layer->dilation, 1);
}

static gboolean
add_layer (Line *self, const Network *network, guint index, GError **error)
{
  const Layer *layer = network->layers->pdata[index];

  g_string_append (self->text, " \\\n    ! gemmcl");
  if (!add_weights (self, network, index, error))
    return FALSE;
  if (index == 0) {
    add_numbers (self, "input-scale", network->scale, network->n_scales, 1);
    add_numbers (self, "input-offset", network->offset, network->n_scales, 0);
  }
  add_mode (self, layer);
  if (layer->activation != NULL)
    g_string_append_printf (self->text, " activation=%s", layer->activation);
  if (layer->pool != NULL) {
    g_string_append_printf (self->text, " pool=%s", layer->pool);
    add_two (self, "pool-size", layer->pool_size);
    add_two (self, "pool-stride", layer->pool_stride);
  }
  if (layer->row_output != NULL)
    g_string_append_printf (self->text, " row-outputs=%s output=rows", layer->row_output);
  if (layer->top_k > 0)
    add_integer (self, "top-k", layer->top_k, 0);
  return TRUE;
}

/* Adds the source. Rows of frames are multiples of four bytes. */
static void
add_source (Line *self, const Network *network)
{
  const Image image = network->input;
  const gint64 stride = (image.channels * image.width + 3) / 4 * 4;

  if (network->is_video)
    g_string_append_printf (
        self->text,
        "gst-launch-1.0 filesrc location=input.u8 blocksize=%" G_GINT64_FORMAT " \\\n"
        "    ! video/x-raw,format=%s,width=%" G_GINT64_FORMAT ",height=%" G_GINT64_FORMAT
        ",framerate=0/1",
        stride * image.height, image.channels == 1 ? "GRAY8" : "RGB", image.width, image.height);
  else if (image.channels > 0)
    g_string_append_printf (
        self->text,
        "gst-launch-1.0 filesrc location=input.f32 blocksize=%" G_GINT64_FORMAT " \\\n"
        "    ! 'other/tensors,format=static,num_tensors=1,dimensions=(string)%" G_GINT64_FORMAT
        ":%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT ",types=(string)float32,framerate=0/1'",
        image.channels * image.width * image.height * 4, image.channels, image.width, image.height);
  else
    g_string_append_printf (
        self->text,
        "gst-launch-1.0 filesrc location=input.f32 blocksize=%" G_GINT64_FORMAT " \\\n"
        "    ! 'other/tensors,format=static,num_tensors=1,dimensions=(string)%" G_GINT64_FORMAT
        ":1,types=(string)float32,framerate=0/1'",
        network->k * 4, network->k);
}

/* The file in @folder with the name of the model. */
static gchar *
name_file (const gchar *model, const gchar *folder)
{
  g_autofree gchar *base = g_path_get_basename (model);
  g_autofree gchar *name = NULL;

  if (g_str_has_suffix (base, ".onnx"))
    base[strlen (base) - strlen (".onnx")] = '\0';
  name = g_strconcat (base, ".safetensors", NULL);
  return g_build_filename (folder, name, NULL);
}

static gboolean
save (const Line *self, const gchar *folder, GError **error)
{
  if (self->matrices->len == 0)
    return TRUE;
  if (g_mkdir_with_parents (folder, 0777) != 0)
    return tool_fail (error, "%s: Cannot make the folder: %s.", folder, g_strerror (errno));
  return gemmcl_matrix_save_tensors ((const GemmclMatrix *const *)self->matrices->pdata,
                                     (const gchar *const *)self->names->pdata, self->matrices->len,
                                     self->path, error);
}

gboolean
network_print (const Network *self, const gchar *folder, GError **error)
{
  g_auto (Line)
      line = {.text = g_string_new (NULL),
              .path = folder != NULL ? name_file (self->model->path, folder) : NULL,
              .matrices = g_ptr_array_new_with_free_func ((GDestroyNotify)gemmcl_matrix_unref),
              .names = g_ptr_array_new_with_free_func (g_free)};

  add_source (&line, self);
  for (guint i = 0; i < self->layers->len; i++)
    if (!add_layer (&line, self, i, error))
      return FALSE;
  if (!save (&line, folder, error))
    return FALSE;
  g_string_append (line.text, " \\\n    ! filesink location=output.f32\n");
  /* Names of files and tensors stay as they are in any locale. */
  fputs (line.text->str, stdout);
  if (self->is_input_nchw && self->input.channels > 1)
    g_printerr ("The line reads images as NHWC, the model as NCHW.\n");
  if (network_is_nhwc (self))
    g_printerr ("The line writes its result as NHWC, the model as NCHW.\n");
  return TRUE;
}
