#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""QoS: buffers that come too late are skipped before they cost a run. The events are the test's,
so that no clock decides."""

from stream import OK, Gst, TestCase, main, np, tensors

SECOND, COUNT = Gst.SECOND, 12
# Events before some buffers, which come once a second: their type, and the difference and the time
# in seconds; a buffer is late until their sum.
EVENTS = {3: (Gst.QOSType.UNDERFLOW, 0.5, 4), 8: (Gst.QOSType.OVERFLOW, -0.5, 7),
          9: (Gst.QOSType.THROTTLE, 1, 9)}
LATE = {3: 4.5, 4: 4.5, 9: 10, 10: 10}


class Qos(TestCase):
    def push_all(self, stream):
        for n in range(COUNT):
            if n in EVENTS:
                kind, difference, time = EVENTS[n]
                stream.sink.push_event(Gst.Event.new_qos(kind, 1.5, int(difference * SECOND),
                                                         time * SECOND))
            buffer = Gst.Buffer.new_wrapped(np.float32(n).tobytes())
            buffer.pts, buffer.duration = n * SECOND, SECOND
            self.assertEqual(stream.push(buffer), OK)
        stream.src.push_event(Gst.Event.new_eos())

    def check_message(self, stream, n, batch, dropped):
        """A batch that had begun is finished; buffers behind it are not processed yet."""
        message = stream.bus.pop_filtered(Gst.MessageType.QOS)
        self.assertEqual(message.parse_qos()[1:], (n * SECOND,) * 3 + (SECOND,))
        self.assertEqual(message.parse_qos_values()[:2], (int((LATE[n] - n) * SECOND), 1.5))
        self.assertEqual(message.parse_qos_stats(),
                         (Gst.Format.BUFFERS, (n + 1 - dropped) // batch * batch, dropped))

    def check(self, settings, batch, qos):
        """After a flush no buffer is late any more, and messages count anew."""
        stream = self.start(tensors("1:1"), f"gemmcl weight=[2] qos={qos} batch-size={batch} "
                            f"batch-timeout=0 {settings}")
        for turn in 1, 2:
            self.push_all(stream)
            late = list(LATE) if qos else []
            for dropped, n in enumerate(late, 1):
                self.check_message(stream, n, batch, dropped)
            self.assertIsNone(stream.bus.pop_filtered(Gst.MessageType.QOS))
            for n in sorted(set(range(COUNT)) - set(late)):
                output = stream.pull_buffer()
                self.assertEqual(output.pts, n * SECOND)
                self.assertEqual(output.extract_dup(0, 8), np.float32(2 * n).tobytes())
                if n:
                    self.assertEqual(output.has_flags(Gst.BufferFlags.DISCONT), n - 1 in late)
            count = turn * (COUNT - len(late))
            self.assertEqual([stream.get_stat(name) for name in ("buffers", "dropped", "bytes")],
                             [count, turn * len(late), count * 8])
            stream.flush()

    def test_late(self):
        for settings, batch in [("queue-depth=1", 1), ("queue-depth=4", 1), ("", 3),
                                ("queue-depth=3", 4)]:
            for qos in True, False:
                with self.subTest(settings=settings, batch=batch, qos=qos):
                    self.check(settings, batch, qos)


main()
