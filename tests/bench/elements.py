#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the element with GStreamer's own elements for the same task, in gst-launch-1.0 lines.

Both lines have the same source and end in fakesink. They run in turns; the ratio of a round is the
other element's time to gemmcl's, and the median and the quartiles of the rounds are printed. The
time is what gst-launch-1.0 prints, from PLAYING to EOS; compiling happens before, in PAUSED. "3
times" is three elements that hand on OpenCL memory, against system memory between them. A layer of
a frame is compared with onnxinference, if there are that element and the module onnx. A row against
another element has a goal, the least ratio. It is not judged if other processes used more than a
tenth of the CPUs meanwhile.

Exit status: 0; 1 if a line fails; 2 for wrong usage."""

import argparse
import importlib.util
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent / name) for name in ("peers", "../support")]
import ratio  # noqa: E402  pylint: disable=wrong-import-position

SEPIA = "[[.393,.349,.272],[.769,.686,.534],[.189,.168,.131]]"
GREY = "[[.299],[.587],[.114]]"
IDENTITY = "[[1,0,0],[0,1,0],[0,0,1]]"
VIDEO = ("videotestsrc num-buffers=1 ! video/x-raw,format={0},width={1},height={2} !"
         " imagefreeze num-buffers={{n}}")
AUDIO = ("audiotestsrc wave=silence num-buffers={{n}} samplesperbuffer={1} !"
         " audio/x-raw,format=F32LE,rate=48000,channels={0},channel-mask=(bitmask)0x0")
VECTOR = ("fakesrc num-buffers={n} sizetype=fixed sizemax=4096 filltype=zero !"
          " other/tensors,format=static,num_tensors=1,types=(string)float32,framerate=0/1,"
          "dimensions=(string)1024:1")
CONVERT = "videoconvert n-threads=0"  # a thread for each CPU, as in gemmcl
LAYER = "layer of a 64x64 frame, K = 12288, N = {n}"
# The least ratios, unless they are 1. Comparisons of gemmcl with itself have none.
GOALS = {"480 samples, 2 to 1 channels": 0.9, LAYER.format(n=10): 0.9}
OURSELVES = "system memory", "queue-depth=1", "no messages"
ENDED = re.compile(r"Execution ended after (\d+):(\d+):([\d.]+)")
TURN_SECONDS = 0.5
TIMEOUT_SECONDS = 60


def mix(inputs, outputs):
    rows = [[round((1 + (i + j) % 5) / 16, 4) for i in range(inputs)] for j in range(outputs)]
    weight = str([list(column) for column in zip(*rows)]).replace(" ", "")
    matrix = ",".join("<" + ",".join(f"(double){value}" for value in row) + ">" for row in rows)
    return (f"gemmcl weight={weight}", f"audiomixmatrix in-channels={inputs} out-channels={outputs}"
            f" channel-mask=0 matrix=<{matrix}>")


def layers(folder):
    element = subprocess.run(["gst-inspect-1.0", "--exists", "onnxinference"], check=False)
    if element.returncode or not importlib.util.find_spec("onnx"):
        return
    import numpy as np  # pylint: disable=import-outside-toplevel
    from onnx_layer import write_layer  # pylint: disable=import-outside-toplevel
    for n in 10, 256:
        layer = np.random.default_rng(n).standard_normal((64 * 64 * 3, n)).astype("f4")
        weight, model = pathlib.Path(folder, f"{n}.npy"), pathlib.Path(folder, f"{n}.onnx")
        np.save(weight, layer)
        write_layer(model, layer, 64, 64)
        yield (LAYER.format(n=n), "onnxinference", VIDEO.format("RGB", 64, 64),
               f"gemmcl feature-mode=frame output=meta weight={weight}",
               f"onnxinference model-file={model}")


def cases(folder):
    """Yields (name, the other element, source, gemmcl's line, the other line). The last cases send
    a vector in each buffer, and compare batches and in-flight runs with one run at a time, and
    messages of the best elements with none; their weight is written into the folder."""
    rgb, gray = "video/x-raw,format=RGB", "video/x-raw,format=GRAY8"
    sepia = f"gemmcl weight={SEPIA}"
    for size in ((160, 120), (1280, 720)):
        for name, caps, ours, other, theirs in (
            ("NV12 to RGB", "NV12", f"gemmcl weight={IDENTITY} ! {rgb}",
             "videoconvert", f"{CONVERT} ! {rgb}"),
            ("RGB to GRAY8", "RGB", f"gemmcl weight={GREY} ! {gray}",
             "videoconvert", f"{CONVERT} ! {gray}"),
            ("RGB, sepia", "RGB", f"{sepia} ! {rgb}", "coloreffects", "coloreffects preset=sepia"),
            ("RGB, saturation and hue", "RGB", f"{sepia} ! {rgb}",
             "videobalance", "videobalance saturation=0.5 hue=0.1"),
            ("NV12 to RGB, sepia", "NV12", f"{sepia} ! {rgb}",
             "both", f"{CONVERT} ! {rgb} ! coloreffects preset=sepia"),
            ("RGB, sepia 3 times", "RGB", f"{sepia} ! {sepia} ! {sepia} ! {rgb}",
             "system memory", f"{sepia} ! {rgb} ! " * 3 + "identity"),
        ):
            yield f"{size[0]}x{size[1]} {name}", other, VIDEO.format(caps, *size), ours, theirs
    for inputs, outputs in ((2, 1), (8, 2), (32, 32)):
        for samples in (480, 4800):
            name = f"{samples} samples, {inputs} to {outputs} channels"
            yield name, "audiomixmatrix", AUDIO.format(inputs, samples), *mix(inputs, outputs)
    yield from layers(folder)
    weight = pathlib.Path(folder, "weight.raw")
    weight.write_bytes(bytes(4 * 1024 * 1024))
    line = f"gemmcl weight={weight}#f32:1024x1024"
    for settings in ("queue-depth=2", "queue-depth=4", "batch-size=8", "batch-size=32"):
        yield (f"1x1024 floats x 1024, {settings}", "queue-depth=1", VECTOR, f"{line} {settings}",
               f"{line} queue-depth=1")
    best = f"{line} row-outputs=top-k output=rows"
    yield ("1x1024 floats x 1024, messages", "no messages", VECTOR, f"{best} post-messages=true",
           best)


def play(source, line, count):
    command = f"{source.format(n=count)} ! {line} ! fakesink sync=false".split()
    said = subprocess.run(["gst-launch-1.0", *command], capture_output=True, text=True,
                          timeout=TIMEOUT_SECONDS, env={**os.environ, "LC_ALL": "C"}, check=False)
    ended = ENDED.search(said.stdout)
    if said.returncode or not ended:
        sys.exit(f"{' '.join(command)}\n{said.stdout}{said.stderr}")
    hours, minutes, seconds = ended.groups()
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def count_buffers(source, line):
    count = 50
    while (seconds := play(source, line, count)) < TURN_SECONDS / 4:
        count *= 4
    return max(10, round(count * TURN_SECONDS / seconds))


def compare(name, other, source, ours, theirs, rounds):  # pylint: disable=too-many-arguments
    lines = ours, theirs
    counts = [count_buffers(source, line) for line in lines]
    load = ratio.Load()
    times = [[play(source, line, count) / count * 1e6 for line, count in zip(lines, counts)]
             for _ in range(rounds)]
    goal = None if other in OURSELVES else GOALS.get(name, 1)
    judged = ratio.judge(ratio.summarize(b / a for a, b in times), goal, load.get_share())
    our_time, their_time = (statistics.median(each) for each in zip(*times))
    print(f"{name:40} {other:14} {their_time:8.1f} {our_time:9.1f}  {ratio.describe(judged)}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=15, help="turns of each line (default: 15)")
    parser.add_argument("--case", default="", metavar="PART",
                        help="only cases whose names contain PART")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: expected 2 or more")
    print(f"{'buffer':40} {'against':14} {'its us':>8} {'gemmcl us':>9}  ratio, goal (quartiles)")
    with tempfile.TemporaryDirectory(prefix="gemmcl-elements-") as folder:
        for case in cases(folder):
            if options.case in case[0]:
                compare(*case, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
