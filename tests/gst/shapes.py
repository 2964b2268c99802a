# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dimensions of results: what an element behind a layer sees, by exact small integers. Tensors,
patches and pooled grids that leave as video. negotiation.py tests the caps of both pads, errors.py
what is refused."""

import random

from medium import FLEXIBLE, Medium, PaddedPool
from medium import write_flexible as write
from numpy_gemm import compare, features, pooled
from pixels import FORMATS
from stream import (OK, READY, Gst, GstVideo, TestCase, element, get_bytes, literal, main, np,
                    tensors, video)

CONVOLUTION = "feature-mode=patch patch-width=3 patch-height=3 patch-stride=1 patch-padding=1"
WRITTEN = list(FORMATS)[:10]  # of one plane
ROI = GstVideo.video_region_of_interest_meta_api_get_type()


def draw(*shape, seed=0):
    return (np.arange(np.prod(shape)) * 7 + seed * 3).reshape(shape) % 5 - 2


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

    def test_flat(self):
        """The average of a large flat frame, whose sum is far beyond 2^24, is exact enough."""
        stream = self.start(video("GRAY8", 640, 480), element([[.788235294]], "pool=average"))
        found = np.frombuffer(self.run_one(stream, b"\xff" * 640 * 480), "f4")
        self.assertLess(abs(found - 201), 201 * (640 + 480 + 3) * 2.0**-24)

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


def offer_meta(query):
    query.add_allocation_meta(GstVideo.video_meta_api_get_type(), None)


class Pictures(TestCase):
    def decode(self, stream, buffer):
        """Returns the channels of a picture: rows x columns x channels, of the samples' type."""
        medium = Medium(stream.sink.get_current_caps())
        return medium.decode(buffer).astype(medium.type)

    def check(self, found, expected, bound=0):
        n = found.shape[2]
        self.assertIsNone(compare(found.reshape(-1, n), expected.reshape(-1, n),
                                  bound + np.zeros(expected.size).reshape(-1, n)))

    def draw(self, rng):
        """Returns caps and arrays of random input, settings, and a function that makes rows of A,
        their grid as (columns, rows), and K."""
        choose, numbers = rng.choice, np.random.default_rng(rng.randrange(99))
        width, height = rng.randrange(1, 24), rng.randrange(1, 14)
        patch, stride, padding = (1, 1), 1, 0
        settings = "feature-mode=pixel"
        if choose((True, False)):
            patch = choose((1, min(3, width))), choose((1, min(2, height)))
            stride, padding = choose((1, 2)), choose((0, 1))
            settings = (f"feature-mode=patch patch-width={patch[0]} patch-height={patch[1]} "
                        f"patch-stride={stride} patch-padding={padding}")
        if choose((True, False, False)):
            caps = video(choose(("GRAY8", "RGB", "BGRx", "RGBA")), width, height)
        else:
            caps = tensors(f"{choose((1, 3, 5, 17))}:{width}:{height}" + choose(("", ":1")),
                           choose(("uint8", "int16", "float32", "float16")))
        medium = Medium(Gst.Caps.from_string(caps))
        shape = height, width, medium.shape[1 if caps.startswith("other") else 2]
        if caps.startswith("other"):
            shape = height, width, int(caps.split('"')[1].split(":")[0])
        arrays = [numbers.integers(0, 9, shape) for _ in range(3)]
        grid = [(size + 2 * padding - part) // stride + 1
                for size, part in zip((width, height), patch)]
        return (caps, medium, arrays, settings, grid, shape[2] * patch[0] * patch[1],
                lambda a: features(a, "patch", patch, stride, padding))

    def test_random(self):
        """Random inputs and formats, in memory of each kind and with each layout of rows."""
        for seed in range(32):
            rng = random.Random(seed)
            caps, medium, arrays, settings, grid, k, gather = self.draw(rng)
            form, pool = rng.choice(WRITTEN), rng.choice(("none", "none", "max", "average"))
            numbers = np.random.default_rng(seed)
            weight = numbers.integers(-8, 9, (k, FORMATS[form][0])) / 4
            bias = numbers.integers(-20, 280, FORMATS[form][0]) + 0.25
            window = [rng.randint(1, min(3, most)) for most in grid]
            size = [each // part for each, part in zip(grid, window)] if pool != "none" else grid
            memory, offer = rng.choice((("", None), ("", offer_meta), ("", PaddedPool().offer),
                                        ("(memory:OpenCL)", None)))
            with self.subTest(seed=seed, caps=caps, settings=settings, pool=pool, form=form,
                              memory=memory, offer=offer):
                stream = self.make(
                    element(weight, f"bias={literal(bias)} {settings} pool={pool} "
                            f"pool-size=[{window[1]},{window[0]}] batch-size={rng.choice((1, 2))}"),
                    f"video/x-raw{memory},format={form}")
                if offer:
                    stream.answer_allocation(offer)
                self.assertTrue(stream.play(caps))
                outputs = self.run_all(stream, [medium.encode(a) for a in arrays])
                self.gives(stream, f"video/x-raw{memory},format={form},width={size[0]},"
                           f"height={size[1]},framerate=10/1")
                for a, output in zip(arrays, outputs):
                    d = gather(a) @ weight + bias
                    if pool != "none":
                        d, _ = pooled(pool, d, 0 * d, grid, window)
                    self.check(self.decode(stream, output), d, 1e-3 * (pool == "average"))

    def test_chain(self):
        """Patches, then a layer whose rows become a picture; both orders of N above and below the
        largest K that kernels write frames for."""
        for n in 4, 20:
            a = np.arange(7 * 9 * 3).reshape(7, 9, 3) % 11
            first, second = (np.arange(rows * columns).reshape(rows, columns) % 5 - 1
                             for rows, columns in ((27, n), (n, 3)))
            text = (element(first, "feature-mode=patch patch-width=3 patch-height=3 patch-stride=1 "
                            "activation=relu") + " ! " + element(second, "alpha=0.0625"))
            stream = self.start(video("RGB", 9, 7), text, "video/x-raw,format=BGR")
            pixels = np.pad(a.reshape(7, -1), [(0, 0), (0, 1)]).astype("u1")
            layer = np.maximum(features(a, "patch", (3, 3), 1) @ first, 0)
            self.check(self.decode(stream, self.run_buffer(stream, pixels)), layer @ second / 16)
            self.gives(stream, "video/x-raw,width=7,height=5,framerate=10/1")

    def test_changes(self):
        """The size follows the tensors, and the format N, while playing."""
        weight = np.arange(12).reshape(3, 4) % 5
        stream = self.start(tensors("3:2:2", "uint8"), element(weight[:, :3]), "video/x-raw")
        for width, height, n, form in [(2, 2, 3, "RGB"), (5, 3, 3, "RGB"), (5, 3, 1, "GRAY8"),
                                       (4, 1, 4, "RGBA"), (2, 2, 3, "RGB")]:
            stream.element.props.weight = str(weight[:, :n].tolist())
            self.assertTrue(stream.push_caps(tensors(f"3:{width}:{height}", "uint8")))
            a = np.arange(width * height * 3, dtype="u1").reshape(height, width, 3)
            output = self.run_buffer(stream, a)
            self.gives(stream, f"video/x-raw,format={form},width={width},height={height}")
            self.check(self.decode(stream, output), a @ weight[:, :n])
        stream.element.props.weight = "[[1,2],[3,4],[5,6]]"
        self.says(stream, "N = 2", kind=Gst.MessageType.WARNING)
        self.check(self.decode(stream, self.run_buffer(stream, a)), a @ weight[:, :3])

    def test_feedback(self):
        """beta adds the previous result of a tensor that leaves as a picture, before rounding."""
        stream = self.start(tensors("1:3:3", "uint8"), element([[1]], "alpha=0.25 beta=0.75"),
                            "video/x-raw")
        state = np.zeros((3, 3, 1))
        for seed in range(5):
            a = np.arange(9).reshape(3, 3, 1) * 5 + seed
            state = 0.25 * a + 0.75 * state
            found = self.decode(stream, self.run_buffer(stream, a.astype("u1")))
            self.check(found, state, 1e-3)

    def test_metas(self):
        """Times pass on, as do metas about the frame if it keeps its size, and its colours."""
        for (width, height), padding, size, kept in [
                ((3, 3), 1, (6, 6), True), ((3, 1), 0, (4, 6), False), ((1, 3), 0, (6, 4), False)]:
            stream = self.start(video("GRAY8", 6, 6) + ",colorimetry=bt709", element(
                np.full((width * height, 1), 0.125), f"feature-mode=patch patch-width={width} "
                f"patch-height={height} patch-stride=1 patch-padding={padding}"), "video/x-raw")
            data = Gst.Buffer.new_wrapped(bytes([8] * 48))
            GstVideo.buffer_add_video_region_of_interest_meta(data, "face", 0, 0, 6, 6)
            self.assertEqual(stream.push(data, pts=7, duration=3), OK)
            output = stream.pull_buffer()
            self.assertEqual((output.pts, output.duration), (7, 3))
            self.assertEqual(output.get_meta(ROI) is not None, kept)
            self.gives(stream, f"video/x-raw,width={size[0]},height={size[1]},colorimetry=bt709")


main()
