# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tensors in the metadata of buffers (GstTensorMeta), and caps that announce them."""

import ctypes
import mmap
import sys
import unittest
from ctypes import byref, c_size_t, c_void_p

from library import fields
from stream import ANALYTICS, GST, OK, GLib, Gst, TestCase, element, get_bytes, np, video

if not ANALYTICS:
    print("1..0 # SKIP built without gstreamer-analytics-1.0 (1.26)")
    sys.exit(0)
LIB = ctypes.CDLL("libgstanalytics-1.0.so.0")
LIBC = ctypes.CDLL(None)
GST.gst_buffer_new_wrapped_full.restype = c_void_p
GUARDED = []  # keeps the pages alive
RGB = video("RGB", 4, 4)
WEIGHT = np.array([[1, 2], [3, 4], [-5, 6]])
COLOURS = "gemmcl feature-mode=pixel weight=[[1,0,0],[0,1,0],[0,0,1]]"
since_1_28 = unittest.skipIf(Gst.version() < (1, 28), "caps announce tensors since GStreamer 1.28")
TYPES = ("int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 float16 float32 float64 "
         "bfloat16").split()


def call(name, *arguments):
    function = getattr(LIB, name)
    function.restype = c_void_p
    return function(*(c_void_p(hash(each)) if isinstance(each, Gst.Buffer) else
                      c_size_t(each) if isinstance(each, int) else each for each in arguments))


class Tensor(ctypes.Structure):
    """GstTensor; its dimensions follow the struct."""
    _fields_ = fields("int id layout type, pointer data, int is_column_major, size rank")

    @property
    def dims(self):
        return (c_size_t * self.rank).from_address(ctypes.addressof(self) + ctypes.sizeof(self))

    def read(self):
        data = ctypes.create_string_buffer(call("gst_buffer_get_size", self.data))
        call("gst_buffer_extract", self.data, 0, data, len(data))
        return (GLib.quark_to_string(self.id),
                np.frombuffer(data, TYPES[self.type]).reshape(self.dims))


class TensorMeta(ctypes.Structure):
    _fields_ = fields("size flags info n, pointer tensors")


class Mtd(ctypes.Structure):
    _fields_ = fields("int id, pointer meta")


def wrap(data):
    buffer = Gst.Buffer.new_allocate(None, len(data), None)
    buffer.fill(0, data)
    return buffer


def attach(buffer, ident, values, **others):
    """Adds an array as a tensor in a meta of its own; others: fields other than the array's."""
    dims, data = others.pop("dims", values.shape), others.pop("data", wrap(values.tobytes()))
    tensor = Tensor.from_address(call("gst_tensor_alloc", len(dims)))
    tensor.id = GLib.quark_from_string(ident) if ident else 0
    tensor.type, tensor.rank = TYPES.index(values.dtype.name), len(dims)
    tensor.dims[:] = dims
    tensor.data = None if data is None else call("gst_mini_object_ref", data)
    for name, value in others.items():
        setattr(tensor, name, value)
    pointer = c_void_p.from_address(call("g_malloc", 8))
    pointer.value = ctypes.addressof(tensor)
    meta = call("gst_buffer_add_meta", buffer, c_void_p(call("gst_tensor_meta_get_info")), None)
    call("gst_tensor_meta_set", c_void_p(meta), 1, byref(pointer))


def carry(values, ident="a", **others):
    buffer = wrap(bytes(range(48)))
    attach(buffer, ident, values, **others)
    return buffer


def carry_guarded(values, **others):
    """Returns a frame with a tensor, behind whose bytes no memory can be read."""
    data, page = values.tobytes(), mmap.PAGESIZE
    pages = mmap.mmap(-1, 2 * page)
    GUARDED.append(pages)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert len(data) <= page and LIBC.mprotect(c_void_p(begin + page), c_size_t(page), 0) == 0
    ctypes.memmove(begin + page - len(data), data, len(data))
    guarded = GST.gst_buffer_new_wrapped_full(
        2, c_void_p(begin + page - len(data)), *map(c_size_t, (len(data), 0, len(data))), None,
        None)  # 2: GST_MEMORY_FLAG_READONLY
    buffer = carry(values, data=c_void_p(guarded), **others)
    call("gst_mini_object_unref", c_void_p(guarded))
    return buffer


def find_tensors(buffer):
    state, metas = c_void_p(), []
    while address := call("gst_buffer_iterate_meta_filtered", buffer, byref(state),
                          call("gst_tensor_meta_api_get_type")):
        meta = TensorMeta.from_address(address)
        tensors = (c_void_p * meta.n).from_address(meta.tensors)
        metas.append([Tensor.from_address(tensor) for tensor in tensors])
    return metas


def get_tensors(buffer):
    """Returns the id and the array of each tensor, in a list for each meta."""
    return [[tensor.read() for tensor in tensors] for tensors in find_tensors(buffer)]


def find_analytics(buffer, kind):
    meta, found = call("gst_buffer_get_analytics_relation_meta", buffer), Mtd()
    assert meta and call("gst_analytics_relation_meta_iterate", c_void_p(meta), byref(c_void_p()),
                         call(f"gst_analytics_{kind}_mtd_get_mtd_type"), byref(found))
    return byref(found)


def get_classes(buffer):
    """The labels and confidences of the classification of a buffer; None without one."""
    try:
        mtd = find_analytics(buffer, "cls")
    except AssertionError:
        return None
    get_level = LIB.gst_analytics_cls_mtd_get_level
    get_level.restype = ctypes.c_float
    return [(GLib.quark_to_string(call("gst_analytics_cls_mtd_get_quark", mtd, i)),
             get_level(mtd, c_size_t(i)))
            for i in range(call("gst_analytics_cls_mtd_get_length", mtd))]


def draw(*shape, seed=0, kind="float32"):
    """Returns numbers that depend only on the shape and the seed."""
    return ((np.arange(np.prod(shape)) * 7 + seed * 3) % 13).reshape(shape).astype(kind)


def describe(ident, dims, kind="float32"):
    return (f"(GstCaps)[tensor/strided,tensor-id={ident},dims=<{dims}>,"
            f"dims-order=(string)row-major,type=(string){kind}]")


def announce(*tensors, group="g", frame=RGB):
    """Returns caps that announce tensors, as since GStreamer 1.28."""
    return (f"{frame},tensors=(structure)[tensorgroups,"
            f"{group}=(/uniquelist){{{','.join(tensors)}}}]")


class MetaTestCase(TestCase):
    def start_weight(self, settings, caps=RGB, weight=WEIGHT):
        return self.start(caps, element(weight, settings))

    def multiplies(self, stream, a, weight=WEIGHT, buffer=None, is_meta=False):
        self.is_product(self.run_buffer(stream, buffer or carry(a)), a, weight, is_meta)

    def is_product(self, output, a, weight, is_meta):
        """The output is A times B: its bytes, or with is_meta its last tensor."""
        rows = a if a.shape[-1] == len(weight) else a.reshape(-1, len(weight))
        expected = rows.astype(float) @ weight
        found = get_tensors(output)[-1][-1][1] if is_meta else np.frombuffer(
            get_bytes(output), "f4").reshape(expected.shape)
        np.testing.assert_array_equal(found, expected)

    def refuses(self, stream, buffer, words):
        self.assertLess(stream.push(buffer), OK)
        self.says(stream, words)
