# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dimensions of results: what an element behind a layer sees, by exact small integers."""

from flexible_tensors import FLEXIBLE, write
from numpy_gemm import features
from stream import OK, Gst, TestCase, get_bytes, main, np, tensors, video

CONVOLUTION = "feature-mode=patch patch-width=3 patch-height=3 patch-stride=1 patch-padding=1"


def draw(*shape, seed=0):
    return (np.arange(np.prod(shape)) * 7 + seed * 3).reshape(shape) % 5 - 2


def element(weight, settings=""):
    return f"gemmcl weight={weight.tolist()} {settings}".replace(", ", ",")


LAYER, FILTERS = draw(8, 16), draw(144, 4, seed=1)


def convolve(a):
    rows = features(a, "patch", (3, 3), 1, 1)
    return (rows @ FILTERS).reshape(*a.shape[:2], -1)


class Layers(TestCase):
    def gives_array(self, data, expected):
        np.testing.assert_array_equal(
            np.frombuffer(get_bytes(data), "f4").reshape(expected.shape), expected)

    def test_convolution(self):
        """A convolution behind a layer sees the pixels before it, also with batches."""
        self.check_convolutions("", "batch-size=2")

    def test_convolution_on_devices(self):
        self.needs_two_devices()
        self.check_convolutions("devices=all", "batch-size=3 devices=all")

    def check_convolutions(self, *settings):
        for more in settings:
            for dims, shape in [("8:8:8", (8, 8, 8)), ("8:8:8:1", (8, 8, 8)), ("8:6:2", (2, 6, 8))]:
                with self.subTest(more=more, dims=dims):
                    stream = self.start(tensors(dims), f"{element(LAYER, more)} ! "
                                        f"{element(FILTERS, CONVOLUTION)}")
                    arrays = [draw(*shape, seed=seed) for seed in range(4)]
                    outputs = self.run_all(stream, [a.astype("f4") for a in arrays])
                    for a, output in zip(arrays, outputs):
                        self.gives_array(output, convolve(a @ LAYER))
                    self.gives(stream, tensors(f"4:{shape[1]}:{shape[0]}"))

    def test_pixels(self):
        weight, a = draw(3, 16), draw(4, 8, 3) + 2
        stream = self.start(video("RGB", 8, 4), f"{element(weight)} ! "
                            f"{element(FILTERS, CONVOLUTION)}")
        self.gives_array(self.run_all(stream, [a.astype("u1")])[0], convolve(a @ weight))
        self.gives(stream, tensors("4:8:4"))

    def test_filters(self):
        """A caps filter may name the dimensions in each spelling, or a matrix."""
        a = draw(8, 8, 8)
        for dims in "16:8:8", "16:8:8:1", "16:8:8:0", "16:64", "16:64:1:1":
            caps = f"other/tensors,dimensions=(string){dims}"
            stream = self.make(f"{element(LAYER)} ! capsfilter name=f")
            stream["f"].props.caps = Gst.Caps.from_string(caps)
            self.assertTrue(stream.play(tensors("8:8:8")))
            self.gives_array(self.run_all(stream, [a.astype("f4")])[0], a @ LAYER)
            self.gives(stream, caps)

    def test_changes(self):
        """The dimensions follow those of the input and N while playing, also within a batch."""
        for more in "", "batch-size=2":
            stream, arrays = self.start(tensors("8:1"), element(LAYER, more)), []
            for seed, (shape, n) in enumerate([((8, 8, 8), 16), ((4, 16, 8), 16), ((64, 8), 16),
                                               ((4, 16, 8), 3), ((1, 2, 3, 8), 3)]):
                weight, a = LAYER[:, :n], draw(*shape, seed=seed)
                stream.element.props.weight = str(weight.tolist())
                self.assertTrue(stream.push_caps(tensors(":".join(map(str, shape[::-1])))))
                self.assertEqual(stream.push(a.astype("f4")), OK)
                arrays.append(a @ weight)
            stream.src.push_event(Gst.Event.new_eos())
            for expected in arrays:
                output, caps = self.pull_both(stream)
                self.gives_array(output, expected)
                dims = ":".join(map(str, expected.shape[::-1]))
                self.assertTrue(caps.is_subset(Gst.Caps.from_string(tensors(dims))),
                                caps.to_string())

    def pull_both(self, stream):
        while not isinstance((arrived := stream.arrivals.get())[0], Gst.Buffer):
            pass
        return arrived

    def test_several(self):
        """Row outputs have the outer dimensions, too, and tensors that pass keep theirs."""
        other, a = np.arange(14, dtype="u1"), draw(4, 2, 8)
        stream = self.start(tensors("7:2,8:2:4", "uint8,float32"),
                            element(LAYER, "tensor-index=1 row-outputs=sum+max"))
        (output,) = self.run_all(stream, [other.tobytes() + a.astype("f4").tobytes()])
        d = a @ LAYER
        rows = np.stack([d.sum(-1), d.max(-1)], -1)
        self.assertEqual(get_bytes(output), other.tobytes() + d.astype("f4").tobytes() +
                         rows.astype("f4").tobytes())
        self.gives(stream, tensors("7:2,16:2:4,2:2:4", "uint8,float32,float32"))

    def test_devices(self):
        """Headers state their own buffers' dimensions, though others come before a run ends."""
        self.needs_two_devices()
        stream = self.start(FLEXIBLE, element(LAYER, "devices=all queue-depth=3"))
        arrays = [draw(*shape, 8, seed=seed) for seed, shape in enumerate(
            [(4, 4), (2, 8), (16,), (1, 16), (2, 2, 4), (16,), (3,), (3, 1)] * 3)]
        outputs = self.run_all(stream, [write(a) for a in arrays])
        self.assertEqual(list(map(get_bytes, outputs)), [write(a @ LAYER) for a in arrays])


