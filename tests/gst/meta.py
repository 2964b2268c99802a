# SPDX-License-Identifier: LGPL-2.1-or-later
"""output=meta: D as a tensor in the metadata of the input, which passes through."""

from numpy_gemm import row_outputs
from stream import OK, VA, Gst, audio, join, load_plugin, main, np, tensors, video
from tensor_meta import (COLOURS, RGB, GLib, MetaTestCase, Tensor, announce, call, carry,
                         describe, draw, find_analytics, get_classes, get_tensors, since_1_28, wrap)

GRAY = video("GRAY8", 4, 4)
SOFTMAX = "classification-generic-softmaxed-out"
ROWS = "row-outputs=sum+max+arg-max"
# Each stream: the caps, the settings, the type and shape of A, N, and the number of bytes before A.
CASES = [
    (GRAY, "feature-mode=frame", "u1", (1, 16), 5, 0),
    (RGB, "feature-mode=pixel", "u1", (4, 4, 3), 3, 0),
    (GRAY, "feature-mode=patch patch-width=4 patch-height=2", "u1", (2, 1, 8), 5, 0),
    (RGB, f"feature-mode=row {ROWS}", "u1", (4, 12), 7, 0),
    (RGB, f"feature-mode=row {ROWS} batch-size=3", "u1", (4, 12), 2, 0),
    (audio("F32LE", 2), "", "f4", (20, 2), 3, 0),
    (audio("S16LE", 2), f"{ROWS} queue-depth=1", "i2", (2200, 2), 3, 0),
    (tensors("6:2"), "", "f4", (2, 6), 2, 0), (tensors("6"), "", "f4", (1, 6), 2, 0),
    (tensors("6:2:3:1"), ROWS, "f4", (1, 3, 2, 6), 2, 0),
    (tensors("5,6:2", "float32,float32"), f"tensor-index=1 {ROWS}", "f4", (2, 6), 3, 20),
]
# Loaded before objects are counted.
DECODERS = load_plugin("tensordecoders")


def get_memories(buffer):
    return [hash(buffer.peek_memory(i)) for i in range(buffer.n_memory())]


