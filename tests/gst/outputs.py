#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The memory of outputs: it comes from pools, and nothing of it is copied for the next run."""

from gemmcl import get_info
from interposed import count_copies, reset_copies
from stream import GST, OK, GLib, Gst, TestCase, audio, c_void_p, main, tensors, video

RGB, STEREO = video("RGB", 160, 120), audio("S16LE", 2)
SIZE = 160 * 120 * 3
HALVE = "gemmcl weight=[[.5,0,0],[0,.5,0],[0,0,.5]]"
TWO = tensors("3:5,7", "float32,uint8", "0/1")
SEEN = GLib.quark_from_string("seen")
CPU = 1  # GemmclDeviceType
GST.gst_mini_object_get_qdata.restype = c_void_p


class Outputs(TestCase):
    def check_reuse(self, text, caps, sizes, index):
        """A memory of each output comes from a pool: none is new after the first four, when a pool
        that was too small is gone. Python holds one buffer longer."""
        stream = self.start(caps, text)
        for i in range(30):
            data = Gst.Buffer.new()
            for size in sizes:
                data.append_memory(Gst.Buffer.new_wrapped(bytes(size)).get_memory(0))
            self.assertEqual(stream.push(data), OK)
            output = stream.pull_buffer()
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

    def test_copies(self):
        """Nothing of the frames is copied, whatever beta is."""
        if get_info().type != CPU:
            self.skipTest("copies are not counted on this device")
        params = Gst.AllocationParams()
        params.align = 63
        for beta in 0.5, 0:
            stream = self.start(RGB, f"{HALVE} beta={beta}")
            for i in range(12):
                data = Gst.Buffer.new_allocate(None, SIZE, params)
                data.memset(0, i, SIZE)
                self.assertEqual(stream.push(data), OK)
                if i == 0:
                    reset_copies()
            copies = count_copies()
            self.assertEqual((copies.reads, copies.writes, copies.copies), (0, 0, 0))
            stream.end()
            self.is_quiet(stream)

    def test_peer_pool(self):
        """A plain pool of downstream's has nothing that the element's lacks."""
        pool, stream = Gst.BufferPool.new(), self.make(HALVE)
        asked = []
        stream.answer_allocation(lambda query: (asked.append(query.type),
                                                query.add_allocation_pool(pool, SIZE, 0, 2)))
        self.assertTrue(stream.play(RGB))
        for _ in range(12):
            self.assertEqual(stream.push(bytes(SIZE)), OK)
            self.assertIsNot(stream.pull_buffer().pool, pool)
        self.assertTrue(asked)


main()
