#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The answer to LATENCY queries: the time of collecting a batch, and that of a run by the clock of
the device, which is the test's here. And that to POSITION queries."""

from clock import Clock
from stream import OK, READY, Gst, TestCase, main, tensors

ONE = tensors("1:1")
FRAME, MS, US = Gst.SECOND // 10, Gst.MSECOND, Gst.USECOND
UPSTREAM = 5

# Runs and their microseconds, the milliseconds of latency after the last of them, and the messages
# that announced it. One long run does not count, a second one does. The latency rises at once, and
# falls when 128 runs in a row were shorter. More than a minute is no time.
STEPS = [(3, 999, 0, 0), (1, 3000, 0, 0), (1, 3000, 4, 1), (1, 30000, 4, 0), (1, 4000, 4, 0),
         (2, 9000, 16, 1), (1, 16000, 16, 0), (2, 61000000, 16, 0), (126, 1500, 16, 0),
         (1, 1500, 16, 0), (127, 1500, 16, 0), (1, 1500, 2, 1), (127, 100, 2, 0), (1, 100, 0, 1)]
# Runs and their microseconds, and then the percentiles 50, 90 and 99, and the longest.
PARTS = [(0, 0, (0, 0, 0, 0)), (1, 50000, (50000, 50000, 50000, 50000)),
         (49, 3000, (3000, 3000, 50000, 50000)), (1, 1, (3000, 3000, 50000, 50000)),
         (49, 3, (3, 3000, 3000, 50000)), (400, 700, (700, 700, 3000, 50000))]


class Latency(TestCase):
    def setUp(self):
        super().setUp()
        self.clock = Clock(self)

    def get_latency(self, stream, live):
        """The latency without that of upstream, which stays what it is."""
        def answer(pad, parent, query):
            if query.type != Gst.QueryType.LATENCY:
                return Gst.Pad.query_default(pad, parent, query)
            query.set_latency(live, UPSTREAM, Gst.CLOCK_TIME_NONE)
            return True

        stream.src.set_query_function_full(answer)
        query = Gst.Query.new_latency()
        self.assertTrue(stream.element.get_static_pad("src").query(query))
        found, least, most = query.parse_latency()
        self.assertEqual(found, live)
        self.assertGreaterEqual(most, least)
        return least - UPSTREAM

    def count_messages(self, stream):
        count = 0
        while stream.bus.pop_filtered(Gst.MessageType.LATENCY):
            count += 1
        return count

    def run_batches(self, stream, count, batch, microseconds):
        """Runs that take so long on the device. DRAIN queries finish runs."""
        self.clock.usual = microseconds
        for _ in range(count):
            for _ in range(batch):
                self.assertEqual(stream.push(bytes(4)), OK)
            self.assertTrue(stream.src.peer_query(Gst.Query.new_drain()))

    def restart(self, stream):
        stream.element.set_state(READY)
        self.assertTrue(stream.play(ONE))

    def test_batch(self):
        """The latency of collecting is known before the first run."""
        for depth, batch in (1, 1), (4, 1), (1, 3), (2, 4):
            for live in False, True:
                stream = self.start(ONE, f"gemmcl weight=[2] queue-depth={depth} "
                                    f"batch-size={batch}")
                self.assertEqual(self.get_latency(stream, live), (batch - 1) * FRAME)

    def test_run(self):
        for batch in 1, 3:
            for live in False, True:
                stream = self.start(ONE, "gemmcl weight=[2] queue-depth=3 batch-timeout=-1 "
                                    f"batch-size={batch}")
                collecting = (batch - 1) * FRAME
                self.count_messages(stream)
                for count, time, latency, messages in STEPS:
                    self.run_batches(stream, count, batch, time)
                    self.assertEqual((self.get_latency(stream, live), self.count_messages(stream)),
                                     (collecting + latency * MS, messages))
                self.run_batches(stream, 2, batch, 5000)
                self.assertEqual(self.get_latency(stream, live), collecting + 8 * MS)
                self.restart(stream)
                self.assertEqual(self.get_latency(stream, live), collecting)

    def test_percentiles(self):
        """A percentile is a time that this share of the runs did not exceed, or at most 1/16 more,
        whatever their order."""
        stream = self.start(ONE, "gemmcl weight=[2]")
        for _ in range(2):
            for count, time, expected in PARTS:
                self.run_batches(stream, count, 1, time)
                for name, least in zip(("p50", "p90", "p99", "max"), expected):
                    found = stream.get_stat(f"run-time-{name}") / US
                    self.assertTrue(least <= found <= least * 17 / 16, (name, found, least))
            self.restart(stream)

    def test_position(self):
        """The position is the end of the last buffer."""
        stream = self.start(ONE, "gemmcl weight=[2]")
        for second in Gst.SECOND, 2 * Gst.SECOND:
            buffer = Gst.Buffer.new_wrapped(bytes(4))
            buffer.pts, buffer.duration = second, FRAME
            self.assertEqual(stream.push(buffer), OK)
            self.assertEqual(stream.element.get_static_pad("src").query_position(Gst.Format.TIME),
                             (True, second + FRAME))


main()