class Results(MetaTestCase):
    def same_tensors(self, output, expected):
        """The output has these tensors in a single meta."""
        (found,) = get_tensors(output)
        self.assertEqual([name for name, _ in found], list(expected))
        for name, array in found:
            self.assertEqual(array.dtype, np.float32)
            np.testing.assert_array_equal(array, expected[name])

    def test_cases(self):
        """The memories of the inputs come out, with the inputs' times and the right results."""
        for caps, settings, kind, shape, n, before in CASES:
            with self.subTest(caps=caps, settings=settings):
                weight = draw(shape[-1], n, seed=5)
                stream = self.start_weight(f"output=meta tensor-id={SOFTMAX} {settings}", caps,
                                           weight)
                self.gives(stream, caps)
                inputs = []
                for seed in range(7):
                    data = draw(*shape, seed=seed, kind=kind).tobytes()
                    inputs.append(join([bytes(before), data] if before else [data]))
                    inputs[-1].pts = seed
                outputs = self.run_all(stream, inputs)
                self.assertFalse(any(map(get_tensors, inputs)))
                self.assertEqual(list(map(get_memories, outputs)), list(map(get_memories, inputs)))
                for seed, output in enumerate(outputs):
                    self.assertEqual(output.pts, seed)
                    d = draw(*shape, seed=seed) @ weight
                    rows = row_outputs(d.reshape(-1, n), "sum+max+arg-max")[0]
                    rows = {f"{SOFTMAX}-rows": rows.reshape(*shape[:-1], 3)}
                    self.same_tensors(output, {SOFTMAX: d, **(rows if ROWS in settings else {})})

    def test_rows(self):
        """Row outputs attach without D."""
        weight = draw(3, 4, seed=5)
        stream = self.start_weight(f"output=rows-meta tensor-id={SOFTMAX} {ROWS}",
                                   tensors("3:16"), weight)
        for seed in range(3):
            data = draw(16, 3, seed=seed)
            d = data @ weight
            self.same_tensors(self.run_buffer(stream, data),
                              {f"{SOFTMAX}-rows": row_outputs(d, "sum+max+arg-max")[0]})

    def test_caps(self):
        """Caps pass in each kind of memory that the element supports, with upstream's tensors."""
        text = "gemmcl output=meta weight=[[1,0],[0,1],[1,1]]"
        frames = [("OpenCL", "NV12"), *[
            ("VAMemory", "NV12"), ("DMABuf", "DMA_DRM,drm-format=NV12:0x0100000000000002")] * VA]
        for caps in (*(video(pixels, 4, 2).replace("raw", f"raw(memory:{memory})")
                       for memory, pixels in frames),
                     audio("S16LE", 2) + ",tensors=(structure)[before]", tensors("3:2", "uint8")):
            with self.subTest(caps=caps):
                found = self.make(text, None, caps).query_caps("src")
                self.assertTrue(found.is_subset(Gst.Caps.from_string(caps)), found.to_string())
                self.assertTrue(found.is_fixed())
        for memory in "memory:GLMemory", "memory:OpenCL,memory:Other":
            self.assertFalse(self.make(text).play(RGB.replace("raw", f"raw({memory})")))

    def test_types(self):
        for settings, kind, expected in [("f16", "f2", [[5], [11]]),
                                         ("i8 output-scale=.5", "i1", [[10], [22]]),
                                         ("u8 output-offset=4", "u1", [[1], [7]])]:
            stream = self.start(tensors("2:2"), "gemmcl weight=[[1],[2]] output=meta "
                                f"output-type={settings}")
            (((_, found),),) = get_tensors(self.run_buffer(stream, np.array([1, 2, 3, 4], "f4")))
            self.assertEqual((found.dtype, found.tolist()), (np.dtype(kind), expected))

    def test_flexible(self):
        """Flexible tensors pass through, too; D in the metadata has no header."""
        stream = self.start(tensors("2:1"), "gemmcl weight=[[1,0],[0,1]] output=flexible ! "
                            "gemmcl weight=[[1],[2]] output=meta")
        for m in 1, 2, 3:
            a = draw(m, 2, seed=m)
            self.assertTrue(stream.push_caps(tensors(f"2:{m}")))
            output = self.run_buffer(stream, a)
            self.assertEqual(output.get_size(), 128 + a.nbytes)
            self.is_product(output, a, np.array([[1], [2]]), True)

    def test_chain(self):
        """OpenCL memory stays OpenCL memory, and the tensors of an element upstream stay."""
        stream = self.start(RGB, f"{COLOURS} ! {COLOURS} output=meta tensor-id=one ! "
                            f"{COLOURS} name=b output=meta tensor-id=two",
                            "video/x-raw(memory:OpenCL)")
        output = self.run_buffer(stream, bytes(range(48)))
        self.assertTrue(output.peek_memory(0).is_type("GemmclMemory"))
        self.assertEqual([[(name, values.ravel().tolist()) for name, values in meta]
                          for meta in get_tensors(output)],
                         [[(name, list(range(48)))] for name in ("one", "two")])
        self.assertEqual([stream.get_stat(name, "b") for name in ("memory", "bytes")],
                         ["OpenCL to system", 48 * 4])

    def test_shared(self):
        """A buffer that another owner holds is copied, with its tensors."""
        stream, buffer = self.start(RGB, f"{COLOURS} output=meta"), carry(draw(4), "before")
        self.assertEqual(stream.push(buffer), OK)
        self.assertEqual(len(get_tensors(buffer)), 1)
        self.assertEqual([name for ((name, _),) in get_tensors(stream.pull_buffer())],
                         ["before", "gemmcl-out"])

    def test_allocation(self):
        """Downstream's allocator is offered upstream, because the buffers pass through."""
        stream, params = self.make(f"{COLOURS} output=meta"), Gst.AllocationParams()
        params.align, params.prefix = 255, 3
        stream.answer_allocation(lambda query: query.add_allocation_param(None, params))
        self.assertTrue(stream.play(RGB))
        query = stream.ask_allocation(RGB)
        self.assertEqual(query.get_n_allocation_params(), 1)
        _, found = query.parse_nth_allocation_param(0)
        self.assertEqual((found.align, found.prefix), (255, 3))

    def test_flow(self):
        """A gap passes without a tensor. A flush drops the batch; the next batch is complete."""
        stream = self.start(RGB, f"{COLOURS} output=meta batch-size=2 batch-timeout=0")
        self.assertEqual(stream.push(bytes(48)), OK)
        stream.flush()
        inputs = [wrap(bytes(size)) for size in (48, 48, 0)]
        for number, buffer in enumerate(inputs):
            buffer.pts = number
        inputs[2].set_flags(Gst.BufferFlags.GAP)
        self.assertEqual([(output.pts, len(get_tensors(output)))
                          for output in self.run_all(stream, inputs)], [(0, 1), (1, 1), (2, 0)])

    def test_new_n(self):
        stream = self.start(GRAY, "gemmcl weight=[[1,1]] feature-mode=pixel output=meta")
        for n in 2, 4:
            stream.element.props.weight = str([[1] * n])
            (((_, found),),) = get_tensors(self.run_buffer(stream, bytes(16)))
            self.assertEqual(found.shape, (4, 4, n))
        self.is_quiet(stream)

    def test_labels(self):
        """The best elements of one row are a classification, whatever the batches and devices."""
        labels = [f"no. {i}" for i in range(5)]
        weight = draw(16, 5, seed=3)
        for settings, k in [("top-k top-k=3", 3), ("max+arg-max", 1), ("sum+top-k top-k=5", 5),
                            ("top-k top-k=2 batch-size=2 queue-depth=1", 2), ("arg-max", 0),
                            ("top-k top-k=2 output=rows-meta", 2)]:
            with self.subTest(settings=settings):
                stream = self.make("gemmcl feature-mode=frame output=meta row-outputs=" + settings)
                stream.element.props.weight = str(weight.tolist())
                stream.element.props.labels = str(labels)
                self.assertTrue(stream.play(GRAY))
                inputs = [draw(1, 16, seed=seed, kind="u1").tobytes() for seed in range(4)]
                for seed, output in enumerate(self.run_all(stream, inputs)):
                    d = draw(1, 16, seed=seed) @ weight
                    values, columns = np.hsplit(row_outputs(d, "top-k", max(k, 1))[0][0], 2)
                    self.assertEqual(get_classes(output), None if k == 0 else [
                        (labels[int(column)], value) for value, column in zip(values, columns)])
                    self.assertEqual(len(get_tensors(output)), 1)
        stream = self.start(GRAY, "gemmcl feature-mode=row output=meta weight=[[1],[1],[1],[1]] "
                            "row-outputs=top-k top-k=1 labels=[a]")
        self.assertIsNone(get_classes(self.run_buffer(stream, bytes(16))))


