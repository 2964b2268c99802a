# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a launch costs, by launch.c."""

import pathlib
import subprocess


def measure(programs, platform):
    """Has the program measure it. Returns it as the JSON has it; raises CalledProcessError."""
    said = subprocess.run(
        [str(pathlib.Path(programs) / "peers-launch"), *([platform] if platform else [])],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout
    device, *lines = said.splitlines()
    rows = [dict(zip(("groups", "lower_quartile", "median", "upper_quartile"),
                     map(float, line.split()))) for line in lines]
    return {"device": device, "microseconds": rows}


def print_table(launch):
    """Prints what measure() returned."""
    print(f"A kernel that does nothing, from its enqueueing until it is done: {launch['device']}\n"
          f"{'groups':>8} {'median us':>10}  quartiles")
    for row in launch["microseconds"]:
        print(f"{row['groups']:8.0f} {row['median']:10.1f}  {row['lower_quartile']:.1f} to"
              f" {row['upper_quartile']:.1f}")
