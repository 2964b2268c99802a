# SPDX-License-Identifier: LGPL-2.1-or-later
"""VA surfaces under the doubles: frames of vapostproc give the same results as frames in system
memory, without copies. Three environments have tests of their own: another driver's display
(GEMMCL_DOUBLES_VENDOR), tiled dma-bufs (_MODIFIER), and Intel's own OpenCL driver (_WITHOUT)."""

import ctypes
import os
import sys
from ctypes import byref, c_int, c_size_t, c_ssize_t, c_uint, c_uint64, c_void_p

from cl_memory import count_copies, reset_copies
from doubles import (COUNTS, HAS_DRM_FORMATS, TestCase, draw, fail, get_video_info, lay_out,
                     make_cropped, make_file, make_frame, make_memory, without)
from gemmcl import get_device, get_info
from medium import crop
from stream import ANALYTICS, GST, Gst, GstVideo, change_buffers, literal, np, share
from tap_unittest import main
import gi  # after stream, which skips the test if gi is missing

try:
    gi.require_version("GstVa", "1.0")
except ValueError as missing:
    print(f"1..0 # SKIP {missing} (gir1.2-gst-plugins-bad-1.0)")
    sys.exit(0)
from gi.repository import GstVa

MODIFIER = os.environ.get("GEMMCL_DOUBLES_MODIFIER")

N = 5
FRAME = "video/x-raw,format=NV12,width=66,height=50,framerate=30/1"
SMALL = "video/x-raw,format=NV12,width=64,height=48,framerate=30/1"
OF_SURFACES = SMALL.replace("raw", "raw(memory:VAMemory)")
SURFACE = "vapostproc ! video/x-raw(memory:VAMemory) !"
DMABUF = "vapostproc name=from ! video/x-raw(memory:DMABuf) !"
# Pixels become tensors, because rows of tensors have no padding.
PIXELS = "gemmcl name=g weight=[[.3,.1],[.6,.2],[.1,.9]]"
SECOND = "gemmcl weight=[[1,.5],[.5,1]]"
NOT_SHARED = "tiled dma-bufs) are not accepted.|has no cl_intel_va_api_media_sharing"

VA_DISPLAY = 0x4097  # a property of cl_contexts
GPU = 2  # GemmclDeviceType
READ_ONLY = 4  # CL_MEM_READ_ONLY
CREATE_IMAGE = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_uint64, c_void_p, c_uint, c_void_p)
# Image queries, and their answers for both planes: width, height, channels (CL_R, CL_RG), plane.
IMAGE_INFOS = [(0x1114, c_size_t, 64, 32), (0x1115, c_size_t, 48, 24),
               (0x1110, c_uint64, 0x10d2000010b0, 0x10d2000010b2), (0x4099, c_uint, 0, 1)]
COPY_METADATA = 7  # GstBufferCopyFlags
for function in ("gst_buffer_new", "gst_buffer_peek_memory", "gst_memory_share",
                 "gst_mini_object_ref"):
    getattr(GST, function).restype = c_void_p


def draw_literal(*shape):
    return literal(np.random.default_rng(1).integers(-8, 9, shape) / 8)


class Surfaces(TestCase):
    def setUp(self):
        super().setUp()
        if not Gst.ElementFactory.find("vapostproc"):
            self.skipTest("GStreamer's vapostproc is not there")

    def play_frames(self, text, caps=FRAME, number=N, *set_up):
        return self.play(text, caps, (make_frame(caps, i) for i in range(number)), *set_up)

    def agree(self, memory, shared, plain=PIXELS, caps=FRAME, number=N):
        """Both lines have the same outputs; only the kernel has read the surfaces."""
        expected = self.play_frames(plain, caps, number)
        reset_copies()
        found = self.play_frames(shared, caps, number)
        self.is_well(expected, number, expected.memory)
        self.is_well(found, number, memory, expected)
        self.is_right()

    def is_right(self):
        """Nothing is left, and the CPU has read no surface."""
        self.is_clean()
        self.assertEqual(COUNTS.surface_readbacks, 0)

    def refuses(self, text, words):
        """The surfaces are not accepted, with a warning; frames in system memory are."""
        refused = self.play_frames(f"{text} {PIXELS}")
        self.assertEqual(refused.outputs, [])
        self.has_words(refused.warning, words)
        self.agree("system", f"vapostproc ! video/x-raw ! {PIXELS}")

    def make_display(self):
        """Returns a VADisplay that no element and no bin knows, and a pool of its surfaces."""
        make = ctypes.CDLL(None).va_display_new
        make.restype = c_void_p
        handle, pool = make(), GstVa.VaPool()
        allocator = GstVa.VaAllocator.new(GstVa.VaDisplayWrapped.new(handle),
                                          [GstVideo.VideoFormat.NV12])
        config = pool.get_config()
        Gst.BufferPool.config_set_params(config, Gst.Caps.from_string(OF_SURFACES), 1, 1, 0)
        Gst.BufferPool.config_add_option(config, "GstBufferPoolOptionVideoMeta")
        Gst.BufferPool.config_set_allocator(config, allocator, None)
        GstVa.buffer_pool_config_set_va_allocation_params(config, 0, GstVa.VaFeature.AUTO)
        self.assertTrue(pool.set_config(config) and pool.set_active(True))
        self.addCleanup(pool.set_active, False)
        return handle, pool

    def make_surface(self, pool, seed):
        buffer = pool.acquire_buffer(None)[1]
        meta = GstVideo.buffer_get_video_meta(buffer)
        planes = draw(get_video_info(SMALL), seed)
        buffer.fill(0, lay_out(planes, buffer.get_size(), meta.offset, meta.stride))
        return buffer


