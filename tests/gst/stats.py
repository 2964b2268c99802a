# SPDX-License-Identifier: LGPL-2.1-or-later
"""The property stats, the reported latency, and buffers that QoS skips."""

from ctypes import byref

from clock import Clock
from gemmcl import Plan, ask, describe, get_context
from stream import OK, PLAYING, READY, Gst, TestCase, answer, collect_log, main, np, tensors

ONE = tensors("1:1")
NAIVE = "gemmcl weight=[2] kernel=gemm_naive"
# A problem that no other test has, since tests share the tuning file.
M, N, K = 5, 37, 29

SECOND, MS, US = Gst.SECOND, Gst.MSECOND, Gst.USECOND
FRAME = SECOND // 10
UPSTREAM = 5

# Each case: the number of runs and their time in us, the latency in ms after the last run, and the
# number of latency messages. A single long run does not count, a second one does. The latency rises
# at once, and falls after 128 shorter runs. Times above a minute do not count.
STEPS = [(3, 999, 0, 0), (1, 3000, 0, 0), (1, 3000, 4, 1), (1, 30000, 4, 0), (1, 4000, 4, 0),
         (2, 9000, 16, 1), (1, 16000, 16, 0), (2, 61000000, 16, 0), (126, 1500, 16, 0),
         (1, 1500, 16, 0), (127, 1500, 16, 0), (1, 1500, 2, 1), (127, 100, 2, 0), (1, 100, 0, 1)]
# Each case: the runs and their times in us, then the percentiles 50, 90 and 99 and the maximum.
PARTS = [(0, 0, (0, 0, 0, 0)), (1, 50000, (50000, 50000, 50000, 50000)),
         (49, 3000, (3000, 3000, 50000, 50000)), (1, 1, (3000, 3000, 50000, 50000)),
         (49, 3, (3, 3000, 3000, 50000)), (400, 700, (700, 700, 3000, 50000))]

COUNT = 12
# QoS events before some buffers, one a second: type, difference, time. Before their sum is late.
EVENTS = {3: (Gst.QOSType.UNDERFLOW, 0.5, 4), 8: (Gst.QOSType.OVERFLOW, -0.5, 7),
          9: (Gst.QOSType.THROTTLE, 1, 9)}
LATE = {3: 4.5, 4: 4.5, 9: 10, 10: 10}


