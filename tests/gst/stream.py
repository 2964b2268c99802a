# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays elements between two pads of a test, with NumPy arrays as buffers. GEMMCL_TEST_PLUGINS is
the folder of GStreamer's own plugins; only its core plugins are loaded."""

import contextlib
import ctypes
import gc
import os
import queue
import re
import sys
from ctypes import c_void_p
from pathlib import Path

try:
    import gi
    for namespace in "Gst", "GstAudio", "GstController", "GstVideo":
        gi.require_version(namespace, "1.0")
    from gi.repository import GLib, GObject, Gst, GstAudio, GstVideo
    import gi.overrides.Gst  # values as Python values
except (ImportError, ValueError) as missing:
    print(f"1..0 # SKIP {missing} (python3-gst-1.0, gir1.2-gst-plugins-base-1.0)")
    sys.exit(0)

import gemmcl
import tap_unittest
from gemmcl import np
from tap_unittest import tap


def load_plugin(name):
    path = Path(os.environ["GEMMCL_TEST_PLUGINS"], f"libgst{name}.so")
    return Gst.Plugin.load_file(str(path)) if path.exists() else None


Gst.init(None)
for core in "elements", "tracers":
    load_plugin(f"core{core}")
TEMPLATE = Gst.ElementFactory.make("gemmcl").get_static_pad("sink").get_pad_template_caps()
# With GstTensorMeta the element accepts frames that it cannot read.
ANALYTICS = TEMPLATE.can_intersect(Gst.Caps.from_string("video/x-raw,format=YUY2"))
# A build without VA has no surfaces; Meson knows whether this build has it.
VA = "GEMMCL_TEST_VA" in os.environ

GST = ctypes.CDLL("libgstreamer-1.0.so.0")
for function in "gst_context_writable_structure", "gst_mini_object_make_writable":
    getattr(GST, function).restype = c_void_p
PROBE = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p, c_void_p)
PROBES = []  # keeps the callbacks alive
SECONDS = tap.SECONDS
CLOCK_SECONDS = 20
OK, ERROR = Gst.FlowReturn.OK, Gst.FlowReturn.ERROR
FAILURE = Gst.StateChangeReturn.FAILURE
NULL, READY = Gst.State.NULL, Gst.State.READY
PAUSED, PLAYING = Gst.State.PAUSED, Gst.State.PLAYING


def tensors(dimensions, types="float32", rate="10/1"):
    """Returns caps of static tensors. dimensions and types list them, separated by commas."""
    return (f"other/tensors,format=static,num_tensors={types.count(',') + 1},"
            f'dimensions=(string)"{dimensions}",types=(string)"{types}",framerate={rate}')


def audio(sample, channels):
    return f"audio/x-raw,format={sample},rate=8000,channels={channels},layout=interleaved"


def video(pixels, width, height):
    return f"video/x-raw,format={pixels},width={width},height={height},framerate=10/1"


def literal(values):
    """Returns numbers as a matrix without spaces, which would end a value of gst-launch-1.0."""
    return str(np.asarray(values).tolist()).replace(" ", "")


def element(weight, settings=""):
    return f"gemmcl weight={literal(weight)} {settings}"


def make_pad(direction, caps):
    """Returns a pad that accepts or has these caps; None: any caps."""
    caps = Gst.Caps.from_string(caps) if caps else Gst.Caps.new_any()
    template = Gst.PadTemplate.new("end", direction, Gst.PadPresence.ALWAYS, caps)
    return Gst.Pad.new_from_template(template, "end")


def make_shared(kind="OpenCL", **fields):
    """Returns a GstContext with fields (type, value), which bindings cannot set."""
    shared = Gst.Context.new(kind, True)
    structure = c_void_p(GST.gst_context_writable_structure(c_void_p(hash(shared))))
    for name, (gtype, value) in fields.items():
        GST.gst_structure_set(structure, name.encode(), ctypes.c_size_t(hash(gtype)),
                              c_void_p(value), None)
    return shared


def share(element, context):
    element.set_context(make_shared(cl_context=(GObject.TYPE_POINTER, context)))


def join(parts):
    buffer = Gst.Buffer.new()
    for part in parts:
        buffer.append_memory(Gst.Buffer.new_wrapped(part).get_memory(0))
    return buffer


def get_bytes(buffer):
    return buffer.extract_dup(0, buffer.get_size())


