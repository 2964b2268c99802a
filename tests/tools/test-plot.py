#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The charts of `gemmcl bench` show the measurements, with names and units. TAP out."""

import json
import math
import os
import re
import tempfile
from xml.etree import ElementTree

import tool

SVG = "{http://www.w3.org/2000/svg}"
KERNELS = ("gemm_naive", "vector_8x8_1x1", "tiled_4x4_8x8")
SQUARES = ("-M", 48, "-N", 48, "-K", 48)
# Minimum distance of two numbers on an axis, in pixels.
GAP = 20
POINT = re.compile(
    r"(\S+), (\d+) × (\d+) × (\d+): ([\d.]+) GFLOPS(?:, ([\d.]+) % of the (?:f32 )?peak)?"
)


def groups(root, name):
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == name]


def text_of(element):
    return "".join(element.itertext())


def labels(root):
    """Each text once, without the rims, which are texts, too."""
    return [text for text in root.iter(f"{SVG}text") if text.get("stroke") is None]


def place_of(text):
    return text.get("text-anchor"), float(text.get("x")), float(text.get("y"))


def ticks_of(root, anchor):
    """Numbers along an axis: (value, pixel). Those of the left axis are aligned to its end."""
    at = "y" if anchor == "end" else "x"
    left = min(float(t.get("x")) for t in labels(root) if t.get("text-anchor") == "end")
    bottom = max(
        float(t.get("y")) for t in labels(root)
        if t.get("text-anchor") == "middle" and re.fullmatch(r"[\d.]+", text_of(t))
    )
    on_axis = (lambda t: float(t.get("x")) == left) if at == "y" else (
        lambda t: float(t.get("y")) == bottom
    )
    return [
        (float(text_of(t)), float(t.get(at)) - (4 if at == "y" else 0)) for t in labels(root)
        if t.get("text-anchor") == anchor and on_axis(t)
    ]


def scale_of(ticks, function):
    """The map from values to pixels, from two numbers of an axis."""
    (low, start), (high, end) = ticks[0], ticks[-1]

    def place(value):
        part = (function(value) - function(low)) / (function(high) - function(low))
        return start + part * (end - start)

    return place


