# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames in dma-bufs give the same results as in system memory, with any strides and offsets. The
dma-bufs are files in memory, and the doubles import them. va.py tests dma-bufs of surfaces."""

import os
from dataclasses import dataclass

from cl_memory import count_copies, reset_copies
from doubles import (COUNTS, FENCES, HAS_DRM_FORMATS, TestCase, draw, fail, get_video_info, lay_out,
                     make_cropped, make_file, make_frame, make_memory, without)
from medium import crop
from stream import FAILURE, OK, READY, Gst, GstVideo, main, share

N = 4
CAPS = "video/x-raw,format={},width=22,height=14,framerate=30/1"
TEXT = "gemmcl weight=[[.3,.1],[.6,.2],[.1,.9]]"


@dataclass
class Layout:
    """How a frame lies in a dma-buf.

    before: bytes of the dma-buf before the memory; gap: bytes in the memory before each plane
    padding: bytes after each row; pieces: "whole": one memory; "planes", "files": a memory or a
    dma-buf for each plane"""

    before: int = 0
    gap: int = 0
    padding: int = 0
    pieces: str = "whole"

    def make(self, info, seed):
        planes, offsets, ends = draw(info, seed), [], [self.before]
        strides = [plane.shape[1] + self.padding for plane in planes]
        for plane, stride in zip(planes, strides):
            offsets.append(ends[-1] + self.gap)
            ends.append(offsets[-1] + len(plane) * stride)
        data, buffer = lay_out(planes, ends[-1], offsets, strides), Gst.Buffer.new()
        file = make_file(data)
        if self.pieces == "whole":
            buffer.append_memory(make_memory(os.dup(file), self.before, ends[-1]))
            offsets = [offset - self.before for offset in offsets]
        else:
            for i, (start, end) in enumerate(zip(offsets, ends[1:])):
                offsets[i] = buffer.get_size()
                buffer.append_memory(
                    make_memory(make_file(data[start:end]), 0, end - start)
                    if self.pieces == "files" else make_memory(os.dup(file), start, end))
        os.close(file)
        if self.before:  # a part of another memory
            whole = buffer.peek_memory(0)
            buffer.replace_memory(0, whole.share(0, whole.get_sizes()[0]))
        GstVideo.buffer_add_video_meta_full(
            buffer, 0, info.finfo.format, info.width, info.height, len(planes),
            offsets + [0] * (4 - len(planes)), strides + [0] * (4 - len(planes)))
        return buffer


ODD, ODD_PLANES = Layout(52, 7, 3), Layout(52, 7, 3, "planes")


class Dmabufs(TestCase):
    def play_dmabufs(self, layout, pixels="NV12", settings="", is_drm=False, before=""):
        """Plays two frames by turns, each twice; each is imported once."""
        caps = CAPS.format(pixels)
        frames = [layout.make(get_video_info(caps), seed) for seed in range(2)]
        if is_drm:  # as since GStreamer 1.24
            for frame in frames:
                GstVideo.buffer_get_video_meta(frame).format = GstVideo.VideoFormat.DMA_DRM
            caps = caps.replace("format=", "format=DMA_DRM,drm-format=")
        return self.play(f"{before} {TEXT} {settings}", caps.replace("raw", "raw(memory:DMABuf)"),
                         frames * (N // 2))

    def agree(self, memory, layout, pixels="NV12", settings="", is_drm=False):
        caps = CAPS.format(pixels)
        expected = self.play(f"{TEXT} {settings}", caps,
                             [make_frame(caps, i % 2) for i in range(N)])
        reset_copies()
        found = self.play_dmabufs(layout, pixels, settings, is_drm)
        self.is_well(found, N, memory, expected)
        self.is_clean()

    def test_import(self):
        """A dma-buf in the plan's layout is read in place; in another, each plane is copied once.
        Planes may be in several memories of one dma-buf; those of several are copied."""
        for pixels, layout, copies in [
                ("NV12", Layout(), 0), ("NV12", Layout(padding=10), 2 * N), ("NV12", ODD, 2 * N),
                ("I420", ODD, 3 * N), ("BGRx", Layout(padding=10), N), ("RGB", Layout(), 0),
                ("NV12", Layout(pieces="planes"), 0), ("NV12", ODD_PLANES, 2 * N),
                ("I420", ODD_PLANES, 3 * N), ("I420", Layout(padding=3, pieces="files"), None)]:
            with self.subTest(pixels=pixels, layout=layout):
                imports = copies is not None
                imported, acquired = COUNTS.dmabuf_objects, COUNTS.acquires
                self.agree("DMABuf to system" if imports else "system", layout, pixels)
                self.assertEqual(COUNTS.dmabuf_objects - imported, 2 if imports else 0)
                self.assertEqual(COUNTS.acquires - acquired, N if imports else 0)
                if imports:
                    self.assertEqual(count_copies().copies, copies)

    def test_crop(self):
        whole = CAPS.format("NV12")
        part = whole.replace("22", "12").replace("14", "8")
        for place in (4, 2, 12, 8), (5, 3, 12, 8):
            expected = self.play(TEXT, part, [make_cropped(whole, i, place) for i in range(N)])
            for memory, layout in ("DMABuf to system", ODD), ("system", Layout(pieces="files")):
                frames = (crop(layout.make(get_video_info(whole), i), *place) for i in range(N))
                found = self.play(TEXT, part.replace("raw", "raw(memory:DMABuf)"), frames)
                self.is_well(found, N, memory, expected)
                self.is_clean()

    def test_inflight(self):
        self.agree("DMABuf to system", ODD, settings="batch-size=2 queue-depth=2")

    def test_tee(self):
        """Two elements import the same dma-buf separately, so that their runs do not acquire the
        same object. The first branch has no queue, so it is done when the second one ends."""
        imported = COUNTS.dmabuf_objects
        found = self.play_dmabufs(ODD, before="tee name=t  t. ! gemmcl weight=[[1],[1],[1]]"
                                  " ! fakesink  t. ! queue !", settings="name=g")
        self.is_well(found, N, "DMABuf to system")
        self.assertEqual(COUNTS.dmabuf_objects - imported, 4)
        self.is_clean()

    def test_other_context(self):
        """After a change of contexts, an element imports a dma-buf again."""
        stream = self.make(TEXT)
        caps = CAPS.format("NV12")
        frame = ODD.make(get_video_info(caps), 0)
        for _ in range(2):
            context = self.make_context()
            share(stream.element, context)
            self.assertTrue(stream.play(caps.replace("raw", "raw(memory:DMABuf)")))
            self.assertEqual(stream.push(frame), OK)
            stream.element.set_state(READY)
        self.is_quiet(stream)

    def test_mapped(self):
        """A device that cannot import dma-bufs gets copies of the mapped frames."""
        acquired = COUNTS.acquires
        with without("va,dmabuf"):
            for layout in Layout(), Layout(padding=10), ODD:
                self.agree("system", layout)
        self.assertEqual(COUNTS.acquires, acquired)

    def test_order(self):
        """If the device imports dma-bufs, the element offers them before system memory."""
        for extensions, is_last in ("", False), ("va,dmabuf", True):
            with without(extensions):
                stream = self.make("gemmcl")
                self.assertNotEqual(stream.element.set_state(READY), FAILURE)
                caps = stream.element.get_static_pad("sink").query_caps(None)
                self.assertEqual(caps.get_features(caps.get_size() - 1).contains("memory:DMABuf"),
                                 is_last)

    def test_drm(self):
        if not HAS_DRM_FORMATS:
            self.skipTest("GStreamer before 1.24 has no DRM formats")
        self.agree("DMABuf to system", ODD, is_drm=True)
        with without("va,dmabuf"):
            self.agree("system", ODD, is_drm=True)

    def test_fences(self):
        """The element waits for fences, and lets the driver of the dma-buf finish its writes. A
        dma-buf that is late is left to a map of the host; older kernels do not know the calls."""
        before = FENCES.exports, FENCES.starts, FENCES.ends
        self.agree("DMABuf to system", ODD)
        after = FENCES.exports, FENCES.starts, FENCES.ends
        self.assertEqual([b - a for a, b in zip(before, after)], [N, N, N])
        for name, memory in ("pending", "system"), ("broken", "system"), ("unknown", "DMABuf"):
            with self.subTest(name):
                setattr(FENCES, name, 1)
                self.addCleanup(setattr, FENCES, name, 0)
                self.agree(f"{memory} to system" if memory == "DMABuf" else memory, ODD)
                setattr(FENCES, name, 0)

    def test_failures(self):
        """A dma-buf that the driver does not import is copied; a later failure is an error."""
        imported = COUNTS.dmabuf_objects
        fail("clCreateBufferWithProperties", 1, -61)
        self.agree("DMABuf to system", ODD)
        self.assertEqual(COUNTS.dmabuf_objects - imported, 1)
        for function, words in [("clEnqueueAcquireExternalMemObjectsKHR", "Acquiring shared"),
                                ("clEnqueueReleaseExternalMemObjectsKHR", "Releasing shared"),
                                ("clEnqueueCopyBufferRect", "Copying A")]:
            fail(function, 2, -6)
            self.has_words(self.play_dmabufs(ODD).error, words)
            self.is_clean()


main()
