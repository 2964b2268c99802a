# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs GStreamer's tools on the element, also on a machine without OpenCL. TAP out."""

import os
import shutil

import tap

WORDS = ["D = act (alpha * A * B + beta * C + bias)", "gst-launch-1.0", "GRAY16_LE", "NV12",
         "F64LE", "other/tensors", "controllable", "changeable only in NULL or READY state",
         "changeable in NULL, READY, PAUSED or PLAYING state", "(4): gelu-tanh",
         "FILE.safetensors#NAME", "kernel-time"]
WITHOUT_OPENCL = {**os.environ, "OCL_ICD_VENDORS": "/nonexistent"}


def find_missing(said, words):
    return [f"it does not say {word}: {said}" for word in words if word not in said]


def inspect():
    return find_missing(tap.require("gst-inspect-1.0", "gemmcl"), WORDS)


def inspect_without_opencl():
    """The plugin scanner creates each element's class, which must work where OpenCL does not."""
    return find_missing(tap.require("gst-inspect-1.0", "gemmcl", env=WITHOUT_OPENCL), ["gemmcl"])


def launch_without_opencl():
    line = "fakesrc num-buffers=1 ! gemmcl weight=[1] ! fakesink"
    done = tap.run("gst-launch-1.0", *line.split(), env=WITHOUT_OPENCL)
    return find_missing(done.stdout, ["OpenCL", "device"]) if done.returncode else ["it succeeded"]


if not shutil.which("gst-launch-1.0") or not shutil.which("gst-inspect-1.0"):
    tap.skip_all("gst-launch-1.0 is not installed (gstreamer1.0-tools)")
tap.play({test.__name__: test for test in (inspect, inspect_without_opencl, launch_without_opencl)})
