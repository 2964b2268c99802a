#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws a chart of results of `gemmcl bench --json`.

Several sizes: the speed over the size, a line for each kernel. One size: a bar for each kernel.
"""

import argparse
import io
import json
import math
import pathlib
import sys
import textwrap

try:
    import matplotlib
    from matplotlib import ticker
    from matplotlib.figure import Figure
except ImportError:
    sys.exit("gemmcl-plot: matplotlib is missing. On Debian, install python3-matplotlib.")

# Dark enough on white, and distinct with the usual kinds of colour blindness.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b8629b", "#d18f00", "#4aa3d8", "#882255", "#1f2328")
MARKERS = "osD^v"
INK, GREY, PALE, GRID = "#1f2328", "#57606a", "#b3bac2", "#e4e8ec"
# Maximum number of lines that all have labels. With more lines, only coloured ones have labels.
MOST_LABELS = 22
# Bytes of an element of A, by its type, and of B, by the precision. C and D are f32.
BYTES = {"f32": 4, "tf32": 4, "bf16": 2, "f16": 2, "i8": 1, "u8": 1}
# Keys whose values all results of a chart must share
SHARED = (
    "device", "layout", "trans_a", "trans_b", "beta", "iterations", "bandwidth_gbs",
    "bandwidth_source",
)
STYLE = {
    "font.size": 9.5, "font.sans-serif": ("DejaVu Sans", "Verdana", "Arial"), "text.color": INK,
    "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "gemmcl",
    "axes.edgecolor": GRID, "axes.labelcolor": INK, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": GRID, "xtick.color": GREY, "ytick.color": GREY,
}


def number(value):
    """Three digits at least: 0.0123, 1.23, 12.3, 1234."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


class Results:
    """Measured results of one call of bench: points, and what they share."""

    def __init__(self, rows):
        self.points = [row for row in rows if row["gflops"] is not None]
        if not self.points:
            raise ValueError("it has no measured speed")
        for key in SHARED:
            setattr(self, key, self.share(key, self.points))
        self.find_peaks()
        free = [key for key in "mnk" if len({row[key] for row in self.points}) > 1]
        self.is_sweep = bool(free)
        self.shape = " × ".join("s" if key in free else str(self.points[0][key]) for key in "mnk")
        for row in self.points:
            if len({row[key] for key in free}) > 1:
                raise ValueError("it has more than one size that varies")
            row["size"] = row[(free or "m")[0]]
            # Operations per byte of the matrices, each moved once. Older results lack a_type.
            m, n, k = row["m"], row["n"], row["k"]
            moved = BYTES[row.get("a_type", "f32")] * m * k + BYTES[row["precision"]] * k * n
            row["intensity"] = 2 * m * n * k / (moved + 4 * m * n * (2 if self.beta else 1))
        self.sizes = sorted({row["size"] for row in self.points})
        self.fastest = max(row["gflops"] for row in self.points)

    @staticmethod
    def share(key, rows):
        """The value that all rows have."""
        values = {row[key] for row in rows}
        if len(values) > 1:
            raise ValueError(f"its results differ in {key}; a chart shows one call of bench")
        return values.pop()

    def find_peaks(self):
        """The peak of each precision; the chart shows the highest."""
        groups = {}
        for row in self.points:
            is_set = row["peak_source"] == "set with --peak"
            groups.setdefault("peak" if is_set else f"{row['precision']} peak", []).append(row)
        self.peaks = {name: (self.share("peak_gflops", rows), self.share("peak_source", rows))
                      for name, rows in groups.items()}
        self.peak_gflops, self.peak_name = max(
            (gflops or 0, name) for name, (gflops, _) in self.peaks.items())

    def lines(self):
        """(label, points, colour, marker) of each kernel that was asked for, the fastest first."""
        groups = {}
        for row in self.points:
            groups.setdefault(row["requested"], []).append(row)
        lines = sorted(groups.items(), key=lambda item: -item[1][-1]["gflops"])
        # Colours go by the order of the request, or to the fastest.
        order = list(groups) if len(groups) <= len(COLOURS) else list(dict(lines))
        for name, points in lines:
            i = order.index(name)
            colour = COLOURS[i] if i < len(COLOURS) else PALE
            yield label(name, points), points, colour, MARKERS[i % len(MARKERS)]

    def subtitle(self):
        """The device, and the parameters that all points share."""
        parts = (
            " and ".join(sorted({point["precision"] for point in self.points})),
            "row-major" if self.layout == "row" else "column-major",
            not self.is_sweep and f"M × N × K = {self.shape}",
            self.trans_a and "A transposed",
            self.trans_b and "B transposed",
            self.beta and "C added",
            f"median of {self.iterations} run{'' if self.iterations == 1 else 's'}",
        )
        return f"{self.device}. {', '.join(part for part in parts if part)}"

    def peak_notes(self):
        return [f"The {name}: {source}." if gflops else
                f"The {name} is {source}; --peak of gemmcl bench sets it."
                for name, (gflops, source) in self.peaks.items()]

    def peak_label(self):
        return f"{self.peak_name} {number(self.peak_gflops)} GFLOPS"


