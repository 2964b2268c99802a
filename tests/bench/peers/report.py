# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of a match: the best peer, ratios, verdicts; as a table and as JSON."""

import os
import subprocess

from contenders import (BYTES, CLBLAST, CLOCK, ELEMENT, LAYER, NOT_PEERS, OURS, PLAIN, POOLED,
                        STREAM)

# M, N, K: the goals: the minimum speed relative to the best peer, and to CLBlast.
GOALS = {
    (1024, 1024, 1024): (0.95, 7),
    (64, 1024, 1024): (0.90, 8),
    (16, 1024, 1024): (0.75, 8),
    (1, 1024, 1024): (0.40, 20),
    (3600, 96, 147): (0.90, 8),
    (230400, 64, 64): (0.90, 7),
    (921600, 3, 3): (0.5, None),
}
# Those of ours whose ratios to each other contender are listed
OWN = (OURS, STREAM, CLOCK, ELEMENT, POOLED)
# Goals are judged only if others use at most this share of the CPUs. Threads that wait for each
# other wait for the process that took the CPU of one, which can make a contender ten times slower.
QUIET = 0.1
CPU_FIELDS = ("Model name", "CPU family", "Model", "Stepping", "CPU(s)")


def describe_cpu():
    """The CPU's name and numbers, by lscpu."""
    said = subprocess.run("lscpu", stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    lines = (map(str.strip, line.split(":", 1)) for line in said.splitlines())
    return {name: value for name, value in lines if name in CPU_FIELDS}


def judge(ratio, goal, quiet):
    """The quartiles of a ratio, the goal, and True if the median reaches it."""
    reached = ratio["median"] >= goal if goal is not None and quiet else None
    return {**ratio, "goal": goal, "reached": reached}


def make_row(match):
    """A match for the JSON."""
    problem = match.problem
    m, n, k = problem.shape
    goals = GOALS.get(problem.shape, (None, None))
    names = [each.name for each in match.contenders]
    row = {"m": m, "n": n, "k": k, "form": problem.form, "kernel": match.about[OURS].split()[0],
           "rounds": len(match.turns[OURS]), "others": match.others,
           "about": match.about, "missing": match.missing,
           "seconds": {name: match.seconds(name) for name in names},
           "ratios": {own: {name: match.ratios(name, own) for name in names if name != own}
                      for own in OWN if own in names}}
    peers = {name: ratio for name, ratio in row["ratios"][OURS].items() if name not in NOT_PEERS}
    quiet = match.others < QUIET
    if peers:
        row["best_peer"] = min(peers, key=lambda name: peers[name]["median"])
        row["of_best_peer"] = judge(peers[row["best_peer"]], goals[0], quiet)
    if CLBLAST in peers:
        row["of_clblast"] = judge(peers[CLBLAST], goals[1], quiet)
    return row


def speed(row):
    """The speed of gemmcl in GFLOPS, or for u8 in GB/s read and written."""
    m, n, k = row["m"], row["n"], row["k"]
    amount = m * (k + n) if row["form"] == BYTES else 2 * m * n * k
    unit = "GB/s" if row["form"] == BYTES else "GFLOPS"
    return f"{amount / row['seconds'][OURS] / 1e9:.1f} {unit}"


def words_of(ratio):
    """A judged ratio as text."""
    if ratio is None:
        return "-"
    verdict = {None: ", not judged", True: ", reached", False: ", MISSED"}[ratio["reached"]]
    goal = f" of {ratio['goal']:g}{verdict}" if ratio["goal"] is not None else ""
    return (f"{ratio['median']:.2f}{goal} ({ratio['lower_quartile']:.2f}"
            f" to {ratio['upper_quartile']:.2f})")


def name_of(row):
    """A row's shape and form as text."""
    form = {PLAIN: "", LAYER: " bias, ReLU", BYTES: " u8 to u8"}.get(row["form"], " " + row["form"])
    return f"{row['m']}x{row['n']}x{row['k']}{form}"


def print_row(row):
    """A row of the table; below it the speed of gemmcl in several ways, relative to each other
    contender."""
    print(f"{name_of(row):27} {row['kernel']:20} {speed(row):>14}  {row.get('best_peer', '-'):21}"
          f"{words_of(row.get('of_best_peer')):38} {words_of(row.get('of_clblast'))}")
    for own, ratios in row["ratios"].items():
        print(f"    {own}, of " + ", ".join(
            f"{name} {ratio['median']:.2f} ({ratio['fastest']:.2f})"
            for name, ratio in ratios.items()))
    noise = "" if row["others"] < QUIET else ": too much to judge"
    print(f"    {row['rounds']} rounds, {row['others']:.0%} of the CPUs went to others{noise}",
          flush=True)


def print_head():
    """The head of the table."""
    print(f"{'M x N x K':27} {'kernel':20} {'ours':>14}  {'best peer':21}"
          f"{'ours of it, of the goal (quartiles)':38} ours of CLBlast\n"
          "    below: ratios by medians, and in brackets by the fastest runs")


def print_foot(rows):
    """The contenders that took part, and those that did not."""
    about, missing = {}, {}
    for row in rows:
        about |= row["about"]
        missing |= row["missing"]
    print("\nWho took part, as in the last row of each:")
    for name, words in about.items():
        print(f"  {name}: {words}")
    for name, words in missing.items():
        print(f"  {name} is missing. What installs it: {words}")
