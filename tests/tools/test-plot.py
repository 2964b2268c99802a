#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The charts of tools/plot.py show the results, with names and units. TAP out."""

import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

try:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text
except ImportError:
    print("1..0 # SKIP matplotlib is not installed (python3-matplotlib)")
    sys.exit(0)

import tool

SCRIPT = Path(__file__).parents[2] / "tools" / "plot.py"
SPEC = importlib.util.spec_from_file_location("plot", SCRIPT)
plot = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plot)

ROW = {
    "device": "A $5_GPU^2$", "precision": "f32", "layout": "row", "trans_a": False,
    "trans_b": False, "beta": 0, "iterations": 2, "peak_gflops": 200.0, "peak_source": "5 x 40 MHz",
    "bandwidth_gbs": 10.0, "bandwidth_source": "set with --bandwidth",
}


def row(name, size, gflops, **changes):
    sizes = {"m": size, "n": size, "k": size}
    return {**ROW, **sizes, "requested": name, "kernel": name, "gflops": gflops, **changes}


def texts_of(axes):
    ticks = [*axes.xaxis.get_ticklabels(), *axes.yaxis.get_ticklabels()]
    return [t for t in (*axes.texts, *ticks, axes.xaxis.label, axes.yaxis.label) if t.get_text()]


def box_of(text):
    """The pixels of a text, without its arrow."""
    return Text.get_window_extent(text)


class Chart(tool.TestCase):
    def draw(self, chart, rows):
        """Returns the axes and all texts. No text covers another one."""
        with matplotlib.rc_context(plot.STYLE):
            figure = chart(plot.Results(rows))
            figure.set_canvas(FigureCanvasAgg(figure))
            figure.canvas.draw()
        axes, = figure.axes
        texts = texts_of(axes) + [t for child in axes.child_axes for t in texts_of(child)]
        boxes = [box_of(text) for text in texts if text.get_rotation() in (0, 90)]
        for i, box in enumerate(boxes):
            self.assertEqual(box.count_overlaps(boxes[:i]), 0, texts[i])
        return axes, [text.get_text() for text in texts]

    def shows(self, axes, rows, key):
        """The lines pass through the results."""
        for line in axes.get_lines():
            points = [r for r in rows if r["requested"] == line.get_label().split(":")[0]]
            if points:
                self.assertEqual(list(line.get_xdata()), [key(r) for r in points])
                self.assertEqual(list(line.get_ydata()), [r["gflops"] for r in points])

    def peaks(self, axes):
        return [line for line in axes.get_lines() if set(line.get_ydata()) == {200}]


class Lines(Chart):
    def test_a_line_for_each_kernel(self):
        rows = [row(name, size, size / (8 + i)) for size in (32, 64, 256)
                for i, name in enumerate(("auto", "slow", "slower"))]
        for one in rows:
            one["kernel"] = one["kernel"].replace("auto", "fast")
        axes, texts = self.draw(plot.lines_chart, rows)
        self.shows(axes, rows, lambda r: r["m"])
        self.assertEqual(len(axes.get_lines()), 4)
        for text in ("GEMM speed by matrix size", "The f32 peak: 5 x 40 MHz.", "32", "64", "256",
                     "A $5_GPU^2$. f32, row-major, median of 2 runs", "f32 peak 200 GFLOPS",
                     "Speed (GFLOPS)", "Matrix size s (M × N × K = s × s × s)", "auto: fast 32.0"):
            self.assertIn(text, texts)
        places = {t.get_text(): box_of(t).y0 for t in axes.texts}
        ends = [places[text] for text in ("auto: fast 32.0", "slow 28.4", "slower 25.6")]
        self.assertEqual(ends, sorted(ends, reverse=True))
        self.assertEqual((axes.get_xscale(), axes.get_ylim()[0]), ("log", 0))
        self.assertEqual(len(self.peaks(axes)), 1)

    def test_a_choice_that_varies(self):
        rows = [row("auto", size, size, kernel=f"for_{size}", n=9, layout="col", trans_b=True,
                    beta=1, iterations=1) for size in (20, 30)]
        axes, texts = self.draw(plot.lines_chart, rows)
        self.assertIn("auto 30.0", texts)
        self.assertIn("Matrix size s (M × N × K = s × 9 × s)", texts)
        subtitle = "A $5_GPU^2$. f32, column-major, B transposed, C added, median of 1 run"
        self.assertIn(subtitle, texts)
        self.assertEqual(axes.get_xscale(), "linear")

    def test_many_sizes_and_kernels(self):
        sizes = range(32, 257, 8)
        rows = [row(f"kernel_{i}", size, 30 - i) for size in sizes for i in range(30)]
        for chart in plot.lines_chart, plot.roofline_chart:
            axes, texts = self.draw(chart, rows)
            axis = axes.child_axes[0].xaxis if axes.child_axes else axes.xaxis
            self.assertEqual(len(axis.get_ticklocs()), len(sizes))
            self.assertTrue({"32", "256"} <= set(texts))
            note = "Grey: 22 others, which were slower at their last points."
            self.assertIn(note, "\n".join(texts))
            self.assertNotIn("kernel_8 22.0", texts)
            last, = (box_of(text) for text in axes.texts if text.get_text() == "kernel_7 23.0")
            self.assertGreater(last.y1, axes.bbox.y0)

    def test_peaks(self):
        for changes, note, n in (
            ({"peak_gflops": None, "peak_source": "unknown: no clock"},
             "The f32 peak is unknown: no clock; --peak of gemmcl bench sets it.", 0),
            ({"peak_source": "set with --peak"}, "The peak: set with --peak.", 1),
        ):
            rows = [row("one", size, 1, **changes) for size in (16, 32)]
            for chart in plot.lines_chart, plot.bars_chart, plot.roofline_chart:
                axes, texts = self.draw(chart, rows[:1] if chart == plot.bars_chart else rows)
                self.assertIn(note, "\n".join(texts))
                self.assertEqual("peak 200 GFLOPS" in texts, n == 1)
                if chart != plot.bars_chart:
                    self.assertEqual(len(self.peaks(axes)), n)