class Untiled(Surfaces):
    def test_modes(self):
        """In each feature mode surfaces are read in place: only the weight is copied."""
        patch = ("gemmcl name=g feature-mode=patch patch-width=5 patch-height=4 "
                 f"weight={draw_literal(5 * 4 * 3, 3)}")
        frame = f"gemmcl name=g feature-mode=frame weight={draw_literal(16 * 16 * 3, 2)}"
        for pixels in "NV12", "P010_10LE":
            for width, height, colours, text in [
                    (66, 50, "bt601", PIXELS), (38, 22, "bt709", PIXELS), (66, 50, "bt601", patch),
                    (64, 48, "bt601,interlace-mode=interleaved", PIXELS),
                    (16, 16, "bt709", frame)]:
                with self.subTest(pixels=pixels, width=width, text=text[:40]):
                    caps = (f"video/x-raw,format={pixels},width={width},height={height},"
                            f"framerate=30/1,colorimetry={colours}")
                    self.agree("VA to system", f"{SURFACE} {text}", text, caps)
                    copies = count_copies()
                    self.assertEqual((copies.writes, copies.reads, copies.copies), (1, 0, 0))

    def test_odd_fields(self):
        """A surface lacks the last row of chroma of fields with an odd number of rows."""
        found = self.play_frames(f"{SURFACE} {PIXELS}", FRAME + ",interlace-mode=interleaved")
        self.assertEqual(found.outputs, [])
        self.has_words(found.error, "plane 1 has 33 x 25 texels; expected 33 x 26")

    def test_inflight(self):
        """Several surfaces are in flight, and the images of each are made once."""
        before = COUNTS.va_objects
        self.agree("VA to system", f"{SURFACE} {PIXELS} batch-size=2 queue-depth=3", number=40)
        self.assertLessEqual(COUNTS.va_objects - before, 40)
        self.assertEqual(COUNTS.dmabuf_objects, 0)

    def test_chain(self):
        """A second element shares the context of the first, and its input stays there."""
        self.agree("VA to OpenCL", f"{SURFACE} {PIXELS} ! {SECOND}", f"{PIXELS} ! {SECOND}")

    def test_tee(self):
        self.agree("VA to system", f"{SURFACE} tee name=t  t. ! queue ! "
                   f"gemmcl weight=[[1],[1],[1]] ! fakesink  t. ! queue ! {PIXELS}", number=40)

    def test_passed(self):
        """With output=meta surfaces pass through, and the next element reads them, too."""
        if not ANALYTICS:
            self.skipTest("built without gstreamer-analytics-1.0 (1.26)")
        self.agree("VA to system", f"{SURFACE} gemmcl weight=[[1],[1],[1]] output=meta "
                   f"feature-mode=pixel ! {PIXELS}", number=40)

    def test_no_product(self):
        """With alpha=0 no frame is read, so no surface is acquired."""
        before = COUNTS.acquires
        self.is_well(self.play_frames(f"{SURFACE} {PIXELS} alpha=0 bias=[1,2]"), N, "VA to system")
        self.assertEqual(COUNTS.acquires, before)
        self.is_right()

    def play_surfaces(self, pools, *set_up):
        surfaces = (self.make_surface(pools[i // 2], i) for i in range(4))
        return self.play(PIXELS, OF_SURFACES, surfaces, *set_up)

    def test_displays(self):
        """The display comes with the first buffer, and another display with the third buffer."""
        expected = self.play_frames(PIXELS, SMALL, 4)
        found = self.play_surfaces([self.make_display()[1] for _ in range(2)])
        self.is_well(found, 4, "VA to system", expected)

    def test_crop(self):
        part = SMALL.replace("64", "32").replace("48", "20")
        for more in "", ",interlace-mode=interleaved":
            for place in (8, 4, 32, 20), (9, 7, 32, 20):
                expected = self.play(PIXELS, part + more,
                                     [make_cropped(SMALL + more, i, place) for i in range(N)])
                pool = self.make_display()[1]
                surfaces = (crop(self.make_surface(pool, i), *place) for i in range(N))
                found = self.play(PIXELS, part.replace("raw", "raw(memory:VAMemory)") + more,
                                  surfaces)
                self.is_well(found, N, "VA to system", expected)

    def test_own_context(self):
        """The application's context is used as it is, with or without the display."""
        display, pool = self.make_display()
        expected = self.play_frames(PIXELS, SMALL, 4)
        context = self.make_context(VA_DISPLAY, display)
        found = self.play_surfaces([pool] * 2, lambda stream: share(stream.element, context))
        self.is_well(found, 4, "VA to system", expected)
        context = self.make_context()
        refused = self.play_surfaces([pool] * 2, lambda stream: share(stream.element, context))
        self.has_words(refused.error, "was made without a VADisplay")

    def test_dmabufs(self):
        """dma-bufs of vapostproc, also tiled, are read as surfaces; others are mapped."""
        self.agree("VA to system", f"{DMABUF} {PIXELS}")
        self.agree("system", f"{DMABUF} {PIXELS}", caps=FRAME.replace("66", "65"))
        with without("va"):
            self.agree("system", f"{DMABUF} {PIXELS}")

    def test_failures(self):
        """A call that fails ends in an error that names it, except a launch for a new plan."""
        create, move = "clCreateFromVA_APIMediaSurfaceINTEL", "clEnqueue{}VA_APIMediaSurfacesINTEL"
        for name, number, error, words in [
                (create, 2, 2, f"{create} for plane 1"), (create, 1, -6, "OpenCL error -6"),
                (move.format("Acquire"), 1, -6, "Acquiring shared memory objects"),
                (move.format("Acquire"), 3, -6, "Acquiring shared memory objects"),
                (move.format("Release"), 1, -6, "Releasing shared memory objects"),
                # A new plan launches its kernel once; a frame needs a gather for each plane.
                ("clEnqueueNDRangeKernel", 1, -5, None),
                ("clEnqueueNDRangeKernel", 3, -5, "clEnqueueNDRangeKernel for gather"),
                ("clEnqueueNDRangeKernel", 4, -5, "clEnqueueNDRangeKernel for ")]:
            with self.subTest(name=name, number=number):
                fail(name, number, error)
                found = self.play_frames(f"{SURFACE} {PIXELS}")
                if words:
                    self.has_words(found.error, words)
                else:
                    self.is_well(found, N, "VA to system")
                self.is_clean()

    def test_no_context(self):
        fail("clCreateContext", 1, -6)
        self.refuses(SURFACE, "VA surfaces cannot be shared")

    def test_extension(self):
        with without("va,dmabuf"):
            self.refuses(SURFACE, NOT_SHARED)


class Driver(Surfaces):
    """Intel's driver without a GPU, by the wrapper intel-driver.sh. It computes nothing, but
    checks and records each call. The doubles make the display look like one of its GPU."""

    def needs_doubles(self):
        self.info = get_info()
        if not self.info.intel or self.info.type != GPU:
            self.skipTest("This is not Intel's driver for GPUs: intel-driver.sh runs it.")

    def test_planes(self):
        """The driver makes images of a surface's planes, which no command uses."""
        display, pool = self.make_display()
        context, cl = self.make_context(VA_DISPLAY, display), get_device().cl
        platform, status = c_void_p(), c_int()
        cl.clGetPlatformIDs(1, byref(platform), None)
        create = CREATE_IMAGE(cl.clGetExtensionFunctionAddressForPlatform(
            platform, b"clCreateFromVA_APIMediaSurfaceINTEL"))
        buffer = pool.acquire_buffer(None)[1]
        surface = c_uint(ctypes.CDLL("libgstva-1.0.so.0").gst_va_buffer_get_surface(
            c_void_p(hash(buffer))))
        for plane in range(2):
            image = c_void_p(create(context, READ_ONLY, byref(surface), plane, byref(status)))
            self.assertEqual(status.value, 0)
            for query, kind, *expected in IMAGE_INFOS:
                found = kind()
                cl.clGetImageInfo(image, query, c_size_t(ctypes.sizeof(kind)), byref(found), None)
                self.assertEqual(found.value, expected[plane])
            cl.clReleaseMemObject(image)

    def test_pipelines(self):
        if self.info.driver.startswith(b"22."):
            self.skipTest("This version crashes when it records what it knows of surfaces.")
        for pixels, settings in [("NV12", "weight=[[.3],[.6],[.1]]"),
                                 ("P010_10LE", "weight=[[.3],[.6],[.1]]"),
                                 ("NV12", "feature-mode=patch patch-width=2 patch-height=1 "
                                  f"batch-size=2 weight={draw_literal(6, 2)}")]:
            found = self.play_frames(f"{SURFACE} gemmcl name=g auto-tune=off {settings}",
                                     FRAME.replace("NV12", pixels))
            self.is_well(found, N, "VA to system")
            self.assertEqual(COUNTS.surface_readbacks, 0)
            self.assertGreater(COUNTS.surface_exports, 0)


class Vendor(Surfaces):
    def test_vendor(self):
        self.refuses(SURFACE, "tiled dma-bufs) are not accepted.|with Intel's media driver only")


def share_from(memory, start=0):
    return GST.gst_memory_share(memory, c_ssize_t(start), c_ssize_t(-1))


def forge(memory):
    size = c_size_t()
    GST.gst_memory_get_sizes(memory, None, byref(size))
    made = make_memory(make_file(bytes(size.value)), 0, size.value)
    return GST.gst_mini_object_ref(c_void_p(hash(made)))


class Tiles(Surfaces):
    def play_replaced(self, make):
        """Plays frames of vapostproc; make replaces the memory of each, by addresses."""
        def change(buffer):
            buffer, other = c_void_p(buffer), c_void_p(GST.gst_buffer_new())
            GST.gst_buffer_copy_into(other, buffer, COPY_METADATA, c_size_t(0), c_ssize_t(-1))
            memory = c_void_p(GST.gst_buffer_peek_memory(buffer, 0))
            GST.gst_buffer_append_memory(other, c_void_p(make(memory)))
            GST.gst_mini_object_unref(buffer)
            return other.value
        return self.play_frames(
            f"{DMABUF} {PIXELS}", FRAME, N,
            lambda stream: change_buffers(stream["from"].get_static_pad("src"), change))

    def test_tiles(self):
        """In GStreamer 1.22 caps do not state that dma-bufs are tiled."""
        before = COUNTS.dmabuf_objects
        self.agree("VA to system", f"{DMABUF} {PIXELS} queue-depth=2")
        self.agree("VA to system", f"{DMABUF} {PIXELS}", caps=FRAME.replace("NV12", "P010_10LE"))
        self.assertEqual(COUNTS.dmabuf_objects, before)

    def test_named(self):
        if not HAS_DRM_FORMATS:
            self.skipTest("GStreamer before 1.24 has no DRM formats")
        self.agree("VA to system", "vapostproc ! video/x-raw(memory:DMABuf),format=DMA_DRM,"
                   f"drm-format=NV12:{MODIFIER} ! queue ! {PIXELS}")

    def test_parts(self):
        """A share of the whole surface is read as that surface. A part of a surface cannot be read,
        nor other memory whose caps say that it is tiled."""
        expected, whole = self.play_frames(PIXELS), self.play_replaced(share_from)
        self.is_well(whole, N, "VA to system", expected)
        refused = [(lambda memory: share_from(memory, 64),
                    "is not a whole VA surface|the first of GstVaDmabufAllocator")]
        if HAS_DRM_FORMATS:
            refused.append((forge, "drm-format=(string)NV12:0x|is not a whole VA surface|the first "
                            "of GstDmaBufAllocator|put vapostproc before gemmcl"))
        for make, words in refused:
            found = self.play_replaced(make)
            self.has_words(found.error, words)
            self.assertEqual(found.outputs, [])
        self.is_right()

    def test_unshared(self):
        """A device that shares no surfaces cannot read tiles. The element refuses them if caps
        state that they are tiled; otherwise GStreamer refuses to map them."""
        with without("va"):
            if HAS_DRM_FORMATS:
                self.refuses(DMABUF, NOT_SHARED)
            else:
                refused = self.play_frames(f"{DMABUF} {PIXELS}")
                self.assertTrue(refused.error)
                self.assertEqual(refused.outputs, [])
                shared = self.play_replaced(share_from)
                self.has_words(shared.error, "has no cl_intel_va_api_media_sharing")
                self.assertEqual(shared.outputs, [])
        self.is_right()


# The test class of the environment. For Intel's driver the doubles lack both extensions.
CLASSES = {"VENDOR": "Vendor", "MODIFIER": "Tiles"}
CLASS = ("Driver" if os.environ.get("GEMMCL_DOUBLES_WITHOUT") == "va,dmabuf" else
         next((name for variable, name in CLASSES.items()
               if f"GEMMCL_DOUBLES_{variable}" in os.environ), "Untiled"))
for name in "Untiled", "Driver", *CLASSES.values():
    if name != CLASS:
        del globals()[name]
main()