def label(name, points):
    """The name, with the kernel that was chosen, as for auto, if it is the same at all points."""
    kernel, *others = {point["kernel"] for point in points}
    return name if others or kernel == name else f"{name}: {kernel}"


def begin(height):
    """Axes of that height, in inches; the file is cut to what is drawn on and around them."""
    axes = Figure(figsize=(9.6, height)).add_axes((0, 0, 0.7, 1))
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def write(axes, text, at, **style):
    """Text at a place of the axes: (x, y), from 0 to 1, and points to the right and up of it."""
    axes.annotate(text, at[:2], at[2:], "axes fraction", "offset points", **style)


def finish(axes, results, title, notes, above=0):
    """Adds the titles, with `above` points of room below them, and the notes."""
    notes = "\n".join(textwrap.fill(note, 125) for note in notes if note)
    subtitle = textwrap.fill(results.subtitle(), 125)
    above += 12 * subtitle.count("\n") + 30
    write(axes, title, (0, 1, 0, above + 5), size=14, weight="bold")
    write(axes, subtitle, (0, 1, 0, above), color=GREY, va="top")
    write(axes, notes, (0, 0, 0, -44), color=GREY, size=8.5, va="top", linespacing=1.4)
    return axes.figure


def tick_all(axis, places):
    """Sets a tick at each of the places, {value: text}. Ticks with room for it have their text; the
    ends come first."""
    gap = 6 * max(map(len, places.values())) + 5
    scale = axis.get_transform().transform
    low, high = axis.get_view_interval()
    width = axis.figure.axes[0].bbox.width * 72 / axis.figure.dpi / (scale(high) - scale(low))
    values, shown = sorted(places), {}
    for value in [values[0], values[-1], *values[1:-1]]:
        if all(abs(scale(value) - scale(other)) * width >= gap for other in shown):
            shown[value] = places[value]
    axis.set_ticks(values, [shown.get(value, "") for value in values])
    axis.set_minor_locator(ticker.NullLocator())


def spread(places, gap, high):
    """Moves ascending places up until they are a gap apart, then down until none exceeds high."""
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    for i in reversed(range(len(places))):
        places[i] = high = min(places[i], high)
        high -= gap
    return places


def draw_lines(axes, results, key):
    """A line for each kernel, with its label at the right. Returns a note, or None."""
    lines = list(results.lines())
    labelled = [line for line in lines if line[2] != PALE or len(lines) <= MOST_LABELS]
    height = axes.bbox.height * 72 / axes.figure.dpi
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [(points[-1][key], points[-1]["gflops"]) for _, points, *_ in reversed(labelled)]
    places = spread([to_axes.transform(end)[1] * height for end in ends], 13, height)
    for name, points, colour, marker in lines:
        xy = [point[key] for point in points], [point["gflops"] for point in points]
        size, width, order = (2, 1, 2) if colour == PALE else (4.5, 1.8, 3)
        axes.plot(*xy, color=colour, marker=marker, ms=size, lw=width, zorder=order, label=name)
    for (name, points, colour, _), end, place in zip(reversed(labelled), ends, places):
        axes.annotate(
            f"{name} {number(points[-1]['gflops'])}", end, (1.05, place / height), "data",
            "axes fraction", va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "relpos": (0, 0.5)},
        )
    others = len(lines) - len(labelled)
    return f"Grey: {others} others, which were slower at their last points." if others else None


def lines_chart(results):
    axes = begin(4)
    if results.sizes[-1] >= 4 * results.sizes[0]:
        axes.set_xscale("log")
    margin = (results.sizes[-1] / results.sizes[0]) ** 0.02
    axes.set_xlim(results.sizes[0] / margin, results.sizes[-1] * margin)
    axes.set_ylim(0, 1.06 * max(results.peak_gflops, results.fastest))
    axes.set_xlabel(f"Matrix size s (M × N × K = {results.shape})")
    axes.set_ylabel("Speed (GFLOPS)")
    tick_all(axes.xaxis, {size: str(size) for size in results.sizes})
    if results.peak_gflops:
        axes.axhline(results.peak_gflops, color=INK, lw=1.2, dashes=(6, 4))
        place = results.peak_gflops / axes.get_ylim()[1]
        write(axes, results.peak_label(), (0, place, 6, 4))
    others = draw_lines(axes, results, "size")
    return finish(axes, results, "GEMM speed by matrix size", [*results.peak_notes(), others])


def of_peak(point):
    """The share of the peak in the precision of the point."""
    peak = point["peak_gflops"]
    return f"{100 * point['gflops'] / peak:.1f} %" if peak else "unknown"


