#!/usr/bin/env python3
# gemmcl: a gallery of embeddings that learns new classes while it plays.
# SPDX-License-Identifier: LGPL-2.1-or-later
import json
from pathlib import Path

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402
from weights import make_matrix, mapped, play  # noqa: E402

DIGITS = Path(__file__).resolve().parents[2] / "demos/digits"
FRAMES, RATE, FEATURES = 40, 30, 64
# The gallery has this many rows from the start, so that a new class changes no shape. Rows that are
# not used are zeros, whose cosines are 0. The bias lets the first of them win if no other row has a
# cosine of THRESHOLD.
CAPACITY, THRESHOLD, UNKNOWN = 32, 0.85, "unknown"
# The names that a person gives to some frames, by their numbers
TOLD = {0: "seven", 1: "six", 2: "three", 6: "two", 7: "eight"}
PIPELINE = f"""
    multifilesrc location={DIGITS}/images/%03d.png stop-index={FRAMES - 1}
        caps=image/png,framerate={RATE}/1
    ! pngdec
    ! gemmcl weight={DIGITS}/fc1.npy bias={DIGITS}/fc1-bias.npy input-scale=0.00416666667
        activation=relu normalize=output
    ! identity name=embeddings signal-handoffs=true
    ! gemmcl name=gallery transpose-weight=true row-outputs=top-k top-k=1 output=rows
        post-messages=true
    ! fakesink"""


def find_number(time):
    return round(time * RATE / Gst.SECOND)


class Gallery:
    def __init__(self, element):
        self.element = element
        self.rows = np.zeros((CAPACITY, FEATURES), np.float32)
        self.names = [UNKNOWN]
        bias = np.zeros((1, CAPACITY), np.float32)
        bias[0, 0] = THRESHOLD
        element.set_property("bias-boxed", make_matrix(bias))
        self.show()

    def show(self):
        """Lets the element use the gallery from the next buffer on."""
        unused = [UNKNOWN] * (CAPACITY - len(self.names))
        self.element.set_property("weight-boxed", make_matrix(self.rows))
        self.element.set_property("labels", json.dumps(self.names + unused))

    def enrol(self, embedding, name):
        self.rows[len(self.names)] = embedding
        self.names.append(name)
        self.show()


def see(_, buffer, gallery):
    """Enrols a frame that someone named. Runs before the gallery gets its embedding."""
    name = TOLD.get(find_number(buffer.pts))
    if name:
        with mapped(buffer.peek_memory(0), FEATURES) as rows:
            gallery.enrol(rows[0], name)


def run(pipeline):
    gallery = Gallery(pipeline.get_by_name("gallery"))
    pipeline.get_by_name("embeddings").connect("handoff", see, gallery)
    pipeline.set_state(Gst.State.PLAYING)
    while True:
        message = pipeline.get_bus().timed_pop(Gst.CLOCK_TIME_NONE)
        if message.type == Gst.MessageType.EOS:
            return
        if message.type in (Gst.MessageType.ERROR, Gst.MessageType.WARNING):
            raise SystemExit(message.parse_error()[0].message)
        result = message.get_structure()
        if result and result.get_name() == "gemmcl-result":
            label, cosine = result.get_value("label")[0], result.get_value("value")[0]
            number = find_number(result.get_value("timestamp"))
            print(f"frame {number}: {label} {cosine:.2f}")


if __name__ == "__main__":
    play(PIPELINE, run)
