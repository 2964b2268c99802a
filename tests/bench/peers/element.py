# SPDX-License-Identifier: LGPL-2.1-or-later
"""gemmcl's element as a contender, in a pipeline of this process."""

import functools
import tempfile
import threading
import time

import gi
import numpy

try:
    gi.require_version("Gst", "1.0")
    gi.require_version("GstBase", "1.0")
except ValueError as error:
    raise ImportError(str(error)) from error
# pylint: disable=wrong-import-position
from gi.repository import GLib, Gst, GstBase

from library import Failure, Missing
from problem import BYTES
# pylint: enable=wrong-import-position

TIMEOUT_SECONDS = 120
LINE = ("appsrc name=source format=time ! {} ! queue max-size-buffers=2 max-size-bytes=0"
        " max-size-time=0 ! filesink name=sink sync=false async=false buffer-mode=unbuffered"
        " location=/dev/null")


class Element:
    """A pipeline whose source repeats one buffer and whose sink maps each result, since results are
    pushed before they are finished. Bytes are a video frame. An event ends a turn."""

    def __init__(self, problem, settings):
        Gst.init(None)
        if not Gst.ElementFactory.find("gemmcl"):
            raise Missing("There is no element gemmcl in GST_PLUGIN_PATH.")
        self.problem = problem
        self.done = threading.Event()
        self.end = 0.0
        self.first = b""
        with tempfile.TemporaryDirectory(prefix="gemmcl-peers-") as folder:
            line = self._describe(settings, folder)
            self.pipeline = Gst.parse_launch(LINE.format(line))
            self.source = self.pipeline.get_by_name("source")
            self.source.set_property("caps", Gst.Caps.from_string(self._make_caps()))
            self.buffer = Gst.Buffer.new_wrapped_bytes(GLib.Bytes.new(problem.a.tobytes()))
            pad = self.pipeline.get_by_name("sink").get_static_pad("sink")
            pad.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self._see_event)
            pad.add_probe(Gst.PadProbeType.BUFFER, self._see_first)
            if self.pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
                self._raise_error()
        self.about = f"{line}, GStreamer {'.'.join(map(str, Gst.version()))}"

    def _describe(self, settings, folder):
        names = ["weight", "bias"] if self.problem.is_layer else ["weight"]
        words = ["gemmcl", *settings.properties.split()]
        for name, array in zip(names, (self.problem.b, self.problem.bias[None])):
            numpy.save(f"{folder}/{name}.npy", array)
            words.append(f"{name}={folder}/{name}.npy")
        words.append(f"platform={settings.platform}" if settings.platform else "device-type=cpu")
        if settings.kernel:
            words.append(f"kernel={settings.kernel}")
        if self.problem.is_layer:
            words.append("activation=relu")
        return " ".join(words)

    def _make_caps(self):
        m, n, k = self.problem.shape
        if self.problem.form != BYTES:
            return ("other/tensors,format=static,num_tensors=1,types=(string)float32,"
                    f"framerate=0/1,dimensions=(string){k}:{m}")
        if (n, k) != (3, 3) or m % 4:
            raise Missing("A frame has three channels, and rows without padding.")
        width = m if m % 1280 else 1280
        return f"video/x-raw,format=RGB,framerate=30/1,width={width},height={m // width}"

    def _see_event(self, _, info):
        if info.get_event().type == Gst.EventType.CUSTOM_DOWNSTREAM:
            self.end = time.perf_counter()
            self.done.set()
        return Gst.PadProbeReturn.OK

    def _see_first(self, _, info):
        buffer = info.get_buffer()
        self.first = buffer.extract_dup(0, buffer.get_size())
        return Gst.PadProbeReturn.REMOVE

    def prepare(self, count):
        """A function that sends that many buffers."""
        buffers = Gst.BufferList.new_sized(count)
        for _ in range(count):
            buffers.insert(-1, self.buffer)
        return lambda: self.source.emit("push-buffer-list", buffers)

    def play(self, count):
        send = self.prepare(count)
        self.done.clear()
        begin = time.perf_counter()
        send()
        self.source.send_event(Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM,
                                                    Gst.Structure.new_empty("end-of-turn")))
        while not self.done.wait(1) and time.perf_counter() < begin + TIMEOUT_SECONDS:
            self._raise_error()
        self._raise_error()
        if not self.done.is_set():
            raise Failure(f"No result came out for {TIMEOUT_SECONDS} s.")
        return self.end - begin

    def _raise_error(self):
        message = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if message:
            raise Failure(message.parse_error()[0].message)

    def read(self):
        self.problem.d[...] = numpy.frombuffer(self.first, self.problem.d.dtype).reshape(
            self.problem.d.shape)


class Pooled(Element):
    """An Element whose source takes each buffer from the pool that gemmcl offers, and maps it to
    write, as a decoder does, but leaves the bytes as they are, which takes no time."""

    def __init__(self, problem, settings):
        super().__init__(problem, settings)
        for name, value in ("block", True), ("max-bytes", 0), ("max-buffers", 2):
            self.source.set_property(name, value)
        # appsrc asks for a pool when its caps are known: after a buffer.
        self.play(1)
        self.source.get_static_pad("src").mark_reconfigure()
        self.play(1)
        self.pool = GstBase.BaseSrc.get_buffer_pool(self.source)
        if not self.pool:
            raise Failure("gemmcl offers no pool.")
        self.prepare = lambda count: functools.partial(self.send, count)

    def send(self, count):
        for _ in range(count):
            flow, buffer = self.pool.acquire_buffer(None)
            if flow != Gst.FlowReturn.OK:
                raise Failure("gemmcl's pool gave no buffer.")
            with buffer.map(Gst.MapFlags.WRITE):
                pass
            self.source.emit("push-buffer", buffer)
