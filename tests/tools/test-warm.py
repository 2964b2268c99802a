# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl warm`: it compiles the programs, and the next process compiles nothing. TAP out."""

import os
import re

import tool

ROW = re.compile(r"^(\d+ x \d+ x \d+) +(\S+) +(\d+) +(\d+)$", re.MULTILINE)
COMPILED = re.compile(r"gemmcl-INFO: .*Compiled (\S+\.cl) for .+ in \d+ ms")

VARIANT = re.compile(r"(_b?f16|_tf32|_i8|_padded|_float4|_permuted|_apart)?_\d.*")


def needs_device(test):
    said = tool.run("devices", "--json")
    if said.returncode != 0:
        test.skipTest(said.stderr.strip())


class EmptyCaches(tool.FolderTestCase):
    """The library's cache and PoCL's are empty; each test fills its own."""

    def setUp(self):
        super().setUp()
        needs_device(self)
        self.caches = {"XDG_CACHE_HOME": self.path("cache"), "POCL_CACHE_DIR": self.path("pocl")}
        os.mkdir(self.caches["POCL_CACHE_DIR"])

    def warm(self, *arguments, **environment):
        """Returns the rows of the table: problem, kernel, programs compiled."""
        said = self.ends(0, "warm", *arguments, **self.caches, **environment)
        self.assertEqual(said.stderr, "")
        return [(name, kernel, int(n)) for name, kernel, n, _ in ROW.findall(said.stdout)]

    def list_machine_code(self):
        """The files of machine code in PoCL's cache; other drivers have none there."""
        return {os.path.join(folder, name)
                for folder, _, names in os.walk(self.caches["POCL_CACHE_DIR"])
                for name in names if name.endswith(".so")}


class Warm(EmptyCaches):
    def test_next_process_compiles_nothing(self):
        first = self.warm("8,12,16", "3,12,16", "8,12,16")
        self.assertEqual([row[0] for row in first], ["8 x 12 x 16", "3 x 12 x 16", "8 x 12 x 16"])
        self.assertGreater(first[0][2], 0)
        self.assertEqual(first[2], (first[0][0], first[0][1], 0))
        compiled = self.list_machine_code()
        again = self.warm("8,12,16", "3,12,16")
        self.assertEqual(again, [(name, kernel, 0) for name, kernel, _ in first[:2]])
        said = self.ends(0, "bench", "-M", 8, "-N", 12, "-K", 16, "-i", 1,
                         **self.caches, G_MESSAGES_DEBUG="gemmcl")
        self.assertNotIn("Compiled", said.stdout)
        self.assertIn(first[0][1], said.stdout)
        self.assertEqual(self.list_machine_code(), compiled)

    def test_log_names_what_is_compiled(self):
        said = self.ends(0, "warm", "-k", "gemm_naive", "8,8,8", **self.caches,
                         G_MESSAGES_DEBUG="gemmcl")
        self.assertEqual(COMPILED.findall(said.stdout), ["articles/gemm_naive.cl"])
        self.assertEqual([row[1:3] for row in ROW.findall(said.stdout)], [("gemm_naive", "1")])
        said = self.ends(0, "warm", "-k", "gemm_naive", "8,8,8", **self.caches,
                         G_MESSAGES_DEBUG="gemmcl")
        self.assertEqual(COMPILED.findall(said.stdout), [])

    def test_options_are_the_problem(self):
        self.assertEqual(self.warm("-k", "naive", "8,8,8")[0][1:], ("gemm_naive", 1))
        for options in (("--activation", "relu"), ("--transpose-a",), ("--layout", "col")):
            with self.subTest(options=options):
                self.assertEqual(self.warm("-k", "naive", *options, "8,8,8")[0][2], 1)
                self.assertEqual(self.warm("-k", "naive", *options, "8,8,8")[0][2], 0)
        # Batches run as one tall problem, and C in D is f32, as any C: the program is the same.
        for options in (("--batch", 3), ("--addend", "output")):
            with self.subTest(options=options):
                self.assertEqual(self.warm("-k", "naive", *options, "8,8,8")[0][2], 0)


class Silence(EmptyCaches):
    def test_of_compilers(self):
        """A row of each method is built, and the standard error has the progress alone."""
        names = [kernel["name"] for kernel in self.read("kernels", "--json")]
        # The first of the variants and precisions, which have the same source.
        rows = {VARIANT.sub("", name): name for name in reversed(names)}
        self.assertGreater(len(rows), 10)
        layers = {"OPENCL_LAYERS": os.environ.get("GEMMCL_BRIEF_LAYER", "")}
        said = self.ends(0, "bench", "-M", 4, "-N", 16, "-K", 16, "-i", 0,
                         "-k", ",".join(rows.values()), **self.caches, **layers)
        line = rf"(?m)^\d+ of {len(rows)}: (\w+)(?:, \d+ \w+ left)?\n"
        self.assertEqual(re.findall(line, said.stderr), list(rows.values()))
        self.assertEqual(said.stderr.count("\n"), len(rows))


class Failures(tool.TestCase):
    def test_too_large(self):
        needs_device(self)
        said = self.ends(1, "warm", "-k", "gemm_naive", "2000000000,2000000000,8")
        self.assertRegex(said.stderr, "2000000000 x 2000000000 x 8: .* too large")


tool.main()
