/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-source.h"

#include "gemmcl-context.h"
#include "gemmcl-dmabuf.h"
#include "gemmcl-va.h"

/* OpenCL memory of the element's own context is found in any caps: other elements keep it. */
static gboolean
open_memory (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping, GemmclData *data,
             GemmclRun *run G_GNUC_UNUSED, const gchar **name, GError **error)
{
  if (!gst_gemmcl_map_input (self, mapping, buffer, data, error))
    return FALSE;
  *name = data->kind == GEMMCL_DATA_BUFFER ? "OpenCL" : "system";
  return TRUE;
}

static gboolean
open_surface (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping G_GNUC_UNUSED,
              GemmclData *data, GemmclRun *run, const gchar **name, GError **error)
{
  *name = "VA";
  return gst_gemmcl_va_expect_surface (self, buffer, error) &&
         gst_gemmcl_va_open (self, buffer, data, run, error);
}

/* A dma-buf may be a VA surface, and then lies in memory as only the media driver knows. */
static gboolean
is_surface (GstGemmcl *self, GstBuffer *buffer)
{
  const GemmclImage *image = &self->problem.a_image;

  if (!gst_gemmcl_va_has_surface (buffer))
    return gst_gemmcl_dmabuf_is_torn (buffer);
  return gemmcl_pixel_format_get_n_planes (image->format) == 2 &&
         (image->width | image->height) % 2 == 0 && gst_gemmcl_va_check (self, self->context, NULL);
}

static gboolean
open_dmabuf (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping, GemmclData *data,
             GemmclRun *run, const gchar **name, GError **error)
{
  if (is_surface (self, buffer))
    return open_surface (self, buffer, mapping, data, run, name, error);
  *name = "DMABuf";
  return gst_gemmcl_dmabuf_open (self, buffer, data, run) ||
         open_memory (self, buffer, mapping, data, run, name, error);
}

const GstGemmclSource *
gst_gemmcl_source_choose (GstGemmclMemory memory)
{
  static const GstGemmclSource any = {open_memory}, surface = {open_surface},
                               dmabuf = {open_dmabuf};

  switch (memory) {
  case GST_GEMMCL_MEMORY_VA:
  case GST_GEMMCL_MEMORY_TILED:
    return &surface;
  case GST_GEMMCL_MEMORY_DMABUF:
    return &dmabuf;
  default:
    return &any;
  }
}

gboolean
gst_gemmcl_source_prepare (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  switch (self->input_memory) {
  case GST_GEMMCL_MEMORY_VA:
  case GST_GEMMCL_MEMORY_TILED:
    return gst_gemmcl_va_expect_surface (self, buffer, error) &&
           gst_gemmcl_context_adapt (self, buffer, error);
  case GST_GEMMCL_MEMORY_DMABUF:
    return !self->configured || !gst_gemmcl_va_has_surface (buffer) || !is_surface (self, buffer) ||
           gst_gemmcl_context_adapt (self, buffer, error);
  default:
    return TRUE;
  }
}
