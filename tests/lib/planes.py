# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs on frames in images, acquired or not, give the results of host memory, to the last bit."""

import ctypes
from ctypes import CFUNCTYPE, Structure, byref, c_int, c_uint, c_uint64, c_void_p

from gemmcl import Buffer, Plan, TestCase, describe, get_device, np
from library import IN_BUFFER, IN_IMAGES, Data, fields, good
from pixels import PATCH, PIXEL, get_planes, get_shape, make_frame
from tap_unittest import main

WIDTH, HEIGHT, N_IMAGES, MAX_BYTES = 13, 10, 2, 13 * 10 * 4
READ_ONLY_COPY = 1 << 2 | 1 << 5  # CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR
RGBA, IMAGE2D, UNORM = 0x10b5, 0x10f1, {1: 0x10d2, 2: 0x10d3}
OUT_OF_RESOURCES = -5
HANDOVER = CFUNCTYPE(c_int, c_void_p, c_uint, c_void_p, c_uint, c_void_p, c_void_p)


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
    cl = get_device().cl
    cl.clCreateImage.restype = c_void_p
    image = cl.clCreateImage(get_device().cl_context, c_uint64(READ_ONLY_COPY),
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
            self.check_refused("invalid", " x 6.", self.images)

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
