# SPDX-License-Identifier: LGPL-2.1-or-later
"""The charts of tools/plot.py show the results, with names and units. TAP out."""

import json
import math
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import tool

try:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text
except ImportError:
    tool.skip_all("matplotlib is not installed (python3-matplotlib)")
sys.path.append(str(Path(__file__).parents[2] / "tools"))
import plot

ROW = {
    "device": "A $5_GPU^2$", "precision": "f32", "layout": "row", "trans_a": False,
    "trans_b": False, "beta": 0, "iterations": 2, "peak_gflops": 200.0, "peak_source": "5 x 40 MHz",
    "bandwidth_gbs": 10.0, "bandwidth_source": "set with --bandwidth",
}
SUBTITLE = "A $5_GPU^2$. f32, row-major, "
SHAPE = "M × N × K = "


def row(name, size, gflops, **changes):
    sizes = {"m": size, "n": size, "k": size}
    return {**ROW, **sizes, "requested": name, "kernel": name, "gflops": gflops, **changes}


def texts_of(axes):
    """The boxes of texts in pixels, without their arrows; None for texts at oblique angles."""
    texts = [*axes.texts, *axes.xaxis.get_ticklabels(), *axes.yaxis.get_ticklabels(),
             axes.xaxis.label, axes.yaxis.label]
    return {t.get_text(): Text.get_window_extent(t) if t.get_rotation() in (0, 90) else None
            for t in texts if t.get_text()}


class Chart(tool.FolderTestCase):
    def draw(self, chart, rows, *expected):
        with matplotlib.rc_context(plot.STYLE):
            figure = chart(plot.Results(rows))
            figure.set_canvas(FigureCanvasAgg(figure))
            figure.canvas.draw()
        axes, = figure.axes
        tables = [texts_of(one) for one in (axes, *axes.child_axes)]
        boxes = [item for table in tables for item in table.items() if item[1]]
        for i, (text, box) in enumerate(boxes):
            self.assertEqual(box.count_overlaps([other for _, other in boxes[:i]]), 0, text)
        texts = {text: box for table in tables for text, box in table.items()}
        for text in expected:
            self.assertIn(text, "\n".join(texts) if text.endswith(".") else texts)
        return axes, texts

    def lines(self, axes):
        return {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}

    def has_peak(self, axes):
        return any(set(line.get_ydata()) == {200} for line in axes.get_lines())


