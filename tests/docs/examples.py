# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds and runs the programs of docs/examples and docs/library.md, and checks their results. TAP
out. usage: examples.py EXAMPLES LIBRARIES VALAC COMPILER..., where VALAC may be empty.

PKG_CONFIG_PATH, XDG_DATA_DIRS and GI_TYPELIB_PATH have the .pc files, the .vapi and the typelib, as
in `meson devenv`; the compilers get no other option to find gemmcl."""

import contextlib
import importlib
import os
import sys
import tempfile
from pathlib import Path

import tap

EXAMPLES, LIBRARIES, VALAC, *COMPILER = sys.argv[1:]
RESULTS = "4.5 0\n10.5 0\n14.5 0\n10.5 0\n"  # A B + bias by hand
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def load(name):
    """Returns an example in Python as a module, with the names of weights.py."""
    if "GI_TYPELIB_PATH" not in os.environ:
        raise tap.Skipped(
            "the build has no typelib (gobject-introspection, libgirepository1.0-dev)")
    sys.path.insert(0, EXAMPLES)
    try:
        module = importlib.import_module(name)
    except (ImportError, ValueError) as error:
        raise tap.Skipped(
            f"{error} (python3-gst-1.0, gir1.2-gstreamer-1.0, python3-numpy)") from error
    if not hasattr(module.Gst.Memory, "map") or "gi.overrides.Gst" not in sys.modules:
        raise tap.Skipped("GStreamer has no overrides for Python (python3-gst-1.0)")
    return module


def run(compiler, example, *options, arguments=()):
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program")
        tap.require(*compiler, Path(EXAMPLES, example), *options, "-o", program)
        return tap.require(program, *arguments, stderr=None,
                           env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES})


def run_c(example, package, *arguments):
    flags = tap.require("pkg-config", "--cflags", "--libs", package, stderr=None).split()
    return run([*COMPILER, *WARNINGS], example, *flags, arguments=arguments)


def c_multiplies():
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "multiply.c")
        source.write_text(tap.read_block(Path(EXAMPLES).parent / "library.md", "c"),
                          encoding="utf-8")
        tap.expect(run_c(source, "gemmcl-1.0"), RESULTS)


def c_multiplies_a_batch():
    for kernel, precision in ("gemm_naive", "f32"), ("vector_i8_4x64_1x1", "i8"):
        tap.expect(run_c("batch.c", "gemmcl-1.0", kernel),
                   f"8 x 16 x 32 results of {precision}: within the error bound\n")


def vala_multiplies():
    if not VALAC:
        raise tap.Skipped("there is no valac, or the build has no .vapi (valac, introspection)")
    tap.expect(run([VALAC], "multiply.vala", "--pkg", "gemmcl-1.0"), RESULTS)


def an_application_shares_its_context():
    grey = 0.25 * 0x20 + 0.5 * 0x40 + 0.25 * 0x60
    tap.expect(run_c("share.c", "gstgemmcl-1.0"), f"{grey:.0f}\n" * 2)


def python_replaces_weights():
    example = load("weights")
    numpy = example.np
    frame = (numpy.arange(example.ROWS * example.FEATURES) % 7).reshape(example.ROWS, -1)
    generator = numpy.random.default_rng(1)
    expected = ""
    for number in range(3):
        d = frame @ generator.integers(-4, 5, (example.FEATURES, example.CLASSES))
        for row in d:
            expected += f"weight {number}: class {row.argmax()} with {row.max()}\n"
    said = tap.require(sys.executable, Path(EXAMPLES, "weights.py"))
    tap.expect(said, expected)


def python_lines_replace_weights():
    """Each line of element.md replaces the weight while the pipeline plays."""
    example = load("weights")
    Gst, np = example.Gst, example.np
    Gst.init(None)
    pipeline = Gst.parse_launch("videotestsrc is-live=true ! video/x-raw,format=RGB ! gemmcl "
                                "name=layer weight=[[1,0,0],[0,1,0],[0,0,1]] ! fakesink")
    names = {"Gst": Gst, "pipeline": pipeline, "w": np.arange(9, dtype="f4").reshape(3, 3) / 8}
    get_layer, *setters = tap.read_block(Path(EXAMPLES).parent / "element.md",
                                         "python live").splitlines()
    exec(get_layer, names)
    weights = [names["layer"].get_property("weight")]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        np.save("other.npy", np.eye(3, dtype="f4"))
        pipeline.set_state(Gst.State.PLAYING)
        pipeline.get_state(Gst.CLOCK_TIME_NONE)
        for setter in setters:
            exec(setter, names)
            weights.append(names["layer"].get_property("weight"))
        pipeline.set_state(Gst.State.NULL)
    # weight is None where the last line set weight-matrix.
    assert len(set(weights)) == len(weights) and weights[-1] is None, weights


def python_reads_without_a_copy():
    example = load("weights")
    example.Gst.init(None)
    memory = example.Gst.Buffer.new_wrapped(bytes(range(80))).peek_memory(0)
    with example.mapped(memory, 2) as one, example.mapped(memory, 2) as other:
        addresses = {array.__array_interface__["data"][0] for array in (one, other)}
        assert len(addresses) == 1 and one.shape == (10, 2), (addresses, one.shape)


def python_enrols_while_playing():
    """Each frame has the label and the cosine of the nearest frame that was named up to it."""
    example = load("enrol")
    sys.path.insert(0, str(example.DIGITS))
    demo = importlib.import_module("embeddings")
    with tempfile.TemporaryDirectory() as folder:
        tap.require("gst-launch-1.0", "multifilesrc", f"location={example.DIGITS}/images/%03d.png",
                    f"stop-index={example.FRAMES - 1}", "caps=image/png,framerate=30/1", "!",
                    "pngdec", "!", "filesink", f"location={folder}/pixels")
        pixels = example.np.fromfile(f"{folder}/pixels", "u1").reshape(example.FRAMES, -1)
    rows = demo.embed(demo.load_layers("fc1")[0], pixels)
    expected, named = "", []
    for number, row in enumerate(rows):
        named += [number] if number in example.TOLD else []
        cosine, label = max([(example.THRESHOLD, example.UNKNOWN)]
                            + [(row @ rows[other], example.TOLD[other]) for other in named])
        expected += f"frame {number}: {label} {cosine:.2f}\n"
    tap.expect(tap.require(sys.executable, Path(EXAMPLES, "enrol.py")), expected)


tap.play({check.__name__: check for check in (
    c_multiplies, c_multiplies_a_batch, vala_multiplies, an_application_shares_its_context,
    python_replaces_weights, python_lines_replace_weights, python_reads_without_a_copy,
    python_enrols_while_playing)})
