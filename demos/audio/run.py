#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mixes a stereo recording down to mono. Each sample must equal NumPy's bit for bit."""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import pipeline  # noqa: E402


def main():
    output = pipeline.output_directory("audio")
    recording = [
        f"filesrc location={HERE}/bell.oga",
        "oggdemux",
        "vorbisdec",
        "audio/x-raw,format=F32LE,channels=2",
    ]
    pipeline.launch(
        [*recording, "tee name=stereo", "queue", "gemmcl weight=[[0.5],[0.5]]",
         "audio/x-raw,channels=1", "tee name=mono", "queue", "wavenc",
         f"filesink location={output}/mono.wav"],
        ["mono.", "queue", f"filesink location={output}/gemmcl.f32"],
        ["stereo.", "queue", f"filesink location={output}/stereo.f32"],
    )
    stereo = np.fromfile(output / "stereo.f32", "<f4").reshape(-1, 2)
    mono = np.fromfile(output / "gemmcl.f32", "<f4")
    half = np.float32(0.5)
    mixed = half * stereo[:, 0] + half * stereo[:, 1]
    apart = np.abs(stereo[:, 0] - stereo[:, 1]).max()
    pipeline.check(apart > 0.1, f"{len(stereo)} samples of two channels that differ")
    pipeline.check(len(mono) == len(stereo), f"{len(mono)} samples of one channel")
    same = np.count_nonzero(mono.view(np.uint32) == mixed.view(np.uint32))
    pipeline.check(same == len(mono), f"{same} of them bit for bit NumPy's")
    print(f"  listen: {output}/mono.wav")


if __name__ == "__main__":
    main()
