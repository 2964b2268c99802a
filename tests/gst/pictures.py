# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tensors, patches and pooled grids that leave as video, compared with NumPy. negotiation.py tests
the caps of both pads, errors.py what is refused."""

import random

from gemmcl import np
from medium import Medium, PaddedPool
from numpy_gemm import compare, features, pooled
from pixels import FORMATS
from stream import OK, Gst, GstVideo, TestCase, main, tensors, video

WRITTEN = list(FORMATS)[:10]  # of one plane
ROI = GstVideo.video_region_of_interest_meta_api_get_type()


def element(weight, settings=""):
    return f"gemmcl weight={np.asarray(weight).tolist()} {settings}".replace(", ", ",")


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
                    element(weight, f"bias={bias.tolist()} {settings} pool={pool} "
                            f"pool-size=[{window[1]},{window[0]}] batch-size={rng.choice((1, 2))}"
                            .replace(", ", ",")), f"video/x-raw{memory},format={form}")
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
            stream = self.make(text, "video/x-raw,format=BGR")
            self.assertTrue(stream.play(video("RGB", 9, 7)))
            pixels = np.pad(a.reshape(7, -1), [(0, 0), (0, 1)]).astype("u1")
            layer = np.maximum(features(a, "patch", (3, 3), 1) @ first, 0)
            self.check(self.decode(stream, self.run_buffer(stream, pixels)), layer @ second / 16)
            self.gives(stream, "video/x-raw,width=7,height=5,framerate=10/1")

    def test_changes(self):
        """The size follows the tensors, and the format N, while playing."""
        weight = np.arange(12).reshape(3, 4) % 5
        stream = self.make(element(weight[:, :3]), "video/x-raw")
        self.assertTrue(stream.play(tensors("3:2:2", "uint8")))
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
        stream = self.make(element([[1]], "alpha=0.25 beta=0.75"), "video/x-raw")
        self.assertTrue(stream.play(tensors("1:3:3", "uint8")))
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
            stream = self.make(element(
                np.full((width * height, 1), 0.125), f"feature-mode=patch patch-width={width} "
                f"patch-height={height} patch-stride=1 patch-padding={padding}"), "video/x-raw")
            self.assertTrue(stream.play(video("GRAY8", 6, 6) + ",colorimetry=bt709"))
            data = Gst.Buffer.new_wrapped(bytes([8] * 48))
            GstVideo.buffer_add_video_region_of_interest_meta(data, "face", 0, 0, 6, 6)
            self.assertEqual(stream.push(data, pts=7, duration=3), OK)
            output = stream.pull_buffer()
            self.assertEqual((output.pts, output.duration), (7, 3))
            self.assertEqual(output.get_meta(ROI) is not None, kept)
            self.gives(stream, f"video/x-raw,width={size[0]},height={size[1]},colorimetry=bt709")


main()
