#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles kernels for Intel GPUs, without a GPU, and shows figures of the code.

Intel's offline compiler, ocloc, compiles the kernels, and isa_listing.py reads its listings.
docs/internals/intel.md explains the columns of the table, isa_listing.py the figures of --json.

The figures are kept in the folder gemmcl/isa of the user's cache directory, which may be deleted.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import isa_listing

GEMMCL = Path(__file__).resolve().parents[2] / "build/tools/gemmcl"
# Part of every key. Raise it if the figures of the same listing change.
FIGURES_VERSION = "6"
# Maximum number of simultaneous compilations
MAX_THREADS = 2
LIMIT_SECONDS = 120


@dataclass
class Target:
    title: str
    register_bytes: int
    # Extensions whose macros the driver defines for programs, and ocloc 22.43 does not.
    extensions: tuple = ()


ENGINES = ("cl_intel_subgroup_matrix_multiply_accumulate", "cl_intel_bfloat16_conversions")
# The targets by ocloc's names, the oldest first.
TARGETS = {
    "bdw": Target("Broadwell (Gen8)", 32),
    "skl": Target("Skylake (Gen9)", 32),
    "icllp": Target("Ice Lake (Gen11)", 32),
    "tgllp": Target("Tiger Lake (Xe-LP)", 32),
    "dg1": Target("DG1 (Xe-LP)", 32),
    "dg2": Target("Arc A (Xe-HPG)", 32, ENGINES),
    "mtl": Target("Meteor Lake (Xe-LPG)", 32),
    "arl-h": Target("Arrow Lake H (Xe-LPG+)", 32, ENGINES),
    "pvc": Target("Max (Xe-HPC)", 64, ENGINES),
    "lnl": Target("Lunar Lake (Xe2)", 64, ENGINES),
    "bmg": Target("Arc B (Xe2)", 64, ENGINES),
    "ptl": Target("Panther Lake (Xe3)", 64, ENGINES),
}


class IsaError(Exception):
    """There is no compiler for the target, or its output is not understood."""


@dataclass
class Program:
    name: str  # in tables
    source: str  # OpenCL C without includes
    options: str  # of the compiler
    entry: str = "gemm"  # the name of the kernel in it


@dataclass
class Compiler:
    path: str
    version: str
    targets: set

    @property
    def release(self):
        """22.43 of 22.43.24595"""
        return ".".join(self.version.split(".")[:2])


