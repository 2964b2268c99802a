#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCL memory between elements: the same results as through the system's, and no copies; and that
of others, which is laid out strangely or from elsewhere. test-opencl.c has memory that is late, or
that elements between change."""

from gemmcl import get_device
from stream import (OK, Gst, GstVideo, TestCase, audio, collect_log, draw, get_rows, main, np,
                    share, video)

RGB, STEREO = video("RGB", 53, 9), audio("S16LE", 2)
OPENCL_RGB = RGB.replace("x-raw", "x-raw(memory:OpenCL)")
BYTES = 53 * 9 * 3
WEIGHT = "gemmcl weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]]"
FORCE = "! capsfilter caps=video/x-raw(memory:OpenCL)"

# The same elements twice, the second time with "@" replaced by what forces system memory; how many
# buffers; and the bytes of each that "b" hands to the host: 0 if it has OpenCL memory behind it.
HOST = "! video/x-raw !"
CHAINS = [
    (RGB, f"{WEIGHT} queue-depth={depth} @ {WEIGHT} queue-depth={depth} name=b @ {WEIGHT} "
     f"queue-depth={depth}", HOST, 20, 0) for depth in (1, 4)
] + [
    (RGB, f"{WEIGHT} batch-size=3 @ {WEIGHT} batch-size=4 name=b @ {WEIGHT} batch-size=2", HOST, 20,
     0),
    (RGB, f"{WEIGHT} ! identity ! queue @ {WEIGHT} name=b ! identity", HOST, 5, BYTES),
] + [
    # The previous output is where the next run needs it, whoever has it meanwhile.
    (RGB, f"{WEIGHT} alpha=.25 beta=.75 queue-depth={depth} @ "
     f"{WEIGHT} alpha=.5 beta=.5 queue-depth={depth} name=b", HOST, 20, BYTES) for depth in (1, 4)
] + [
    (STEREO, "gemmcl weight=[[.5,.25],[.25,.5]] @ gemmcl weight=[[.5,1],[1,.5]] name=b",
     "! audio/x-raw !", 30, None),
    (RGB, "gemmcl weight=[[.5,.2],[.25,.5],[0,.25]] @ gemmcl weight=[[1],[-1]] name=b "
     "activation=relu", "! other/tensors !", 5, 53 * 9 * 4),
]


class OpenCl(TestCase):
    def run_all(self, text, caps, count):
        """Pushes buffers: frames, whose rows GStreamer pads, or audio of all lengths, of which some
        are longer than a pool's. Returns the stream, and what came out."""
        stream, rng = self.start(caps, text), np.random.default_rng(1)
        for i in range(count):
            size = 4 * (1 + 331 * (i % 7)) if caps == STEREO else 9 * 160
            self.assertEqual(stream.push(rng.bytes(size)), OK)
        return stream, self.end(stream, count)

    def end(self, stream, count):
        outputs = stream.end()
        self.assertEqual(len(outputs), count)
        self.is_quiet(stream)
        is_video = "video" in stream.sink.get_current_caps().to_string()
        return [get_rows(output, 53, 9).tobytes() if is_video else
                output.extract_dup(0, output.get_size()) for output in outputs]

    def is_opencl(self, stream, name, pad):
        caps = stream[name].get_static_pad(pad).get_current_caps()
        return caps.get_features(0).contains("memory:OpenCL")

    def has_memory(self, stream, name, memory, size):
        """Where A and D of an element were, and how much went through the host."""
        self.assertEqual((stream.get_stat("memory", name), stream.get_stat("bytes", name)),
                         (memory, size))

    def test_chains(self):
        for caps, text, force, count, size in CHAINS:
            with self.subTest(text=text):
                device, found = self.run_all(text.replace("@", "!"), caps, count)
                host, expected = self.run_all(text.replace("@", force), caps, count)
                self.assertEqual(found, expected)
                self.assertTrue(self.is_opencl(device, "b", "sink"))
                self.assertFalse(self.is_opencl(host, "b", "sink"))
                if size is not None:
                    self.has_memory(device, "b", "OpenCL to system" if size else "OpenCL",
                                    count * size)

    def test_negotiation(self):
        """Downstream says what it wants; one that takes all gets what others can read, too."""
        stream, expected = self.run_all(f"{WEIGHT} name=a ! identity", RGB, 1)
        forced, found = self.run_all(f"{WEIGHT} name=a {FORCE}", RGB, 1)
        self.assertEqual(found, expected)
        self.assertFalse(self.is_opencl(stream, "a", "src"))
        self.assertTrue(self.is_opencl(forced, "a", "src"))
        self.has_memory(forced, "a", "system to OpenCL", BYTES)

    def test_inputs_stay(self):
        """An input stays as it was, though its owner uses it more than once."""
        first = self.start(RGB, f"{WEIGHT} {FORCE}")
        again = self.start(OPENCL_RGB, f"{WEIGHT} ! {WEIGHT} name=b {FORCE}")
        self.assertEqual(first.push(np.random.default_rng(1).bytes(9 * 160)), OK)
        buffer = first.pull_buffer()
        for _ in range(3):
            self.assertEqual(again.push(buffer), OK)
        self.assertEqual(len(set(self.end(again, 3))), 1)
        self.has_memory(again, "b", "OpenCL", 0)

    def make_frame(self, stream, offset, stride):
        """A frame in the memory that the element offers, its rows stride bytes apart and behind
        offset bytes."""
        query = Gst.Query.new_allocation(Gst.Caps.from_string(OPENCL_RGB), True)
        self.assertTrue(stream.src.peer_query(query))
        allocator, _ = query.parse_nth_allocation_param(0)
        buffer = Gst.Buffer.new_allocate(allocator, offset + 9 * stride, None)
        GstVideo.buffer_add_video_meta_full(buffer, 0, GstVideo.VideoFormat.RGB, 53, 9, 1,
                                            [offset, 0, 0, 0], [stride, 0, 0, 0])
        buffer.memset(0, 255, buffer.get_size())
        draw(buffer, np.arange(BYTES).astype("u1").reshape(9, 159))
        return buffer

    def test_strange_inputs(self):
        """Strange layouts are copied on the device; memory of another context by the host. The log
        says why, once."""
        stream, stranger = self.start(OPENCL_RGB, f"{WEIGHT} name=a ! identity"), self.make(WEIGHT)
        share(stranger.element, get_device().cl_context.value)
        self.assertTrue(stranger.play(OPENCL_RGB))
        layouts = [(0, 159), (0, 160), (7, 159), (64, 200)]
        with collect_log("GST_PERFORMANCE", Gst.DebugLevel.INFO) as lines:
            for layout in layouts:
                self.assertEqual(stream.push(self.make_frame(stream, *layout)), OK)
            stream.src.push_event(Gst.Event.new_gap(0, 0))
            self.has_memory(stream, "a", "OpenCL to system", 4 * BYTES)
            for layout in layouts:
                self.assertEqual(stream.push(self.make_frame(stranger, *layout)), OK)
            self.assertEqual(len(set(self.end(stream, 8))), 1)
        self.has_memory(stream, "a", "system", 12 * BYTES)
        reasons = ["inputs are copied because their rows have gaps",
                   "A does not begin at the start", "another context",
                   "outputs are copied because their rows have gaps"]
        self.assertEqual([sum(reason in line for line in lines) for reason in reasons], [1] * 4)
        self.assertEqual(sum("would save that" in line for line in lines), 4)


main()
