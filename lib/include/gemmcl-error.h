/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* The library is compiled with hidden symbols. Declarations between these two macros are
 * exported. */
#define GEMMCL_BEGIN_DECLS G_BEGIN_DECLS _Pragma ("GCC visibility push(default)")
#define GEMMCL_END_DECLS   _Pragma ("GCC visibility pop") G_END_DECLS

GEMMCL_BEGIN_DECLS

/**
 * GEMMCL_ERROR:
 *
 * The domain of every #GError of this library. A message states what was expected, what was found,
 * and what can be done. The message about an OpenCL call has the names of the call and of its
 * error; the message about a build has the compiler's log. Messages are printable UTF-8, as of
 * gemmcl_make_printable(), and quote names and contents of files by gemmcl_quote().
 */
#define GEMMCL_ERROR (gemmcl_error_quark ())

/**
 * GemmclError:
 * @GEMMCL_ERROR_NO_DEVICE: no OpenCL device matches the query
 * @GEMMCL_ERROR_OPENCL: an OpenCL call failed; or a compilation, for lack of memory or a device
 * @GEMMCL_ERROR_BUILD: a kernel did not compile on the device, or computed a wrong result there
 * @GEMMCL_ERROR_INVALID: an argument is out of its range: a size, a leading dimension, overlapping
 *   results
 * @GEMMCL_ERROR_SHAPE: the shapes of two matrices do not match
 * @GEMMCL_ERROR_FORMAT: a file or a literal is malformed
 * @GEMMCL_ERROR_IO: a file cannot be opened, read or written
 * @GEMMCL_ERROR_KERNEL: no kernel has this name, or the kernel cannot do this problem on this
 *   device
 * @GEMMCL_ERROR_TOO_LARGE: a size overflows, or exceeds the memory of the host or the device
 */
typedef enum {
  GEMMCL_ERROR_NO_DEVICE,
  GEMMCL_ERROR_OPENCL,
  GEMMCL_ERROR_BUILD,
  GEMMCL_ERROR_INVALID,
  GEMMCL_ERROR_SHAPE,
  GEMMCL_ERROR_FORMAT,
  GEMMCL_ERROR_IO,
  GEMMCL_ERROR_KERNEL,
  GEMMCL_ERROR_TOO_LARGE,
} GemmclError;

/**
 * gemmcl_error_quark:
 *
 * Returns: the quark of %GEMMCL_ERROR.
 */
GQuark gemmcl_error_quark (void);

/**
 * gemmcl_make_printable:
 * @text: any bytes up to a NUL
 *
 * Escapes what a terminal or a log may not get from a file: control and other invisible characters
 * except line ends and tabs, as `\x1b` or `\u200b`, and bytes that are not UTF-8, as `\xff`.
 * Backslashes stay as they are, so a printable text is not changed.
 *
 * Returns: (transfer full): the text as printable UTF-8.
 */
gchar *gemmcl_make_printable (const gchar *text);

/**
 * GEMMCL_QUOTE_SIZE:
 *
 * The largest number of bytes that gemmcl_quote() returns.
 */
#define GEMMCL_QUOTE_SIZE 200

/**
 * gemmcl_quote:
 * @text: any bytes up to a NUL: a name, a value or a part of a file
 *
 * Makes a text from outside of the program fit for a part of a message: gemmcl_make_printable()
 * with line ends and tabs escaped, too, and with “…” in place of the middle of a long text.
 *
 * Returns: (transfer full): the text as one line of at most %GEMMCL_QUOTE_SIZE bytes.
 */
gchar *gemmcl_quote (const gchar *text);

GEMMCL_END_DECLS
