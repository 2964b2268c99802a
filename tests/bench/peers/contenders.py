# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders: the forms that each supports, its command, and its process.

Each contender is a separate process, so that OpenMP runtimes and thread pools do not interfere. See
process.h for the protocol.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
MISSING = 77

# The forms of a row: the product alone; with bias and ReLU; with u8 input and output.
PLAIN, LAYER, BYTES = "plain", "layer", "u8"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A contender: its program, a variant, the forms that it supports, and how to install it."""

    name: str
    program: str
    forms: tuple
    variant: str = ""
    install: str = ""
    opencl: bool = False

    def command(self, programs):
        """The command that starts it, or None if it was not built."""
        if self.program.endswith(".py"):
            return [sys.executable, str(HERE / self.program)]
        path = pathlib.Path(programs) / ("peers-" + self.program)
        return [str(path)] if path.exists() else None


OURS = "gemmcl"
STREAM = "gemmcl streaming"
CLOCK = "gemmcl by the device's clock"
HOST = "gemmcl on host memory"
CLBLAST = "CLBlast"
MEMCPY = "memcpy"
WHEELS = "tools/peers.sh (from PyPI)"
KINDS = (
    Kind(OURS, "opencl", (PLAIN, LAYER, BYTES), "device", opencl=True),
    Kind(STREAM, "opencl", (PLAIN, LAYER, BYTES), "stream", opencl=True),
    Kind(CLOCK, "opencl", (PLAIN, LAYER, BYTES), "clock", opencl=True),
    Kind(HOST, "opencl", (PLAIN, LAYER, BYTES), "host", opencl=True),
    Kind("OpenBLAS", "host", (PLAIN,), "openblas", "Debian's libopenblas0"),
    Kind("oneDNN matmul", "onednn", (PLAIN, LAYER), "matmul",
         "Debian's libdnnl-dev, then build again"),
    Kind("oneDNN inner product", "onednn", (PLAIN, LAYER), "inner-product",
         "Debian's libdnnl-dev, then build again"),
    Kind("MKL packed", "host", (PLAIN,), "mkl-packed", WHEELS),
    Kind("MKL", "host", (PLAIN,), "mkl", WHEELS),
    Kind(CLBLAST, "opencl", (PLAIN,), "clblast", "Debian's libclblast1", opencl=True),
    Kind("onnxruntime", "peer_onnxruntime.py", (LAYER,), install=WHEELS),
    Kind("openvino", "peer_openvino.py", (LAYER,), install=WHEELS),
    Kind(MEMCPY, "memcpy", (BYTES,), install="a compiler with OpenMP"),
)
NOT_PEERS = (OURS, STREAM, CLOCK, HOST)

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
# chosen; see pretend-layer.c.
FLOATS = {"avx2": "8"}
UNLIMITED = ("onnxruntime", "openvino")


def environment(kind, isa, programs):
    """The environment of a contender's process."""
    # MKL's threads spin for 200 ms after a run by default. Runs of a turn follow one another within
    # microseconds, so a shorter time does not make them slower.
    result = {**os.environ, "KMP_BLOCKTIME": "10"}
    wheels = os.environ.get("GEMMCL_PEERS")
    if wheels and not kind.opencl:
        for name, folder in (("LD_LIBRARY_PATH", "lib"), ("PYTHONPATH", "python")):
            result[name] = os.pathsep.join(filter(None, (f"{wheels}/{folder}", result.get(name))))
    if isa:
        result |= LIMITS[isa]
        if kind.opencl:
            result["OPENCL_LAYERS"] = str(pathlib.Path(programs).parent / "libpretend-layer.so")
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
            [*kind.command(settings.programs), *arguments, "--variant", kind.variant,
             "--result", self.result],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=open(self.log, "w", encoding="utf-8"), text=True,
            env=environment(kind, settings.isa, settings.programs))

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
