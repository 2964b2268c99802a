#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the element in pipelines with the library's plan on the same memory, with memcpy, with
another element for the same task, with the link to the device, or with onnxruntime on a layer,
D = max (A B + bias, 0).

They run in turns of some buffers, so that other load affects all alike. The result is the median of
the ratios, or differences, of neighbouring turns. A pipeline sends the same buffer repeatedly and
maps each result. The element does not wait for results, so without maps unfinished runs would
count. MxNxK on the command line are layers against onnxruntime, instead of all cases; onnxruntime
comes from PyPI, by tools/peers.sh, or from a distribution.

Exit status: 0; 1 if a result is wrong or a pipeline fails; 2 for wrong usage; 77, with the reason,
if something is missing.
"""

import argparse
import ctypes
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))
sys.path.append(os.environ.get("GEMMCL_PEERS", "") + "/python")


def skip(reason):
    """Prints why nothing is measured, and exits."""
    print(reason, file=sys.stderr)
    sys.exit(77)


# pylint: disable=wrong-import-position
try:
    import gi
    import numpy

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    import gi.overrides.Gst  # maps buffers without copies
except (ImportError, ValueError) as missing:
    skip(f"Debian's python3-gst-1.0 and python3-numpy are missing: {missing}")
from contenders import LAYER
from match import quartiles
from problem import Problem, parse_shape
import library
# pylint: enable=wrong-import-position

TURN_SECONDS = 0.04
LEAST_TURN, MOST_TURN = 8, 5000
LEAST_ROUNDS = 5
TIMEOUT_SECONDS = 120
MAP_INFO_BYTES = 104  # sizeof (GstMapInfo)
WARM_RUNS = 9
WARM_GOAL = 0.1
TENSOR = ("other/tensors,format=static,num_tensors=1,types=(string)float32,framerate=0/1,"
          "dimensions=(string){}:{}")
RGB = "video/x-raw,format=RGB,framerate=30/1,width={},height={}"
GRAY = "video/x-raw,format=GRAY8,framerate=30/1,width={},height={}"
NV12 = "video/x-raw,format=NV12,framerate=30/1,width={},height={}"
SAMPLES = {GRAY: 1, RGB: 3, NV12: 1.5}  # of a pixel
AUDIO = ("audio/x-raw,format=F32LE,layout=interleaved,rate=48000,channels={},channel-mask="
         "(bitmask)0x3")
MIX = ("audiomixmatrix in-channels=2 out-channels=2 channel-mask=3 "
       "matrix=<<(double)0.5,(double)0.25>,<(double)0.25,(double)0.5>>")
CONVERT = "videoconvert n-threads=0"  # a thread for each CPU, as in gemmcl
QUEUE = "queue max-size-buffers=2 max-size-bytes=0 max-size-time=0"
SINK = "filesink name=sink sync=false async=false buffer-mode=unbuffered location=/dev/null"
FIRST = ("videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=1280,height=720 ! gemmcl {} "
         "weight=[[.5,.2,.1],[.3,.5,.2],[.2,.3,.7]] ! fakesink sync=false")

# The opponents: the plan; the plan on device buffers, without copies; memcpy of the same bytes;
# another element; three elements in a row with system memory in between, instead of OpenCL memory.
# "more" is the plan, and the figure is the additional time of a buffer instead of a ratio. "link"
# copies the bytes of A and D between pinned memory and the device, both at once; the pipeline's
# source then writes into buffers of the pool that gemmcl offers.
PLAN, MORE, KERNEL, MEMCPY, ELEMENT, SYSTEM, LINK, ONNX = (
    "plan", "more", "kernel", "memcpy", "element", "system", "link", "onnxruntime")


@dataclasses.dataclass(frozen=True)
class Case:
    """Caps without the fields of @width and @height, and the weight's K and N.

    @width, @height: those of video; K and M of a tensor; channels and samples of audio
    @patch: the size of patches of video; 0: pixels
    @other: the other element
    @out: the format of the results; "": that of the input
    """

    name: str
    against: str
    goal: float
    caps: str
    width: int
    height: int
    k: int
    n: int
    patch: int = 0
    gpu: bool = False  # not on a CPU: too slow, or there is no link
    d_bytes: int = 4  # of an element of D as a tensor: 2 is f16
    other: str = MIX
    out: str = ""


CASES = (
    Case("1024x1024 floats x 1024", PLAN, 0.95, TENSOR, 1024, 1024, 1024, 1024),
    Case("256x1024 floats x 1024", PLAN, 0.95, TENSOR, 1024, 256, 1024, 1024),
    Case("1120x896 RGB, patches of 14 x 128", PLAN, 0.95, RGB, 1120, 896, 588, 128, 14),
    *(Case("256x8192 floats x 8192", against, goal, TENSOR, 8192, 256, 8192, 8192, gpu=True)
      for against, goal in ((PLAN, 0.95), (KERNEL, 0))),
    *(Case("1920x1088 RGB, patches of 16 x 768", against, 0, RGB, 1920, 1088, 768, 768, 16, True)
      for against in (PLAN, KERNEL)),
    Case("1 float", MORE, 30, TENSOR, 1, 1, 1, 1),
    Case("64 floats x 16", MORE, 30, TENSOR, 64, 1, 64, 16),
    Case("16x16 GRAY8, pixels", MORE, 30, GRAY, 16, 16, 1, 1),
    Case("64 samples of stereo", MORE, 30, AUDIO, 2, 64, 2, 2),
    *(Case("1280x720 RGB, pixels", against, goal, RGB, 1280, 720, 3, 3)
      for against, goal in ((MEMCPY, 0.5), (PLAN, 0), (KERNEL, 0))),
    *(Case(f"{samples} samples of stereo", ELEMENT, 0, AUDIO, 2, samples, 2, 2)
      for samples in (1024, 48000)),
    *(Case(f"1280x720 {name}", ELEMENT, 5, caps, 1280, 720, 3, n, other=other, out=out)
      for name, caps, n, other, out in (
          ("RGB, pixels", RGB, 3, "coloreffects preset=sepia", ""),
          ("RGB, pixels", RGB, 3, "videobalance saturation=0.5 hue=0.1", ""),
          ("RGB to GRAY8", RGB, 1, CONVERT, "GRAY8"),
          ("NV12 to RGB", NV12, 3, CONVERT, "RGB"))),
    Case("1280x720 RGB, pixels, 3 times", SYSTEM, 0, RGB, 1280, 720, 3, 3),
    Case("256x1024 floats x 1024, 3 times", SYSTEM, 0, TENSOR, 1024, 256, 1024, 1024),
    Case("1920x1080 RGB, pixels, 3 times", SYSTEM, 0, RGB, 1920, 1080, 3, 3, gpu=True),
    Case("1280x720 RGB, pixels", LINK, 0.9, RGB, 1280, 720, 3, 3, gpu=True),
    *(Case(f"1920x1088 RGB, patches of 16 x 768{name}", LINK, 0.9, RGB, 1920, 1088, 768, 768, 16,
           True, d_bytes) for name, d_bytes in (("", 4), (", f16", 2))),
)
LAYERS = ((1024, 1024, 1024), (256, 1024, 1024))


class Pipeline:
    """A pipeline between a source and a sink, which measures a number of buffers.

    The source has them all before it sends the first one. The sink maps each, after a queue of two.
    An event behind the buffers reports the end.
    """

    def __init__(self, line, caps, data, queue=QUEUE):
        self.done = threading.Event()
        self.end = 0.0
        self.first = None
        self.pipeline = Gst.parse_launch(f"appsrc name=source format=time ! {line} ! {queue} !"
                                         f" {SINK}")
        self.buffer = Gst.Buffer.new_wrapped_bytes(gi.repository.GLib.Bytes.new(data))
        self.source = self.pipeline.get_by_name("source")
        self.source.set_property("caps", Gst.Caps.from_string(caps))
        pad = self.pipeline.get_by_name("sink").get_static_pad("sink")
        pad.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self._see_event)
        pad.add_probe(Gst.PadProbeType.BUFFER, self._see_first)

    def _see_event(self, _, info):
        if info.get_event().type == Gst.EventType.CUSTOM_DOWNSTREAM:
            self.end = time.perf_counter()
            self.done.set()
        return Gst.PadProbeReturn.OK

    def _see_first(self, _, info):
        buffer = info.get_buffer()
        self.first = buffer.extract_dup(0, buffer.get_size())
        return Gst.PadProbeReturn.REMOVE

    @staticmethod
    def finish(source):
        """Sends the event."""
        source.send_event(Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM,
                                               Gst.Structure.new_empty("end-of-turn")))

    def make(self, count):
        """A function that sends that many buffers."""
        buffers = Gst.BufferList.new_sized(count)
        for _ in range(count):
            buffers.insert(-1, self.buffer)
        return lambda: self.source.emit("push-buffer-list", buffers)

    def run(self, count):
        """The seconds of that many buffers."""
        self.pipeline.set_state(Gst.State.PLAYING)
        send = self.make(count)
        self.done.clear()
        begin = time.perf_counter()
        send()
        self.send_end()
        while not self.done.wait(1):
            message = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            if message:
                raise library.Failure(message.parse_error()[0].message)
            if time.perf_counter() > begin + TIMEOUT_SECONDS:
                raise library.Failure(f"No buffer came out for {TIMEOUT_SECONDS} s.")
        return self.end - begin

    def send_end(self):
        """Sends the event behind the buffers."""
        self.finish(self.source)

    def stop(self):
        """Stops the pipeline."""
        self.pipeline.set_state(Gst.State.NULL)


class Pooled(Pipeline):
    """A pipeline whose source takes each buffer from the pool that gemmcl offers, and maps it to
    write, as a decoder does, but leaves the bytes as they are: it takes no time."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.source.set_property("block", True)
        self.source.set_property("max-bytes", 0)
        self.source.set_property("max-buffers", 2)
        self.core, self.base, self.app = (library.load(f"libgst{name}-1.0.so.0")
                                          for name in ("reamer", "base", "app"))
        self.base.gst_base_src_get_buffer_pool.restype = ctypes.c_void_p
        self.pool = None

    def make(self, count):
        """A function that sends that many buffers."""
        source, mapped, made = (ctypes.c_void_p(hash(self.source)),
                                ctypes.create_string_buffer(MAP_INFO_BYTES), ctypes.c_void_p())
        if not self.pool:
            # appsrc asks for a pool when its caps are known: after a buffer.
            for _ in range(2):
                self.source.emit("push-buffer", self.buffer)
                while not self.first:
                    time.sleep(0.01)
                self.source.get_static_pad("src").mark_reconfigure()
            time.sleep(0.1)
            self.pool = ctypes.c_void_p(self.base.gst_base_src_get_buffer_pool(source))
            if not self.pool:
                raise library.Failure("gemmcl offers no pool.")

        def send():
            for _ in range(count):
                self.core.gst_buffer_pool_acquire_buffer(self.pool, ctypes.byref(made), None)
                self.core.gst_buffer_map(made, mapped, 2)  # GST_MAP_WRITE
                self.core.gst_buffer_unmap(made, mapped)
                self.app.gst_app_src_push_buffer(source, made)
        return send


