/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"
#include "tuning.h"

/* How far M, N or K may be from an entry's, in powers of two. */
#define MAX_DISTANCE 0.5

/* How much less of the tiles may be full than are of the entry's problem. */
#define MIN_FULL 0.9

static const gchar *const layouts[] = {"row", "col"};
static const gchar *const sources[] = {"named", "tuned", "shipped", "modelled", "rules"};

const gchar *
gemmcl_choice_source_get_name (GemmclChoiceSource source)
{
  g_return_val_if_fail ((guint)source < G_N_ELEMENTS (sources), NULL);
  return sources[source];
}

static gboolean
find_name (const gchar *name, const gchar *const *names, guint n, guint *index)
{
  for (*index = 0; *index < n; (*index)++)
    if (g_str_equal (name, names[*index]))
      return TRUE;
  return FALSE;
}

/* What CL_DEVICE_IP_VERSION_INTEL makes of "12.55"; 0 for what is none. */
static guint32
parse_ip (const json_t *text)
{
  guint major, minor;
  gchar rest;

  if (!json_is_string (text) ||
      sscanf (json_string_value (text), "%3u.%3u%c", &major, &minor, &rest) != 2)
    return 0;
  return major << 22 | minor << 14;
}

/* The last 14 bits are a revision, which makes no difference. */
static gboolean
is_in_range (const json_t *range, guint32 version)
{
  const guint32 first = parse_ip (json_array_get (range, 0));
  const guint32 last = parse_ip (json_array_get (range, 1));
  const guint32 ip = version & ~0x3fffu;

  return first != 0 && ip >= first && ip <= last;
}

static gboolean
is_of_device (const json_t *entry, gboolean shipped, const GemmclDeviceInfo *device)
{
  const json_t *range = json_object_get (entry, "intel-ip");
  const gchar *name = json_string_value (json_object_get (entry, "device"));
  const gchar *driver = json_string_value (json_object_get (entry, "driver"));
  const json_int_t units = json_integer_value (json_object_get (entry, "units"));

  if (shipped && range != NULL)
    return device->intel && device->type == GEMMCL_DEVICE_TYPE_GPU &&
           is_in_range (range, device->ip_version);
  if (g_strcmp0 (name, device->name) != 0)
    return FALSE;
  return shipped || (g_strcmp0 (driver, device->driver) == 0 && units == device->compute_units);
}

static gboolean
read_precision (GemmclGemm *gemm, const gchar *name)
{
  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++)
    if (g_str_equal (name, gemmcl_precision_get_name (i))) {
      gemm->precision = i;
      return TRUE;
    }
  return FALSE;
}

static gboolean
read_problem (GemmclGemm *gemm, const json_t *entry)
{
  const gchar *precision, *layout, *transposed;
  json_int_t m, n, k;
  guint index;

  /* It reads only. */
  if (json_unpack ((json_t *)entry, "{s:s, s:s, s:s, s:I, s:I, s:I}", "precision", &precision,
                   "layout", &layout, "transposed", &transposed, "m", &m, "n", &n, "k", &k) != 0 ||
      m < 1 || n < 1 || k < 1 || !read_precision (gemm, precision) ||
      !find_name (layout, layouts, G_N_ELEMENTS (layouts), &index))
    return FALSE;
  gemm->m = m;
  gemm->n = n;
  gemm->k = k;
  gemm->layout = index;
  gemm->trans_a = strchr (transposed, 'a') != NULL;
  gemm->trans_b = strchr (transposed, 'b') != NULL;
  return gemmcl_gemm_validate (gemm, NULL);
}

static gboolean
read_source (GemmclTuned *self, const json_t *entry, gboolean shipped)
{
  const gchar *name = json_string_value (json_object_get (entry, "source"));
  guint index;

  self->source = GEMMCL_CHOICE_TUNED;
  if (!shipped)
    return TRUE;
  if (name == NULL || !find_name (name, sources, G_N_ELEMENTS (sources), &index))
    return FALSE;
  self->source = index;
  return TRUE;
}

gboolean
gemmcl_tuned_read (GemmclTuned *self, const json_t *entry, gboolean shipped,
                   const GemmclDeviceInfo *device)
{
  const gchar *kernel = json_string_value (json_object_get (entry, "kernel"));

  *self = (GemmclTuned){.gemm = GEMMCL_GEMM_INIT};
  self->gflops = json_number_value (json_object_get (entry, "gflops"));
  return kernel != NULL && self->gflops > 0 && is_of_device (entry, shipped, device) &&
         read_source (self, entry, shipped) && read_problem (&self->gemm, entry) &&
         gemmcl_choice_find (&self->choice, kernel, NULL) &&
         gemmcl_choice_check (&self->choice, device, &self->gemm, NULL);
}

json_t *
gemmcl_tuned_write (const GemmclTuned *self, const GemmclDeviceInfo *device)
{
  const GemmclGemm *gemm = &self->gemm;
  g_autofree gchar *name = g_utf8_make_valid (device->name, -1);
  g_autofree gchar *driver = g_utf8_make_valid (device->driver, -1);
  const gchar *const transposed[2][2] = {{"", "b"}, {"a", "ab"}};

  return json_pack ("{s:s, s:i, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:f}", "device", name,
                    "units", (int)device->compute_units, "driver", driver, "precision",
                    gemmcl_precision_get_name (gemm->precision), "layout", layouts[gemm->layout],
                    "transposed", transposed[!!gemm->trans_a][!!gemm->trans_b], "m",
                    (json_int_t)gemm->m, "n", (json_int_t)gemm->n, "k", (json_int_t)gemm->k,
                    "kernel", gemmcl_choice_get_name (&self->choice), "gflops", self->gflops);
}

/* Whether kernels are as fast with the one as with the other, but for their sizes. */
static gboolean
is_alike (const GemmclGemm *a, const GemmclGemm *b)
{
  return a->precision == b->precision && a->layout == b->layout && !a->trans_a == !b->trans_a &&
         !a->trans_b == !b->trans_b;
}

gboolean
gemmcl_tuned_is_same (const GemmclTuned *self, const GemmclGemm *gemm)
{
  return is_alike (&self->gemm, gemm) && self->gemm.m == gemm->m && self->gemm.n == gemm->n &&
         self->gemm.k == gemm->k;
}

/* The share of the kernel's tiles that D fills. */
static gdouble
get_full (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);

  return (gdouble)gemm->m * gemm->n / ((gdouble)tiles.m * tiles.n * tiles.rows * tiles.cols);
}

gdouble
gemmcl_tuned_get_distance (const GemmclTuned *self, const GemmclDeviceInfo *device,
                           const GemmclGemm *gemm)
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
