# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames and tensors for tests: formats, and their shapes and planes as the library has them."""

from ctypes import Structure, byref, c_size_t

from gemmcl import ask, call
from library import Frame, fields

FORMATS = {  # channels, planes and bytes of 5 x 3 pixels
    "GRAY8": (1, 1, 15), "GRAY16_LE": (1, 1, 30), "RGB": (3, 1, 45), "BGR": (3, 1, 45),
    "RGBA": (4, 1, 60), "BGRA": (4, 1, 60), "RGBx": (3, 1, 60), "BGRx": (3, 1, 60),
    "xRGB": (3, 1, 60), "xBGR": (3, 1, 60), "NV12": (3, 2, 15 + 12), "I420": (3, 3, 15 + 6 + 6),
    "P010_10LE": (3, 2, 2 * (15 + 12)),
}
NUMBERS = {name: number for number, name in enumerate(FORMATS)}
PIXEL, ROW, FRAME, PATCH = range(4)
HUGE = 2**64 - 1


class Plane(Structure):
    _fields_ = fields("size offset row_bytes rows, reserved reserved")


def make_frame(width=640, height=480, form="RGB", patch=(0, 0, 0, 0, 0), **others):
    """patch: width, height, stride, padding and dilation"""
    names = ("width", "height", "stride", "padding", "dilation")
    return Frame(format=NUMBERS.get(form, form), width=width, height=height,
                 **{f"patch_{name}": value for name, value in zip(names, patch)}, **others)


def get_shape(frame):
    m, k = c_size_t(), c_size_t()
    ask("frame_get_shape", byref(frame), byref(m), byref(k))
    return m.value, k.value


def get_planes(frame):
    """The bytes of all planes; offset, bytes per row and rows of each plane."""
    planes = (Plane * 3)()
    size = call("frame_get_planes", byref(frame), planes, result=c_size_t)
    return size, [(plane.offset, plane.row_bytes, plane.rows) for plane in planes]
