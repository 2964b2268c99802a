/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The embedded programs, and their builds.
 */
#pragma once

#include "device/device.h"

/** An embedded text: a program with its includes inlined, or the measurements that ship. The name
 * of the last one is NULL. */
typedef struct {
  const gchar *name;
  const gchar *text;
} GemmclEmbedded;

extern const GemmclEmbedded gemmcl_embedded[];

/** Marks programs with instructions of sm_90a, a target that NVIDIA's OpenCL compiler does not
 * offer. The compiler's output for such a program, PTX for sm_90, passes through
 * gemmcl_ptx_retarget() and is built again. */
#define GEMMCL_SM_90A " -DSM_90A"

/** (transfer full): @ptx with the target sm_90a in place of sm_90, and with the instructions after
 * //@ uncommented. %NULL with #GEMMCL_ERROR_BUILD if @ptx is not PTX for sm_90 with such
 * comments. */
gchar *gemmcl_ptx_retarget (const gchar *ptx, GError **error);

/** The embedded text @name; %NULL if there is none. */
const gchar *gemmcl_embedded_get_text (const gchar *name);

/** (transfer full): @options and the options of every program. The language is OpenCL C 1.2 unless
 * @options has a -cl-std. */
gchar *gemmcl_program_complete_options (const gchar *options);

/** (transfer full): a key for the disk cache: of @text compiled with @options for the device, or,
 * with a kernel's name as @options, of that kernel's proof. */
gchar *gemmcl_program_make_key (const GemmclDeviceInfo *device, const gchar *text,
                                const gchar *options);

/** Builds the embedded program @source from the binary in the disk cache. If there is none,
 * compiles it, which may take seconds, stores the binary in the cache and logs that at level INFO.
 * @compiled: (out): TRUE if it was compiled. Returns: (transfer full): a built program, or %NULL
 * with #GEMMCL_ERROR_BUILD, or #GEMMCL_ERROR_OPENCL if the device may compile it later. Both carry
 * the compiler's log. */
cl_program gemmcl_program_build (cl_context context, const GemmclDevice *device,
                                 const gchar *source, const gchar *options, gboolean *compiled,
                                 GError **error);
