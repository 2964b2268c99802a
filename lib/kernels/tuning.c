/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernels/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>

#include "device/cache.h"
#include "device/program.h"

#define VERSION     1
#define MAX_SIZE    (4 << 20) /* the largest file that is read, in bytes */
#define MAX_ENTRIES 4096      /* the oldest are removed */
#define NAME        "tuning.json"
#define SHIPPED     "tuning-shipped.json"

/* Times in us. A process holds the lock while it reads and writes the file. */
#define LOCK_PATIENCE (5 * G_TIME_SPAN_SECOND)
#define LOCK_PAUSE    (10 * G_TIME_SPAN_MILLISECOND)

/* The largest difference of M, N or K from an entry's, in powers of two. */
#define MAX_DISTANCE 0.5

/* The share of its tiles that D must fill, relative to the entry's problem. */
#define MIN_FULL 0.9

static const gchar *const layouts[] = {"row", "col"};
static const gchar *const sources[] = {"named", "tuned", "shipped", "rules"};

const gchar *
gemmcl_choice_source_get_name (GemmclChoiceSource source)
{
  g_return_val_if_fail ((guint)source < G_N_ELEMENTS (sources), NULL);
  return sources[source];
}

/* @index: (out): the index of @name, an enum's value */
static gboolean
find_name (const gchar *name, const gchar *const *names, guint n, guint *index)
{
  for (*index = 0; *index < n; (*index)++)
    if (g_str_equal (name, names[*index]))
      return TRUE;
  return FALSE;
}

/* Reads @entry, any JSON value. Returns: TRUE if it is an entry for the device whose kernel can do
 * its problem there. */
static gboolean
read_entry (GemmclTuned *self, const json_t *entry, gboolean shipped,
            const GemmclDeviceInfo *device)
{
  const gchar *name, *driver = NULL, *precision, *layout, *transposed, *kernel;
  const gchar *precisions[GEMMCL_N_PRECISIONS];
  GemmclGemm *gemm = &self->gemm;
  json_int_t units = 0, m, n, k;

  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++)
    precisions[i] = gemmcl_precision_get_name (i);
  *self = (GemmclTuned){.gemm = GEMMCL_GEMM_INIT};
  /* json_unpack() does not change the entry. */
  if (json_unpack ((json_t *)entry, "{s:s, s?I, s?s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:F}",
                   "device", &name, "units", &units, "driver", &driver, "precision", &precision,
                   "layout", &layout, "transposed", &transposed, "m", &m, "n", &n, "k", &k,
                   "kernel", &kernel, "gflops", &self->public.gflops) != 0 ||
      strcmp (name, device->name) != 0 ||
      (!shipped && (g_strcmp0 (driver, device->driver) != 0 || units != device->compute_units)) ||
      m < 1 || n < 1 || k < 1 || !(self->public.gflops > 0) ||
      !find_name (precision, precisions, G_N_ELEMENTS (precisions), &gemm->precision) ||
      !find_name (layout, layouts, G_N_ELEMENTS (layouts), &gemm->layout))
    return FALSE;
  gemm->m = m;
  gemm->n = n;
  gemm->k = k;
  gemm->trans_a = strchr (transposed, 'a') != NULL;
  gemm->trans_b = strchr (transposed, 'b') != NULL;
  if (!gemmcl_gemm_validate (gemm, NULL) || !gemmcl_choice_find (&self->choice, kernel, NULL) ||
      !gemmcl_choice_check (&self->choice, device, gemm, NULL))
    return FALSE;
  self->public.source = shipped ? GEMMCL_CHOICE_SHIPPED : GEMMCL_CHOICE_TUNED;
  self->public.precision = gemm->precision;
  self->public.layout = gemm->layout;
  self->public.m = m;
  self->public.n = n;
  self->public.k = k;
  self->public.kernel = gemmcl_choice_get_name (&self->choice);
  return TRUE;
}