class Session(Pipeline):
    """A session of onnxruntime between two halves of a pipeline, as an application would write it:
    it reads the buffer in place, and writes one from a pool."""

    def __init__(self, layer):
        import onnx_layer  # pylint: disable=import-outside-toplevel

        super().__init__("appsink name=in emit-signals=true sync=false async=false"
                         " appsrc name=out format=time", layer.caps, layer.a.tobytes(),
                         "identity silent=true")
        self.bind = onnx_layer.bind
        self.session = onnx_layer.make_session(layer.b, layer.bias, len(layer.a),
                                               len(os.sched_getaffinity(0)))
        self.shape = m, n, _ = layer.shape
        self.left = 0
        self.pool = Gst.BufferPool()
        config = self.pool.get_config()
        parameters = Gst.AllocationParams()
        parameters.init()
        parameters.align = 63
        Gst.BufferPool.config_set_params(config, None, m * n * 4, 2, 0)
        Gst.BufferPool.config_set_allocator(config, None, parameters)
        self.pool.set_config(config)
        self.pool.set_active(True)
        self.out = self.pipeline.get_by_name("out")
        self.pipeline.get_by_name("in").connect("new-sample", self._multiply)

    def _multiply(self, sink):
        taken = sink.emit("pull-sample").get_buffer()
        _, made = self.pool.acquire_buffer(None)
        m, n, k = self.shape
        with taken.map(Gst.MapFlags.READ) as a, made.map(Gst.MapFlags.WRITE) as d:
            a, d = (numpy.frombuffer(each.data, numpy.uint8).ctypes.data for each in (a, d))
            self.session.run_with_iobinding(self.bind(self.session, (m, k, a), (m, n, d)))
        result = self.out.emit("push-buffer", made)
        self.left -= 1
        if not self.left:
            self.finish(self.out)
        return result

    def run(self, count):
        self.left = count
        return super().run(count)

    def send_end(self):
        """Does nothing: _multiply() sends the event behind the last result."""

    def stop(self):
        super().stop()
        self.pool.set_active(False)


