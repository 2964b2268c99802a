# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random streams: whatever happens between buffers, each output comes once, in order, with the
right values. All numbers are small integers or halves, so that sums in f32 are exact in any order.
Also the time at which batch-timeout ends a batch, and the memory of a stream with many buffers.
GEMMCL_TEST_STREAMS is the number of streams. GEMMCL_TEST_STREAM selects a single one, by the number
that is printed before a failure, and prints its steps."""

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

from gemmcl import IS_BRIEF
from medium import Medium
from numpy_gemm import solve
from script import FRAME, Script
from stream import OK, Gst, TestCase, get_bytes, main, np, tensors, video
from tap_unittest import IS_SANITIZED
from gi.repository import GstController

SINGLE = os.environ.get("GEMMCL_TEST_STREAM")
COUNT = int(os.environ.get("GEMMCL_TEST_STREAMS", 80 if IS_BRIEF else 2000))
MOST_STEPS = 80
SLACK = 1024  # KiB by which heaps and drivers may still grow once they are warm
ROUNDS = 6  # in one of which the memory must not grow
ANY_OPENCL = ";".join(f"{media}(memory:OpenCL)"
                      for media in ("other/tensors", "audio/x-raw", "video/x-raw"))


def stereo(sample, rate):
    return (f"audio/x-raw,format={sample},rate={rate},channels=2,layout=interleaved,"
            "channel-mask=(bitmask)3")


@dataclass
class Family:
    """Streams that can have one weight: caps, K, choices of N, the magnitude of bias and addend."""
    caps: list
    k: int
    n: tuple
    unit: int


FAMILIES = [
    Family([stereo(sample, rate) for sample in ("F32LE", "S16LE") for rate in (8000, 16000)], 2,
           (1, 2, 3), 1000),
    Family([tensors(dimensions, rate=rate) for dimensions, rate in [
        ("5:3", "100/1"), ("5:7", "100/1"), ("5:3", "50/1"), ("5:1", "0/1")]], 5, (1, 4, 17), 8),
    Family([video("GRAY8", *size) for size in [(10, 4), (7, 5), (4, 10), (1, 1)]], 1, (1, 2, 3),
           60),
    Family([video(pixels, *size) for pixels, *size in [
        ("RGB", 9, 4), ("BGR", 9, 4), ("RGB", 5, 6), ("BGR", 4, 4)]], 3, (1, 2, 3), 60),
]
STEPS = {"pushes_buffer": 60, "pushes_event": 12, "pushes_segment": 3, "flushes": 2, "ends": 1,
         "changes_caps": 3, "changes_weight": 4, "changes_n": 2, "changes_bias": 3,
         "changes_addend": 2, "changes_scalars": 5, "rests": 3}


class RandomStream:
    """A stream with random steps of a script.

    values: alpha, beta and the operands for the next buffer; None: not set
    control: the values of a controlled alpha or beta, by steps of the stream time
    pending: the pushed buffers and events that must arrive, as arguments of Script's functions
    previous: two results of the buffer before, or None. Either is right: the element may keep the
        result after or before it is rounded to an integer
    resets: whether zeros replace the previous output for the next buffer, even without DISCONT
    later: the stream time minus the time of the buffers, in buffers"""

    def __init__(self, test, seed):
        self.random = random.Random(seed)
        self.family = self.random.choice(FAMILIES)
        self.caps = self.random.choice(self.family.caps)
        self.medium = Medium(Gst.Caps.from_string(self.caps))
        self.pending, self.previous, self.control = [], None, {}
        self.resets = self.n_changed = False
        self.samples, self.count, self.later = 16, 0, 0
        self.batch = 1 if self.is_true(30) else self.random.randint(2, 5)
        self.n = self.random.choice(self.family.n)
        self.values = {"alpha": 1, "beta": 0, "bias": None, "addend": None}
        settings = [self.choose("weight")]
        if self.is_true(30):
            settings.append(self.choose("addend"))
            self.values["beta"] = 1
        if self.is_true(50):
            settings.append(self.choose("bias"))
        # A named kernel cannot write video.
        named = self.medium.name != "video" and self.is_true(75)
        self.script = Script(
            test, f"gemmcl batch-size={self.batch} queue-depth={self.random.randint(1, 4)} "
            f"batch-timeout={self.random.choice([-1, 0, 1000000, 20000000])} precision=f32 "
            f"kernel={'gemm_naive' if named else 'auto'} feature-mode=pixel {' '.join(settings)}",
            self.caps, ANY_OPENCL if self.is_true(25) else None, seed % 2)

    def run(self):
        for name in "alpha", "beta":
            if self.is_true(20):
                self.controls(name)
        self.changes_scalars()
        for step in self.random.choices(list(STEPS), STEPS.values(),
                                        k=self.random.randint(20, MOST_STEPS - 1)):
            getattr(self, step)()
        self.pushes_event("eos")
        self.arrives()
        self.script.take_none()
        error = self.script.stream.pop_message(Gst.MessageType.ERROR)
        self.script.test.assertIsNone(error)

    def do(self, step, *arguments):
        if SINGLE:
            print("#", step, *arguments, flush=True)
        getattr(self.script, step)(*arguments)

    def is_true(self, percent):
        return self.random.random() * 100 < percent

    def choose(self, name):
        """Returns other values of an operand, as a setting."""
        unit = self.family.unit
        least, most, rows = (-1, 2, self.family.k) if name == "weight" else (-(unit // 2), unit, 1)
        values = [[self.random.randint(least, most) for _ in range(self.n)] for _ in range(rows)]
        self.values[name] = np.array(values, float)
        return f"{name}={values}".replace(" ", "")

    def arrives(self):
        for what in self.pending:
            self.do("take_event" if len(what) == 1 else "take", *what)
        self.pending.clear()

    def pushes_event(self, kind=None):
        kind = kind or self.random.choices(["mark", "tag", "gap"], [7, 3, 2])[0]
        self.do("push_event", kind)
        self.pending.append((kind == "eos",))

    def pushes_segment(self):
        """Pushes a segment that changes the stream time; the times of buffers continue."""
        place = self.random.randrange(MOST_STEPS)
        self.do("push_segment", place)
        self.later = place - self.count

    def flushes(self):
        self.do("flush")
        for what in self.pending:
            self.do("take_unless_flushed", what)
        self.pending.clear()
        self.pushes_segment()
        self.resets = True

    def ends(self):
        self.pushes_event("eos")
        self.arrives()
        self.flushes()

    def changes_caps(self):
        caps = self.random.choice(self.family.caps)
        if caps != self.caps:
            self.do("change_caps", caps)
            self.caps, self.medium = caps, Medium(Gst.Caps.from_string(caps))
            self.resets = True

    def changes_weight(self):
        self.do("set", self.choose("weight"))

    def changes_n(self):
        """Changes N. A bias and an addend must fit the weight at all times."""
        n = self.random.choice(self.family.n)
        if n == self.n or self.n_changed:
            return
        self.n_changed = self.resets = True
        self.n = n
        rows = [name for name in ("bias", "addend") if self.values[name] is not None]
        for name in rows:
            self.do("set", f"{name}=")
        for name in ["weight", *rows]:
            self.do("set", self.choose(name))

    def changes_bias(self):
        if self.is_true(80):
            self.do("set", self.choose("bias"))
        else:
            self.values["bias"] = None
            self.do("set", "bias=")

    def changes_addend(self):
        if self.values["addend"] is not None:
            self.do("set", self.choose("addend"))

    def choose_scalar(self, name):
        if name == "alpha":
            return self.random.choice([1, 1, 0.5, -1, 0, 3])
        # Batches have no previous output.
        adds = self.values["addend"] is not None or self.batch == 1
        return self.random.choice([0, 0, 1, -1]) if adds else 0

    def changes_scalars(self):
        for name in "alpha", "beta":
            if name not in self.control and self.is_true(60):
                self.values[name] = self.choose_scalar(name)
                self.do("set", f"{name}={self.values[name]}")

    def controls(self, name):
        values = [self.choose_scalar(name)]
        while len(values) < MOST_STEPS:
            values.append(self.choose_scalar(name) if self.is_true(20) else values[-1])
        source = GstController.InterpolationControlSource()
        source.props.mode = GstController.InterpolationMode.NONE
        for place, value in enumerate(values):
            source.set(place * FRAME, value)
        self.script.element.add_control_binding(
            GstController.DirectControlBinding.new_absolute(self.script.element, name, source))
        self.control[name] = values

    def rests(self):
        """Waits, so that timeouts and threads of the element can run."""
        time.sleep(self.random.randint(0, 3) / 1000)

    def choose_numbers(self):
        """Chooses a buffer's numbers. Most audio buffers are as long as the last, few longer."""
        if self.medium.name != "audio":
            m = np.prod(self.medium.shape) // self.family.k
        elif self.is_true(1):
            m = self.random.randint(1000, 2499)
        else:
            self.samples = m = self.random.choice([1, 7, 16, 33]) if self.is_true(25) else \
                self.samples
        random_numbers = np.random.default_rng(self.random.getrandbits(32))
        most = {"f": 8, "i": 1000, "u": 255}[self.medium.type.kind]
        a = random_numbers.integers(0 if most == 255 else -most, most + 1, (m, self.family.k))
        if self.medium.type.kind == "i":
            a[random_numbers.random(a.shape) < 0.03] = 20000
        return a.astype(float)

    def store(self, values):
        """Returns the numbers as stored: integers saturate, two channels leave as floats."""
        if self.medium.type.kind == "f" or (self.medium.name == "video" and self.n == 2):
            return values
        limits = np.iinfo(self.medium.type)
        return np.rint(np.clip(values, limits.min, limits.max))

    def compute(self, a):
        """Returns two results of a buffer; either is right."""
        values = {name: value for name, value in self.values.items() if value is not None}
        weight, addend = values.pop("weight"), values.pop("addend", None)
        if self.previous is None or self.previous[0].shape != (len(a), self.n):
            self.previous = [np.zeros((len(a), self.n))] * 2
        self.previous = [solve(a, 0 * a, weight, c=previous if addend is None else addend,
                               **values)[0] for previous in self.previous]
        stored = [self.store(one).ravel() for one in self.previous]
        if values["beta"] == 0:
            self.previous[1] = self.store(self.previous[1])
        return stored

    def pushes_buffer(self):
        """Pushes a buffer. A gap of audio stays a gap without a bias and without beta."""
        is_audio = self.medium.name == "audio"
        is_gap = self.is_true(10)
        is_empty = is_gap and self.is_true(40)
        discont, marker = "D" if self.is_true(7) else "", "M" if self.is_true(20) else ""
        for name, values in self.control.items():
            self.values[name] = values[min(self.count + self.later, MOST_STEPS - 1)]
        a = self.choose_numbers() * (not is_gap or not is_audio)
        self.do("push", discont + "G" * is_gap + marker, [] if is_empty else a.ravel())
        if self.resets or discont:
            self.previous = None
        stays = not is_audio or is_empty or (self.values["bias"] is None and
                                             self.values["beta"] == 0)
        self.pending.append((discont + "G" * (is_gap and stays) + marker,
                             *([[], []] if is_empty else self.compute(a))))
        self.resets = self.n_changed = False
        self.count += 1


