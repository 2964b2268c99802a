#!/usr/bin/env python3
# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares a cosine search in a gallery with NumPy and with faiss' exact search (IndexFlatIP).

The rows of the gallery have norm 1; each search normalizes its queries and returns the five nearest
rows and their cosines. gemmcl does that in one run, with normalized A and top-k as row outputs, on
the CPU. The three take turns in one process, in a random order in each round; a turn is one search.
A ratio is the other's time to gemmcl's, above 1 gemmcl is faster; the median and the quartiles of
the rounds are printed. All results are checked against double precision.

Exit status: 0; 1 if a result is wrong or gemmcl fails; 2 for wrong usage; 77, with the reason, if
NumPy, a device or the memory is missing. faiss is left out where it is missing; `eval
"$(tools/peers.sh --env)"` fetches it.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import time

# The loader of faiss asks NumPy 2 for the CPU; its library chooses by itself what the CPU has.
os.environ.setdefault("FAISS_OPT_LEVEL", "generic")
# Threads that spin after their turn would take time from the next one.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
sys.path.append(os.environ.get("GEMMCL_PEERS", "") + "/python")

# pylint: disable=wrong-import-position
import library  # noqa: E402
from library import ON_HOST  # noqa: E402

try:
    import numpy
except ImportError as missing:
    print(f"NumPy is missing: {missing}", file=sys.stderr)
    sys.exit(library.MISSING)
try:
    import faiss
except ImportError as missing:
    faiss = None
    print(f"faiss is missing: {missing}", file=sys.stderr)

TOP = 5
CHUNK = 1 << 16
BOUND = 1e-5  # of a cosine in f32
COPIES = 4  # of the gallery, in memory at once: ours, faiss', gemmcl's before and after packing


def normalized(rows):
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def make_gallery(vectors, size):
    """Random directions."""
    generator = numpy.random.default_rng(1)
    gallery = numpy.empty((vectors, size), numpy.float32)
    for first in range(0, vectors, CHUNK):
        rows = gallery[first:first + CHUNK]
        generator.standard_normal(dtype=numpy.float32, out=rows)
        rows[:] = normalized(rows)
    return gallery


def make_queries(gallery, count):
    """Rows of the gallery with noise, of any norm."""
    generator = numpy.random.default_rng(count)
    rows = gallery[generator.integers(0, len(gallery), count)]
    noise = generator.standard_normal(rows.shape, dtype=numpy.float32)
    return 3 * rows + noise / rows.shape[1] ** 0.5


def nearest(scores):
    """Returns the largest scores of each row, the largest first, and their columns."""
    columns = numpy.argpartition(-scores, TOP - 1, axis=1)[:, :TOP]
    values = numpy.take_along_axis(scores, columns, axis=1)
    order = numpy.argsort(-values, axis=1)
    return (numpy.take_along_axis(values, order, axis=1),
            numpy.take_along_axis(columns, order, axis=1))


def search_exactly(gallery, queries):
    """Returns the cosines of all rows in double precision."""
    queries = normalized(queries.astype(float)).T
    return numpy.concatenate([
        gallery[first:first + CHUNK].astype(float) @ queries
        for first in range(0, len(gallery), CHUNK)]).T


def is_right(found, exact):
    """Whether the rows that were found are the nearest ones, up to the error of their cosines."""
    values, columns = found
    best = nearest(exact)[0]
    own = numpy.take_along_axis(exact, columns.astype(int), axis=1)
    distinct = all(len(set(row)) == TOP for row in columns)
    return distinct and abs(own - best).max() < BOUND and abs(values - best).max() < BOUND


class Ours:
    """gemmcl's search."""

    def __init__(self, context, gallery, count):
        vectors, size = gallery.shape
        self.plan = library.Plan(
            context, gallery.ctypes.data, m=count, n=vectors, k=size, trans_b=1,
            normalize=library.NORMALIZE_A, row_outputs=library.ROW_TOP_K, top_k=TOP)
        self.kernel = self.plan.kernel
        self.scores = numpy.empty((count, vectors), numpy.float32)
        self.rows = numpy.empty((count, 2 * TOP), numpy.float32)

    def search(self, queries):
        """Returns the cosines and the rows of the gallery."""
        self.plan.run(self.plan.make_run(ON_HOST, queries.ctypes.data, self.scores.ctypes.data,
                                         self.rows.ctypes.data))
        return self.rows[:, :TOP], self.rows[:, TOP:]


