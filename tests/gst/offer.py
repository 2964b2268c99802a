# SPDX-License-Identifier: LGPL-2.1-or-later
"""Allocation: the memory that the element offers upstream and that the device reads without a copy,
the copies that other memory costs, and the memory of outputs. On GPUs a search for a faster kernel
would copy, too, and keep a context alive that later streams would get."""

import functools

from cl_memory import count_copies, pretend_discrete, reset_copies
from gemmcl import CPU, get_info
from medium import Medium
from stream import (GST, OK, GLib, Gst, GstVideo, TestCase, audio, c_void_p, collect_log, join,
                    main, np, tensors, video)

RGB, GRAY, STEREO = video("RGB", 53, 9), video("GRAY8", 8, 8), audio("S16LE", 2)
TWO = tensors("3:5,7", "float32,uint8", "0/1")
WEIGHT = "gemmcl name=a auto-tune=off weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]]"
BYTES, PADDED, PAGE = 53 * 9 * 3, 160 * 9, 4096
A_GAPS, D_GAPS = (f"{which} are copied because their rows have gaps" for which in
                  ("inputs", "outputs"))
COUNT = 12
FRAME = Medium(Gst.Caps.from_string(RGB))
SEEN = GLib.quark_from_string("seen")
GST.gst_mini_object_get_qdata.restype = c_void_p


def make_plain():
    return Gst.Buffer.new_allocate(None, PADDED, None)


def make_strange():
    """Returns a frame with bytes before it and around its rows, at an unaligned address."""
    buffer = Gst.Buffer.new_allocate(None, 8 + 9 * 211, None)
    buffer.resize(1, -1)
    GstVideo.buffer_add_video_meta_full(buffer, 0, GstVideo.VideoFormat.RGB, 53, 9, 1,
                                        [7, 0, 0, 0], [211, 0, 0, 0])
    return buffer


def make_memories(sizes, odd):
    """Returns a buffer with memories of these sizes, at odd or at aligned addresses."""
    buffer, params = Gst.Buffer.new(), Gst.AllocationParams()
    params.align = 63
    for size in sizes:
        whole = Gst.Buffer.new_allocate(None, PAGE + size, params)
        whole.resize(odd, size)
        whole.fill(0, bytes(size))
        buffer.append_memory(whole.get_memory(0))
    return buffer


def make_pool(pool, size, least, most, with_meta=False):
    """Returns a function that acquires buffers of a pool without waiting."""
    params = Gst.BufferPoolAcquireParams()
    params.flags = Gst.BufferPoolAcquireFlags.DONTWAIT
    config = pool.get_config()
    Gst.BufferPool.config_set_params(config, Gst.Caps.from_string(RGB), size, least, most)
    if with_meta:
        Gst.BufferPool.config_add_option(config, "GstBufferPoolOptionVideoMeta")
    assert pool.set_config(config) and pool.set_active(True)

    def acquire():
        flow, buffer = pool.acquire_buffer(params)
        assert flow == OK, flow
        return buffer
    return acquire


