# SPDX-License-Identifier: LGPL-2.1-or-later
"""The caps of one pad, given those of the other and the weight's shape, and the chosen caps."""

import random

from gemmcl import CPU, IS_BRIEF, get_info
from stream import (ANALYTICS, NULL, READY, VA, Gst, TestCase, element, load_plugin, main, np,
                    tensors)

# One plugin since GStreamer 1.22, two before.
for converters in "videoconvertscale", "videoscale", "videoconvert":
    load_plugin(converters)

STATIC, FLEXIBLE = "other/tensors,format=static", "other/tensors,format=flexible"
STEREO = "audio/x-raw,format=S16LE,rate=8000,channels=2,channel-mask=(bitmask)3,layout=interleaved"
SURROUND = STEREO.replace("2,", "6,").replace(")3", ")0x3f")
WIDE = "patch-width=3 patch-height=2"
PATCHES = f"{WIDE} feature-mode=patch patch-stride=1 patch-padding=1"
TO_FLEXIBLE = "output=flexible"
SURFACE = "video/x-raw(memory:VAMemory),format=NV12,height=2,width="
DMABUF = "video/x-raw(memory:DMABuf),format=BGRx"
TILES = "NV12:0x0100000000000002"
GRAY, RGB, RGBA = (f"video/x-raw,format={name}" for name in ("GRAY8", "RGB", "RGBA"))


def video(pixels, more=""):
    return f"video/x-raw,format={pixels},width=4,height=2,framerate=30/1{more}"


def drm(*formats):
    """Returns caps of dma-bufs as since GStreamer 1.24."""
    return [f"video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={name},width=4,height=2,"
            "framerate=30/1" for name in formats if Gst.version() >= (1, 24)]


def dims(*texts, more=""):
    return ";".join(f'other/tensors,dimensions=(string)"{text}"{more}' for text in texts)