class Stats(TestCase):
    """The times of reports, and the choice of a kernel in the stats and the log."""

    def pop_report(self, stream):
        while message := stream.bus.pop_filtered(Gst.MessageType.ELEMENT):
            if message.has_name("gemmcl-stats"):
                return message.get_structure()
        return None

    def push(self, stream, count):
        for _ in range(count):
            self.assertEqual(stream.push(b"1234"), OK)

    def check(self, stats, buffers):
        self.assertEqual([stats.get_value(name) for name in (
            "buffers", "bytes", "kernel", "kernel-source", "memory")],
                         [buffers, 8 * buffers, "gemm_naive", "named", "system"])
        for name in "kernel-time", "compile-time", "run-time-max":
            self.assertGreater(stats.get_value(name), 0)
        self.assertTrue(stats.get_value("device"))

    def test_at_eos(self):
        """The stats are reported once at EOS, with all runs counted, and equal the property."""
        stream = self.start(ONE, f"{NAIVE} batch-size=3 batch-timeout=0")
        self.push(stream, 4)
        self.assertIsNone(self.pop_report(stream))
        stream.src.push_event(Gst.Event.new_eos())
        report = self.pop_report(stream)
        self.assertEqual(report.to_string(), stream.element.props.stats.to_string())
        self.check(report, 4)
        stream.element.set_state(READY)
        self.assertIsNone(self.pop_report(stream))

    def test_at_ready(self):
        """A stream without EOS reports its stats on the way to READY; the next has its own."""
        stream = self.make(NAIVE)
        for _ in range(2):
            self.assertTrue(stream.play(ONE))
            self.push(stream, 1)
            stream.element.set_state(READY)
            self.check(self.pop_report(stream), 1)
        stream.element.set_state(PLAYING)
        stream.stop()
        self.assertIsNone(self.pop_report(stream))

    def check_choice(self, source, kernel):
        """The stats have the choice; the log has it once for a plan, with the returned others."""
        np.save(f"{self.folder}/w.npy", np.ones((K, N), "f4"))
        with collect_log("gemmcl", Gst.DebugLevel.INFO) as lines:
            stream = self.start(tensors(f"{K}:{M}"), f"gemmcl weight={self.folder}/w.npy "
                                f"kernel={kernel if source == 'named' else 'auto'}")
            for _ in range(2):
                self.assertEqual(stream.push(bytes(4 * M * K)), OK)
        self.assertEqual([stream.get_stat(name) for name in ("kernel-source", "kernel")],
                         [source, kernel])
        chosen = [line for line in lines if "choice: " in line]
        self.assertEqual(len(chosen), 1)
        self.assertIn(f"by {kernel}, choice: {source}", chosen[0])
        begin = "other candidates: "
        others = [line[len(begin):] for line in lines if line.startswith(begin)]
        self.assertEqual(len(others), 1)
        names = others[0].split(", ")
        self.assertNotIn(kernel, names)
        return names

    def test_choice(self):
        """A named kernel is used first, then one that was tuned here, then the library's."""
        gemm = describe(M, N, K)
        ask("tuning_forget", get_context())
        plan = Plan(gemm)
        untuned = plan.source
        self.assertIn(untuned, ("shipped", "rules"))
        others = self.check_choice(untuned, plan.kernel)
        self.assertIn(plan.kernel, self.check_choice("named", "gemm_naive"))
        ask("tuning_store", get_context(), byref(gemm), others[0], 1.0, None)
        self.assertEqual({others[0], *self.check_choice("tuned", others[0])},
                         {plan.kernel, *others})
        ask("tuning_forget", get_context())
        self.assertEqual(self.check_choice(untuned, plan.kernel), others)


