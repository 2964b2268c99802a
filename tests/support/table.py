# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rows of kernels.def for tests in Python: C's preprocessor expands the families' macros."""

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# The families of rows that the rules may choose on GPUs of these makers.
ON_INTEL = "ANY", "GPU", "INTEL", "DPAS"
ON_NVIDIA = "ANY", "GPU", "ASYNC_COPY", "MMA", "WGMMA"
ENGINES = "cl_intel_subgroup_matrix_multiply_accumulate"
LITERAL = r'"(?:[^"\\]|\\.)*"'
ROW = re.compile(rf'\bGEMMCL_KERNEL\s*\(((?:[^()"]|{LITERAL})*)\)')


@dataclass
class Row:
    """A row. Its other fields are attributes: numbers, 1 for TRUE, 0 if it lacks them, or text."""
    index: int
    name: str
    source: str
    fields: dict  # by name, as text
    is_first: bool  # of its method

    def __getattr__(self, name):
        text = self.fields.get(name, "0").replace("TRUE", "1")
        return int(text) if text.isdigit() else text

    @cached_property
    def method(self):
        return re.match(r"(\w+?)(?:_\d+x\d+_\d+x\d+\w*)?$", self.name)[1]

    @cached_property
    def precision(self):
        return self.fields.get("precision", "GEMMCL_PRECISION_F32").rpartition("_")[2].lower()

    @cached_property
    def quantizes_a(self):
        return self.precision == "i8" and not self.reads_a

    @cached_property
    def family(self):
        return self.fields["family"].partition("_FAMILY_")[2]

    @cached_property
    def dpas(self):
        return self.family == "DPAS"

    @cached_property
    def capability(self):
        """The least compute capability; 0 if the row has no instructions of NVIDIA's."""
        return (self.family in ON_NVIDIA[2:]) * (90 if self.persistent else 80)

    @cached_property
    def float_width(self):
        """The floats of a vector of a CPU; 0 if the row has none."""
        return int(self.family[7:]) if self.family.startswith("VECTOR") else 0

    @cached_property
    def engines(self):
        """The row is for matrix engines."""
        return self.family in ("DPAS", "MMA", "WGMMA")

    @cached_property
    def tile(self):
        """The rows and columns of D of a work-item, or with matrix engines of a subgroup."""
        width = (self.subgroup or 1) if self.engines else 1
        return self.tile_m, max(self.tile_n, 1) * width

    @property
    def group(self):
        """The rows and columns of D of a work-group."""
        return self.tile_m * self.group_m, max(self.tile_n, 1) * self.group_n

    def limit(self, *sizes):
        """These M, N and K, or the largest that the row takes."""
        limits = self.max_m, self.max_n, self.max_k
        return [min(size, limit or size) for size, limit in zip(sizes, limits)]

    @property
    def is_across(self):
        """Several subgroups of a group share rows of D."""
        return 0 < self.subgroup < self.group_n


def load(kind=Row):
    """The rows of the table that the build has preprocessed, GEMMCL_KERNEL_TABLE."""
    return parse(Path(os.environ["GEMMCL_KERNEL_TABLE"]).read_text("utf-8"), kind)


def read(path):
    return parse(subprocess.run([os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", str(path)],
                                stdout=subprocess.PIPE, text=True, check=True).stdout, Row)


def parse(text, kind):
    """The rows of a table that was preprocessed, in order."""
    rows, methods = [], set()
    for found in ROW.findall(text):
        joined = re.sub(r'"\s*"', "", found)
        name, source = (literal.strip('"') for literal in re.findall(LITERAL, joined)[:2])
        fields = re.findall(rf"\.(\w+) = ({LITERAL}|[^,]+)", joined)
        row = kind(len(rows), name, source,
                   {field: value.strip().strip('"') for field, value in fields}, False)
        row.is_first = row.method not in methods
        methods.add(row.method)
        rows.append(row)
    return rows