def search_numpy(gallery, queries):
    """NumPy's search."""
    return nearest(normalized(queries) @ gallery.T)


def make_index(gallery):
    """faiss' index, which holds a copy of the gallery."""
    index = faiss.IndexFlatIP(gallery.shape[1])
    index.add(gallery)
    return index


def search_faiss(index, queries):
    """faiss' search."""
    queries = queries.copy()
    faiss.normalize_L2(queries)
    return index.search(queries, TOP)


def take_turns(searches, queries, exact, rounds):
    """Returns the seconds of each round, by name; exits if a result is wrong."""
    times = {name: [] for name in searches}
    for number in range(rounds + 1):
        for name in random.sample(list(searches), len(searches)):
            begin = time.perf_counter()
            found = searches[name](queries)
            seconds = time.perf_counter() - begin
            if number:  # the first round warms up
                times[name].append(seconds)
            elif not is_right(found, exact):
                sys.exit(f"{name}: these are not the nearest rows")
    return times


def report(times, count):
    """Prints a line for each search. Returns the figures."""
    results = []
    for name, seconds in times.items():
        low, ratio, high = statistics.quantiles(
            [theirs / ours for theirs, ours in zip(seconds, times["gemmcl"])], n=4)
        middle = statistics.median(seconds)
        results.append({"queries": count, "search": name, "ms": 1e3 * middle,
                        "queries_per_second": count / middle, "ratio": ratio,
                        "lower_quartile": low, "upper_quartile": high})
        print(f"{count:7} {name:8} {1e3 * middle:9.2f} {count / middle:11.1f}"
              f"  {ratio:.2f} ({low:.2f} to {high:.2f})", flush=True)
    return results


def measure(context, gallery, count, options):
    """Measures searches of @count queries. Returns the figures."""
    queries = make_queries(gallery, count)
    ours = Ours(context, gallery, count)
    searches = {"gemmcl": ours.search, "NumPy": lambda rows: search_numpy(gallery, rows)}
    if faiss:
        index = make_index(gallery)
        searches["faiss"] = lambda rows: search_faiss(index, rows)
    exact = search_exactly(gallery, queries)
    times = take_turns(searches, queries, exact, options.rounds)
    results = report(times, count)
    results[0]["kernel"] = ours.kernel
    ours.plan.free()
    return results


def has_memory(size):
    """Whether there is that much memory."""
    lines = pathlib.Path("/proc/meminfo").read_text("ascii").splitlines()
    available = next(line.split()[1] for line in lines if line.startswith("MemAvailable"))
    return 1024 * int(available) > size


def main():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--vectors", type=int, default=1000000, help="rows of the gallery; 1000000")
    parser.add_argument("--size", type=int, default=512, help="their length; 512")
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 32],
                        help="queries of one search; 1 and 32")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each; 9")
    parser.add_argument("--json", type=pathlib.Path, help="write the results there")
    options = parser.parse_args()
    if options.rounds < 2 or options.vectors < TOP:
        parser.error(f"expected 2 rounds and {TOP} vectors or more")
    if not has_memory(4 * COPIES * options.vectors * options.size):
        print(f"There is no memory for {COPIES} copies of the gallery.", file=sys.stderr)
        return library.MISSING
    try:
        context = library.Context()
    except library.Missing as missing:
        print(missing, file=sys.stderr)
        return library.MISSING
    gallery = make_gallery(options.vectors, options.size)
    print(f"{context.name}, {context.platform}, {os.cpu_count()} threads; gallery of"
          f" {options.vectors} x {options.size}, top {TOP}")
    print("queries search          ms   queries/s  its time to gemmcl's (quartiles)")
    results = [row for count in options.queries
               for row in measure(context, gallery, count, options)]
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
