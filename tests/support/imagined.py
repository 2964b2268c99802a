# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pretends that there are other platforms and devices, by hooks.c."""

from ctypes import c_int, c_uint, c_uint64, c_void_p

from gemmcl import OUT_OF_RESOURCES, answer, call, get_context

NOT_FOUND = -1  # CL_DEVICE_NOT_FOUND
TYPE, NAME, VERSION, PLATFORM = 0x1000, 0x102b, 0x102f, 0x1031  # CL_DEVICE_...
GPU = 4  # CL_DEVICE_TYPE_GPU


class Imagined:
    """A base of tests with platforms and devices that are not here."""

    def imagine(self, *platforms, is_alone=False):
        """Puts platforms before the real ones, or in their place, until the end of the test. A
        platform is its name with a list of devices, or with the status of clGetDeviceIDs(). A
        device is a name and a version, otherwise the first real one, as a GPU without contexts."""
        self.real_device = c_void_p(call("context_get_cl_device", get_context()))
        self.platforms, self.devices = {}, {}
        for name, content in platforms:
            handles = content
            if isinstance(content, list):
                handles = [0x1000 + 16 * (len(self.devices) + i) for i in range(len(content))]
                self.devices.update(zip(handles, content))
            self.platforms[0x800 + 16 * len(self.platforms)] = name, handles
        self.is_alone, self.lost = is_alone, set(self.devices)
        for function in (self.get_platforms, self.get_platform, self.get_devices, self.get_info,
                         self.create):
            self.replace(function.__doc__, function)

    def get_platforms(self, get_next, room, platforms, n):
        """clGetPlatformIDs"""
        c_uint.from_address(n).value = 0
        status = 0 if self.is_alone else get_next(room, platforms, n)
        real = (c_void_p * c_uint.from_address(n).value).from_address(platforms)
        handles = [*self.platforms, *real]
        (c_void_p * len(handles)).from_address(platforms)[:] = handles
        c_uint.from_address(n).value = len(handles)
        return status if real else 0

    def get_platform(self, get_next, platform, query, room, value, size):
        """clGetPlatformInfo"""
        if platform in self.platforms:
            return answer(self.platforms[platform][0].encode() + b"\0", room, value, size)
        return get_next(platform, query, room, value, size)

    def get_devices(self, get_next, platform, kind, room, devices, n):
        """clGetDeviceIDs"""
        if platform not in self.platforms:
            return get_next(platform, kind, room, devices, n)
        handles = self.platforms[platform][1]
        if isinstance(handles, int):
            return handles
        handles = handles[:room]
        (c_void_p * len(handles)).from_address(devices)[:] = handles
        if n:
            c_uint.from_address(n).value = len(handles)
        return 0

    def get_info(self, get_next, device, query, room, value, size):
        """clGetDeviceInfo"""
        if device not in self.devices:
            return get_next(device, query, room, value, size)
        name, version = self.devices[device]
        platform = next(handle for handle, (_, devices) in self.platforms.items()
                        if not isinstance(devices, int) and device in devices)
        answers = {NAME: name.encode() + b"\0", VERSION: version.encode() + b"\0",
                   TYPE: bytes(c_uint64(GPU)), PLATFORM: bytes(c_uint64(platform))}
        if query in answers:
            return answer(answers[query], room, value, size)
        return get_next(self.real_device.value, query, room, value, size)

    def create(self, get_next, properties, n, devices, notify, data, status):
        """clCreateContext"""
        if c_void_p.from_address(devices).value not in self.lost:
            return get_next(properties, n, devices, notify, data, status)
        c_int.from_address(status).value = OUT_OF_RESOURCES
        return None
