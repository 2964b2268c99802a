#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tones a photograph of 1280 x 720 with a colour matrix, from RGB and from NV12.

Writes before-after.jpg. Each pixel must be that of NumPy, rounded to the nearest integer.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import pipeline  # noqa: E402

WIDTH, HEIGHT = 1280, 720
# Sepia: a row for each of R, G, B that comes in, a column for each that goes out.
SEPIA = np.array([[0.393, 0.349, 0.272], [0.769, 0.686, 0.534], [0.189, 0.168, 0.131]])
LITERAL = "[" + ",".join("[" + ",".join(map(str, row)) + "]" for row in SEPIA) + "]"
FORMATS = {"RGB": "format=RGB", "NV12": "format=NV12,colorimetry=bt709"}
FROZEN = 300


def photograph(caps):
    return [
        f"filesrc location={HERE}/china.jpg",
        "jpegdec",
        "videoconvert",
        "videoscale",
        f"video/x-raw,{caps},width={WIDTH},height={HEIGHT}",
    ]


def rgb_from_nv12(data):
    """ITU-R BT.709-6 section 3, limited range, each chroma sample for its 2 x 2 pixels."""
    luma = data[: WIDTH * HEIGHT].reshape(HEIGHT, WIDTH)
    chroma = data[WIDTH * HEIGHT :].reshape(HEIGHT // 2, WIDTH // 2, 2)
    chroma = (chroma.repeat(2, axis=0).repeat(2, axis=1) - 128) / 224
    y, cb, cr = (luma - 16) / 219, chroma[..., 0], chroma[..., 1]
    kr, kb = 0.2126, 0.0722
    r = y + 2 * (1 - kr) * cr
    b = y + 2 * (1 - kb) * cb
    g = (y - kr * r - kb * b) / (1 - kr - kb)
    return np.clip(np.stack([r, g, b], axis=-1) * 255, 0, 255)


def tone(output, name, caps):
    before, after = output / f"before-{name}.raw", output / f"after-{name}.raw"
    pipeline.launch(
        [*photograph(caps), "tee name=before", "queue", f"gemmcl weight={LITERAL}",
         "video/x-raw,format=RGB", f"filesink location={after}"],
        ["before.", "queue", f"filesink location={before}"],
    )
    pixels = np.fromfile(before, np.uint8).astype(np.float64)
    rgb = pixels.reshape(HEIGHT, WIDTH, 3) if name == "RGB" else rgb_from_nv12(pixels)
    expected = np.clip(rgb @ SEPIA, 0, 255)
    found = np.fromfile(after, np.uint8).reshape(HEIGHT, WIDTH, 3)
    error = np.abs(found - expected).max()
    # Rounding errs by at most 0.5, and single precision adds a little.
    pipeline.check(error < 0.501, f"{name}: every pixel is NumPy's, rounded (error {error:.4f})")

    seconds = pipeline.launch(
        [*photograph(caps), f"imagefreeze num-buffers={FROZEN}", f"gemmcl weight={LITERAL}",
         "video/x-raw,format=RGB", "fakesink"]
    )
    print(f"  speed: {FROZEN / seconds:.0f} frames per second of {WIDTH}x{HEIGHT} {name}\n")


def main():
    output = pipeline.output_directory("colour")
    for name, caps in FORMATS.items():
        tone(output, name, caps)
    frame = output / "before-after.jpg"
    pipeline.launch(
        [f"compositor name=both sink_1::xpos={WIDTH}",
         f"video/x-raw,width={2 * WIDTH},height={HEIGHT}", "videoconvert", "videoscale",
         f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT // 2}", "jpegenc quality=80",
         f"filesink location={frame}"],
        [*photograph("format=RGB"), "tee name=before", "queue", "videoconvert", "both.sink_0"],
        ["before.", "queue", f"gemmcl weight={LITERAL}", "video/x-raw,format=RGB", "videoconvert",
         "both.sink_1"],
    )
    pipeline.check(frame.stat().st_size > 0, f"before and after are in {frame}")


if __name__ == "__main__":
    main()