def get_resident():
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") // 1024


class Streams(TestCase):
    def test_random(self):
        for _ in range(1 if SINGLE else COUNT):
            seed = int(SINGLE) if SINGLE else random.getrandbits(32)
            print(f"# GEMMCL_TEST_STREAM={seed}", flush=True)
            RandomStream(self, seed).run()
            self.doCleanups()

    def test_memory(self):
        """The memory of the process does not grow with buffers, through one element or two."""
        if IS_SANITIZED:
            self.skipTest("a sanitizer keeps what was freed")
        count = 2000 if IS_BRIEF else 100000
        # On GPUs a search for a faster kernel would allocate memory.
        element = "gemmcl auto-tune=off queue-depth=3 weight=[2]"
        for text in element, f"{element} ! {element} batch-size=2":
            stream, grown = self.start(tensors("1:16"), text), []
            # Mesa's Rusticl is warm after some thousand buffers.
            while not grown or (grown[-1] > SLACK and len(grown) < ROUNDS):
                before = get_resident()
                self.push_some(stream, count)
                grown.append(get_resident() - before)
            self.assertLessEqual(grown[-1], SLACK, grown)

    def push_some(self, stream, count):
        """Pushes count buffers and reads every hundredth output, which ends all runs. In Rusticl an
        event keeps all events that it waited for, so that the commands of a stream that nobody
        reads form one chain as long as the device is behind."""
        for number in range(1, count + 1):
            self.assertEqual(stream.push(np.zeros(16, "f4")), OK)
            while stream.arrivals.qsize():
                arrived = stream.arrivals.get()[0]
            if number % 100 == 0:
                get_bytes(arrived)


