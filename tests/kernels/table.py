# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rows of kernels.def for tests in Python: C's preprocessor expands the families' macros."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# The devices of rows that the rules may choose on GPUs of these makers.
ON_INTEL, ON_NVIDIA = ([f"GEMMCL_ON_{name}" for name in ("ANY", "GPU", vendor)]
                       for vendor in ("INTEL_GPU", "NVIDIA_GPU"))
LITERAL = r'"(?:[^"\\]|\\.)*"'
ROW = re.compile(rf'\bGEMMCL_(KERNEL|HELPER)\s*\(((?:[^()"]|{LITERAL})*)\)')


@dataclass
class Row:
    """A row. Its other fields are attributes: numbers, 1 if they are TRUE, 0 if the row does not
    have them, or text."""
    kind: str  # KERNEL or HELPER
    name: str
    source: str
    fields: dict  # by name, as text

    def __getattr__(self, name):
        text = self.fields.get(name, "0").replace("TRUE", "1")
        return int(text) if text.isdigit() else text

    @property
    def precision(self):
        return self.fields.get("precision", "GEMMCL_PRECISION_F32").rpartition("_")[2].lower()

    @property
    def is_across(self):
        """Several subgroups of a group share rows of D."""
        return 0 < self.subgroup < self.group_n


def load():
    """The kernels of the table that the build has preprocessed, GEMMCL_KERNEL_TABLE."""
    rows = parse(Path(os.environ["GEMMCL_KERNEL_TABLE"]).read_text("utf-8"))
    return [row for row in rows if row.kind == "KERNEL"]


def read(path):
    """All rows of kernels.def at path, in order."""
    return parse(subprocess.run([os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", str(path)],
                                stdout=subprocess.PIPE, text=True, check=True).stdout)


def parse(text):
    """All rows of a table that was preprocessed."""
    return [make_row(kind, row) for kind, row in ROW.findall(text)]


def make_row(kind, text):
    joined = re.sub(rf"{LITERAL}(?:\s*{LITERAL})+",
                    lambda literals: '"' + re.sub(r'"\s*"', "", literals[0])[1:-1] + '"', text)
    name, source = re.findall(LITERAL, joined)[:2]
    fields = re.findall(rf"\.(\w+) = ({LITERAL}|[^,]+)", joined)
    return Row(kind, name.strip('"'), source.strip('"'),
               {field: value.strip().strip('"') for field, value in fields})
