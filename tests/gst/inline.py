# SPDX-License-Identifier: LGPL-2.1-or-later
"""The element on PoCL's inline device: runs of small buffers, and maps of their outputs, in the
streaming thread."""

import os
from ctypes import c_void_p

os.environ["POCL_DEVICES"] = "pthread basic"  # read once, at the first OpenCL call

# pylint: disable=wrong-import-position
from cl_memory import CL, READ, WRITE, Memory  # noqa: E402
from gemmcl import Gate, get_status  # noqa: E402
from stream import OK, Gst, TestCase, audio, get_bytes, main, np  # noqa: E402

MIX, STEREO = "gemmcl weight=[[2],[3]]", audio("F32LE", 2)
LENGTHS = [480, 1, 7, 1024, 4800] * 20  # samples; the first plan has no room for the last


def draw(samples):
    return np.random.default_rng(samples).integers(-8, 9, (samples, 2)).astype("f4")


class Inline(TestCase):
    def setUp(self):
        super().setUp()
        self.needs_inline()

    def check(self, output, samples):
        found = np.frombuffer(get_bytes(output), "f4")
        np.testing.assert_array_equal(found, draw(samples) @ (2, 3))

    def test_values(self):
        """Outputs of all lengths, some of which stay in use while others are written."""
        stream, held = self.start(STEREO, MIX), []
        for i, samples in enumerate(LENGTHS):
            output = self.run_buffer(stream, draw(samples))
            if i % 3 == 0:
                held.append((output, samples))  # its memory stays in use
            self.check(output, samples)
        for output, samples in held:
            self.check(output, samples)
        self.assertEqual(stream.get_stat("inline-runs"), len(LENGTHS))
        self.assertEqual(stream.get_stat("buffers"), len(LENGTHS))
        self.assertGreater(stream.get_stat("run-time-p50"), 0)
        self.is_quiet(stream)

    def test_maps(self):
        """The unmap of an output is done at once, so that no later run waits for it."""
        stream = self.start(STEREO, MIX)
        for _ in range(100):
            memory = Memory(self.run_buffer(stream, draw(480)).peek_memory(0))
            self.assertEqual(memory.get_events(READ), [])
            memory.fill(0)
            event = c_void_p(memory.get_events(READ)[0])
            self.assertEqual(get_status(event), 0)
            CL.clReleaseEvent(event)

    def test_waits(self):
        """A run whose input is not written yet is on the threads, the next ones are inline."""
        caps = STEREO.replace("x-raw", "x-raw(memory:OpenCL)")
        stream, data = self.start(caps, MIX), draw(480)
        allocator = stream.ask_allocation(caps).parse_nth_allocation_param(0)[0]
        for i, waits in enumerate((True, False, False)):
            buffer = Gst.Buffer.new()
            buffer.append_memory(allocator.alloc(data.nbytes, None))
            buffer.fill(0, data.tobytes())
            memory = Memory(buffer.peek_memory(0))
            gate = Gate(memory.context)
            if waits:
                memory.use(WRITE, gate)
            self.assertEqual(stream.push(buffer), OK)
            self.assertEqual(stream.get_stat("inline-runs"), i)
            gate.open()
            self.check(stream.pull_buffer(), 480)


if __name__ == "__main__":
    main()