# Each case: upstream's caps, K, N, caps that downstream can have, and cannot have, and settings.
DOWN = [
    (video("RGB"), 0, 0, "video/x-raw,format=GRAY8; video/x-raw,format=RGBA; other/tensors", ""),
    # Pixels stay video if a format has N channels.
    (video("NV12"), 3, 3, f"{video('BGRx')};{dims('3:8', more=',types=float32,framerate=30/1')}",
     f"{video('RGBA')}; video/x-raw,width=5"),
    (video("NV12"), 3, 2, dims("2:4:2", "2:8"), f"video/x-raw;{dims('2:2:4')}"),
    # Rows and frames become tensors. Trailing dimensions of 1 may be omitted.
    (video("RGB"), 12, 5, dims("5:2", "5:2:1"), "video/x-raw"),
    (video("RGB"), 24, 3, dims("3:1", "3", "3:1:1", "3:1:1:1", "3:1:0:0"),
     f"video/x-raw;{dims('1:3')}"),
    # The output keeps the outer dimensions of the input, unless downstream asks for a matrix.
    (tensors("8:8:8"), 8, 16, dims("16:8:8", "16:8:8:1", "16:8:8:0", "16:64", "16:64:1:1"),
     dims("16:8", "16:32:2", "8:8:16")),
    (tensors("8:4:1:2"), 8, 16, dims("16:4:1:2", "16:8"), dims("16:4:2", "16:4:2:1")),
    (tensors("8:1:1"), 8, 16, dims("16:1:1", "16:1", "16"), dims("1:16")),
    (tensors("8"), 8, 16, dims("16:1", "16"), dims("1:16")),
    (tensors("3:4:2", "uint8"), 12, 5, dims("5:2", "5:2:1:1"), dims("5:1:2"), "feature-mode=row"),
    (tensors("3:4:2", "uint8"), 24, 5, dims("5", "5:1"), dims("1:5"), "feature-mode=frame"),
    (tensors("7,3:4:5", "uint8,float32"), 3, 2, dims("7,2:4:5,1:4:5", "7,2:20,1:20"),
     dims("7,2:4:5,1:20", "7,2:20,1:4:5"), "tensor-index=1 row-outputs=max"),
    (video("RGB"), 3, 2, dims("2:4:2,3:4:2", "2:8,3:8"), "", "row-outputs=sum+max+arg-max"),
    (video("RGB"), 3, 2, dims("3:4:2", "3:8"), f"video/x-raw;{dims('2:4:2')}",
     "row-outputs=sum+max+arg-max output=rows"),
    (tensors("7,3:4:5", "uint8,float32"), 3, 2, dims("7,1:4:5", "7,1:20"), dims("7,2:4:5"),
     "tensor-index=1 row-outputs=max output=rows"),
    (video("RGB"), 18, 5, dims("5:4:3", "5:4:3:1", "5:12"), dims("5:3:4"), PATCHES),
    (tensors("3:4:2", "uint8"), 18, 5, dims("5:4:3", "5:12"), dims("5:3:4"), PATCHES),
    # K selects the mode, also if patch sizes are set. A frame has as many patches as fit.
    (video("RGB"), 12, 5, dims("5:2"), "video/x-raw", WIDE),
    (video("RGB"), 18, 5, dims("5:1:1"), "video/x-raw", WIDE),
    # Patches, windows and tensors of three dimensions may become pictures of their grids.
    (video("RGB"), 18, 3, f"{dims('3:4:3')};{RGB},width=4,height=3,framerate=30/1;{RGB},"
     "pixel-aspect-ratio=1/1", f"{GRAY}; {RGB},width=3; {RGB},height=2; {RGB},framerate=25/1",
     PATCHES),
    (video("RGB", ",pixel-aspect-ratio=4/3"), 18, 3, f"{RGB},width=1,height=1,"
     "pixel-aspect-ratio=2/1", f"{RGB},pixel-aspect-ratio=4/3", f"{WIDE} feature-mode=patch"),
    (video("RGB", ",pixel-aspect-ratio=4/3"), 3, 1, f"{GRAY},width=1,height=1,"
     "pixel-aspect-ratio=2/1", f"{GRAY},pixel-aspect-ratio=4/3", "pool=max pool-size=[2,3]"),
    (video("RGB"), 3, 1, f"{GRAY},width=2,height=1", f"{GRAY},width=4; other/tensors",
     "pool=max pool-size=2 pool-stride=[1,2] output=media"),
    (tensors("3:4:2", "int8"), 3, 4, f"{dims('4:4:2')};{RGBA},width=4,height=2,framerate=10/1",
     f"{RGB}; {RGBA},width=2; {RGBA},framerate=30/1"),
    (tensors("3:4:2:1:1", "int8"), 3, 1, f"{GRAY},width=4; video/x-raw,format=GRAY16_LE", RGB),
    (tensors("3:4:2", "int8"), 18, 3, f"{RGB},width=4,height=3", f"{RGB},height=2", PATCHES),
    (tensors("3:4:2", "int8"), 3, 3, f"{RGB},width=1,height=1", f"{RGB},width=4", "pool=average"),
    (tensors("3:4:2", "int8"), 3, 2, STATIC, "video/x-raw"),
    *((tensors(f"3:{shape}", "int8"), 3, 3, STATIC, "video/x-raw")
      for shape in ("4", "4:2:2", "1:65536", "65536:1")),
    (tensors("3:4:2,1", "int8,int8"), 3, 3, STATIC, "video/x-raw"),
    (tensors("3:4:2", "int8"), 12, 3, STATIC, "video/x-raw", "feature-mode=row"),
    *((tensors("3:4:2", "int8"), 3, 3, STATIC,
       "video/x-raw", more) for more in (
           "output=media", "output=tensors", "output-type=u8", "output-scale=2 output-type=u8",
           "normalize=output", "row-outputs=max")),
    # output=media and output=tensors each leave only one of both.
    (video("RGB"), 3, 3, video("RGB"), "other/tensors", "output=media"),
    (video("RGB"), 3, 3, dims("3:4:2", "3:8"), "video/x-raw", "output=tensors"),
    (STEREO, 2, 6, "audio/x-raw,format=S16LE,channels=6,rate=8000",
     "audio/x-raw,format=F32LE; other/tensors"),
    (tensors("7,3:4:5", "uint8,int16"), 3, 2,
     dims("7,2:4:5", "7,2:20", more=',num_tensors=2,types=(string)"uint8,float32"'), "",
     "tensor-index=1"),
    (tensors("7:1,3:4:5", "uint8,int16"), 3, 2, dims("7:1:1:1.2:20:1:1", "7:1:0:0,2:20:0:0"), "",
     "tensor-index=1"),
    (tensors("3:224:2.10, 4:1:1:1", "uint8,float32 . float16").replace("=2,", "=3,"), 3, 2,
     dims("2:448,10,4:1:1:1", more=',types=(string)"float32,float32,float16"'), ""),
    (tensors("5:2:0", "int8"), 5, 1, dims("1:2"), ""),
    (tensors("5:2:0:0:0:0:0:0:0:0:0:0:0:0:0: 0", "int8"), 5, 1, dims("1:2"), ""),
    # Static tensors stay static and flexible ones flexible. With output=flexible all are flexible.
    (tensors("3:2", "int16"), 3, 2, STATIC, f"{FLEXIBLE}; video/x-raw"),
    (f"{FLEXIBLE},framerate=10/1", 3, 2, FLEXIBLE, f"{STATIC}; video/x-raw"),
    ("other/tensors", 3, 2, f"{STATIC};{FLEXIBLE}", "video/x-raw"),
    (tensors("3:2", "int16"), 3, 2, FLEXIBLE, f"{STATIC}; video/x-raw", TO_FLEXIBLE),
    ("other/tensors", 3, 2, FLEXIBLE, f"{STATIC}; video/x-raw", TO_FLEXIBLE),
    (video("RGB"), 3, 2, FLEXIBLE, f"{STATIC}; video/x-raw", TO_FLEXIBLE),
] + [
    # The source pad never has foreign memory.
    (text, 3, 3, video("BGR"), f"{SURFACE}4; {DMABUF}")
    for text in [f"{SURFACE}4,framerate=30/1", *drm(TILES)] * VA + drm("NV12")
]
# Each case: downstream's caps, K, N, caps that upstream can have, and cannot have, and settings.
UP = [
    ("other/tensors", 0, 0, "video/x-raw,format=I420; other/tensors", ""),
    # K limits the formats of upstream. If none fits, all are accepted, to post the reason.
    ("video/x-raw", 4, 3, "video/x-raw,format=RGBA",
     "video/x-raw,format=RGB; video/x-raw,format=GRAY8"),
    ("other/tensors,framerate=30/1", 3, 2, "video/x-raw,framerate=30/1",
     "video/x-raw,framerate=25/1"),
    ("video/x-raw", 4, 2, "video/x-raw,format=RGBA", ""),
    ("other/tensors", 18, 5, "video/x-raw,format=RGB",
     "video/x-raw,format=RGBA; video/x-raw,format=GRAY8", PATCHES),
    ("other/tensors", 3, 2, f"{RGB}; {GRAY},width=3", f"{GRAY},width=4,height=4"),
    ("other/tensors", 3, 2, RGB, GRAY, "feature-mode=pixel"),
    # Rows fix the width, frames the product of width and height, and patches the least size.
    ("other/tensors", 672, 8,
     f"{RGB},width=224; {GRAY},width=672; {RGBA},width=168; {DMABUF},width=224",
     f"{RGB},width=672; {GRAY},width=224; {RGB},width=320", "feature-mode=row"),
    ("other/tensors", 784, 1,
     f"{GRAY},width=28,height=28; {GRAY},width=16,height=49; {RGBA},width=49,height=4",
     f"{GRAY},width=30; {RGB},width=28,height=28; {RGBA},width=784", "feature-mode=frame"),
    # Dimensions of the result limit the sizes. N:M states the product of those of pixels.
    (dims("2:4:5"), 3, 2, f"{RGB},width=4,height=5", f"{RGB},width=5; {GRAY}"),
    (dims("2:4:5:2"), 3, 2, "other/tensors", "video/x-raw"),
    (dims("2:5"), 3, 2, f"{RGB},width=5,height=1; {GRAY},width=3,height=5",
     f"{GRAY},width=3,height=15; {RGB},width=4,height=5; {RGB},width=320"),
    (dims("2:65537"), 3, 2, "other/tensors", "video/x-raw"),
    (dims("8:240"), 784, 8, "other/tensors", "video/x-raw", "feature-mode=frame"),
    (dims("8:1"), 784, 8, f"{GRAY},width=28,height=28; {GRAY},width=784,height=1",
     f"{GRAY},width=784,height=3"),
    ("other/tensors", 12, 1, STATIC, FLEXIBLE, "feature-mode=row"),
    ("other/tensors", 3 * 65537, 1, "other/tensors", f"{RGB}; {GRAY}", "feature-mode=frame"),
    ("other/tensors", 30, 1, f"{RGB},width=9,height=3", f"{RGB},width=8; {RGB},height=2",
     "feature-mode=patch patch-width=5 patch-height=2 patch-dilation=2"),
    ("other/tensors", 36, 1, f"{RGB},width=2,height=1", f"{RGB},width=1",
     "feature-mode=patch patch-width=6 patch-height=2 patch-padding=2"),
    (STEREO, 6, 2, "audio/x-raw,format=S16LE,channels=6,rate=8000", "audio/x-raw,channels=2"),
    (STATIC, 3, 2, f"{STATIC}; video/x-raw", FLEXIBLE),
    (FLEXIBLE, 3, 2, FLEXIBLE, f"{STATIC}; video/x-raw"),
    ("other/tensors", 3, 2, f"{STATIC};{FLEXIBLE}; video/x-raw", ""),
    (FLEXIBLE, 3, 2, f"{STATIC};{FLEXIBLE}; video/x-raw", "", TO_FLEXIBLE),
    # A picture fixes the size of pixels and of patches; each frame must fill the patches.
    ("video/x-raw,width=4,height=3", 3, 3, f"{RGB},width=4,height=3; {STATIC}",
     f"{RGB},width=5; {GRAY}; {FLEXIBLE}"),
    ("video/x-raw,width=4,height=3", 18, 3, f"{RGB},width=4,height=2; {STATIC}",
     f"{RGB},width=5; {RGB},height=3; {GRAY}", PATCHES),
    ("video/x-raw,width=2,height=2", 6, 3, f"{GRAY},width=6,height=5; {GRAY},width=8,height=4",
     f"{GRAY},width=9; {GRAY},width=5; {GRAY},height=3; {GRAY},height=6; {RGB}",
     f"{WIDE} feature-mode=patch"),
    (dims("5:4:3"), 18, 5, f"{RGB},width=4,height=2", f"{RGB},width=3; {RGB},height=3", PATCHES),
    (dims("5:4:3:2"), 18, 5, "other/tensors", "video/x-raw", PATCHES),
    ("video/x-raw,width=65535,height=2", 18, 1, STATIC, "video/x-raw",
     f"{WIDE} feature-mode=patch"),
    ("video/x-raw,width=2,height=2", 3, 3, f"{RGB},width=5,height=4; {STATIC}", GRAY, "pool=max"),
    ("video/x-raw", 12, 3, STATIC, "video/x-raw", "feature-mode=row"),
    ("video/x-raw", 3, 3, f"{RGB}; {STATIC}", f"{GRAY},width=3", WIDE),
    # With output=meta upstream has to send frames, without the tensors that downstream expects.
    (video("RGB", ",tensors=(structure)[after]"), 3, 3,
     video("RGB", ",tensors=(structure)[before]"), "", "output=meta"),
]
# Foreign memory: memory that the host can map; surfaces and their tiles, in even sizes only,
# because Intel's driver drops chroma of odd sizes; and memory that is not supported.
BUFFERS = [DMABUF, *drm("NV12")]
SURFACES = [f"{SURFACE}64", *drm(TILES, "P010:0x0100000000000009")]
COMPRESSED = drm(*(f"NV12:0x01000000000000{n:02x}" for n in (3, 4, 6, 7, 11, 13, 16, 17)))
STRANGE = drm("XR24:0x0100000000000002", "NV12:0x0200000000000001") + COMPRESSED
NEITHER = [f"{SURFACE}63", SURFACE.replace("=2", "=3") + "64", *STRANGE]