class Bars(Chart):
    def test_the_fastest_first(self):
        for n in 3, 40:
            rows = [row(f"kernel_{i}", 48, 50 + i) for i in range(n)] + [row("no_time", 48, None)]
            axes, texts = self.draw(plot.bars_chart, rows)
            self.assertEqual([bar.get_width() for bar in axes.patches],
                             [50 + i for i in reversed(range(n))])
            # The first is at the top.
            self.assertGreater(*(bar.get_window_extent().y0 for bar in axes.patches[:2]))
            self.assertEqual([text.get_text() for text in axes.get_yticklabels()],
                             [f"kernel_{i}" for i in reversed(range(n))])
            shape = "M × N × K = 48 × 48 × 48"
            for text in ("GEMM speed by kernel", "Speed (GFLOPS)", "of peak", "52.0", "26.0 %",
                         f"A $5_GPU^2$. f32, row-major, {shape}, median of 2 runs"):
                self.assertIn(text, texts)


class Roofline(Chart):
    def test_points_under_a_roof(self):
        rows = [row(name, size, size, beta=1, precision=precision) for size in (16, 32, 256)
                for name, precision in (("a", "f32"), ("b", "f16"))]
        axes, texts = self.draw(plot.roofline_chart, rows)
        self.shows(axes, rows, lambda r: 2 * r["m"] / (16 if r["requested"] == "a" else 14))
        slope, = (line for line in axes.get_lines() if line.get_xydata()[-1].tolist() == [20, 200])
        start = slope.get_xydata()[0]
        self.assertTrue(math.isclose(start[1], 10 * start[0]) and start[0] < 2)
        for text in ("GEMM roofline", "Arithmetic intensity (FLOP/byte)", "memory 10.0 GB/s", "16",
                     "Matrix size s (M × N × K = s × s × s)", "f32 peak 200 GFLOPS", "256",
                     "The f32 peak: 5 x 40 MHz.\nMemory: set with --bandwidth."):
            self.assertIn(text, texts)
        rows[0]["gflops"] = 40
        _, texts = self.draw(plot.roofline_chart, rows)
        self.assertRegex("\n".join(texts), "Points above the slope: matrices that were in caches.")


class Script(tool.TestCase):
    def plot(self, results, *arguments):
        return subprocess.run([sys.executable, SCRIPT, "-", *arguments], input=json.dumps(results),
                              capture_output=True, text=True, check=False)

    def test_charts_of_bench(self):
        results = self.read("bench", "--sweep", "16,32", "-k", "naive", "-i", 1, "--bandwidth", 10,
                            "--json", "-")
        results = [{**one, "device": ROW["device"]} for one in results]
        with tempfile.TemporaryDirectory() as folder:
            charts = [Path(folder, name) for name in ("a.svg", "b.svg", "c.png", "d.svg")]
            for chart in charts:
                said = self.plot(results, chart, *(["--roofline"] if chart == charts[3] else []))
                self.assertEqual((said.returncode, said.stderr), (0, ""))
            one, same, png, roofline = (chart.read_bytes() for chart in charts)
        self.assertEqual(one, same)
        self.assertEqual(png[:4], b"\x89PNG")
        self.assertIn(ROW["device"], "".join(ElementTree.fromstring(one).itertext()))
        self.assertIn("GEMM roofline", "".join(ElementTree.fromstring(roofline).itertext()))

    def test_refusals(self):
        one, two = row("a", 8, 1.0), row("a", 16, 1.0)
        for says, results, *arguments in (
            ("no measured rate", []),
            ("no measured rate", [row("a", 8, None)]),
            ("not from gemmcl bench", [{}]),
            ("differ in device", [one, {**two, "device": "another"}]),
            ("more than one size", [one, {**two, "k": 5}]),
            ("needs --bandwidth", [{**one, "bandwidth_gbs": None}], "--roofline"),
            ("No such file", [one]),
        ):
            said = self.plot(results, "/nonexistent/chart.svg", *arguments)
            self.assertRegex(said.stderr, f"^gemmcl-plot: <stdin> .*{says}.*\n$")
            self.assertEqual(said.returncode, 1)


if __name__ == "__main__":
    del Chart
    tool.main()
