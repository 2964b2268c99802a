# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders: the forms that each supports, and its process.

Each contender is a separate process, so that OpenMP runtimes and thread pools do not interfere. It
sets up its problem, runs once, and then times as many runs as it is asked for."""

import dataclasses
import importlib
import multiprocessing
import os
import pathlib
import sys
import time
from unittest import mock

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "support"))
WHEELS = os.environ.get("GEMMCL_PEERS")
if WHEELS:
    sys.path.append(f"{WHEELS}/python")
# pylint: disable=wrong-import-position
from library import Failure, Missing
from problem import BYTES, FORMS, LAYER, PLAIN, QUANTIZED, ROWS, SEARCH, Problem
# pylint: enable=wrong-import-position


@dataclasses.dataclass(frozen=True)
class Kind:
    """A contender: the class that runs it, in a module beside this one, the forms that it supports,
    and what installs it.

    @is_optional: it takes part only where --contenders names it"""

    name: str
    code: str
    forms: tuple
    install: str = ""
    is_opencl: bool = False
    is_optional: bool = False

    @property
    def is_ours(self):
        return self.name.startswith(OURS)


LIBRARY = "lib/libgemmcl.so.0"  # in a build directory
OURS, EARLIER, CLBLAST, MEMCPY, READ, LINK = (
    "gemmcl", "earlier gemmcl", "CLBlast", "memcpy", "reading B", "link")
PYPI = "scripts/maintain/peers.sh (from PyPI)"
ONEDNN = "Debian's libdnnl2 or libdnnl3"
GSTREAMER = "Debian's python3-gst-1.0 and gstreamer1.0-plugins-base"
USUAL = (PLAIN, LAYER, BYTES)
SEARCHES = SEARCH, QUANTIZED
KINDS = (
    Kind(OURS, "ours.Gemmcl", FORMS, is_opencl=True),
    Kind("gemmcl streaming", "ours.Stream", USUAL, is_opencl=True),
    Kind("gemmcl by the device's clock", "ours.Clock", USUAL, is_opencl=True),
    Kind("gemmcl on host memory", "ours.OnHost", USUAL, is_opencl=True),
    Kind("gemmcl in steps", "ours.Apart", ROWS, is_opencl=True),
    Kind("gemmcl without D", "ours.Omitting", SEARCHES, is_opencl=True),
    Kind("gemmcl in f32", "ours.InF32", (QUANTIZED,), is_opencl=True),
    Kind("gemmcl element", "element.Element", USUAL, GSTREAMER, is_opencl=True),
    Kind("gemmcl element with its pool", "element.Pooled", USUAL, GSTREAMER, is_opencl=True,
         is_optional=True),
    Kind(EARLIER, "ours.Gemmcl", FORMS, is_opencl=True, is_optional=True),
    Kind("OpenBLAS", "host.OpenBlas", (PLAIN,), "Debian's libopenblas0 and python3-threadpoolctl"),
    Kind("oneDNN matmul", "onednn.Matmul", (PLAIN, LAYER), ONEDNN),
    Kind("oneDNN inner product", "onednn.InnerProduct", (PLAIN, LAYER), ONEDNN),
    Kind("MKL packed", "host.MklPacked", (PLAIN,), PYPI), Kind("MKL", "host.Mkl", (PLAIN,), PYPI),
    Kind(CLBLAST, "ours.ClBlast", (PLAIN,), "Debian's libclblast1", is_opencl=True),
    Kind("onnxruntime", "host.Onnxruntime", (LAYER,), f"{PYPI} and Debian's python3-onnx"),
    Kind(MEMCPY, "host.Memcpy", (BYTES,)),
    Kind("NumPy", "host.Numpy", SEARCHES, "Debian's python3-numpy"),
    Kind("faiss", "host.Faiss", (SEARCH,), PYPI),
    Kind("faiss in int8", "host.FaissBytes", (QUANTIZED,), PYPI),
    Kind(READ, "host.Reading", (QUANTIZED,)),
    Kind(LINK, "ours.Link", USUAL, is_opencl=True, is_optional=True),
)

# Settings that limit each contender to the instructions of a lesser CPU; onnxruntime has none.
LIMITS = {
    "avx2": {
        "OPENBLAS_CORETYPE": "Haswell", "DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        # For PoCL as distributions build it: the library of built-ins, which implies the CPU
        "POCL_KERNELLIB_NAME": "avx2",
        # For Intel's runtime
        "CL_CONFIG_CPU_TARGET_ARCH": "core-avx2",
    },
}
UNLIMITED = "onnxruntime"
# PoCL and Intel's runtime still report the vector width of the real CPU, by which kernels are
# chosen. pretend() of tests/support/gemmcl.py replaces their answers.
FLOATS = {"avx2": 8}
FLOAT_WIDTHS = (0x100A, 0x103A)  # CL_DEVICE_PREFERRED_..., CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT


def is_pretended(kind, isa):
    return isa and kind.is_opencl and kind.name not in (CLBLAST, LINK)


def make_environment(kind, settings):
    """The environment variables that a contender's process has in addition to this process's."""
    isa = settings.isa
    # Without --earlier it is the same library, which shows the noise.
    build = settings.earlier if kind.name == EARLIER and settings.earlier else settings.build
    build = pathlib.Path(build).resolve()
    result = {
        "GEMMCL_LIBRARY": str(build / LIBRARY), "GST_PLUGIN_PATH": str(build / "gst"),
        # MKL's threads spin for 200 ms after a run by default. Runs of a turn follow one another
        # within microseconds, so a shorter time does not make them slower.
        "KMP_BLOCKTIME": "10",
    }
    if WHEELS and not kind.is_opencl:
        paths = f"{WHEELS}/lib", os.environ.get("LD_LIBRARY_PATH")
        result["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
    if isa:
        result |= LIMITS[isa]
    if isa and kind.is_opencl:
        # Cached programs are found by the device's name, which Intel's runtime does not change.
        cache = os.environ.get("XDG_CACHE_HOME", "")
        cache = cache if os.path.isabs(cache) else os.path.expanduser("~/.cache")
        result["XDG_CACHE_HOME"] = f"{cache}/gemmcl-peers/{isa}"
    if is_pretended(kind, isa):
        result["LD_PRELOAD"] = str(build / "tests/support/libgemmcl-test-hooks.so")
    return result


def measure(contender, runs):
    """The seconds of each run. A contender with a clock of its own returns the seconds from run().
    A contender whose runs overlap has play() for all runs, which then count as equal shares."""
    if hasattr(contender, "play"):
        return [contender.play(runs) / runs] * runs
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        own = contender.run()
        seconds.append(own if isinstance(own, float) else time.perf_counter() - start)
    return seconds


def serve(pipe, kind, row, settings):
    """The process of a contender. It sends its description and the rows to check, or an exception;
    then the seconds of as many runs as it receives."""
    try:
        if is_pretended(kind, settings.isa):
            floats = FLOATS[settings.isa].to_bytes(4, sys.byteorder)
            importlib.import_module("gemmcl").pretend(dict.fromkeys(FLOAT_WIDTHS, floats))
        module, _, name = kind.code.partition(".")
        problem = Problem(*row)
        contender = getattr(importlib.import_module(module), name)(problem, settings)
        measure(contender, 1)
        if hasattr(contender, "read"):
            contender.read()
        pipe.send((contender.about, problem.sample()))
        while True:
            pipe.send(measure(contender, pipe.recv()))
    except (ImportError, Missing) as missing:
        pipe.send(Missing(str(missing)))
    except Failure as failure:
        pipe.send(Failure(str(failure)))


class Contender:
    """The process of a contender, which sleeps between its turns. Raises Failure or Missing."""

    def __init__(self, kind, row, settings):
        self.name = kind.name
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, kind, row, settings), daemon=True)
        with mock.patch.dict(os.environ, make_environment(kind, settings)):
            self.process.start()
        other.close()

    def receive(self):
        """Its answer, after its threads sleep: first its description and rows to check."""
        try:
            answer = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            raise Failure(f"{self.name} ended with status {self.process.exitcode}") from None
        if isinstance(answer, Exception):
            raise type(answer)(f"{self.name}: {answer}")
        self._settle()
        return answer

    def turn(self, runs):
        self.pipe.send(runs)
        return self.receive()

    def _settle(self, seconds=60.0):
        """Waits until its threads sleep. Most threads spin for a while after a run, which would
        disturb the next contender; without spinning the runs would be slower."""
        end = time.monotonic() + seconds
        while self._is_awake():
            if time.monotonic() > end:
                raise Failure(f"{self.name}: its threads still run {seconds} s after its turn")
            time.sleep(0.001)

    def _is_awake(self):
        for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            try:
                if path.read_text("ascii", "replace").rpartition(")")[2].split()[0] == "R":
                    return True
            except (FileNotFoundError, ProcessLookupError):
                continue
        return False

    def close(self):
        self.process.terminate()
        self.process.join()
