#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the element with onnxruntime on a linear layer in a pipeline, D = max (A B + bias, 0).

Between the source and the sink is `gemmcl`, or `appsink`, a session of onnxruntime that reads the
buffer and writes one from a pool, and `appsrc`. Both pipelines are in this process and send the
same buffer repeatedly; the first result of each is checked. They run in turns of some buffers. The
result is the median of the ratios of neighbouring turns.

onnxruntime comes from PyPI, by tools/peers.sh, or from a distribution that has it.

Exit status: 0; 1 if a result is wrong or a pipeline fails; 2 for wrong usage; 77, with the reason,
if something is missing.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import threading
import time

SKIPPED = 77
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))
sys.path.append(os.environ.get("GEMMCL_PEERS", "") + "/python")


def skip(reason):
    """Prints why nothing is measured, and exits."""
    print(reason, file=sys.stderr)
    sys.exit(SKIPPED)


# pylint: disable=wrong-import-position
try:
    import gi
    import numpy

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    import gi.overrides.Gst  # maps buffers without copies
except (ImportError, ValueError) as missing:
    skip(f"Debian's python3-gst-1.0 and python3-numpy are missing: {missing}")
try:
    import onnxruntime
except ImportError as missing:
    skip(f'onnxruntime is missing; eval "$(tools/peers.sh --env)" gets it: {missing}')
from contenders import LAYER
from match import quartiles
from onnx_model import make_layer
from problem import Problem, parse_shape
# pylint: enable=wrong-import-position

TURN_SECONDS = 0.04
LEAST_TURN = 3
LEAST_ROUNDS = 5
TIMEOUT_SECONDS = 60
ALIGNMENT = 63  # of buffers, as a mask
CAPS = ("other/tensors,format=static,num_tensors=1,types=(string)float32,framerate=0/1,"
        "dimensions=(string){k}:{m}")


class Failure(Exception):
    """The failure of a pipeline."""


class Layer(Problem):
    """The matrices of a layer, and the check of its result in double precision."""

    def __init__(self, shape, folder):
        super().__init__(shape, LAYER, folder)
        m, n, k = shape
        self.caps = CAPS.format(k=k, m=m)
        for name in ("b", "bias"):
            (self.folder / name).rename(self.folder / (name + ".raw"))
        self.weights = f"weight={folder}/b.raw#f32:{k}x{n} bias={folder}/bias.raw#f32:1x{n}"

    def check_bytes(self, name, result):
        """Raises Failure unless the bytes are the result of the layer."""
        path = self.folder / "d"
        path.write_bytes(result)
        wrong = self.check(name, path)
        if wrong:
            raise Failure(wrong)


def allocation():
    """The parameters for aligned buffers."""
    parameters = Gst.AllocationParams()
    parameters.init()
    parameters.align = ALIGNMENT
    return parameters


class Contender:
    """A pipeline that sends buffers on request and measures their time."""

    def __init__(self, name, line, layer):
        self.name = name
        self.pipeline = Gst.parse_launch(line)
        self.left = self.awaited = 0
        self.first = None
        self.end = 0.0
        self.ending = False
        self.changed = threading.Condition()
        self.buffer = Gst.Buffer.new_allocate(None, layer.a.nbytes, allocation())
        self.buffer.fill(0, layer.a.tobytes())
        source = self.pipeline.get_by_name("source")
        source.set_property("caps", Gst.Caps.from_string(layer.caps))
        source.connect("need-data", self._send)
        pad = self.pipeline.get_by_name("sink").get_static_pad("sink")
        pad.add_probe(Gst.PadProbeType.BUFFER, self._see)

    def _send(self, source, _):
        with self.changed:
            self.changed.wait_for(lambda: self.left or self.ending)
            if self.ending:
                return
            self.left -= 1
        source.emit("push-buffer", self.buffer)

    def _see(self, _, info):
        """Maps a result, which waits for it."""
        buffer = info.get_buffer()
        if self.first is None:
            self.first = buffer.extract_dup(0, buffer.get_size())
        with buffer.map(Gst.MapFlags.READ):
            pass
        with self.changed:
            self.awaited -= 1
            if not self.awaited:
                self.end = time.perf_counter()
                self.changed.notify_all()
        return Gst.PadProbeReturn.OK

    def start(self):
        """Starts the pipeline with one buffer. Returns its output."""
        self.pipeline.set_state(Gst.State.PLAYING)
        self.run(1)
        return self.first

    def run(self, count):
        """The seconds for this number of buffers."""
        with self.changed:
            begin = time.perf_counter()
            self.left = self.awaited = count
            self.changed.notify_all()
            while self.awaited:
                self.changed.wait(1)
                if self.awaited:
                    self._complain(begin)
        return self.end - begin

    def _complain(self, begin):
        message = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if message:
            raise Failure(f"{self.name}: {message.parse_error()[0].message}")
        if time.perf_counter() > begin + TIMEOUT_SECONDS:
            raise Failure(f"{self.name}: no buffer came out for {TIMEOUT_SECONDS} s")

    def stop(self):
        """Stops the pipeline."""
        with self.changed:
            self.ending = True
            self.changed.notify_all()
        self.pipeline.set_state(Gst.State.NULL)


