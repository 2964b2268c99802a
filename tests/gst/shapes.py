# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dimensions of results: what an element behind a layer sees, by exact small integers."""

import random

from flexible_tensors import FLEXIBLE, write
from numpy_gemm import compare, features, pooled
from stream import OK, READY, Gst, TestCase, get_bytes, main, np, tensors, video

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


class Pools(TestCase):
    """Convolutions and layers whose results are pooled, with the caps of the pooled grid."""

    def draw(self, rng):
        """Returns a random convolution of a tensor or of video: its caps, its input, settings, the
        rows of A, and the grid of patches, the window and the stride as (width, height)."""
        choose = rng.choice
        size, channels = [rng.randrange(4, 12) for _ in range(2)], choose((1, 3))
        a = draw(size[1], size[0], channels, seed=rng.randrange(5)) + 2
        patch = [choose((1, 2, 3)) for _ in range(2)]
        stride, padding = choose((1, 2)), choose((0, 1))
        grid = [(size[i] + 2 * padding - patch[i]) // stride + 1 for i in (0, 1)]
        window = [rng.randint(1, min(3, most)) for most in grid]
        step = choose((window, [rng.randint(1, 3), rng.randint(1, 3)]))
        settings = (f"feature-mode=patch patch-width={patch[0]} patch-height={patch[1]} "
                    f"patch-stride={stride} patch-padding={padding} "
                    f"pool-size=[{window[1]},{window[0]}] pool-stride=[{step[1]},{step[0]}]")
        caps = tensors(f"{channels}:{size[0]}:{size[1]}", "uint8")
        pixels = a.astype("u1")
        if choose((True, False)):
            caps = video("RGB" if channels == 3 else "GRAY8", *size)
            pixels = np.pad(pixels.reshape(size[1], -1), [(0, 0), (0, -size[0] * channels % 4)])
        return (caps, pixels, settings, features(a, "patch", patch, stride, padding), tuple(grid),
                tuple(window), tuple(step))

    def test_random(self):
        """Random convolutions and windows, by both kinds, in f32, i8 and flexible tensors."""
        for seed in range(24):
            rng = random.Random(seed)
            caps, pixels, settings, a, grid, window, step = self.draw(rng)
            pool = rng.choice(("max", "average"))
            kind = rng.choice(("f32", "f32", "i8", "flexible"))
            weight = draw(a.shape[1], rng.choice((1, 3, 5)), seed=seed)
            more = {"f32": "", "i8": "output-type=i8 output-scale=0.75 output-offset=2",
                    "flexible": "output=flexible"}[kind]
            sums = a @ weight
            expected, bound = pooled(pool, np.maximum(sums, 0.0), 0.0 * sums, grid, window, step)
            outer = [(grid[i] - window[i]) // step[i] + 1 for i in (0, 1)]
            with self.subTest(seed=seed, caps=caps, pool=pool, settings=settings, kind=kind):
                stream = self.start(caps, element(weight, f"{settings} pool={pool} activation=relu "
                                                  f"batch-size={rng.choice((1, 2))} {more}"))
                outputs = self.run_all(stream, [pixels] * 3)
                if kind == "i8":
                    expected, bound = (expected - 2) / 0.75, bound / 0.75 + 1e-5
                elif kind == "f32":
                    self.gives(stream, tensors(f"{weight.shape[1]}:{outer[0]}:{outer[1]}"))
                for data in map(get_bytes, outputs):
                    if kind == "flexible":
                        header = write(expected.reshape(outer[1], outer[0], -1))[:128]
                        self.assertEqual(data[:128], header)
                        data = data[128:]
                    found = np.frombuffer(data, "i1" if kind == "i8" else "f4")
                    self.assertIsNone(compare(found.reshape(expected.shape), expected, bound))

    def test_chain(self):
        """The next convolution reads the pooled grid; the whole grid becomes one row."""
        a = draw(8, 10, 8)
        stream = self.start(tensors("8:10:8"), f"{element(LAYER, 'pool=max pool-size=2')} ! "
                            f"{element(FILTERS, CONVOLUTION + ' pool=average')}")
        expected = convolve((a @ LAYER).reshape(4, 2, 5, 2, 16).max((1, 3))).mean((0, 1))
        found = np.frombuffer(self.run_one(stream, a.astype("f4")), "f4")
        np.testing.assert_allclose(found, expected, 1e-5)
        self.gives(stream, tensors("4:1:1"))

    def test_dimensions(self):
        """Dimensions behind the grid stay, lines are grids, and row outputs are of pooled rows."""
        for dims, shape, size, outer, most in [
                ("8:4:6:3", (3, 3, 2, 2, 2, 8), "2", "2:3:3", (2, 4)),
                ("8:6", (3, 2, 8), "[1,2]", "3", 1)]:
            a = draw(*shape)
            stream = self.start(tensors(dims), element(
                LAYER, f"pool=max pool-size={size} row-outputs=arg-max tensor-index=0"))
            d = (a @ LAYER).max(most)
            expected = d.astype("f4").tobytes() + d.argmax(-1).astype("f4").tobytes()
            self.assertEqual(self.run_one(stream, a.astype("f4")), expected)
            self.gives(stream, tensors(f"16:{outer},1:{outer}", "float32,float32"))

    def test_matrix(self):
        """Downstream may ask for the pooled rows as a matrix."""
        caps = "other/tensors,dimensions=(string)16:6"
        stream = self.make(f"{element(LAYER, 'pool=average pool-size=[2,4] pool-stride=[3,2]')} ! "
                           "capsfilter name=f")
        stream["f"].props.caps = Gst.Caps.from_string(caps)
        self.assertTrue(stream.play(tensors("8:6:8")))
        a = draw(8, 6, 8)
        windows = np.lib.stride_tricks.sliding_window_view(a @ LAYER, (2, 4), (0, 1))[::3, ::2]
        found = np.frombuffer(self.run_one(stream, a.astype("f4")), "f4")
        np.testing.assert_allclose(found.reshape(-1, 16), windows.mean((-2, -1)).reshape(-1, 16),
                                   1e-5, 1e-6)
        self.gives(stream, caps)

    def test_offers(self):
        """Upstream is offered no frames whose rows of A are no grid."""
        frame = Gst.Caps.from_string(video("RGB", 6, 4))
        for pool in "none", "max":
            stream = self.make(element(draw(18, 2), f"feature-mode=row pool={pool}"))
            stream.element.set_state(READY)
            self.assertEqual(frame.is_subset(stream.query_caps("sink")), pool == "none")

    def test_refused(self):
        """Settings that contradict pooling, or cannot be read."""
        for settings, words in [
                ("pool-size=x", "pool-size=x cannot be read|such as [3,2]"),
                ("pool-size=[2", "cannot be read"), ("pool-size=[2,2,2]", "cannot be read"),
                ("pool-size=[2]", "cannot be read"), ("pool-stride=-1", "pool-stride=-1 cannot"),
                ("pool-size=1,2", "cannot be read"), ("pool-stride=4294967296", "cannot be read"),
                ("beta=1", "beta and the previous output|an addend"),
                ("normalize=output", "normalize=output|normalize without output")]:
            with self.subTest(settings=settings):
                stream = self.make(element(LAYER, f"pool=max {settings}"))
                if stream.play(tensors("8:4:4")):
                    stream.push(np.zeros(128, "f4"))
                self.says(stream, words)


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
