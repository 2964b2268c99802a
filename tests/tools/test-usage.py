# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tool's help, man page and exit statuses, without a device. TAP out."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import tool

OPTION = re.compile(r"^ +(?:-(\w), )?--([\w-]+)(=\S+)?", re.MULTILINE)

# Options of the sample program in the article of L3_SLM (kernels.def); bench keeps their meanings.
ARTICLE = {"p": "platform", "t": "type", "d": "device", "M": "size1", "K": "size2", "N": "size3",
           "i": "iterations", "k": "kernel", "v": "validation"}


def options_of(text):
    return {long: short for short, long, _ in OPTION.findall(text)}


class Help(tool.TestCase):
    def test_of_the_tool(self):
        said = self.ends(0, "--help").stdout
        for command in tool.COMMANDS:
            self.assertRegex(said, rf"(?m)^  {command} +[A-Z]")
        self.assertEqual(self.ends(0, "-h").stdout, said)
        for spelling in ("help",), ("help", "help"), ("help", "--help"):
            self.assertEqual(self.ends(0, *spelling).stdout, said)
        self.assertRegex(self.ends(0, "--version").stdout, r"^gemmcl \d+\.\d+\.\d+\n$")

    def test_of_each_command(self):
        for command in tool.COMMANDS:
            said = self.ends(0, command, "--help")
            text, _, examples = said.stdout.partition("\nExamples:\n")
            self.assertTrue(text.startswith(f"Usage: gemmcl {command} [OPTION...]"))
            self.assertTrue(examples)
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
            self.assertEqual(said.stderr, "")
            for spelling in (command, "-h"), ("help", command):
                self.assertEqual(self.ends(0, *spelling).stdout, said.stdout)

    def test_bench_has_the_options_of_the_article(self):
        found = options_of(self.ends(0, "bench", "--help").stdout)
        self.assertLessEqual({(long, short) for short, long in ARTICLE.items()}, set(found.items()))


class ManPage(tool.TestCase):
    def setUp(self):
        self.source = self.ends(0, "--help-man").stdout
        self.plain = self.source.replace("\\-", "-")

    def test_explains_every_option_of_every_command(self):
        sections = dict(re.findall(r"\.SS gemmcl (\w+) (.*?)(?=\n\.S[SH]|\Z)", self.plain, re.S))
        self.assertEqual(sorted(sections), sorted(tool.COMMANDS))
        for command in tool.COMMANDS:
            options = options_of(self.ends(0, command, "--help").stdout)
            if command != "import":
                self.assertGreater(len(options), 0)
            for long, short in options.items():
                spelling = f"-{short}, --{long}" if short else f"--{long}"
                self.assertRegex(sections[command], rf"(?m)^\.B {re.escape(spelling)}(=|$)")

    def test_has_the_sections_of_a_man_page(self):
        for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS", "ENVIRONMENT"):
            self.assertIn(f"\n.SH {title}\n", self.source)
        self.assertNotIn("\n.B -", self.source)