class Times(TestCase):
    """The answer to LATENCY queries: the time to collect a batch, and the time of a run by the
    device's clock, which the test sets. The times of runs in the stats. Position queries."""

    def setUp(self):
        super().setUp()
        self.clock = Clock(self)

    def get_latency(self, stream, live):
        """Returns the element's latency, without upstream's, which must be unchanged."""
        answer(stream.src, Gst.QueryType.LATENCY, lambda query: query.set_latency(
            live, UPSTREAM, 2 * UPSTREAM if live else Gst.CLOCK_TIME_NONE))
        query = Gst.Query.new_latency()
        self.assertTrue(stream.element.get_static_pad("src").query(query))
        found, least, most = query.parse_latency()
        self.assertEqual(found, live)
        self.assertEqual(most, least + UPSTREAM if live else Gst.CLOCK_TIME_NONE)
        return least - UPSTREAM

    def count_messages(self, stream):
        count = 0
        while stream.bus.pop_filtered(Gst.MessageType.LATENCY):
            count += 1
        return count

    def run_batches(self, stream, count, batch, microseconds):
        """Does runs that take this time on the device. DRAIN queries finish the runs."""
        self.clock.usual = microseconds
        for _ in range(count):
            for _ in range(batch):
                self.assertEqual(stream.push(bytes(4)), OK)
            self.assertTrue(stream.src.peer_query(Gst.Query.new_drain()))

    def restart(self, stream):
        stream.element.set_state(READY)
        self.assertTrue(stream.play(ONE))

    def test_latency(self):
        """The latency of collecting is known before the first run."""
        for batch in 1, 3:
            for live in False, True:
                stream = self.start(ONE, "gemmcl weight=[2] queue-depth=3 batch-timeout=0 "
                                    f"batch-size={batch}")
                collecting = (batch - 1) * FRAME
                self.assertEqual(self.get_latency(stream, live), collecting)
                self.count_messages(stream)
                for count, time, latency, messages in STEPS:
                    self.run_batches(stream, count, batch, time)
                    self.assertEqual((self.get_latency(stream, live), self.count_messages(stream)),
                                     (collecting + latency * MS, messages))
                self.run_batches(stream, 2, batch, 5000)
                self.assertEqual(self.get_latency(stream, live), collecting + 8 * MS)
                self.restart(stream)
                self.assertEqual(self.get_latency(stream, live), collecting)

    def test_timeout(self):
        """The latency of collecting is at most batch-timeout, and exactly that if neither caps nor
        buffers state a duration. More than 146 years count as none."""
        free, slow = tensors("1:1", rate="0/1"), tensors("1:1", rate=f"1/{2**31 - 1}")
        for caps, timeout, latency in [(ONE, -1, 3 * FRAME), (ONE, 4 * FRAME, 3 * FRAME),
                                       (ONE, FRAME, FRAME), (free, -1, 0), (free, FRAME, FRAME),
                                       (ONE, 2**63 - 1, 3 * FRAME), (free, 2**63 - 1, 0),
                                       (slow, -1, 0), (slow, FRAME, FRAME)]:
            stream = self.start(caps, f"gemmcl weight=[2] batch-size=4 batch-timeout={timeout}")
            self.assertEqual(self.get_latency(stream, True), latency)
        stream = self.start(free, f"gemmcl weight=[2] batch-timeout={FRAME}")
        self.assertEqual(self.get_latency(stream, True), 0)

    def test_unlimited(self):
        """An upstream maximum too large for a sum with the latency counts as no limit."""
        stream = self.start(ONE, "gemmcl weight=[2] batch-size=4")
        answer(stream.src, Gst.QueryType.LATENCY,
               lambda query: query.set_latency(True, UPSTREAM, Gst.CLOCK_TIME_NONE - 1))
        query = Gst.Query.new_latency()
        self.assertTrue(stream.sink.peer_query(query))
        self.assertEqual(query.parse_latency(), (True, UPSTREAM + 3 * FRAME, Gst.CLOCK_TIME_NONE))

    def test_percentiles(self):
        """A percentile is what this share of the runs did not exceed, at most 1/16 too long."""
        stream = self.start(ONE, "gemmcl weight=[2]")
        for _ in range(2):
            for count, time, expected in PARTS:
                self.run_batches(stream, count, 1, time)
                for name, least in zip(("p50", "p90", "p99", "max"), expected):
                    found = stream.get_stat(f"run-time-{name}") / US
                    self.assertTrue(least <= found <= least * 17 / 16, (name, found, least))
            self.restart(stream)

    def test_position(self):
        """A position query gets the end of the last buffer."""
        stream = self.start(ONE, "gemmcl weight=[2]")
        for time in SECOND, 2 * SECOND:
            self.assertEqual(stream.push(bytes(4), pts=time, duration=FRAME), OK)
            self.assertEqual(stream.element.get_static_pad("src").query_position(Gst.Format.TIME),
                             (True, time + FRAME))


class Qos(TestCase):
    """Late buffers are skipped before they cost a run. The test sends QoS, so no clock decides."""

    def push_all(self, stream):
        for n in range(COUNT):
            if n in EVENTS:
                kind, difference, time = EVENTS[n]
                stream.sink.push_event(Gst.Event.new_qos(kind, 1.5, int(difference * SECOND),
                                                         time * SECOND))
            self.assertEqual(stream.push(np.float32(n), pts=n * SECOND, duration=SECOND), OK)
        stream.src.push_event(Gst.Event.new_eos())

    def check_message(self, stream, n, batch, dropped):
        """A batch that has begun is finished; later buffers do not count as processed yet."""
        message = stream.bus.pop_filtered(Gst.MessageType.QOS)
        self.assertEqual(message.parse_qos()[1:], (n * SECOND,) * 3 + (SECOND,))
        self.assertEqual(message.parse_qos_values()[:2], (int((LATE[n] - n) * SECOND), 1.5))
        self.assertEqual(message.parse_qos_stats(),
                         (Gst.Format.BUFFERS, (n + 1 - dropped) // batch * batch, dropped))

    def check(self, settings, batch, qos):
        """After a flush no buffer is late, and messages count from 0."""
        stream = self.start(ONE, f"gemmcl weight=[2] qos={qos} batch-size={batch} "
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
