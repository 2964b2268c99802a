# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each OpenCL call of a short stream fails in turn, alone or with all later calls, or a kernel
fails. Either the element posts an error, or all outputs come; no output is wrong, state changes
return, nothing leaks, and the same element plays afterwards. Other tests hold back kernels or the
compiler: a call that returns meanwhile did not wait."""

import contextlib
import ctypes
import itertools
import threading
import time
from ctypes import byref, c_void_p
from dataclasses import dataclass
from functools import partial, partialmethod

from cl_memory import READ, Map
from failing import DEAD, LATE, LAYER, MODES, NONE, ONE, REST, FailingTestCase
from gemmcl import IS_BRIEF, get_array
from stream import (ANALYTICS, ERROR, FAILURE, GST, NULL, OK, PLAYING, READY, Gst, TestCase,
                    literal, main, np, tensors, video)

if ANALYTICS:
    from tensor_meta import find_tensors, get_classes

ERRORS, WARNINGS = Gst.MessageType.ERROR, Gst.MessageType.WARNING
ONE_NUMBER = tensors("1:1")
COLUMNS = 4
QUEUES = 1  # FaultsKind
FRAME = Gst.SECOND // 100
WATCH = 0.2  # seconds
# On GPUs a search for a faster kernel would add OpenCL calls.
GEMMCL = "gemmcl auto-tune=off "


def caps(rows):
    return tensors(f"{COLUMNS}:{rows}", rate="100/1")


def times(factor):
    return literal(factor * np.eye(COLUMNS, dtype=int))


@dataclass
class Kind:
    """Elements that play; the weight of element "a" is swapped.

    factor: the factor of the other elements
    adds: each output is added to the next one
    header: floats before each result
    best: the number of best elements of each row that have labels
    rows: the rows of a buffer, and of a buffer of other caps"""
    elements: str
    factor: int = 1
    adds: bool = False
    header: int = 0
    best: int = 0
    rows: tuple = (4, 8)

    @property
    def n_devices(self):
        return len(get_array("list_devices", None)) if "devices=all" in self.elements else 1


FIRST, SECOND = f"{GEMMCL} name=a weight={times(2)}", f"! {GEMMCL} weight={times(5)}"
LABELS = "row-outputs=top-k top-k=2 labels=[a,b,c,d]"
KINDS = {"single": Kind(FIRST), "batch": Kind(f"{FIRST} batch-size=2 queue-depth=3"),
         "previous": Kind(f"{FIRST} beta=1", adds=True),
         "flexible": Kind(f"{FIRST} output=flexible {SECOND}", 5, header=32),
         "row": Kind(f"{FIRST} {SECOND}", 5), "devices": Kind(f"{FIRST} devices=all"),
         "labels": Kind(f"{FIRST} {LABELS} post-messages=true", best=2)}
if ANALYTICS:
    KINDS["meta"] = Kind(f"{FIRST} output=meta")
    KINDS["classes"] = Kind(f"{FIRST} {LABELS} output=meta", best=2, rows=(1, 1))
# Elements with queue-depth=3, and the number of buffers to push.
HELD = [(Kind(f"{FIRST} queue-depth=3"), 5),
        (Kind(f"{FIRST} queue-depth=3 {SECOND} queue-depth=3", 5), 3),
        (Kind(f"{FIRST} queue-depth=3 devices=all"), 8)]


def read(buffer):
    """Returns the bytes of the first memory, or None."""
    info = Map()
    if not GST.gst_buffer_map_range(c_void_p(buffer), 0, 1, byref(info), READ):
        return None
    data = ctypes.string_at(info.data, info.size)
    GST.gst_buffer_unmap(c_void_p(buffer), byref(info))
    return data


class Play:
    """A stream of a kind. All elements of a buffer are the buffer's number, from 1.

    factors: the factors of the weight and of the weight before it
    results: for each pushed buffer its rows, and its number times either factor
    previous: what is added to the next result
    seen: number of outputs that did not fail; next: the least index of the next output
    posted: the types of the messages; told: the number of messages with the best elements"""

    def __init__(self, test, kind):
        self.test, self.kind, self.stream = test, kind, test.make(kind.elements)
        self.element = self.stream["a"]
        self.reset()

    def reset(self):
        self.factors = [3 if self.element.props.weight == times(3) else 2] * 2
        self.rows, self.results, self.previous = self.kind.rows[0], [], (0, 0)
        self.seen, self.next, self.posted, self.told = 0, 0, set(), 0

    def has_failed(self):
        while message := self.stream.bus.pop():
            if message.type & (ERRORS | WARNINGS):
                self.posted.add(message.type)
            elif message.has_name("gemmcl-result"):
                self.check_message(message.get_structure())
        return ERRORS in self.posted

    def check_message(self, found):
        """A message is right, or there is none if a call failed."""
        rows, values = self.results[found.get_value("timestamp") // FRAME]
        self.test.assertIn(list(found.get_value("value")),
                           [[value] * self.kind.best * rows for value in values])
        self.test.assertEqual(list(found.get_value("label")), ["a", "b"] * rows)
        self.told += 1

    def set_state(self, state):
        return self.stream.element.set_state(state) != FAILURE

    def start(self):
        if self.set_state(PLAYING):
            return True
        self.test.assertTrue(self.has_failed())
        return False

    def begin(self):
        """Returns whether it can go on."""
        self.stream.play(caps(self.rows))
        return not self.has_failed()

    def push(self, count=1):
        for _ in range(count):
            number = len(self.results) + 1
            values = [previous + factor * number * self.kind.factor
                      for previous, factor in zip(self.previous, self.factors)]
            self.results.append((self.rows, values))
            if self.kind.adds:
                self.previous = values
            flow = self.stream.push(np.full(COLUMNS * self.rows, number, "f4"),
                                    pts=(number - 1) * FRAME)
            if flow != OK:
                self.test.assertEqual(flow, ERROR)
                self.test.assertTrue(self.has_failed())
                return False
        return True

    def live(self):
        """Sets another weight and other caps while playing."""
        if not self.begin() or not self.push(4):
            return
        self.element.props.weight = times(3)
        self.factors = 3, 2
        if self.push(2):
            self.rows, self.previous = self.kind.rows[1], (0, 0)
            self.stream.push_caps(caps(self.rows))
            if not self.has_failed():
                self.push(2)

    def check_output(self, output):
        """Outputs come in order. An output cannot be mapped if a call of the map or its run failed,
        the latter with an error. If a weight is refused with a warning, the old one stays."""
        strikes = LAYER.get_state().strikes
        index = output.pts // FRAME
        self.test.assertIn(index, range(self.next, len(self.results)))
        self.next = index + 1
        data = read(find_tensors(output)[0][0].data if "meta" in self.kind.elements else
                    hash(output))
        if data is None:
            self.seen += LAYER.get_state().strikes > strikes
            return
        self.seen += 1
        rows, (new, old) = self.results[index]
        if self.kind == KINDS.get("classes"):
            self.test.assertIn(get_classes(output),
                               [[("a", value), ("b", value)] for value in (new, old)]
                               + [None] * bool(LAYER.get_state().strikes))
        found = np.frombuffer(data, "f4")[self.kind.header:].tolist()
        expected = [[value] * COLUMNS * rows for value in (new, old)]
        self.test.assertIn(found, expected if WARNINGS in self.posted else expected[:1])

    def check(self):
        """Ends the stream. Returns whether an error was posted."""
        self.stream.src.push_event(Gst.Event.new_eos())
        failed = self.has_failed()
        for _ in range(self.stream.arrivals.qsize()):
            arrived, _ = self.stream.arrivals.get()
            if isinstance(arrived, Gst.Buffer):
                self.check_output(arrived)
        if not failed:
            self.test.assertEqual(self.seen, len(self.results))
            if self.kind == KINDS["labels"] and not LAYER.get_state().strikes:
                self.test.assertEqual(self.told, len(self.results))
        return failed

    def play_again(self, state=NULL):
        self.has_failed()
        self.reset()
        self.test.assertTrue(self.set_state(state) and self.start() and self.begin())
        self.test.assertTrue(self.push(4))
        self.test.assertFalse(self.check())


class Faults(FailingTestCase, TestCase):
    """The tests of sweeps are added below."""

    @contextlib.contextmanager
    def playing(self, kind, mode=NONE, n=0):
        """Yields a stream, before whose start the mode is set. No object is left at the end."""
        print(f"# {kind.elements}, mode {mode}, call {n}", flush=True)
        play = Play(self, kind)
        self.addCleanup(LAYER.set, NONE, 0)
        LAYER.set(mode, n)
        yield play
        vars(play).clear()  # elements hold memory while they exist
        self.doCleanups()
        self.has_no_objects()

    def run_case(self, kind, mode, n):
        """Returns whether an error was posted, and notes whether a warning was."""
        with self.playing(kind, mode, n) as play:
            started = play.start()
            if started:
                play.live()
                play.check()
            failed = play.has_failed()
            self.warned |= WARNINGS in play.posted
            self.assertTrue(not started or play.set_state(READY))
            # In READY the element keeps its device, and on it the queues that died.
            state = READY if mode == DEAD else NULL
            self.assertTrue(play.set_state(state))
            LAYER.set(NONE, 0)
            play.play_again(state)
        return failed

    def sweep_kind(self, kind, mode):
        """Lets each call of a kind fail in turn. If a device fails and there are others, they
        multiply its frames. If there are only a few cases, all may be harmless."""
        self.warned = False
        failed = self.sweep(partial(self.run_case, kind), mode)
        several = kind.n_devices > 1
        if several and mode == LATE:
            self.assertEqual((failed, self.warned), (0, True))
        elif mode == REST or not (several or IS_BRIEF):
            self.assertGreater(failed, 0)

    @contextlib.contextmanager
    def holding(self, builds, function):
        """Holds back builds, or else kernels, while a thread calls function."""
        thread = threading.Thread(target=function)
        LAYER.hold(builds, True)
        self.addCleanup(LAYER.hold, builds, False)
        thread.start()
        yield
        LAYER.hold(builds, False)
        thread.join()

    @contextlib.contextmanager
    def compiling(self, play):
        self.assertTrue(play.start())
        with self.holding(True, play.begin):
            self.wait_for(lambda: LAYER.get_state().held)
            yield
            self.assertGreater(LAYER.get_state().held, 0)

    def test_leave_compiler(self):
        """While the compiler does not return, the element leaves PLAYING in time and posts an
        error. Once the compiler returns, nothing is left over, and the element plays."""
        for state in READY, NULL:
            with self.playing(KINDS["single"]) as play:
                with self.compiling(play):
                    play.set_state(state)
                    self.wait_for(play.has_failed)
                    self.assertTrue(play.set_state(NULL))
                play.play_again()

    def test_ask_while_compiling(self):
        """While a plan is compiled, stats and caps can be read and properties can be set. A weight
        that does not fit is refused."""
        with self.playing(KINDS["single"]) as play:
            with self.compiling(play):
                # Longer than the element waits before it posts the progress of compiling.
                end = time.monotonic() + WATCH
                while time.monotonic() < end:
                    self.assertTrue(play.element.props.stats)
                    for pad in play.element.pads:
                        self.assertFalse(pad.query_caps(None).is_empty())
                play.element.props.alpha = 3
                for weight in "[[1],[2]]", "":
                    play.element.props.weight = weight
                    self.says(play.stream, "the old one stays", kind=WARNINGS)
                    self.assertEqual(play.element.props.weight, times(2))
            play.factors = 6, 6
            self.assertTrue(play.push())
            self.assertFalse(play.check())

    def test_held(self):
        """Up to queue-depth runs of a device are in flight; elements do not wait for each other."""
        for kind, count in HELD:
            with self.playing(kind, ONE) as play:
                pushed, free = [], 3 * kind.n_devices
                self.assertTrue(play.start() and play.begin())

                def push():
                    while len(pushed) < count and play.push():
                        pushed.append(None)
                with self.holding(False, push):
                    self.wait_for(lambda: len(pushed) == free)
                    time.sleep(WATCH)
                    self.assertEqual(len(pushed), free)
                self.assertFalse(play.check())

    def test_only_buffer(self):
        """If upstream's pool has one buffer, the element waits until the device has read it."""
        pool, flows, frame = Gst.BufferPool.new(), [], video("GRAY8", 640, 480)
        params, config = Gst.BufferPoolAcquireParams(), pool.get_config()
        params.flags = Gst.BufferPoolAcquireFlags.DONTWAIT
        Gst.BufferPool.config_set_params(config, Gst.Caps.from_string(frame), 640 * 480, 1, 1)
        self.assertTrue(pool.set_config(config) and pool.set_active(True))
        stream = self.start(frame, f"{GEMMCL} weight=[2]")
        self.addCleanup(LAYER.set, NONE, 0)
        LAYER.set(ONE, 0)

        def push():
            flow, buffer = pool.acquire_buffer(params)
            flows.append(stream.push(buffer) if flow == OK else flow)
        with self.holding(False, push):
            time.sleep(WATCH)
            self.assertEqual(flows, [])
        push()
        self.assertEqual(flows, [OK, OK])
        pool.set_active(False)

    def test_refused(self):
        stream = self.start(video("GRAY8", 4, 2), f"{GEMMCL} weight=[2]")
        self.run_one(stream, bytes(8))
        queues = LAYER.get_state().objects[QUEUES]
        self.fails(stream, bytes(7), "7 bytes")
        self.assertEqual(LAYER.get_state().objects[QUEUES], queues)

    def test_skipped_device(self):
        """A device without a context is warned of by the element that asked for it, once."""
        self.needs_two_devices()
        both, one = f"{GEMMCL} devices=all weight=[2]", f"{GEMMCL} weight=[2]"
        failures = []
        for n in itertools.count(1):
            stream = self.make(both)
            LAYER.set(ONE, n)
            opened = stream.element.set_state(READY) != FAILURE
            failures.append(LAYER.get_state().failed)
            LAYER.set(NONE, 0)
            self.assertIsNotNone(failures[-1], "no second context was made")
            if failures.count(b"clCreateContext") == 2:
                break
            del stream  # elements hold contexts while they exist
            self.doCleanups()
        self.assertTrue(opened)
        self.says(stream, "A device was skipped|clCreateContext", kind=WARNINGS)
        for elements in one, both:
            stream = self.start(ONE_NUMBER, elements)
            self.is_quiet(stream)

    def test_device(self):
        """If a device's command fails, the other device multiplies its frames with the same
        operands. If that device fails, too, an error is posted. A restart uses both again."""
        self.needs_two_devices()
        number = np.ones(1, "f4")
        stream = self.start(ONE_NUMBER, f"{GEMMCL} devices=all queue-depth=3 weight=[2]")
        self.addCleanup(LAYER.set, NONE, 0)

        def run(count, weight):
            for alpha in range(1, 1 + count):
                stream.element.props.alpha = alpha
                self.assertEqual(stream.push(number), OK)
            for alpha in range(1, 1 + count):
                self.assertEqual(stream.pull(), (alpha * weight * number).tobytes())

        def get(name):
            return [device.get_value(name) for device in stream.get_stat("devices")]
        run(4, 2)
        LAYER.set(LATE, 1)
        run(8, 2)
        self.says(stream, "is not used any more|OpenCL error", kind=WARNINGS)
        stream.element.props.weight = "[5]"
        run(6, 5)
        self.is_quiet(stream)
        self.assertEqual(sorted(get("failed")), [False, True])
        self.assertEqual((stream.get_stat("buffers"), sum(get("buffers"))), (18, 18))
        LAYER.set(LATE, 1)
        flows = map(stream.push, [number] * 20)
        self.assertEqual(next(flow for flow in flows if flow != OK), ERROR)
        self.says(stream, "failed with OpenCL error")
        LAYER.set(NONE, 0)
        stream.element.set_state(READY)
        self.assertTrue(stream.play(ONE_NUMBER))
        run(4, 5)
        self.assertGreater(min(get("buffers")), 0)


for name, kind in KINDS.items():
    for mode_name, mode in MODES.items():
        setattr(Faults, f"test_{name}_{mode_name}", partialmethod(Faults.sweep_kind, kind, mode))
main()
