# SPDX-License-Identifier: LGPL-2.1-or-later
"""The property auto-tune: a faster kernel is found while buffers flow, and replaces the first one
between two buffers. tests/lib/auto-tune.py tests the search and the kernels' results; here each
buffer must come out once, in order, multiplied by its own weight. clock.py sets the device's clock,
and so decides which kernel is faster."""

import tempfile
import time
from ctypes import c_void_p

from clock import USUAL, Clock
from gemmcl import (CPU, LIB, ask, describe, enter_cache, get_info, list_candidates, obstructed,
                    pretend)
from stream import SECONDS, TestCase, literal, main, np, tensors

M, N, K = 96, 64, 128
MORE = 40  # buffers pushed behind a swap
PERIOD = 30  # buffers with the same weight
FAST = 100  # us; other kernels take USUAL
ENDLESS = 10**9  # us; a search rests for hours after it
# A GPU (CL_DEVICE_TYPE) of an unknown vendor (CL_DEVICE_VENDOR_ID, CL_DEVICE_VENDOR)
GPU = {0x1000: bytes([4, 0, 0, 0, 0, 0, 0, 0]), 0x1001: bytes(4), 0x102c: b"-\0"}


def make_weight(factor):
    """Returns the weight that multiplies every other element of a row of A by factor."""
    weight = np.zeros((K, N), int)
    weight[::2] = factor * np.eye(N)
    return literal(weight)


class Flow:
    """A stream of buffers (n so far), each full of one number. The weight changes periodically."""

    def __init__(self, test, settings, period=None):
        self.test, self.period, self.n, self.previous = test, period, 0, 0
        self.adds = "beta=1" in settings
        self.stream = test.start(tensors(f"{K}:{M}"), "gemmcl queue-depth=3 "
                                 f"weight={make_weight(2)} {settings}")

    def push(self, count=1, rows=M):
        """Pushes a buffer. The output must be its product with the weight at that time."""
        for _ in range(count):
            number, factor = 1 + self.n % 8, 2
            if self.period:
                factor += self.n // self.period % 5
                if self.n % self.period == 0:
                    self.stream.element.props.weight = make_weight(factor)
            found = self.test.run_one(self.stream, np.full((rows, K), number, "f4"))
            self.previous = factor * number + self.adds * self.previous
            np.testing.assert_array_equal(np.frombuffer(found, "f4"),
                                          np.full(rows * N, self.previous))
            self.n += 1

    def change(self, rows):
        self.test.assertTrue(self.stream.push_caps(tensors(f"{K}:{rows}")))
        self.push(rows=rows)

    def push_until_swapped(self, kernel):
        end = time.monotonic() + SECONDS
        while self.stream.get_stat("auto-tune") != "swapped":
            self.test.assertLess(time.monotonic(), end)
            self.push()
        self.push(MORE)
        self.has("swapped", "tuned", kernel)

    def has(self, state, source, kernel=None):
        get = self.stream.get_stat
        self.test.assertEqual((get("auto-tune"), get("kernel-source"), kernel and get("kernel")),
                              (state, source, kernel))

    def end(self):
        self.test.assertEqual(self.stream.end(), [])
        self.test.is_quiet(self.stream)
        self.stream.stop()


class AutoTune(TestCase):
    def setUp(self):
        super().setUp()
        self.clock = Clock(self)

    def begin(self):
        """Forgets earlier measurements, and makes another kernel the fastest. Returns its name."""
        context = c_void_p(ask("context_new", None))
        ask("tuning_forget", context)
        kernel = list_candidates(describe(M, N, K), context)[2]
        LIB.g_object_unref(context)
        self.clock.reset()
        self.clock.times[kernel] = FAST
        return kernel

    def swaps(self, settings):
        """The kernel is swapped while weights change. Returns the name of the new kernel."""
        kernel = self.begin()
        flow = Flow(self, settings, PERIOD)
        flow.push_until_swapped(kernel)
        flow.end()
        return kernel

    def test_swap(self):
        """The previous output survives the swap. The next start takes the kernel from the file."""
        settings = "auto-tune=on beta=1"
        kernel = self.swaps(settings)
        flow = Flow(self, settings)
        flow.push(MORE)
        flow.has("known", "tuned", kernel)
        flow.end()

    def test_caps(self):
        kernel = self.begin()
        self.clock.usual = ENDLESS
        flow = Flow(self, "auto-tune=on")
        for i in range(6):
            flow.change(M << i % 2)
            if i == 3:
                time.sleep(0.5)  # The search rests.
        with obstructed("gemmcl_plan_submit"):
            flow.change(M)
            self.clock.usual = USUAL
        flow.push_until_swapped(kernel)
        flow.end()

    def test_stop(self):
        for i in range(6):
            self.begin()
            flow = Flow(self, "auto-tune=on")
            flow.push()
            time.sleep(i * i * 0.03)
            flow.end()

    def test_off(self):
        """By default there is no search on a CPU. A kernel that is named is never replaced."""
        cases = [("auto-tune=off", "rules"), ("auto-tune=on kernel=gemm_naive", "named")]
        for settings, source in cases + [("", "rules")] * (get_info().type == CPU):
            kernel = self.begin()
            flow = Flow(self, settings)
            flow.push()
            flow.has("off", source)
            self.assertEqual(self.clock.counts[kernel], 0)
            flow.end()

    def test_gpu(self):
        self.addCleanup(pretend(GPU))
        self.swaps("")


with tempfile.TemporaryDirectory() as cache:
    enter_cache(cache)
    main()