class Call:
    """An opponent that is a function of the number of buffers."""

    def __init__(self, function):
        self.function = function

    def run(self, count):
        """The seconds of that many calls."""
        begin = time.perf_counter()
        self.function(count)
        return time.perf_counter() - begin

    def stop(self):
        """Nothing is left."""


class Work:
    """A case's data, weight, and the lines of its pipelines."""

    def __init__(self, case, folder, properties):
        random = numpy.random.default_rng(1)
        self.case = case
        self.video = case.caps.startswith("video")
        self.channels = 1 if case.caps == GRAY else 3
        if self.video:
            self.data = random.integers(
                0, 256, int(case.width * case.height * SAMPLES[case.caps]), numpy.uint8)
        else:
            self.data = random.random(case.width * case.height, numpy.float32) - numpy.float32(0.5)
        self.b = random.random((case.k, case.n), numpy.float32) * numpy.float32(0.3)
        self.b.tofile(folder + "/b.raw")
        self.caps = case.caps.format(case.width, case.height)
        mode = "" if not self.video else (
            f"feature-mode=patch patch-width={case.patch} patch-height={case.patch}" if case.patch
            else "feature-mode=pixel")
        self.out = f" ! video/x-raw,format={case.out}" if case.out else ""
        self.line = (f"gemmcl weight={folder}/b.raw#f32:{case.k}x{case.n} {mode} {properties}"
                     + (" output-type=f16 precision=f16" if case.d_bytes == 2 else ""))
        self.kept = []

    def pipeline(self, line, kind=Pipeline):
        """A pipeline of this line."""
        return kind(line, self.caps, self.data.tobytes())

    def make_plan(self, context, in_buffers):
        """The library alone, on the same memory or on device buffers."""
        case = self.case
        problem = {"m": case.height, "k": case.k, "n": case.n, "addend": library.OUTPUT}
        row, d_bytes = 0, case.height * case.n * 4
        if self.video:
            row = case.width * self.channels
            image = library.Image(
                format=library.RGB if self.channels == 3 else library.GRAY8, width=case.width,
                height=case.height, features=library.PATCH if case.patch else library.PIXEL,
                patch_width=case.patch, patch_height=case.patch)
            self.kept.append(image)
            problem["a_image"] = ctypes.addressof(image)
            problem["m"] = case.width * case.height // (case.patch ** 2 or 1)
            d_bytes = problem["m"] * case.n * 4
            if not case.patch:
                problem["d_image"] = problem["a_image"]
                d_bytes = self.data.nbytes
        plan = library.Plan(context, self.b.ctypes.data, **problem)
        a, d = self.data.ctypes.data, library.memory(d_bytes)[0]
        kind = library.ON_HOST
        if in_buffers:
            kind, a, d = (library.IN_BUFFER, context.buffer(self.data.nbytes, a),
                          context.buffer(d_bytes, d))
        run = plan.make_run(kind, a, d, None, row, 0 if case.patch else row)

        def play(count):
            for _ in range(count):
                (plan.submit if in_buffers else plan.run)(run)
            context.finish()
        return Call(play)

    def make_memcpy(self):
        """A copy of the data by memcpy."""
        data, size = self.data.ctypes.data, self.data.nbytes
        to = library.memory(size)[0]

        def play(count):
            for _ in range(count):
                ctypes.memmove(to, data, size)
        return Call(play)

    def make_both(self, context):
        """The opponent and the element."""
        case, line = self.case, self.line
        against = case.against
        link = " ! video/x-raw ! " if self.video else " ! other/tensors ! "
        if against == MEMCPY:
            return self.make_memcpy(), self.pipeline(line)
        if against == ELEMENT:
            return self.pipeline(self.case.other + self.out), self.pipeline(line + self.out)
        if against == LINK:
            rows = case.width * case.height // (case.patch ** 2 or 1)
            return (Call(library.Link(context, self.data.nbytes,
                                      rows * case.n * case.d_bytes if case.patch else
                                      self.data.nbytes).play),
                    self.pipeline(line, Pooled))
        if against == SYSTEM:
            return self.pipeline(link.join([line] * 3)), self.pipeline(" ! ".join([line] * 3))
        return self.make_plan(context, against == KERNEL), self.pipeline(line)


