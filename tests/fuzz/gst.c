/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

#include "element/labels.h"
#include "element/tensors.h"
#include "memory/memory-caps.h"

#include <string.h>

static void
start_gst (void)
{
  if (!gst_is_initialized ())
    gst_init (NULL, NULL);
}

/* Asserts that each spelling of @tensors in caps parses to the same tensors. */
static void
check_same (const GstGemmclTensors *tensors)
{
  const GemmclType type = tensors->tensor[0].type;
  g_autoptr (GstStructure) caps = gst_gemmcl_tensors_to_structure (tensors, 0, &type, 1);
  const GValue *dims = gst_structure_get_value (caps, "dimensions");
  const gchar *types = gst_gemmcl_values_get (gst_structure_get_value (caps, "types"), 0), *text;

  for (guint i = 0; (text = gst_gemmcl_values_get (dims, i)); i++) {
    GstGemmclTensors read;

    g_assert_true (gst_gemmcl_tensors_parse (&read, text, types, tensors->n, NULL));
    for (guint j = 0; j < tensors->n; j++) {
      g_assert_cmpint (read.tensor[j].type, ==, tensors->tensor[j].type);
      g_assert_cmpmem (read.tensor[j].dims, sizeof read.tensor[j].dims, tensors->tensor[j].dims,
                       sizeof tensors->tensor[j].dims);
    }
  }
}

/* gst_gemmcl_tensors_parse(): a line with dimensions, one with types. Strings are UTF-8. */
void
fuzz_tensors (const guint8 *data, gsize size)
{
  g_autofree gchar *input = FUZZ_TEXT (data, size);
  g_autofree gchar *text = g_utf8_make_valid (input, -1);
  gchar *types = strchr (text, '\n');
  GstGemmclTensors tensors;
  g_autoptr (GError) error = NULL;
  gboolean read;

  start_gst ();
  if (types != NULL)
    *types++ = '\0';
  read = gst_gemmcl_tensors_parse (&tensors, text, types ? types : "float32", 0, &error);
  fuzz_check_error (!read, error);
  if (!read)
    return;
  for (guint i = 0; i < tensors.n; i++) {
    gsize m, k;

    gst_gemmcl_tensor_get_shape (&tensors.tensor[i], &m, &k);
    g_assert_cmpuint (gst_gemmcl_tensor_get_size (&tensors.tensor[i]), ==,
                      m * k * gemmcl_type_get_size (tensors.tensor[i].type));
  }
  check_same (&tensors);
}

/* gst_gemmcl_tensors_locate(): a buffer of flexible tensors in one memory. */
void
fuzz_flexible (const guint8 *data, gsize size)
{
  const GstGemmclTensors tensors = {.flexible = TRUE};
  g_autoptr (GstBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;
  GstGemmclPlaces places = {.n = 0};
  GstGemmclTensor tensor;
  gsize end = 0;

  start_gst ();
  buffer = gst_buffer_new_allocate (NULL, size, NULL);
  gst_buffer_fill (buffer, 0, data, size);
  if (!gst_gemmcl_tensors_locate (&tensors, 0, buffer, &places, &tensor, &error))
    places.n = 0;
  fuzz_check_error (places.n == 0, error);
  for (guint i = 0; i < places.n; i++) {
    g_assert_true (gst_gemmcl_tensors_locate (&tensors, i, buffer, &places, &tensor, NULL));
    g_assert_cmpuint (places.at[i], ==, end);
    end += GST_GEMMCL_HEADER_SIZE + gst_gemmcl_tensor_get_size (&tensor);
    g_assert_cmpuint (places.at[i + 1], ==, end);
  }
  g_assert_cmpuint (end, ==, places.n > 0 ? size : 0);
}

/* Loads labels from @text; or checks the error. @size: the bytes that they were read from. */
static void
load_labels (const gchar *text, gsize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) labels = gst_gemmcl_labels_load (text, &error);
  gsize used = 0;

  fuzz_check_error (labels == NULL, error);
  g_assert_true (labels == NULL || labels->len > 0);
  for (guint i = 0; labels != NULL && i < labels->len; i++) {
    const gchar *label = g_ptr_array_index (labels, i);
    const gsize length = strlen (label);

    g_assert_true (length > 0 && g_utf8_validate (label, length, NULL));
    g_assert_false (g_ascii_isspace (label[0]) || g_ascii_isspace (label[length - 1]));
    used += length + 1;
  }
  g_assert_cmpuint (used, <=, size + 1);
}

/* gst_gemmcl_labels_load(): a file, and a list. */
void
fuzz_labels (const guint8 *data, gsize size)
{
  g_autofree gchar *text = FUZZ_TEXT (data, size);

  load_labels (fuzz_write_file ("labels", data, size), size);
  if (*text == '[')
    load_labels (text, size);
}
