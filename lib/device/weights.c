/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Weights that the plans of a context share.
 */
#include "device/device.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct _GemmclWeights {
  GemmclWeightsTable *table;
  gchar *key;
  cl_mem buffer;
  gsize bytes;
  guint refs; /* guarded by the table's lock, so that weights with no references are never found */
};

void
gemmcl_weights_table_init (GemmclWeightsTable *self)
{
  g_mutex_init (&self->lock);
  self->alive = g_hash_table_new (g_str_hash, g_str_equal);
}

void
gemmcl_weights_table_clear (GemmclWeightsTable *self)
{
  g_hash_table_unref (self->alive);
  g_mutex_clear (&self->lock);
}

gchar *
gemmcl_weights_make_key (const gfloat *data, gsize n, const gchar *layout)
{
  const XXH128_hash_t hash = XXH3_128bits (data, n * sizeof *data);

  return g_strdup_printf ("%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x %s",
                          (guint64)hash.high64, (guint64)hash.low64, layout);
}

/* Needs the lock. */
static GemmclWeights *
lookup (GemmclWeightsTable *table, const gchar *key)
{
  GemmclWeights *self = g_hash_table_lookup (table->alive, key);

  if (self != NULL)
    self->refs++;
  return self;
}

GemmclWeights *
gemmcl_weights_find (GemmclWeightsTable *table, const gchar *key)
{
  g_autoptr (GMutexLocker) locker = NULL;

  locker = g_mutex_locker_new (&table->lock);
  return lookup (table, key);
}

GemmclWeights *
gemmcl_weights_share (GemmclWeightsTable *table, const gchar *key, cl_mem buffer)
{
  GemmclWeights *self;

  g_mutex_lock (&table->lock);
  self = lookup (table, key);
  if (self == NULL) {
    self = g_new0 (GemmclWeights, 1);
    self->table = table;
    self->key = g_strdup (key);
    self->buffer = g_steal_pointer (&buffer);
    self->refs = 1;
    (void)clGetMemObjectInfo (self->buffer, CL_MEM_SIZE, sizeof (self->bytes), &self->bytes, NULL);
    table->bytes += self->bytes;
    g_hash_table_insert (table->alive, self->key, self);
  }
  g_mutex_unlock (&table->lock);
  g_clear_pointer (&buffer, clReleaseMemObject);
  return self;
}

cl_mem
gemmcl_weights_get_buffer (const GemmclWeights *self)
{
  return self->buffer;
}

void
gemmcl_weights_unref (GemmclWeights *self)
{
  GemmclWeightsTable *table = self->table;
  gboolean last;

  g_mutex_lock (&table->lock);
  last = --self->refs == 0;
  if (last) {
    g_hash_table_remove (table->alive, self->key);
    table->bytes -= self->bytes;
  }
  g_mutex_unlock (&table->lock);
  if (!last)
    return;
  clReleaseMemObject (self->buffer);
  g_free (self->key);
  g_free (self);
}
