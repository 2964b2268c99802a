/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "choice.h"
#include "gemmcl-tuning.h"

/**
 * What is known of how fast kernels are on devices: entries, which lie as JSON in the user's cache
 * directory and in the library.
 *
 *   tuning-entry.c  an entry: what it says, of which device, of which problems
 *   tuning-file.c   the files
 *   tuning.c        what is public, and looking for a problem's entry
 */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

/**
 * GemmclTuned: an entry, read. Each is an object:
 *
 *   of a device    "device", "units", "driver": its name, compute units and driver's version, all
 *                  of them as they are here; or, shipped, "device" alone; or "intel-ip", a list of
 *                  two: the first and the last version of such hardware, as "12.55"
 *   of a problem   "precision": its name, "layout": "row" or "col", "transposed": what of "a", "b"
 *                  and "ab" is, or "", "m", "n", "k"
 *   what is best   "kernel", "gflops"; and in the library "source": "shipped" or "modelled"
 */
typedef struct {
  GemmclGemm gemm;
  GemmclChoice choice;
  gdouble gflops;
  GemmclChoiceSource source;
} GemmclTuned;

/**
 * gemmcl_tuned_read:
 * @entry: anything
 * @shipped: it is the library's own
 *
 * Returns: whether it is a sound entry for the device, of a kernel that can do its problem there.
 */
gboolean gemmcl_tuned_read (GemmclTuned *self, const json_t *entry, gboolean shipped,
                            const GemmclDeviceInfo *device);

/** gemmcl_tuned_write: Returns: (transfer full): an entry for the user's file. */
json_t *gemmcl_tuned_write (const GemmclTuned *self, const GemmclDeviceInfo *device);

/** gemmcl_tuned_is_same: Returns: whether both are of the same problem. */
gboolean gemmcl_tuned_is_same (const GemmclTuned *self, const GemmclGemm *gemm);

/**
 * gemmcl_tuned_get_distance:
 *
 * Returns: how far @gemm is from the entry's problem, 0: it is the same, as far as kernels are
 *   concerned; less than 0: the entry says nothing of it.
 */
gdouble gemmcl_tuned_get_distance (const GemmclTuned *self, const GemmclDeviceInfo *device,
                                   const GemmclGemm *gemm);

/** gemmcl_tuning_file_load: Returns: (transfer full): the user's list of entries; may be empty. */
json_t *gemmcl_tuning_file_load (void);

/** gemmcl_tuning_file_get_shipped: Returns: (transfer none): the library's list of entries. */
const json_t *gemmcl_tuning_file_get_shipped (void);

/** GemmclTuningChange: makes of a list of entries another. */
typedef void (*GemmclTuningChange) (json_t *entries, gpointer data);

/**
 * gemmcl_tuning_file_change:
 *
 * Reads the user's file, changes it and writes it, while other processes wait with theirs.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_IO.
 */
gboolean gemmcl_tuning_file_change (GemmclTuningChange change, gpointer data, GError **error);

/**
 * gemmcl_tuning_find:
 *
 * Returns: whether an entry speaks for @gemm on the device; the nearest of the user's, or else of
 *   the library's own.
 */
gboolean gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclTuned *found);