HDR = (",mastering-display-info=(string)35400:14600:8500:39850:6550:2300:15635:16450:10000000:1"
       ",content-light-level=(string)1000:200")
# Each case: format and colours of the input, N, the colours that downstream allows, and those of
# the output: the input's primaries and transfer. Luma and chroma become colours of the full range.
COLOURS = [("RGB", "sRGB", 3, "", "sRGB"), ("RGBA", "2:1:5:1", 3, "", "2:1:5:1"),
           ("RGB", "sRGB", 1, "", "1:4:7:1"), ("NV12", "bt2100-pq", 3, "", "1:1:14:7"),
           ("P010_10LE", "bt2020-10", 4, "", "1:1:13:7"), ("I420", "2:4:7:1", 3, "", "sRGB"),
           ("NV12", "bt709", 1, "", "1:4:5:1"), ("GRAY8", "bt709", 1, "", "bt709"),
           ("GRAY8", "bt709", 3, "", "2:1:5:1"), ("I420", "bt709", 3, "{sRGB,1:1:5:1}", "1:1:5:1"),
           ("I420", "bt709", 3, "sRGB", "sRGB")]
# Each case: K, N, the caps of downstream, the formats of upstream, and the one that is chosen.
DEPTHS = [(1, 3, "ANY", "{GRAY16_LE,GRAY8}", "GRAY8"), (1, 1, "ANY", "{GRAY16_LE,GRAY8}", "GRAY8"),
          (1, 5, "other/tensors", "{GRAY16_LE,GRAY8}", "GRAY8"),
          (1, 1, "video/x-raw,format=GRAY16_LE", "{GRAY8,GRAY16_LE}", "GRAY16_LE"),
          (1, 1, "video/x-raw,format={GRAY16_LE,GRAY8}", "{GRAY16_LE,GRAY8}", "GRAY8"),
          (3, 3, "video/x-raw", "{P010_10LE,NV12}", "NV12"),
          (3, 1, "video/x-raw,format=GRAY16_LE", "{NV12,P010_10LE}", "P010_10LE")]

