# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCL memory between elements: the same results as through system memory, without copies. Also
memory of other elements: in unusual layouts, of another context, changed by an element in between,
or whose writes end late or fail. memory.py tests the memory itself."""

import ctypes
import time
from ctypes import byref, c_size_t, c_void_p

from cl_memory import CL, OPENCL, READ, WRITE, Map, Memory, Unmapped, pretend_discrete
from gemmcl import Gate, get_device
from medium import Medium
from stream import (GST, OK, Gst, GstVideo, TestCase, audio, change_buffers, collect_log, main, np,
                    share, video)

RGB, STEREO = video("RGB", 53, 9), audio("S16LE", 2)
OPENCL_RGB = RGB.replace("x-raw", "x-raw(memory:OpenCL)")
FRAMES = Medium(Gst.Caps.from_string(RGB))
BYTES = 53 * 9 * 3
N = 12
LONG = 40  # number of runs; after the first, runs 16 and 32 are timed
CONTEXT = 0x1106  # CL_MEM_CONTEXT
QUEUE_PROPERTIES, PROFILING = 0x1093, 2  # CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE
WEIGHT = "gemmcl weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]]"
FORCE = "! capsfilter caps=video/x-raw(memory:OpenCL)"

# Each chain: the caps; the elements; the filter that replaces "@" in a second run, which forces
# system memory; the number of buffers; and the bytes of a buffer that "b" copies to the host, 0 if
# OpenCL memory follows it. None: that is not checked.
HOST = "! video/x-raw !"
CHAINS = [(RGB, f"{WEIGHT} queue-depth={depth} @ {WEIGHT} queue-depth={depth} name=b @ {WEIGHT} "
           f"queue-depth={depth}", HOST, 20, 0) for depth in (1, 4)] + [
    (RGB, f"{WEIGHT} batch-size=3 @ {WEIGHT} batch-size=4 name=b @ {WEIGHT} batch-size=2", HOST, 20,
     0),
    (RGB, f"{WEIGHT} ! identity ! queue @ {WEIGHT} name=b ! identity", HOST, 5, BYTES),
] + [
    # The previous output stays on the device for the next run, even if downstream holds it.
    (RGB, f"{WEIGHT} alpha=.25 beta=.75 queue-depth={depth} @ "
     f"{WEIGHT} alpha=.5 beta=.5 queue-depth={depth} name=b", HOST, 20, BYTES) for depth in (1, 4)
] + [(STEREO, "gemmcl weight=[[.5,.25],[.25,.5]] @ gemmcl weight=[[.5,1],[1,.5]] name=b",
      "! audio/x-raw !", 30, None),
     (RGB, "gemmcl weight=[[.5,.2],[.25,.5],[0,.25]] @ gemmcl weight=[[1],[-1]] name=b "
      "activation=relu", "! other/tensors !", 5, 53 * 9 * 4)]


def get_context(buffer):
    context = c_void_p()
    CL.clGetMemObjectInfo(c_void_p(buffer), CONTEXT, c_size_t(8), byref(context), None)
    return context.value


class OpenCl(TestCase):
    def run_all(self, text, caps, count):
        """Pushes frames, whose rows GStreamer pads, or audio buffers of different lengths, some
        longer than a pool's buffers. Returns the stream and the outputs."""
        stream, rng = self.start(caps, text), np.random.default_rng(1)
        for i in range(count):
            size = 4 * (1 + 331 * (i % 7)) if caps == STEREO else 9 * 160
            self.assertEqual(stream.push(rng.bytes(size)), OK)
        return stream, self.end(stream, count)

    def end(self, stream, count):
        outputs = stream.end()
        self.assertEqual(len(outputs), count)
        self.is_quiet(stream)
        medium = Medium(stream.sink.get_current_caps())
        return [medium.read(output) for output in outputs]

    def is_opencl(self, stream, name, pad):
        caps = stream[name].get_static_pad(pad).get_current_caps()
        return caps.get_features(0).contains("memory:OpenCL")

    def has_memory(self, stream, name, memory, size):
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
        """Downstream chooses the memory by its caps; if it accepts any, it gets system memory."""
        stream, expected = self.run_all(f"{WEIGHT} name=a ! identity", RGB, 1)
        forced, found = self.run_all(f"{WEIGHT} name=a {FORCE}", RGB, 1)
        self.assertEqual(found, expected)
        self.assertFalse(self.is_opencl(stream, "a", "src"))
        self.assertTrue(self.is_opencl(forced, "a", "src"))
        self.has_memory(forced, "a", "system to OpenCL", BYTES)

    def test_inputs_stay(self):
        """The element does not change an input, which its owner may use again."""
        first = self.start(RGB, f"{WEIGHT} {FORCE}")
        again = self.start(OPENCL_RGB, f"{WEIGHT} ! {WEIGHT} name=b {FORCE}")
        buffer = self.run_buffer(first, np.random.default_rng(1).bytes(9 * 160))
        for _ in range(3):
            self.assertEqual(again.push(buffer), OK)
        self.assertEqual(len(set(self.end(again, 3))), 1)
        self.has_memory(again, "b", "OpenCL", 0)

    def make_buffer(self, stream, size, offset, stride, width=53):
        """Returns a buffer in memory that the element offers, whose video meta has this layout."""
        allocator = stream.ask_allocation(OPENCL_RGB).parse_nth_allocation_param(0)[0]
        buffer = Gst.Buffer.new_allocate(allocator, size, None)
        GstVideo.buffer_add_video_meta_full(buffer, 0, GstVideo.VideoFormat.RGB, width, 9, 1,
                                            [offset, 0, 0, 0], [stride, 0, 0, 0])
        buffer.memset(0, 255, size)
        return buffer

    def make_frame(self, stream, offset=0, stride=159, seed=0):
        buffer = self.make_buffer(stream, offset + 9 * stride, offset, stride)
        FRAMES.write(buffer, np.arange(BYTES) + 31 * seed)
        return buffer

    def test_wrong_metas(self):
        """A video meta is wrong if the frame is not in one memory. Rows may be reversed."""
        for layout in [(9 * 160, 0, 161), (9 * 159, 1, 159), (9 * 159, 9 * 159, 159),
                       (8 * 159, 0, 159), (9 * 159, 7 * 159, -159), (9 * 159, 0, 159, 52)]:
            for caps in RGB, OPENCL_RGB:
                with self.subTest(layout=layout, caps=caps):
                    stream = self.start(caps, WEIGHT)
                    self.fails(stream, self.make_buffer(stream, *layout), "a video meta of this")
        stream = self.start(RGB, WEIGHT)
        halves = self.make_frame(stream)
        halves.append_memory(halves.peek_memory(0).copy(5 * 159, -1))
        halves.replace_memory(0, halves.peek_memory(0).copy(0, 5 * 159))
        self.fails(stream, halves, "a video meta of this")
        stream = self.start(RGB, WEIGHT)
        for offset, stride in (0, 159), (8 * 159, -159):
            buffer = self.make_buffer(stream, 9 * 159, offset, stride)
            buffer.fill(0, np.random.default_rng(1).bytes(9 * 159))
            self.assertEqual(stream.push(buffer), OK)
        plain, reverse = (np.frombuffer(output, "u1").reshape(9, 159)
                          for output in self.end(stream, 2))
        np.testing.assert_array_equal(plain, reverse[::-1])

    def test_strange_inputs(self):
        """Unusual layouts are copied on the device, other contexts' memory through the host."""
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
        self.assertEqual(sum("would avoid that" in line for line in lines), 4)

    def run_changed(self, text, inverted=None, blended=None):
        """Returns the outputs of N frames. inverted: the element whose outputs a probe inverts in
        place. blended: the element whose beta is 0 and .5 for two frames each."""
        stream, rng = self.start(RGB, text), np.random.default_rng(1)

        def get(name):
            return stream[name] if "!" in text else stream.element

        def invert(buffer):
            buffer, info = GST.gst_mini_object_make_writable(c_void_p(buffer)), Map()
            self.assertTrue(GST.gst_buffer_map(c_void_p(buffer), byref(info), READ | WRITE))
            data = np.frombuffer((ctypes.c_ubyte * info.size).from_address(info.data), "u1")
            np.invert(data, out=data)
            GST.gst_buffer_unmap(c_void_p(buffer), byref(info))
            return buffer
        if inverted:
            change_buffers(get(inverted).get_static_pad("src"), invert)
        for i in range(N):
            if blended:
                get(blended).props.beta = 0 if i % 4 < 2 else 0.5
            self.assertEqual(stream.push(rng.bytes(9 * 160)), OK)
        return stream, self.end(stream, N)

    def test_cpu_between(self):
        """An element without OpenCL between two gemmcl works in place."""
        device, found = self.run_changed(f"{WEIGHT} ! identity name=cpu ! {WEIGHT} name=b", "cpu")
        _, expected = self.run_changed(f"{WEIGHT} {HOST} identity name=cpu ! {WEIGHT}", "cpu")
        self.has_memory(device, "b", "OpenCL to system", N * BYTES)
        self.assertEqual(found, expected)

    def test_tee(self):
        """A tee sends a buffer to two branches: changes in one branch do not reach the other."""
        device, found = self.run_changed(
            f"{WEIGHT} ! tee name=t ! identity name=cpu ! fakesink async=false sync=false "
            f"t. ! queue ! {WEIGHT} name=b", "cpu")
        _, expected = self.run_changed(f"{WEIGHT} {HOST} {WEIGHT}")
        self.has_memory(device, "b", "OpenCL to system", N * BYTES)
        self.assertEqual(found, expected)

    def test_beta(self):
        """Changes that downstream makes to an output do not reach the next output through beta."""
        for settings in "queue-depth=1", "queue-depth=4", f"queue-depth=2 {FORCE}":
            with self.subTest(settings=settings):
                text = f"{WEIGHT} name=a {settings}"
                _, plain = self.run_changed(text, None, "a")
                _, inverted = self.run_changed(text, "a", "a")
                self.assertEqual(plain, [bytes(255 - byte for byte in output)
                                         for output in inverted])

    def hold(self, buffer):
        memory = Memory(buffer.peek_memory(0))
        gate = Gate(memory.context)
        memory.use(WRITE, gate)
        return gate

    def test_late_input(self):
        """A push that waits for pending commands of the device would never return. If such a
        command fails, an error is posted. A map of the output waits: a map of the host, and a map
        of DL Streamer, whose flag has the value of GST_GEMMCL_MAP_OPENCL and which uses no events.
        It gets the cl_mem after the last write."""
        for flags, fails in (READ, False), (READ, True), (OPENCL, False), (OPENCL, True):
            with self.subTest(flags=flags, fails=fails):
                stream = self.start(OPENCL_RGB, f"{WEIGHT} queue-depth=2 ! "
                                    f"{WEIGHT} queue-depth=2 {FORCE}")
                frame = self.make_frame(stream)
                gate = self.hold(frame)
                memory = Memory(self.run_buffer(stream, frame).peek_memory(0))
                if fails:
                    gate.open(-1)
                    with self.assertRaises(Unmapped), memory.map(flags):
                        pass
                else:
                    gate.open_late()
                    with memory.map(flags) as info:
                        self.assertTrue(gate.is_open)
                        if flags == OPENCL:
                            self.assertEqual(get_context(info.data), memory.context)
                stream.src.push_event(Gst.Event.new_eos())
                self.assertEqual(stream.pop_message(Gst.MessageType.ERROR) is not None, fails)

    def count_kernel(self, enqueue, queue, *rest):
        properties = ctypes.c_uint64()
        CL.clGetCommandQueueInfo(c_void_p(queue), QUEUE_PROPERTIES, c_size_t(8), byref(properties),
                                 None)
        self.kernels.append(bool(properties.value & PROFILING))
        return enqueue(queue, *rest)

    def run_long(self, is_discrete):
        """Returns LONG outputs, each with the one before added. If discrete, some runs end late."""
        stream = self.start(OPENCL_RGB, f"{WEIGHT} alpha=.5 beta=.5 queue-depth=3 auto-tune=off")
        frames = [self.make_frame(stream, seed=seed) for seed in range(LONG)]
        found, gate = [], None
        for i, frame in enumerate(frames):
            if is_discrete and i in (15, 32):
                gate = self.hold(frame)
            self.assertEqual(stream.push(frame), OK)
            if is_discrete and i in (16, 33):
                time.sleep(0.02)
                gate.open()
            if i % 13 == 12:
                found += [FRAMES.read(stream.pull_buffer()) for _ in range(13)]
            if i == 0:
                self.kernels.clear()
        return found + self.end(stream, LONG - len(found))

    def test_untimed(self):
        """A discrete device times one run of 16 in another queue. Runs keep their order."""
        self.kernels = []  # whether each run is timed
        self.replace("clEnqueueNDRangeKernel", self.count_kernel)
        with pretend_discrete():
            discrete = self.run_long(True)
        timed = sum(self.kernels)
        self.assertGreater(timed, 0)
        self.assertEqual((len(self.kernels) - timed) * 2, timed * 37)
        self.doCleanups()
        self.assertEqual(self.run_long(False), discrete)

    def record_kernel(self, enqueue, queue, *rest):
        self.kernels.append((queue, rest[-3]))
        return enqueue(queue, *rest)

    def test_queues(self):
        """Runs share a plan's memory, so the first in another queue waits for the one before, and
        not only for its frame. PoCL would let it wait anyway, since both have the same B."""
        self.kernels = []  # the queue of each run, and the number of events that it waits for
        self.replace("clEnqueueNDRangeKernel", self.record_kernel)
        for held in 15, 16:  # run 16 is timed
            with self.subTest(held=held), pretend_discrete():
                stream = self.start(OPENCL_RGB, f"{WEIGHT} queue-depth=3 auto-tune=off")
                for seed in range(held + 2):
                    frame = self.make_frame(stream, seed=seed)
                    if seed == held:
                        gate = self.hold(frame)
                    self.assertEqual(stream.push(frame), OK)
                (_, usual), (first, _), (second, count) = self.kernels[-3:]
                gate.open()
                self.assertNotEqual(first, second)
                self.assertEqual(count, usual + 1)
                self.end(stream, held + 2)


main()
