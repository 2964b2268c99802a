# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs gst-inspect-1.0 on the element, and pipelines under GStreamer's tracers. TAP out."""

import os
import re
import shutil

import tap

WORDS = ["D = act (alpha * A * B + beta * C + bias)", "gst-launch-1.0", "GRAY16_LE", "NV12",
         "F64LE", "other/tensors", "controllable", "changeable only in NULL or READY state",
         "changeable in NULL, READY, PAUSED or PLAYING state", "(4): gelu-tanh",
         "FILE.safetensors#NAME", "kernel-time"]
TRACED = {**os.environ, "GST_TRACERS": "latency(flags=element);leaks;stats",
          "GST_DEBUG": "GST_TRACER:7", "GST_DEBUG_NO_COLOR": "1"}
WITHOUT_OPENCL = {**os.environ, "OCL_ICD_VENDORS": "/nonexistent"}
# GStreamer's issue 4317, which 1.26.4 fixed: the latency tracer hangs in any pipeline.
HANGING = r"version 1\.26\.[0-3]\b"
BUFFERS = 5
LINES = [
    f"videotestsrc num-buffers={BUFFERS} ! video/x-raw,format=I420,width=16,height=8 ! "
    "gemmcl name=a weight=[[1,0,0],[0,1,0],[0,0,1]] bias=[1,2,3] ! fakesink",
    f"audiotestsrc num-buffers={BUFFERS} ! audio/x-raw,channels=2 ! "
    "gemmcl name=a weight=[[0.5],[0.5]] batch-size=2 ! fakesink",
]


def find_missing(said, words):
    return [f"it does not say {word}: {said}" for word in words if word not in said]


def inspect():
    return find_missing(tap.require("gst-inspect-1.0", "gemmcl"), WORDS)


def inspect_without_opencl():
    """The plugin scanner creates each element's class, which must work where OpenCL does not."""
    return find_missing(tap.require("gst-inspect-1.0", "gemmcl", env=WITHOUT_OPENCL), ["gemmcl"])


def launch_without_opencl():
    """The error names OpenCL and the device."""
    line = "fakesrc num-buffers=1 ! gemmcl weight=[1] ! fakesink"
    done = tap.run("gst-launch-1.0", *line.split(), env=WITHOUT_OPENCL)
    return find_missing(done.stdout, ["OpenCL", "device"]) if done.returncode else ["it succeeded"]


def trace():
    """The tracers log a latency of the element for each buffer, and each push from the element to
    the sink. They log no leaked object: the only line about leaks describes the format of such
    lines."""
    if re.search(HANGING, tap.require("gst-launch-1.0", "--version")):
        raise tap.Skipped("the latency tracer of this GStreamer hangs without gemmcl, too")
    wrong = []
    for line in LINES:
        messages = tap.require("gst-launch-1.0", "-q", *line.split(), env=TRACED, timeout=300)
        alive = re.findall(r"object-alive, type-name=\(string\)(.*)", messages)
        wrong += [f"leaked: {one}" for one in alive if not one.startswith("%")]
        number = re.search(r"new-element,.* ix=\(uint\)(\d+),.*type=\(string\)GstGemmcl,", messages)
        for found in [r"element-latency, .*element=\(string\)a, ",
                      rf":: buffer, .*, element-ix=\(uint\){number.group(1)},"]:
            count = len(re.findall(found, messages))
            if count != BUFFERS:
                wrong.append(f"{count} lines of {found}, expected {BUFFERS}")
        if not alive:
            wrong.append("the tracer of leaks said nothing")
    return wrong


if not shutil.which("gst-launch-1.0") or not shutil.which("gst-inspect-1.0"):
    tap.skip_all("gst-launch-1.0 is not installed (gstreamer1.0-tools)")
tap.play({test.__name__: test
          for test in (inspect, inspect_without_opencl, launch_without_opencl, trace)})