class Timeouts(TestCase):
    def push(self, stream, index, duration=Gst.CLOCK_TIME_NONE):
        self.assertEqual(stream.push(np.float32(index), pts=index * FRAME, duration=duration), OK)

    def pull(self, stream, index):
        buffer, now = stream.pull_buffer(), time.monotonic()
        self.assertEqual(buffer.pts, index * FRAME)
        self.assertFalse(buffer.has_flags(Gst.BufferFlags.DISCONT))
        self.assertEqual(np.frombuffer(buffer.extract_dup(0, 4), "f4"), 2 * index)
        return now

    def test_pause(self):
        """Two of the four buffers of a batch come, several times, and their outputs after the
        timeout, no earlier. Its default is the duration of a batch, by the caps."""
        for timeout, rate, expected in [(100000000, "0/1", 0.1), (5000000, "10/1", 0.005),
                                        (-1, "20/1", 0.2), (-1, "50/1", 0.08)]:
            stream = self.start(tensors("1:1", rate=rate), "gemmcl weight=[2] batch-size=4 "
                                f"batch-timeout={timeout}")
            for i in range(0, 6, 2):
                begin = time.monotonic()
                self.push(stream, i)
                self.push(stream, i + 1)
                self.assertGreaterEqual(self.pull(stream, i) - begin, expected)
                self.pull(stream, i + 1)
            self.is_quiet(stream)

    def test_never(self):
        """A batch ends only when it is full: with a timeout of 0, by default, if neither caps nor
        buffers state a duration, and if either is too long for a clock."""
        for timeout, duration in [(-1, Gst.CLOCK_TIME_NONE), (2**63 - 1, Gst.CLOCK_TIME_NONE),
                                  (0, FRAME), (2**63 - 10**18, FRAME), (-1, 2**63 + 25000000)]:
            with self.subTest(timeout=timeout, duration=duration):
                stream = self.start(tensors("1:1", rate="0/1"), "gemmcl weight=[2] batch-size=2 "
                                    f"batch-timeout={timeout}")
                for i in range(0, 6, 2):
                    self.push(stream, i, duration)
                    time.sleep(0.1)
                    arrived = [stream.arrivals.get()[0] for _ in range(stream.arrivals.qsize())]
                    self.assertFalse([each for each in arrived if isinstance(each, Gst.Buffer)])
                    self.push(stream, i + 1, duration)
                    self.pull(stream, i)
                    self.pull(stream, i + 1)
                self.push(stream, 6, duration)
                self.assertEqual(len(stream.end()), 1)

    def test_full(self):
        """A full batch does not wait. The next batch gets its whole timeout, even if the thread of
        the earlier timeout, which waits for the pad, runs only after that batch has begun."""
        stream = self.start(tensors("1:1", rate="0/1"),
                            "gemmcl weight=[2] batch-size=2 batch-timeout=200000000")
        begins = []

        def hold(_pad, info):
            """At buffer 9, pushes others beyond the first timeout, with the pad's lock."""
            if info.get_buffer().pts != 9 * FRAME:
                return Gst.PadProbeReturn.OK
            self.push(stream, 0)
            time.sleep(0.4)
            self.push(stream, 1)
            self.pull(stream, 0)
            self.pull(stream, 1)
            begins.append(time.monotonic())
            self.push(stream, 2)
            return Gst.PadProbeReturn.DROP
        pad = stream.element.get_static_pad("sink")
        probe = pad.add_probe(Gst.PadProbeType.BUFFER, hold)
        self.push(stream, 9)
        pad.remove_probe(probe)
        self.assertGreaterEqual(self.pull(stream, 2) - begins[0], 0.2)


main()