# Each case: the caps of both sides, K, N, a part of the output's caps, and settings.
CHOICES = [
    *((video(given), f"video/x-raw{more}", k, n, f"video/x-raw,format={chosen}")
      for given, more, k, n, chosen in [
          ("BGR", "", 3, 3, "BGR"), ("BGRA", "", 4, 3, "BGR"), ("RGB", "", 3, 4, "RGBA"),
          ("BGRx", "", 3, 4, "BGRA"), ("RGB", ",format={xBGR,GRAY8}", 3, 3, "xBGR"),
          ("RGB", "", 3, 1, "GRAY8"), ("GRAY16_LE", "", 1, 1, "GRAY16_LE"),
          ("GRAY8", ",format=GRAY16_LE", 1, 1, "GRAY16_LE")]),
    # The medium stays, even if downstream prefers tensors. Pictures are only made on request.
    (video("RGB"), "other/tensors;video/x-raw", 3, 3, "video/x-raw"),
    (video("RGB"), "video/x-raw;other/tensors", 18, 3, dims("3:4:3"), PATCHES),
    (video("RGB"), "video/x-raw;other/tensors", 3, 3, dims("3:1:1"), "pool=max"),
    (tensors("3:4:2"), "video/x-raw;other/tensors", 3, 3, dims("3:4:2")),
    (tensors("3:4:2"), "video/x-raw", 3, 3, RGB),
    (tensors("3:4:2"), "video/x-raw,format={xBGR,GRAY8}", 3, 3, "video/x-raw,format=xBGR"),
    *((tensors("3:4:2"), f"{RGB},pixel-aspect-ratio=[{least},9/1]", 3, 3,
       f"{RGB},pixel-aspect-ratio={nearest}")
      for least, nearest in (("1/99", "1/1"), ("2/1", "2/1"))),
    (video("BGRx"), "video/x-raw", 3, 3, "video/x-raw,format=BGRx,width=1", "pool=max"),
    (video("RGB"), "video/x-raw,interlace-mode={interleaved,progressive}", 3, 3,
     f"{RGB},interlace-mode=progressive", "pool=max"),
    (video("RGB"), "other/tensors", 3, 3, dims("3:4:2")),
    (video("RGB"), dims("3:8"), 3, 3, dims("3:8")),
    (video("RGB"), "other/tensors", 12, 5, dims("5:2")),
    (video("RGB"), "other/tensors", 24, 5, dims("5:1")),
    (tensors("8:8:8"), "other/tensors", 8, 16, dims("16:8:8")),
    (tensors("8:8:8:1"), "other/tensors", 8, 16, dims("16:8:8:1")),
    (tensors("8:8:8"), dims("16:64"), 8, 16, dims("16:64")),
    (tensors("8:8:8"), dims("16:8:8:1"), 8, 16, dims("16:8:8:1")),
    (video("RGB"), "other/tensors", 18, 5, dims("5:4:3"), PATCHES),
    (tensors("3:4:2", "uint8"), "other/tensors", 18, 5, dims("5:4:3"), PATCHES),
    (STEREO, "audio/x-raw", 2, 6, "audio/x-raw,channel-mask=(bitmask)0x3f"),
    (SURROUND, "audio/x-raw", 6, 2, "audio/x-raw,channel-mask=(bitmask)0x3"),
    (STEREO, "audio/x-raw,channel-mask=(bitmask)0", 2, 4, "audio/x-raw,channel-mask=(bitmask)0"),
    (STEREO, "audio/x-raw", 2, 9, "audio/x-raw,channel-mask=(bitmask)0"),
    (STEREO, "audio/x-raw", 2, 1, "audio/x-raw,channels=1"),
    # Downstream chooses the type; otherwise the first type is taken, in the plain spelling.
    (tensors("3:2", "int16"), "other/tensors", 3, 2, dims("2:2", more=",types=(string)float32")),
    (tensors("3:1", "int16"), "other/tensors", 3, 2, dims("2:1")),
] + [(tensors("3:2", "int16"), f"other/tensors,types=(string){types}", 3, 2,
      f"other/tensors,types=(string){chosen}") for types, chosen in [
          ("uint8", "uint8"), ("{int32,int8,float16}", "{float16,int8}"),
          ("{int8,float32}", "{int8,float32}")]]


