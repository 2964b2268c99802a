/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "faults.h"

typedef enum {
  FAULTS_CONTEXT,
  FAULTS_QUEUE,
  FAULTS_MEMORY,
  FAULTS_PROGRAM,
  FAULTS_KERNEL,
  FAULTS_EVENT,
  FAULTS_N_KINDS,
} FaultsKind;

/** What the layer exports, as gemmcl_faults; faults.h says what each does. */
typedef struct {
  gboolean (*is_loaded) (void);
  void (*set) (FaultsMode mode, guint n);
  guint (*get_calls) (void);
  guint (*get_strikes) (void);
  const gchar *(*get_failed) (void);
  gint (*count_objects) (FaultsKind kind);
  void (*hold_builds) (gboolean hold);
  guint (*count_held) (void);
  void (*hold_kernels) (gboolean hold);
} FaultsLayer;