static json_t *
write_entry (const GemmclTuned *self, const GemmclDeviceInfo *device)
{
  const GemmclGemm *gemm = &self->gemm;
  const gchar *const transposed[2][2] = {{"", "b"}, {"a", "ab"}};

  return json_pack ("{s:s, s:i, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:f}", "device",
                    device->name, "units", (int)device->compute_units, "driver", device->driver,
                    "precision", gemmcl_precision_get_name (gemm->precision), "layout",
                    layouts[gemm->layout], "transposed",
                    transposed[!!gemm->trans_a][!!gemm->trans_b], "m", (json_int_t)gemm->m, "n",
                    (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "kernel",
                    gemmcl_choice_get_name (&self->choice), "gflops", self->public.gflops);
}

/* TRUE if the problems differ only in size, as far as the speed of kernels depends on them. */
static gboolean
is_alike (const GemmclGemm *a, const GemmclGemm *b)
{
  return a->precision == b->precision && a->layout == b->layout && !a->trans_a == !b->trans_a &&
         !a->trans_b == !b->trans_b;
}

/* The share of the kernel's tiles that D fills. */
static gdouble
get_full (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);

  return (gdouble)gemm->m * gemm->n / ((gdouble)tiles.m * tiles.n * tiles.rows * tiles.cols);
}

/* The distance between @gemm and the entry's problem, 0 if they are the same; negative if the entry
 * does not apply. */
static gdouble
get_distance (const GemmclTuned *self, const GemmclDeviceInfo *device, const GemmclGemm *gemm)
{
  const GemmclKernel *kernel = self->choice.kernel;
  const gdouble m = fabs (log2 ((gdouble)gemm->m / self->gemm.m));
  const gdouble n = fabs (log2 ((gdouble)gemm->n / self->gemm.n));
  const gdouble k = fabs (log2 ((gdouble)gemm->k / self->gemm.k));

  if (!is_alike (&self->gemm, gemm) || MAX (m, MAX (n, k)) > MAX_DISTANCE ||
      get_full (kernel, gemm) < MIN_FULL * get_full (kernel, &self->gemm) ||
      !gemmcl_choice_check (&self->choice, device, gemm, NULL))
    return -1.0;
  return m + n + k;
}

gchar *
gemmcl_tuning_get_path (void)
{
  return gemmcl_cache_dir_get_path (NAME);
}

/* (transfer full): the entries in a file's text; empty if there are none. @version: (out): the
 * file's version */
static json_t *
get_entries (GBytes *text, json_int_t *version)
{
  gsize length = 0;
  const gchar *data = text ? g_bytes_get_data (text, &length) : NULL;
  g_autoptr (json_t) root =
      length > 0 ? json_loadb (data, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
  json_t *entries = NULL;

  *version = VERSION;
  if (json_unpack (root, "{s:I, s:o}", "version", version, "entries", &entries) != 0 ||
      *version != VERSION || !json_is_array (entries))
    return json_array ();
  return json_incref (entries);
}

/* (transfer full): the user's entries; may be empty. Fails if the file is not trusted or newer,
 * since saving would overwrite its measurements. */
static json_t *
load (GError **error)
{
  g_autofree gchar *path = gemmcl_tuning_get_path ();
  g_autoptr (GError) why = NULL;
  g_autoptr (GBytes) bytes = gemmcl_cache_dir_read (NAME, MAX_SIZE, &why);
  g_autoptr (json_t) entries = NULL;
  json_int_t version;

  if (why != NULL)
    return FAIL_NULL (error, GEMMCL_ERROR_IO, "%s Move it away to tune.", why->message);
  entries = get_entries (bytes, &version);
  if (version <= VERSION)
    return g_steal_pointer (&entries);
  return FAIL_FILE_NULL (error, GEMMCL_ERROR_IO, path,
                         "Expected version %d, found version %" JSON_INTEGER_FORMAT
                         " of a newer gemmcl. Move it away to tune with this one.",
                         VERSION, version);
}

static const json_t *
get_shipped (void)
{
  static gsize entries;

  if (g_once_init_enter (&entries)) {
    const gchar *text = gemmcl_embedded_get_text (SHIPPED);
    g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));
    json_int_t version;

    g_once_init_leave (&entries, (gsize)get_entries (bytes, &version));
  }
  return (const json_t *)entries;
}

