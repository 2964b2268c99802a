#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the tests in its own folder, which portable-tests.py packed.

It prints each test when it ends, then the skipped tests with reasons, the failed tests, and as the
last line

    N passed, N failed, N skipped

The exit status is 1 if a test failed. Beside this file, logs/NAME.txt holds the output of each
failed test, log.json that of all tests.

The environment variable OCL_ICD_VENDORS names the OpenCL driver if /etc/OpenCL/vendors does not.
"""

import argparse
import concurrent.futures
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOGS = HERE / "logs"
LIMIT = 540
SECONDS_TO_END = 5

BASE = {
    "GEMMCL_TEST_PLUGINS": "{here}/gstreamer",
    "GST_PLUGIN_SCANNER": "{here}/bin/gst-plugin-scanner",
    "GST_PLUGIN_SYSTEM_PATH": "{here}/gstreamer",
    "LD_LIBRARY_PATH": "{here}/lib",
    "PATH": "{here}/bin",
    "XDG_CACHE_HOME": "{here}/cache",
}
# Lists of folders, to which values are prepended.
LISTS = ["LD_LIBRARY_PATH", "PATH"]


def place(text):
    return text.replace("{here}", str(HERE)).replace("{python}", sys.executable)


def make_environment(test, full):
    """The environment of run.py, overridden by the folder's, then by Meson's for the test."""
    made = dict(os.environ)
    for layer in BASE, test.get("env", {}):
        for name, value in layer.items():
            before = made.get(name) if name in LISTS else None
            made[name] = place(value) + (f":{before}" if before else "")
    if not full:
        made["GEMMCL_TEST_BRIEF"] = "1"
    return made


def execute(test, full, seconds):
    """Returns (exit status, output, errors) of a test's process. After these seconds it is killed
    with its descendants, and the status is None."""
    process = subprocess.Popen([place(word) for word in test["cmd"]], cwd=HERE,
                               env=make_environment(test, full), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, errors = process.communicate(timeout=seconds)
        return process.returncode, output, errors
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return None, *process.communicate(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        return None, "", "It could not be ended."


def run(test, full, end):
    """Runs a test until the monotonic time end at most. Returns its line of Meson's log."""
    began = time.monotonic()
    left = min(test.get("timeout") or LIMIT, end - began)
    result, status, output, errors = "SKIP", 0, test.get("left_out", ""), ""
    if not output:
        try:
            status, output, errors = (execute(test, full, left) if left > 0 else
                                      (None, "", "There was no time left to begin it."))
        except OSError as error:
            status, errors = 1, str(error)
        skipped = status == 77 and test["protocol"] == "exitcode"
        result = {None: "TIMEOUT", 0: "OK"}.get(status, "SKIP" if skipped else "ERROR")
    print(f"{result:8}{time.monotonic() - began:6.1f} s  {test['name']}", flush=True)
    line = {"name": test["name"], "result": result, "returncode": status or 0, "stdout": output,
            "stderr": errors}
    if result not in ("OK", "SKIP"):
        write_log(test, line)
    return line


def write_log(test, line):
    with open(LOGS / f"{test['name']}.txt", "w", encoding="utf-8") as file:
        file.write(f"{line['result']}, exit status {line['returncode']}\n")
        for name, value in test["env"].items():
            file.write(f"{name}={shlex.quote(place(value))} ")
        file.write(shlex.join(place(word) for word in test["cmd"]) + "\n")
        for title in "stdout", "stderr":
            file.write(f"\n--- {title}\n{line[title]}")


def read_tests(names):
    tests = json.loads((HERE / "tests.json").read_text(encoding="utf-8"))
    known = {test["name"] for test in tests}
    for name in names:
        if name not in known:
            sys.exit(f"run.py: there is no test {name}; there are {', '.join(sorted(known))}")
    return [test for test in tests if not names or test["name"] in names]


def make_executable():
    """Restores the executable bits, which copying the folder may have lost."""
    for path in (HERE / folder for folder in ("bin", "build")):
        for file in path.rglob("*"):
            if file.is_file() and not os.access(file, os.X_OK):
                file.chmod(0o755)


def get_device_test():
    """A test that fails without a device, since all other tests are then only skipped."""
    tool = "{here}/build/tools/gemmcl"
    if not Path(place(tool)).exists():
        return []
    return [{"name": "device", "cmd": [tool, "devices"], "env": {}, "timeout": 60,
             "protocol": "exitcode"}]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS",
                        help="time limit of the run (default: 540); tests that then still run, or"
                        " have not started, count as failed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="number of tests at a time (default: the number of cores)")
    parser.add_argument("--full", action="store_true",
                        help="run without GEMMCL_TEST_BRIEF, which keeps the tests short")
    parser.add_argument("tests", nargs="*", metavar="TEST", help="names of tests (default: all)")
    options = parser.parse_args()
    tests = read_tests(options.tests)
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir()
    make_executable()
    end = time.monotonic() + options.limit - 2 * SECONDS_TO_END
    results = [run(test, options.full, end) for test in get_device_test()]
    print(*(line["stdout"] for line in results), end="")
    # The tests with the longest time limits come first.
    tests.sort(key=lambda test: -(test.get("timeout") or LIMIT))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results += pool.map(lambda test: run(test, options.full, end), tests)
    log = HERE / "log.json"
    with open(log, "w", encoding="utf-8") as file:
        for line in results:
            file.write(json.dumps(line) + "\n")
    said = subprocess.run([sys.executable, str(HERE / "test-results.py"), f"portable={log}"],
                          check=False)
    return said.returncode


if __name__ == "__main__":
    sys.exit(main())
