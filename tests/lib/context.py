# SPDX-License-Identifier: LGPL-2.1-or-later
"""Devices by number, name and type; contexts; machines without a device that can be used."""

import os
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_ssize_t, c_void_p
from unittest import mock

from gemmcl import (ENVIRONMENT, OUT_OF_RESOURCES, DeviceInfo, Refused, TestCase, ask, call,
                    convert, describe, get_array, get_device, get_info, np)
from imagined import NOT_FOUND, Imagined
from library import Query
from tap_unittest import main

CPU, GPU, ACCELERATOR, DEFAULT = 1, 2, 3, 4
PLATFORM, USER_SYNC = 0x1084, 0x1085  # CL_CONTEXT_PLATFORM, CL_CONTEXT_INTEROP_USER_SYNC
PROPERTIES, PARTITION = 0x1082, 0x1087  # CL_CONTEXT_PROPERTIES, CL_DEVICE_PARTITION_BY_COUNTS
DEVICE_PLATFORM = 0x1031


def make_query(platform=None, kind=0, device=None):
    return byref(Query(convert(platform), kind, convert(device)))


def list_devices(*query):
    return get_array("list_devices", make_query(*query), DeviceInfo)


class Context:
    def __init__(self, function, *arguments):
        self._as_parameter_ = c_void_p(ask("context_" + function, *arguments))

    def __eq__(self, other):
        return self._as_parameter_.value == other._as_parameter_.value

    def __del__(self):
        if hasattr(self, "_as_parameter_"):
            get_device().lib.g_object_unref(self)

    def get(self, name):
        return c_void_p(call("context_get_" + name, self))


class Devices(TestCase):
    def setUp(self):
        super().setUp()
        get_device()
        self.devices = list_devices()
        self.first = self.devices[0]
        self.name, self.platform = self.first.name.decode(), self.first.platform.decode()

    def test_info(self):
        for info in self.devices:
            for field in "name", "platform", "version", "compute_units", "max_work_group":
                self.assertTrue(getattr(info, field), field)
            self.assertTrue(0 < info.max_alloc_bytes <= info.global_bytes)
            self.assertIn(info.type, (CPU, GPU, ACCELERATOR))
            words = info.extensions.decode().split()
            for word, expected in ("cl_khr", False), ("", False), (words[0], True):
                self.assertEqual(call("device_info_has_extension", byref(info), word,
                                      result=c_int), expected)

    def test_queries(self):
        platform = self.platform.lower()
        for query in [(), ("auto", 0, "AUTO"), ("", 0, ""), (None, 0, "0"),
                      (None, 0, self.name.upper()), (None, 0, self.name[len(self.name) // 2:]),
                      (platform,), (platform[1:], self.first.type, "0")]:
            self.assertEqual(list_devices(*query)[0].name.decode(), self.name)
        self.assertTrue(1 <= len(list_devices(None, DEFAULT)) <= len(self.devices))

    def test_refused(self):
        for query, words in [
                ((None, 0, "no such device"), "device no such device"),
                ((None, 0, "no such device"), self.name), ((None, 0, "4294967295"), self.name),
                ((None, 0, "-1"), "device -1"), ((None, 0, "99999999999999999999"), self.platform),
                ((None, 0, b"not UTF-8: \xf0"), "device not UTF-8: \\xf0"),
                (("99",), "platform 99"), (("no such platform",), self.platform),
                ((None, ACCELERATOR, "7"), "type accelerator, device 7"),
                ((None, 1 << 20), "type unknown, device any")]:
            for function in "list_devices", "context_new", "context_list_shared":
                self.refuses("no-device", words, function, make_query(*query))

    def test_types(self):
        """A query for a type finds exactly the devices of that type."""
        for kind in CPU, GPU, ACCELERATOR:
            try:
                found = [info.type for info in list_devices(None, kind)]
            except Refused:
                found = []
            self.assertEqual(found, [info.type for info in self.devices if info.type == kind])

    def test_none(self):
        code = ("from gemmcl import ask, Refused\n"
                "for name in 'list_devices', 'context_new':\n"
                "    try: ask(name, None)\n"
                "    except Refused as error: print(error.code, error)\n")
        said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                              env={**ENVIRONMENT, "OCL_ICD_VENDORS": "/nonexistent/"}, check=True)
        lines = said.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, "no-device No OpenCL device was found. Install.*pocl-opencl-icd")

    def test_shared(self):
        """Each device has one shared context: by its number and in the list of all."""
        contexts = [Context("get_shared", make_query(None, 0, str(i)))
                    for i in range(len(self.devices))]
        addresses = [context._as_parameter_.value for context in contexts]
        self.assertEqual(get_array("context_list_shared", None), addresses)
        self.assertEqual(len(set(addresses)), len(addresses))

    def test_fits(self):
        context = Context("new", None)

        def fits(*query):
            return call("context_fits", context, query and make_query(*query) or None, result=c_int)
        for query in (), (None,), (self.first.platform, self.first.type, self.first.name):
            self.assertTrue(fits(*query))
        other = GPU if self.first.type == CPU else CPU
        for query in (None, 0, "no such device"), (None, other, None):
            self.assertFalse(fits(*query))