/* Waits for LOCK_PATIENCE at most, and no longer once @cancellable (nullable) is cancelled. FALSE
 * with errno. */
static gboolean
take_lock (gint fd, GCancellable *cancellable)
{
  const gint64 until = g_get_monotonic_time () + LOCK_PATIENCE;

  while (flock (fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR)
      continue;
    if (errno != EWOULDBLOCK || g_get_monotonic_time () > until ||
        g_cancellable_is_cancelled (cancellable))
      return FALSE;
    g_usleep (LOCK_PAUSE);
  }
  return TRUE;
}

/* A descriptor that holds the lock until it is closed; -1 with an error. */
static GemmclFd
lock (GCancellable *cancellable, GError **error)
{
  g_autofree gchar *path = gemmcl_cache_dir_get_path ("tuning.lock");
  g_auto (GemmclFd) fd = -1;

  if (!gemmcl_cache_dir_prepare (error))
    return -1;
  fd = g_open (path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0 && take_lock (fd, cancellable))
    return g_steal_fd (&fd);
  gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "Cannot lock the file: %s.",
                    errno == EWOULDBLOCK ? "another process holds the lock; end it, or try again "
                                           "later"
                                         : g_strerror (errno));
  return -1;
}

static gboolean
save (json_t *entries, GError **error)
{
  g_autoptr (json_t) root = json_pack ("{s:i, s:O}", "version", VERSION, "entries", entries);
  gchar *text = json_dumps (root, JSON_INDENT (1));
  const gboolean saved =
      text != NULL ? gemmcl_cache_dir_write (NAME, "", text, strlen (text), error)
                   : gemmcl_fail (error, GEMMCL_ERROR_IO, "There is no memory for " NAME ".");

  free (text);
  return saved;
}

gboolean
gemmcl_tuning_has_entries (const GemmclGemm *gemm)
{
  return gemm->d_frame == NULL && gemmcl_gemm_get_batch (gemm) == 1 &&
         (gemm->a_frame == NULL || gemm->a_frame->features != GEMMCL_FEATURE_PIXEL);
}

static void
read_entries (GPtrArray *found, const json_t *entries, gboolean shipped,
              const GemmclDeviceInfo *device)
{
  for (gsize i = 0; i < json_array_size (entries); i++) {
    GemmclTuned tuned;

    if (read_entry (&tuned, json_array_get (entries, i), shipped, device))
      g_ptr_array_add (found, g_atomic_rc_box_dup (sizeof (tuned), &tuned));
  }
}

/* (transfer full) (element-type GemmclTuned): the entries for the device, the user's first. */
static GPtrArray *
list_tuned (const GemmclDeviceInfo *device)
{
  GPtrArray *found = g_ptr_array_new_with_free_func (g_atomic_rc_box_release);
  g_autoptr (json_t) own = load (NULL);

  read_entries (found, own, FALSE, device);
  read_entries (found, get_shipped (), TRUE, device);
  return found;
}

gboolean
gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm, GemmclTuned *found)
{
  g_autoptr (GPtrArray) all = NULL;
  gdouble least = G_MAXDOUBLE;

  if (!gemmcl_tuning_has_entries (gemm))
    return FALSE;
  all = list_tuned (device);
  for (guint i = 0; i < all->len; i++) {
    const GemmclTuned *tuned = all->pdata[i];
    const gdouble distance = get_distance (tuned, device, gemm);

    if (least < G_MAXDOUBLE && tuned->public.source != found->public.source)
      break;
    if (distance >= 0.0 && distance < least) {
      least = distance;
      *found = *tuned;
    }
  }
  return least < G_MAXDOUBLE;
}

