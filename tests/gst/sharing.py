# SPDX-License-Identifier: LGPL-2.1-or-later
"""Elements share an OpenCL context with each other, across elements that forward no queries, and
with the application. Also several devices in one element. test-context.c tests threads."""

import contextlib
import ctypes
import gc
from ctypes import byref, c_void_p

from gemmcl import ask, call, count_weights, get_device
from library import Query
from stream import (FAILURE, OK, PAUSED, READY, GObject, Gst, TestCase, answer, audio, collect_log,
                    main, make_shared, np, share, tensors, video)

REFERENCE_COUNT, DEVICES = 0x1080, 0x1081  # CL_CONTEXT_REFERENCE_COUNT and so on
ONE = tensors("1:1")
GEMMCL = "gemmcl auto-tune=off devices=all weight=[2]"
NUMBER = np.ones(1, "f4")
CLOSED = "gemmcl name=a ! identity name=closed ! gemmcl name=b"


def query(element):
    asked = Gst.Query.new_context("OpenCL")
    if not element.get_static_pad("sink").query(asked):
        return None
    shared = asked.parse_context()
    assert shared.is_persistent()  # a bin in READY keeps only persistent contexts
    return shared


def get_field(shared, name):
    """Returns a field of a GstContext. Newer bindings lend its structure in a `with` block."""
    structure = shared.get_structure()
    with contextlib.ExitStack() as stack:
        if hasattr(structure, "__enter__"):
            structure = stack.enter_context(structure)
        return structure.get_value(name)


def get_object(element):
    shared = query(element)
    return shared and get_field(shared, "gemmcl-context")


def get_cl(element, name="cl_context"):
    shared = query(element)
    pointer = shared and get_field(shared, name)
    return None if pointer is None else hash(pointer)


class Line:
    """Elements in a bin, which counts messages about contexts. "closed" forwards no queries."""

    def __init__(self, text, offered=None):
        """offered: the context with which the application answers need-context."""
        self.bin = Gst.parse_bin_from_description(text, False)
        self.bus = Gst.Bus.new()
        self.bin.set_bus(self.bus)
        self.needed = self.announced = 0
        self.bus.enable_sync_message_emission()
        self.bus.connect("sync-message::need-context", self.need, offered)
        self.bus.connect("sync-message::have-context", self.announce)
        for name in ("sink", "src") if "closed" in text else ():
            self["closed"].get_static_pad(name).add_probe(
                Gst.PadProbeType.QUERY_BOTH, lambda _pad, info: (
                    Gst.PadProbeReturn.DROP if info.get_query().type == Gst.QueryType.CONTEXT
                    else Gst.PadProbeReturn.OK))

    def need(self, _bus, message, offered):
        self.needed += 1
        if offered:
            share(message.src, offered)

    def announce(self, _bus, _message):
        self.announced += 1

    def __getitem__(self, name):
        return self.bin.get_by_name(name)

    def was_given(self, name):
        return self[name].get_context("OpenCL") is not None

    def stop(self):
        self.bin.set_state(Gst.State.NULL)
        self.bin.set_bus(None)


