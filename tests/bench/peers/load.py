# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The share of the CPUs that other processes use while contenders are timed."""

import os
import pathlib

TICKS = os.sysconf("SC_CLK_TCK")


def _busy():
    """Seconds of work of all CPUs, with the time that the hypervisor took."""
    fields = pathlib.Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, hard, soft, steal = map(int, fields[:8])
    return (user + nice + system + hard + soft + steal) / TICKS


def _spent(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2]
    return sum(map(int, fields.split()[11:13])) / TICKS


class Load:
    """Measures, from its creation on, the CPU time of processes other than these and this one."""

    def __init__(self, processes):
        self.pids = [os.getpid(), *processes]
        self.start = self._others()

    def _others(self):
        return _busy() - sum(map(_spent, self.pids))

    def share(self, seconds):
        """The share of all CPUs in the given seconds that others used."""
        return max(self._others() - self.start, 0.0) / (seconds * os.cpu_count())