PROBLEM = "M,N,K.*found"
PRODUCT = ("[[1]]", "[[1]]", "-o", "/dev/null/d.npy")
# For each command: a pattern of the error message, and the arguments
CASES = {
    "bench": (
        ("-M", "-M", "many"), ("-M", "-M"), ('from 1 to 2147483647, not "0"', "-M", "0"),
        ('-K takes .*, not "-5"', "-K", "-5"), ('--size3 takes .*, not "0"', "--size3", "0"),
        ("-N", "-N", "99999999999999999999"), ("0 or more, not -1", "-i", "-1"),
        ('row or col, not "diagonal"', "--layout", "diagonal"),
        ('f32, f16, bf16, tf32 or i8, not "f8"', "--precision", "f8"),
        ('u8 here, not "i16"', "--a-type", "i16"), ('number.* not "1,5"', "--alpha", "1,5"),
        ('number.* not "inf"', "--beta", "inf"),
        ('auto, cpu, gpu, accelerator, default .* not "fpga"', "-t", "fpga"),
        ('not "3"', "-t", "3"), ("found 1", "1024"),
    ),
    "check": (("more than 0", "--seconds", "0"), ("finite number", "--seconds", "long"),
              ('no kernel "fast"', "-k", "fast"), ('no kernel ""', "-k", ""), (PROBLEM, "8,8")),
    "devices": (("found 2", "a", "b"),),
    "kernels": (("no_such", "--source", "no_such"), ('no kernel ""', "--source", ""),
                ("row or col", "--source", "all", "--layout", "diagonal"),
                ('not "0"', "--source", "all", "-M", "0"),
                ('not "u9"', "--source", "all", "--a-type", "u9"),
                ("--source, which is missing", "-M", "8"),
                ("--source, which is missing", "--layout", "row")),
    "run": (
        ("found 1", "[1]", "-o", "d.npy"), ("-o", "[1]", "[1]"), ("-c", *PRODUCT, "--beta", "2"),
        ("leaky-relu.*softmax", *PRODUCT, "--activation", "step"),
        ("give one with --rows", *PRODUCT, "--row-outputs", "max"),
        *(("cannot be the same", "[1]", "[1]", "-o", name, "--rows", name) for name in ("-", "d")),
        ('not "least"', *PRODUCT, "--row-outputs", "max+least", "--rows", "r.npy"),
        ('them, not "max,sum"', *PRODUCT, "--row-outputs", "max,sum", "--rows", "r"),
        ('not ""', *PRODUCT, "--row-outputs", "", "--rows", "r.npy"),
        ("top-k, which is missing", *PRODUCT, "--top-k", "2"),
        ("top-k, which is missing", *PRODUCT, "--rows", "r", "--top-k", "1"),
        ("takes 1 to 16, not -1", *PRODUCT, "--top-k", "-1"),
        ("takes 1 to 16, not 0", *PRODUCT, "--top-k", "0"),
        ("takes 1 to 16, not 17", *PRODUCT, "--top-k", "17"),
        (r'input\+output, not "both"', *PRODUCT, "--normalize", "both"),
    ),
    "tune": (*((PROBLEM, "--", "8,8,8", operand) for operand in (
                 "8", "8,8", "8,8,8,8", "8,8,", "0,8,8", "-8,8,8", "a,b,c", "8,8,8.5",
                 "8,8,2147483648")),
             *(("Leave out", *arguments) for arguments in (
                 ("--list", "--forget"), ("--list", "8,8,8"), ("--forget", "8,8,8"),
                 ("--forget", "--dry-run"), ("--list", "--time", "9"), ("--forget", "--json", "j"),
                 ("--forget", "--precision", "f32"), ("--list", "--layout", "row"))),
             ("more than 0", "--time", "0", "8,8,8"), ("number", "--time", "long", "8,8,8")),
    "warm": (
        ("found 0",), (PROBLEM, "8,8,8", "8,0,8"), ("1 or more, not 0", "--batch", "0", "8,8,8"),
        ('none or output, not "row"', "--addend", "row", "8,8,8"),
        ('no kernel "fast"', "-k", "fast", "8,8,8"),
    ),
}


class Usage(tool.TestCase):
    """A wrong command line leads to a sentence about it and exit status 2."""

    def test_no_command(self):
        self.refuses(2, "command is missing")

    def test_unknown_command(self):
        for arguments in ("frobnicate",), ("frobnicate", "-M", "8"), ("help", "frobnicate"):
            self.refuses(2, r'no command "frobnicate"\.\n', *arguments)

    def test_help_of_two_commands(self):
        self.refuses(2, r'"gemmcl help \[COMMAND\]", found "extra"', "help", "bench", "extra")
        self.refuses(2, 'found "run"', "help", "help", "run")

    def test_value_that_is_no_text(self):
        self.refuses(2, r'bench: "\\xff" is not text in UTF-8', "bench", "--json", "t\u00e4.json",
                     "-k", "\udcff", LC_ALL="C.UTF-8")
        # No other argument gets the blame.
        self.refuses(2, "quantize: The value of an option is not text in A", "quantize",
                     "m\u00e8.npy", "-o", "q.safetensors", "-n", "\u00e9", LC_ALL="C")

    def test_unknown_option(self):
        for command in tool.COMMANDS:
            self.refuses(2, "--frobnicate", command, "--frobnicate")

    def test_near_names(self):
        for wrong, near in (("benhc", "bench"), ("dev", "devices"), ("tunes", "tune")):
            self.refuses(2, f'no command "{wrong}". Did you mean "{near}"', wrong, "-M", "8")
        self.refuses(2, 'option "--iteratons". Did you mean "--iterations"', "bench",
                     "--iteratons=3")
        self.refuses(2, 'option "--versoin". Did you mean "--version"', "--versoin")

    def test_flags_take_no_value(self):
        for command in tool.COMMANDS:
            said = self.ends(0, command, "--help").stdout
            flags = [long for _, long, value in OPTION.findall(said) if not value]
            for flag in [*flags, "help"]:
                with self.subTest(command=command, flag=flag):
                    self.refuses(2, f'--{flag} takes no value, found "no"', command, f"--{flag}=no")

    def test_invalid_values(self):
        for command, cases in CASES.items():
            for pattern, *arguments in cases:
                with self.subTest(command=command, arguments=arguments):
                    self.refuses(2, pattern, command, *arguments)


