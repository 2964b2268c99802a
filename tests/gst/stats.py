#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The stats, when they are reported, and the choice of a kernel, which they and the log tell."""

from ctypes import byref

from gemmcl import Plan, ask, call, describe, get_context, get_name
from stream import OK, PLAYING, READY, Gst, TestCase, collect_log, main, np, tensors

ONE = tensors("1:1")
NAIVE = "gemmcl weight=[2] kernel=gemm_naive"
# A problem that is unlike those of other tests, which share the file of tuning.
M, N, K = 5, 37, 29


class Stats(TestCase):
    def pop_report(self, stream):
        """The stats that were reported next, or None."""
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
        """A stream that ends without EOS reports its stats on the way to READY; the next one begins
        anew."""
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
        """The element's choice stands in the stats, and in the log once a plan, with the other
        candidates, which are returned."""
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
        """A named kernel comes first, then one that was tuned on this machine, then the library's
        own choice."""
        gemm = describe(M, N, K)
        ask("tuning_forget", get_context())
        plan = Plan(gemm)
        untuned = get_name("choice_source_get_name", call("plan_get_choice_source", plan))
        self.assertIn(untuned, ("shipped", "rules"))
        others = self.check_choice(untuned, plan.kernel)
        self.assertIn(plan.kernel, self.check_choice("named", "gemm_naive"))
        ask("tuning_store", get_context(), byref(gemm), others[0], 1.0)
        self.assertEqual({others[0], *self.check_choice("tuned", others[0])},
                         {plan.kernel, *others})
        ask("tuning_forget", get_context())
        self.assertEqual(self.check_choice(untuned, plan.kernel), others)


main()
