/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Functions on matrices that the library's files share. Any thread.
 */
#pragma once

#include "device/base.h"
#include "gemmcl-matrix.h"

/* types.c: the table of element types */

/** NumPy's name of @type; "|V2" for bf16. */
const gchar *gemmcl_type_get_descr (GemmclType type);

/** Safetensors' name of @type, "F32" for example; shared/types.clh has a macro of this name. */
const gchar *gemmcl_type_get_dtype (GemmclType type);

/** The bits of the fraction of a floating-point number; 0 for integers. */
guint gemmcl_type_get_fraction (GemmclType type);

/** FALSE with GEMMCL_N_TYPES if no type has @name. @get_name: gemmcl_type_get_name() or a function
 * above */
gboolean gemmcl_type_from_name (const gchar *name, const gchar *(*get_name) (GemmclType),
                                GemmclType *type);

/** The same for the number of a type in ONNX. */
gboolean gemmcl_type_from_onnx (gint number, GemmclType *type);

/** (transfer full): the names of all types, for messages. */
gchar *gemmcl_type_list (const gchar *(*get_name) (GemmclType));

/** The bits of @number as an f32, for as_float() in a kernel: the decimal point of an option would
 * depend on the locale. */
guint32 gemmcl_f32_get_bits (gdouble number);

/** Converts @n elements at @src, which may have any alignment. */
void gemmcl_type_convert (GemmclType type, gconstpointer src, gfloat *dst, gsize n);

/** Element @index of @data, which may have any alignment. */
gfloat gemmcl_type_load_f32 (GemmclType type, gconstpointer data, gsize index);

/* matrix.c */

/** Computes the size of a matrix in bytes. Returns: %FALSE if it overflows. */
gboolean gemmcl_matrix_get_n_bytes (GemmclType type, gsize rows, gsize cols, gsize *n_bytes);

/** Creates a matrix. Every other function that makes one calls this. The caller has checked the
 * shape, and the size and alignment of @bytes (transfer full). */
GemmclMatrix *gemmcl_matrix_new_take (GemmclType type, gsize rows, gsize cols,
                                      gboolean column_major, GBytes *bytes);

/* load.c: formats of files */

/** A format of files. The reader NAME, in the list of lib/meson.build, is gemmcl_reader_NAME in
 * NAME.c. */
typedef struct {
  const gchar *suffix;  /* of the files' names, in lower case */
  const gchar *grammar; /* the names of matrices in such files */
  /* (transfer full); @part: (nullable): the text behind the “#” that follows the path */
  GemmclMatrix *(*load) (const gchar *path, const gchar *part, GError **error);
} GemmclReader;

/* file.c: a matrix in a file */

#define GEMMCL_EXPECTED_F32 "expected a number of at most 3.4e38, the largest of an f32"

/** The description of a matrix in a file, as the file states it. */
typedef struct {
  const GemmclFile *file;
  const gchar *prefix;  /* of messages about the matrix; may be "" */
  gconstpointer memory; /* (nullable): the elements, instead of those at @offset */
  gsize step;           /* bytes from the start of an element in @memory to that of the next */
  gsize offset;         /* start of the elements in the file */
  gsize length;         /* bytes from offset on that may be elements; within the file */
  gboolean exact;       /* the elements must fill @length */
  GemmclType type;
  gboolean column_major;
  const gsize *dims; /* the shape, not checked */
  gsize n_dims;
} GemmclMatrixSource;

/** (transfer full): a matrix with a copy of the elements; %NULL with #GEMMCL_ERROR_FORMAT if the
 * shape is not that of a matrix or does not match the file, or with an error of gemmcl_file_read().
 */
GemmclMatrix *gemmcl_matrix_new_from_source (const GemmclMatrixSource *source, GError **error);

/** (transfer full): a command line that converts the file @path by @program, a program of Python
 * without single quotation marks; the new file has @suffix in place of that of @path. */
gchar *gemmcl_describe_conversion (const gchar *path, const gchar *program, const gchar *suffix);

/** (transfer full): “Tensor “NAME”: ”, a prefix of messages, with @name quoted. */
gchar *gemmcl_describe_tensor (const gchar *name);

/** Finds the index of @name in @names, the tensors of the file. Fails if it is not among them.
 * @names: (element-type utf8); @index: (out) (optional) */
gboolean gemmcl_find_tensor (const GPtrArray *names, const gchar *name, const gchar *path,
                             guint *index, GError **error);
