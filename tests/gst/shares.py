#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several devices in one element: which ones, what each does, and the memory. flow.py has the flow
of buffers, faults.py failures. PoCL shows two devices, by POCL_DEVICES."""

from gemmcl import get_array
from stream import FAILURE, READY, TestCase, main, np, tensors

ONE = tensors("1:1")
GEMMCL = "gemmcl auto-tune=off devices=all weight=[2]"
NUMBER = np.ones(1, "f4")


class Devices(TestCase):
    def setUp(self):
        super().setUp()
        count = len(get_array("list_devices", None))
        if count != 2:
            self.skipTest(f"there are {count} OpenCL devices, not 2")

    def test_turns(self):
        """Devices that are idle get buffers by turns."""
        stream = self.start(ONE, GEMMCL)
        for _ in range(10):
            self.run_one(stream, NUMBER)
        devices = stream.get_stat("devices")
        self.assertEqual([device.get_value("buffers") for device in devices], [5, 5])
        self.assertEqual(stream.get_stat("buffers"), 10)
        for name in "kernel-time", "compile-time":
            times = [device.get_value(name) for device in devices]
            self.assertGreater(min(times), 0)
            self.assertEqual(stream.get_stat(name), sum(times))
        for device in devices:
            self.assertTrue(device.get_value("kernel"))
            self.assertEqual(device.get_value("device"), stream.get_stat("device"))
            self.assertFalse(device.get_value("failed"))
        self.is_quiet(stream)

    def test_lists(self):
        """The lists that select devices: each once, one of them as if it were alone."""
        for devices, count in [("all", 2), ("0,1", 2), ("1, 0", 2), ("ALL,0", 2), ("1", 0),
                               ("1,1", 0), ("", 0)]:
            with self.subTest(devices=devices):
                stream = self.start(ONE, f'gemmcl weight=[2] devices="{devices}"')
                self.assertEqual(len(stream.get_stat("devices") or []), count)

    def test_wrong_lists(self):
        for settings, words in [("devices=0,7", "device 7|There is"),
                                ("devices=0,", "empty entry"), ("devices=nobody", "device nobody"),
                                ("devices=all kernel=none", "none")]:
            stream = self.make(f"gemmcl weight=[2] {settings}")
            self.assertEqual(stream.element.set_state(READY), FAILURE)
            self.says(stream, words)

    def test_memory(self):
        """OpenCL memory is of one device; downstream may leave the choice to the element."""
        stream = self.make(GEMMCL, "other/tensors(memory:OpenCL)")
        self.assertFalse(stream.play(ONE))
        self.says(stream, "several|system memory")
        stream = self.start(ONE, GEMMCL, "other/tensors(memory:OpenCL);other/tensors")
        self.assertEqual(self.run_one(stream, NUMBER), (2 * NUMBER).tobytes())
        self.gives(stream, "other/tensors")


main()