class Unusable(Imagined, TestCase):
    def setUp(self):
        super().setUp()
        self.real = list_devices()[0].name.decode()

    def list_names(self, *query):
        return [info.name.decode() for info in list_devices(*query)]

    def test_empty(self):
        """A message names the platforms that have no devices, and what makes them have some."""
        with mock.patch.dict(os.environ, {"POCL_CACHE_DIR": "/some/folder"}):
            os.environ.pop("RUSTICL_ENABLE", None)
            self.imagine(("rusticl", NOT_FOUND), ("Portable Computing Language", NOT_FOUND),
                         ("Empty", []), ("Broken", OUT_OF_RESOURCES), is_alone=True)
            for words in ("No OpenCL device can be used. The platform rusticl has no devices.",
                          "RUSTICL_ENABLE names, such as radeonsi; it is not set.",
                          "Portable Computing Language has no devices.", "write: /some/folder, or",
                          "The platform Empty has no devices.", "clGetDeviceIDs of platform Broken"
                          " failed with CL_OUT_OF_RESOURCES"):
                for function in "list_devices", "context_new":
                    self.refuses("no-device", words, function, None)
            os.environ["RUSTICL_ENABLE"] = "radeonsy"
            self.refuses("no-device", "it is now radeonsy.", "list_devices", None)
            self.is_alone = False
            self.assertEqual(self.list_names()[0], self.real)
            kind = {CPU: "CPU", GPU: "GPU"}[get_info().type]
            for words in f"Available: {kind} {self.real}", "it is now radeonsy.":
                self.refuses("no-device", words, "list_devices", make_query(None, GPU, "none"))

    def test_old(self):
        """A device of OpenCL 1.1 is not listed. Messages say why."""
        words = 'Old of platform Clover has "OpenCL 1.1 Mesa 22.3"; expected OpenCL 1.2.'
        self.imagine(("Clover", [("Old", "OpenCL 1.1 Mesa 22.3"), ("New", "OpenCL 1.2 Mesa")]))
        self.assertEqual(self.list_names()[:2], ["New", self.real])
        self.refuses("no-device", words, "context_new", make_query(None, 0, "Old"))
        self.devices.popitem()
        self.platforms[0x800][1].pop()
        self.is_alone = True
        self.refuses("no-device", "No OpenCL device can be used. " + words, "list_devices", None)

    def test_numbers(self):
        """A number that is no index is a part of a name; an index is none."""
        self.imagine(("Drivers 90001", [("Arc A77077", "OpenCL 3.0"), ("Card 0", "OpenCL 3.0")]))
        for query, names in [
                ((None, 0, "77077"), ["Arc A77077"]), ((None, 0, "0"), ["Arc A77077"]),
                ((None, 0, "1"), ["Card 0"]), (("90001",), ["Arc A77077", "Card 0"]),
                (("90001", 0, "2"), None), (("90001", 0, "7"), ["Arc A77077"]),
                (("0", 0, "1"), ["Card 0"])]:
            if names:
                self.assertEqual(self.list_names(*query), names)
            else:
                self.refuses("no-device", "device 2", "list_devices", make_query(*query))

    def test_passed_over(self):
        """The first device on which a context can be made is taken, unless the query names one."""
        words = "clCreateContext on Lost failed with CL_OUT_OF_RESOURCES"
        self.imagine(("Many", [("Lost", "OpenCL 3.0"), ("Gone", "OpenCL 3.0")]))
        self.assertEqual(self.list_names()[:3], ["Lost", "Gone", self.real])
        for name, kind in ("Lost", 0), ("0", 0), ("Gone", GPU):
            for function in "new", "get_shared", "list_shared":
                self.refuses("opencl", "clCreateContext on ", "context_" + function,
                             make_query(None, kind, name))
        self.assertEqual([info.problem for info in list_devices()], [None] * len(list_devices()))
        for function in "new", "get_shared":
            context = Context(function, None)
            self.assertEqual(context.get("cl_device").value, self.real_device.value)
        self.assertEqual(get_array("context_list_shared", None)[0], context._as_parameter_.value)
        problems = [info.problem and info.problem.decode() for info in list_devices()]
        self.assertIn(words, problems[0])
        self.assertIn("clCreateContext on Gone", problems[1])
        self.assertIsNone(problems[2])
        self.refuses("opencl", words, "context_new", make_query("Many"))

    def test_back(self):
        """The problem of a device ends when a context can be made on it."""
        self.imagine()
        self.lost.add(self.real_device.value)
        self.refuses("opencl", "clCreateContext on ", "context_new", None)
        self.lost.clear()
        self.assertIn("clCreateContext on ", list_devices()[0].problem.decode())
        Context("new", None)
        self.assertIsNone(list_devices()[0].problem)

    def test_shortage(self):
        """Loader and drivers do not report a shortage of descriptors or memory."""
        code = ("import resource\n"
                "from gemmcl import ask, Refused\n"
                "pages = int(open('/proc/self/statm').read().split()[0])\n"
                "limit = {1}\n"
                "resource.setrlimit(resource.RLIMIT_{0}, (limit, limit))\n"
                "if resource.getrlimit(resource.RLIMIT_{0})[0] != limit: print('no effect')\n"
                "try: ask('list_devices', None)\n"
                "except Refused as error: print(error.code, error)\n")
        cases = [("NOFILE", "3", "open 16 more files (ulimit -n)"),
                 ("AS", "pages * resource.getpagesize() + 2**22", "map 256 MiB more (ulimit -v)")]
        if "asan" in ENVIRONMENT["LD_PRELOAD"]:  # which needs much memory itself
            del cases[1]
        for kind, limit, words in cases:
            said = subprocess.run([sys.executable, "-c", code.format(kind, limit)], text=True,
                                  stdout=subprocess.PIPE, env=ENVIRONMENT, check=True)
            if said.stdout.startswith("no effect"):
                self.skipTest(f"RLIMIT_{kind} has no effect, as under qemu-user")
            self.assertIn(f"no-device No OpenCL device can be used. The process could not {words}",
                          said.stdout)


