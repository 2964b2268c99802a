# SPDX-License-Identifier: LGPL-2.1-or-later
"""Buffers of video, audio and tensors as arrays of rows x columns x channels, and arrays as
flexible tensors."""

import re
from ctypes import c_uint

from numpy_gemm import colours
from stream import Gst, GstVideo, np

INTERLACED = Gst.BufferFlags(int(GstVideo.VideoBufferFlags.INTERLACED))
FLEXIBLE = "other/tensors,format=flexible,framerate=10/1"
FLEXIBLE_TYPES = ["int32", "uint32", "int16", "uint16", "int8", "uint8", "float64", "float32",
                  "int64", "uint64", "float16"]
AUDIO = {"F32LE": "<f4", "F64LE": "<f8", "S16LE": "<i2", "S32LE": "<i4"}


def write_flexible(values, kind="float32"):
    """Returns an array as a flexible tensor: a header of 32 words of 32 bits, and its bytes."""
    dims = [*reversed(values.shape), *[0] * (16 - values.ndim)]
    words = [0xFEEDCCED, 0xDE001000, FLEXIBLE_TYPES.index(kind), *dims, 1, 4, *[0] * 11]
    return np.array(words, "<u4").tobytes() + values.astype(kind).tobytes()


def crop(buffer, x, y, width, height):
    """Adds a GstVideoCropMeta: a GstMeta of 16 bytes, and four numbers. Returns the buffer."""
    meta = buffer.add_meta(GstVideo.VideoCropMeta.get_info(), None)
    (c_uint * 4).from_address(hash(meta) + 16)[:] = x, y, width, height
    return buffer


class PaddedPool(GstVideo.VideoBufferPool):
    """A pool of downstream whose frames have bytes around their rows."""

    def offer(self, query):
        caps, _ = query.parse_allocation()
        size = GstVideo.VideoInfo.new_from_caps(caps).size
        alignment, config = GstVideo.VideoAlignment(), self.get_config()
        alignment.reset()
        alignment.padding_left, alignment.padding_right = 4, 9
        alignment.padding_top, alignment.padding_bottom = 2, 1
        Gst.BufferPool.config_set_params(config, caps, size, 0, 0)
        for option in "VideoMeta", "VideoAlignment":
            Gst.BufferPool.config_add_option(config, f"GstBufferPoolOption{option}")
        GstVideo.buffer_pool_config_set_video_alignment(config, alignment)
        self.set_config(config)
        query.add_allocation_meta(GstVideo.video_meta_api_get_type(), None)
        query.add_allocation_pool(self, size, 0, 0)


class Medium:
    """A buffer as caps describe it. Several tensors count as one.

    shape: rows, columns and channels; the columns of audio are -1
    memories: number of memories of a buffer"""

    def __init__(self, caps, wider=0):
        """wider: bytes between the rows of frames."""
        # Newer bindings do not return structures that belong to caps.
        fields = Gst.Structure.new_from_string(re.sub(r"\(.*?:OpenCL\)", "", caps.to_string()))
        self.fields, self.name, self.memories = fields, fields.get_name().split("/")[0], 1
        if self.name == "video":
            self.info, alignment = GstVideo.VideoInfo.new_from_caps(caps), GstVideo.VideoAlignment()
            alignment.reset()
            alignment.padding_right = wider
            self.info.align(alignment)
            self.type = np.dtype("<u2" if "16" in self.info.finfo.name else "u1")
            self.shape = self.info.height, self.info.width, self.info.finfo.n_components
        elif self.name == "audio":
            self.type = np.dtype(AUDIO[fields.get_string("format")])
            self.shape = 1, -1, fields.get_value("channels")
        else:
            self.type = np.dtype(fields.get_string("types").split(",")[0])
            dims = [list(map(int, one.split(":"))) + [1]
                    for one in fields.get_string("dimensions").split(",")]
            self.memories, size = len(dims), sum(map(np.prod, dims))
            channels, columns = dims[0][:2] if len(dims) == 1 else (size, 1)
            self.shape = size // channels // columns, columns, channels

    def get_component(self, data, buffer, i):
        """Returns component i, such as R or Cb, of a frame's bytes, by its meta's layout."""
        kind, (height, width, _) = self.info.finfo, self.shape
        layout, plane = GstVideo.buffer_get_video_meta(buffer) or self.info, kind.plane[i]
        if self.info.interlace_mode != GstVideo.VideoInterlaceMode.PROGRESSIVE and kind.h_sub[i]:
            height = -(-height // 4) * 4  # each field has whole rows of chroma
        return np.ndarray((-(-height >> kind.h_sub[i]), -(-width >> kind.w_sub[i])), self.type,
                          data, layout.offset[plane] + kind.poffset[i],
                          (layout.stride[plane], kind.pixel_stride[i]))

    def encode(self, values):
        values = np.array(values).astype(self.type)
        size = self.info.size if self.name == "video" and values.size else values.nbytes
        buffer = Gst.Buffer.new_wrapped(bytes(size)) if size else Gst.Buffer.new()
        self.write(buffer, values)
        return buffer

    def write(self, buffer, values):
        values = values.astype(self.type)
        data = values.tobytes()
        if self.name == "video" and values.size:
            data = bytearray(buffer.extract_dup(0, buffer.get_size()))
            for i, component in enumerate(np.moveaxis(values.reshape(self.shape), 2, 0)):
                self.get_component(data, buffer, i)[...] = component
        buffer.fill(0, bytes(data))

    def read(self, buffer):
        return self.decode(buffer).astype(self.type).tobytes()

    def is_interlaced(self, buffer):
        mode, modes = self.info.interlace_mode, GstVideo.VideoInterlaceMode
        return (mode == modes.INTERLEAVED or mode == modes.MIXED and buffer.has_flags(INTERLACED))

    def decode(self, buffer):
        """Returns the numbers of a buffer. A chroma sample applies to 2 x 2 pixels, of an
        interlaced frame to those of its field; luma and chroma become colours."""
        data = buffer.extract_dup(0, buffer.get_size())
        if self.name != "video":
            return np.frombuffer(data, self.type).reshape(self.shape).astype(float)
        kind, y = self.info.finfo, np.arange(self.info.height)
        halved = y // 4 * 2 + y % 2 if self.is_interlaced(buffer) else y // 2
        parts = [self.get_component(data, buffer, i)[halved if kind.h_sub[i] else y]
                 .repeat(1 << kind.w_sub[i], 1)[:, :self.info.width].astype(float)
                 for i in range(kind.n_components)]
        if kind.flags & GstVideo.VideoFormatFlags.YUV:
            return colours(*parts, self.fields.get_string("colorimetry"))[0]
        return np.stack(parts, 2)
