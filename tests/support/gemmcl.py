# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls the library GEMMCL_LIBRARY by ctypes, with NumPy's arrays. library.py has structures."""

import atexit
import contextlib
import ctypes
import functools
import os
import shutil
import sys
import tempfile
import unittest
from ctypes import POINTER, Structure, byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from threading import Event, Timer, get_ident

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP NumPy is not installed (python3-numpy)")
    sys.exit(0)

import library
import numpy_gemm
import tap_unittest
from library import IN_BUFFER, Data, Error, Frame, Gemm, Info, Run, fields

LIB = ctypes.CDLL(os.environ["GEMMCL_LIBRARY"], ctypes.RTLD_GLOBAL)  # so that hooks.c finds it
# The environment for processes that load the library, too. A preloaded sanitizer starts another
# program to print its report, which would hang if it were preloaded there.
ENVIRONMENT = dict(os.environ)
os.environ.pop("LD_PRELOAD", None)
IS_BRIEF = "GEMMCL_TEST_BRIEF" in os.environ
ERRORS = "no-device opencl build invalid shape format io kernel too-large".split()
# The types of elements in the order of GemmclType; NumPy has no bf16.
DTYPES = dict(f32="f4", f64="f8", f16="f2", bf16="V2", i8="i1", u8="u1", i16="i2", u16="u2",
              i32="i4", u32="u4", i64="i8", u64="u8")
TYPES = list(DTYPES)
PRECISIONS = "f32 f16 bf16 tf32 i8".split()
ACTIVATIONS = list(numpy_gemm.ACTIVATIONS)
OPERANDS = "b bias c".split()  # GemmclPlanOperand
ADDENDS = "none matrix row output previous".split()
POOLS = "none max average".split()


class Refused(library.Failure):
    """An error of the library: a GError of its domain, with the name of its code."""

    def __init__(self, error):
        super().__init__(error.message.decode())
        assert error.domain == LIB.gemmcl_error_quark(), error.message
        self.code = ERRORS[error.code]


