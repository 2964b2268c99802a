# SPDX-License-Identifier: LGPL-2.1-or-later
"""Streams whose buffers and events must arrive in order, with their numbers, times, offsets, flags
and rates. A script describes such a stream by steps, separated by ';':

    1 2             pushes a buffer of these numbers, in the type of the caps; "80*1": 80 times 1
    DM 1 2          pushes a buffer with flags: D is DISCONT, G GAP, M MARKER; no numbers: empty
    mark, tag, gap  pushes an event of this type; eos ends the stream, flush flushes it
    caps CAPS       pushes other caps
    ready, play     changes the state; then the stream begins again
    NAME=VALUE      sets a property of the element "a", or of the only element
    refuse WORDS NAME=VALUE  sets a property; a warning with WORDS is posted, the old value stays
    fail WORDS 1 2  pushing this buffer must fail with an error that has these WORDS
    > DM 1 2        the next arrival: these numbers and flags, times and offsets as pushed
    > e, > E        the next arrival: the next pushed event, or EOS
    -               nothing else must have arrived yet

In WORDS, '|' stands for a blank. At the end nothing else may have arrived, and neither an error nor
a warning may have been posted."""

import queue
import re

from medium import Medium
from stream import OK, READY, SECONDS, Gst, get_bytes, np, tensors

FRAME = Gst.SECOND // 10
FLAGS = {"D": Gst.BufferFlags.DISCONT, "G": Gst.BufferFlags.GAP, "M": Gst.BufferFlags.MARKER}
FLUSH = Gst.EventType.FLUSH_STOP
UNTOLD = (Gst.EventType.STREAM_START, Gst.EventType.CAPS, Gst.EventType.SEGMENT,
          Gst.EventType.FLUSH_START)


def get_rates(caps):
    return re.findall(r"rate=\(\w+\)([\d/]+)", caps.to_string())


def parse(text):
    flags, numbers = re.fullmatch("([DGM]*) ?(.*)", text).groups()
    values = []
    for word in numbers.split():
        times, _, value = word.rpartition("*")
        values += int(times or 1) * [float(value)]
    return flags, values


def read(_pad, info):
    get_bytes(info.get_buffer())
    return Gst.PadProbeReturn.OK