def answer(pad, kind, fill):
    """Makes a pad of the test answer queries of a type; fill(query) writes the answer."""
    def reply(pad, parent, query):
        if query.type != kind:
            return Gst.Pad.query_default(pad, parent, query)
        fill(query)
        return True
    pad.set_query_function_full(reply)


def change_buffers(pad, change):
    """Replaces each buffer of a pad by change(buffer); both are addresses of owned buffers."""
    def probe(_pad, info, _data):
        place = c_void_p.from_address(info + 16)  # GstPadProbeInfo.data
        place.value = change(place.value)
        return Gst.PadProbeReturn.OK
    PROBES.append(PROBE(probe))
    GST.gst_pad_add_probe(c_void_p(hash(pad)), int(Gst.PadProbeType.BUFFER), PROBES[-1], None, None)


@contextlib.contextmanager
def collect_log(category, level):
    """Yields a list, to which the lines of a category of GStreamer's log are added."""
    lines = []

    def log(found, _level, _file, _function, _line, _object, message):
        if found.get_name() == category:
            lines.append(message.get())
    Gst.debug_add_log_function(log)
    Gst.debug_set_threshold_for_name(category, level)
    try:
        yield lines
    finally:
        Gst.debug_unset_threshold_for_name(category)
        Gst.debug_remove_log_function(log)


class Stream:
    """One element, or a bin, in the syntax of gst-launch-1.0.

    arrivals: the outputs: buffers with their caps, and the types and numbers of events"""

    def __init__(self, text, output=None, upstream=None):
        """output, upstream: the caps of downstream and upstream; None: any caps."""
        self.element = (Gst.parse_bin_from_description(text, True) if "!" in text else
                        Gst.parse_launch(text))
        self.bus = Gst.Bus.new()
        self.element.set_bus(self.bus)
        self.arrivals = arrivals = queue.SimpleQueue()
        self.src = make_pad(Gst.PadDirection.SRC, upstream)
        self.sink = make_pad(Gst.PadDirection.SINK, output)
        # Methods of the stream as callbacks would keep it alive.
        def chain(pad, _parent, buffer):
            arrivals.put((buffer, pad.get_current_caps()))
            return OK

        def note(_pad, _parent, event):
            arrivals.put((event.type, event.get_seqnum()))
            return True
        self.sink.set_chain_function_full(chain)
        self.sink.set_event_function_full(note)
        self.src.set_active(True)
        self.sink.set_active(True)
        self.src.link(self.element.get_static_pad("sink"))
        self.element.get_static_pad("src").link(self.sink)

    def answer_allocation(self, offer):
        """Makes downstream answer allocation queries; offer adds to the query."""
        answer(self.sink, Gst.QueryType.ALLOCATION, offer)

    def ask_allocation(self, caps):
        """Returns the answer of the element to an allocation query from upstream."""
        query = Gst.Query.new_allocation(Gst.Caps.from_string(caps), True)
        assert self.src.peer_query(query)
        return query

    def play(self, caps):
        """Begins a stream with these caps. Returns whether they were accepted."""
        self.element.set_state(PLAYING)
        self.src.push_event(Gst.Event.new_stream_start("stream"))
        accepted = self.push_caps(caps)
        self.push_segment()
        return accepted

    def push_caps(self, caps):
        """Returns whether they were accepted."""
        caps = Gst.Caps.from_string(caps)
        self.src.push_event(Gst.Event.new_caps(caps))
        accepted = self.src.get_peer().get_current_caps()
        return accepted is not None and accepted.is_equal(caps)

    def push_segment(self):
        segment = Gst.Segment()
        segment.init(Gst.Format.TIME)
        self.src.push_event(Gst.Event.new_segment(segment))

    def flush(self):
        self.src.push_event(Gst.Event.new_flush_start())
        self.src.push_event(Gst.Event.new_flush_stop(True))
        self.push_segment()

    def push(self, data, **fields):
        """data: a buffer, bytes or an array; fields: fields of the buffer, such as pts."""
        if not isinstance(data, Gst.Buffer):
            data = Gst.Buffer.new_wrapped(bytes(data))
        for name, value in fields.items():
            setattr(data, name, value)
        return self.src.push(data)

    def pull_buffer(self):
        while not isinstance(arrived := self.arrivals.get(timeout=SECONDS)[0], Gst.Buffer):
            pass
        return arrived

    def pull(self):
        return get_bytes(self.pull_buffer())

    def end(self):
        """Ends the stream. Returns the outputs that were not pulled yet."""
        self.src.push_event(Gst.Event.new_eos())
        outputs = []
        while (arrived := self.arrivals.get(timeout=SECONDS)[0]) != Gst.EventType.EOS:
            if isinstance(arrived, Gst.Buffer):
                outputs.append(arrived)
        return outputs

    def get_stat(self, name, element=None):
        """element: the name of the element in a bin."""
        return self[element].props.stats.get_value(name)

    def __getitem__(self, name):
        return self.element.get_by_name(name) if isinstance(self.element, Gst.Bin) else self.element

    def pop_message(self, kind):
        message = self.bus.pop_filtered(kind)
        if message is None:
            return None
        is_error = message.type == Gst.MessageType.ERROR
        parse = message.parse_error if is_error else message.parse_warning
        return parse()[0]

    def query_caps(self, pad, asked=None):
        return self.element.get_static_pad(pad).query_caps(asked)

    def stop(self):
        self.element.set_state(Gst.State.NULL)
        self.element.set_bus(None)


