# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ratio of two speeds, with its goal, and the load of others that forbids a verdict."""

import os
import pathlib
import statistics
import time

# Threads that wait for each other may all wait for one CPU: above this share goals are not judged.
QUIET = 0.1


class Load:
    """What the CPUs do, from now on, for others than this process, its children that have ended and
    these processes."""

    def __init__(self, processes=()):
        self.processes = os.getpid(), *processes
        self.start, self.busy = time.monotonic(), self._count_seconds()

    def _count_seconds(self):
        """Seconds that the CPUs worked for others, including what the hypervisor took."""
        ticks = os.sysconf("SC_CLK_TCK")
        fields = pathlib.Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:]
        user, nice, system, _idle, _wait, hard, soft, steal = map(int, fields[:8])
        busy = user + nice + system + hard + soft + steal
        for pid in self.processes:
            text = pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
            busy -= sum(map(int, text.rpartition(")")[2].split()[11:15]))
        return busy / ticks

    def get_share(self):
        seconds = (time.monotonic() - self.start) * os.cpu_count()
        return max(self._count_seconds() - self.busy, 0.0) / seconds


def summarize(ratios):
    """The quartiles of the ratios of several rounds."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return {"lower_quartile": low, "median": middle, "upper_quartile": high}


def judge(ratio, goal, others):
    """The ratio with its goal, which may be None, and whether the median reaches it: None without a
    goal, or if others had more than QUIET of the CPUs."""
    reached = ratio["median"] >= goal if goal and others < QUIET else None
    return {**ratio, "goal": goal, "reached": reached}


def describe(ratio):
    if ratio is None:
        return "-"
    verdict = {None: "not judged", True: "reached", False: "MISSED"}[ratio["reached"]]
    goal = f", goal {ratio['goal']:g} {verdict}" if ratio["goal"] else ""
    return (f"{ratio['median']:.2f}{goal} ({ratio['lower_quartile']:.2f}"
            f" to {ratio['upper_quartile']:.2f})")
