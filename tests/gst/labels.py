# SPDX-License-Identifier: LGPL-2.1-or-later
"""Labels of the best elements of rows, in element messages and in the metadata of buffers."""

import os
import threading
from ctypes import c_size_t, c_void_p
from pathlib import Path

from cl_memory import pretend_discrete
from numpy_gemm import row_outputs
from stream import (GST, OK, SECONDS, Gst, TestCase, change_buffers, get_bytes, main, np,
                    tensors)

FRAME = Gst.SECOND // 10
NAMES = ["cat", "dog", "hot dog", "émeu", "owl", "7", "a,b"]
RESULT = "gemmcl-result"
TIMES = ("timestamp", "stream-time", "running-time", "duration")
NONE = Gst.CLOCK_TIME_NONE
WARNING = Gst.MessageType.WARNING


def draw(*shape, seed=0):
    return np.random.default_rng(seed).integers(-9, 9, shape).astype("f4")


class Labels(TestCase):
    def begin(self, weight, rows=1, **settings):
        """Returns a stream that posts the best elements, by default one, of each row."""
        settings = {"row_outputs": "arg-max", "post_messages": True, **settings}
        stream = self.make("gemmcl")
        stream.element.props.weight = str(weight.tolist())
        for name, value in settings.items():
            Gst.util_set_object_arg(stream.element, name.replace("_", "-"), str(value))
        self.assertTrue(stream.play(tensors(f"{len(weight)}:{rows}")))
        return stream

    def get_results(self, stream):
        """The structures of the messages that were posted."""
        found = []
        while message := stream.bus.pop_filtered(Gst.MessageType.ELEMENT):
            structure = message.get_structure()
            if structure.get_name() == RESULT:
                found.append(structure)
        return found

    def end(self, stream):
        """Ends the stream, and returns the results that were posted."""
        stream.end()
        return self.get_results(stream)

    def check(self, found, d, names, k, labels):
        """A message has the best elements of D, by NumPy. names: as row-outputs"""
        rows = row_outputs(d, "max+arg-max" if k is None else "top-k", k)[0]
        n = k or 1
        values, columns = rows[:, :n].ravel(), rows[:, n:].ravel().astype(int)
        self.assertEqual(list(found.get_value("row")), np.repeat(range(len(d)), n).tolist())
        self.assertEqual(list(found.get_value("index")), columns.tolist())
        self.assertEqual(found.has_field("label"), labels is not None)
        if labels:
            self.assertEqual(list(found.get_value("label")), [labels[i] for i in columns])
        self.assertEqual(found.has_field("value"), names != "arg-max")
        if names != "arg-max":
            np.testing.assert_array_equal(np.array(list(found.get_value("value"))), values)

    def test_messages(self):
        """One message for each buffer, in order, with its times, however buffers are multiplied."""
        weight = draw(4, 7, seed=1)
        path = self.write("labels", "\n".join(NAMES).encode())
        for names, k in [("arg-max", None), ("max+arg-max", None), ("sum+arg-max", None),
                         ("top-k", 3), ("sum+max+arg-max+top-k", 7), ("sum+top-k", 1)]:
            for more in [{}, {"queue_depth": 5, "batch_size": 3}, {"devices": "all"},
                         {"output": "flexible"}, {"output": "rows"}, {"labels": ""},
                         {"output": "rows-flexible", "batch_size": 2}]:
                with self.subTest(names=names, k=k, more=more):
                    stream = self.begin(weight, 2, **{"row_outputs": names, "top_k": k or 1,
                                                      "labels": path, **more})
                    inputs = []
                    for i in range(8):
                        inputs.append(Gst.Buffer.new_wrapped(draw(2, 4, seed=i).tobytes()))
                        inputs[-1].pts, inputs[-1].duration = i * FRAME, FRAME
                    for buffer in inputs:
                        self.assertEqual(stream.push(buffer), OK)
                    self.assertEqual(len(stream.end()), len(inputs))
                    found = self.get_results(stream)
                    self.assertEqual(len(found), len(inputs))
                    for i, one in enumerate(found):
                        self.assertEqual([one.get_value(name) for name in TIMES],
                                         [i * FRAME] * 3 + [FRAME])
                        self.check(one, draw(2, 4, seed=i) @ weight,
                                   "arg-max" if names == "sum+arg-max" else names, k,
                                   None if more.get("labels") == "" else NAMES)

    def test_eos(self):
        """All messages are posted before EOS leaves, which is before the stats."""
        stream = self.begin(draw(4, 3), 2)
        for _ in range(5):
            stream.push(draw(2, 4))
        stream.src.push_event(Gst.Event.new_eos())
        names = [message.get_structure().get_name() for message in
                 iter(lambda: stream.bus.pop_filtered(Gst.MessageType.ELEMENT), None)]
        self.assertEqual(names, [RESULT] * 5 + ["gemmcl-stats"])

    def test_times(self):
        """Times follow the segment; without timestamps or times they are none."""
        stream = self.begin(draw(2, 3))
        segment = Gst.Segment()
        segment.init(Gst.Format.TIME)
        segment.start, segment.time, segment.base = FRAME, 5 * FRAME, 9 * FRAME
        stream.src.push_event(Gst.Event.new_segment(segment))
        stream.push(draw(2), pts=3 * FRAME)
        stream.push(draw(2))
        segment.init(Gst.Format.BYTES)
        stream.src.push_event(Gst.Event.new_segment(segment))
        stream.push(draw(2), pts=FRAME)
        self.assertEqual([[one.get_value(name) for name in TIMES[:3]] for one in self.end(stream)],
                         [[3 * FRAME, 7 * FRAME, 11 * FRAME], [NONE] * 3, [FRAME, NONE, NONE]])

    def test_interval(self):
        """Messages are at least an interval apart, by timestamps, which may go back."""
        stream = self.begin(draw(2, 3), message_interval=3 * FRAME)
        times = [0, 1, 2, 3, 4, 5, 7, 9, 1, 2, 4]
        for time in times:
            stream.push(draw(2), pts=time * FRAME)
        self.assertEqual([one.get_value("timestamp") // FRAME for one in self.end(stream)],
                         [0, 3, 7, 1, 4])
        stream = self.begin(draw(2, 3), message_interval=3600 * Gst.SECOND)
        for _ in times:
            stream.push(draw(2))
        self.assertEqual(len(self.end(stream)), 1)

    def test_nan(self):
        """NaN is the largest, with its column."""
        stream = self.begin(np.eye(3), row_outputs="top-k", top_k=2, labels="[a,b,c]")
        for row in ([np.nan, 1, 2], [1, 2, np.nan]):
            stream.push(np.array(row, "f4"))
        # A NaN in A makes all of its row NaN, since 0 times NaN is NaN.
        for found in self.end(stream):
            self.assertEqual(list(found.get_value("label")), ["a", "b"])
            self.assertTrue(np.isnan(list(found.get_value("value"))).all())

    def test_change(self):
        """Labels may change while playing, also with N; those that do not fit are refused."""
        stream = self.begin(np.eye(2), row_outputs="top-k", top_k=1, labels="[a,b]")
        element, found = stream.element, []

        def push():
            stream.push(np.array([1, 5], "f4"))
            stream.pull_buffer()
            while not (posted := self.get_results(stream)):
                pass
            (one,) = posted
            found.append(list(one.get_value("label")) if one.has_field("label") else None)
        push()
        element.props.labels = "[c,d]"
        push()
        for wrong, words in [("[e,f,g]", "labels has 3 labels. Expected 2"),
                             ("[e", "label 1"), ("/none/such", "Cannot open the file")]:
            element.props.labels = wrong
            self.says(stream, f"The new labels are refused|{words}", kind=WARNING)
            self.assertEqual(element.props.labels, "[c,d]")
            push()
        element.props.weight = "[[0,1,0],[0,0,1]]"
        push()
        element.props.labels = "[e,f,g]"
        push()
        element.props.weight = "[[1],[1]]"
        element.props.labels = "[one]"
        push()
        element.props.labels = ""
        push()
        self.assertEqual(found, [["b"], ["d"], ["d"], ["d"], ["d"], None, ["g"], ["one"], None])
        self.is_quiet(stream)

    def test_batch(self):
        """A batch has the labels of its first buffer."""
        stream = self.begin(draw(2, 1), batch_size=2, batch_timeout=0, labels="[a]")
        for i in range(4):
            stream.push(draw(2))
            if i == 0:
                stream.element.props.labels = "[b]"
        self.assertEqual([list(one.get_value("label")) for one in self.end(stream)],
                         [["a"], ["a"], ["b"], ["b"]])

    def test_texts(self):
        """Lists and files: quotation marks, blanks, line ends, byte order mark, URIs."""
        path = self.write("a file", b"\xef\xbb\xbfcat\r\n  hot dog \r\nowl\r\n")
        for text, expected in [
                ("[cat,dog , owl]", ["cat", "dog", "owl"]),
                (' [ "cat" , "hot, \\"dog\\"", \'a\\\\b\' ] ', ["cat", 'hot, "dog"', "a\\b"]),
                (path, ["cat", "hot dog", "owl"]),
                (Path(path).as_uri(), ["cat", "hot dog", "owl"])]:
            with self.subTest(text=text):
                stream = self.begin(np.eye(3), row_outputs="top-k", top_k=3)
                stream.element.props.labels = text
                self.is_quiet(stream)
                stream.push(np.array([3, 2, 1], "f4"))
                (found,) = self.end(stream)
                self.assertEqual(list(found.get_value("label")), expected)

    def refuses(self, text, words, settings="row-outputs=arg-max post-messages=true"):
        """The element does not start, with an error of these words."""
        stream = self.make(f"gemmcl weight=[[1,2]] {settings}")
        stream.element.props.labels = text
        self.assertEqual(stream.element.set_state(Gst.State.PLAYING),
                         Gst.StateChangeReturn.FAILURE)
        self.says(stream, words)

    def test_refusals(self):
        for data, words in [(b"", "is empty"), (b"\n", "Line 1 is empty"),
                            (b"a\n\t\nb", "Line 2 is empty"),
                            (b"a\nb\xff\n", "Line 2 is not UTF-8"),
                            (b"a\0b\n", "Line 1|zero byte"), (b"a\n", "1 label. Expected 2|N"),
                            (b"a\nb\nc\n", "3 labels. Expected 2")]:
            with self.subTest(data=data):
                self.refuses(self.write("labels", data), words)
        large = self.write("large", b"")
        os.truncate(large, (64 << 20) + 1)
        pipe = str(Path(large).with_name("pipe"))
        os.mkfifo(pipe)
        for text, words in [(large, "67108865 bytes|at most 67108864"), (pipe, "found a pipe"),
                            (str(Path(large).parent), "found a directory"),
                            ("file:%zz", "Cannot read the URI"),
                            ("none.txt", "none.txt|Cannot open"),
                            ("[]", "at label 0"), ("[a", "at label 1"), ("[a,,b]", "at label 1"),
                            ("[a] b", "at label 1"), ('["a]', "at label 0"), ("['a\\", "label 0"),
                            ('["a" b]', "at label 1"), ('[""]', "label 0"),
                            ("[a b\"c\"]", "label")]:
            with self.subTest(text=text):
                self.refuses(text, words)
        for settings in "post-messages=true", "row-outputs=sum", "row-outputs=max output=flexible":
            self.refuses("[a,b]", "labels|neither arg-max nor top-k", settings)
        self.refuses("", "post-messages=true|neither", "row-outputs=sum post-messages=true")

    def test_idle(self):
        """Labels that go nowhere are warned of."""
        stream = self.make("gemmcl weight=[[1,2]] row-outputs=arg-max labels=[a,b]")
        self.assertTrue(stream.play(tensors("1")))
        self.says(stream, "labels has no effect|post-messages", kind=WARNING)

    def test_large(self):
        """Results of very many elements have no messages, with one warning."""
        stream = self.begin(draw(1, 2), 2049, row_outputs="top-k", top_k=2)
        for _ in range(3):
            self.assertEqual(stream.push(draw(2049)), OK)
        self.assertEqual(len(stream.end()), 3)
        self.says(stream, "2049 rows with the 2 best|4096", kind=WARNING)
        self.assertFalse(self.get_results(stream))

    def test_empty(self):
        """A gap without data has no message."""
        stream = self.begin(draw(1, 2))
        gap = Gst.Buffer.new()
        gap.set_flags(Gst.BufferFlags.GAP)
        for data in gap, draw(1):
            self.assertEqual(stream.push(data), OK)
        self.assertEqual(len(self.end(stream)), 1)

    def hold_messages(self, stream):
        """Lets the thread that posts messages wait at the first. Returns events: it does; it may
        go on."""
        begun, may_end = threading.Event(), threading.Event()

        def wait(_bus, message):
            if message.type == Gst.MessageType.ELEMENT:
                begun.set()
                may_end.wait(SECONDS)
            return Gst.BusSyncReply.PASS
        stream.bus.set_sync_handler(wait)
        self.addCleanup(stream.bus.set_sync_handler, None)
        self.addCleanup(may_end.set)
        return begun, may_end

    def push_numbers(self, stream, see):
        """Pushes 20 numbers while messages are held; calls see(output) for each."""
        begun, may_end = self.hold_messages(stream)
        self.assertTrue(stream.play(tensors("1")))
        for i in range(20):
            self.assertEqual(stream.push(np.array([i + 1], "f4")), OK)
            see(stream.pull_buffer())
            self.assertTrue(begun.wait(SECONDS))
        may_end.set()
        self.assertEqual([list(one.get_value("value")) for one in self.end(stream)],
                         [[2.0 * (i + 1)] for i in range(20)])

    # With an addend the element itself keeps no output for beta.
    HELD = "gemmcl weight=[[1,2]] addend=[0,0] row-outputs=max+arg-max post-messages=true output="

    def test_writer(self):
        """Who writes the result in place, before it is posted, changes no message."""
        def clear(address):
            GST.gst_buffer_memset(c_void_p(address), 0, 0, c_size_t(16))
            return address
        for output in "tensors", "rows":
            with self.subTest(output=output):
                stream = self.make(self.HELD + output)
                change_buffers(stream.sink, clear)
                self.push_numbers(stream,
                                  lambda buffer: self.assertFalse(any(get_bytes(buffer))))

    def test_pool(self):
        """A result that returns to its pool before it is posted keeps its content, on a device with
        memory of its own, from which only the message copies it."""
        with pretend_discrete():
            stream = self.make(self.HELD + "rows", "other/tensors(memory:OpenCL)")
            self.push_numbers(stream, lambda buffer: None)


main()