class Layer(Problem):
    """The matrices of a layer, and the check of its result in double precision."""

    def __init__(self, shape, folder, properties):
        super().__init__(shape, LAYER, folder)
        m, n, k = shape
        self.caps = TENSOR.format(k, m)
        for name in ("b", "bias"):
            (self.folder / name).rename(self.folder / (name + ".raw"))
        self.line = (f"gemmcl activation=relu weight={folder}/b.raw#f32:{k}x{n}"
                     f" bias={folder}/bias.raw#f32:1x{n} {properties}")

    def make_both(self):
        """onnxruntime and the element, after a check of the first result of each."""
        both = Session(self), Pipeline(self.line, self.caps, self.a.tobytes())
        for name, each in zip(("onnxruntime", "gemmcl"), both):
            each.run(1)
            (self.folder / "d").write_bytes(each.first)
            wrong = self.check(name, self.folder / "d")
            if wrong:
                raise library.Failure(wrong)
        return both


def settle(seconds=2.0):
    """Waits until the threads of the last turn sleep: onnxruntime's threads spin for a while
    before, and would disturb the next turn."""
    end = time.monotonic() + seconds
    busy = 1.0
    while busy > 0.1 and time.monotonic() < end:
        begin, used = time.monotonic(), time.process_time()
        time.sleep(0.005)
        busy = (time.process_time() - used) / (time.monotonic() - begin)


