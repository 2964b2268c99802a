# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each bad setting and each bad buffer ends in one error, with what was expected and found."""

import tempfile

import gemmcl
from imagined import Imagined
from stream import (ANALYTICS, FAILURE, NULL, OK, PAUSED, PLAYING, READY, Gst, TestCase, audio,
                    main, np, tensors, video)

FRAME = video("RGB", 6, 4)
MONO, STEREO = audio("S16LE", 1), audio("S16LE", 2)
STATIC, FLEXIBLE = "other/tensors,format=static", "other/tensors,format=flexible"
SMALL = "[[1,2,3],[4,5,6],[7,8,9]]"


def flexible(count):
    return f"other/tensors,format=flexible,num_tensors={count},framerate=10/1"


# Refused caps, by the error's domain: weight and settings, caps, words, and caps of downstream.
CAPS = {
    "stream": [
        ("[[1],[2]]", FRAME,
         "K = 2|6x4|pixel: K = 3|row: K = 18|frame: K = 72|patch: needs patch-width"),
        ("[[1],[2]] patch-width=4 patch-height=2", FRAME, "K = 2|6x4|patch: K = 24"),
        ("[1] patch-width=1 patch-height=1 patch-padding=1", video("GRAY8", 2, 2),
         "several|pixel: K = 1, row: K = 2, frame: K = 4, patch: K = 1|feature-mode"),
        ("[[1],[2],[3]] feature-mode=patch", FRAME,
         "feature-mode=patch|needs patch-width and patch-height"),
        ("[[1],[2]] patch-width=7 patch-height=1", FRAME,
         "K = 2|patch: a patch of 7x1 pixels|is larger than the frame"),
        ("[1] feature-mode=patch patch-width=3 patch-height=2 patch-dilation=4",
         video("GRAY8", 8, 5),
         "3x2|patch-dilation=4|8x5|patch-padding=0|another feature-mode, patch"),
        ("[1] feature-mode=frame", tensors("4:65535:65535"),
         "1 x 17179344900|another feature mode"),
        ("[[1],[2],[3]] feature-mode=row", FRAME,
         "K = 3 does not fit feature-mode=row|row: K = 18"),
        (SMALL, video("RGBA", 6, 4),
         "4 channels|row for alpha|4 x 4|[[a,b,c,0],[d,e,f,0],[g,h,i,0],[0,0,0,1]]"),
        (f"{SMALL} feature-mode=pixel", video("BGRA", 6, 4), "K = 4|row for alpha"),
        ("[[1],[2],[3]]", STEREO, "all channels, int16 of 2|K = 2|has K = 3"),
        ("[[1],[2],[3]] tensor-index=4", tensors("3"), "tensor-index is 4|1 tensor.|0 to 0"),
        ("[[1],[2],[3]] feature-mode=patch patch-width=1 patch-height=1", tensors("3:4:4:2"),
         "feature-mode=patch|float32 of 2 x 4 x 4 x 3|channels:width:height|feature-mode=pixel"),
        ("[1] feature-mode=patch patch-width=3 patch-height=1", tensors("1:2:2"),
         "3x1|larger than the tensor|2x2 tensor"),
        ("[1] feature-mode=patch patch-width=2 patch-height=1", tensors("5:2:2:1"),
         "K = 1|2x2 tensor with 5 channels|patch: K = 10|frame: K = 20"),
        ("[1] feature-mode=frame", tensors("1:65536"), "width must be 1 to 65535, not 65536"),
        ("[[1,2],[3,4],[5,6]]", FRAME,
         "N = 2|dimensions=(string){ 2:6:4|downstream expects video/x-raw|N = 1|3 (RGB",
         "video/x-raw"),
        ("[1]", MONO, "downstream expects other/tensors|audio stays audio", "other/tensors"),
        ("[[1],[2],[3]] pool=max pool-size=[5,2]", FRAME,
         "pool-size=[5,2]|larger than the grid of 4 rows and 6 columns|0 for the whole grid"),
        ("[[1],[2],[3]] pool=max pool-size=7", FRAME, "pool-size=7 is larger"),
        ("[1] feature-mode=frame pool=max", tensors("1:1:1"), "pool needs a grid|feature-mode"),
        ("[1] pool=max", MONO, "pool needs a grid|pool=none"),
        ("[[1],[2],[3]] pool=average", flexible(1), "pool needs a grid|state their dimensions"),
        # Pictures of another size, and results that are no pictures.
        ("[[1],[2],[3]] pool=max pool-size=2", FRAME, "GRAY16_LE }, width=(int)3, height=(int)2|"
         "expects video/x-raw, width=(int)6|that size", "video/x-raw,width=6"),
        ("[[1],[2],[3]]", tensors("3:6:4"), "width=(int)6, height=(int)4|expects video/x-raw, width"
         "=(int)5", "video/x-raw,width=5"),
        *(("[[1],[2],[3]]", tensors(dims, types), f"{words}|single static tensors", "video/x-raw")
          for dims, types, words in [
              ("3:6", "int8", "{ 1:6"), ("3:6:4:2", "int8", "dimensions=(string)1:6:4:2"),
              ("3:1:65536", "int8", "1:1:65536"), ("3:6:4,2", "int8,int8", "1:6:4.2")]),
        ("[[1,1],[2,2],[3,3]]", tensors("3:6:4"), "dimensions=(string){ 2:6:4|N = 1 (",
         "video/x-raw"),
        ("[[1],[2],[3]]", f"{FLEXIBLE},framerate=10/1", "flexible|single static", "video/x-raw"),
        ("[[1],[2],[3]] bias=[1,2]", FRAME, "bias is 1 x 2|1 element"),
        ("[[1],[2],[3]] addend=[[1,2],[3,4]]", FRAME, "addend is 2 x 2|D is 24 x 1|1 x 1"),
        ("[1] row-outputs=sum", MONO, "row-outputs|Audio leaves as audio"),
        ("[[1],[1],[1]] input-offset=<1,2>", FRAME,
         "input-offset has 2 numbers|each channel|K = 3"),
        ("[[1,2]] row-outputs=top-k top-k=3", tensors("1"), "top-k is 3|N = 2|at most 2"),
        ("[[1],[2],[3]] output-type=f16", tensors("3:1"),
         "types=(string)float16|types=(string)int8", "other/tensors,types=(string)int8"),
        ("[1] row-outputs=sum", tensors(",".join(["1"] * 16), ",".join(["int8"] * 16)),
         "16 tensors|row-outputs=0"),
        ("[[1,0],[0,1],[0,0]] output=media", FRAME, "output=media|N = 2"),
        ("[[1],[1],[1]] row-outputs=max output=media", FRAME, "output=media|row-outputs"),
        ("[1] row-outputs=max output=rows", MONO, "row-outputs|Audio leaves as audio"),
        ("[[1],[2],[3]] row-outputs=sum output=rows-flexible", tensors("3,3", "int8,int8"),
         "output=rows, as flexible|a single static tensor"),
        ("[1] output=tensors", MONO, "output=tensors|not audio|output=auto"),
        ("[[1],[2],[3]] output=flexible", tensors("3,3", "int8,int8"),
         "output=flexible|a single static tensor"),
        ("[1] output=flexible", MONO, "output=flexible|not audio"),
        ("[[1],[2],[3]] tensor-index=2", flexible(2), "tensor-index is 2|2 tensors"),
        ("[[1],[2],[3]] row-outputs=sum", flexible(16), "has 16 tensors|another one"),
    ],
    "resource": [
        ("[[1],[2],[3]]", tensors("3:2"), "of type GstFlagSet|(string)",
         "other/tensors,dimensions=1:2"),
        ("[1]", "other/tensors,num_tensors=1", "have no format and|format=static"),
        ("[[1],[1],[1]] input-scale=<1,x>", FRAME, "input-scale=<1,x>|such as 0.5|<0.5,0.25,1>"),
        ("[[1],[2],[3]]", flexible(1), "dimensions|are in buffers",
         "other/tensors,dimensions=(string)2:1"),
        *(("[1]", FRAME.replace(field, ""),
           "cannot read the caps video/x-raw|format, width and height|gst-inspect-1.0 gemmcl")
          for field in (",width=6", ",height=4", "format=RGB,")),
        *(("[1]", STEREO.replace(field, ""),
           "cannot read the caps audio/x-raw|format, rate, channels, layout=interleaved")
          for field in (",layout=interleaved", "rate=8000,", "channels=2,", "format=S16LE,")),
        ("[1]", audio("S16LE", 3), "more than 2 channels|channel-mask, such as (bitmask)0"),
        *(("[[1],[2],[3]]", caps, words) for caps, words in [
            ("other/tensors", "have no format|num_tensors=0"), (flexible(17), "num_tensors=17"),
            (f"{STATIC},num_tensors=1,types=float32", "no dimensions"),
            (f"{STATIC},num_tensors=1,dimensions=(string)3", "no types"),
            (f"{STATIC},num_tensors=1,dimensions=3,types=(string)float32,framerate=0/1",
             "dimensions=3 of type gint|(string)"),
            (tensors(""), "(0)|the same number, 1 to 16"),
            (tensors("3:zero"), "3:zero|zero|expected a number"),
            (tensors("3:-1"), 'contain "-1"; expected a number from 1'),
            (tensors("3::2"), 'contain ""; expected a number from 1'),
            (tensors("3:0:2"), "3:0:2|0 behind the last"),
            (tensors("0"), "Dimension 0|is 0;|expected 1 to 2147483647"),
            (tensors("2147483648"), "Dimension 0|is 2147483648;|expected 1 to 2147483647"),
            (tensors("1:" * 16 + "1"), "has 17 dimensions; expected 1 to 16"),
            (tensors("2147483647:2147483647:2147483647"), "larger than memory"),
            (tensors("3", "bfloat16"), 'contain "bfloat16"'),
            (tensors("3", ""), "(1)|(0)|the same number"),
            (tensors("3").replace("=1,", "=2,"), "(1)|(2)|the same number"),
            (tensors("3,4").replace("=1,", "=2,"), "(2)|(1)|the same number")]),
    ],
    "library": [
        ("[[1],[1],[1]] feature-mode=patch patch-width=1 patch-height=1 patch-padding=1 "
         "input-scale=<1,2,3> input-offset=1", FRAME,
         "list|patch-padding|patch-padding=0 or input-offset=0"),
        ("[[1],[1],[1]] normalize=input row-outputs=sum input-scale=<1,2,3>", FRAME,
         "normalize=input|input-scale|single numbers"),
        ("[[1],[2],[3]] output-type=f16 output-scale=2", tensors("3"),
         "output-scale=2|float16|output-type=i8 or u8"),
        ("[1] output-offset=2", MONO, "output-offset=2|not a tensor"),
        ("[1] output-type=f16", MONO, "output-type is set|not a tensor"),
    ],
}