class Lines(Chart):
    def test_a_line_for_each_kernel(self):
        rows = [row(name, size, size / (8 + i), kernel=kernel) for size in (32, 64, 256)
                for i, (name, kernel) in enumerate((("auto", "fast"), ("b", "b"), ("c", "c")))]
        labels = ("auto: fast 32.0", "b 28.4", "c 25.6")
        axes, texts = self.draw(
            plot.lines_chart, rows, "GEMM speed by matrix size", "The f32 peak: 5 x 40 MHz.",
            "32", "64", "256", SUBTITLE + "median of 2 runs", "f32 peak 200 GFLOPS",
            "Speed (GFLOPS)", f"Matrix size s ({SHAPE}s × s × s)", *labels
        )
        for name in ("auto: fast", "b", "c"):
            points = [[r["m"], r["gflops"]] for r in rows if r["requested"] == name.split(":")[0]]
            self.assertEqual(self.lines(axes)[name], points)
        places = [texts[label].y0 for label in labels]
        self.assertEqual(places, sorted(places, reverse=True))
        self.assertEqual((axes.get_xscale(), axes.get_ylim()[0]), ("log", 0))
        self.assertTrue(self.has_peak(axes))

    def test_a_choice_that_varies(self):
        rows = [row("auto", size, size, kernel=f"for_{size}", n=9, layout="col", trans_b=True,
                    beta=1, iterations=1) for size in (20, 30)]
        axes, _ = self.draw(
            plot.lines_chart, rows, "auto 30.0", f"Matrix size s ({SHAPE}s × 9 × s)",
            "A $5_GPU^2$. f32, column-major, B transposed, C added, median of 1 run"
        )
        self.assertEqual(axes.get_xscale(), "linear")

    def test_many_sizes_and_kernels(self):
        sizes = range(32, 257, 8)
        rows = [row(f"kernel_{i}", size, 30 - i) for size in sizes for i in range(30)]
        for chart in plot.lines_chart, plot.roofline_chart:
            axes, texts = self.draw(chart, rows, "32", "256", "kernel_7 23.0",
                                    "Grey: 22 others, which were slower at their last points.")
            self.assertNotIn("kernel_8 22.0", texts)
            self.assertGreater(texts["kernel_7 23.0"].y1, axes.bbox.y0)
            axis = (*axes.child_axes, axes)[0].xaxis
            self.assertEqual(len(axis.get_ticklocs()), len(sizes))

    def test_peaks(self):
        for changes, note, stated in (
            ({"peak_gflops": None, "peak_source": "unknown: no clock"},
             "The f32 peak is unknown: no clock; --peak of gemmcl bench sets it.", False),
            ({"peak_source": "set with --peak"}, "The peak: set with --peak.", True),
        ):
            rows = [row("one", size, 1, **changes) for size in (16, 32)]
            for chart in plot.lines_chart, plot.bars_chart, plot.roofline_chart:
                bars = chart == plot.bars_chart
                axes, texts = self.draw(chart, rows[:1] if bars else rows, note)
                self.assertEqual("peak 200 GFLOPS" in texts, stated)
                self.assertEqual(bars or self.has_peak(axes), bars or stated)

    def test_peaks_of_several_precisions(self):
        """The line is the highest peak; shares are those of the row's own."""
        rows = [row("one", 16, 50), row("two", 16, 900, precision="bf16", peak_gflops=1000.0),
                row("three", 16, 70, precision="i8", peak_gflops=None, peak_source="unknown: why")]
        notes = ("The f32 peak: 5 x 40 MHz.\nThe bf16 peak: 5 x 40 MHz.\nThe i8 peak is unknown: "
                 "why; --peak of gemmcl bench sets it.")
        _, texts = self.draw(plot.bars_chart, rows, "bf16 peak 1000 GFLOPS", "25.0 %", "90.0 %",
                             "unknown", notes)
        self.assertNotIn("f32 peak 200 GFLOPS", texts)
        with self.assertRaisesRegex(ValueError, "differ in peak_gflops"):
            plot.Results([row("one", 16, 50), row("two", 16, 50, peak_gflops=1000.0)])


class Bars(Chart):
    def test_the_fastest_first(self):
        for n in 3, 40:
            rows = [row(f"kernel_{i}", 48, 50 + i) for i in range(n)] + [row("no_time", 48, None)]
            axes, _ = self.draw(
                plot.bars_chart, rows, "GEMM speed by kernel", "Speed (GFLOPS)", "GFLOPS",
                "of peak", "52.0", "26.0 %", f"{SUBTITLE}{SHAPE}48 × 48 × 48, median of 2 runs"
            )
            ranked = [(50 + i, f"kernel_{i}") for i in reversed(range(n))]
            widths = [bar.get_width() for bar in axes.patches]
            names = [text.get_text() for text in axes.get_yticklabels()]
            self.assertEqual(list(zip(widths, names)), ranked)
            self.assertGreater(*(bar.get_window_extent().y0 for bar in axes.patches[:2]))


