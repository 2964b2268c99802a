#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCL memory between elements: the same results as through the system's, and no copies; that of
others, which is laid out strangely or from elsewhere; and memory that elements between change, that
comes late, and that is never there. memory.py has the memory itself."""

import ctypes
import time
from ctypes import byref, c_size_t, c_void_p

from cl_memory import CL, OPENCL, READ, WRITE, Gate, Map, Memory, Unmapped, get_allocator
from gemmcl import get_device
from interposed import pretend_discrete
from medium import Medium
from stream import (GST, OK, Gst, GstVideo, TestCase, audio, change_buffers, collect_log, main, np,
                    share, video)

RGB, STEREO = video("RGB", 53, 9), audio("S16LE", 2)
OPENCL_RGB = RGB.replace("x-raw", "x-raw(memory:OpenCL)")
FRAMES = Medium(Gst.Caps.from_string(RGB))
BYTES = 53 * 9 * 3
N = 12
LONG = 40  # runs, two of them timed after the first: 16 and 32
CONTEXT = 0x1106  # CL_MEM_CONTEXT
QUEUE_PROPERTIES, PROFILING = 0x1093, 2  # CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE
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


def get_context(buffer):
    """The cl_context of a cl_mem."""
    context = c_void_p()
    CL.clGetMemObjectInfo(c_void_p(buffer), CONTEXT, c_size_t(8), byref(context), None)
    return context.value


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
        medium = Medium(stream.sink.get_current_caps())
        return [medium.read(output) for output in outputs]

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

    def make_frame(self, stream, offset=0, stride=159, seed=0):
        """A frame in the memory that the element offers, its rows stride bytes apart and behind
        offset bytes."""
        allocator = get_allocator(stream, OPENCL_RGB)
        buffer = Gst.Buffer.new_allocate(allocator, offset + 9 * stride, None)
        GstVideo.buffer_add_video_meta_full(buffer, 0, GstVideo.VideoFormat.RGB, 53, 9, 1,
                                            [offset, 0, 0, 0], [stride, 0, 0, 0])
        buffer.memset(0, 255, buffer.get_size())
        FRAMES.write(buffer, np.arange(BYTES) + 31 * seed)
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
        self.assertEqual(sum("would avoid that" in line for line in lines), 4)

    def run_changed(self, text, inverted=None, blended=None):
        """What N frames give. Outputs of the element "inverted" are inverted by one behind it that
        works in place. The beta of "blended" is twice 0, then .5 by turns, so that outputs of both
        are previous ones of both."""
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
        """An element that knows nothing of OpenCL, and works in place."""
        device, found = self.run_changed(f"{WEIGHT} ! identity name=cpu ! {WEIGHT} name=b", "cpu")
        _, expected = self.run_changed(f"{WEIGHT} {HOST} identity name=cpu ! {WEIGHT}", "cpu")
        self.has_memory(device, "b", "OpenCL to system", N * BYTES)
        self.assertEqual(found, expected)

    def test_tee(self):
        """One buffer on two ways: what one of them does the other does not see."""
        device, found = self.run_changed(
            f"{WEIGHT} ! tee name=t ! identity name=cpu ! fakesink async=false sync=false "
            f"t. ! queue ! {WEIGHT} name=b", "cpu")
        _, expected = self.run_changed(f"{WEIGHT} {HOST} {WEIGHT}")
        self.has_memory(device, "b", "OpenCL to system", N * BYTES)
        self.assertEqual(found, expected)

    def test_beta(self):
        """The next output does not show changes that others make to this one."""
        for settings in "queue-depth=1", "queue-depth=4", f"queue-depth=2 {FORCE}":
            with self.subTest(settings=settings):
                text = f"{WEIGHT} name=a {settings}"
                _, plain = self.run_changed(text, None, "a")
                _, inverted = self.run_changed(text, "a", "a")
                self.assertEqual(plain, [bytes(255 - byte for byte in output)
                                         for output in inverted])

    def hold(self, buffer):
        """Returns a gate before which the buffer is not written."""
        memory = Memory(buffer.peek_memory(0))
        gate = Gate(memory.context)
        memory.use(WRITE, gate)
        return gate

    def test_late_input(self):
        """The host does not wait for what the device has still to do; what fails there is an error.
        Whoever maps the output waits: the host, and DL Streamer, which maps with a flag of the same
        value as gemmcl's, alone, and asks for no events: it gets the cl_mem after the last write.
        """
        for flags, fails in (READ, False), (READ, True), (OPENCL, False), (OPENCL, True):
            with self.subTest(flags=flags, fails=fails):
                stream = self.start(OPENCL_RGB, f"{WEIGHT} queue-depth=2 ! "
                                    f"{WEIGHT} queue-depth=2 {FORCE}")
                frame = self.make_frame(stream)
                gate = self.hold(frame)
                self.assertEqual(stream.push(frame), OK)
                memory = Memory(stream.pull_buffer().peek_memory(0))
                self.assertFalse(gate.is_open)
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
        """What LONG frames give, each of which adds to the previous result. The last run before a
        change of queues is late if the device is discrete."""
        stream = self.start(OPENCL_RGB,
                            f"{WEIGHT} alpha=.5 beta=.5 queue-depth=3 auto-tune=off")
        frames = [self.make_frame(stream, seed=seed) for seed in range(LONG)]
        found, gate = [], None
        for i, frame in enumerate(frames):
            if is_discrete and i in (15, 32):
                gate = self.hold(frame)
            self.assertEqual(stream.push(frame), OK)
            if is_discrete and i in (16, 33):
                time.sleep(0.02)
                gate.open()
            # Outputs return to their pool. To make more of them would wait for the late run, as
            # would more frames.
            if i % 13 == 12:
                found += [FRAMES.read(stream.pull_buffer()) for _ in range(13)]
            if i == 0:
                self.kernels.clear()
        return found + self.end(stream, LONG - len(found))

    def test_untimed(self):
        """On a device with memory of its own one run of 16 is timed, in another queue than the
        rest. The runs follow one another in both."""
        self.kernels = []  # which of them are timed
        self.replace("clEnqueueNDRangeKernel", self.count_kernel)
        with pretend_discrete():
            discrete = self.run_long(True)
        timed = sum(self.kernels)
        self.assertGreater(timed, 0)
        self.assertEqual((len(self.kernels) - timed) * 2, timed * 37)
        self.doCleanups()
        self.assertEqual(self.run_long(False), discrete)


main()