def bars_chart(results):
    points = sorted(results.points, key=lambda point: -point["gflops"])
    axes = begin(len(points) * (0.22 if len(points) > 30 else 0.3))
    peak = results.peak_gflops
    axes.grid(False, axis="y")
    axes.barh(range(len(points)), [point["gflops"] for point in points], 0.64, color=COLOURS[0])
    names = [label(point["requested"], [point]) for point in points]
    axes.set_yticks(range(len(points)), names, color=INK)
    axes.set_ylim(len(points) - 0.5, -0.5)
    axes.set_xlim(0, 1.01 * max(peak, results.fastest))
    axes.set_xlabel("Speed (GFLOPS)")
    heads = [("GFLOPS", 58, lambda point: number(point["gflops"]))]
    if peak:
        axes.axvline(peak, color=INK, lw=1.2, dashes=(6, 4))
        write(axes, results.peak_label(), (peak / axes.get_xlim()[1], 1, 2, 6), ha="right")
        heads.append(("of peak", 110, of_peak))
    for head, right, text in heads:
        write(axes, head, (1, 1, right, 6), ha="right", color=GREY)
        for i, point in enumerate(points):
            place = 1 - (i + 0.5) / len(points)
            write(axes, text(point), (1, place, right, 0), ha="right", va="center")
    return finish(axes, results, "GEMM speed by kernel", results.peak_notes())


def roofline_chart(results):
    """The speed over the operations per byte, with the limits of the memory and of the peak."""
    bandwidth, peak = results.bandwidth_gbs, results.peak_gflops
    if bandwidth is None:
        raise ValueError("it has no memory bandwidth; gemmcl bench needs --bandwidth")
    axes = begin(4.2)
    intensities = [point["intensity"] for point in results.points]
    low, high = min(intensities), max(intensities)
    ridge = peak / bandwidth if peak else 0
    # Room for the slope to the left of the points, and for the peak to the right of the ridge.
    axes.set_xlim(min(low / 2, ridge / 8 if peak else low / 4), max(high * 1.25, ridge * 3))
    slowest = min(point["gflops"] for point in results.points)
    axes.set_ylim(slowest / 1.7, 1.7 * max(results.fastest, peak or bandwidth * low))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5), numticks=12))
    for axis in axes.xaxis, axes.yaxis:
        axis.set_major_formatter("{x:.10g}")
        axis.set_minor_locator(ticker.NullLocator())
    axes.set_xlabel("Arithmetic intensity (FLOP/byte)")
    axes.set_ylabel("Speed (GFLOPS)")
    others = draw_lines(axes, results, "intensity")

    start, right = axes.get_xlim()
    end = ridge or right
    axes.plot((start, end), (start * bandwidth, end * bandwidth), color=INK, lw=1.5)
    middle = max(start, axes.get_ylim()[0] / bandwidth) ** 0.7 * end**0.3
    axes.text(middle, middle * bandwidth * 1.1, f"memory {number(bandwidth)} GB/s", ha="center",
              rotation=math.degrees(math.atan(bandwidth)), rotation_mode="anchor",
              transform_rotates_text=True)
    if peak:
        axes.plot((ridge, right), (peak, peak), color=INK, lw=1.5)
        axes.text(right, peak * 1.06, results.peak_label(), ha="right")
    if results.is_sweep:
        top = axes.secondary_xaxis("top")
        top.spines["top"].set_visible(False)
        top.set_xlabel(f"Matrix size s (M × N × K = {results.shape})")
        top.set_xscale("log")
        top.set_xlim(axes.get_xlim())
        tick_all(top.xaxis, {point["intensity"]: str(point["size"]) for point in results.points})
    is_above = any(point["gflops"] > bandwidth * point["intensity"] for point in results.points)
    notes = [*results.peak_notes(), f"Memory: {results.bandwidth_source}.",
             is_above and "Points above the slope: matrices that were in caches.", others]
    return finish(axes, results, "GEMM roofline", notes, 34 if results.is_sweep else 0)


def main():
    parser = argparse.ArgumentParser(prog="gemmcl-plot", description=__doc__)
    parser.add_argument("results", metavar="RESULTS.json", type=argparse.FileType(encoding="utf-8"),
                        help="from gemmcl bench --json; - is the standard input")
    parser.add_argument("chart", metavar="CHART.svg",
                        help="or another format, such as .png; - is the standard output, as SVG")
    parser.add_argument("--roofline", action="store_true",
                        help="draw the speed over the arithmetic intensity, with the limits of the "
                        "memory and of the peak; needs --bandwidth of gemmcl bench")
    options = parser.parse_args()
    try:
        results = Results(json.load(options.results))
        lines_or_bars = lines_chart if results.is_sweep else bars_chart
        with matplotlib.rc_context(STYLE):
            figure = (roofline_chart if options.roofline else lines_or_bars)(results)
            chart, kind = io.BytesIO(), pathlib.Path(options.chart).suffix[1:].lower() or "svg"
            # Without the date, the same results give the same file.
            date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            figure.savefig(chart, dpi=144, format=kind, metadata=date, bbox_inches="tight",
                           pad_inches=0.2)
    except (KeyError, TypeError) as error:
        sys.exit(f"gemmcl-plot: {options.results.name} is not from gemmcl bench --json: {error}")
    except (OSError, ValueError) as error:
        sys.exit(f"gemmcl-plot: {options.results.name} cannot be drawn: {error}")
    try:
        # The standard output stays open.
        with open(1 if options.chart == "-" else options.chart, "wb",
                  closefd=options.chart != "-") as file:
            file.write(chart.getbuffer())
    except OSError as error:
        sys.exit(f"gemmcl-plot: {options.chart} cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