# Refused buffers: the weight, the caps, the number of bytes, and the error's words.
BUFFERS = [("[[1],[1],[1]]", video("RGB", 5, 3), 4, "4 bytes|5x3 RGB|48 bytes"),
           ("[[1],[1]]", STEREO, 7, "7 bytes|a multiple of 4"),
           ("[2]", tensors("1:1"), 8, "8 bytes|expected 4"),
           ("[2]", tensors("1,1", "int8,int8"), 1, "Tensor 1|0 bytes|expected 1")]

# Settings with which the element does not reach a state: the state, the error's domain and words.
STATES = [
    ("", PAUSED, "resource", "No weight|Expected|.npy"),
    ("weight=/none.npy", READY, "resource", "weight=/none.npy|No such file"),
    ("weight=/none.txt", READY, "resource", "weight=/none.txt|Convert the file"),
    ("weight=/none.bin", READY, "resource", "weight=/none.bin|Expected"),
    ("weight=[1] kernel=gem_naive", READY, "library", "gem_naive|gemm_naive"),
    ("weight=[1] device=nothing", READY, "resource", "nothing"),
    ("weight=[1] output=rows", READY, "library", "row-outputs names none|row-outputs=top-k"),
    ("weight=[1] output=rows row-outputs=max output-type=i8", READY, "library", "output-type=auto"),
] + ([('weight=[1] output=meta tensor-id="a b"', READY, None, "tensor-id|a b")] if ANALYTICS else [
    (f"weight=[1] {setting}", READY, None, f"{setting.replace('-tensor-id=a', '=meta')}|"
     "gstreamer-analytics-1.0") for setting in ("output=meta", "input=meta", "input-tensor-id=a")
])


