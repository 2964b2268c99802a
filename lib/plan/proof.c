/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Proof of kernels that depend on more than a driver promises (lib/device/program.c): products of
 * small integers, which are exact, once for each driver.
 */
#include <string.h>

#include "plan/body.h"

/* Several tiles and steps of each row, with edges; rows of A in whole chunks of 16 bytes. */
#define M 130
#define N 262
#define K 600

/* TRUE if @d is the product of @a and @b. */
static gboolean
check (const gfloat *a, const gfloat *b, const gfloat *d, GError **error)
{
  for (gsize i = 0; i < M; i++)
    for (gsize j = 0; j < N; j++) {
      gfloat sum = 0;

      for (gsize k = 0; k < K; k++)
        sum += a[i * K + k] * b[k * N + j];
      if (d[i * N + j] != sum)
        return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                            "An exact product has %g at row %zu, column %zu, not %g.",
                            (gdouble)d[i * N + j], i, j, (gdouble)sum);
    }
  return TRUE;
}

/* A positive integer as f16 or bf16. A normal f16 is its f32 with another bias and fewer digits. */
static guint16
get_half (gfloat value, GemmclType type)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof (bits));
  return type == GEMMCL_TYPE_BF16 ? bits >> 16 : (bits - 0x38000000) >> 13;
}

/* TRUE if @kernel multiplies an A of @type as it should, natively. Every precision holds the
 * elements: for int8 a row of A has the range 0 to 255 and a column of B at most 127, so that all
 * scales are 1. */
static gboolean
try_type (GemmclContext *context, const GemmclKernel *kernel, GemmclType type, GError **error)
{
  g_autofree gfloat *a = g_new (gfloat, M * K), *b = g_new (gfloat, K * N);
  g_autofree gfloat *d = g_new0 (gfloat, M * N);
  g_autofree guint16 *halves = g_new (guint16, M * K);
  g_autofree gchar *options = NULL;
  g_auto (cl_kernel) built = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT, computed;

  gemm.m = M;
  gemm.n = N;
  gemm.k = K;
  gemm.precision = kernel->precision;
  gemm.a_type = type;
  for (gsize i = 0; i < M * K; i++) {
    a[i] = i / K == i % K ? 255 : (gfloat)(i * 7919 % 1009 % 17 + 1);
    halves[i] = get_half (a[i], type);
  }
  for (gsize i = 0; i < K * N; i++)
    b[i] = i / N == i % N ? 127 : (gfloat)(i * 7919 % 1009 % 17) - 8;
  /* A plan of a named kernel that does not build natively would emulate it. */
  computed = gemmcl_gemm_get_computed (&gemm);
  options = gemmcl_kernel_make_options (kernel, &computed, gemmcl_context_get_device_info (context),
                                        GEMMCL_KERNEL_LEVEL_NATIVE);
  built = gemmcl_context_create_kernel (context, kernel->source, options, "gemm", error);
  return built != NULL &&
         gemmcl_gemm_run (context, &gemm, kernel->name,
                          type == GEMMCL_TYPE_F32 ? (gpointer)a : halves, b, NULL, NULL, d,
                          error) &&
         check (a, b, d, error);
}

static gchar *
make_key (const GemmclDeviceInfo *device, const GemmclKernel *kernel)
{
  g_autofree gchar *text =
      g_strjoin ("\n", "proof", kernel->name, gemmcl_program_get_text (kernel->source),
                 device->platform, device->name, device->version, device->driver, NULL);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

gboolean
gemmcl_kernel_is_proven (GemmclContext *context, const GemmclKernel *kernel, GError **error)
{
  static GMutex lock;
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);
  g_autofree gchar *key = NULL;
  g_autoptr (GBytes) known = NULL;
  g_autoptr (GError) why = NULL;
  gboolean ok;

  if (!kernel->wgmma)
    return TRUE;
  key = make_key (device, kernel);
  g_mutex_lock (&lock);
  known = gemmcl_cache_load (key);
  if (known != NULL) {
    ok = *(const gchar *)g_bytes_get_data (known, NULL) == 'r';
  } else {
    const GemmclType own = gemmcl_kernel_get_b_type (kernel);

    ok = try_type (context, kernel, GEMMCL_TYPE_F32, &why) &&
         (own == GEMMCL_TYPE_F32 || own == GEMMCL_TYPE_I8 || try_type (context, kernel, own, &why));
    gemmcl_cache_store (key, ok ? "right" : "wrong", 5);
    g_info ("Kernel %s is %s on %s%s%s", kernel->name, ok ? "proven" : "not used", device->name,
            ok ? "" : ": ", ok ? "" : why->message);
  }
  g_mutex_unlock (&lock);
  if (ok)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_KERNEL, "Kernel %s failed its proof on %s.", kernel->name,
                      device->name);
}
