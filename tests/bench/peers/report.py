# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of a match: the best peer, ratios, verdicts; as a table and as JSON."""

import os
import subprocess

from contenders import BYTES, CLBLAST, CLOCK, ELEMENT, LAYER, NOT_PEERS, OURS, PLAIN, STREAM

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


def find_best(match, ours):
    """The fastest peer relative to gemmcl, and its ratios; None without peers."""
    ratios = {each.name: match.ratios(each.name, ours) for each in match.contenders
              if each.name not in NOT_PEERS}
    return min(ratios.items(), key=lambda item: item[1]["median"], default=None)


def make_row(match):
    """A match for the JSON."""
    problem = match.problem
    m, n, k = problem.shape
    goals = GOALS.get(problem.shape, (None, None))
    ratios = {each.name: match.ratios(each.name) for each in match.contenders if each.name != OURS}
    row = {"m": m, "n": n, "k": k, "form": problem.form, "kernel": match.about[OURS].split()[0],
           "rounds": len(match.turns[OURS]), "others": match.others,
           "about": match.about, "missing": match.missing,
           "seconds": {each.name: match.seconds(each.name) for each in match.contenders},
           "ratios": ratios}
    quiet = match.others < QUIET
    best = find_best(match, OURS)
    if best:
        row["best_peer"] = best[0]
        row["of_best_peer"] = judge(best[1], goals[0], quiet)
    for name, key in ((STREAM, "streaming"), (CLOCK, "by_clock")):
        if best and name in ratios:
            row[key] = judge(find_best(match, name)[1], goals[0], quiet)
    if CLBLAST in ratios:
        row["of_clblast"] = judge(ratios[CLBLAST], goals[1], quiet)
    if ELEMENT in ratios:
        row["element"] = {each.name: match.ratios(each.name, ELEMENT)
                          for each in match.contenders if each.name != ELEMENT}
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
    """A row of the table; below it the speed of gemmcl relative to each contender."""
    print(f"{name_of(row):27} {row['kernel']:20} {speed(row):>14}  {row.get('best_peer', '-'):21}"
          f"{words_of(row.get('of_best_peer')):38} {words_of(row.get('streaming')):38}"
          f" {words_of(row.get('by_clock')):38}"
          f" {words_of(row.get('of_clblast'))}")
    for words, ratios, key in (("by medians", row["ratios"], "median"),
                               ("by fastest runs", row["ratios"], "fastest"),
                               ("the element by medians", row.get("element"), "median")):
        if ratios:
            each = ", ".join(f"{name} {ratio[key]:.2f}" for name, ratio in ratios.items())
            print(f"{'':4}{words}, of {each}")
    noise = "" if row["others"] < QUIET else ": too much to judge"
    print(f"{'':4}{row['rounds']} rounds, {row['others']:.0%} of the CPUs went to others{noise}",
          flush=True)


def print_head():
    """The head of the table."""
    print(f"{'M x N x K':27} {'kernel':20} {'ours':>14}  {'best peer':21}"
          f"{'ours of it, of the goal (quartiles)':38} {'with two runs in flight':38}"
          f" {'by the device clock':38}"
          " ours of CLBlast")


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
