# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders: the forms that each supports, and its process.

Each contender is a separate process, so that OpenMP runtimes and thread pools do not interfere. See
process.py for the protocol.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from library import MISSING  # noqa: E402  pylint: disable=wrong-import-position

# The forms of a row: the product alone; with bias and ReLU; with u8 input and output; M queries for
# the nearest of N vectors of norm 1, by their cosines; with softmax and with row outputs (all
# three, or arg-max).
PLAIN, LAYER, BYTES, SEARCH = "plain", "layer", "u8", "search"
ROWS = ("softmax", "rows", "softmax+rows", "softmax+argmax")
FORMS = (PLAIN, LAYER, BYTES, SEARCH, *ROWS)
TOP = 5  # vectors that a search finds


@dataclasses.dataclass(frozen=True)
class Kind:
    """A contender: the variant in process.py, the forms that it supports, and what installs it.

    @optional: it takes part only where --contenders names it
    """

    name: str
    variant: str
    forms: tuple
    install: str = ""
    opencl: bool = False
    optional: bool = False


OURS = "gemmcl"
STREAM = "gemmcl streaming"
CLOCK = "gemmcl by the device's clock"
HOST = "gemmcl on host memory"
APART = "gemmcl in steps"
ELEMENT = "gemmcl element"
POOLED = "gemmcl element with its pool"
CLBLAST = "CLBlast"
MEMCPY = "memcpy"
LINK = "link"
WHEELS = "tools/peers.sh (from PyPI)"
ONEDNN = "Debian's libdnnl2 or libdnnl3"
GSTREAMER = "Debian's python3-gst-1.0 and gstreamer1.0-plugins-base"
USUAL = (PLAIN, LAYER, BYTES)
KINDS = (
    Kind(OURS, "device", FORMS, opencl=True),
    Kind(STREAM, "stream", USUAL, opencl=True),
    Kind(CLOCK, "clock", USUAL, opencl=True),
    Kind(HOST, "host", USUAL, opencl=True),
    Kind(APART, "apart", ROWS, opencl=True),
    Kind(ELEMENT, "element", USUAL, GSTREAMER, opencl=True),
    Kind(POOLED, "pooled", USUAL, GSTREAMER, opencl=True, optional=True),
    Kind("OpenBLAS", "openblas", (PLAIN,), "Debian's libopenblas0"),
    Kind("oneDNN matmul", "matmul", (PLAIN, LAYER), ONEDNN),
    Kind("oneDNN inner product", "inner-product", (PLAIN, LAYER), ONEDNN),
    Kind("MKL packed", "mkl-packed", (PLAIN,), WHEELS),
    Kind("MKL", "mkl", (PLAIN,), WHEELS),
    Kind(CLBLAST, "clblast", (PLAIN,), "Debian's libclblast1", opencl=True),
    Kind("onnxruntime", "onnxruntime", (LAYER,), WHEELS),
    Kind("openvino", "openvino", (LAYER,), WHEELS),
    Kind(MEMCPY, "memcpy", (BYTES,), "nothing"),
    Kind("NumPy", "numpy", (SEARCH,), "Debian's python3-numpy"),
    Kind("faiss", "faiss", (SEARCH,), WHEELS),
    Kind(LINK, "link", USUAL, opencl=True, optional=True),
)
NOT_PEERS = (OURS, STREAM, CLOCK, HOST, APART, ELEMENT, POOLED, LINK)

# The settings that keep each from instructions that a lesser CPU lacks. onnxruntime has no such
# setting, nor has openvino, which uses onnxruntime's library for f32: they are left out.
LIMITS = {
    "avx2": {
        "OPENBLAS_CORETYPE": "Haswell",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        # PoCL, as distributions build it: the library of built-ins, which implies the CPU.
        "POCL_KERNELLIB_NAME": "avx2",
        # Intel's runtime.
        "CL_CONFIG_CPU_TARGET_ARCH": "core-avx2",
    },
}
# PoCL and Intel's runtime still report the vector width of the real CPU, by which kernels are
# chosen: gemmcl.py answers for them.
FLOATS = {"avx2": "8"}
UNLIMITED = ("onnxruntime", "openvino")


def environment(kind, isa, build):
    """The environment of a contender's process."""
    build = pathlib.Path(build).resolve()
    result = {
        **os.environ,
        "GEMMCL_LIBRARY": str(build / "lib/libgemmcl.so.0"),
        # MKL's threads spin for 200 ms after a run by default. Runs of a turn follow one another
        # within microseconds, so a shorter time does not make them slower.
        "KMP_BLOCKTIME": "10",
        "GST_PLUGIN_PATH": str(build / "gst"),
    }
    wheels = os.environ.get("GEMMCL_PEERS")
    paths = {"PYTHONPATH": [HERE.parent, HERE.parent.parent / "lib"]}
    if wheels and not kind.opencl:
        paths["PYTHONPATH"].append(f"{wheels}/python")
        paths["LD_LIBRARY_PATH"] = [f"{wheels}/lib"]
    for name, folders in paths.items():
        result[name] = os.pathsep.join(filter(None, (*map(str, folders), result.get(name))))
    if isa:
        result |= LIMITS[isa]
        if kind.opencl:
            if kind.name not in (CLBLAST, LINK):
                result["LD_PRELOAD"] = str(build / "tests/lib/libgemmcl-test-hooks.so")
                result["PEERS_FLOATS"] = FLOATS[isa]
            # Cached programs are found by the device's name, which Intel's runtime does not change.
            cache = result.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
            result["XDG_CACHE_HOME"] = f"{cache}/gemmcl-peers/{isa}"
    return result


class Failure(Exception):
    """A contender that ended, with its output."""

    def __init__(self, name, status, message):
        super().__init__(f"{name}: {message or f'it ended with status {status}'}")
        self.missing = status == MISSING


class Contender:
    """The process of a contender. It sleeps between its turns."""

    def __init__(self, kind, arguments, settings, path):
        self.name = kind.name
        self.result = path + ".d"
        self.log = path + ".log"
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "process.py"), *arguments, "--variant", kind.variant,
             "--result", self.result],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=open(self.log, "w", encoding="utf-8"), text=True,
            env=environment(kind, settings.isa, settings.build))

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise Failure(self.name, status, pathlib.Path(self.log).read_text("utf-8").strip())
        return line

    def wait_ready(self):
        """Waits until it is set up and has run once. Returns its description."""
        about = self._line().strip()
        self.settle()
        return about

    def turn(self, runs):
        """Runs it that many times, and returns the seconds of each run."""
        print(runs, file=self.process.stdin, flush=True)
        seconds = [float(word) for word in self._line().split()]
        self.settle()
        return seconds

    def settle(self, seconds=2.0):
        """Waits until its threads sleep: most spin for a while before, and would disturb the next
        contender. Switching that off would make its runs slower."""
        end = time.monotonic() + seconds
        while self._awake():
            if time.monotonic() > end:
                raise Failure(self.name, 0, f"its threads still run {seconds} s after its turn")
            time.sleep(0.001)

    def _awake(self):
        for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            try:
                if path.read_text("ascii", "replace").rpartition(")")[2].split()[0] == "R":
                    return True
            except (FileNotFoundError, ProcessLookupError):
                continue
        return False

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.terminate()
        self.process.wait()
