# SPDX-License-Identifier: LGPL-2.1-or-later
"""A row of the table: all contenders on one problem, in turns."""

import math
import random
import statistics
import time

from contenders import CLBLAST, EARLIER, KINDS, LINK, MEMCPY, OURS, READ, UNLIMITED, Contender
from library import Failure, Missing
from problem import QUANTIZED, SEARCH, Problem
from ratio import Load, judge, summarize

TURN_SECONDS = 0.02
LEAST_ROUNDS = 5
MOST_RUNS = 2000
# (M, N, K): the goals, which are minimum speeds relative to the best peer and to CLBlast
GOALS = {(1024, 1024, 1024): (0.95, 7), (64, 1024, 1024): (0.90, 8), (16, 1024, 1024): (0.75, 8),
         (1, 1024, 1024): (0.40, 20), (3600, 96, 147): (0.90, 8), (230400, 64, 64): (0.90, 7),
         (921600, 3, 3): (0.5, None)}
# The same for other rows, by the best peer, the form or the shape
OTHER_GOALS = {EARLIER: (0.98, None), SEARCH: (1, None), QUANTIZED: (0.9, None),
               (1, 64, 16): (0.5, None)}


class Match:
    """The contenders that support a problem here, and the seconds of their turns."""

    def __init__(self, shape, form, settings):
        self.row = shape, form
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

    def _wants(self, kind):
        chosen = self.settings.contenders
        if self.settings.isa and kind.name == UNLIMITED or self.row[1] not in kind.forms:
            return False
        return (kind.name == OURS or kind.name in chosen) if chosen else not kind.is_optional

    def invite(self):
        """Starts and checks the contenders; raises Failure, or Missing if ours is missing."""
        problem = Problem(*self.row)
        for kind in filter(self._wants, KINDS):
            contender = Contender(kind, self.row, self.settings)
            self.contenders.append(contender)
            try:
                self.about[kind.name], found = contender.receive()
            except Missing as missing:
                if kind.name == OURS:
                    raise
                way = f" To install it: {kind.install}" if kind.install else ""
                self.missing[kind.name] = f"{str(missing).rstrip('.')}.{way}"
                self.contenders.pop().close()
                continue
            # LINK copies zeros, and READ reads B: they compute no product.
            wrong = kind.name not in (LINK, READ) and problem.check(found, kind.name == MEMCPY)
            if wrong:
                raise Failure(f"{kind.name}: {wrong}")

    def play(self, seconds):
        """Plays rounds until the time is over. In each round every contender has a turn, in another
        order. Ratios are computed within a round, whose turns are close in time."""
        shuffle = random.Random(1)
        runs = {each: self._count_runs(each) for each in self.contenders}
        self.turns = {each.name: [] for each in self.contenders}
        self.fastest = {each.name: math.inf for each in self.contenders}
        load = Load(each.process.pid for each in self.contenders)
        while len(self.turns[OURS]) < LEAST_ROUNDS or time.monotonic() < load.start + seconds:
            for each in shuffle.sample(self.contenders, len(self.contenders)):
                self._take_turn(each, runs[each])
        self.others = load.get_share()

    @staticmethod
    def _count_runs(contender):
        least = min(contender.turn(5)[1:])
        return min(max(math.ceil(TURN_SECONDS / least), 2), MOST_RUNS)

    def _take_turn(self, contender, runs):
        """The time of a turn: the median of its runs without the first, whose caches are cold."""
        seconds = contender.turn(runs + 1)[1:]
        self.turns[contender.name].append(statistics.median(seconds))
        self.fastest[contender.name] = min(self.fastest[contender.name], *seconds)

    def compare(self, ours, name):
        """The speed of gemmcl relative to a contender: quartiles over the rounds, and the ratio of
        the fastest runs, which is more reliable on a busy machine."""
        ratios = [theirs / own for own, theirs in zip(self.turns[ours], self.turns[name])]
        return {**summarize(ratios), "fastest": self.fastest[name] / self.fastest[ours]}

    def judge(self):
        """The row of the JSON: the best peer, and the ratios to it and to CLBlast with goals."""
        (m, n, k), form = self.row
        kinds = {kind.name: kind for kind in KINDS if kind.name in self.turns}
        row = {"m": m, "n": n, "k": k, "form": form, "kernel": self.about[OURS].split()[0],
               "rounds": len(self.turns[OURS]), "others": self.others,
               "about": self.about, "missing": self.missing,
               "seconds": {name: statistics.median(turns) for name, turns in self.turns.items()},
               "ratios": {ours: {name: self.compare(ours, name) for name in kinds if name != ours}
                          for ours, kind in kinds.items() if kind.is_ours}}
        peers = {name: row["ratios"][OURS][name] for name, kind in kinds.items()
                 if not kind.is_ours and name != LINK}
        best = min(peers, key=lambda name: peers[name]["median"], default=None)
        goals = {**GOALS, **OTHER_GOALS}
        wanted = next(filter(None, map(goals.get, (best, form, self.row[0]))), (None, None))
        for key, name, goal in zip(("of_best_peer", "of_clblast"), (best, CLBLAST), wanted):
            if name in peers:
                row[key] = {"name": name, **judge(peers[name], goal, self.others)}
        return row