def play(both, seconds, more):
    """The result of a match: microseconds of a buffer, and the figure's quartiles."""
    slowest = max(min(each.run(LEAST_TURN), each.run(LEAST_TURN)) for each in both) / LEAST_TURN
    count = min(max(round(TURN_SECONDS / slowest), LEAST_TURN), MOST_TURN)
    rounds = []
    end = time.monotonic() + seconds
    while len(rounds) < LEAST_ROUNDS or time.monotonic() < end:
        rounds.append([])
        for each in both:
            if isinstance(both[0], Session):
                settle()
            rounds[-1].append(each.run(count) / count * 1e6)
    theirs, ours = (statistics.median(times) for times in zip(*rounds))
    return {"rounds": len(rounds), "their_us": theirs, "element_us": ours,
            "figure": "us more" if more else "ratio",
            **quartiles([own - their if more else their / own for their, own in rounds])}


def print_row(row):
    """A row of the table."""
    unit = " us" if row["figure"] == "us more" else "   "
    print(f"{row['case']:34} {row['against']:11} {row['their_us']:10.1f} {row['element_us']:10.1f} "
          f" {row['median']:6.2f}{unit} ({row['lower_quartile']:.2f} to {row['upper_quartile']:.2f}"
          f" of {row['rounds']})  {row['goal']} {row['verdict']}", flush=True)


def measure(make, name, against, goal, options):
    """A case's row; make() returns the opponent and the element."""
    more = against == MORE
    both = ()
    try:
        both = make()
        result = play(both, options.seconds, more)
    except library.Failure as failure:
        raise library.Failure(f"{name}: {failure}") from failure
    finally:
        for each in both:
            each.stop()
    verdict, words = "", ""
    if goal:
        words = f"< {goal:.0f} us" if more else f">= {goal:.2f}"
        met = result["median"] < goal if more else result["median"] >= goal
        verdict = "met" if met else "missed"
    row = {"case": name, "against": PLAN if more else against, **result, "goal": words,
           "verdict": verdict}
    print_row(row)
    return row