class Roofline(Chart):
    def test_points_under_a_roof(self):
        rows = [row(name, size, size, beta=1, precision=precision, **stored)
                for size in (16, 32, 256)
                for name, precision, stored in (("a", "f32", {}), ("b", "f16", {"a_type": "f32"}),
                                                ("c", "f32", {"a_type": "u8"}))]
        axes, _ = self.draw(
            plot.roofline_chart, rows, "GEMM roofline", "Arithmetic intensity (FLOP/byte)",
            "memory 10.0 GB/s", f"Matrix size s ({SHAPE}s × s × s)", "f32 peak 200 GFLOPS", "16",
            "256", "The f32 peak: 5 x 40 MHz.\nThe f16 peak: 5 x 40 MHz.\nMemory: set with "
            "--bandwidth."
        )
        for name, bytes_per_element in (("a", 16), ("b", 14), ("c", 13)):
            points = [[2 * size / bytes_per_element, size] for size in (16, 32, 256)]
            self.assertEqual(self.lines(axes)[name], points)
        (low, rate), = (line[0] for line in self.lines(axes).values() if line[-1] == [20, 200])
        self.assertTrue(math.isclose(rate, 10 * low) and low < 2)
        rows[0]["gflops"] = 40
        note = "Points above the slope: matrices that were in caches."
        self.draw(plot.roofline_chart, rows, note)


class Script(tool.FolderTestCase):
    def plot(self, results, *arguments):
        command = [sys.executable, plot.__file__, "-", *arguments]
        return subprocess.run(command, input=json.dumps(results), capture_output=True, text=True,
                              check=False)

    def test_charts_of_bench(self):
        results = self.read("bench", "--sweep", "16,32", "-k", "naive", "-i", 1, "--bandwidth", 10,
                            "--json", "-")
        results = [{**one, "device": ROW["device"]} for one in results]
        charts = []
        for name, *options in (("a.svg",), ("b.svg",), ("c.png",), ("d.svg", "--roofline")):
            said = self.plot(results, self.path(name), *options)
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            charts.append(Path(self.path(name)).read_bytes())
        self.assertEqual(self.plot(results, "-").stdout.encode(), charts[0])
        self.assertEqual(charts.pop(2)[:4], b"\x89PNG")
        first, second, roofline = (
            [(element.get("id"), element.text) for element in ElementTree.fromstring(chart).iter()]
            for chart in charts)
        self.assertEqual(first, second)
        for chart, text in ((first, ROW["device"]), (roofline, "GEMM roofline")):
            self.assertIn(text, "".join(words or "" for _, words in chart))

    def test_refusals(self):
        one, two = row("a", 8, 1.0), row("a", 16, 1.0)
        for says, results, *arguments in (
            ("no measured speed", []), ("no measured speed", [row("a", 8, None)]),
            ("not from gemmcl bench", [{}]),
            ("differ in device", [one, {**two, "device": "another"}]),
            ("more than one size", [one, {**two, "k": 5}]),
            ("needs --bandwidth", [{**one, "bandwidth_gbs": None}], "--roofline"),
        ):
            said = self.plot(results, self.path("chart.svg"), *arguments)
            self.assertRegex(said.stderr, f"^gemmcl-plot: <stdin> .*{says}.*\n$")
            self.assertEqual(said.returncode, 1)
        path = self.path("none/chart.svg")
        said = self.plot([one], path)
        self.assertEqual((said.returncode, said.stderr), (
            1, f"gemmcl-plot: {path} cannot be written: No such file or directory\n"))
        said = self.plot([one], self.path("chart.text"))
        self.assertRegex(said.stderr, "^gemmcl-plot: <stdin> .*'text' is not supported.*\n$")
        self.assertFalse(Path(self.path("chart.text")).exists())

    def test_reproducible(self):
        """A PDF has no date; a name without a suffix is that of an SVG."""
        results = [row("a", 8, 1.0)]
        for name in "pdf", "b":
            said = self.plot(results, self.path(f"chart.{name}" if name == "pdf" else name))
            self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertNotIn(b"CreationDate", Path(self.path("chart.pdf")).read_bytes())
        self.assertEqual(ElementTree.parse(self.path("b")).getroot().tag.split("}")[1], "svg")


tool.main()