def describe(k, n, settings):
    return element(np.zeros((k, n)), settings) if k else f"gemmcl {settings}"


class Negotiation(TestCase):
    def check(self, stream, pad, has, lacks, asked=None, state=READY):
        """The pad can have all caps in has and none in lacks. Returns all caps of the pad."""
        stream.element.set_state(state)
        found = stream.query_caps(pad, asked)
        for texts, there in (has, True), (lacks, False):
            for text in filter(None, texts.split(";")):
                self.assertEqual(found.can_intersect(Gst.Caps.from_string(text)), there,
                                 f"{text} and {found.to_string()}")
        return found

    def test_down(self):
        for caps, k, n, has, lacks, *settings in DOWN:
            with self.subTest(caps=caps, k=k, n=n, settings=settings):
                self.check(self.make(describe(k, n, "".join(settings)), None, caps), "src", has,
                           lacks)

    def test_up(self):
        for caps, k, n, has, lacks, *settings in UP:
            with self.subTest(caps=caps, k=k, n=n, settings=settings):
                self.check(self.make(describe(k, n, "".join(settings)), caps), "sink", has, lacks)
        self.check(self.make(describe(4, 3, ""), "video/x-raw"), "sink", "video/x-raw,format=RGB",
                   "", Gst.Caps.from_string("video/x-raw,format=RGB"))

    def test_filter(self):
        """Of what both sides can use, feature-mode=auto prefers pixels and patches to rows and
        frames. A frame has one size if one side is given; otherwise a square or near 4:3."""
        gray_or_rgb = "video/x-raw,format={GRAY8,RGB}"
        gray, rgb = (f"{pixels},width=3,height=2" for pixels in (GRAY, RGB))
        for k, asked, has, lacks, settings, *output in [
                (3, gray_or_rgb, rgb, gray, ""), (3, GRAY, gray, rgb, ""),
                (6, gray_or_rgb, rgb, f"{GRAY},width=6", "patch-width=2 patch-height=1"),
                (3, f"{gray_or_rgb},width=3,height=2", rgb, gray, "", dims("2:6")),
                (3, f"{gray_or_rgb},width=3,height=2", gray, rgb, "", dims("2:2")),
                (3, f"{gray_or_rgb},width=3,height=2", rgb, gray, "", dims("2:3:2")),
                (6, f"{gray_or_rgb},width=3,height=2", gray, rgb, "", dims("2")),
                (784, f"{GRAY},width=56", f"{GRAY},height=14", f"{GRAY},height=28",
                 "feature-mode=frame"),
                *[(3, frames, frames, "", "", dims("2:8")) for frames in drm("XR24")],
                # With output=meta frames pass.
                *[(3, gray_or_rgb, gray, rgb, "output=meta", GRAY),
                  (64, GRAY, f"{GRAY},height=4", f"{GRAY},height=8; {GRAY},width=8",
                   "feature-mode=frame output=meta", "video/x-raw,width=16")] * ANALYTICS]:
            with self.subTest(k=k, asked=asked, settings=settings, output=output):
                self.check(self.make(describe(k, 2, settings), *output), "sink", has, lacks,
                           Gst.Caps.from_string(asked))
        for k, size in [(784, "28,height=28"), (76800, "320,height=240")]:
            found = self.check(self.make(describe(k, 1, "feature-mode=frame")), "sink", GRAY, "",
                               Gst.Caps.from_string(GRAY))
            first = Gst.Caps.from_string(f"{GRAY},width={size}")
            self.assertTrue(found.copy().truncate().is_subset(first), found.to_string())

    def test_upstream(self):
        """Elements upstream scale and convert to what weight and downstream need."""
        three = "video/x-raw,format={RGB,BGR,RGBx,BGRx,xRGB,xBGR}"
        for converter, caps, k, n, part, settings in [
                ("videoscale", "RGB", 672, 8, f"{RGB},width=224", "feature-mode=row"),
                ("videoscale", "GRAY8", 784, 8, f"{GRAY},width=28,height=28", "feature-mode=frame"),
                ("videoconvert", "GRAY8", 3, 3, three, ""),
                ("videoconvert", "GRAY8", 3, 2, three, ""),
                ("videoconvert", "RGB", 8, 2, "video/x-raw,format={RGBA,BGRA}",
                 "patch-width=2 patch-height=1"),
                ("videoscale", "RGB", 3, 16, f"{RGB},width=6,height=8", "dimensions=16:6:8"),
                ("videoscale", "RGB", 3, 16, f"{RGB},width=4,height=2", "dimensions=16:8"),
                ("videoscale", "RGB", 18, 5, f"{RGB},width=6,height=4",
                 f"{WIDE} feature-mode=patch dimensions=5:2:2"),
                ("videoscale", "RGB", 672, 8, f"{RGB},width=224,height=30",
                 "feature-mode=row dimensions=8:30")]:
            with self.subTest(converter=converter, caps=caps, k=k, n=n, settings=settings):
                if not Gst.ElementFactory.find(converter):
                    self.skipTest(f"GStreamer's {converter} is missing")
                settings, _, dimensions = settings.partition("dimensions=")
                stream = self.make(
                    f"{converter} ! {describe(k, n, f'name=a {settings}')}",
                    f"other/tensors,dimensions=(string){dimensions}" if dimensions else "ANY")
                stream.play(video(caps))
                self.is_quiet(stream)
                found = stream["a"].get_static_pad("sink").get_current_caps()
                self.assertTrue(found.is_subset(Gst.Caps.from_string(part)), found.to_string())

    def test_memories(self):
        """The sink pad accepts all memory; with a device, what that reads. dma-bufs are copied."""
        stream = self.make("gemmcl", "other/tensors")
        found = self.check(stream, "sink", ";".join(BUFFERS), ";".join(NEITHER), None, NULL)
        self.assertEqual({found.can_intersect(Gst.Caps.from_string(text)) for text in SURFACES},
                         {VA})
        if get_info().type == CPU:
            found = self.check(stream, "sink", ";".join(BUFFERS), ";".join(SURFACES + NEITHER))
            self.assertTrue(found.get_features(found.get_size() - 1).contains("memory:DMABuf"))
        # With GstTensorMeta, pads accept any medium; the element then refuses these caps.
        for text in SURFACES + STRANGE if ANALYTICS and get_info().type == CPU else ():
            stream = self.make(describe(3, 1, ""))
            self.assertFalse(stream.play(text))
            if text in SURFACES:
                self.says(stream, "cl_intel_va_api_media_sharing" if VA else "built without VA")
            self.is_quiet(stream)

    def test_templates(self):
        """The caps of the pads' templates, except formats, which values.py tests."""
        stream = self.make("gemmcl input=media")
        if ANALYTICS:
            self.skipTest("built with GstAnalytics, pads take all media that carry tensors")
        self.check(stream, "sink", FLEXIBLE,
                   "other/tensors,format=sparse; audio/x-raw,layout=non-interleaved")
        self.check(stream, "src", "", "video/x-raw,format=NV12; video/x-raw,format=I420")

    def test_choices(self):
        for caps, downstream, k, n, part, *settings in CHOICES:
            with self.subTest(caps=caps, downstream=downstream, k=k, n=n):
                stream = self.start(caps, describe(k, n, "".join(settings)), downstream)
                found = stream.sink.get_current_caps()
                self.assertTrue(found.can_intersect(Gst.Caps.from_string(part)), found.to_string())
                if "audio" in caps:  # mono needs no mask
                    self.assertEqual("channel-mask" in found.to_string(), n > 1)

    def test_colours(self):
        for pixels, colours, n, allowed, expected in COLOURS:
            with self.subTest(pixels=pixels, colours=colours, n=n, allowed=allowed):
                caps = video(pixels, f",colorimetry={colours},chroma-site=mpeg2" + HDR)
                k = {"GRAY8": 1, "RGBA": 4}.get(pixels, 3)
                stream = self.start(caps, describe(k, n, ""),
                                    "video/x-raw" + (f",colorimetry={allowed}" if allowed else ""))
                self.gives(stream, f"video/x-raw,colorimetry={expected}{HDR}")
                self.assertNotIn("chroma-site", stream.sink.get_current_caps().to_string())

    def test_unknown_colours(self):
        """Colours of which nothing is known give the output no colorimetry."""
        caps = video("GRAY8", ",colorimetry=0:0:0:0")
        for allowed in "", ",colorimetry={bt601,bt709}":
            stream = self.start(caps, describe(1, 1, ""), f"video/x-raw{allowed}")
            self.assertNotIn("colorimetry=NULL", stream.sink.get_current_caps().to_string())

    def test_depths(self):
        """Upstream is asked for eight bits first, and for more if the output has more."""
        for k, n, downstream, formats, chosen in DEPTHS:
            with self.subTest(k=k, n=n, downstream=downstream, formats=formats):
                stream = self.make(describe(k, n, ""), downstream)
                stream.element.set_state(READY)
                offered = Gst.Caps.from_string(video(formats))
                found = stream.query_caps("sink", offered).fixate().to_string()
                self.assertIn(f"format=(string){chosen},", found)


