# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames and tensors as matrices: formats, shapes, planes, and the messages of refused ones. Runs
on frames in images, acquired or not, give the results of host memory, to the last bit."""

import ctypes
from ctypes import CFUNCTYPE, Structure, byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

from gemmcl import (OUT_OF_RESOURCES, TYPES, Buffer, Plan, TestCase, ask, call, describe,
                    get_device, get_name, np)
from library import IN_BUFFER, IN_IMAGES, Data, fields, good
from pixels import FORMATS, FRAME, HUGE, PATCH, PIXEL, ROW, get_planes, get_shape, make_frame
from tap_unittest import main

WIDTH, HEIGHT, N_IMAGES, MAX_BYTES = 13, 10, 2, 13 * 10 * 4
READ_ONLY_COPY = 1 << 2 | 1 << 5  # CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR
RGBA, IMAGE2D, UNORM = 0x10b5, 0x10f1, {1: 0x10d2, 2: 0x10d3}
HANDOVER = CFUNCTYPE(c_int, c_void_p, c_uint, c_void_p, c_uint, c_void_p, c_void_p)


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


class Format(Structure):
    _fields_ = fields("int order type")


class Description(Structure):
    _fields_ = fields("int type, size width height depth array row_pitch slice_pitch, int levels"
                      " samples, pointer buffer")


def make_plane(plane, samples):
    """An image of four channels, which every device has; only the first ones are used."""
    rows, columns = len(plane), plane.shape[1] // samples
    texels = np.zeros((rows, columns + 1, 4), plane.dtype)
    texels[:, :columns, :samples] = plane.reshape(rows, columns, samples)
    status = c_int()
    image = get_device().cl.clCreateImage(
        get_device().cl_context, c_uint64(READ_ONLY_COPY),
        byref(Format(RGBA, UNORM[plane.itemsize])),
        byref(Description(type=IMAGE2D, width=columns + 1, height=rows)),
        c_void_p(texels.ctypes.data), byref(status))
    good(status.value, "clCreateImage")
    return image


class Planes(TestCase):
    def make(self, form, features):
        frame = make_frame(WIDTH, HEIGHT, form, (4, 3) if features == PATCH else (),
                           features=features, kr=0.2126, kb=0.0722)
        self.m, k = get_shape(frame)
        rng = np.random.default_rng(1)
        self.frame, self.b = frame, rng.uniform(-1, 1, (k, 2))
        self.make_plan()
        self.bytes = rng.integers(0, 256, (N_IMAGES, MAX_BYTES), "u1")
        self.host, self.images = (Data * N_IMAGES)(), (Data * N_IMAGES)()
        planes = [plane for plane in get_planes(frame)[1] if any(plane)]
        self.n_planes = len(planes)
        for data, on_host, in_images in zip(self.bytes, self.host, self.images):
            in_images.kind, in_images.acquired = IN_IMAGES, True
            for i, (offset, row_bytes, rows) in enumerate(planes):
                plane = data[offset:offset + rows * row_bytes].reshape(rows, row_bytes)
                plane = plane.view("u2") if form in ("GRAY16_LE", "P010_10LE") else plane
                on_host.host[i], on_host.stride[i] = plane.ctypes.data, row_bytes
                in_images.objects[i] = make_plane(plane, 2 if i and form != "I420" else 1)
                self.addCleanup(get_device().cl.clReleaseMemObject, c_void_p(in_images.objects[i]))

    def make_plan(self):
        self.plan = Plan(describe(self.m, 2, len(self.b), batch=N_IMAGES, a_frame=self.frame),
                         b=self.b)

    def run_plan(self, a, shared, batch=N_IMAGES, status=0, progressive=False):
        """D. With shared, the objects that were acquired and released are then in self.seen."""
        self.seen = {}
        marker = get_device().cl.clEnqueueMarkerWithWaitList
        marker.argtypes = [c_void_p, c_uint, c_void_p, c_void_p]

        def hand_over(name, status):
            def function(queue, n, objects, n_wait, wait, done):
                if not status:
                    handed = list((c_void_p * n).from_address(objects))
                    self.seen.setdefault(name, []).append(handed)
                return status or marker(queue, n_wait, wait, done)
            return HANDOVER(function)
        functions = hand_over("acquired", status), hand_over("released", 0)
        acquire, release = (ctypes.cast(each, c_void_p) if shared else None for each in functions)
        d = np.zeros((N_IMAGES, self.m, 2), "f4")
        self.plan.run(a=a, d=list(d), batch=0 if batch == N_IMAGES else batch,
                      acquire=acquire, release=release, progressive=progressive)
        return d[:batch]

    def check_seen(self, count):
        """Checks that this many objects were acquired in one call, and the same were released."""
        self.assertEqual(self.seen.get("acquired"), self.seen.get("released"))
        self.assertEqual([len(objects) for objects in self.seen.get("acquired", [])],
                         [count] if count else [])

    def test_formats(self):
        for form in "GRAY8", "GRAY16_LE", "NV12", "I420", "P010_10LE":
            for features in PIXEL, PATCH:
                with self.subTest(form=form, features=features):
                    self.make(form, features)
                    mixed = (Data * N_IMAGES)(self.images[0], self.host[1])
                    expected = self.run_plan(self.host, False)
                    for a, shared, n_images in ((self.images, False, 0),
                                                (self.images, True, N_IMAGES), (mixed, True, 1)):
                        self.same(self.run_plan(a, shared), expected)
                        self.check_seen(n_images * self.n_planes)

    def test_progressive(self):
        """Progressive frames need no more rows of chroma if the plan's frame is interlaced."""
        for form in "NV12", "I420":
            self.make(form, PIXEL)
            expected = self.run_plan(self.host, False)
            self.frame.interlaced = True
            self.make_plan()
            for a in self.host, self.images:
                self.same(self.run_plan(a, False, progressive=True), expected)
            self.check_refused("invalid", " x 6 from", self.images)

    def test_buffer(self):
        """Buffers are acquired and released, whether kernels work in them or they are copied."""
        self.make("GRAY8", PIXEL)
        buffer = Buffer(self.bytes)
        data = (Data * N_IMAGES)(*(
            buffer.describe(acquired=True, offset=(i * MAX_BYTES,), stride=(WIDTH,))
            for i in range(N_IMAGES)))
        expected = self.run_plan(self.host, False)
        for batch in 1, N_IMAGES:
            self.same(self.run_plan(data, True, batch), expected[:batch])
            self.check_seen(1)

    def check_refused(self, code, words, a, **others):
        with self.refused(code, words):
            self.run_plan(a, **{"shared": True, **others})

    def test_failures(self):
        self.make("NV12", PATCH)
        images, planes = self.images, list(self.images[0].objects)
        self.check_refused("opencl", "Acquiring shared", images, status=OUT_OF_RESOURCES)
        self.check_seen(0)
        images[0].objects[0] = planes[1]
        self.check_refused("invalid", "8 x 5 texels; expected 13 x 10", images)
        self.check_seen(0)
        wide = np.zeros((HEIGHT, WIDTH), "u2")
        images[0].objects[0] = make_plane(wide, 1)
        self.check_refused("invalid", "expected CL_R (", images)
        get_device().cl.clReleaseMemObject(c_void_p(images[0].objects[0]))
        images[0].objects[0] = planes[0]
        images[0].x = 2**64 - 2
        self.check_refused("invalid", f"expected 13 x 10 from texel {2**64 - 2} ", images)
        images[0].x = 0
        # Between the acquire and the release: a copy from where nothing is.
        buffer = Buffer(np.zeros(8, "u1"))
        images[1].kind, images[1].objects[0] = IN_BUFFER, buffer._as_parameter_
        images[1].stride[:2] = [WIDTH + 1] * 2
        self.check_refused("opencl", "Copying A", images)
        self.check_seen(3)

    def test_wrong_format(self):
        for frame, words in (
                (make_frame(WIDTH, HEIGHT, "GRAY8", channels=1, type=5), "is a tensor"),
                (make_frame(WIDTH, 1, "GRAY8", channels=1, type=5), "is a tensor"),
                (make_frame(WIDTH, HEIGHT, "RGB"), "is RGB")):
            m, k = get_shape(frame)
            self.make("GRAY8", PIXEL)
            self.plan = Plan(describe(m, 2, k, a_frame=frame))
            self.check_refused("invalid", words, self.images, shared=False)


main()