class TestCase(gemmcl.TestCase):
    def setUp(self):
        super().setUp()
        gemmcl.get_device()

    def needs_two_devices(self):
        """Skips the test without two devices; POCL_DEVICES makes PoCL show two."""
        if (count := len(gemmcl.get_array("list_devices", None))) != 2:
            self.skipTest(f"there are {count} OpenCL devices, not 2")

    def make(self, text, *caps):
        stream = Stream(text, *caps)
        self.addCleanup(stream.stop)
        return stream

    def start(self, caps, text, output=None):
        """Returns a stream that plays; its caps must be accepted."""
        stream = self.make(text, output)
        self.assertTrue(stream.play(caps))
        return stream

    def run_buffer(self, stream, data):
        self.assertEqual(stream.push(data), OK)
        return stream.pull_buffer()

    def run_one(self, stream, data):
        return get_bytes(self.run_buffer(stream, data))

    def run_all(self, stream, inputs):
        """Pushes all inputs and ends the stream. Returns an output buffer for each."""
        for data in inputs:
            self.assertEqual(stream.push(data), OK)
        outputs = stream.end()
        self.assertEqual(len(outputs), len(inputs))
        self.is_quiet(stream)
        return outputs

    def fails(self, stream, data, words, domain=None):
        """Pushing data fails, with an error that has these words."""
        self.assertEqual(stream.push(data), ERROR)
        self.says(stream, words, domain)

    def gives(self, stream, caps):
        found, expected = stream.sink.get_current_caps(), Gst.Caps.from_string(caps)
        self.assertTrue(found.is_subset(expected), f"{found.to_string()} is not of {caps}")

    def says(self, stream, words, domain=None, kind=Gst.MessageType.ERROR):
        """Exactly one error or warning was posted, with each of the words between '|'. After an
        error GStreamer's base class may warn, too: from 1.26 on "not negotiated"."""
        error = stream.pop_message(kind)
        self.assertIsNotNone(error, "nothing was posted")
        for word in words.split("|"):
            self.assertIn(word, error.message)
        if domain:
            self.assertEqual(error.domain, f"gst-{domain}-error-quark")
        if kind == Gst.MessageType.ERROR:
            self.assertIsNone(stream.pop_message(kind))
        else:
            self.is_quiet(stream)

    def wait_for(self, condition):
        self.assertTrue(tap.wait_until(condition))

    def is_quiet(self, stream):
        # In one call, which discards messages of all other types.
        self.assertIsNone(stream.pop_message(Gst.MessageType.ERROR | Gst.MessageType.WARNING))


def find_live(tracer):
    live = tracer.emit("get-live-objects")
    # The list holds no references to the objects, but freeing it would drop them.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(live))
    return re.findall(r"object=\((\w+)\)", live.to_string().replace("\\", ""))


def main(known=None):
    """Runs the main module's tests, which must leave no GStreamer object but a known type's."""
    leaks = Gst.Registry.get().find_feature("leaks", Gst.TracerFactory)
    tracer = GObject.new(leaks.get_tracer_type())
    held = Gst.Pad.new("held", Gst.PadDirection.SRC)
    assert "GstPad" in find_live(tracer), "the tracer does not show a pad that lives"
    del held
    try:
        tap_unittest.main()
    finally:
        gc.collect()
        # A clock's thread may hold an element for a moment. What a test left behind stays.
        tap.wait_until.seconds = CLOCK_SECONDS
        if not tap.wait_until(lambda: find_live(tracer) in ([], [known])):
            sys.exit(f"objects are left: {', '.join(find_live(tracer))}")
