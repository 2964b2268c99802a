# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of a launch: a kernel without effect, with a growing number of work-groups."""

import tempfile

from contenders import PLAIN, Contender, Kind
from match import quartiles
from problem import Problem

LAUNCHES = 501
GROUPS = (1, 2, 16, 256, 4096)
KIND = Kind("launch", "opencl", (PLAIN,), "launch", opencl=True)


def measure(settings):
    """The results for the JSON; raises Failure."""
    rows = []
    for groups in GROUPS:
        with tempfile.TemporaryDirectory(prefix="gemmcl-launch-") as folder:
            contender = Contender(
                KIND, [*Problem((groups, 1, 1), PLAIN, folder).arguments(),
                       *settings.arguments(KIND)], settings, folder + "/launch")
            try:
                device = contender.wait_ready()
                times = [1e6 * each for each in contender.turn(LAUNCHES)]
            finally:
                contender.close()
        rows.append({"groups": float(groups), **quartiles(times)})
    return {"device": device, "microseconds": rows}


def print_table(launch):
    """Prints the result of measure()."""
    print(f"A kernel that does nothing, from its enqueueing until it is done: {launch['device']}\n"
          f"{'groups':>8} {'median us':>10}  quartiles")
    for row in launch["microseconds"]:
        print(f"{row['groups']:8.0f} {row['median']:10.1f}  {row['lower_quartile']:.1f} to"
              f" {row['upper_quartile']:.1f}")