def convert(argument):
    """An argument for a C function; integers may have any size."""
    if isinstance(argument, str):
        return argument.encode()
    if isinstance(argument, (bool, int)):
        return ctypes.c_size_t(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    return c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else argument


def call(name, *arguments, result=c_void_p):
    """Calls a function that does not fail."""
    function = getattr(LIB, "gemmcl_" + name)
    function.restype = result
    return function(*map(convert, arguments))


def get_name(function, value):
    """The text that a function returns for a value, or None."""
    text = call(function, value, result=ctypes.c_char_p)
    return text and text.decode()


def take(address):
    text = ctypes.string_at(address).decode()
    LIB.g_free(c_void_p(address))
    return text


def ask(name, *arguments):
    """Calls a function whose last argument is a GError; raises Refused."""
    error = ctypes.POINTER(Error)()
    result = call(name, *arguments, byref(error))
    if error:
        try:
            raise Refused(error.contents)
        finally:
            LIB.g_error_free(error)
    return result


class PtrArray(Structure):
    _fields_ = fields("pointer data, int len")

    def get_addresses(self):
        return list((c_void_p * self.len).from_address(self.data)) if self.len else []


ARRAYS = []  # arrays whose structures are in use until the process ends


def get_array(name, argument, kind=None):
    """The structures of this kind in the GPtrArray that a function returns; without a kind their
    addresses, and the array is freed. Raises Refused."""
    address = (call if "tuning" in name else ask)(name, argument)
    addresses = PtrArray.from_address(address).get_addresses()
    if kind:
        ARRAYS.append(c_void_p(address))
        return [kind.from_address(address) for address in addresses]
    LIB.g_ptr_array_unref(c_void_p(address))
    return addresses


class Candidate(Structure):
    _fields_ = fields("text kernel, double seconds, text why, int faulty lost")

    @property
    def name(self):
        return self.kernel.decode()


class Result(Structure):
    _fields_ = [("candidates", POINTER(PtrArray)), ("first", POINTER(Candidate)),
                ("best", POINTER(Candidate)), *fields("double gain device_seconds, int stored,"
                                                      " text why_not_stored")]

    def list(self):
        return list(map(Candidate.from_address, self.candidates[0].get_addresses()))


class Options(Structure):
    """GemmclTuningOptions, and a field of a later version."""
    _fields_ = fields("size size, int candidates, double seconds share, pointer names, int dry_run,"
                      " double try_seconds, int runs, pointer notify data later")


class Entry(Structure):
    _fields_ = fields("int source precision layout, size m n k, text kernel, double gflops")


class Kernel(Structure):
    _fields_ = fields("text name method summary, int precision, text needs,"
                      " size max_m max_n max_k")


KERNELS = [Kernel.from_address(call("get_kernel", i)) for i in range(call("get_n_kernels"))]
FIRST_OF_METHOD = {kernel.method: kernel for kernel in reversed(KERNELS)}


class MatrixFields(Structure):
    _fields_ = fields("int type, size rows cols, int column_major, pointer data scales zero_points")


class Matrix:
    def __init__(self, pointer):
        self._as_parameter_ = c_void_p(pointer)
        self.fields = MatrixFields.from_address(pointer)
        self.shape = self.fields.rows, self.fields.cols
        self.type, self.address = TYPES[self.fields.type], self.fields.data
        self.is_column_major = bool(self.fields.column_major)

    def __del__(self):
        call("matrix_unref", self)

    def read(self):
        dtype = np.dtype(DTYPES[self.type])
        data = ctypes.string_at(self.address, int(np.prod(self.shape)) * dtype.itemsize)
        return np.frombuffer(data, dtype).reshape(self.shape, order="CF"[self.is_column_major])

    def to_f32(self, transpose=False):
        return Matrix(ask("matrix_to_f32", self, transpose))


def make(values, kind="f32"):
    """A matrix with an array's values; an array of one dimension makes one row."""
    values = np.ascontiguousarray(np.atleast_2d(values), DTYPES[kind])
    return Matrix(ask("matrix_new", TYPES.index(kind), *values.shape, values))


def get_matrix(name, *arguments):
    """The matrix that a function returns; raises Refused."""
    return Matrix(ask(name, *arguments))


def struct(text):
    """A structure for the library to fill, with fields of these types and names."""
    return type("Struct", (ctypes.Structure,), {"_fields_": fields(text + ", reserved reserved")})()


def get_values(struct):
    """The fields of a structure whose last field is reserved, as a dictionary."""
    return {name: getattr(struct, name) for name, _ in struct._fields_[:-1]}


NAMES = {"a_type": TYPES, "d_type": TYPES, "precision": PRECISIONS, "activation": ACTIVATIONS,
         "addend": ADDENDS, "layout": ("row", "column"), "pool": POOLS}


def describe(m, n, k, **others):
    """A problem as of GEMMCL_GEMM_INIT with these fields changed; names stand for numbers."""
    values = {"m": m, "n": n, "k": k, "alpha": 1, "a_scale": 1}
    for name, value in others.items():
        if isinstance(value, str):
            value = NAMES[name].index(value)
        values[name] = pointer(value) if isinstance(value, Frame) else value
    return Gemm(**values)


def pointer(struct):
    """The address of a structure or array, which it keeps alive."""
    return ctypes.cast(ctypes.pointer(struct), c_void_p)


@functools.lru_cache(None)
def get_device():
    """The device of all tests, as library.Context; without one the test is skipped."""
    try:
        return library.Context(library.AUTO)
    except library.Missing as error:
        raise unittest.SkipTest(str(error)) from error


def get_context():
    return get_device().context


def find_misfit(kernel, gemm=None, context=None):
    """Why the kernel does not run on the device or does not take the problem; None if it does."""
    try:
        ask("kernel_fits", context or get_context(), kernel, gemm and byref(gemm))
    except Refused as error:
        if error.code != "kernel":
            raise
        return str(error)
    return None


def get_level(kernel, context=None):
    """How the kernel's subgroups run on the device: native, khr or emulated."""
    level = c_int()
    ask("kernel_get_level", context or get_context(), kernel, byref(level))
    return get_name("kernel_level_get_name", level.value)


def count_weights(context=None):
    stats = struct("int programs compiled weights, size weight_bytes")
    call("context_get_stats", context or get_context(), byref(stats))
    return stats.weights, stats.weight_bytes


def list_candidates(gemm, context=None):
    """The kernel that the rules choose, then the others that a search would try."""
    names = ctypes.cast(call("tuning_list_candidates", context or get_context(), byref(gemm)),
                        ctypes.POINTER(ctypes.c_char_p))
    found = []
    while names[len(found)] is not None:
        found.append(names[len(found)].decode())
    LIB.g_strfreev(names)
    return found


def list_searches():
    """The states of the threads that search for a faster kernel; S is asleep."""
    states = []
    for path in Path("/proc/self/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # The thread has ended.
            name, _, more = path.read_text("utf-8").partition(") ")
            if name.endswith("(gemmcl-tune"):
                states.append(more[0])
    return states


CPU = 1  # GemmclDeviceType
LATE = 0.05  # seconds after which a gate opens
LEAST_INLINE = 5  # the first PoCL whose inline device the library uses


class DeviceInfo(Info):
    """More fields of GemmclDeviceInfo."""
    _fields_ = fields("size max_work_group, offsets max_work_item_sizes, size global_bytes"
                      " max_alloc_bytes local_bytes max_image_width max_image_height,"
                      " int host_unified fp16 fp64")
    _fields_ += [("subgroup_sizes", c_uint * 16), ("n_subgroup_sizes", c_uint)]
    _fields_ += fields("int cores eus eu_threads ip_version, double peak_gflops,"
                       " text peak_source problem")


def get_info(context=None):
    return DeviceInfo.from_address(call("context_get_device_info", context or get_context()))


def allocate(shape, kind):
    """Zeros at an address at which a CPU's runs work in place."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, "u1")
    start = -memory.ctypes.data % 64
    return memory[start:start + size].view(kind).reshape(shape)


class Buffer:
    def __init__(self, array):
        self._as_parameter_ = get_device().buffer(array.nbytes, array.ctypes.data)

    def __del__(self):
        get_device().cl.clReleaseMemObject(self)

    def read(self, array):
        get_device().read(self, array.nbytes, array.ctypes.data)

    def describe(self, **others):
        """Its GemmclData. The caller keeps the buffer."""
        return Data(kind=IN_BUFFER, objects=(self._as_parameter_,), **others)


class Gate:
    """A user event; commands that wait for it do not start before it ends."""

    def __init__(self, context=None):
        """context: a cl_context; by default that of get_device()"""
        self.event = get_device().cl.clCreateUserEvent(
            c_void_p(context) if context else get_device().cl_context, None)
        self._as_parameter_, self.is_open = c_void_p(self.event), False

    def open(self, status=0):
        """Ends the event. With a negative status it ends like a failed command."""
        self.is_open = True
        library.good(get_device().cl.clSetUserEventStatus(self, status), "clSetUserEventStatus")
        get_device().cl.clReleaseEvent(self)

    def open_late(self):
        Timer(LATE, self.open).start()


def get_status(event):
    """CL_EVENT_COMMAND_EXECUTION_STATUS: 0 if the command is done, negative if it failed."""
    status = c_int()
    get_device().cl.clGetEventInfo(event, 0x11d3, c_size_t(4), byref(status), None)
    return status.value


class Plan:
    def __init__(self, gemm, kernel=None, context=None, **operands):
        self.gemm = gemm
        self._as_parameter_ = c_void_p(ask("plan_new", context or get_context(), byref(gemm),
                                           kernel))
        for name, values in operands.items():
            self.set(name, values)

    def __del__(self):
        if hasattr(self, "_as_parameter_"):
            LIB.g_object_unref(self)

    def set(self, name, values):
        ask("plan_set", self, OPERANDS.index(name),
            values if isinstance(values, Matrix) else make(values))

    @property
    def kernel(self):
        return get_name("plan_get_kernel", self)

    def make_run(self, **others):
        """A GemmclRun. Fields that are arrays, or lists of one for each problem, are memory of the
        host; others may be buffers or GemmclData, which the caller keeps."""
        values = {"size": ctypes.sizeof(Run), "alpha": 1}
        for name, value in others.items():
            if isinstance(value, (list, np.ndarray)):
                value = on_host(value if isinstance(value, list) else [value])
            elif isinstance(value, Buffer):
                value = value._as_parameter_ if name in "bc" else pointer(value.describe())
            elif isinstance(value, (Data, ctypes.Array)):
                value = pointer(value)
            values[name] = value
        return Run(**values)

    def run(self, **others):
        ask("plan_run", self, byref(self.make_run(**others)))

    def get_stats(self):
        stats = struct("size runs kernel_ns, double flops, size bytes_in bytes_out copies"
                       " inline_runs")
        call("plan_get_stats", self, byref(stats))
        return stats

    @property
    def source(self):
        return get_name("choice_source_get_name", self.get_info().source)

    @property
    def level(self):
        return get_name("kernel_level_get_name", self.get_info().level)

    def get_info(self):
        """The kernel that the driver built."""
        info = struct("int precision source level, offsets global_size local_size,"
                      " int subgroup_size, size max_work_group local_bytes private_bytes"
                      " spill_bytes")
        call("plan_get_info", self, byref(info))
        return info


def enter_cache(folder=None):
    """Makes a folder, by default a temporary one, the XDG_CACHE_HOME; the driver's stays."""
    if not folder:
        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    for environment in os.environ, ENVIRONMENT:
        environment.setdefault("POCL_CACHE_DIR", os.path.join(cache, "pocl"))
    os.environ["XDG_CACHE_HOME"] = folder


def on_host(arrays):
    data = (Data * max(len(arrays), 8))()
    for each, array in zip(data, arrays):
        each.host[0] = array.ctypes.data
        each.stride[0] = array.strides[0]
    return pointer(data)


# The functions of hooks.c: the types of their results and arguments.
HOOKS = {"clGetDeviceInfo": "ipizpp", "clGetPlatformInfo": "ipizpp", "clGetPlatformIDs": "iipp",
         "clGetDeviceIDs": "ipqipp", "clCreateContext": "ppipppp",
         "clGetSupportedImageFormats": "ipqiipp", "clCreateBuffer": "ppqzpp",
         "clCreateImage": "ppqpppp", "clCreateProgramWithSource": "ppippp",
         "clBuildProgram": "ipipppp", "clEnqueueNDRangeKernel": "ippipppipp",
         "clGetEventProfilingInfo": "ipizpp", "gemmcl_plan_submit": "ippppp"}
HOOKED = []  # Threads of the library may call them until the process ends.
OUT_OF_RESOURCES, BUILD_PROGRAM_FAILURE = -5, -11  # CL_...


def replace(name, function):
    """Replaces the named function in all later calls, also the library's. The first argument of the
    replacement is the function that it replaces. Returns a function that restores that one."""
    types = {"i": c_int, "p": c_void_p, "q": c_uint64, "z": c_size_t}
    kind = ctypes.CFUNCTYPE(*(types[code] for code in HOOKS[name]))
    of_name = kind((name, LIB if name.startswith("gemmcl") else ctypes.CDLL("libOpenCL.so.1")))
    place = c_void_p.in_dll(ctypes.CDLL(None), "hook_" + name)
    before = kind(place.value) if place.value else of_name
    HOOKED.append(kind(functools.partial(function, before)))
    end = functools.partial(setattr, place, "value", place.value)
    place.value = ctypes.cast(HOOKED[-1], c_void_p).value
    return end


@contextlib.contextmanager
def obstructed(name, fails=False):
    """Inside the block the named function fails in other threads, or does not return there. Yields
    a function that returns whether another thread called it."""
    begun, ended, this = Event(), Event(), get_ident()

    def obstruct(call_next, *arguments):
        if get_ident() == this:
            return call_next(*arguments)
        begun.set()
        if not fails:
            ended.wait()
            return call_next(*arguments)
        if name == "clBuildProgram":
            return BUILD_PROGRAM_FAILURE
        c_int.from_address(arguments[-1]).value = OUT_OF_RESOURCES
        return None
    end = replace(name, obstruct)
    try:
        yield begun.is_set
    finally:
        ended.set()
        end()


def answer(content, room, value, size):
    if size:
        c_size_t.from_address(size).value = len(content)
    if value and room >= len(content):
        ctypes.memmove(value, content, len(content))
    return 0


def pretend(answers):
    """Makes OpenCL answer queries, by their numbers, with bytes. Returns what ends this."""
    def get_info(get_next, subject, query, room, value, size):
        if query in answers:
            return answer(answers[query], room, value, size)
        return get_next(subject, query, room, value, size)
    ends = [replace(f"clGet{what}Info", get_info) for what in ("Device", "Platform")]
    return lambda: [end() for end in ends]


class TestCase(tap_unittest.FolderTestCase):
    def replace(self, name, function):
        """Like replace(), until the end of the test."""
        self.addCleanup(replace(name, function))

    def make_context(self):
        """A context of the test's own, until its end."""
        get_context()  # Without a device the test is skipped.
        context = c_void_p(ask("context_new", None))
        self.addCleanup(LIB.g_object_unref, context)
        return context

    def wrap_context(self):
        """Like make_context(), around the OpenCL context and for buffers of get_context()."""
        device = get_device()
        context = c_void_p(ask("context_get_wrapped", device.cl_context, device.device))
        self.addCleanup(LIB.g_object_unref, context)
        return context

    def needs_inline(self):
        """Skips the test without PoCL's inline device, which POCL_DEVICES lists."""
        info = get_info()
        version = info.driver.decode().split("+", maxsplit=1)[0]
        if info.platform != b"Portable Computing Language" or float(version) < LEAST_INLINE:
            self.skipTest(f"{info.platform.decode()} {version} has no inline device that works")

    @contextlib.contextmanager
    def refused(self, code, words):
        """Checks that the block ends with an error of that code, with these words in its message.
        Yields an object that has the exception afterwards."""
        with self.assertRaises(Refused) as caught:
            yield caught
        self.assertIn(words, str(caught.exception))
        self.assertEqual(caught.exception.code, code)

    def refuses(self, code, words, function, *arguments):
        """Like refused(), for a call of the function."""
        with self.subTest(function=function, arguments=arguments):
            with self.refused(code, words):
                ask(function, *arguments)

    def same(self, found, expected):
        """The arrays have the same shape and values, including NaN and the sign of 0."""
        expected = np.asarray(expected, found.dtype)
        self.assertEqual(found.shape, expected.shape)
        if found.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found[~np.isnan(found)]),
                                          np.signbit(expected[~np.isnan(found)]))
        np.testing.assert_array_equal(found, expected)