class Chart(tool.TestCase):
    def draw(self, option, *arguments, **environment):
        """Runs bench; returns the chart's root and the results."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "chart.svg")
            said = self.ends(
                0, "bench", "-i", 2, "--json", "-", option, path, *arguments, **environment
            )
            self.assertEqual(os.listdir(directory), ["chart.svg"])
            root = ElementTree.parse(path).getroot()
        self.assertEqual((root.tag, root.get("version")), (f"{SVG}svg", "1.1"))
        title, device, *_ = [text_of(text) for text in labels(root)]
        self.assertTrue(title.startswith("GEMM "), title)
        self.assertIn(json.loads(said.stdout)[0]["device"], device)
        self.assertIn("Speed (GFLOPS)", [text_of(text) for text in labels(root)])
        self.no_text_covers_another(root)
        return root, json.loads(said.stdout)

    def no_text_covers_another(self, root):
        """Texts in a column are at least a line apart, and texts in a line do not overlap."""
        texts = [text for text in labels(root) if text.get("transform") is None]
        for i, text in enumerate(texts):
            anchor, x, y = place_of(text)
            size = float(text.get("font-size"))
            self.assertTrue(0 <= x <= float(root.get("width")), text_of(text))
            self.assertTrue(size <= y <= float(root.get("height")), text_of(text))
            for other in texts[:i]:
                if place_of(other)[0] != anchor or abs(place_of(other)[2] - y) >= size:
                    continue
                self.assertGreaterEqual(
                    abs(place_of(other)[1] - x), GAP, f"{text_of(text)} covers {text_of(other)}"
                )

    def points_of(self, root):
        """(kernel, m, n, k) -> GFLOPS, and the share of the peak or None."""
        found = {}
        for group in groups(root, "series"):
            for title in list(group.iter(f"{SVG}title"))[1:]:
                kernel, *sizes, rate, share = POINT.fullmatch(title.text).groups()
                found[(kernel, *map(int, sizes))] = (float(rate), share and float(share))
        return found

    def shows(self, root, results):
        """The chart has the same values as the JSON."""
        points = self.points_of(root)
        self.assertEqual(len(points), len(results))
        for result in results:
            rate, share = points[tuple(result[key] for key in ("kernel", "m", "n", "k"))]
            self.assertAlmostEqual(rate, result["gflops"], delta=0.0051)
            if result["peak_gflops"] is None:
                self.assertIsNone(share)
            else:
                self.assertAlmostEqual(share, 100 * result["efficiency"], delta=0.051)

    def stands_where_it_says(self, root, get_x, x_function, y_function):
        """The lines match the axes' numbers and the points' tooltips."""
        x = scale_of(ticks_of(root, "middle"), x_function)
        y = scale_of(ticks_of(root, "end"), y_function)
        for group in groups(root, "series"):
            line, = group.iter(f"{SVG}polyline")
            at = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
            titles = list(group.iter(f"{SVG}title"))[1:]
            self.assertEqual(len(at), len(titles))
            for title, (place_x, place_y) in zip(titles, at):
                _, m, n, k, rate, _ = POINT.fullmatch(title.text).groups()
                # The effect of rounding to hundredths of GFLOPS.
                self.assertAlmostEqual(place_y, y(float(rate)), delta=1.5)
                self.assertAlmostEqual(place_x, x(get_x(int(m), int(n), int(k))), delta=0.1)


class Lines(Chart):
    def test_a_line_for_each_kernel(self):
        root, results = self.draw(
            "--plot", "--sweep", "16:128", "-k", ",".join(KERNELS), "--peak", "200"
        )
        self.shows(root, results)
        names = [group.find(f"{SVG}title").text for group in groups(root, "series")]
        self.assertEqual(sorted(names), sorted(KERNELS))
        texts = [text_of(text) for text in labels(root)]
        for kernel in KERNELS:
            self.assertEqual(sum(text.startswith(kernel) for text in texts), 1, texts)
        self.stands_where_it_says(root, lambda m, n, k: m, math.log, float)
        peak, = groups(root, "peak")
        self.assertEqual(text_of(labels(peak)[0]), "peak 200 GFLOPS")
        line, = peak.iter(f"{SVG}line")
        self.assertIsNotNone(line.get("stroke-dasharray"))
        y = scale_of(ticks_of(root, "end"), float)
        self.assertAlmostEqual(float(line.get("y1")), y(200), delta=0.1)
        # The axis begins at 0.
        self.assertEqual(ticks_of(root, "end")[0][0], 0)

    def test_sizes_that_are_near_stand_at_their_distances(self):
        root, results = self.draw(
            "--plot", "--sweep", "20:50:10", "-M", 9, "-k", KERNELS[1], "--layout", "col"
        )
        self.shows(root, results)
        self.stands_where_it_says(root, lambda m, n, k: n, float, float)
        # A peak computed from the device's properties, if it is known.
        for peak in groups(root, "peak"):
            self.assertRegex(text_of(labels(peak)[0]), r"^f32 peak [\d.]+ GFLOPS$")
            self.assertRegex(text_of(root), r"The f32 peak: \d.*\.")
        texts = [text_of(text) for text in labels(root)]
        self.assertIn("Matrix size s (M × N × K = 9 × s × s)", texts)
        self.assertIn("GEMM speed by matrix size", texts)
        self.assertTrue(texts[1].endswith(". f32, column-major, median of 2 runs"), texts[1])

    def test_the_first_and_the_last_size_have_a_number(self):
        """The first and the last size have a number, even if there is no room for all others."""
        for option in ("--plot", "--roofline"):
            root, _ = self.draw(
                option, "--sweep", "32:256:16", "-k", KERNELS[1], "-i", 1, "--bandwidth", "10",
                "--peak", "200"
            )
            texts = [text_of(text) for text in labels(root)]
            self.assertIn("32", texts)
            self.assertIn("256", texts)
            self.assertNotIn("240", texts)

    def test_an_unknown_peak_is_not_drawn(self):
        double = {"LD_PRELOAD": os.environ["GEMMCL_NO_CLOCK"]}
        for option in ("--plot", "--roofline"):
            arguments = ("--sweep", "16,32", "-k", KERNELS[1], "--bandwidth", "10")
            root, results = self.draw(option, *arguments, **double)
            self.assertIsNone(results[0]["peak_gflops"])
            self.shows(root, results)
            self.assertEqual(groups(root, "peak"), [])
            self.assertRegex(text_of(root), r"The f32 peak is unknown: .*; --peak sets it\.")
            root, _ = self.draw(option, "--peak", "50", *arguments, **double)
            self.assertEqual(len(groups(root, "peak")), 1)

    # No multiples of 4, so that the programs are those of other tests, which are compiled already.
    def test_many_kernels(self):
        root, results = self.draw("--plot", "--sweep", "7,13", "-k", "all", "-i", "1")
        self.shows(root, results)
        texts = [text_of(text) for text in labels(root)]
        others, = [text for text in texts if text.startswith("Grey: ")]
        hidden = int(others.split()[1])
        names = [group.find(f"{SVG}title").text for group in groups(root, "series")]
        shown = [name for name in names if any(text.startswith(name) for text in texts)]
        self.assertGreaterEqual(len(shown), 8)
        self.assertGreater(hidden, 0)

    def test_a_choice_that_varies_goes_by_its_own_name(self):
        root, results = self.draw("--plot", "--sweep", "1,64", "-k", "auto")
        title = groups(root, "series")[0].find(f"{SVG}title").text
        chosen = {result["kernel"] for result in results}
        self.assertEqual(title, "auto" if len(chosen) > 1 else f"auto: {chosen.pop()}")


class Bars(Chart):
    def test_sorted_with_parts_of_the_peak(self):
        root, results = self.draw(
            "--plot", *SQUARES, "-k", ",".join(KERNELS), "--peak", "1000"
        )
        self.shows(root, results)
        ranked = sorted(results, key=lambda result: -result["gflops"])
        bars = [group.find(f"{SVG}rect") for group in groups(root, "series")]
        self.assertEqual(
            [group.find(f"{SVG}title").text for group in groups(root, "series")],
            [result["kernel"] for result in ranked],
        )
        x = scale_of(ticks_of(root, "middle"), float)
        for bar, result in zip(bars, ranked):
            self.assertAlmostEqual(float(bar.get("x")), x(0), delta=0.1)
            self.assertAlmostEqual(float(bar.get("width")), x(result["gflops"]) - x(0), delta=0.1)
        texts = [text_of(text) for text in labels(root)]
        for result in results:
            self.assertIn(f"{100 * result['efficiency']:.1f} %", texts)
        self.assertEqual(len(groups(root, "peak")), 1)

    def test_every_kernel(self):
        root, results = self.draw("--plot", "-M", 7, "-N", 7, "-K", 7, "-i", 1, "-k", "all")
        self.shows(root, results)
        texts = [text_of(text) for text in labels(root)]
        for result in results:
            self.assertIn(result["kernel"], texts)


class Roofline(Chart):
    def test_points_under_a_roof(self):
        root, results = self.draw(
            "--roofline", "--sweep", "16:128", "-k", ",".join(KERNELS), "--peak", "200",
            "--bandwidth", "10", "--beta", "1"
        )
        self.shows(root, results)

        def intensity(m, n, k):
            return 2 * m * n * k / (4 * (m * k + k * n + 2 * m * n))

        self.stands_where_it_says(root, intensity, math.log, math.log)
        x = scale_of(ticks_of(root, "middle"), math.log)
        y = scale_of(ticks_of(root, "end"), math.log)
        slope, = groups(root, "bandwidth")[0].iter(f"{SVG}polyline")
        start, end = (tuple(map(float, pair.split(","))) for pair in slope.get("points").split())
        self.assertAlmostEqual(end[0], x(20), delta=0.1)
        self.assertAlmostEqual(end[1], y(200), delta=0.1)
        self.assertLess(start[0], end[0])
        for size in (16, 32, 64, 128):
            self.assertIn(str(size), [text_of(text) for text in labels(root)])
        self.assertIn("set with --bandwidth", text_of(root))
        self.assertIn("Arithmetic intensity (FLOP/byte)", [text_of(text) for text in labels(root)])

    def test_bandwidth_is_measured(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "roof.svg")
            said = self.ends(0, "bench", *SQUARES, "-i", 1, "--roofline", path).stdout
            root = ElementTree.parse(path).getroot()
        rate, = re.findall(r"(?m)^Memory +([\d.]+) GB/s: .*clEnqueueCopyBuffer", said)
        shown, = re.findall(r"memory ([\d.]+) GB/s", text_of(groups(root, "bandwidth")[0]))[:1]
        self.assertAlmostEqual(float(shown), float(rate), delta=0.51)
        self.assertGreater(float(rate), 0)
        self.assertIn("clEnqueueCopyBuffer", text_of(root))


class Files(tool.TestCase):
    def test_names_that_look_like_something_else(self):
        for name in ("a b.svg", "<&\">'.svg", "-x.svg", "%s%n.svg", "new\nline", b"\xff\xfe.svg"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as directory:
                path = os.path.join(os.fsencode(directory), os.fsencode(name))
                self.ends(
                    0, "bench", *SQUARES, "-i", 1, "-k", "gemm_naive",
                    f"--plot={os.fsdecode(path)}"
                )
                self.assertEqual(os.listdir(os.fsencode(directory)), [os.fsencode(name)])
                ElementTree.parse(path)

    def test_places_where_nothing_can_be_written(self):
        with tempfile.TemporaryDirectory() as directory:
            for path in ("/nonexistent/directory/chart.svg", directory):
                for option in ("--plot", "--roofline", "--json"):
                    with self.subTest(option=option, path=path):
                        says = rf"^gemmcl bench: {option} cannot write the file \"{path}\": .*\.\n$"
                        self.refuses(1, says, "bench", *SQUARES, option, path)

    def test_standard_output(self):
        said = self.ends(0, "bench", *SQUARES, "-i", 1, "--plot", "-")
        self.assertEqual(ElementTree.fromstring(said.stdout.encode()).tag, f"{SVG}svg")
        self.assertIn("GFLOPS", said.stderr)

    def test_wrong_command_lines(self):
        for pattern, *arguments in (
            ("Only one of", "--plot", "-", "--json", "-"),
            ("Only one of", "--plot", "-", "--roofline", "-"),
            ("-i must be 1 or more", "--plot", "x.svg", "-i", 0),
            ("-i must be 1 or more", "--roofline", "x.svg", "-i", 0),
            ("--bandwidth takes more than 0", "--roofline", "x.svg", "--bandwidth", "-1"),
            ("--bandwidth takes a finite number", "--bandwidth", "much"),
            ("--plot", "--plot"),
        ):
            with self.subTest(arguments=arguments):
                self.refuses(2, pattern, "bench", *arguments)
                self.assertFalse(os.path.exists("x.svg"))


if __name__ == "__main__":
    del Chart
    tool.main()