class Offer(TestCase):
    def setUp(self):
        super().setUp()
        self.is_shared = get_info().host_unified
        # On such devices the number of copies is known, also for small buffers.
        self.is_counted = self.is_shared and get_info().type == CPU

    def has_pages(self, buffer):
        memory = buffer.peek_memory(0)
        _, offset, most = memory.get_sizes()
        self.assertEqual(offset, 0)
        self.assertGreaterEqual(most, -(-buffer.get_size() // PAGE) * PAGE)
        with memory.map(Gst.MapFlags.READ) as found:
            self.assertEqual(np.frombuffer(found.data, "u1").ctypes.data % PAGE, 0)

    def run_drawn(self, stream, make=make_plain, check=None):
        """Returns the output frames, and the copies after the first frame."""
        for seed in range(COUNT):
            buffer = make()
            if check:
                check(buffer)
            FRAME.write(buffer, np.random.default_rng(seed).integers(0, 256, (9, 53, 3)))
            self.assertEqual(stream.push(buffer), OK)
            del buffer
            if seed == 0:  # these copies include the weights
                reset_copies()
        found = count_copies()
        frames = list(map(FRAME.decode, stream.end()))
        self.assertEqual(len(frames), COUNT)
        self.is_quiet(stream)
        return np.array(frames), found

    def notes(self, lines, words, count=1, marker="would avoid that"):
        """The log has each of the words count times, and no other lines with the marker."""
        for word in words:
            self.assertEqual(sum(word in line for line in lines), count, word)
        self.assertEqual(sum(marker in line for line in lines), count * len(words), lines)

    # Each case: whether the device has memory of its own; the maker of upstream's memory, or
    # whether the pool's buffers have a GstVideoMeta; the copies of A, and the number of them that
    # the allocator of pinned memory makes; the notes in the log.
    INPUTS = [
        # Rows have no gaps if upstream supports GstVideoMeta; otherwise GStreamer's layout.
        (False, True, 0, 0, [D_GAPS]), (False, False, 1, 0, [A_GAPS, D_GAPS]),
        (False, make_strange, 1, 0, [A_GAPS, D_GAPS]),
        # A device with memory of its own copies frames from pinned memory by itself.
        (True, True, 1, 1, [D_GAPS]), (True, False, 2, 1, [A_GAPS, D_GAPS]),
        (True, make_plain, 1, 0, ["from pageable memory", D_GAPS]),
    ]

    def check_memory(self, discrete, with_meta, buffer):
        meta = GstVideo.buffer_get_video_meta(buffer)
        if discrete:
            self.assertTrue(buffer.peek_memory(0).is_type("GemmclMemory"))
        else:
            self.has_pages(buffer)
        if with_meta:
            self.assertEqual(meta.stride[0], 159)
        elif not discrete:
            self.assertIsNone(meta)
            self.assertEqual(buffer.get_size(), PADDED)

    def test_inputs(self):
        """Frames in each kind of memory give the results of plain buffers. Each D is copied once on
        the device, into the default layout, as downstream lacks GstVideoMeta."""
        expected, _ = self.run_drawn(self.start(RGB, WEIGHT))
        for discrete, make, copied, writes, noted in self.INPUTS:
            is_pool = isinstance(make, bool)
            if is_pool and not discrete and not self.is_shared:
                continue
            self.doCleanups()  # the next stream gets a new context
            with self.subTest(discrete=discrete, make=make), pretend_discrete(discrete), \
                    collect_log("GST_PERFORMANCE", Gst.DebugLevel.INFO) as lines:
                stream, check = self.start(RGB, f"{WEIGHT} queue-depth=3"), None
                if is_pool:
                    pool = stream.ask_allocation(RGB).parse_nth_allocation_pool(0)
                    check = functools.partial(self.check_memory, discrete, make)
                    make = make_pool(*pool, make)
                frames, copies = self.run_drawn(stream, make, check)
                np.testing.assert_array_equal(frames, expected)
                if is_pool and discrete:
                    self.assertEqual(stream.get_stat("memory"), "OpenCL to system")
                    self.assertEqual(stream.get_stat("bytes"), COUNT * BYTES)
                    self.assertEqual(copies.writes, writes * (COUNT - 1))
                if discrete or self.is_counted:
                    self.assertEqual(copies.writes + copies.copies, (1 + copied) * (COUNT - 1))
                    self.assertEqual(stream.get_stat("copies-per-buffer"), 1 + copied - writes)
                    self.notes(lines, noted)

    def test_copies(self):
        """The copies of a buffer of tensors or audio, also the copies before its run. A copy by
        GStreamer may be unaligned for the device, and then be copied again."""
        if not self.is_counted:
            self.skipTest("copies are not counted on this device")
        for text, caps, sizes, odd, least, more, noted in [
                ("weight=[[1],[2],[3]]", TWO, (60, 7), 0, 0, 0, []),
                ("weight=[[1],[2],[3]]", TWO, (60, 7), 2, 1, 1, ["elements are not aligned"]),
                ("weight=[[1],[2],[3]] ! capsfilter caps=other/tensors(memory:OpenCL)", TWO,
                 (60, 7), 0, 1, 0, ["tensors that pass"]),
                ("weight=[[1],[2]]", STEREO, (64,), 0, 0, 0, []),
                # The previous output, which beta needs, is not copied.
                ("weight=[.5] beta=.5", GRAY, (64,), 0, 0, 0, []),
                ("weight=[[1],[2]]", STEREO, (64, 64), 0, 1, 1, ["in several memories"]),
                ("weight=[[1],[2]] batch-size=2 batch-timeout=0", STEREO, (64,), 0, 2, 0, [])]:
            with self.subTest(text=text, sizes=sizes, odd=odd), \
                    collect_log("GST_PERFORMANCE", Gst.DebugLevel.INFO) as lines:
                stream = self.start(caps, f"gemmcl name=a {text}")
                name = "a" if "!" in text else None
                self.assertEqual(stream.get_stat("copies-per-buffer", name), 0)
                for i in range(COUNT):
                    self.assertEqual(stream.push(make_memories(sizes, odd)), OK)
                    if i == 0:  # these copies include the weights
                        reset_copies()
                calls = count_copies()
                stream.end()
                self.is_quiet(stream)
                found = stream.get_stat("copies-per-buffer", name)
                self.assertTrue(least <= found <= least + more, found)
                if not least:
                    self.assertLessEqual(calls.reads + calls.writes + calls.copies, more * COUNT)
                self.notes(lines, noted, 1, *noted if more else [])

    def test_notes(self):
        """A copy is logged again after new caps, which may avoid it."""
        if not self.is_counted:
            self.skipTest("copies are not counted on this device")
        with collect_log("GST_PERFORMANCE", Gst.DebugLevel.INFO) as lines:
            stream = self.start(RGB, WEIGHT)
            for rate in 5, 6, 7:
                self.assertTrue(stream.push_caps(RGB.replace("10/1", f"{rate}/1")))
                for _ in range(COUNT):
                    self.assertEqual(stream.push(make_strange()), OK)
            stream.end()
        self.notes(lines, [A_GAPS, D_GAPS], 3)

    def test_small_pool(self):
        """A small pool of upstream always has a buffer left, also while batches are in flight."""
        for most in range(2, 13):
            stream = self.start(RGB, f"{WEIGHT} batch-size=3 queue-depth=3 batch-timeout=0")
            self.run_drawn(stream, make_pool(Gst.BufferPool.new(), PADDED, 2, most))

    def test_media(self):
        """The offers for each medium: an allocator, for an upstream without pools, and a pool, for
        buffers of one size in a single memory. For foreign memory the element states only the
        number of buffers that it holds, and that it accepts any strides."""
        if not self.is_shared:
            self.skipTest("the device has memory of its own")
        surfaces = video("NV12", 64, 8).replace("x-raw", "x-raw(memory:VAMemory)")
        for weight, caps, asked, params, pools, size, meta in [
                ("[[1],[2],[3]]", RGB, RGB, 1, 1, PADDED, True),
                ("[[1],[2]]", STEREO, STEREO, 1, 0, 0, False),
                ("[[1],[2],[3]]", tensors("3:5"), tensors("3:5"), 1, 1, 60, False),
                ("[[1],[2],[3]]", TWO, TWO, 1, 0, 0, False),
                ("[[1],[2],[3]]", RGB, surfaces, 0, 1, 64 * 8 * 3 // 2, True)]:
            with self.subTest(asked=asked):
                stream = self.start(caps, f"gemmcl auto-tune=off weight={weight}")
                query = stream.ask_allocation(asked)
                self.assertEqual(query.get_n_allocation_params(), params)
                if params:
                    allocator, found = query.parse_nth_allocation_param(0)
                    self.assertEqual((allocator, found.align), (None, PAGE - 1))
                    if size:
                        self.has_pages(Gst.Buffer.new_allocate(allocator, size, found))
                self.assertEqual(query.get_n_allocation_pools(), pools)
                if pools:
                    pool, *sizes = query.parse_nth_allocation_pool(0)
                    self.assertEqual(sizes[:2], [size, 2])
                    self.assertEqual(pool is None, asked == surfaces)
                self.assertEqual(query.find_allocation_meta(
                    GstVideo.video_meta_api_get_type())[0], meta)

    def test_held(self):
        """The pool has buffers for all runs in flight, and for a batch without its last buffer."""
        if not self.is_shared:
            self.skipTest("the device has memory of its own")
        for settings, least in [("batch-size=3 queue-depth=2", 8), ("queue-depth=5", 5)]:
            query = self.start(RGB, f"{WEIGHT} {settings}").ask_allocation(RGB)
            self.assertEqual(query.parse_nth_allocation_pool(0)[2], least)

    def test_forced(self):
        """Between two elements system memory is mapped by the host, and read on the device."""
        with pretend_discrete():
            stream = self.start(RGB, f"{WEIGHT} ! video/x-raw ! "
                                "gemmcl name=b weight=[[1,0,0],[0,1,0],[0,0,1]]")
            self.run_drawn(stream)
        for name, memory, count in [("a", "system", 2), ("b", "OpenCL to system", 1)]:
            self.assertEqual(stream.get_stat("memory", name), memory)
            self.assertEqual(stream.get_stat("bytes", name), count * COUNT * BYTES)

    def check_reuse(self, text, caps, sizes, index):
        """Outputs come from a pool: no memory is new after the first four outputs. Before, a larger
        pool may replace the first one, and Python holds one buffer longer."""
        stream = self.start(caps, text)
        for i in range(30):
            output = self.run_buffer(stream, join(map(bytes, sizes)))
            memory = c_void_p(hash(output.peek_memory(index)))
            self.assertTrue(i < 4 or GST.gst_mini_object_get_qdata(memory, SEEN))
            GST.gst_mini_object_set_qdata(memory, SEEN, memory, None)
            del output

    def test_reuse(self):
        for samples in 100, 5000:
            self.check_reuse("gemmcl weight=[[1],[2]]", STEREO, [4 * samples], 0)
        for index, text in enumerate(["weight=[[1],[2],[3]]",
                                      "weight=[[1],[2],[3],[4],[5],[6],[7]] tensor-index=1",
                                      "weight=[[1],[2],[3]] row-outputs=sum"]):
            for force in "", "! capsfilter caps=other/tensors(memory:OpenCL)":
                with self.subTest(text=text, force=force):
                    self.check_reuse(f"gemmcl {text} {force}", TWO, [60, 7], index)

    def test_peer_pool(self):
        """The element does not use a plain pool of downstream, which has no advantage."""
        pool, stream = Gst.BufferPool.new(), self.make(WEIGHT)
        asked = []
        stream.answer_allocation(lambda query: (asked.append(query.type),
                                                query.add_allocation_pool(pool, PADDED, 0, 2)))
        self.assertTrue(stream.play(RGB))
        for _ in range(12):
            self.assertIsNot(self.run_buffer(stream, bytes(PADDED)).pool, pool)
        self.assertTrue(asked)


main()