class Completion(tool.TestCase):
    """What shells offer comes from the tables of commands and options."""
    SCRIPTS = pathlib.Path(__file__).parents[2] / "tools/completion"

    def offered(self, *words):
        return [line.partition("\t")[0] for line in
                self.ends(0, "--complete", *words).stdout.splitlines()]

    def in_shell(self, shell, script):
        """The words that a shell offers, with this tool as gemmcl."""
        path = os.path.dirname(tool.TOOL) + os.pathsep + os.environ["PATH"]
        return subprocess.run([shell, "-c", script], env={**os.environ, "PATH": path},
                              stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    def test_words(self):
        self.assertEqual(self.offered(""), list(tool.COMMANDS))
        self.assertEqual(self.offered("help", "t"), ["tune"])
        for command in tool.COMMANDS:
            options = options_of(self.ends(0, command, "--help").stdout)
            self.assertEqual(self.offered(command, "--"),
                             [f"--{name}" for name in (*options, "help")])
            self.assertEqual(self.offered(command, ""), [])
        self.assertEqual(self.offered("bench", "--layout", ""), ["row", "col"])
        self.assertEqual(self.offered("run", "a.npy", "--activation", "ge"), ["gelu", "gelu-tanh"])
        self.assertEqual(self.offered("bench", "-k", "gemm"), ["gemm_naive"])
        self.assertEqual(self.offered("bench", "--json", ""), [])
        self.assertEqual(self.offered("bench", "-t", "a"), ["auto", "accelerator"])
        for first, last, values in (("", "", ["row", "col"]), ("r", "r", ["row"])):
            self.assertEqual(self.offered("bench", f"--layout={first}"),
                             [f"--layout={value}" for value in values])
            split = ["="] if not last else ["=", last]
            self.assertEqual(self.offered("bench", "--layout", *split), values)
        self.assertEqual(self.offered("bench", "-k=gemm"), [])
        self.assertEqual(self.offered("bench", "--lay=r"), [])

    def test_bash(self):
        said = self.in_shell("bash", f"source {self.SCRIPTS}/gemmcl.bash; COMP_CWORD=2; "
                             "COMP_WORDS=(gemmcl bench --la); _gemmcl; echo $COMPREPLY; "
                             "COMP_WORDS=(gemmcl run ''); _gemmcl; echo ${#COMPREPLY[@]}; "
                             "COMP_WORDS=(gemmcl bench --layout = c) COMP_CWORD=4; _gemmcl; "
                             "echo $COMPREPLY")
        self.assertEqual(said, ["--layout", "0", "col"])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        said = self.in_shell("fish", f"source {self.SCRIPTS}/gemmcl.fish; "
                             "complete -C 'gemmcl be'; complete -C 'gemmcl bench --layout '")
        self.assertRegex(said[0], "^bench\tMeasure ")
        self.assertLessEqual({"row", "col"}, set(said))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        said = self.in_shell("zsh", "_describe () { print -l -- $lines }; "
                             "_files () { print files }; complete () { words=(\"$@\"); CURRENT=$#; "
                             f". {self.SCRIPTS}/_gemmcl }}; complete gemmcl be; "
                             "complete gemmcl run ''")
        self.assertEqual(said, ["bench:Measure kernels, and check their results", "files"])


class NoDevice(tool.FolderTestCase):
    """Without an OpenCL driver the tool prints a sentence and exits with status 1."""

    def test_every_command(self):
        for command in ("devices", "devices --json", "kernels", "bench -M 1", "tune 1,1,1",
                        "tune --list", "warm 1,1,1", f"check -o {self.path('check.json')}",
                        f"run [1] [1] -o {self.path('d.npy')}"):
            with self.subTest(command=command):
                self.refuses(1, r"^gemmcl \w+: .*OpenCL.*\.\n$", *command.split(),
                             OCL_ICD_VENDORS=self.folder)


tool.main()