class Errors(Imagined, TestCase):
    def test_caps(self):
        for domain, cases in CAPS.items():
            for settings, caps, words, *output in cases:
                with self.subTest(settings=settings, caps=caps):
                    stream = self.make(f"gemmcl weight={settings}", *output)
                    self.assertFalse(stream.play(caps))
                    self.says(stream, words, domain)

    def test_buffers(self):
        for weight, caps, size, words in BUFFERS:
            with self.subTest(weight=weight, caps=caps):
                stream = self.start(caps, f"gemmcl weight={weight}")
                self.fails(stream, bytes(size), words, "resource")

    def test_no_caps(self):
        stream = self.make("gemmcl weight=[1]")
        stream.element.set_state(PLAYING)
        stream.src.push_event(Gst.Event.new_stream_start("stream"))
        stream.push_segment()
        self.assertEqual(stream.push(bytes(4)), Gst.FlowReturn.NOT_NEGOTIATED)
        self.says(stream, "before caps|a decoder or a caps filter", "resource")

    def test_states(self):
        for settings, state, domain, words in STATES:
            with self.subTest(settings=settings):
                stream = self.make(f"gemmcl {settings}")
                self.assertEqual(stream.element.set_state(state), FAILURE)
                self.says(stream, words, domain)

    def test_stopped(self):
        """An element without caps, in each state, answers queries and takes events."""
        stream = self.make("gemmcl weight=[2]")
        for state in NULL, READY, PLAYING, READY, NULL:
            stream.element.set_state(state)
            for pad in stream.element.pads:
                for make in (Gst.Query.new_drain, Gst.Query.new_latency,
                             lambda: Gst.Query.new_position(Gst.Format.TIME),
                             lambda: Gst.Query.new_allocation(Gst.Caps.from_string(FRAME), True)):
                    pad.query(make())
                for make in (Gst.Event.new_flush_start, lambda: Gst.Event.new_flush_stop(True),
                             Gst.Event.new_eos, lambda: Gst.Event.new_gap(0, 1),
                             Gst.Event.new_reconfigure,
                             lambda: Gst.Event.new_qos(Gst.QOSType.UNDERFLOW, 1.5, 1, 1)):
                    pad.send_event(make())
        self.is_quiet(stream)

    def quotes(self, stream, caps=None, kind=Gst.MessageType.ERROR):
        """The element does not start, or warns: a printable line of 1400 bytes at most."""
        if kind == Gst.MessageType.ERROR and caps:
            self.assertFalse(stream.play(caps))
        elif kind == Gst.MessageType.ERROR:
            self.assertEqual(stream.element.set_state(READY), FAILURE)
        message = stream.pop_message(kind).message
        self.assertLessEqual(len(message.encode()), 1400)
        self.assertTrue(message.isprintable(), message)
        return message

    def test_quoted(self):
        """Settings and caps are quoted in part, without characters that change a terminal."""
        for text in "7" * 100000, "é" * 30000, "a\x1b[31m\a\r\n\t\x7f\u202eb":
            for name in "weight", "bias", "addend", "kernel", "platform", "device", "devices":
                with self.subTest(name=name, text=text[:20]):
                    stream = self.make("gemmcl weight=[1]")
                    stream.element.set_property(name, text + "/")
                    self.quotes(stream)
            for name in "input-scale", "input-offset":
                stream = self.make("gemmcl weight=[1]")
                stream.element.set_property(name, text + "/")
                self.quotes(stream, MONO)
        for dims, types in ("1:" * 100000 + "x", "int8"), ("1", "x" * 100000), ("1," * 100000, "1"):
            self.quotes(self.make("gemmcl weight=[1]"), tensors(dims, types))

    def test_quoted_caps(self):
        """Messages that contain caps say how much of long caps they leave out."""
        for text in "x" * 100000, "é\x1b\n" * 10000:
            wide = f'{FRAME},note=(string)"{text}"'
            many = ",".join(f"{i}:1" for i in range(2, 5000))
            with self.subTest(text=text[:20]):
                for caps, *output in [(wide.replace(",height=4", ""),),
                                      (wide, f"video/x-raw,format=RGB,list=(string){{{many}}}")]:
                    self.assertIn("more bytes", self.quotes(
                        self.make("gemmcl weight=[[1],[2],[3]]", *output), caps))
                stream = self.start(wide, f"gemmcl weight={SMALL}", "video/x-raw,format=RGB")
                stream.element.props.weight = "[[1],[2],[3]]"
                self.assertIn("more bytes", self.quotes(stream, kind=Gst.MessageType.WARNING))

    def test_damaged_file(self):
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            file.write(b"no array")
            file.flush()
            stream = self.make(f"gemmcl weight={file.name}")
            self.assertEqual(stream.element.set_state(READY), FAILURE)
            self.says(stream, f"weight={file.name}|does not start with", "resource")

    def test_other_device(self):
        """After the name of a missing device another device can be set."""
        stream = self.make("gemmcl weight=[1] device=nothing")
        self.assertEqual(stream.element.set_state(READY), FAILURE)
        stream.element.props.device = "0"
        self.assertNotEqual(stream.element.set_state(READY), FAILURE)

    def test_passed_over(self):
        """If the first devices cannot make a context, the next one is taken, with one warning for
        each of them. A device that is named is not replaced."""
        self.imagine(("Many", [("Lost", "OpenCL 3.0"), ("Gone", "OpenCL 3.0")]))
        for devices in "", "devices=all":
            stream = self.start(tensors("1:1"), f"gemmcl weight=[2] {devices}")
            for name in "Lost", "Gone":
                self.assertIn(f"A device was skipped. clCreateContext on {name} failed",
                              stream.pop_message(Gst.MessageType.WARNING).message)
            self.is_quiet(stream)
            self.assertEqual(np.frombuffer(self.run_one(stream, np.array([3], "f4")), "f4"), [6])
        for devices in "device=Lost", "devices=0,Lost":
            stream = self.make(f"gemmcl weight=[2] {devices}")
            self.assertEqual(stream.element.set_state(READY), FAILURE)
            self.says(stream, "clCreateContext on Lost failed", "library")

    def test_downstream(self):
        stream = self.start(tensors("1:1"), "gemmcl weight=[2] queue-depth=2")
        stream.sink.set_active(False)
        flows = {stream.push(bytes(4)) for _ in range(10)}
        self.assertEqual(flows - {OK}, {Gst.FlowReturn.FLUSHING})

    def test_after_too_much(self):
        """After a buffer for which the device lacks memory, smaller buffers are multiplied."""
        most = gemmcl.get_info().max_alloc_bytes
        if most > 1 << 32:
            self.skipTest("the device has more room than the host has for what fills it")
        # Softmax of 2048 samples needs more floats than a buffer can hold; of 1024 it does not.
        weight = np.zeros((1, most // (2048 * 4) + 1), "f4")
        np.save(f"{self.folder}/w.npy", weight)
        stream = self.start(MONO, f"gemmcl queue-depth=1 activation=softmax "
                            f"weight={self.folder}/w.npy")
        self.fails(stream, bytes(1025 * 2), "in one buffer|D before softmax or norms", "resource")
        self.assertEqual(stream.push(bytes(2)), OK)
        self.is_quiet(stream)


main()
