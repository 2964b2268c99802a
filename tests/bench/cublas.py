#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares gemmcl with cuBLAS on an NVIDIA GPU, through PyTorch, in each precision, with A stored
in it. `gemmcl bench` runs directly before cuBLAS for each problem. gemmcl's results are f32. With
factors in f16 or bf16, cuBLAS is also timed with results of that type, of which it stores half as
many bytes.

A problem with few rows of A and a large B takes the time of reading B. Its goal is a share of the
speed at which cuBLAS reads as many bytes of f32 for one row; other goals are shares of cuBLAS's
speed with results in f32.

Both are timed by the GPU's clock, each run separately; the median counts. cuBLAS's runs are queued
one after the other. By OpenCL's clock the shortest kernel takes longer than by CUDA's. cuBLAS's
result is compared with double precision, closely enough to reveal tf32.

Exit status: 0, also if goals are missed; 1 if a result is wrong or gemmcl fails; 2 for wrong usage;
77, with the reason, if PyTorch or the GPU is missing."""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent / name) for name in ("peers", "../support")]
from problem import parse_shape  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
SHAPES = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
          (64, 4096, 4096), (16, 4096, 4096), (4, 4096, 4096), (1, 4096, 4096), (128, 1024, 8192),
          (256, 256, 16384), (256, 1024, 1024), (512, 512, 512), (300, 1000, 2048), (3600, 96, 147),
          (230400, 64, 64))
SEARCHES = tuple((m, n, k) for n, k in ((1000000, 512), (8192, 28672)) for m in (1, 4, 16, 32))
FEW_ROWS, LARGE_B = 32, 1 << 27
GOAL, READING_GOAL = 0.95, 0.9
WARM_UP, RUNS = 2, 23
ROWS_CHECKED = 16
# torch's type for each precision, and the relative error bound; f32 errs by 1e-6, tf32 by 1e-4.
PRECISIONS = {"f32": ("float32", 3e-5), "tf32": ("float32", 2e-3), "f16": ("float16", 2e-3),
              "bf16": ("bfloat16", 1e-2), "i8": ("int8", 0)}
NARROW = ("f16", "bf16")  # whose results may have that type
STORED = {"f16": "f16", "bf16": "bf16", "i8": "u8"}
BYTES = {"f16": 2, "bf16": 2, "i8": 1}
LEAST_M_OF_INT8 = 17  # torch._int_mm takes no fewer rows, and a K that is a multiple of 8


class Wrong(Exception):
    """A result that is wrong, or a program that failed."""


def load_torch():
    try:
        import torch  # pylint: disable=import-outside-toplevel
        if not torch.cuda.is_available():
            raise ImportError("it finds no GPU that cuBLAS runs on")
    except ImportError as missing:
        print(f"PyTorch is missing: {missing}", file=sys.stderr)
        sys.exit(SKIPPED)
    return torch


def is_reading(shape):
    m, n, k = shape
    return m <= FEW_ROWS and n * k >= LARGE_B


def has_peer(shape, precision):
    return precision != "i8" or (shape[0] >= LEAST_M_OF_INT8 and shape[2] % 8 == 0)


def time_runs(torch, run):
    """The milliseconds of the median run. All runs are queued behind a longer product, since a call
    may take longer than its run."""
    long = torch.rand((4096, 4096), device="cuda", dtype=torch.float64)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(RUNS)]
    for _ in range(WARM_UP):
        run()
        torch.mm(long, long)
    for begin, end in events:
        begin.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in events)


def time_reading(torch, size):
    """The TB/s at which cuBLAS reads a matrix of that many bytes."""
    a = torch.rand((size // 4 // 1024, 1024), device="cuda")
    x, d = torch.rand(1024, device="cuda"), torch.empty(a.shape[0], device="cuda")
    return a.numel() * 4e-9 / time_runs(torch, lambda: torch.mv(a, x, out=d))


def time_cublas(torch, shape, precision, **output):
    """The TFLOPS of the median run; raises Wrong.
    output: out_dtype, if the result has another type than the factors."""
    m, n, k = shape
    name, bound = PRECISIONS[precision]
    whole = precision == "i8"
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    a, b = ((torch.rand(size, device="cuda") - 0.5).mul(255 if whole else 1)
            .to(getattr(torch, name)) for size in ((m, k), (k, n)))
    d = torch.empty((m, n), device="cuda",
                    dtype=torch.int32 if whole else output.get("out_dtype", a.dtype))
    # For int8 torch takes only a B that is stored by columns.
    b = b.t().contiguous().t() if whole else b
    multiply = torch._int_mm if whole else torch.mm  # pylint: disable=protected-access
    median = time_runs(torch, lambda: multiply(a, b, out=d, **output))
    exact = a[:ROWS_CHECKED].double() @ b.double()
    if not (d[:ROWS_CHECKED].double() - exact).norm() <= bound * exact.norm():
        raise Wrong(f"cuBLAS's result is not that of {precision}")
    return 2e-9 * m * n * k / median


def time_gemmcl(program, shape, precision):
    """The kernel, and its TFLOPS. Searches in int8 have queries of floats."""
    sizes = [word for letter, size in zip("MNK", shape) for word in (f"-{letter}", str(size))]
    stored = "f32" if precision == "i8" and is_reading(shape) else STORED.get(precision, "f32")
    said = subprocess.run(
        [program, "bench", "-t", "gpu", "-k", "auto", *sizes, "-i", str(RUNS), "--precision",
         precision, "--a-type", stored, "--json", "-"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if said.returncode:
        raise Wrong(said.stderr.strip())
    result = json.loads(said.stdout)[0]
    return result["kernel"], result["gflops"] / 1e3


def judge(torch, shape, precision, speed, peer):
    """The cells of the goal: TB/s, the ratio to the peer that counts, the goal, and whether it
    is reached."""
    m, n, k = shape
    rate, goal = "", GOAL
    if is_reading(shape):
        size = n * k * BYTES.get(precision, 4)
        rate, goal = speed / (2 * m * n * k) * size, READING_GOAL
        peer = time_reading(torch, size)
    ratio = (rate or speed) / peer
    return [f"{rate and f'{rate:.2f}':>6}", f"{ratio:6.2f}", f"{goal:6.2f}",
            "reached" if round(ratio, 2) >= goal else "MISSED"]


def measure(torch, shape, precision, program):
    """Prints the row; returns True if its goal is reached."""
    kernel, speed = time_gemmcl(program, shape, precision) if program else ("", 0)
    outputs = [{"out_dtype": torch.float32}, {}] if precision in NARROW else [{}]
    peers = [time_cublas(torch, shape, precision, **output) for output in outputs] \
        if has_peer(shape, precision) else [math.nan]
    cells = [f"{' x '.join(map(str, shape)):20}", *(f"{peer:8.2f}" for peer in peers)]
    if program:
        cells += [f" {kernel:24}", f"{speed:8.2f}", *(f"{speed / peer:6.2f}" for peer in peers[1:]),
                  *judge(torch, shape, precision, speed, peers[0])]
    print(*cells, flush=True)
    return cells[-1] == "reached"


def print_table(torch, precision, shapes, program):
    """Returns the numbers of rows, of goals that are reached, and of failures."""
    narrow = precision in NARROW
    print(f"\n{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA"
          f" {torch.version.cuda}, {precision}, TFLOPS, median of {RUNS}")
    cells = [f"{'M x N x K':20}", f"{'cuBLAS':>8}"] + [f"{'to ' + precision:>8}"] * narrow
    if program:
        cells += [f" {'gemmcl':24}", f"{'TFLOPS':>8}"] + [f"{'ratio':>6}"] * narrow
        cells += [f"{word:>6}" for word in ("TB/s", "ratio", "goal")]
    print(*cells)
    reached = failures = 0
    shapes = [shape for shape in shapes if has_peer(shape, precision) or is_reading(shape)]
    for shape in shapes:
        try:
            reached += measure(torch, shape, precision, program)
        except Wrong as wrong:
            print(f"{' x '.join(map(str, shape))}: {wrong}", file=sys.stderr)
            failures += 1
    return len(shapes), reached, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--gemmcl", metavar="PROGRAM", help="gemmcl's program, to compare with it")
    parser.add_argument("--precision", choices=PRECISIONS, help="default: all, one after the other")
    parser.add_argument("shapes", nargs="*", type=parse_shape, metavar="MxNxK",
                        default=SHAPES + SEARCHES)
    options = parser.parse_args()
    torch = load_torch()
    rows, reached, failures = (sum(column) for column in zip(*(
        print_table(torch, precision, options.shapes, options.gemmcl)
        for precision in ([options.precision] if options.precision else PRECISIONS))))
    if options.gemmcl:
        print(f"\n{reached} of {rows} goals reached")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
