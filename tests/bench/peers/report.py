# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of matches as a table."""

import collections
import os
import subprocess

from contenders import OURS
from match import QUIET
from problem import BYTES, LAYER, PLAIN

CPU_FIELDS = ("Model name", "CPU family", "Model", "Stepping", "CPU(s)")


def describe_cpu():
    """The CPU's name and numbers, by lscpu."""
    said = subprocess.run("lscpu", stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    lines = (map(str.strip, line.split(":", 1)) for line in said.splitlines())
    return {name: value for name, value in lines if name in CPU_FIELDS}


def print_head():
    """The head of the table."""
    print(f"{'M x N x K':27} {'kernel':20} {'ours':>14}  {'best peer':21}"
          f"{'ours of it, of the goal (quartiles)':38} ours of CLBlast\n"
          "    below: ratios by medians, and in brackets by the fastest runs")


def describe_speed(row):
    """The speed of gemmcl in GFLOPS, or for u8 in GB/s read and written."""
    m, n, k = row["m"], row["n"], row["k"]
    amount, unit = ((m * (k + n), "GB/s") if row["form"] == BYTES else (2 * m * n * k, "GFLOPS"))
    return f"{amount / row['seconds'][OURS] / 1e9:.1f} {unit}"


def describe_ratio(ratio):
    """A judged ratio as text."""
    if ratio is None:
        return "-"
    verdict = {None: ", not judged", True: ", reached", False: ", MISSED"}[ratio["reached"]]
    goal = f" of {ratio['goal']:g}{verdict}" if ratio["goal"] else ""
    return (f"{ratio['median']:.2f}{goal} ({ratio['lower_quartile']:.2f}"
            f" to {ratio['upper_quartile']:.2f})")


def print_row(row):
    """A row of the table; below it the speed of gemmcl in several ways, relative to each other
    contender."""
    form = {PLAIN: "", LAYER: " bias, ReLU", BYTES: " u8 to u8"}.get(row["form"], " " + row["form"])
    best, clblast = row.get("of_best_peer"), row.get("of_clblast")
    print(f"{row['m']}x{row['n']}x{row['k']}{form}".ljust(27), row["kernel"].ljust(20),
          f"{describe_speed(row):>14}  {best['name'] if best else '-':21}"
          f"{describe_ratio(best):38} {describe_ratio(clblast)}")
    for ours, ratios in row["ratios"].items():
        print(f"    {ours}, of " + ", ".join(
            f"{name} {ratio['median']:.2f} ({ratio['fastest']:.2f})"
            for name, ratio in ratios.items()))
    noise = "" if row["others"] < QUIET else ": too much to judge"
    print(f"    {row['rounds']} rounds, {row['others']:.0%} of the CPUs went to others{noise}",
          flush=True)


def print_foot(rows):
    """The contenders that took part, and the missing contenders."""
    print("\nThe contenders, as described in the last row of each:")
    for title, key in ("", "about"), (" is missing. To install it", "missing"):
        for name, words in collections.ChainMap(*(row[key] for row in reversed(rows))).items():
            print(f"  {name}{title}: {words}")
