# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames and audio: their layout in memory, their metas, and refused caps. flow.py tests audio
whose lengths change, values.py the formats."""

import ctypes
from ctypes import c_size_t, c_void_p

from gemmcl import get_info
from medium import Medium, PaddedPool, crop
from numpy_gemm import ACTIVATIONS, activate
from stream import (OK, Gst, GstAudio, GstVideo, TestCase, audio, element, get_bytes, literal, main,
                    np, video)

MONO, STEREO = audio("F32LE", 1), audio("F32LE", 2)
SENTINEL = 0xa5
CROP = GstVideo.video_crop_meta_api_get_type()
# Bindings require the offsets of an audio meta.
add_audio_meta = ctypes.CDLL("libgstaudio-1.0.so.0").gst_buffer_add_audio_meta
add_audio_meta.restype = c_void_p
SAMPLES = next(field.get_offset() for field in GstAudio.AudioMeta.__info__.get_fields()
               if field.get_name() == "samples")


def make_audio(values, samples):
    """Returns a buffer whose meta states this number of samples, and that number in the meta."""
    buffer, info = Gst.Buffer.new_wrapped(values.tobytes()), GstAudio.AudioInfo()
    info.set_format(GstAudio.AudioFormat.F32, 8000, 1, None)
    meta = add_audio_meta(c_void_p(hash(buffer)), c_void_p(hash(info)), c_size_t(samples), None)
    return buffer, c_size_t.from_address(meta + SAMPLES)


class Media(TestCase):
    def doubles(self, stream, n):
        """A buffer of n floats is doubled. It enters the sink pad directly, without new caps."""
        values = np.arange(n, dtype="f4")
        pad = stream.element.get_static_pad("sink")
        self.assertEqual(pad.chain(Gst.Buffer.new_wrapped(values.tobytes())), OK)
        self.assertEqual(stream.pull(), (2 * values).tobytes())

    def test_refused_caps(self):
        """After refused caps the caps before them stay in use, and may come again. With a weight
        that fits the refused caps, these are accepted."""
        stream = self.start(MONO, "gemmcl weight=[2]")
        for n, again in (3, False), (5, True), (7, False):
            self.doubles(stream, n)
            self.assertFalse(stream.push_caps(STEREO))
            self.says(stream, "K = 2|has K = 1")
            if again:
                self.assertTrue(stream.push_caps(MONO))
        stream.element.props.weight = "[[2,0],[0,2]]"
        self.assertTrue(stream.push_caps(STEREO))
        self.doubles(stream, 6)
        self.is_quiet(stream)

    def test_unaligned(self):
        """Samples need not be aligned to their type."""
        stream = self.start(MONO, "gemmcl weight=[2]")
        values = np.arange(4, dtype="f4")
        data = Gst.Buffer.new_wrapped(b"-" + values.tobytes())
        data.resize(1, values.nbytes)
        self.assertEqual(self.run_one(stream, data), (2 * values).tobytes())

    def test_lengths_in_batch(self):
        """Audio buffers of equal sizes whose metas state different lengths do not share a batch."""
        stream, lengths = self.start(MONO, "gemmcl weight=[2] batch-size=2"), (5000, 4, 4)
        values = (np.random.default_rng(1).integers(-8, 9, 5000) / 8).astype("f4")
        inputs = [make_audio(values, samples)[0] for samples in lengths]
        for output, samples in zip(self.run_all(stream, inputs), lengths):
            self.assertEqual(get_bytes(output), (2 * values[:samples]).tobytes())

    def test_too_short(self):
        stream = self.start(MONO, "gemmcl weight=[2]")
        buffer, samples = make_audio(np.ones(4, "f4"), 4)
        samples.value = 5
        self.fails(stream, buffer, "16 bytes|5 samples of 4 bytes from byte 0|audio meta")

    def test_gaps(self):
        """A gap of audio stays a gap if the activation of zeros is zeros."""
        zeros = np.zeros((3, 2), "f4")
        for name in ACTIVATIONS:
            stream = self.start(MONO, f"gemmcl weight=[[1,2]] activation={name}")
            data = Gst.Buffer.new_wrapped(bytes(12))
            data.set_flags(Gst.BufferFlags.GAP)
            self.assertEqual(stream.push(data), OK)
            expected = not activate(name, zeros, 0 * zeros)[0].any()
            with self.subTest(name):
                self.assertEqual(stream.pull_buffer().has_flags(Gst.BufferFlags.GAP), expected)

    def test_metas_of_audio(self):
        """The output keeps the meta of clipping, but not the meta of the audio's level."""
        stream = self.start(MONO, "gemmcl weight=[2]")
        data = Gst.Buffer.new_wrapped(bytes(8))
        GstAudio.buffer_add_audio_clipping_meta(data, Gst.Format.DEFAULT, 1, 0)
        GstAudio.buffer_add_audio_level_meta(data, 30, True)
        output = self.run_buffer(stream, data)
        self.assertIsNotNone(output.get_meta(GstAudio.audio_clipping_meta_api_get_type()))
        self.assertIsNone(output.get_meta(GstAudio.audio_level_meta_api_get_type()))

    def test_metas_of_video(self):
        """The output keeps metas about the frame if it is a frame, and those about the stream."""
        for weight, caps in [
                ("[[1,0,0],[0,1,0],[0,0,1]]", "video/x-raw,colorimetry=sRGB,framerate=10/1"),
                ("[[1,0],[0,1],[0,0]]", "other/tensors,dimensions=(string)2:4:2,framerate=10/1")]:
            stream = self.start(video("RGB", 4, 2) + ",colorimetry=sRGB", f"gemmcl weight={weight}")
            data, stamp = Gst.Buffer.new_wrapped(bytes(24)), Gst.Caps.from_string("timestamp/x-a")
            GstVideo.buffer_add_video_region_of_interest_meta(data, "face", 0, 0, 1, 1)
            crop(data, 0, 0, 4, 2)
            data.add_reference_timestamp_meta(stamp, 5, Gst.CLOCK_TIME_NONE)
            output = self.run_buffer(stream, data)
            self.assertEqual(
                output.get_meta(GstVideo.video_region_of_interest_meta_api_get_type()) is not None,
                caps.startswith("video"))
            self.assertIsNone(output.get_meta(CROP))
            self.assertIsNotNone(output.get_reference_timestamp_meta(stamp))
            self.gives(stream, caps)

    def test_metas_with_places(self):
        """Regions and overlays are dropped where a crop moves the frame, or pooling shrinks it."""
        whole, part = video("RGB", 22, 16), video("RGB", 9, 8)
        types = (GstVideo.video_region_of_interest_meta_api_get_type(),
                 GstVideo.VideoOverlayCompositionMeta.get_info().api)
        for settings, place, are_kept in [("", (0, 0), True), ("", (2, 0), False),
                                          ("", (0, 4), False),
                                          ("pool=max pool-size=2", (0, 0), False)]:
            with self.subTest(settings=settings, place=place):
                stream = self.start(part, element(np.eye(3, dtype=int), settings), "video/x-raw")
                frame = crop(self.draw_frame(stream, whole), *place, 9, 8)
                GstVideo.buffer_add_video_region_of_interest_meta(frame, "face", 3, 4, 1, 1)
                pixels = Gst.Buffer.new_wrapped(bytes(4))
                GstVideo.buffer_add_video_meta(pixels, 0, GstVideo.VideoFormat.BGRA, 1, 1)
                GstVideo.buffer_add_video_overlay_composition_meta(
                    frame, GstVideo.VideoOverlayComposition.new(
                        GstVideo.VideoOverlayRectangle.new_raw(pixels, 3, 4, 1, 1, 0)))
                output = self.run_buffer(stream, frame)
                self.assertEqual([output.get_meta(each) is not None for each in types],
                                 2 * [are_kept])

    def test_fields_apart(self):
        for mode in "fields", "alternate":
            stream = self.make("gemmcl weight=[[1],[0],[0]]")
            self.assertFalse(stream.play(video("NV12", 8, 8) + f",interlace-mode={mode}"))
            self.says(stream, f"interlace-mode={mode}|apart|deinterlace")

    def test_missing_chroma(self):
        """GStreamer's layout of interlaced P010 lacks a row of chroma at some heights."""
        for height, lacks in (4, 0), (6, 1), (7, 0):
            caps = video("P010_10LE", 8, height) + ",interlace-mode=interleaved"
            stream = self.start(caps, "gemmcl weight=[[1],[0],[0]]")
            rows = -(-height // 2) * 3
            query = stream.ask_allocation(caps)
            self.assertEqual(query.parse_nth_allocation_pool(0)[1], 16 * (rows + lacks))
            if lacks:
                self.fails(stream, bytes(16 * rows), f"{16 * rows} bytes|{16 * (rows + 1)} bytes")
            else:
                self.run_one(stream, bytes(16 * rows))

    def test_progressive_chroma(self):
        """A progressive frame of a mixed stream does not need that row, in any memory."""
        caps = video("P010_10LE", 8, 6)
        for memory in "", "(memory:OpenCL)":
            found = []
            for more in "", ",interlace-mode=mixed":
                of_memory = caps.replace("raw", f"raw{memory}") + more
                stream = self.start(of_memory, "gemmcl output=tensors weight=[[1],[0],[0]]")
                found.append(self.run_one(stream, self.draw_frame(stream, of_memory)))
            self.assertEqual(*found)

    def draw_frame(self, stream, caps):
        """Returns a frame of these caps, in their memory, with a video meta; the same each time."""
        info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(caps))
        allocator = (stream.ask_allocation(caps).parse_nth_allocation_param(0)[0]
                     if "OpenCL" in caps else None)
        frame = Gst.Buffer.new_allocate(allocator, info.size, None)
        frame.fill(0, np.random.default_rng(1).bytes(info.size))
        GstVideo.buffer_add_video_meta_full(frame, 0, info.finfo.format, info.width, info.height,
                                            info.finfo.n_planes, info.offset, info.stride)
        return frame

    def check_crop(self, pixels, channels, more):
        """A cropped frame gives the pixels that the whole frame gives. Its first pixel may be at
        any place within a sample of chroma, also in a batch."""
        text = element(np.eye(channels, dtype=int), "output=tensors")
        whole, part = (video(pixels, *size) + more for size in ((22, 16), (9, 8)))
        stream = self.start(whole, text)
        expected = np.frombuffer(self.run_one(stream, self.draw_frame(stream, whole)), "f4")
        expected = expected.reshape(16, 22, channels)
        for memory in "", "(memory:OpenCL)":
            whole, part = (caps.replace("raw,", f"raw{memory},") for caps in (whole, part))
            stream = self.start(part, f"{text} batch-size=2")
            places = [(2, 4), (12, 8), (3, 5), (0, 0), (13, 7), (5, 2)]
            outputs = self.run_all(stream, [crop(self.draw_frame(stream, whole), *place, 9, 8)
                                            for place in places])
            for (x, y), output in zip(places, outputs):
                found = np.frombuffer(get_bytes(output), "f4").reshape(8, 9, channels)
                np.testing.assert_allclose(found, expected[y:y + 8, x:x + 9], atol=1e-3)

    def test_crop(self):
        for pixels, channels, more in [
                ("RGB", 3, ""), ("BGRA", 4, ""), ("GRAY16_LE", 1, ""), ("NV12", 3, ""),
                ("I420", 3, ""), ("P010_10LE", 3, ""), ("NV12", 3, ",interlace-mode=interleaved"),
                ("I420", 3, ",interlace-mode=interleaved")]:
            with self.subTest(pixels=pixels, more=more):
                self.check_crop(pixels, channels, more)

    def test_crop_and_n(self):
        """A cropped frame keeps its chroma if it is the first one with a weight of another N."""
        whole, part = video("NV12", 22, 16), video("NV12", 9, 8)
        weights = {n: literal([[1] * n] * 3) for n in (2, 5)}

        def multiply(n, *crops):
            stream = self.start(part, f"gemmcl output=tensors weight={weights[2]}")
            for i, place in enumerate(crops):
                if i == len(crops) - 1:
                    stream.element.props.weight = weights[n]
                frame = crop(self.draw_frame(stream, whole), *place, 9, 8)
                found = np.frombuffer(self.run_one(stream, frame), "f4").reshape(72, -1)
            return found
        for place in (1, 0), (0, 1), (3, 5):
            expected = multiply(2, place)[:, :1].repeat(5, 1)
            for before in place, (4, 4):
                np.testing.assert_allclose(multiply(5, before, place), expected, atol=1e-3)

    def test_wrong_crop(self):
        """A cropped frame has the size that caps state, and lies within the whole frame."""
        caps, text = video("NV12", 8, 8), "gemmcl weight=[[1],[0],[0]]"
        for place, words in [((2, 2, 10, 8), "10x8 pixels at (2, 2)|expected 8x8"),
                             ((2, 2, 8, 6), "8x6 pixels at (2, 2)|expected 8x8"),
                             ((9, 0, 8, 8), "8x8 pixels at (9, 0) of 16x16"),
                             ((0, 2**32 - 2, 8, 8), "of 16x16")]:
            stream = self.start(caps, text)
            frame = self.draw_frame(stream, video("NV12", 16, 16))
            self.fails(stream, crop(frame, *place), f"{words}|GstVideoCropMeta")
        stream = self.start(caps, text)
        self.fails(stream, crop(Gst.Buffer.new_wrapped(bytes(16 * 24)), 2, 2, 8, 8), "of 8x8")

    def test_offered_metas(self):
        """Upstream may crop by metas, in each kind of memory."""
        stream = self.start(video("NV12", 8, 8), "gemmcl weight=[[1],[0],[0]]")
        for memory in "", "(memory:OpenCL)", "(memory:DMABuf)":
            query = stream.ask_allocation(video("NV12", 8, 8).replace("raw,", f"raw{memory},"))
            for meta in GstVideo.video_meta_api_get_type(), CROP:
                self.assertTrue(query.find_allocation_meta(meta)[0])

    def test_strides(self):
        """Rows of input and output have gaps, which are neither read nor written."""
        stream = self.make("gemmcl queue-depth=1 weight=[[0,0,1],[0,1,0],[1,0,0]]", "video/x-raw")
        stream.answer_allocation(PaddedPool().offer)
        self.assertTrue(stream.play(video("RGB", 5, 3)))
        medium, outputs = Medium(Gst.Caps.from_string(video("RGB", 5, 3))), []
        for seed in range(9):
            data = Gst.Buffer.new_wrapped(bytes([SENTINEL] * 127))
            GstVideo.buffer_add_video_meta_full(data, 0, GstVideo.VideoFormat.RGB, 5, 3, 1,
                                                [7, 0, 0, 0], [40, 0, 0, 0])
            medium.write(data, np.arange(45) + seed)
            before = get_bytes(data)
            self.assertEqual(stream.push(data), OK)
            self.assertEqual(get_bytes(data), before)
            output = stream.pull_buffer()
            meta = GstVideo.buffer_get_video_meta(output)
            if not get_info().host_unified:
                self.assertEqual(meta.stride[0], 15)
                self.skipTest("a device with memory of its own writes into the element's pool")
            self.assertGreater(meta.offset[0], 0)
            self.assertGreater(meta.stride[0], 15)
            np.testing.assert_array_equal(medium.decode(output), medium.decode(data)[:, :, ::-1])
            outputs.append(output)
            if seed == 0:  # the element holds the last output
                continue
            # Memory that the pool uses again has the sentinel around its rows.
            output = outputs.pop(0)
            medium.write(output, np.full(45, SENTINEL))
            if seed > 4:
                self.assertEqual(set(get_bytes(output)), {SENTINEL})
            output.memset(0, SENTINEL, output.get_size())


main()