class Wrapped(TestCase):
    def setUp(self):
        super().setUp()
        self.cl = get_device().cl
        self.own = Context("new", None)
        self.device = self.own.get("cl_device")

    def make_cl_context(self, properties=None):
        return c_void_p(self.cl.clCreateContext(properties, 1, byref(self.device), None, None,
                                                None))

    def test_outlives(self):
        """A wrapped context outlives its maker's reference and works."""
        wrapped = Context("get_wrapped", self.own.get("cl_context"), None)
        self.own = None
        d = np.zeros(1, "f4")
        ask("gemm_run", wrapped, byref(describe(1, 1, 1)), "gemm_naive", np.array([3], "f4"),
            np.array([5], "f4"), None, None, d)
        self.assertEqual(d[0], 15)

    def test_shared(self):
        """Contexts are shared only if they are around the same OpenCL context."""
        cl, shared = self.make_cl_context(), Context("get_shared", None)
        first, second = (Context("get_wrapped", cl, device) for device in (None, self.device))
        third = Context("get_wrapped", shared.get("cl_context"), None)
        self.assertEqual(first.get("cl_context").value, cl.value)
        self.assertEqual(first.get("cl_device").value, self.device.value)
        self.assertTrue(call("context_is_wrapped", first, result=c_int))
        self.assertEqual(first, second)
        for other in third, Context("get_shared", None):
            self.assertEqual(other, shared)
        self.cl.clReleaseContext(cl)

    def test_wrong_device(self):
        """A sub-device does not belong to a context of the whole device."""
        part = c_void_p()
        halves = (c_ssize_t * 4)(PARTITION, 1, 0, 0)
        if self.cl.clCreateSubDevices(self.device, halves, 1, byref(part), None):
            self.skipTest("the device cannot be partitioned")
        self.refuses("invalid", "not one of the OpenCL context's", "context_get_wrapped",
                     self.own.get("cl_context"), part)
        self.cl.clReleaseDevice(part)

    def test_properties(self):
        """Callers that ask for the same properties share a context; others get any."""
        wanted = (c_ssize_t * 3)(USER_SYNC, 1, 0)
        plain = Context("get_shared", None)
        platform, found = c_ssize_t(), (c_ssize_t * 5)()
        self.cl.clGetDeviceInfo(self.device, DEVICE_PLATFORM, c_size_t(8), byref(platform), None)
        asked = (c_ssize_t * 5)(PLATFORM, platform.value, USER_SYNC, 1, 0)
        cl = self.make_cl_context(asked)
        if cl:
            self.cl.clGetContextInfo(cl, PROPERTIES, c_size_t(40), found, None)
            self.cl.clReleaseContext(cl)
        if list(found) != list(asked):
            self.skipTest("the driver has no CL_CONTEXT_INTEROP_USER_SYNC, or does not report it")
        first, second = (Context("get_shared_with", None, wanted) for _ in range(2))
        self.assertEqual(first, second)
        self.assertNotEqual(first, plain)
        self.assertFalse(call("context_is_wrapped", first, result=c_int))
        del plain
        self.assertEqual(Context("get_shared", None), first)


main()