class Script:
    """A stream that compares arrivals with what was pushed.

    rates: of each pushed buffer; events: the pushed events
    flushes: for each flush still to arrive, the numbers of buffers and events before it
    late: flushed events that the pad may still send, because it keeps them, such as tags
    taken: the indices of the next buffer and of the next event that must arrive"""

    def __init__(self, test, elements, caps, output=None, maps=False):
        """maps: buffers are also mapped when they arrive, not only when they are taken."""
        self.test, self.stream = test, test.make(elements, output)
        self.element = self.stream["a"]
        if maps:
            self.stream.sink.add_probe(Gst.PadProbeType.BUFFER, read)
        self.next = None
        self.rates, self.events, self.flushes, self.late = [], [], [], []
        self.taken = 0, 0
        self.caps = Gst.Caps.from_string(caps)
        self.play()

    def play(self):
        self.test.assertTrue(self.stream.play(self.caps.to_string()))

    def stop(self):
        self.stream.element.set_state(READY)

    def make(self, flags, values):
        buffer, n = Medium(self.caps).encode(values), len(self.rates)
        buffer.pts, buffer.dts, buffer.duration = n * FRAME, n * FRAME // 2, FRAME
        buffer.offset, buffer.offset_end = n, n + 1
        for flag in flags:
            buffer.set_flags(FLAGS[flag])
        return buffer

    def push(self, flags, values):
        buffer = self.make(flags, values)
        self.rates.append(get_rates(self.caps))
        self.test.assertEqual(self.stream.push(buffer), OK)

    def fail(self, words, flags, values):
        self.test.fails(self.stream, self.make(flags, values), words)

    def send(self, event):
        self.test.assertTrue(self.stream.src.push_event(event))

    def push_event(self, kind):
        event = {"mark": lambda: Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM,
                                                      Gst.Structure.new_empty("mark")),
                 "tag": lambda: Gst.Event.new_tag(Gst.TagList.new_from_string(
                     f"taglist, track-number=(uint){len(self.rates) + 1}")),
                 "gap": lambda: Gst.Event.new_gap(len(self.rates) * FRAME, FRAME),
                 "eos": Gst.Event.new_eos}[kind]()
        self.events.append((event.type, event.get_seqnum()))
        self.send(event)

    def push_segment(self, place):
        """Pushes a segment after which the next buffer has the stream time of buffer number."""
        segment = Gst.Segment()
        segment.init(Gst.Format.TIME)
        segment.start = segment.position = len(self.rates) * FRAME
        segment.time = place * FRAME
        self.send(Gst.Event.new_segment(segment))

    def flush(self):
        self.flushes.append((len(self.rates), len(self.events)))
        self.send(Gst.Event.new_flush_start())
        self.send(Gst.Event.new_flush_stop(True))
        self.push_segment(len(self.rates))

    def change_caps(self, text):
        self.caps = Gst.Caps.from_string(text)
        self.send(Gst.Event.new_caps(self.caps))

    def set(self, setting):
        """Sets a property. An operand that is accepted reads back."""
        name, value = setting.split("=", 1)
        Gst.util_set_object_arg(self.element, name, value)
        if value.startswith("["):
            self.test.assertEqual(self.element.get_property(name), value)

    def refuse(self, words, setting):
        name, value = setting.split("=", 1)
        before = self.element.get_property(name)
        Gst.util_set_object_arg(self.element, name, value)
        self.test.says(self.stream, f"The new {name}|the old one stays|{words}",
                       kind=Gst.MessageType.WARNING)
        self.test.assertEqual(self.element.get_property(name), before)

    def peek(self, timeout=0, flushes=0):
        """Waits for the next arrival, or returns None. Skips unnamed events and earlier flushes."""
        while True:
            if self.next is None:
                try:
                    self.next = self.stream.arrivals.get(timeout=timeout)
                except queue.Empty:
                    return None
            if self.next[0] == FLUSH and len(self.flushes) > flushes:
                self.taken = self.flushes.pop(0)
            elif self.next[0] not in UNTOLD and self.next not in self.late:
                return self.next
            self.next = None

    def check(self, flags, values, others):
        buffer, caps = self.next
        n, n_events = self.taken
        self.taken = n + 1, n_events
        medium = Medium(caps)
        self.test.assertEqual(
            [buffer.pts, buffer.dts, buffer.duration, buffer.offset, buffer.offset_end],
            [n * FRAME, n * FRAME // 2, FRAME, n, n + 1])
        self.test.assertEqual([flag for flag in FLAGS if buffer.has_flags(FLAGS[flag])],
                              sorted(flags))
        self.test.assertEqual(get_rates(caps), self.rates[n])
        if not len(values):
            self.test.assertEqual(buffer.get_size(), 0)
            return
        found = medium.decode(buffer).ravel()
        self.test.assertEqual(buffer.n_memory(), medium.memories)
        self.test.assertEqual(len(found), len(values))
        with np.errstate(invalid="ignore"):  # the difference of two infinities
            near = abs(found - values) <= 1e-6 * (1 + abs(values))
        wrong = (found != others) & ~near  # NaN equals no number
        self.test.assertFalse(wrong.any(), f"{found} instead of {values} or {others}")

    def take(self, flags, values, others=None):
        """The next arrival must be this buffer, with either of both sets of numbers."""
        self.test.assertIsNotNone(self.peek(SECONDS), "nothing has arrived")
        self.test.assertIsInstance(self.next[0], Gst.Buffer)
        self.check(flags, np.array(values), np.array(values if others is None else others))
        self.next = None

    def take_event(self, is_eos):
        arrival = self.peek(SECONDS)
        buffers, n = self.taken
        self.test.assertEqual(arrival, self.events[n])
        self.test.assertEqual(arrival[0] == Gst.EventType.EOS, is_eos)
        self.taken, self.next = (buffers, n + 1), None

    def take_unless_flushed(self, what):
        """what: the arguments for take() or take_event()."""
        arrival = self.peek(flushes=1)
        if arrival is not None and arrival[0] != FLUSH:
            (self.take_event if len(what) == 1 else self.take)(*what)
        elif len(what) == 1:
            buffers, n = self.taken
            self.late.append(self.events[n])
            self.taken = buffers, n + 1

    def take_none(self):
        self.test.assertIsNone(self.peek())

    def step(self, text):
        word, _, rest = text.partition(" ")
        words, _, more = rest.partition(" ")
        words = words.replace("|", " ")
        if word in ("mark", "tag", "gap", "eos"):
            self.push_event(word)
        elif rest in ("e", "E"):
            self.take_event(rest == "E")
        elif "=" in word:
            self.set(text)
        else:
            {">": lambda: self.take(*parse(rest)), "-": self.take_none, "flush": self.flush,
             "caps": lambda: self.change_caps(rest), "ready": self.stop, "play": self.play,
             "refuse": lambda: self.refuse(words, more),
             "fail": lambda: self.fail(words, *parse(more)),
            }.get(word, lambda: self.push(*parse(text)))()


def run(test, elements, steps, caps=tensors("1:1"), output=None):
    script = Script(test, elements, caps, output)
    for number, step in enumerate(steps.split(";"), 1):
        try:
            script.step(step.strip())
        except AssertionError as error:
            raise AssertionError(f"step {number}, {step}: {error}") from error
    script.take_none()
    test.is_quiet(script.stream)
