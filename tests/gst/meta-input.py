# SPDX-License-Identifier: LGPL-2.1-or-later
"""input=meta: A is a tensor in the metadata of frames, where the test attaches it. The element
learns the type and shape of A from buffers, unless caps announce them."""

import os
import random

from gemmcl import IS_BRIEF
from stream import OK, READY, Gst, audio, join, main, np, tensors, video
from tensor_meta import (COLOURS, GUARDED, RGB, TYPES, WEIGHT, MetaTestCase, announce, attach,
                         carry, carry_guarded, describe, draw, get_tensors, since_1_28, wrap)

SINGLE = os.environ.get("GEMMCL_TEST_STREAM")
COUNT = int(os.environ.get("GEMMCL_TEST_STREAMS", 40 if IS_BRIEF else 400))
A = "input=meta tensor-id=a"
OUT = "gemmcl-out"
ONE = np.ones((3, 1), int)
# Each stream: the settings, the weight, and A of each buffer, which also changes within a batch.
CHANGES = [draw(m, 3, seed=i, kind="float32" if i < 7 else "int8")
           for i, m in enumerate([2, 2, 5, 5, 5, 1, 3, 3, 2])]
STREAMS = [
    (f"input=meta input-tensor-id=a {more}", WEIGHT, CHANGES)
    for more in ("queue-depth=3", "batch-size=4", "output=meta", "output=meta batch-size=2")
] + [
    ("input=meta output=meta", WEIGHT, [draw(2, 3)]), ("input-tensor-id=a", WEIGHT, [draw(2, 3)]),
    # A is rows of height x width x channels.
    (f"{A} feature-mode=row", np.ones((12, 1), int), [draw(1, m, 4, 3, seed=m) for m in (3, 2, 4)]),
] + [(A, WEIGHT, [draw(2, 2, 3, seed=seed, kind=kind) for seed in range(3)])
     for kind in TYPES if kind not in ("int4", "uint4", "bfloat16")]
# Tensors that cannot be A: id, shape, fields that contradict it, settings, and the error's words.
REFUSED = [
    ("b", (2, 3), {}, "tensor-id=a", 'no tensor "a"|"b", "c"'),
    ("b", (2, 3), {}, "output=meta", '2 tensors|input-tensor-id|"b", "c"'),
] + [("a", shape, others, "tensor-id=a", words) for shape, others, words in [
    ((2, 4), {}, "float32 of 2 x 4|K = 4|K = 3"),
    ((2, 3), {"type": TYPES.index("bfloat16")}, '"a"|bfloat16'),
    ((2, 3), {"type": TYPES.index("int4")}, '"a"|another type'),
    ((2, 3), {"type": 999}, '"a"|another type'), ((2, 3), {"is_column_major": 1}, '"a"|row-major'),
    ((2, 3), {"layout": 1}, '"a"|row-major'), ((2, 3), {"data": None}, '"a"|0 bytes|24'),
    ((0, 3), {}, '"a"|Dimension 1|1 to'), ((1,), {"dims": []}, '"a"|0 dimensions'),
    ((1,), {"dims": [1] * 17}, '"a"|17 dimensions'),
    ((2, 3), {"dims": [2**64 - 1, 3]}, '"a"|Dimension 1'),
    ((2, 3), {"dims": [2**31 - 1] * 3 + [3]}, '"a"|larger than memory'),
    ((2, 4), {"dims": [3, 3]}, '"a"|32 bytes|36'),
]]
ANNOUNCED = announce(describe("a", "2,3"))
# Caps that do not announce A, or not completely.
PARTLY = [announce(text) for text in (
    describe("b", "7,9", "int8"), describe("a", "2,0"), describe("a", "2,3", "bfloat16"),
    describe("a", "(string)2,3"), "(GstCaps)[tensor/strided,tensor-id=a]", "(int)3",
    )] + [RGB + ",tensors=(structure)[tensorgroups,g=(int)3]"]


