# SPDX-License-Identifier: LGPL-2.1-or-later
"""The precision that the property or the weight's file selects, and the precision in the stats."""

import gemmcl
from gemmcl import ask, get_level
from medium import Medium
from stream import OK, Gst, TestCase, audio, main, np, tensors, video

M, K, N = 16, 64, 64
CAPS = tensors("64:16")
# The largest error of i8, by steps of 2 / 255 in rows and 1 / 127 in columns. bf16 is exact.
BYTES_TOLERANCE = K * (1 / 255 + 1 / 254 + 1e-4)
FLOATS_TOLERANCE = 1e-4


def describe(kind):
    if "GRAY" in kind:
        return video(kind, 8, 4)
    return audio(kind, 1) if "LE" in kind else tensors("1:32", kind)


class Precision(TestCase):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.a, b = (rng.integers(-8, 9, shape).astype("f4") / 8 for shape in ((M, K), (K, N)))
        self.d = self.a.astype(float) @ b
        self.floats, path = f"{self.folder}/w.npy", f"{self.folder}/w.safetensors"
        np.save(self.floats, b)
        self.bytes = self.quantize(b, path)

    def quantize(self, values, path):
        """Writes an int8 weight with scales of columns. Returns its name as a weight."""
        matrix = gemmcl.get_matrix("matrix_quantize", gemmcl.make(values), 0, None)
        ask("matrix_save_safetensors", matrix, path, "w")
        return path + "#w"

    def check(self, stream, tolerance, data=None):
        found = self.run_one(stream, self.a if data is None else data)
        np.testing.assert_allclose(np.frombuffer(found, "f4").reshape(M, N), self.d, tolerance,
                                   tolerance)
        self.is_quiet(stream)

    def test_named(self):
        for precision, kernel, computes_in in [
                ("i8", "vector_i8_4x64_1x1", "i8"), ("bf16", "vector_bf16_4x64_1x1", "bf16"),
                ("bf16", "xmx_bf16_8x1_1x16", "bf16"), ("i8", "gemm_naive", "f32"),
                ("f32", "gemm_naive", "f32")]:
            with self.subTest(precision=precision, kernel=kernel):
                stream = self.start(CAPS, f"gemmcl weight={self.floats} kernel={kernel} "
                                    f"precision={precision}")
                self.check(stream, BYTES_TOLERANCE if computes_in == "i8" else FLOATS_TOLERANCE)
                for name, expected in [("precision", computes_in), ("kernel", kernel),
                                       ("kernel-source", "named"),
                                       ("kernel-level", get_level(kernel))]:
                    self.assertEqual(stream.get_stat(name), expected)

    def test_addresses(self):
        """Matrix engines that read at multiples of 64 bytes multiply tensors at any address."""
        stream = self.start(CAPS, f"gemmcl weight={self.floats} kernel=xmx_bf16_8x1_1x16 "
                            "precision=bf16")
        for before in range(0, 64, 16):
            buffer = Gst.Buffer.new_wrapped(bytes(before) + self.a.tobytes())
            buffer.resize(before, self.a.nbytes)
            self.check(stream, FLOATS_TOLERANCE, buffer)

    def check_run(self, settings, caps, words=None):
        """Caps and a first buffer, one of which builds the kernel, are accepted. Or one of them is
        refused, with an error that has these words. Returns the stream."""
        stream, medium = self.make(f"gemmcl {settings}"), Medium(Gst.Caps.from_string(caps))
        zeros = np.zeros(abs(np.prod(medium.shape)))
        is_run = stream.play(caps) and stream.push(medium.encode(zeros)) == OK
        self.assertEqual(is_run, words is None)
        if words:
            self.says(stream, words, "library")
        self.is_quiet(stream)
        return stream

    def test_stated(self):
        """A weight of int8 selects i8, one of floats does not; precision=f32 is f32."""
        kernel = "kernel=vector_i8_4x64_1x1"
        stream = self.start(CAPS, f"gemmcl {kernel} weight={self.bytes}")
        self.check(stream, BYTES_TOLERANCE)
        self.assertEqual(stream.get_stat("precision"), "i8")
        for text in f"weight={self.floats}", f"weight={self.bytes} precision=f32":
            self.check_run(f"{kernel} {text}", CAPS, "computes in i8|asks for f32")

    def test_change(self):
        stream = self.start(CAPS, f"gemmcl weight={self.floats}")
        native = get_level("vector_i8_4x64_1x1") == "native"
        for weight, precision in [(self.floats, "f32"), (self.bytes, "i8" if native else "f32"),
                                  (self.floats, "f32")]:
            stream.element.props.weight = weight
            self.check(stream, BYTES_TOLERANCE)
            self.assertEqual(stream.get_stat("precision"), precision)

    def test_range(self):
        """precision=auto and a weight of f16 are f16 unless input exceeds it. f32 refuses it."""
        # Two columns: the output is not frames, which only few kernels write.
        np.save(self.floats, np.ones((1, 2), "f2"))
        for number, (kind, scale, offset, is_half) in enumerate([
                ("S16LE", 1, 0, True), ("S16LE", -1.999, 0, True), ("S16LE", -2, 0, False),
                ("S32LE", 1, 0, False), ("S32LE", 2**-31, 0, True), ("F32LE", 1, 0, True),
                ("F64LE", 65505, 0, False), ("GRAY8", 256, 0, True), ("GRAY8", 256, 225, False),
                ("GRAY16_LE", 1, 0, False), ("GRAY16_LE", 1, -31, True),
                ("GRAY16_LE", 1, -65505, False), ("uint8", 1, 0, True), ("uint16", 1, 0, False),
                ("int16", 1.5, 16000, True), ("int32", 1, 0, False),
                ("int32", 1, "0 normalize=input", True), ("uint64", 2**-49, 0, True),
                ("int64", 2**-47, 0, False), ("float16", 1, 0, True), ("float32", 1, 0, True)]):
            mode = "patch patch-width=1 patch-height=1" if number % 2 else "pixel"
            with self.subTest(kind=kind, scale=scale, offset=offset):
                stream = self.check_run(
                    f"weight={self.floats} kernel=xmx_f16_8x1_1x16 input-scale={scale} "
                    f"input-offset={offset} feature-mode={mode}", describe(kind),
                    None if is_half else "computes in f16|asks for f32")
                if is_half:
                    self.assertEqual(stream.get_stat("precision"), "f16")

    def test_lists(self):
        """An int8 weight with scales works with a list of offsets, but not of scales."""
        weight = self.quantize([[0.5], [1]], f"{self.folder}/lists.safetensors")
        for scale, offset, precision, fits in [
                ("<1,2>", "0", "auto", False), ("<1,2>", "0", "i8", False),
                ("<1,2>", "0", "f32", True), ("<2,2>", "<1,2>", "auto", True)]:
            with self.subTest(scale=scale, offset=offset, precision=precision):
                self.check_run(f"weight={weight} input-scale={scale} input-offset={offset} "
                               f"precision={precision}", audio("F32LE", 2),
                               None if fits else "precision=f32")

    def test_exact_lists(self):
        """Lists of integers and halves lose no digits."""
        samples = np.array([9, 4], "u1")
        for first in range(1, 41):
            for second in 0.5, 3, 7, 11:
                stream = self.start(tensors("2:1", "uint8"), "gemmcl weight=[[1],[-2]] "
                                    f"kernel=gemm_naive input-scale=<{first},{second}>")
                found = np.frombuffer(self.run_one(stream, samples), "f4")
                self.assertEqual(found.tolist(), [9 * first - 8 * second], (first, second))
                stream.stop()

    def test_range_of_lists(self):
        """A list does not make samples larger than its largest number does, so they fit f16."""
        stream = self.start(tensors("2:1", "int16"), "gemmcl weight=[[1],[1]] precision=f16 "
                            "kernel=xmx_f16_8x1_1x16 input-scale=<1.1,0.9>")
        found = np.frombuffer(self.run_one(stream, np.array([-32768, 0], "i2")), "f4")
        np.testing.assert_allclose(found, -32768 * 1.1, 2e-3)

    def test_infinite(self):
        """precision=f16 is used, with a warning if the kernel rounds A to f16."""
        for kind, kernel, warns in [("S32LE", "xmx_f16_8x1_1x16", True),
                                    ("S32LE", "gemm_naive", False),
                                    ("S32LE", "buffer_read_f16_4x1_1x16", False),
                                    ("S16LE", "xmx_f16_8x1_1x16", False)]:
            stream = self.start(audio(kind, 1), f"gemmcl weight=[0.5] kernel={kernel} "
                                "precision=f16")
            if warns:
                self.says(stream, "2147483648|f16 holds at most 65504",
                          kind=Gst.MessageType.WARNING)
            self.is_quiet(stream)


main()