class Element(Contender):
    """A pipeline with the element."""

    def __init__(self, layer, properties):
        super().__init__("gemmcl", "appsrc name=source format=time ! gemmcl device-type=cpu"
                         f" activation=relu {layer.weights} {properties} !"
                         " queue max-size-buffers=2 max-size-bytes=0 max-size-time=0 !"
                         " fakesink name=sink sync=false", layer)


class Onnxruntime(Contender):
    """A session between two halves of a pipeline."""

    def __init__(self, layer):
        super().__init__("onnxruntime", "appsrc name=source format=time !"
                         " appsink name=in emit-signals=true sync=false async=false"
                         " appsrc name=out format=time !"
                         " fakesink name=sink sync=false async=false", layer)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            make_layer(layer.b, layer.bias, len(layer.a)), options,
            providers=["CPUExecutionProvider"])
        m, n, _ = layer.shape
        self.shapes = {"a": layer.a.shape, "d": (m, n)}
        self.pool = Gst.BufferPool()
        config = self.pool.get_config()
        Gst.BufferPool.config_set_params(config, None, m * n * 4, 2, 0)
        Gst.BufferPool.config_set_allocator(config, None, allocation())
        self.pool.set_config(config)
        self.pool.set_active(True)
        self.out = self.pipeline.get_by_name("out")
        self.pipeline.get_by_name("in").connect("new-sample", self._multiply)

    def _multiply(self, sink):
        taken = sink.emit("pull-sample").get_buffer()
        _, made = self.pool.acquire_buffer(None)
        with taken.map(Gst.MapFlags.READ) as a, made.map(Gst.MapFlags.WRITE) as d:
            binding = self.session.io_binding()
            for bind, name, mapped in ((binding.bind_input, "a", a),
                                       (binding.bind_output, "d", d)):
                address = numpy.frombuffer(mapped.data, numpy.uint8).ctypes.data
                bind(name, "cpu", 0, numpy.float32, self.shapes[name], address)
            self.session.run_with_iobinding(binding)
        return self.out.emit("push-buffer", made)

    def stop(self):
        super().stop()
        self.pool.set_active(False)


def settle(seconds=2.0):
    """Waits until the threads of the last turn sleep: onnxruntime's threads spin for a while
    before, and would disturb the next turn."""
    end = time.monotonic() + seconds
    busy = 1.0
    while busy > 0.1 and time.monotonic() < end:
        begin, used = time.monotonic(), time.process_time()
        time.sleep(0.005)
        busy = (time.process_time() - used) / (time.monotonic() - begin)


def play(contenders, layer, seconds):
    """Checks each one's first result. Returns the seconds of a buffer of each in each round."""
    slowest = 0.0
    for each in contenders:
        layer.check_bytes(each.name, each.start())
        each.run(LEAST_TURN)
        slowest = max(slowest, each.run(LEAST_TURN) / LEAST_TURN)
    count = max(LEAST_TURN, round(TURN_SECONDS / slowest))
    rounds = []
    end = time.monotonic() + seconds
    while len(rounds) < LEAST_ROUNDS or time.monotonic() < end:
        rounds.append([])
        for each in contenders:
            settle()
            rounds[-1].append(each.run(count) / count)
    return rounds


def measure(shape, options):
    """Measures a shape."""
    with tempfile.TemporaryDirectory(prefix="gemmcl-pipeline-") as folder:
        layer = Layer(shape, folder)
        contenders = []
        try:
            contenders.append(Onnxruntime(layer))
            contenders.append(Element(layer, options.properties))
            rounds = play(contenders, layer, options.seconds)
        finally:
            for each in contenders:
                each.stop()
    theirs, ours = (quartiles(times)["median"] * 1e6 for times in zip(*rounds))
    ratio = quartiles([round_[0] / round_[1] for round_ in rounds])
    return {"case": "x".join(map(str, shape)), "against": "onnxruntime", "rounds": len(rounds),
            "their_us": theirs, "element_us": ours, "figure": "ratio", **ratio}


def main():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", type=pathlib.Path, help="write the results there")
    parser.add_argument("--seconds", type=float, default=5.0, help="time for each shape")
    parser.add_argument("--properties", default="", help="more of the element's")
    parser.add_argument("shapes", nargs="*", type=parse_shape, metavar="MxNxK",
                        default=[(1024, 1024, 1024), (256, 1024, 1024)])
    options = parser.parse_args()
    Gst.init(None)
    if not Gst.ElementFactory.find("gemmcl"):
        skip("There is no element gemmcl; GST_PLUGIN_PATH should have the folder of its plugin.")
    print(f"onnxruntime {onnxruntime.__version__}; us of a buffer, and its time for ours")
    print(f"{'M x N x K':<18} {'its us':>9} {'gemmcl':>9}   ratio (middle half, rounds)")
    results = []
    for shape in options.shapes:
        try:
            results.append(measure(shape, options))
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 1
        print("{case:<18} {their_us:9.1f} {element_us:9.1f}  {median:6.2f} ({lower_quartile:.2f}"
              " to {upper_quartile:.2f} of {rounds})".format(**results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
