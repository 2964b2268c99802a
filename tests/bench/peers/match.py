# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A row of the table: all contenders on one problem, in turns."""

import math
import os
import pathlib
import random
import statistics
import time

from contenders import KINDS, OURS, Contender, Failure

TURN_SECONDS = 0.02
LEAST_ROUNDS = 5
MOST_RUNS = 2000


def quartiles(numbers):
    """The lower quartile, the median and the upper quartile."""
    low, middle, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return {"lower_quartile": low, "median": middle, "upper_quartile": high}


def busy_seconds(processes):
    """Seconds of work of all CPUs, with the time that the hypervisor took, other than that of this
    process and of these."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = pathlib.Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, hard, soft, steal = map(int, fields[:8])
    busy = user + nice + system + hard + soft + steal
    for pid in (os.getpid(), *processes):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2]
        busy -= sum(map(int, fields.split()[11:13]))
    return busy / ticks


class Match:
    """The contenders that support a problem here, and the seconds of their turns."""

    def __init__(self, problem, settings):
        self.problem = problem
        self.settings = settings
        self.about = {}
        self.missing = {}
        self.contenders = []
        self.turns = {}
        self.fastest = {}
        self.others = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for contender in self.contenders:
            contender.close()

    def invite(self):
        """Starts the contenders, one after another, and checks the first result of each; raises
        Failure, also if ours is missing."""
        for kind in KINDS:
            if self.problem.form not in kind.forms or not self.settings.wants(kind):
                continue
            try:
                self._start(kind)
            except Failure as failure:
                if not failure.missing or kind.name == OURS:
                    raise
                self.missing[kind.name] = f"{kind.install}: {failure}"

    def _start(self, kind):
        contender = Contender(
            kind, [*self.problem.arguments(), *self.settings.arguments(kind)], self.settings,
            str(self.problem.folder / kind.name))
        self.contenders.append(contender)
        try:
            self.about[kind.name] = contender.wait_ready()
        except Failure:
            self.contenders.remove(contender)
            contender.close()
            raise
        wrong = self.problem.check(kind.name, contender.result)
        if wrong:
            raise Failure(kind.name, 0, wrong)

    def play(self, seconds):
        """Plays rounds until the time is over. In each round every contender has a turn, in another
        order. Ratios are computed within a round, whose turns are close in time."""
        shuffle = random.Random(1)
        runs = {each: self._runs_of_a_turn(each) for each in self.contenders}
        self.turns = {each.name: [] for each in self.contenders}
        self.fastest = {each.name: math.inf for each in self.contenders}
        processes = [each.process.pid for each in self.contenders]
        others = busy_seconds(processes)
        start = time.monotonic()
        while len(self.turns[OURS]) < LEAST_ROUNDS or time.monotonic() < start + seconds:
            order = list(self.contenders)
            shuffle.shuffle(order)
            for each in order:
                self._take_turn(each, runs[each])
        others = max(busy_seconds(processes) - others, 0.0)
        self.others = others / ((time.monotonic() - start) * os.cpu_count())

    @staticmethod
    def _runs_of_a_turn(contender):
        least = min(contender.turn(5)[1:])
        return min(max(math.ceil(TURN_SECONDS / least), 2), MOST_RUNS)

    def _take_turn(self, contender, runs):
        """The time of a turn: the median of its runs without the first one, which finds the data of
        other contenders in the caches."""
        seconds = contender.turn(runs + 1)[1:]
        self.turns[contender.name].append(statistics.median(seconds))
        self.fastest[contender.name] = min(self.fastest[contender.name], *seconds)

    def ratios(self, name, ours=OURS):
        """The speed of gemmcl relative to a contender: quartiles over the rounds, and the ratio of
        the fastest runs, which is more reliable on a busy machine."""
        rounds = zip(self.turns[ours], self.turns[name])
        return {**quartiles([theirs / own for own, theirs in rounds]),
                "fastest": self.fastest[name] / self.fastest[ours]}

    def seconds(self, name):
        """The median of a contender's turns."""
        return statistics.median(self.turns[name])