gchar **
gemmcl_tuning_list_candidates (GemmclContext *context, const GemmclGemm *gemm)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  g_autoptr (GArray) choices = NULL;
  GemmclGemm computed, as_run;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), NULL);
  g_return_val_if_fail (gemm != NULL, NULL);

  computed = gemmcl_gemm_get_computed (gemm);
  as_run = gemmcl_gemm_get_as_run (&computed);
  choices = gemmcl_choice_rank (gemmcl_context_get_device_info (context), &as_run,
                                computed.batch > 1 ? 1 : GEMMCL_MAX_SPLIT, TRUE);
  for (guint i = 0; i < choices->len; i++)
    g_strv_builder_add (names, gemmcl_choice_get_name (&g_array_index (choices, GemmclChoice, i)));
  return g_strv_builder_end (names);
}

/* TRUE if @entry leaves the file: because @tuned takes its place, because it is not an object or,
 * if @tuned is NULL, because it is one of the device. */
static gboolean
is_replaced (const json_t *entry, const GemmclDeviceInfo *device, const GemmclTuned *tuned)
{
  GemmclTuned old;

  if (!json_is_object (entry))
    return TRUE;
  if (tuned == NULL)
    return g_strcmp0 (json_string_value (json_object_get (entry, "device")), device->name) == 0;
  return read_entry (&old, entry, FALSE, device) && get_distance (&old, device, &tuned->gemm) == 0;
}

/* Changes the user's file under a lock. @tuned: (nullable): the entry to add; NULL: removes the
 * device's entries */
static gboolean
change_file (const GemmclDeviceInfo *device, const GemmclTuned *tuned, GCancellable *cancellable,
             GError **error)
{
  g_auto (GemmclFd) locked = lock (cancellable, error);
  g_autoptr (json_t) entries = locked >= 0 ? load (error) : NULL;

  if (entries == NULL)
    return FALSE;
  for (gsize i = json_array_size (entries); i-- > 0;)
    if (is_replaced (json_array_get (entries, i), device, tuned))
      json_array_remove (entries, i);
  if (tuned != NULL)
    json_array_append_new (entries, write_entry (tuned, device));
  while (json_array_size (entries) > MAX_ENTRIES)
    json_array_remove (entries, 0);
  return save (entries, error);
}

gboolean
gemmcl_tuning_store (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                     gdouble gflops, GCancellable *cancellable, GError **error)
{
  GemmclTuned tuned = {.public.gflops = gflops};
  const GemmclDeviceInfo *device;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (gemm != NULL && gemmcl_tuning_has_entries (gemm), FALSE);
  g_return_val_if_fail (kernel != NULL && gflops > 0, FALSE);

  if (!isfinite (gflops)) /* JSON has no infinity */
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID, "Expected a finite speed, found %g GFLOPS.",
                        gflops);
  tuned.gemm = *gemm;
  device = gemmcl_context_get_device_info (context);
  return gemmcl_choice_find (&tuned.choice, kernel, error) &&
         gemmcl_choice_check (&tuned.choice, device, gemm, error) &&
         change_file (device, &tuned, cancellable, error);
}

gboolean
gemmcl_tuning_forget (GemmclContext *context, GError **error)
{
  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  return change_file (gemmcl_context_get_device_info (context), NULL, NULL, error);
}

G_DEFINE_BOXED_TYPE (GemmclTuningEntry, gemmcl_tuning_entry, g_atomic_rc_box_acquire,
                     g_atomic_rc_box_release)

GPtrArray *
gemmcl_tuning_list (GemmclContext *context)
{
  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), NULL);
  return list_tuned (gemmcl_context_get_device_info (context));
}
