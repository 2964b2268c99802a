# SPDX-License-Identifier: LGPL-2.1-or-later
"""Flexible tensors that change from buffer to buffer, that are one of several, and refused ones."""

from medium import FLEXIBLE, FLEXIBLE_TYPES
from medium import write_flexible as write
from stream import OK, TestCase, get_bytes, join, main, np, tensors, video

WEIGHT = np.array([[1, 2], [3, 4], [5, 6]])
TEXT = "gemmcl weight=[[1,2],[3,4],[5,6]]"
HEADER = 128
MAGIC, VERSION, TYPE, DIMS, FORMAT, MEDIA = 0, 1, 2, 3, 19, 20


def make(m, kind="float32", seed=0):
    """Returns a matrix of m rows of 3 small integers, and its flexible tensor."""
    a = (np.arange(3 * m).reshape(m, 3) * 7 + seed) % 11
    return a, write(a, kind)


class Flexible(TestCase):
    def test_wrong_words(self):
        """Each wrong word of a header ends the stream with an error that explains it."""
        for word, value, words in [
                (MAGIC, 0, "0x00000000|0xfeedcced"), (MAGIC, 0xedccedfe, "0xedccedfe|0xfeedcced"),
                (VERSION, 0xde002000, "0xde002000|version 1"),
                (VERSION, 0, "0xfeedcced 0x00000000"), (TYPE, 11, "type 11|type 0 to 10"),
                (TYPE, 2**32 - 1, "type 4294967295"), (DIMS, 0, "Dimension 0|is 0|1 to"),
                (DIMS, 2**31, "Dimension 0|2147483648"),
                (DIMS, 4, "Tensor 0|24 bytes behind its header|expected 32"),
                (DIMS, 2, "8 bytes|header of 128 bytes"),
                (DIMS + 1, 2**31 - 1, "bytes behind its header|expected 25769803764"),
                (DIMS + 1, 2**32 - 1, "Dimension 1"),
                (DIMS + 3, 1, "Dimension 2|is 0|behind the last"),
                (DIMS + 15, 5, "Dimension 2|is 0"), (FORMAT, 2, "format 2 and|sparse"),
                (FORMAT, 77, "format 77"), (MEDIA, 5, "media type 5|media type 0 to 4")]:
            with self.subTest(word=word, value=value):
                data = np.frombuffer(make(2)[1], "<u4").copy()
                data[word] = value
                self.fails(self.start(FLEXIBLE, TEXT), data, words)

    def test_changes(self):
        for more in ("", "batch-size=2 batch-timeout=0",
                     "! capsfilter caps=other/tensors(memory:OpenCL) ! "
                     "gemmcl weight=[[1,0],[0,1]]"):
            with self.subTest(more=more):
                stream = self.start(FLEXIBLE, f"{TEXT} {more}")
                inputs = [make(m, kind, seed) for seed, (kind, m) in enumerate([
                    ("float32", 3), ("float32", 3), ("float32", 1), ("float32", 40), ("uint8", 12),
                    ("int32", 3), ("int32", 3), ("int32", 64), ("float32", 64), ("float32", 2),
                    *((kind, 2) for kind in FLEXIBLE_TYPES)])]
                # The result has the outer dimensions of A; here M stays while they change.
                cube = make(4)[0].reshape(2, 2, 3)
                inputs += [(a, write(a)) for a in
                           (cube, cube.reshape(4, 3), cube.reshape(4, 1, 3), cube[None])]
                outputs = self.run_all(stream, [data for _, data in inputs])
                self.assertEqual(list(map(get_bytes, outputs)),
                                 [write(a @ WEIGHT) for a, _ in inputs])
                self.gives(stream, FLEXIBLE)

    def test_previous(self):
        """The previous output is kept while the number of rows stays, with any type of A."""
        stream = self.start(FLEXIBLE, f"{TEXT} beta=1")
        previous = np.zeros((0, 2))
        for seed, (kind, m) in enumerate([("float64", 4), ("float64", 4), ("float64", 6),
                                          ("float16", 6), ("float16", 1)]):
            a, data = make(m, kind, seed)
            d = a @ WEIGHT + (previous if len(previous) == m else 0)
            self.assertEqual(self.run_one(stream, data), write(d))
            previous = d

    def test_other_n(self):
        """A weight of another N does not change the caps."""
        stream = self.start(FLEXIBLE, "gemmcl weight=[[0],[0],[0]]")
        for weight in [[1], [2], [3]], [[1, 2, 3, 4], [5, 6, 7, 8], [9, 8, 7, 6]], WEIGHT.tolist():
            stream.element.props.weight = str(weight)
            for seed in 1, 2:
                a, data = make(6, seed=seed)
                self.assertEqual(self.run_one(stream, data), write(a @ weight))
        self.is_quiet(stream)

    def test_previous_of_other_n(self):
        """A previous output of another N counts as zeros, also if beta was 0 when it was made."""
        for n in 1, 4:
            with self.subTest(n=n):
                stream = self.start(FLEXIBLE, TEXT)
                a, data = make(5)
                self.assertEqual(self.run_one(stream, data), write(a @ WEIGHT))
                weight = np.arange(3 * n).reshape(3, n)
                stream.element.props.weight = str(weight.tolist())
                stream.element.props.beta = 1
                for factor in 1, 2:
                    self.assertEqual(self.run_one(stream, data), write(factor * a @ weight))
                self.is_quiet(stream)

    def test_several(self):
        """One of several tensors is multiplied, with a memory for each tensor or one for all."""
        a, data = make(4)
        other = write(np.frombuffer(b"any bytes", "u1"), "uint8")
        caps = f"{FLEXIBLE},num_tensors="
        for index in range(3):
            parts = [data if i == index else other for i in range(3)]
            for buffer in join(parts), b"".join(parts):
                stream = self.start(f"{caps}3", f"{TEXT} row-outputs=sum tensor-index={index}")
                self.assertEqual(stream.push(buffer), OK)
                d = a @ WEIGHT
                parts[index] = write(d)
                expected = [*parts, write(d.sum(1, keepdims=True))]
                output = stream.pull_buffer()
                self.assertEqual([output.peek_memory(i).get_sizes()[0]
                                  for i in range(output.n_memory())], list(map(len, expected)))
                self.assertEqual(get_bytes(output), b"".join(expected))
                self.gives(stream, f"{caps}4")

    def test_refused(self):
        """Buffers that do not fit are refused. Each case: num_tensors of the caps, the settings,
        the numbers of tensors and of memories, the number of bytes, and the error's words."""
        data = make(2)[1]
        for number, settings, n, memories, size, words in [
                (0, "", 1, 1, 40, "40 bytes|header of 128 bytes"),
                (0, "", 1, 1, HEADER, "0 bytes behind its header|expected 24"),
                (0, "", 1, 1, HEADER + 23, "23 bytes behind its header|expected 24"),
                (0, "", 2, 1, 2 * HEADER, "104 bytes|header of 128 bytes"),
                (0, "", 3, 2, None, "Tensor 0|176 bytes behind its header|expected 24"),
                (0, "tensor-index=2", 2, 1, None, "tensor-index is 2|2 flexible tensors|0 to 1"),
                (0, "tensor-index=1", 1, 1, None, "tensor-index is 1|1 flexible tensor.|0 to 0"),
                (3, "", 2, 2, None, "2 flexible tensors|expected 3"),
                (1, "", 2, 1, None, "2 flexible tensors|expected 1"),
                (0, "", 17, 1, None, "more than 16 flexible tensors"),
                (0, "row-outputs=sum", 16, 16, None, "has 16 tensors|another one"),
                (0, "weight=[[1],[2]]", 1, 1, None, "float32 of 2 x 3|K = 3|has K = 2"),
                (0, "addend=[[1,2],[3,4]]", 1, 1, None, "addend is 2 x 2|1 x 2")]:
            with self.subTest(words=words):
                caps = FLEXIBLE + (f",num_tensors={number}" if number else "")
                # The first memory has the tensors without a memory of their own.
                first = (data * (n - memories + 1))[:size]
                self.fails(self.start(caps, f"{TEXT} {settings}"),
                           join([first, *[data] * (memories - 1)]), words)

    def test_output(self):
        """With output=flexible, the output of a frame or static tensor has a header."""
        a = np.array([[1, 2, 3]])
        for caps, data in [(video("RGB", 1, 1), bytes([1, 2, 3, 0])),
                           (tensors("3:1"), a.astype("f4").tobytes())]:
            for kind, name in [("float32", "f32"), ("float16", "f16"), ("int8", "i8")]:
                stream = self.start(caps, f"{TEXT} feature-mode=row output=flexible "
                                    f"output-type={name}")
                self.assertEqual(self.run_one(stream, data), write(a @ WEIGHT, kind))
                self.gives(stream, f"{FLEXIBLE},num_tensors=1")

    def test_rows(self):
        """Row outputs have the header in place of D, behind a flexible or a static tensor."""
        for caps, output in (FLEXIBLE, "rows"), (tensors("3:4"), "rows-flexible"):
            a, data = make(4, "float32")
            stream = self.start(caps, f"{TEXT} row-outputs=sum output={output}")
            self.assertEqual(self.run_one(stream, data if caps == FLEXIBLE else data[HEADER:]),
                             write((a @ WEIGHT).sum(1, keepdims=True)))

    def test_outer(self):
        """The headers of results have the outer dimensions of frames and of static tensors."""
        a = (np.arange(24) % 7).reshape(2, 4, 3)
        for caps, data in [(video("RGB", 4, 2), a.astype("u1")), (tensors("3:4:2"), a.astype("f4")),
                           (tensors("3:4:2:1"), a.astype("f4"))]:
            stream = self.start(caps, f"{TEXT} feature-mode=pixel output=flexible "
                                "row-outputs=sum")
            d = (a @ WEIGHT).reshape(*(1,) * caps.count(":4:2:1"), 2, 4, 2)
            self.assertEqual(self.run_one(stream, data), write(d) + write(d.sum(-1, keepdims=True)))


main()
