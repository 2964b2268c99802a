#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Batches that batch-timeout ends: when a live stream pauses, the outputs of an incomplete batch
come after that time and no earlier. Also audio buffers whose lengths are in their metadata. flow.py
and streams.py test everything else about batches."""

import ctypes
import time
from ctypes import c_size_t, c_void_p

from stream import OK, Gst, GstAudio, TestCase, audio, main, np, tensors

FRAME = Gst.SECOND // 10
MONO = audio("F32LE", 1)
# Bindings require the offsets of an audio meta.
add_audio_meta = ctypes.CDLL("libgstaudio-1.0.so.0").gst_buffer_add_audio_meta
add_audio_meta.restype = c_void_p
SAMPLES = next(field.get_offset() for field in GstAudio.AudioMeta.__info__.get_fields()
               if field.get_name() == "samples")


def caps(rate):
    return tensors("1:1", rate=rate)


class Batches(TestCase):
    def push(self, stream, index):
        self.assertEqual(stream.push(np.float32(index), pts=index * FRAME), OK)

    def pull(self, stream, index):
        """Takes the next output. Returns the time."""
        buffer, now = stream.pull_buffer(), time.monotonic()
        self.assertEqual(buffer.pts, index * FRAME)
        self.assertFalse(buffer.has_flags(Gst.BufferFlags.DISCONT))
        self.assertEqual(np.frombuffer(buffer.extract_dup(0, 4), "f4"), 2 * index)
        return now

    def test_pause(self):
        """Two of the four buffers of a batch come, several times. Their outputs come after the
        timeout and no earlier; how much later depends on the machine. The default timeout is the
        duration of a batch, by the caps."""
        for timeout, rate, expected in [(100000000, "0/1", 0.1), (5000000, "10/1", 0.005),
                                        (-1, "20/1", 0.2), (-1, "50/1", 0.08)]:
            stream = self.start(caps(rate), "gemmcl weight=[2] batch-size=4 "
                                f"batch-timeout={timeout}")
            for i in range(0, 6, 2):
                begin = time.monotonic()
                self.push(stream, i)
                self.push(stream, i + 1)
                self.assertGreaterEqual(self.pull(stream, i) - begin, expected)
                self.pull(stream, i + 1)
            self.is_quiet(stream)

    def test_full(self):
        """A full batch does not wait. The next batch gets its whole timeout, even if the thread of
        the earlier timeout, which waits for the pad, runs only after that batch has begun."""
        stream = self.start(caps("0/1"),
                            "gemmcl weight=[2] batch-size=2 batch-timeout=200000000")
        begins = []

        def hold(_pad, _info):
            """Holds the pad's lock beyond the first timeout, pushes other buffers, and drops this
            one."""
            if begins:
                return Gst.PadProbeReturn.OK
            begins.append(0)
            time.sleep(0.4)
            self.push(stream, 1)
            self.pull(stream, 0)
            self.pull(stream, 1)
            begins.append(time.monotonic())
            self.push(stream, 2)
            return Gst.PadProbeReturn.DROP

        self.push(stream, 0)
        pad = stream.element.get_static_pad("sink")
        probe = pad.add_probe(Gst.PadProbeType.BUFFER, hold)
        self.push(stream, 9)
        pad.remove_probe(probe)
        self.assertGreaterEqual(self.pull(stream, 2) - begins[1], 0.2)

    def make_audio(self, values, samples):
        """A buffer whose meta states this number of samples, and that number in the meta."""
        buffer, info = Gst.Buffer.new_wrapped(values.tobytes()), GstAudio.AudioInfo()
        info.set_format(GstAudio.AudioFormat.F32, 8000, 1, None)
        meta = add_audio_meta(c_void_p(hash(buffer)), c_void_p(hash(info)), c_size_t(samples), None)
        return buffer, c_size_t.from_address(meta + SAMPLES)

    def test_lengths(self):
        """Buffers of equal sizes but different numbers of samples do not share a batch."""
        stream = self.start(MONO, "gemmcl weight=[2] batch-size=2")
        values = (np.random.default_rng(1).integers(-8, 9, 5000) / 8).astype("f4")
        for samples in 5000, 4, 4:
            self.assertEqual(stream.push(self.make_audio(values, samples)[0]), OK)
        found = [np.frombuffer(buffer.extract_dup(0, buffer.get_size()), "f4")
                 for buffer in stream.end()]
        self.assertEqual(len(found), 3)
        for output, samples in zip(found, (5000, 4, 4)):
            self.same(output, 2 * values[:samples])
        self.is_quiet(stream)

    def test_too_short(self):
        """A buffer that does not hold the samples of its meta is refused."""
        stream = self.start(MONO, "gemmcl weight=[2]")
        buffer, samples = self.make_audio(np.ones(4, "f4"), 4)
        samples.value = 5
        self.fails(stream, buffer, "16 bytes|5 samples of 4 bytes from byte 0|audio meta")


main()
