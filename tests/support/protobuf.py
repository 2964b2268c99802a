# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes fields of protobuf's messages, without the package of that name."""

import struct


def varint(number):
    number %= 2**64
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def field(number, value):
    """A field: an integer, a float, or the bytes or text of what has a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content