class Sharing(TestCase):
    def make_line(self, *arguments):
        line = Line(*arguments)
        self.addCleanup(line.stop)
        return line

    def open(self, *arguments):
        line = self.make_line(*arguments)
        self.set_state(line.bin, READY)
        return line

    def set_state(self, element, state):
        self.assertEqual(element.set_state(state), Gst.StateChangeReturn.SUCCESS)

    def make_context(self, device=0):
        made = c_void_p(ask("context_new", byref(Query(None, 0, str(device).encode()))))
        context = call("context_get_cl_context", made)
        get_device().cl.clRetainContext(c_void_p(context))
        get_device().lib.g_object_unref(made)
        self.addCleanup(get_device().cl.clReleaseContext, c_void_p(context))
        return context

    def get_info(self, context, name, place):
        status = get_device().cl.clGetContextInfo(
            c_void_p(context), name, ctypes.c_size_t(ctypes.sizeof(place)), byref(place), None)
        self.assertEqual(status, 0)
        return place.value

    def count(self, context):
        return self.get_info(context, REFERENCE_COUNT, ctypes.c_uint())

    def test_pair(self):
        """a and b have the same context. One makes and announces it; the other gets it from that
        element, or from the bin, which keeps announced contexts. GStreamer opens the last element
        of a line first, so the other element asks downstream."""
        for text, by_bin in [
                ("gemmcl name=a ! gemmcl name=b", False),
                ("gemmcl name=a ! queue ! tee ! identity ! queue ! gemmcl name=b", False),
                (CLOSED, True), ("gemmcl name=a  gemmcl name=b", True)]:
            with self.subTest(text=text):
                line = self.make_line(text)
                self.assertIsNone(query(line["a"]))
                self.set_state(line.bin, READY)
                self.assertTrue(get_cl(line["a"]))
                self.assertEqual(get_cl(line["a"]), get_cl(line["b"]))
                self.assertEqual((line.needed, line.announced), (1, 1))
                self.assertEqual(line.was_given("a") + line.was_given("b"), by_bin)

    def test_upstream(self):
        line = self.make_line("gemmcl name=a ! queue ! gemmcl name=b")
        self.set_state(line["a"], READY)
        self.assertIsNone(query(line["b"]))
        self.set_state(line.bin, READY)
        self.assertEqual(get_cl(line["a"]), get_cl(line["b"]))
        self.assertEqual((line.needed, line.announced), (1, 1))
        self.assertFalse(line.was_given("b"))

    def test_application(self):
        """Two pipelines have the application's context, one by asking, and share programs, too."""
        context = self.make_context()
        is_set, asks = self.make_line(CLOSED), self.make_line(CLOSED, context)
        share(is_set.bin, context)
        for line, needed in (is_set, 0), (asks, 2):
            self.set_state(line.bin, READY)
            self.assertEqual((line.needed, line.announced), (needed, 0))
        elements = [line[name] for line in (is_set, asks) for name in "ab"]
        self.assertEqual(set(map(get_cl, elements)), {context})
        self.assertEqual(len(set(map(get_object, elements))), 1)

    def test_process(self):
        """Pipelines of a process share a context, but not one given to a single pipeline."""
        context, given = self.make_context(), self.make_line("gemmcl name=a")
        share(given.bin, context)
        self.set_state(given.bin, READY)
        one, other = (get_cl(self.open("gemmcl name=a")["a"]) for _ in range(2))
        self.assertEqual(get_cl(given["a"]), context)
        self.assertNotEqual(one, context)
        self.assertEqual(one, other)

    def test_two_devices(self):
        """The application's context is on the second device, which element a does not select."""
        self.needs_two_devices()
        context = self.make_context(1)
        line = self.make_line("gemmcl name=a device=0 ! gemmcl name=b device=1 ! gemmcl name=c")
        share(line.bin, context)
        self.set_state(line.bin, READY)
        self.assertTrue(get_cl(line["a"]))
        self.assertEqual([get_cl(line[name]) == context for name in "abc"], [False, True, True])
        line = self.open("gemmcl name=a device=0 ! gemmcl name=b device=1 ! "
                         "gemmcl name=c device=0")
        self.assertEqual(get_cl(line["a"]), get_cl(line["c"]))
        self.assertNotEqual(get_cl(line["a"]), get_cl(line["b"]))

    def answer(self, pad, shared):
        is_src = pad.direction == Gst.PadDirection.SRC
        end = Gst.Pad.new("end", Gst.PadDirection.SINK if is_src else Gst.PadDirection.SRC)
        answer(end, Gst.QueryType.CONTEXT, lambda asked: asked.set_context(shared))
        end.set_active(True)
        (pad.link(end) if is_src else end.link(pad))
        self.addCleanup(end.set_active, False)  # a link does not hold a reference

    def test_useless(self):
        """A GstContext of another type or with wrong fields is ignored; "OpenCL" is logged."""
        thing = GObject.Object()
        pointer = hash(thing)
        for fields in ({"ocl_context": (GObject.TYPE_POINTER, pointer),
                        "gemmcl-context": (GObject.TYPE_OBJECT, pointer)},
                       {"cl_context": (GObject.TYPE_INT, 3),
                        "gemmcl-context": (GObject.TYPE_POINTER, 0)}):
            for kind, pad in [("OpenCL", None), ("gst.gl.GLDisplay", None), ("OpenCL", "src"),
                              ("OpenCL", "sink")]:
                with self.subTest(kind=kind, pad=pad, fields=fields):
                    useless = make_shared(kind, **fields)
                    line = self.make_line("gemmcl name=a weight=[1]")
                    if pad:
                        self.answer(line["a"].get_static_pad(pad), useless)
                    else:
                        line.bin.set_context(useless)
                    with collect_log("gemmcl", Gst.DebugLevel.WARNING) as lines:
                        self.set_state(line.bin, READY)
                    words = 'is not taken: it has no pointer "cl_context"'
                    self.assertEqual(any(words in text for text in lines), kind == "OpenCL")
                    context = get_cl(line["a"])
                    self.assertTrue(context)
                    self.assertEqual(line.announced, 1)
                    line["a"].set_context(useless)
                    self.set_state(line.bin, PAUSED)
                    self.assertEqual(get_cl(line["a"]), context)

    def test_set_later(self):
        """A context that is set on an open element is used from the next start of streaming."""
        context, line = self.make_context(), self.open("gemmcl name=a weight=[1]")
        before = get_cl(line["a"])
        share(line.bin, context)
        self.assertEqual(get_cl(line["a"]), before)
        self.set_state(line.bin, PAUSED)
        self.assertEqual(get_cl(line["a"]), context)

    def test_set_other_device(self):
        """So is one of the same OpenCL context that names another device."""
        self.needs_two_devices()
        devices = [self.get_info(self.make_context(i), DEVICES, c_void_p()) for i in range(2)]
        opencl = get_device().cl
        opencl.clCreateContext.restype = c_void_p
        context = opencl.clCreateContext(None, 2, (c_void_p * 2)(*devices), None, None, None)
        self.addCleanup(opencl.clReleaseContext, c_void_p(context))
        line = self.open("gemmcl name=a weight=[1]")
        for device in devices:
            line.bin.set_context(make_shared(cl_context=(GObject.TYPE_POINTER, context),
                                             cl_device_id=(GObject.TYPE_POINTER, device)))
            self.set_state(line.bin, PAUSED)
            self.assertEqual(get_cl(line["a"], "cl_device_id"), device)
            self.set_state(line.bin, READY)

    def test_lifetime(self):
        """A GstContext keeps its OpenCL context alive. After the last reference nothing is left."""
        gone = []
        line = self.open("gemmcl name=a ! gemmcl name=b")
        shared, context = query(line["a"]), get_cl(line["a"])
        get_object(line["a"]).weak_ref(gone.append, True)
        line.stop()
        del line
        self.doCleanups()
        gc.collect()
        self.assertFalse(gone)
        self.assertGreater(self.count(context), 0)
        del shared
        gc.collect()
        self.assertTrue(gone)

    def test_application_lifetime(self):
        """In the end only the application holds a reference to its context."""
        context = self.make_context()
        before = self.count(context)
        for _ in range(3):
            line = self.make_line("gemmcl name=a ! gemmcl name=b")
            share(line.bin, context)
            self.set_state(line.bin, READY)
            self.assertEqual(get_cl(line["b"]), context)
            line.stop()
            del line
        gc.collect()
        self.assertEqual(self.count(context), before)

    def has_weights(self, context, count):
        """The devices hold this many weights, some time after the exchange."""
        self.wait_for(lambda: count_weights(context)[0] == count)

    def test_weights(self):
        """Two elements with one weight file and different frame sizes share one weight buffer."""
        np.save(f"{self.folder}/w.npy", np.arange(1, 10, dtype="f4").reshape(3, 3))
        one, other = (self.start(video("RGB", *size), f"gemmcl weight={self.folder}/w.npy")
                      for size in ((6, 4), (3, 8)))
        thing = get_object(one.element)
        self.assertIs(get_object(other.element), thing)
        context = c_void_p(hash(thing))
        self.has_weights(context, 1)
        # The next buffer exchanges the weights.
        other.element.props.weight = "[[1,0,0],[0,1,0],[0,0,1]]"
        self.assertEqual(other.push(bytes(8 * 12)), OK)
        self.has_weights(context, 2)
        for stream, left in (one, 1), (other, 0):
            stream.stop()
            self.has_weights(context, left)


