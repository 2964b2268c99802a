# SPDX-License-Identifier: LGPL-2.1-or-later
"""The element's properties: their flags and texts, their table in docs/element.md, the tool's
options with the same values, and that setting one changes no other."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from stream import Gst, TestCase, main, np, tensors

READY, PLAYING = Gst.PARAM_MUTABLE_READY, Gst.PARAM_MUTABLE_PLAYING
MUTABLE = READY | Gst.PARAM_MUTABLE_PAUSED | PLAYING
DOCS = Path(__file__).parents[2] / "docs" / "element.md"
# The properties that are also options of the tool: the command, and its option.
OPTIONS = {"device-type": ("bench", "type"), "precision": ("bench", "precision"),
           "activation": ("run", "activation"), "normalize": ("run", "normalize"),
           "row-outputs": ("run", "row-outputs")}
STATS_TYPES = {"gchararray": "string", "guint64": "guint64", "gdouble": "gdouble"}
ELEMENT_ONLY = {("precision", "auto")}


def convert(value):
    if isinstance(value, Gst.ValueArray):
        return [convert(item) for item in value] or None
    return int(value) if isinstance(value, int) else value


def choose_other(spec):
    kind = spec.value_type.fundamental.name
    if spec.value_type.name == "GstValueArray":
        return Gst.ValueArray([Gst.ValueArray([1.0, 2.0])] if "matrix" in spec.name else [1.0, 2.0])
    if kind == "gchararray":
        return "something else"
    if kind in ("guint", "gint64"):
        return spec.maximum
    return not spec.default_value if kind == "gboolean" else int(spec.default_value) + 1


def get_nick(value):
    return getattr(value, "value_nick", None) or value.first_value_nick


def get_values(value):
    kind = type(value)
    return getattr(kind, "__enum_values__", getattr(kind, "__flags_values__", {}))


def get_text(value):
    """Returns the text of a value, as the table has it. Flags must be 0."""
    if values := get_values(value):
        return get_nick(values[int(value)]) if int(value) in values else "none"
    if isinstance(value, bool):
        return str(value).lower()
    if convert(value) is None:
        return "none"
    return value if isinstance(value, str) else f"{value:g}"


class Properties(TestCase):
    def setUp(self):
        super().setUp()
        self.element = Gst.ElementFactory.make("gemmcl")
        specs = [spec for spec in self.element.list_properties()
                 if spec.owner_type == self.element.__gtype__]
        self.assertTrue(specs)
        self.specs = {spec.name: spec for spec in specs}

    def read(self):
        return {name: convert(self.element.get_property(name)) for name in self.specs
                if name != "stats"}

    def test_set(self):
        """Each property reads back as it was set, and changes no other, but a matrix can be read in
        each of its forms, and beta's default depends on the addend. test_boxed has boxed ones."""
        defaults = {name: convert(getattr(spec, "default_value", None))
                    for name, spec in self.specs.items() if name != "stats"}
        self.assertEqual(self.read(), defaults)
        for name in defaults:
            if name.endswith("-boxed"):
                continue
            with self.subTest(name=name):
                value = choose_other(self.specs[name])
                self.element.set_property(name, value)
                expected = {**defaults, name: convert(value)}
                if name == "addend":
                    expected["beta"] = 1.0
                found = self.read()
                if name in ("weight-matrix", "bias-vector"):
                    boxed = name.split("-", maxsplit=1)[0] + "-boxed"
                    expected[boxed] = found[boxed]
                    self.assertIsNotNone(found[boxed])
                self.assertEqual(found, expected)
                self.setUp()

    def test_empty(self):
        for name in "kernel", "platform", "device":
            self.element.set_property(name, "")
            self.assertEqual(self.element.get_property(name), "auto")

    def test_quotes(self):
        """A pair of quotation marks, which GStreamer 1.22's parser keeps, is no part of a text."""
        texts = [name for name, spec in self.specs.items()
                 if spec.value_type.fundamental.name == "gchararray"]
        self.assertIn("weight", texts)
        for name in texts:
            for given, expected in (("'[[1, 2]]'", "[[1, 2]]"), ('"it\'s.npy"', "it's.npy"),
                                    ("''a''", "'a'"), ("'a", "'a"), ("a'", "a'"), ("'a\"", "'a\""),
                                    ("./'a'", "./'a'")):
                self.element.set_property(name, given)
                self.assertEqual(self.element.get_property(name), expected, name)
            self.element.set_property(name, "'")
            self.assertEqual(self.element.get_property(name), "'")

    def test_launch(self):
        """A line of a shell works in gst_parse_launch(), with its quotation marks."""
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/b w.npy", np.eye(2, dtype="f4"))
            element = Gst.parse_launch(
                f"gemmcl weight='[[1,2],[3,4]]' bias='{folder}/b w.npy' addend='[[1, 2]]' "
                "kernel='gemm_naive' input-scale='<1,2>' device='0'")
            for name, text in {"weight": "[[1,2],[3,4]]", "bias": f"{folder}/b w.npy",
                               "addend": "[[1, 2]]", "kernel": "gemm_naive",
                               "input-scale": "<1,2>", "device": "0"}.items():
                self.assertEqual(element.get_property(name), text)
            self.assertNotEqual(element.set_state(Gst.State.READY), Gst.StateChangeReturn.FAILURE)
            element.set_state(Gst.State.NULL)

    def test_flags(self):
        """Properties that may be set while playing, by text or flags, are mutable in PLAYING."""
        for name, spec in self.specs.items():
            with self.subTest(name=name):
                self.assertTrue(spec.flags & 1)
                playing = (spec.flags & Gst.PARAM_CONTROLLABLE or "set while playing" in spec.blurb)
                self.assertEqual(spec.flags & MUTABLE, 0 if not spec.flags & 2 else
                                 PLAYING if playing else READY)

    def test_table(self):
        """The table has each property with its default. `a`, `b` | 1, 0 stands for two."""
        section = DOCS.read_text(encoding="utf-8").split("\n## Properties\n")[1].split("\n## ")[0]
        table = {}
        for names, defaults in re.findall(r"^\| (`.*?) \| (.*?) ?\| .*\|$", section, re.M):
            names, defaults = re.findall(r"`([\w-]+)`", names), defaults.split(", ")
            table.update(zip(names, defaults * (len(names) if len(defaults) == 1 else 1)))
        self.assertEqual(table.pop("stats"), "")
        found = {name: get_text(self.element.get_property(name))
                 for name in self.specs if name != "stats"}
        self.assertEqual(table.items() ^ found.items(), set(), DOCS)

    def test_texts(self):
        for name, spec in self.specs.items():
            self.assertRegex(spec.blurb, r"(?s)^[A-Z].{10,}[^.\s]$", name)
            for value in get_values(self.element.get_property(name)).values():
                text = getattr(value, "value_name", None) or value.first_value_name
                self.assertTrue(text.strip(), f"{name}={get_nick(value)}")

    def test_class(self):
        """gst-inspect-1.0 begins with what must be set; abbreviations are explained."""
        factory = self.element.get_factory()
        text = factory.get_metadata("description")
        self.assertLess(text.index("property weight, which must be set"), 120)
        self.assertNotIn("GEMM ", factory.get_metadata("long-name") + text)

    def test_lines_of_stats(self):
        """Each field of the stats has a line in gst-inspect-1.0, with its type."""
        lines = self.specs["stats"].blurb.split("\n")[1:]
        documented = {name: kind for line in lines
                      for names, kind in [re.match(r"\t\t\t([\w, -]+) \((\w+)", line).groups()]
                      for name in names.split(", ")}
        self.assertEqual(documented.pop("devices"), "array")
        stats = self.element.get_property("stats")
        fields = [stats.nth_field_name(i) for i in range(stats.n_fields())]
        self.assertEqual(documented, {name: STATS_TYPES[stats.get_field_type(name).name]
                                      for name in fields})

    def test_options(self):
        """The help of the tool's options names the values of the properties."""
        tool = shutil.which("gemmcl")
        if not tool:
            self.skipTest("built without the tool")
        for name, (command, option) in OPTIONS.items():
            said = subprocess.run([tool, command, "--help"], capture_output=True, text=True,
                                  check=True).stdout
            (text,) = re.findall(rf"--{option}\b(.*?)(?=\n +(?:-\w, )?--|\n\n)", said, re.S)
            for word in map(get_nick, get_values(self.element.get_property(name)).values()):
                if (name, word) not in ELEMENT_ONLY:
                    self.assertRegex(text, rf"(?<![\w-]){word}(?![\w-])", name)

    def test_beta(self):
        """The default of beta is 0, and 1 with an addend."""
        for addend, beta in [("[10]", 1), ("", 0)]:
            self.element.set_property("addend", addend)
            self.assertEqual(self.element.get_property("beta"), beta)

    def test_late(self):
        """A property that needs READY is set while streaming: one warning names it. The value is
        used from the next start on. Equal values, and other properties, cause no warning."""
        stream = self.start(tensors("1:1"), "gemmcl weight=[-2]")
        for name, spec in self.specs.items():
            if not spec.flags & READY:
                continue
            with self.subTest(name=name):
                before = stream.element.get_property(name)
                stream.element.set_property(name, before)
                self.is_quiet(stream)
                stream.element.set_property(name, choose_other(spec))
                self.says(stream, f"The property {name} was|starts again|NULL or READY",
                          kind=Gst.MessageType.WARNING)
                self.assertEqual(convert(stream.element.get_property(name)),
                                 convert(choose_other(spec)))
                for value in before, choose_other(spec), before:
                    stream.element.set_property(name, value)
                    self.is_quiet(stream)
        stream.element.props.alpha = 3
        stream.element.props.activation = "relu"
        self.is_quiet(stream)
        for result in -6, 0:
            found = self.run_one(stream, np.ones(1, "f4"))
            self.assertEqual(np.frombuffer(found, "f4").tolist(), [result])
            stream.element.set_state(Gst.State.READY)
            self.assertTrue(stream.play(tensors("1:1")))
        stream.element.props.activation = "none"
        self.says(stream, "The property activation was", kind=Gst.MessageType.WARNING)
        stream.element.set_state(Gst.State.READY)
        stream.element.props.top_k = 3
        self.is_quiet(stream)

    def test_boxed(self):
        """Boxed matrices and arrays can be set while playing; wrong ones are refused."""
        Gst.util_set_object_arg(self.element, "weight-matrix", "<<3>,<4>>")
        Gst.util_set_object_arg(self.element, "bias-vector", "<3>")
        stream = self.make("gemmcl")
        for name in "weight-boxed", "bias-boxed":
            stream.element.set_property(name, self.element.get_property(name))
        self.assertTrue(stream.play(tensors("2:1")))
        for name, value, words in [
                ("weight-boxed", self.element.get_property("bias-boxed"), "K = 2|has K = 1"),
                ("weight-matrix", "<<1>,<2,3>>", "weight-matrix|old one stays|Row 1")]:
            if name.endswith("boxed"):
                stream.element.set_property(name, value)
            else:
                Gst.util_set_object_arg(stream.element, name, value)
            found = self.run_one(stream, np.ones(2, "f4"))
            self.assertEqual(np.frombuffer(found, "f4").tolist(), [10])
            self.says(stream, words, kind=Gst.MessageType.WARNING)
        self.assertIsNone(stream.element.get_property("weight"))
        self.assertEqual(convert(stream.element.get_property("weight-matrix")), [[3], [4]])


main()