def run_first(properties):
    """Runs a pipeline for one buffer in this process. Prints the seconds from the state NULL until
    the device is open, and until the buffer is complete."""
    pipeline = Gst.parse_launch(FIRST.format(properties))
    begin = time.perf_counter()
    pipeline.set_state(Gst.State.READY)
    ready = time.perf_counter()
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    print(ready - begin, time.perf_counter() - begin)
    pipeline.set_state(Gst.State.NULL)
    return 0 if message.type == Gst.MessageType.EOS else 1


def measure_first(properties):
    """The first buffer of a process, first with empty caches and then with those of the first
    run."""
    with tempfile.TemporaryDirectory(prefix="gemmcl-") as cache:
        runs = []
        for _ in range(1 + WARM_RUNS):
            said = subprocess.run(
                [sys.executable, __file__, "--first-buffer", "--properties", properties], text=True,
                stdout=subprocess.PIPE, check=False,
                env={**os.environ, "XDG_CACHE_HOME": cache, "POCL_CACHE_DIR": cache + "/pocl"})
            if said.returncode:
                raise library.Failure(f"The first buffer: status {said.returncode}.")
            runs.append([float(word) for word in said.stdout.split()])
    (cold_ready, cold), (warm_ready, warm) = runs[0], map(statistics.median, zip(*runs[1:]))
    verdict = "met" if warm < WARM_GOAL else "missed"
    print(f"first buffer, caches empty: {cold * 1e3:.0f} ms, {cold_ready * 1e3:.0f} of them for the"
          f" device; filled: {warm * 1e3:.0f} ms, {warm_ready * 1e3:.0f} of them for the device"
          f" (median of {WARM_RUNS}); < {WARM_GOAL * 1e3:.0f} ms {verdict}")
    return {"case": "first buffer", "cold_s": cold, "cold_device_s": cold_ready, "warm_s": warm,
            "warm_device_s": warm_ready, "verdict": verdict}


def measure_all(options, properties):
    """The rows of all cases that the options select; raises Failure."""
    context = library.Context(
        library.GPU if options.device_type == "gpu" else library.CPU)
    print(f"{context.name}, {context.compute_units} compute units\n{'buffer':34} {'against':11}"
          f" {'its us':>10} {'gemmcl us':>10}   ratio     (middle half, rounds)")
    rows = []
    for case in CASES if not options.shapes else ():
        if options.case in case.name and (context.type == library.GPU or not case.gpu):
            with tempfile.TemporaryDirectory(prefix="gemmcl-pipeline-") as folder:
                work = Work(case, folder, properties)
                against = case.other.split()[0] if case.against == ELEMENT else case.against
                rows.append(measure(lambda made=work: made.make_both(context), case.name, against,
                                    case.goal, options))
    for shape in options.shapes or LAYERS:
        name = "x".join(map(str, shape))
        if options.case in name + " layer":
            with tempfile.TemporaryDirectory(prefix="gemmcl-pipeline-") as folder:
                try:
                    rows.append(measure(Layer(shape, folder, properties).make_both, name, ONNX, 0,
                                        options))
                except ImportError as missing_module:
                    reason = (f'{name}: onnxruntime is missing; eval "$(tools/peers.sh --env)" gets'
                              f" it: {missing_module}")
                    if options.shapes:
                        skip(reason)
                    print(reason)
    if not options.case and not options.shapes:
        rows.append(measure_first(properties))
    return rows


def main():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", type=pathlib.Path, help="write the results there")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each case; 3")
    parser.add_argument("--case", default="", metavar="PART", help="cases whose names have it")
    parser.add_argument("--device-type", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--properties", default="", help="more of the element's")
    parser.add_argument("--first-buffer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("shapes", nargs="*", type=parse_shape, metavar="MxNxK")
    options = parser.parse_args()
    Gst.init(None)
    if not Gst.ElementFactory.find("gemmcl"):
        skip("There is no element gemmcl; GST_PLUGIN_PATH should have the folder of its plugin.")
    if options.first_buffer:
        return run_first(options.properties)
    try:
        rows = measure_all(options, f"device-type={options.device_type} {options.properties}")
    except library.Missing as reason:
        skip(str(reason))
    except (library.Failure, gi.repository.GLib.Error) as failure:
        print(failure, file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
