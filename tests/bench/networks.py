#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Imports networks that other tools wrote, and prints a table in Markdown: each line of `gemmcl
import` against onnxruntime, in f32, f16 and int8, on the 360 held-out digits of demos/digits.

scikit-learn trains multilayer perceptrons, which skl2onnx writes; PyTorch trains and writes a LeNet
and a small VGG, of digits enlarged to 32 x 32. ONNX's own backend tests have an input and an output
each. scripts/maintain/networks.sh fetches what the distribution lacks, and starts this.

Errors are the largest of a probability, from onnxruntime's in f32. Each must be within its bound,
and no precision may read more than FEW digits fewer than onnxruntime. Frames per second are those
of lines and sessions with as many threads, a frame at a time, bound to as many CPUs: the ratio of
the most of ROUNDS alternating turns.

Exit status: 0; 1 if a bound is exceeded or a line fails; 2 for wrong usage."""

import argparse
import importlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import numpy_helper

# The kernel of each precision, so that f32 replaces none of them, and the bound of its errors
PRECISIONS = {"f32": ("auto", 1e-5), "f16": ("xmx_f16_8x1_1x16", 1e-2),
              "i8": ("vector_i8_1x64_1x1", 1e-1)}
FEW = 2
HELD_OUT = 360
ENLARGED = 4
STEP = 15  # frames have 0 to 240, the digits 0 to 16
EPOCHS, BATCH = 12, 32
ROUNDS, TURN_SECONDS = 12, 0.5
ENDED = re.compile(r"Execution ended after (\d+):(\d+):([\d.]+)")


def fail(text):
    sys.exit(f"networks.py: {text}")


def load_digits():
    """The digits, and the numbers of those that train and of those that are held out, as in
    demos/digits/train.py."""
    datasets = importlib.import_module("sklearn.datasets")
    selection = importlib.import_module("sklearn.model_selection")
    digits = datasets.load_digits()
    return digits, *selection.train_test_split(np.arange(len(digits.target)), test_size=HELD_OUT,
                                               random_state=0, stratify=digits.target)


def write_perceptrons(folder, digits, train):
    """Yields the name and the path of each model of scikit-learn."""
    neural = importlib.import_module("sklearn.neural_network")
    pipeline = importlib.import_module("sklearn.pipeline")
    preprocessing = importlib.import_module("sklearn.preprocessing")
    skl2onnx = importlib.import_module("skl2onnx")
    for name, before, hidden, activation in (
            ("MLP 64-64-32-10, ReLU", [], (64, 32), "relu"),
            ("StandardScaler, MLP 64-64-10, tanh", [preprocessing.StandardScaler()], (64,), "tanh"),
            ("MinMaxScaler, MLP 64-64-10, logistic", [preprocessing.MinMaxScaler()], (64,),
             "logistic")):
        network = neural.MLPClassifier(hidden_layer_sizes=hidden, activation=activation,
                                       max_iter=500, random_state=1)
        whole = pipeline.make_pipeline(*before, network)
        whole.fit(digits.data[train].astype(np.float32), digits.target[train])
        model = skl2onnx.to_onnx(whole, digits.data[:1].astype(np.float32), target_opset=13,
                                 options={"zipmap": False})
        path = pathlib.Path(folder, f"mlp-{activation}.onnx")
        path.write_bytes(model.SerializeToString())
        yield name, path


def make_frames(digits, channels):
    """The digits as frames of uint8 in NCHW."""
    frames = (digits.images * STEP).astype(np.uint8).repeat(ENLARGED, 1).repeat(ENLARGED, 2)
    return frames[:, None].repeat(channels, 1)


def write_convolutions(folder, digits, train):
    """Yields the name and the path of each model of PyTorch."""
    torch = importlib.import_module("torch")
    nn = torch.nn

    class Scaled(nn.Module):
        """Layers behind the division of a frame."""

        def __init__(self, *layers):
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, x):
            return self.layers(x / 255)

    def block(before, after):
        return (nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())

    torch.manual_seed(1)
    lenet = Scaled(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                   nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(),
                   nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    vgg = Scaled(*block(3, 8), nn.MaxPool2d(2), *block(8, 16), nn.MaxPool2d(2), *block(16, 32),
                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32, 32),
                 nn.ReLU(), nn.Linear(32, 10))
    for name, network, channels in ("LeNet-5, 32 x 32", lenet, 1), ("VGG, 32 x 32 x 3", vgg, 3):
        frames = torch.from_numpy(make_frames(digits, channels)[train].astype(np.float32))
        targets = torch.from_numpy(digits.target[train])
        optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(train)).split(BATCH):
                optimizer.zero_grad()
                nn.functional.cross_entropy(network(frames[chosen]), targets[chosen]).backward()
                optimizer.step()
        network.layers.add_module("softmax", nn.Softmax(1))
        path = pathlib.Path(folder, f"{name.split('-')[0].split(',')[0].lower()}.onnx")
        torch.onnx.export(network.eval(), frames[:1], path)
        yield name, path


class Line:
    """The gst-launch line of a model, in a folder."""

    def __init__(self, path, folder):
        self.folder = folder
        said = subprocess.run(["gemmcl", "import", path, "-o", folder], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.text = said.stdout.replace("\\\n", " ")

    def write(self, x, count=1):
        """Writes inputs in the model's order and shape, that often."""
        is_video = "input.u8" in self.text
        if x.ndim == 4:
            x = x.transpose(0, 2, 3, 1)
            x = x.reshape(*x.shape[:2], -1) if is_video else x
        if is_video:
            x = np.pad(x.astype(np.uint8), ((0, 0), (0, 0), (0, -x.shape[2] % 4)))
        data = np.ascontiguousarray(x, x.dtype if is_video else np.float32).tobytes()
        with open(f"{self.folder}/input.{'u8' if is_video else 'f32'}", "wb") as file:
            for _ in range(count):
                file.write(data)

    def run(self, properties):
        """The seconds that gst-launch reports. Compiling is before them. Lists of scales make the
        ranges of features so different that int8 loses the small ones: such a layer stays f32."""
        kept = "(?![^!]* input-scale='<)" if "i8" in properties else ""
        line = re.sub(f"! gemmcl{kept}", f"! gemmcl {properties}", self.text)
        done = subprocess.run(shlex.split(line), cwd=self.folder, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        took = ENDED.search(done.stdout)
        if done.returncode or not took:
            fail(f"{line}\n{done.stdout}")
        hours, minutes, seconds = took.groups()
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)

    def read(self, shape):
        found = np.fromfile(f"{self.folder}/output.f32", np.float32)
        if len(shape) == 4:
            n, channels, height, width = shape
            return found.reshape(n, height, width, channels).transpose(0, 3, 1, 2)
        return found.reshape(shape)


def open_session(path, threads):
    onnxruntime = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def time_session(session, inputs, output, count):
    name = session.get_inputs()[0].name
    rows = [{name: inputs[i:i + 1]} for i in range(len(inputs))]
    begin = time.perf_counter()
    for i in range(count):
        session.run([output], rows[i % len(rows)])
    return time.perf_counter() - begin


def compare_speed(line, x, session, output):
    """Frames per second of the line and of the session."""
    best = [1e9, 1e9]
    counts = [len(x), len(x)]
    for turn in range(-2, ROUNDS):
        for i in range(2):
            if i == 0:
                line.write(x, counts[0] // len(x))
                seconds = line.run("precision=f32")
            else:
                seconds = time_session(session, x.astype(np.float32), output, counts[1])
            if turn < 0:  # finds how many frames a turn takes
                counts[i] = max(1, round(counts[i] / len(x) * TURN_SECONDS / seconds)) * len(x)
            else:
                best[i] = min(best[i], seconds / counts[i])
    return [1 / seconds for seconds in best]


def describe(path, output):
    """The number of the nodes that compute the output, and their operators."""
    needed, found = {output}, []
    for each in reversed(onnx.load(path).graph.node):
        if needed.intersection(each.output):
            needed.update(each.input)
            found += [each.op_type] if each.op_type != "Constant" else []
    return f"{len(found)}: {', '.join(dict.fromkeys(reversed(found)))}"


def measure(name, path, x, labels, folder, threads):
    """Yields the line of the table."""
    session = open_session(path, threads)
    output = session.get_outputs()[-1].name
    expected = np.concatenate([
        session.run([output], {session.get_inputs()[0].name: x[i:i + 1].astype(np.float32)})[0]
        for i in range(len(x))])
    line = Line(path, folder)
    line.write(x)
    errors, right = [], []
    truth = np.count_nonzero(expected.argmax(1) == labels)
    for precision, (kernel, bound) in PRECISIONS.items():
        line.run(f"precision={precision} kernel={kernel}")
        found = line.read(expected.shape)
        error = np.abs(found - expected).max()
        errors.append(f"{error:.1e}")
        right.append(np.count_nonzero(found.argmax(1) == labels))
        if not error <= bound or right[-1] < truth - FEW:
            fail(f"{name} in {precision}: error {error:.1e}, {right[-1]} digits right")
    ours, theirs = compare_speed(line, x, session, output)
    cells = [name, describe(path, output), line.text.count("! gemmcl "), truth,
             "/".join(map(str, dict.fromkeys(right))), *errors,
             f"{ours:.0f} / {theirs:.0f} = {ours / theirs:.2f}"]
    return f"| {' | '.join(map(str, cells))} |"


def check_backend_tests(folder):
    """Yields the name and the error of each of ONNX's backend tests that can be imported."""
    data = pathlib.Path(os.environ["GEMMCL_NETWORKS"], "python/onnx/backend/test/data")
    for path in sorted(data.glob("pytorch-*/*/model.onnx")):
        done = subprocess.run(["gemmcl", "import", path, "-o", folder], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode:
            continue
        x, expected = (numpy_helper.to_array(onnx.load_tensor(str(
            path.parent / "test_data_set_0" / f"{each}_0.pb"))) for each in ("input", "output"))
        line = Line(path, folder)
        if "input.u8" in line.text:  # The test's numbers are no bytes: as gemmcl run computes them
            np.save(f"{folder}/x.npy", x.reshape(len(x), -1))
            subprocess.run(["gemmcl", "run", path, f"{folder}/x.npy", "-o", f"{folder}/y.npy"],
                           check=True, stderr=subprocess.DEVNULL)
            found = np.load(f"{folder}/y.npy").reshape(expected.shape)
        else:
            line.write(x)
            line.run("precision=f32")
            found = line.read(expected.shape)
        error = np.abs(found - expected).max()
        if not error <= 1e-5 * max(1, np.abs(expected).max()):
            fail(f"{path}: error {error:.1e}")
        yield path.parent.name[len("test_"):], error


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    os.environ["POCL_MAX_PTHREAD_COUNT"] = str(options.threads)
    for packages in "GEMMCL_PEERS", "GEMMCL_NETWORKS":
        sys.path.append(os.environ[packages] + "/python")
    digits, train, held_out = load_digits()
    labels = digits.target[held_out]
    print("| network | nodes | elements | right: onnxruntime | right: gemmcl | error, f32 | f16 | "
          "int8 | frames/s: gemmcl / onnxruntime |")
    print("|" + 9 * "---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for write in write_perceptrons, write_convolutions:
            try:
                for name, path in write(folder, digits, train):
                    shape = open_session(path, 1).get_inputs()[0].shape
                    x = (digits.data[held_out].astype(np.float32) if len(shape) == 2
                         else make_frames(digits, shape[1])[held_out])
                    print(measure(name, path, x, labels, folder, options.threads), flush=True)
            except ImportError as missing:
                print(f"{write.__name__}: this Python lacks {missing.name}", file=sys.stderr)
        errors = dict(check_backend_tests(folder))
        print(f"\nBackend tests of ONNX: {', '.join(errors)}; the largest error is "
              f"{max(errors.values()):.1e}.")


if __name__ == "__main__":
    main()