def run_ocloc(folder, *arguments):
    """Runs ocloc in the folder, for two minutes at most. Returns (output, True if it succeeded)."""
    try:
        said = subprocess.run(
            ["nice", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=LIMIT_SECONDS, check=False,
        )
    except subprocess.TimeoutExpired:
        return f"error: took longer than {LIMIT_SECONDS} seconds\n", False
    return said.stdout, said.returncode == 0


def read_compiler(path):
    """The Compiler of a file: its version, and the words of its help that include its targets."""
    path = os.path.abspath(shutil.which(path) or path)
    query = "OCL_DRIVER_VERSION"
    with tempfile.TemporaryDirectory(prefix="gemmcl-ocloc-") as folder:
        output, _ = run_ocloc(folder, path, "query", query)
        # 22.43 prints its help but exits with an error.
        words, _ = run_ocloc(folder, path, "compile", "--help")
        file = Path(folder, query)
        if not file.exists():
            raise IsaError(
                f'"{path} query {query}" gave no version, so it is not ocloc: {output.strip()}'
            )
        version = file.read_text(encoding="utf-8").partition("\0")[0].strip()
    lists = re.findall("can be:(.*)", words)
    return Compiler(path, version, set(re.split("[ ,]+", " ".join(lists))))


def find_compilers(paths=None):
    """The Compilers, the newest first. paths are files, with colons between; by default those in
    GEMMCL_OCLOC, else the ocloc in PATH."""
    paths = paths or os.environ.get("GEMMCL_OCLOC") or shutil.which("ocloc")
    if not paths:
        raise IsaError(
            "There is no ocloc, Intel's offline compiler, in PATH: install it, name it with "
            "--ocloc, or run this through scripts/maintain/ocloc.sh, which fetches it."
        )
    compilers = [read_compiler(path) for path in paths.split(":")]
    # 26.27.039122 before 22.43.24595
    compilers.sort(key=lambda one: [*map(int, re.findall(r"\d+", one.version))], reverse=True)
    return compilers


def find_compiler(compilers, target):
    """The newest one for the target; None without one."""
    return next((one for one in compilers if target in one.targets), None)


def read_programs(names, *options, gemmcl=GEMMCL):
    """The Programs of the library's kernels; options are those of `gemmcl kernels --source`."""
    command = [gemmcl, "kernels", "--json", f"--source={names}", *options]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if said.returncode != 0:
        sys.exit(said.returncode)
    return [Program(**program) for program in json.loads(said.stdout)]


def get_cache():
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (folder if folder.is_absolute() else Path.home() / ".cache") / "gemmcl" / "isa"


def get_cache_file(compiler, program, target):
    parts = (FIGURES_VERSION, compiler.version, target, program.name, program.entry,
             program.options, program.source)
    key = "".join(part + "\0" for part in parts)
    return get_cache() / hashlib.sha256(key.encode()).hexdigest()


def load(file):
    """The figures in a file of the cache; None without it, or if it is damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def store(file, figures):
    """Writes the file as a whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as new:
        json.dump(figures, new)
    os.replace(new.name, file)


def find_error(output):
    """The first error in the output of ocloc, without the prefix that all errors have."""
    found = re.search(r"error: (?:in kernel '.*?': )?(.*)", output) or re.search(".*rror.*", output)
    return found[found.lastindex or 0].strip() if found else "ocloc does not say why"


def read_figures(folder, program, target, listing):
    """The figures in the output of the disassembler; see isa_listing.py."""
    file = folder / f".text.{program.entry}.asm"
    if not file.exists():
        raise IsaError(
            f"ocloc's disassembler made no listing of the kernel {program.entry}. On Debian 12 it "
            "needs the library libiga64.so.1 also under the name libiga64.so."
        )
    text = file.read_text(encoding="utf-8")
    if listing:
        listing.write_text(text, encoding="utf-8")
    attributes = isa_listing.read_attributes(folder, program.entry)
    if attributes is None:
        raise IsaError(f"ocloc's disassembler said nothing about the kernel {program.entry}.")
    instructions = isa_listing.read_listing(text, TARGETS[target].register_bytes)
    return attributes | isa_listing.find_loops(instructions, attributes["simd"])


def compile_in(folder, compiler, program, target, listing):
    """The figures, with "why_not", the error, if the program does not build."""
    binary = folder / "program.bin"
    options = " ".join([program.options, *(f"-D{name}" for name in TARGETS[target].extensions)])
    (folder / "program.cl").write_text(program.source, encoding="utf-8")
    said, well = run_ocloc(
        folder, compiler.path, "compile", "-file", "program.cl", "-device", target,
        "-options", options, "--format", "zebin", "-output", binary.name, "-output_no_suffix",
    )
    # Newer compilers add the suffix even with -output_no_suffix.
    suffixed = folder / "program.bin.bin"
    if suffixed.exists():
        suffixed.rename(binary)
    if not well or not binary.exists():
        return isa_listing.NONE | {"why_not": find_error(said)}
    dump = folder / "dump"
    dump.mkdir()
    disassemble = ("disasm", "-file", binary.name, "-device", target, "-dump", dump.name)
    run_ocloc(folder, compiler.path, *disassemble)
    return read_figures(dump, program, target, listing)


def compile_program(compilers, program, target, listings=None):
    """The figures of isa_listing.py, and kernel, target, compiler (its version), options,
    register_bytes (of a register) and why_not (the compiler's error, or None).

    The newest compiler that knows the target compiles, unless the figures are in the cache. With
    listings, a folder for the listing, it compiles in any case."""
    compiler = find_compiler(compilers, target)
    if compiler is None:
        raise IsaError(f"No ocloc here compiles for {target}.")
    file = get_cache_file(compiler, program, target)
    figures = None if listings else load(file)
    if figures is None:
        listing = Path(listings, f"{program.name}.{target}.asm") if listings else None
        figures = {
            "kernel": program.name, "target": target, "compiler": compiler.version,
            "options": program.options, "register_bytes": TARGETS[target].register_bytes,
            "why_not": None,
        }
        with tempfile.TemporaryDirectory(prefix="gemmcl-isa-") as folder:
            figures |= compile_in(Path(folder), compiler, program, target, listing)
        store(file, figures)
    return figures


def compile_all(compilers, programs, targets, listings=None):
    """Yields the figures of compile_program() for each program and target, in their order."""
    jobs = [(program, target) for program in programs for target in targets]
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        yield from pool.map(lambda job: compile_program(compilers, *job, listings), jobs)


# The columns of the table after the kernel's name, with their layouts.
COLUMNS = {
    "target": "<6", "SIMD": ">4", "regs": ">4", "spill": ">5", "private": ">7", "loop": ">5",
    "mads": ">4", "dpas": ">4", "loads": ">5", "bytes": ">5", "slm": ">3", "barr": ">4",
    "density": ">7", "note": "<",
}


def print_row(out, width, name, cells):
    texts = [f"{cell:{layout}}" for cell, layout in zip(cells, COLUMNS.values())]
    print("  ".join([f"{name:<{width}}", *texts]), file=out, flush=True)


def get_cells(figures):
    """The texts of COLUMNS."""
    if figures["why_not"] is not None:
        return [figures["target"]] + [""] * (len(COLUMNS) - 2) + [figures["why_not"]]
    hot = figures["loops"][figures["hot"]] if figures["hot"] >= 0 else {"parent": -1}
    note = "in an outer loop" if hot["parent"] >= 0 else ""
    counts = ("instructions", "mads", "dpas", "loads", "load_bytes", "slm_loads", "barriers")
    numbers = [figures[name] for name in ("simd", "registers", "spill", "private_memory")]
    numbers += [hot.get(name, 0) for name in counts]
    texts = [figures["target"], *(f"{n:.9g}" for n in numbers), f"{figures['density']:.3f}"]
    return [*texts, "resource loops" if figures["resource_loops"] else note]


def parse_options():
    description, details = __doc__.split("\n\n", maxsplit=1)
    targets = "".join(f"  {name:6} {target.title}\n" for name, target in TARGETS.items())
    parser = argparse.ArgumentParser(
        usage="%(prog)s [OPTION...]", description=description, allow_abbrev=False,
        epilog=f"{details}\nTargets:\n{targets}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("-k", "--kernel", default="all", metavar="NAME,...", help="kernels of gemmcl (default: "
        "all); -M, -N, -K, --layout and --a-type are options of gemmcl kernels --source")
    add("--target", default="all", metavar="NAME,...", help="GPUs (default: all that ocloc knows)")
    add("--ocloc", metavar="FILE:...", help="Intel's offline compilers; the newest that knows the "
        "target compiles (default: GEMMCL_OCLOC, else ocloc in PATH)")
    add("--json", metavar="FILE", help="also write the figures of all loops as JSON; - is the "
        "standard output, and the table then goes to the standard error")
    add("--listings", type=Path, metavar="FOLDER", help="compile anew and write the disassembly "
        "into this folder, as NAME.TARGET.asm")
    add("--gemmcl", default=GEMMCL, metavar="FILE", help="the program that has the kernels "
        "(default: build/tools/gemmcl of the source tree)")
    options, options.problem = parser.parse_known_args()
    options.targets = [] if options.target == "all" else options.target.split(",")
    for name in options.targets:
        if name not in TARGETS:
            parser.error(f'--target takes {", ".join(TARGETS)} or all, not "{name}"')
    return options


def run(options):
    programs = read_programs(options.kernel, *options.problem, gemmcl=options.gemmcl)
    compilers = find_compilers(options.ocloc)
    targets = options.targets or [one for one in TARGETS if find_compiler(compilers, one)]
    out = sys.stderr if options.json == "-" else sys.stdout
    width = max(len(name) for name in ["kernel", *(program.name for program in programs)])
    print_row(out, width, "kernel", COLUMNS)
    all_figures = []
    for figures in compile_all(compilers, programs, targets, options.listings):
        print_row(out, width, figures["kernel"], get_cells(figures))
        all_figures.append(figures)
    if options.json:
        text = json.dumps(all_figures) + "\n"
        sys.stdout.write(text) if options.json == "-" else Path(options.json).write_text(text)


def main():
    options = parse_options()
    try:
        run(options)
    except (IsaError, OSError) as error:
        sys.exit(f"isa.py: {error}")


if __name__ == "__main__":
    main()