CHANNELS = {"GRAY8": 1, "GRAY16_LE": 1, "RGB": 3, "BGRx": 3, "NV12": 3, "I420": 3, "RGBA": 4}
MODES = "auto", "pixel", "row", "frame", "patch"


class Offers(TestCase):
    """The sink pad's caps are the accepted inputs, and no others where caps can say that."""

    def choose_settings(self, mode):
        """Returns properties. Some of them fit no input."""
        choose, patch = self.choice, "patch" in (mode, self.choice(MODES))
        return {"feature-mode": mode, "patch-width": choose((1, 2, 3)) if patch else 0,
                "patch-height": choose((1, 2)) if patch else 0, "patch-stride": choose((0, 1)),
                "patch-padding": choose((0, 0, 1)), "patch-dilation": choose((1, 1, 2)),
                "output": choose(("auto", "auto", "media", "tensors", "flexible")),
                "row-outputs": choose(("0", "0", "0", "max")),
                "pool": choose(("none", "none", "none", "max")),
                "output-type": choose(("auto", "auto", "f16"))}

    def choose_input(self, settings):
        """Returns caps and a K, which fits them in most cases."""
        choose = self.choice
        width, height, pixels = choose((1, 2, 3, 4, 6)), choose((1, 2, 3, 4)), choose((*CHANNELS,))
        channels, kind = CHANNELS[pixels], choose(("video", "video", "video", "audio", "tensors"))
        if kind == "audio":
            caps = STEREO.replace("channels=2", f"channels={channels}").replace(")3", ")0")
            return caps, channels
        if kind == "tensors":
            caps = choose((f"{FLEXIBLE},framerate=10/1", tensors(f"{channels}:{width}:{height}")))
        else:
            memory = choose(("", "", "(memory:OpenCL)", "(memory:DMABuf)"))
            caps = (f"video/x-raw{memory},format={pixels},width={width},height={height},"
                    "framerate=10/1")
        size = {"pixel": 1, "row": width, "frame": width * height,
                "patch": settings["patch-width"] * settings["patch-height"]}
        mode = settings["feature-mode"]
        return caps, channels * size[choose((*size,)) if mode == "auto" else mode]

    def check(self, stream, caps, mode):
        wanted = Gst.Caps.from_string(caps)
        stream.element.set_state(READY)
        offered, asked = stream.query_caps("sink"), stream.query_caps("sink", wanted)
        accepted = stream.play(caps)
        error = stream.pop_message(Gst.MessageType.ERROR)
        stream.element.set_state(READY)
        self.assertEqual(accepted, error is None)
        if accepted:
            self.assertTrue(wanted.is_subset(offered), offered.to_string())
            self.assertTrue(wanted.is_subset(asked), asked.to_string())
        elif mode in ("pixel", "row", "patch") and caps.startswith("video"):
            self.assertFalse(wanted.is_subset(offered), error.message)
        return accepted

    def test_random(self):
        """Random inputs, settings and downstream caps. Sizes of frames and modes that
        feature-mode=auto finds are offered more than they are accepted."""
        count = {True: 0, False: 0}
        for seed in range(40 if IS_BRIEF else 100):
            self.choice = random.Random(seed).choice
            settings = self.choose_settings(self.choice(MODES))
            inputs = [self.choose_input(settings) for _ in range(4)]
            k, n = max(inputs[0][1], 1), self.choice((1, 3, 4))
            sizes = {"auto": ("", ",width=[1,3]", ",height=2"), "patch": ("", ",width=2,height=2")}
            sizes["pixel"] = sizes["auto"]
            output = self.choice((None, None, "other/tensors", *(
                f"video/x-raw{size}" for size in sizes.get(settings["feature-mode"], ()))))
            if output:  # with other values the pads would not link
                settings.update({"output": "auto", "row-outputs": "0", "output-type": "auto",
                                 "pool": "none"})
            text = describe(k, n, " ".join(f"{name}={value}" for name, value in settings.items()))
            stream = self.make(text, output)
            for caps, _ in inputs:
                with self.subTest(seed=seed, caps=caps, k=k, n=n, downstream=output, **settings):
                    count[self.check(stream, caps, settings["feature-mode"])] += 1
            stream.stop()
        self.assertGreater(min(count.values()), sum(count.values()) // 8, count)


main()