def describe_result(a, weight=WEIGHT):
    """Returns the caps of the result of A, whose rows may be rows of height x width x channels."""
    outer = a.shape[-2::-1] if a.shape[-1] == len(weight) else [a.size // len(weight)]
    return tensors(":".join(map(str, (weight.shape[1], *outer))))


class Inputs(MetaTestCase):
    def test_streams(self):
        """D leaves as a tensor, or in the metadata of the frame, which passes through with A."""
        for settings, weight, arrays in STREAMS:
            is_meta = "output=meta" in settings
            with self.subTest(settings=settings, kind=arrays[0].dtype):
                stream = self.start_weight(settings, weight=weight)
                inputs = list(map(carry, arrays))
                if "input-tensor-id" in settings:
                    attach(inputs[0], "b", draw(1, kind="int8"))
                for a, buffer, output in zip(arrays, inputs, self.run_all(stream, inputs)):
                    self.is_product(output, a, weight, is_meta)
                    if is_meta:
                        self.assertEqual(hash(output.peek_memory(0)), hash(buffer.peek_memory(0)))
                        (name, kept), *_ = get_tensors(output)[0]
                        self.assertEqual((name, kept.tolist()), ("a", a.tolist()))
                self.gives(stream, RGB if is_meta else describe_result(arrays[-1], weight))

    def test_rows(self):
        stream, a = self.start_weight(f"{A} row-outputs=max"), draw(4, 3)
        d = a @ WEIGHT
        found = np.frombuffer(self.run_one(stream, carry(a)), "f4")
        self.assertEqual(found.tolist(), [*d.ravel(), *d.max(1)])
        self.gives(stream, tensors("2:4,1:4", "float32,float32"))

    def test_data(self):
        """The data of A may have surplus bytes, be unaligned, or in parts, and need no id."""
        stream, a = self.start_weight("input=meta"), draw(2, 3)
        whole = a.tobytes()
        more, odd, parts = wrap(whole + bytes(9)), wrap(b"-" + whole), join([whole[:8], whole[8:]])
        odd.resize(1, a.nbytes)
        for data in more, odd, parts:
            self.multiplies(stream, a, buffer=carry(a, None, data=data))
        self.is_quiet(stream)

    def test_refused(self):
        """A buffer without a valid A is refused, as the first buffer and after a good one."""
        for ident, shape, others, settings, words in REFUSED:
            for is_first in True, False:
                with self.subTest(words=words, is_first=is_first):
                    stream = self.start_weight(f"input=meta {settings}")
                    if not is_first:
                        self.multiplies(stream, draw(2, 3), is_meta=settings == "output=meta")
                    buffer = carry(draw(*shape), ident, **others)
                    attach(buffer, "c", draw(1, kind="int8"))
                    self.refuses(stream, buffer, words)
        self.refuses(self.start_weight("input=meta"), bytes(48), "no tensors|onnxinference")

    def test_any_frame(self):
        """Frames may have formats and memory that the element cannot read. They pass, or tensors
        leave; before the first buffer, caps allow tensors of any M."""
        results = [Gst.Caps.from_string(f"other/tensors,dimensions=(string){dims}")
                   for dims in ("2:9", "2:2")]
        for caps in (video("YUY2", 4, 4).replace("raw", "raw(memory:Unknown)"), audio("U8", 2)):
            stream = self.start_weight("input=meta output=meta", caps)
            self.multiplies(stream, draw(2, 3), is_meta=True)
            self.gives(stream, caps)
            self.is_quiet(stream)
            found = self.make("gemmcl input=meta output=meta", caps).query_caps("sink")
            self.assertTrue(found.is_equal(Gst.Caps.from_string(caps)))
            found = self.make("gemmcl input=meta", "other/tensors").query_caps("sink")
            self.assertTrue(found.can_intersect(Gst.Caps.from_string(caps)))
            stream = self.make(f"gemmcl {A} weight=[[1,2],[3,4],[-5,6]]", None, caps)
            self.assertTrue(stream.play(caps))
            for is_known in False, True:
                found = stream.query_caps("src")
                self.assertEqual([found.can_intersect(result) for result in results],
                                 [not is_known, True])
                self.multiplies(stream, draw(2, 3))

    def test_chain(self):
        """D of one element is A of the next element, in OpenCL memory and without a copy."""
        stream = self.start(RGB, f"{COLOURS} output=meta tensor-id=a ! "
                            f"gemmcl name=b {A} weight=[[1],[1],[1]]")
        values = np.arange(48, dtype="u1")
        self.multiplies(stream, values, ONE, wrap(values.tobytes()))
        self.assertEqual([stream.get_stat(name, "b") for name in ("memory", "bytes")],
                         ["OpenCL to system", 16 * 4])
        self.is_quiet(stream)

    def test_auto(self):
        """Without input-tensor-id, input=auto is media if the element can read the caps."""
        self.gives(self.start_weight("feature-mode=pixel"), tensors("2:4:4"))

    def test_beta(self):
        """The previous output is kept while M stays; an addend of M x N fits only one M."""
        stream = self.start_weight(f"{A} beta=1")
        for m in 2, 1:
            one, other = draw(m, 3), draw(m, 3, seed=1)
            self.multiplies(stream, one)
            self.multiplies(stream, one + other, buffer=carry(other))
        stream = self.start_weight(f"{A} addend=[[0,0],[0,0]]")
        self.multiplies(stream, draw(2, 3))
        self.refuses(stream, carry(draw(1, 3)), "addend is 2 x 2|D is 1 x 2")

    def test_new_n(self):
        stream = self.start_weight(A)
        self.multiplies(stream, draw(2, 3))
        stream.element.props.weight = "[[1],[1],[1]]"
        self.multiplies(stream, draw(2, 3), ONE)
        self.gives(stream, tensors("1:2"))
        self.is_quiet(stream)

    def test_wait(self):
        """Caps wait for the first tensor, and events behind them wait, too."""
        stream, gap = self.start_weight(A), Gst.Buffer.new()
        gap.set_flags(Gst.BufferFlags.GAP)
        self.assertEqual(stream.push(gap), OK)
        for event in (Gst.Event.new_gap(0, Gst.SECOND),
                      Gst.Event.new_tag(Gst.TagList.new_from_string("taglist, title=t"))):
            self.assertTrue(stream.src.push_event(event))
        self.assertFalse(stream.src.peer_query(
            Gst.Query.new_allocation(Gst.Caps.from_string(RGB), True)))
        self.assertFalse(stream.sink.has_current_caps())
        stream.flush()
        self.assertTrue(stream.push_caps(video("YUY2", 4, 2)))
        self.assertFalse(stream.sink.has_current_caps())
        self.multiplies(stream, draw(2, 3))
        for kind in Gst.EventType.CAPS, Gst.EventType.SEGMENT, Gst.EventType.TAG:
            self.assertIsNotNone(stream.sink.get_sticky_event(kind, 0))
        self.is_quiet(stream)

    def test_no_buffers(self):
        """A stream that stops while events wait can start again; if it ends then, no caps leave."""
        stream = self.start_weight(A)
        stream.element.set_state(READY)
        self.assertTrue(stream.play(RGB))
        self.multiplies(stream, draw(2, 3))
        stream = self.start_weight(A)
        self.assertEqual(stream.end(), [])
        self.assertIsNotNone(stream.sink.get_sticky_event(Gst.EventType.SEGMENT, 0))
        self.assertFalse(stream.sink.has_current_caps())
        self.is_quiet(stream)


class Sequence:
    """Random caps, buffers, flushes and ends, with other types and shapes of A behind any of them.

    frame, shape, kind: the caps of frames, and A as they announce it; None: they do not
    pending: A of each buffer whose output must arrive, by the buffer's time"""

    def __init__(self, test, seed):
        self.random, self.test = random.Random(seed), test
        self.settings = self.random.choice(["", "batch-size=3", "output=meta"])
        self.stream = test.make(f"gemmcl {A.replace('tensor-id', 'input-tensor-id')} "
                                f"weight=[[1,2],[3,4],[-5,6]] {self.settings}")
        self.shape, self.kind, self.count, self.pending = None, None, 0, {}
        self.stream.element.set_state(Gst.State.PLAYING)
        self.begins()

    def run(self):
        steps = {"pushes_buffer": 10, "changes_caps": 5, "flushes": 1, "ends": 1, "begins": 1,
                 "pushes_others": 2}
        for step in self.random.choices(list(steps), steps.values(), k=40):
            if SINGLE:
                print("#", step, flush=True)
            getattr(self, step)()
        self.flushes()

    def begins(self):
        self.stream.src.push_event(Gst.Event.new_stream_start("stream"))
        self.changes_caps()
        self.stream.push_segment()

    def changes_caps(self):
        """Chooses caps that announce A, announce it in part, or not at all."""
        self.arrives()
        self.shape = None
        self.frame = frame = self.random.choice([RGB, RGB, video("YUY2", 4, 2)])
        if Gst.version() >= (1, 28) and self.random.random() < 0.6:
            self.shape, self.kind = self.choose()
            dims = ",".join(map(str, self.shape))
            if self.random.random() < 0.4:
                dims, self.shape = "0,3", None
            frame = announce(describe("a", dims, self.kind), frame=frame)
        self.test.assertTrue(self.stream.push_caps(frame))

    def choose(self):
        """Returns a shape and a type of A. Few of each, so that they come again."""
        return (self.random.choice([(2, 3), (2, 3), (4, 3), (8, 3), (2, 2, 3), (1, 2, 3)]),
                self.random.choice(["int8", "float32"]))

    def pushes_buffer(self):
        shape, kind = (self.shape, self.kind) if self.shape else self.choose()
        a = draw(*shape, seed=self.count, kind=kind)
        buffer = carry_guarded(a)
        buffer.pts = self.count
        self.pending[self.count] = a
        self.count += 1
        self.test.assertEqual(self.stream.push(buffer), OK)

    def pushes_others(self):
        gap = wrap(b"")
        gap.set_flags(Gst.BufferFlags.GAP)
        gap.pts = Gst.CLOCK_TIME_NONE
        self.test.assertEqual(self.stream.push(gap), OK)
        self.stream.src.push_event(Gst.Event.new_gap(0, Gst.SECOND))

    def flushes(self):
        """A flush may drop what is in a batch."""
        self.stream.flush()
        self.arrives("batch" in self.settings)

    def ends(self):
        self.stream.src.push_event(Gst.Event.new_eos())
        self.arrives()
        self.stream.flush()

    def arrives(self, may_lack=False):
        """The outputs of pending buffers have come, each in its shape. New caps end a batch."""
        if not may_lack:
            self.stream.src.push_event(Gst.Event.new_segment_done(Gst.Format.TIME, 0))
        while self.stream.arrivals.qsize():
            output, caps = self.stream.arrivals.get()
            if not isinstance(output, Gst.Buffer) or output.pts == Gst.CLOCK_TIME_NONE:
                continue
            a, is_meta = self.pending.pop(output.pts), "output=meta" in self.settings
            self.test.is_product(output, a, WEIGHT, is_meta)
            expected = describe_result(a)
            if is_meta:
                outer = self.shape[:-1] if self.shape else [0] * (a.ndim - 1)
                expected = self.frame if Gst.version() < (1, 28) else announce(
                    describe(OUT, ",".join(map(str, (*outer, 2)))), group=OUT, frame=self.frame)
            self.test.assertTrue(caps.is_subset(Gst.Caps.from_string(expected)),
                                 f"{caps.to_string()} is not of {expected}")
        self.test.is_quiet(self.stream)
        if may_lack:
            self.pending.clear()
        self.test.assertEqual(list(self.pending), [])


class Sequences(MetaTestCase):
    def test_random(self):
        """Each output is the product of its own A, whatever caps, flushes and other types of A came
        before. GEMMCL_TEST_STREAM selects a single sequence, by the number that is printed."""
        for _ in range(1 if SINGLE else COUNT):
            seed = int(SINGLE) if SINGLE else random.getrandbits(32)
            print(f"# GEMMCL_TEST_STREAM={seed}", flush=True)
            Sequence(self, seed).run()
            self.doCleanups()
            GUARDED.clear()

    def test_output_type(self):
        """Downstream asks for another type at the buffer whose A has other rows."""
        stream = self.start_weight(f"{A} ! capsfilter name=f "
                                   "caps=other/tensors,types=(string)float32")
        self.multiplies(stream, draw(4, 3))
        stream["f"].props.caps = Gst.Caps.from_string("other/tensors,types=(string)uint8")
        a = draw(2, 3)
        expected = np.clip(a @ WEIGHT, 0, 255).astype("u1")
        self.assertEqual(self.run_one(stream, carry(a)), expected.tobytes())

    def test_same_id(self):
        """Caps announce a tensor of one id once, so a buffer has no second tensor of it."""
        for upstream, settings in [("d", ""), ("d-rows", "row-outputs=sum")]:
            stream = self.start(RGB, f"{COLOURS} output=meta tensor-id=d {settings}")
            self.refuses(stream, carry(draw(2, 3), upstream), f'"{upstream}"|another tensor-id')
        stream = self.start(RGB, f"{COLOURS} output=meta tensor-id=d")
        self.assertEqual(stream.push(carry(draw(2, 3), "d-rows")), OK)


@since_1_28
class Announced(MetaTestCase):
    def test_first(self):
        """Caps are negotiated before the first buffer, which must fit them."""
        stream = self.start_weight(A, ANNOUNCED)
        self.gives(stream, tensors("2:2"))
        self.multiplies(stream, draw(2, 3))
        self.refuses(stream, carry(draw(1, 3)), "float32 of 1 x 3|float32 of 2 x 3")
        stream = self.make(f"gemmcl {A} weight=[[1],[1]]")
        self.assertFalse(stream.play(ANNOUNCED))
        self.says(stream, "tensor that caps announce, float32 of 2 x 3|K = 3|K = 2")

    def test_both(self):
        """Caps announce A and D, but M of D only if upstream announces it."""
        for m in 2, 0:
            caps = announce(describe("a", f"{m},3"))
            stream = self.start_weight("input=meta output=meta tensor-id=d", caps)
            self.multiplies(stream, draw(2, 3), is_meta=True)
            self.gives(stream, caps)
            self.gives(stream, announce(describe("d", f"{m},2"), group="d"))
            self.is_quiet(stream)

    def test_partly(self):
        """Caps that do not announce A completely wait for a buffer."""
        for caps in PARTLY:
            with self.subTest(caps=caps):
                stream = self.start_weight(A, caps)
                self.multiplies(stream, draw(2, 3))
                self.is_quiet(stream)

    def test_late(self):
        """While caps wait for a buffer, caps that announce A completely end the wait. Later caps
        make a new plan, also after a change of M that needed no new plan."""
        stream = self.start_weight(A)
        self.assertTrue(stream.push_caps(ANNOUNCED))
        self.gives(stream, tensors("2:2"))
        self.multiplies(stream, draw(2, 3))
        self.is_quiet(stream)
        stream = self.start_weight(A)
        self.multiplies(stream, draw(5, 3))
        self.multiplies(stream, draw(2, 3))
        self.assertTrue(stream.push_caps(announce(describe("a", "2,3", "int8"))))
        self.multiplies(stream, draw(2, 3, kind="int8"))
        self.is_quiet(stream)

    def test_auto(self):
        """input=auto is meta if the caps announce tensors in a medium that cannot be read."""
        planar = video("RGBP", 4, 4)
        caps = announce(describe("a", "2,3"), frame=planar)
        stream = self.start_weight("tensor-id=a", caps)
        self.multiplies(stream, draw(2, 3))
        asked = Gst.Caps.from_string(caps)
        self.assertTrue(asked.is_subset(stream.query_caps("sink", asked)))
        self.assertFalse(stream.query_caps("sink").can_intersect(Gst.Caps.from_string(planar)))
        self.gives(self.start_weight("feature-mode=pixel", ANNOUNCED), tensors("2:4:4"))
        stream = self.make("gemmcl input=media tensor-id=a weight=[[1],[1],[1]]")
        self.assertFalse(stream.play(caps))


main()
