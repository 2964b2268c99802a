#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares gemmcl with cuBLAS on an NVIDIA GPU, through PyTorch: products in f32 without tf32, or
in another precision, with A stored in that precision. `gemmcl bench` runs directly before cuBLAS
for each problem. gemmcl's results are f32. With factors in f16 or bf16, cuBLAS is also timed with
results of that type, of which it stores half as many bytes.

Both are timed by the GPU's clock, each run separately, queued one after the other; the median
counts. cuBLAS's result is compared with double precision, closely enough to reveal tf32.

Exit status: 0; 1 if a result is wrong or gemmcl fails; 2 for wrong usage; 77, with the reason, if
PyTorch or the GPU is missing."""

import argparse
import json
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
WARM_UP, RUNS = 5, 23
ROWS_CHECKED = 16
# torch's type for each precision, and the relative error bound; f32 errs by 1e-6, tf32 by 1e-4.
PRECISIONS = {"f32": ("float32", 3e-5), "tf32": ("float32", 2e-3), "f16": ("float16", 2e-3),
              "bf16": ("bfloat16", 1e-2), "i8": ("int8", 0)}
NARROW = ("f16", "bf16")  # whose results may have that type
STORED = {"f16": "f16", "bf16": "bf16", "i8": "u8"}


class Wrong(Exception):
    """A result that is wrong, or a program that failed."""


def load_torch(precision):
    try:
        import torch  # pylint: disable=import-outside-toplevel
        if not torch.cuda.is_available():
            raise ImportError("it finds no GPU that cuBLAS runs on")
    except ImportError as missing:
        print(f"PyTorch is missing: {missing}", file=sys.stderr)
        sys.exit(SKIPPED)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    return torch


def time_cublas(torch, shape, precision, **output):
    """The TFLOPS of the median run; raises Wrong.
    output: out_dtype, if the result has another type than the factors."""
    m, n, k = shape
    name, bound = PRECISIONS[precision]
    whole = precision == "i8"
    a, b = ((torch.rand(size, device="cuda") - 0.5).mul(255 if whole else 1)
            .to(getattr(torch, name)) for size in ((m, k), (k, n)))
    d = torch.empty((m, n), device="cuda",
                    dtype=torch.int32 if whole else output.get("out_dtype", a.dtype))
    # For int8 torch takes only a B that is stored by columns.
    b = b.t().contiguous().t() if whole else b
    multiply = torch._int_mm if whole else torch.mm  # pylint: disable=protected-access
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)]
              for _ in range(WARM_UP + RUNS)]
    for begin, end in events:
        begin.record()
        multiply(a, b, out=d, **output)
        end.record()
    torch.cuda.synchronize()
    exact = a[:ROWS_CHECKED].double() @ b.double()
    if not (d[:ROWS_CHECKED].double() - exact).norm() <= bound * exact.norm():
        raise Wrong(f"cuBLAS's result is not that of {precision}")
    median = statistics.median(begin.elapsed_time(end) for begin, end in events[WARM_UP:])
    return 2e-9 * m * n * k / median


def time_gemmcl(shape, options):
    sizes = [word for letter, size in zip("MNK", shape) for word in (f"-{letter}", str(size))]
    said = subprocess.run(
        [options.gemmcl, "bench", "-t", "gpu", "-k", "auto", *sizes, "-i", str(RUNS),
         "--precision", options.precision, "--a-type", STORED.get(options.precision, "f32"),
         "--json", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, check=False)
    if said.returncode:
        raise Wrong(said.stderr.strip())
    result = json.loads(said.stdout)[0]
    return result["kernel"], result["gflops"] / 1e3


def measure(torch, shape, options):
    kernel, ours = time_gemmcl(shape, options) if options.gemmcl else ("", 0)
    outputs = [{"out_dtype": torch.float32}, {}] if options.precision in NARROW else [{}]
    peers = [time_cublas(torch, shape, options.precision, **output) for output in outputs]
    cells = [f"{' x '.join(map(str, shape)):20}", *(f"{peer:8.2f}" for peer in peers)]
    if options.gemmcl:
        cells += [f" {kernel:24}", f"{ours:8.2f}", *(f"{ours / peer:6.2f}" for peer in peers)]
    print(*cells, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--gemmcl", metavar="PROGRAM", help="gemmcl's program, to compare with it")
    parser.add_argument("--precision", choices=PRECISIONS, default="f32", help="default: f32")
    parser.add_argument("shapes", nargs="*", type=parse_shape, metavar="MxNxK", default=SHAPES)
    options = parser.parse_args()
    torch = load_torch(options.precision)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda},"
          f" {options.precision}, TFLOPS, median of {RUNS}")
    peers = ["cuBLAS"] + [f"to {options.precision}"] * (options.precision in NARROW)
    cells = [f"{'M x N x K':20}", *(f"{peer:>8}" for peer in peers)]
    if options.gemmcl:
        cells += [f" {'gemmcl':24}", f"{'TFLOPS':>8}", *[f"{'ratio':>6}"] * len(peers)]
    print(*cells)
    status = 0
    for shape in options.shapes:
        try:
            measure(torch, shape, options)
        except Wrong as wrong:
            print(f"{' x '.join(map(str, shape))}: {wrong}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
