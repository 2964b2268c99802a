#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pool of OpenCL memory that the element offers upstream: the layout of frames. memory.py has
buffers that come back, and offer.py pools of other memory."""

from stream import Gst, GstVideo, TestCase, main

FORMATS = [("RGB", 5 * 3 * 3, [15], [0]), ("GRAY16_LE", 5 * 3 * 2, [10], [0]),
           ("NV12", 5 * 3 + 2 * 6, [5, 6], [0, 15]),
           ("I420", 5 * 3 + 2 * 2 * 3, [5, 3, 3], [0, 15, 21])]


def frames(pixels, size="width=5,height=3"):
    return Gst.Caps.from_string(
        f"video/x-raw(memory:OpenCL),format={pixels},{size},framerate=1/1")


class Pool(TestCase):
    def setUp(self):
        super().setUp()
        stream = self.start(frames("RGB").to_string(), "gemmcl weight=[[1],[1],[1]]")
        query = Gst.Query.new_allocation(frames("RGB"), True)
        self.assertTrue(stream.src.peer_query(query))
        self.pool = query.parse_nth_allocation_pool(0)[0]

    def configure(self, caps):
        config = self.pool.get_config()
        Gst.BufferPool.config_set_params(config, caps, 0, 0, 0)
        return self.pool.set_config(config)

    def test_layout(self):
        """Rows follow one another, and whatever maps frames finds them."""
        for pixels, size, strides, offsets in FORMATS:
            with self.subTest(pixels=pixels):
                self.assertTrue(self.configure(frames(pixels)))
                self.assertTrue(self.pool.set_active(True))
                buffer = self.pool.acquire_buffer(None)[1]
                self.assertEqual(buffer.get_size(), size)
                info = GstVideo.VideoInfo.new_from_caps(frames(pixels))
                mapped, frame = GstVideo.VideoFrame.map(info, buffer, Gst.MapFlags.READ)
                self.assertTrue(mapped)
                planes = frame.info.finfo.n_planes
                self.assertEqual([frame.info.stride[:planes], frame.info.offset[:planes]],
                                 [strides, offsets])
                frame.unmap()
                del frame, buffer
                self.assertTrue(self.pool.set_active(False))

    def test_refused(self):
        for caps in (frames("YUY2"), frames("RGBA", "width=65535,height=65535"),
                     Gst.Caps.from_string("video/x-raw(memory:OpenCL),width=65535")):
            self.assertFalse(self.configure(caps))


main()