class Devices(TestCase):
    """Several devices in one element: selection, turns, memory. flow.py and faults.py have more."""

    def setUp(self):
        super().setUp()
        self.needs_two_devices()

    def test_turns(self):
        stream = self.start(ONE, GEMMCL)
        for _ in range(10):
            self.run_one(stream, NUMBER)
        devices = stream.get_stat("devices")
        self.assertEqual([device.get_value("buffers") for device in devices], [5, 5])
        self.assertEqual(stream.get_stat("buffers"), 10)
        for name in "kernel-time", "compile-time":
            times = [device.get_value(name) for device in devices]
            self.assertGreater(min(times), 0)
            self.assertEqual(stream.get_stat(name), sum(times))
        for device in devices:
            self.assertTrue(device.get_value("kernel"))
            self.assertEqual(device.get_value("device"), stream.get_stat("device"))
            self.assertFalse(device.get_value("failed"))
        self.is_quiet(stream)

    def test_lists(self):
        """Each device of a list is used once; a list with one device is that device alone."""
        for devices, count in [("all", 2), ("0,1", 2), ("1, 0", 2), ("ALL,0", 2), ("1", 0),
                               ("1,1", 0), ("", 0)]:
            with self.subTest(devices=devices):
                stream = self.start(ONE, f'gemmcl weight=[2] devices="{devices}"')
                self.assertEqual(len(stream.get_stat("devices") or []), count)

    def test_wrong_lists(self):
        for settings, words in [("devices=0,77777", "device 77777|Available"),
                                ("devices=0,", "empty entry"), ("devices=nobody", "device nobody"),
                                ("devices=all kernel=none", "none")]:
            stream = self.make(f"gemmcl weight=[2] {settings}")
            self.assertEqual(stream.element.set_state(READY), FAILURE)
            self.says(stream, words)

    def test_memory(self):
        """With several devices outputs are in system memory, if downstream accepts it."""
        stream = self.make(GEMMCL, "other/tensors(memory:OpenCL)")
        self.assertFalse(stream.play(ONE))
        self.says(stream, "several|system memory")
        stream = self.start(ONE, GEMMCL, "other/tensors(memory:OpenCL);other/tensors")
        self.assertEqual(self.run_one(stream, NUMBER), (2 * NUMBER).tobytes())
        self.gives(stream, "other/tensors")
        # Downstream has system memory, but accepts no caps.
        stream = self.make(GEMMCL)
        answer(stream.sink, Gst.QueryType.ACCEPT_CAPS,
               lambda query: query.set_accept_caps_result(False))
        self.assertFalse(stream.play(ONE))
        self.says(stream, "Downstream does not accept|downstream expects ANY")

    def test_downstream(self):
        """Downstream restricts a field that the output's caps do not have."""
        mask = "channel-mask=(bitmask)0"
        stream = self.start(audio("F32LE", 1), "gemmcl devices=all weight=[[1,2,3]]",
                            f"audio/x-raw,{mask}")
        self.assertEqual(self.run_one(stream, NUMBER), np.float32([1, 2, 3]).tobytes())
        self.gives(stream, f"audio/x-raw,channels=3,{mask}")


main()
