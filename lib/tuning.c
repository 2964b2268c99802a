/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tuning.h"

#include "gemm.h"

/* Entries are of matrices, one at a time: of pixels, other kernels are the fastest. */
static gboolean
is_of_matrices (const GemmclGemm *gemm)
{
  return gemm->d_image == NULL && gemmcl_gemm_get_batch (gemm) == 1 &&
         (gemm->a_image == NULL || gemm->a_image->features != GEMMCL_FEATURE_PIXEL);
}

static gboolean
find_nearest (const json_t *entries, gboolean shipped, const GemmclDeviceInfo *device,
              const GemmclGemm *gemm, GemmclTuned *found)
{
  gdouble least = G_MAXDOUBLE;

  for (gsize i = 0; i < json_array_size (entries); i++) {
    GemmclTuned tuned;
    gdouble distance;

    if (!gemmcl_tuned_read (&tuned, json_array_get (entries, i), shipped, device))
      continue;
    distance = gemmcl_tuned_get_distance (&tuned, device, gemm);
    if (distance >= 0.0 && distance < least) {
      least = distance;
      *found = tuned;
    }
  }
  return least < G_MAXDOUBLE;
}

gboolean
gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm, GemmclTuned *found)
{
  g_autoptr (json_t) own = NULL;

  if (!is_of_matrices (gemm))
    return FALSE;
  own = gemmcl_tuning_file_load ();
  return find_nearest (own, FALSE, device, gemm, found) ||
         find_nearest (gemmcl_tuning_file_get_shipped (), TRUE, device, gemm, found);
}

gchar **
gemmcl_tuning_list_candidates (GemmclContext *context, const GemmclGemm *gemm)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GArray) choices = NULL;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), NULL);
  g_return_val_if_fail (gemm != NULL, NULL);

  choices = gemmcl_choice_list (gemmcl_context_get_device_info (context), gemm);
  for (guint i = 0; i < choices->len; i++) {
    const GemmclChoice *choice = &g_array_index (choices, GemmclChoice, i);
    g_ptr_array_add (names, g_strdup (gemmcl_choice_get_name (choice)));
  }
  g_ptr_array_add (names, NULL);
  return (gchar **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

typedef struct {
  const GemmclDeviceInfo *device;
  const GemmclTuned *tuned; /* takes the place of the others; NULL: nothing does */
} Change;

/* What is no entry at all goes, too. */
static gboolean
is_replaced (const json_t *entry, const Change *change)
{
  GemmclTuned old;

  if (!json_is_object (entry))
    return TRUE;
  if (change->tuned != NULL)
    return gemmcl_tuned_read (&old, entry, FALSE, change->device) &&
           gemmcl_tuned_is_same (&old, &change->tuned->gemm);
  return g_strcmp0 (json_string_value (json_object_get (entry, "device")), change->device->name) ==
         0;
}

static void
change_entries (json_t *entries, gpointer data)
{
  const Change *change = data;

  for (gsize i = json_array_size (entries); i-- > 0;)
    if (is_replaced (json_array_get (entries, i), change))
      json_array_remove (entries, i);
  if (change->tuned != NULL)
    json_array_append_new (entries, gemmcl_tuned_write (change->tuned, change->device));
}

gboolean
gemmcl_tuning_store (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                     gdouble gflops, GError **error)
{
  GemmclTuned tuned = {.gflops = gflops};
  Change change = {.tuned = &tuned};

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (gemm != NULL && is_of_matrices (gemm), FALSE);
  g_return_val_if_fail (kernel != NULL && gflops > 0, FALSE);

  tuned.gemm = *gemm;
  change.device = gemmcl_context_get_device_info (context);
  return gemmcl_choice_find (&tuned.choice, kernel, error) &&
         gemmcl_choice_check (&tuned.choice, change.device, gemm, error) &&
         gemmcl_tuning_file_change (change_entries, &change, error);
}

gboolean
gemmcl_tuning_forget (GemmclContext *context, GError **error)
{
  Change change = {.tuned = NULL};

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  change.device = gemmcl_context_get_device_info (context);
  return gemmcl_tuning_file_change (change_entries, &change, error);
}

static void
entry_free (gpointer data)
{
  GemmclTuningEntry *entry = data;

  g_free (entry->kernel);
  g_free (entry);
}

static void
list_entries (const json_t *entries, gboolean shipped, const GemmclDeviceInfo *device,
              GPtrArray *list)
{
  for (gsize i = 0; i < json_array_size (entries); i++) {
    GemmclTuned tuned;
    GemmclTuningEntry *entry;

    if (!gemmcl_tuned_read (&tuned, json_array_get (entries, i), shipped, device))
      continue;
    entry = g_new (GemmclTuningEntry, 1);
    *entry = (GemmclTuningEntry){
        .source = tuned.source,
        .precision = tuned.gemm.precision,
        .layout = tuned.gemm.layout,
        .m = tuned.gemm.m,
        .n = tuned.gemm.n,
        .k = tuned.gemm.k,
        .kernel = g_strdup (gemmcl_choice_get_name (&tuned.choice)),
        .gflops = tuned.gflops,
    };
    g_ptr_array_add (list, entry);
  }
}

GPtrArray *
gemmcl_tuning_list (GemmclContext *context)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (entry_free);
  g_autoptr (json_t) own = NULL;
  const GemmclDeviceInfo *device;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), list);
  device = gemmcl_context_get_device_info (context);
  own = gemmcl_tuning_file_load ();
  list_entries (own, FALSE, device, list);
  list_entries (gemmcl_tuning_file_get_shipped (), TRUE, device, list);
  return list;
}
