# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames and tensors as matrices: formats, shapes, planes, and the messages of refused ones."""

from ctypes import byref, c_size_t

from gemmcl import TYPES, TestCase, ask, call, get_name
from pixels import FORMATS, FRAME, HUGE, PATCH, PIXEL, ROW, get_planes, get_shape, make_frame
from tap_unittest import main


class Frames(TestCase):
    SHAPES = [  # feature mode, patch, M and K of 640 x 480 in RGB
        (PIXEL, (), 640 * 480, 3), (ROW, (), 480, 640 * 3), (FRAME, (), 1, 640 * 480 * 3),
        (PATCH, (16, 16), 40 * 30, 16 * 16 * 3), (PATCH, (7, 100), 91 * 4, 7 * 100 * 3),
        (PATCH, (640, 480), 1, 640 * 480 * 3), (PATCH, (7, 7, 2, 3), 320 * 240, 7 * 7 * 3),
        (PATCH, (3, 3, 1, 2, 2), 640 * 480, 3 * 3 * 3), (PATCH, (5, 1, 4, 0, 3), 157 * 120, 5 * 3),
        (PATCH, (642, 480, 1, 1, 1), 1 * 3, 642 * 480 * 3),
        (ROW, (0, 0, 2, 3, 2), 480, 640 * 3),  # only patches have them
    ]
    PLANES = {  # of 1279 x 719
        "NV12": [(0, 1279, 719), (1279 * 719, 1280, 360), (0, 0, 0)],
        "I420": [(0, 1279, 719), (1279 * 719, 640, 360), (1279 * 719 + 640 * 360, 640, 360)],
        "GRAY16_LE": [(0, 1279 * 2, 719), (0, 0, 0), (0, 0, 0)],
    }
    CUT_PLANES = {  # interlaced, left, top; columns and rows of chroma of 1279 x 718
        (False, 0, 0): (640, 359), (False, 1, 1): (640, 360), (True, 0, 0): (640, 360),
        (True, 1, 0): (640, 360), (True, 0, 1): (640, 360), (True, 0, 2): (640, 360),
        (True, 0, 3): (640, 361)}
    REFUSED = [
        *(({"form": "NV12", "kr": 0.5, "kb": 0.25, **fields}, words) for fields, words in (
            ({"left": 2}, "left must be 0 to 1, not 2"), ({"top": 2}, "top must be 0 to 1, not 2"),
            ({"interlaced": True, "top": 4}, "top must be 0 to 3, not 4"))),
        ({"form": len(FORMATS)}, "format"), ({"width": 0}, "width"), ({"width": 65536}, "65536"),
        ({"height": HUGE}, "height"), ({"features": PATCH + 1}, "feature mode"),
        ({"features": PATCH}, "patch width"),
        ({"features": PATCH, "patch": (640, 481)}, "640 x 481 pixels with a dilation of 1"),
        ({"features": PATCH, "patch": (640, 0)}, "patch height must be 1"),
        ({"features": PATCH, "patch": (640, 161, 0, 0, 3)},
         "does not fit a frame of 640 x 480 with 0 pixels"),
        ({"features": PATCH, "patch": (640, 161, 0, 0, 65536)},
         "patch dilation must be 0 to 65535, not 65536"),
        ({"features": PATCH, "patch": (640, 161, HUGE)}, "patch stride"),
        ({"features": PATCH, "patch": (640, 161, 1, HUGE)}, "patch padding"),
        ({"form": "NV12"}, "luma"), ({"form": "NV12", "kr": 0.5, "kb": 0.5}, "0.5 and 0.5"),
        ({"form": "NV12", "kr": 0.5, "kb": float("nan")}, "luma"),
        ({"form": 0, "type": len(TYPES), "channels": 5}, "a tensor's type, 0 to 11"),
        ({"form": "NV12", "channels": 5}, "no pixel format"),
        ({"form": 0, "channels": 65536}, "number of channels must be 0 to 65535")]
    TOO_LARGE = [
        ({"features": PATCH, "patch": (65535, 65535, 1, 65535)}, "Choose a larger stride"),
        ({"features": FRAME, "width": 65535, "height": 65535}, "feature mode"),
        ({"features": PATCH, "patch": (2, 3, 1, 16384), "form": 0, "channels": 65535,
          "type": TYPES.index("f64"), "width": 16384, "height": 7}, "elements of a tensor"),
    ]

    def test_formats(self):
        for name, (channels, n_planes, size) in FORMATS.items():
            frame = make_frame(5, 3, name, kr=0.299, kb=0.114)
            self.assertEqual(get_name("pixel_format_get_name", frame.format), name)
            self.assertEqual(call("pixel_format_get_channels", frame.format), channels)
            self.assertEqual(call("frame_get_channels", byref(frame)), channels)
            self.assertEqual(call("pixel_format_get_n_planes", frame.format), n_planes)
            self.assertEqual(get_shape(frame), (15, channels))
            self.assertEqual(get_planes(frame)[0], size)
        self.assertIsNone(get_name("pixel_format_get_name", len(FORMATS)))

    def test_shapes(self):
        for features, patch, m, k in self.SHAPES:
            frame = make_frame(features=features, patch=patch)
            self.assertEqual(get_shape(frame), (m, k))
            ask("frame_get_shape", byref(frame), None, None)
        get_shape(make_frame(form="NV12", kr=0.5, kb=0.25))

    def test_planes(self):
        for name, expected in self.PLANES.items():
            frame = make_frame(1279, 719, name, kr=0.2126, kb=0.0722)
            size, planes = get_planes(frame)
            self.assertEqual(planes, expected)
            self.assertEqual(call("frame_get_planes", byref(frame), None, result=c_size_t), size)
            self.assertEqual(size, sum(row_bytes * rows for _, row_bytes, rows in planes))

    def test_cut_planes(self):
        """Chroma of interlaced frames, and of frames that begin within a sample of chroma."""
        for (interlaced, left, top), (columns, rows) in self.CUT_PLANES.items():
            frame = make_frame(1279, 718, "I420", kr=0.5, kb=0.25, interlaced=interlaced, left=left,
                               top=top)
            first = 1279 * 718
            self.assertEqual(get_planes(frame)[1], [
                (0, 1279, 718), (first, columns, rows), (first + columns * rows, columns, rows)])

    def test_refused(self):
        for code, cases in ("invalid", self.REFUSED), ("too-large", self.TOO_LARGE):
            for case, words in cases:
                self.refuses(code, words, "frame_get_shape", byref(make_frame(**case)), None, None)

    def test_tensors(self):
        frame = make_frame(9, 7, 0, (2, 3, 2), channels=5, type=TYPES.index("f16"), features=PATCH)
        across, down = c_size_t(), c_size_t()
        self.assertEqual(call("frame_get_channels", byref(frame)), 5)
        self.assertEqual(get_shape(frame), (4 * 3, 3 * 2 * 5))
        call("frame_get_grid", byref(frame), byref(across), byref(down))
        self.assertEqual((across.value, down.value), (4, 3))
        size = 9 * 7 * 5 * 2
        self.assertEqual(get_planes(frame), (size, [(0, size, 1), (0, 0, 0), (0, 0, 0)]))


main()
