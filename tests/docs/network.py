# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the pipelines of several machines that docs/scaling.md shows, on the loopback, and compares
their results with NumPy. The test replaces /tmp by another folder. TAP out.

Each block marked `sh network` is one test. Each of its gst-launch-1.0 lines is a machine: a process
of its own, started when all before it listen. Hosts become the loopback, and ports free ones. The
line with videotestsrc sends the frames, and lines with gemmcl multiply them by the weight that they
state. A line with udpsrc is interrupted when it has read all datagrams. The files of filesink must
have all frames multiplied, once, in order unless a line has a funnel."""

import ast
import contextlib
import functools
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tap

try:
    import numpy as np
except ImportError:
    tap.skip_all("NumPy is not installed (python3-numpy)")

SECONDS = 600
BLOCK = re.compile(r"^```sh network\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PORT = re.compile(r"\bport=(\d+)")
HOST = re.compile(r"\bhost=[\w.-]+")
LISTENS = re.compile(r"\b(tcpserversrc|udpsrc)\b[^!]*?\bport=(\d+)")
SOCKET = re.compile(r"\bunixfdsink\b[^!]*?\bsocket-path=(\S+)")
ELEMENT = re.compile(r"(?:^|! |[.\d] )([a-z]\w+)(?= |$)")
FRAMES = re.compile(r"videotestsrc num-buffers=(\d+)")
SIZE = re.compile(r"\bwidth=(\d+),height=(\d+)")
WEIGHT = re.compile(r"weight='(\[\[.*?\]\])'")
RESULT = re.compile(r"filesink location=/tmp/(\S+)")


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def localize(block, folder):
    kind = socket.SOCK_DGRAM if "udpsink" in block else socket.SOCK_STREAM
    ports = {port: str(free_port(kind)) for port in PORT.findall(block)}
    block = PORT.sub(lambda found: "port=" + ports[found.group(1)], block)
    block = HOST.sub("host=127.0.0.1", block).replace("/tmp/", f"{folder}/")
    return block.replace("\\\n", " ").strip().splitlines()


def find_sockets(kind, port):
    tables = [Path(f"/proc/net/{'udp' if kind == 'udpsrc' else 'tcp'}{version}")
              for version in ("", "6")]
    rows = (row.split() for table in tables if table.exists()
            for row in table.read_text("ascii").splitlines()[1:])
    return [row for row in rows if row[1].endswith(f":{int(port):04X}")]


def listens(kind, port):
    state = "07" if kind == "udpsrc" else "0A"
    return any(row[3] == state for row in find_sockets(kind, port))


def find_missing(lines):
    names = {name for line in lines for name in ELEMENT.findall(line)}
    return [name for name in sorted(names) if tap.run("gst-inspect-1.0", name).returncode]


def start(line, folder):
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(shlex.split(line), cwd=folder / "current",
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    conditions = [functools.partial(listens, *at) for at in LISTENS.findall(line)]
    conditions += [(folder / path).exists for path in SOCKET.findall(line)]
    end = time.monotonic() + SECONDS
    while not all(is_met() for is_met in conditions):
        if process.poll() is not None or time.monotonic() > end:
            raise tap.Failed(f"It does not listen: {line}")
        time.sleep(0.02)
    return process


def is_idle(process, port):
    """True if no datagram waits at the port and all threads of the process sleep."""
    queued = any(int(row[4].split(":")[1], 16) for row in find_sockets("udpsrc", port))
    states = set()
    for stat in Path(f"/proc/{process.pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has ended
            states.add(stat.read_text("ascii").rpartition(")")[2].split()[0])
    return not queued and states == {"S"}


def wait_until_idle(process, port, end):
    """Waits until a process is idle each time in ten looks."""
    looks = 0
    while looks < 10 and process.poll() is None and time.monotonic() < end:
        looks = looks + 1 if is_idle(process, port) else 0
        time.sleep(0.1)


def run(lines, folder):
    processes = []
    end = time.monotonic() + SECONDS
    try:
        for line in lines:
            processes.append(start(line, folder))
        for line, process in sorted(zip(lines, processes), key=lambda pair: "udpsrc" in pair[0]):
            if "udpsrc" in line:
                wait_until_idle(process, PORT.search(line).group(1), end)
                process.send_signal(signal.SIGINT)
            if process.wait(max(0.0, end - time.monotonic())):
                raise tap.Failed(f"exit status {process.returncode}: {line}")
    except subprocess.TimeoutExpired as late:
        raise tap.Failed(f"not done after {SECONDS} s: {late.cmd}") from late
    finally:
        for process in processes:
            process.kill()
            process.wait()


def make_frames(line, folder):
    """The frames of the line: an array for each, a row for a pixel."""
    source = re.match(r".*?videotestsrc .*?! .*?(?= !)", line).group()
    tap.require(*shlex.split(f"{source} ! filesink location=frames"), cwd=folder, timeout=SECONDS)
    width, height = map(int, SIZE.search(line).groups())
    frames = np.fromfile(folder / "frames", np.uint8).reshape(
        int(FRAMES.search(line).group(1)), width * height, -1)
    if len(np.unique(frames, axis=0)) < len(frames):
        raise tap.Failed("Frames of the source are alike.")
    return frames


def check(path, expected, is_ordered):
    data = path.read_bytes()
    size = expected.size
    if len(data) not in (size, 4 * size):
        raise tap.Failed(f"{path.name} has {len(data)} bytes; expected {len(expected)} frames of"
                      f" {expected[0].size} or {4 * expected[0].size}.")
    kind, near = (np.uint8, 0.501) if len(data) == size else (np.float32, 0.001)
    found = np.frombuffer(data, kind).reshape(expected.shape).astype(np.float64)
    if kind is np.uint8:
        expected = expected.clip(0, 255)
    left = list(expected)
    for index, frame in enumerate(found):
        for place in range(1 if is_ordered else len(left)):
            if np.abs(left[place] - frame).max() <= near:
                del left[place]
                break
        else:
            raise tap.Failed(f"{path.name}: frame {index} is wrong, or not in its place.")


def play(block):
    with tempfile.TemporaryDirectory(prefix="gemmcl-network-") as name:
        folder = Path(name)
        lines = localize(block, folder)
        missing = find_missing(lines)
        if missing:
            raise tap.Skipped("elements are missing: " + ", ".join(missing))
        current = folder / "current"
        current.mkdir()
        try:
            frames = make_frames(next(line for line in lines if "videotestsrc" in line), folder)
            run(lines, folder)
            weight = np.array(ast.literal_eval(WEIGHT.search(block).group(1)))
            for result in RESULT.findall(block):
                check(folder / result, frames @ weight, "funnel" not in block)
            if list(current.iterdir()):
                raise tap.Failed("It leaves files in the current folder; /tmp is for files.")
        except tap.Failed as failure:
            raise tap.Failed(f"{failure}\n{(folder / 'log').read_text('utf-8')}") from failure


text = Path(sys.argv[1]).read_text("utf-8")
tap.play({f"{HEADING.findall(text, 0, block.start())[-1]}, block {number}":
          functools.partial(play, block.group(1))
          for number, block in enumerate(BLOCK.finditer(text), 1)})