class Auto(TestCase):
    """feature-mode=auto where several modes have the K of the weight."""

    def test_equal(self):
        """Modes that make the same A are not ambiguous."""
        rgb = np.eye(3, dtype=int)
        for size, weight, settings, result in [
                ((1, 5), rgb, "", "video/x-raw,format=RGB"), ((1, 1), rgb, "", "video/x-raw"),
                ((1, 5), rgb[:, :2], "", tensors("2:1:5")),
                ((1, 5), rgb, "patch-width=1 patch-height=1", "video/x-raw"),
                ((5, 1), draw(15, 4), "", tensors("4:1")),
                ((4, 2), draw(24, 4), "patch-width=4 patch-height=2", tensors("4:1:1")),
                ((4, 2), draw(12, 4), "patch-width=4 patch-height=1", tensors("4:1:2"))]:
            with self.subTest(size=size, settings=settings):
                stream = self.start(video("RGB", *size), element(weight, settings))
                self.gives(stream, result)

    def test_different(self):
        """Modes with the same K, even with the same M, whose rows differ."""
        for size, k, settings in [
                ((6, 2), 18, "patch-width=3 patch-height=2"),
                ((4, 4), 12, "patch-width=2 patch-height=2"),
                ((2, 2), 3, "patch-width=1 patch-height=1 patch-stride=2 patch-padding=1"),
                ((3, 3), 3, "patch-width=1 patch-height=1 patch-padding=1")]:
            with self.subTest(size=size, settings=settings):
                stream = self.make(element(draw(k, 2), settings))
                self.assertFalse(stream.play(video("RGB", *size)))
                self.says(stream, "fits several modes|feature-mode")

    def test_narrow(self):
        """A stream of pixels becomes one pixel wide and high while playing."""
        weight = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
        stream = self.start(video("RGB", 4, 2), element(weight))
        for width, height in (4, 2), (1, 3), (4, 1), (1, 1), (4, 2):
            self.assertTrue(stream.push_caps(video("RGB", width, height)))
            pixels = np.zeros((height, -(-width * 3 // 4) * 4), "u1")
            pixels[:, :width * 3] = np.arange(width * 3)
            found = np.frombuffer(self.run_one(stream, pixels), "u1").reshape(pixels.shape)
            self.assertEqual(found[0, :3].tolist(), [2, 1, 0])
            self.gives(stream, "video/x-raw,format=RGB")
        self.is_quiet(stream)


main()