@since_1_28
class Announced(MetaTestCase):
    def test_down(self):
        before = announce(describe("before", "3,4"), group="before")
        stream = self.start(before, f"{COLOURS} output=meta tensor-id=mine row-outputs=sum+max")
        for caps in before, *(announce(describe(name, f"4,4,{n}"), group=name)
                              for name, n in (("mine", 3), ("mine-rows", 2))):
            self.gives(stream, caps)

    def test_relation(self):
        """The analytics meta of an element upstream gets the tensor, too."""
        stream, buffer = self.start(RGB, f"{COLOURS} output=meta"), carry(draw(1))
        call("gst_buffer_add_analytics_relation_meta", buffer)
        output = self.run_buffer(stream, buffer)
        tensor = Tensor.from_address(call("gst_analytics_tensor_mtd_get_tensor",
                                          find_analytics(output, "tensor")))
        name, values = tensor.read()
        self.assertEqual((name, values.ravel().tolist()), ("gemmcl-out", list(range(48))))

    def test_decoders(self):
        """A tensor decoder finds the class of the largest element of D."""
        if not DECODERS:
            self.skipTest("there are no tensor decoders (gstreamer1.0-plugins-bad)")
        labels = self.write("labels", b"cat\ndog\nowl\n")

        def give(_bin, _child, element):
            if element.find_property("labels-file"):
                element.set_property("labels-file", labels)
        for decoder in "classifiertensordecoder", "tensordecodebin":
            stream = self.make("gemmcl feature-mode=frame transpose-weight=true output=meta "
                               f"activation=softmax tensor-id={SOFTMAX} input-scale=0.01 "
                               f"weight=[[1,-1,1],[1,1,1],[0,1,1]] ! {decoder} name=d")
            stream.element.connect("deep-element-added", give)
            give(None, None, stream["d"])
            self.assertTrue(stream.play(video("GRAY8", 3, 1)))
            output = self.run_buffer(stream, b"\xff\xff\0\0")
            quark = call("gst_analytics_cls_mtd_get_quark", find_analytics(output, "cls"), 0)
            self.assertEqual(GLib.quark_to_string(quark), "dog")
            self.is_quiet(stream)


main("caps")  # tensordecodebin's
