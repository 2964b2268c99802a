# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl bench`: the consistency of its output, and its errors. TAP out."""

import csv
import json
import os
import re
import signal
import stat
import subprocess
import unittest

import tool

KEYS = {"device", "requested", "kernel", "choice", "precision", "a_type", "layout", "trans_a",
        "trans_b", "alpha", "beta", "m", "n", "k", "batch", "iterations", "time_ms", "gflops",
        "peak_gflops", "peak_source", "efficiency", "bandwidth_gbs", "bandwidth_source",
        "verified", "max_error", "error_bound", "level", "global_size", "local_size", "simd_width",
        "hardware_threads", "local_bytes", "private_bytes", "spill_bytes"}
UNCHECKED = {"verified": None, "max_error": None, "error_bound": None}


class Results(tool.FolderTestCase):
    def bench(self, m, n, k, *arguments, **environment):
        said = self.ends(0, "bench", "-M", m, "-N", n, "-K", k, "-i", 1, "--json", "-", *arguments,
                         **environment)
        return json.loads(said.stdout), said.stderr

    def test_no_time_is_no_speed(self):
        """A driver whose commands begin and end at once, or take a nanosecond."""
        for time in "0", "1":
            (result,), table = self.bench(16, 16, 16, "-k", "naive",
                                          **tool.faults(GEMMCL_NO_TIME=time))
            self.assertIn("The device measured no time.", table)
            self.assertNotRegex(table, r"run 1 +[0-9]")
            self.assertEqual((result["gflops"], set(result["time_ms"].values())), (None, {None}))

    def test_json_has_what_was_agreed(self):
        (result,), _ = self.bench(32, 16, 8, "-k", "naive", "-i", 5, "--peak", 100, "--bandwidth",
                                  7.5, "--layout", "col", "--beta", 3, "--transpose-b",
                                  "--a-type", "u8")
        self.assertEqual(set(result), KEYS)
        time = result["time_ms"]
        self.assertEqual(set(time), {"min", "median", "max", "spread"})
        self.assertLessEqual(0, time["spread"])
        self.assertLessEqual(time["spread"], (time["max"] - time["min"]) / time["median"] + 1e-9)
        for key, value in {
            "kernel": "gemm_naive", "requested": "gemm_naive", "precision": "f32", "a_type": "u8",
            "layout": "col", "trans_a": False, "trans_b": True, "alpha": 1, "beta": 3,
            "iterations": 5, "peak_gflops": 100, "peak_source": "set with --peak",
            "bandwidth_gbs": 7.5, "bandwidth_source": "set with --bandwidth", "choice": "named",
            **UNCHECKED,
        }.items():
            self.assertEqual(result[key], value, key)
        self.assertLess(0, time["min"])
        self.assertLessEqual(time["min"], time["median"])
        self.assertLessEqual(time["median"], time["max"])
        gflops = 2 * 32 * 16 * 8 / (time["median"] * 1e6)
        self.assertAlmostEqual(result["gflops"] / gflops, 1, places=5)
        self.assertAlmostEqual(result["efficiency"] / (gflops / 100), 1, places=5)

    def test_efficiency_of_other_precisions(self):
        """The f32 peak says nothing about other precisions: no efficiency, unless --peak is set."""
        names = "gemm_naive", "vector_bf16_4x64_1x1", "vector_i8_4x64_1x1"
        peaks = self.read("devices", "--json")[0]["peaks_gflops"]
        for options in ((), ("--peak", "50")):
            results, table = self.bench(16, 16, 16, "-k", ",".join(names), *options)
            for result in results:
                precision = result["precision"]
                peak = 50 if options else peaks[precision]
                self.assertEqual(result["peak_gflops"], peak)
                self.assertEqual(result["efficiency"] is None, peak is None)
                if not options:
                    self.assertRegex(table, rf"(?m)^{precision} +peak +\S")

    def test_no_iterations_run_nothing(self):
        names = "gemm_naive,vector_8x8_1x1,tiled_4x4_8x8"
        results, _ = self.bench(9, 9, 9, "-i", 0, "-k", names, "-v")
        self.assertEqual([result["kernel"] for result in results], names.split(","))
        for result in results:
            self.assertEqual(set(result["time_ms"].values()), {None})
            for key in ("gflops", "efficiency", *UNCHECKED):
                self.assertIsNone(result[key])

    def test_file_and_table(self):
        """Kernels with a 6 in their names do not fit as built, which saves compiling most."""
        path = self.path("bench.json")
        said = self.ends(0, "bench", "-M", 7, "-N", 13, "-K", 5, "-k", "all", "-v", "-i", 1,
                         "--json", path, **tool.faults(GEMMCL_UNFIT_KERNEL="*6*")).stdout
        self.assertRegex(said, r"(?m)^Device +\S")
        self.assertRegex(said, r"(?m)^f32 peak \S")
        measured = [result["kernel"] for result in self.load(path)]
        self.assertGreater(len(measured), 1)
        self.assertIn("gemm_naive", measured)
        for name in (kernel["name"] for kernel in self.read("kernels", "--json")):
            end = (".* ok" if name in measured
                   else rf"Kernel {name} needs more\." if "6" in name else r"[A-Za-z].*\.")
            self.assertRegex(said, rf"(?m)^{name} +{end}$")

    def test_what_does_not_build_is_shown(self):
        """It is a fault at the end, after all other kernels."""
        fault = tool.faults(GEMMCL_UNBUILT_KERNEL="outputs_4x4_16x16")
        said = self.ends(1, "bench", "-M", 8, "-N", 8, "-K", 8, "-i", 0, "-k", "outputs*", **fault)
        self.assertRegex(said.stdout, r"(?m)^outputs_4x4_16x16 +Kernel outputs_4x4_16x16 is too m")
        self.assertRegex(said.stdout, r"(?m)^outputs_permuted_4x4_16x16 +-")
        self.assertIn("1 of the kernels did not build", said.stderr)
        said = self.ends(1, "bench", "-M", 8, "-i", 0, "-k", "outputs_4x4_16x16", **fault)
        self.assertIn("bench: Kernel outputs_4x4_16x16 is too much", said.stderr)

    def test_unfit_kernel_that_is_named(self):
        said = self.ends(1, "bench", "-k", "tiled_4x4_8x8",
                         **tool.faults(GEMMCL_UNFIT_KERNEL="*_*x*")).stderr
        self.assertIn("Kernel tiled_4x4_8x8 needs more.", said)

    def test_one_kernel_shows_every_run(self):
        said = self.ends(0, "bench", "-M", 8, "-N", 8, "-K", 8, "-k", "naive", "-i", 3).stdout
        rows = re.findall(r"(?m)^  run (\d+) +\d+\.\d+ +\d+\.\d+", said)
        self.assertEqual(rows, ["1", "2", "3"])

    def test_a_gpu_warms_up(self):
        """It runs before the runs that count. The first run and 19 that count are 20 without such
        runs. The 21st crashes."""
        shape = ("bench", "-M", 8, "-N", 8, "-K", 8, "-k", "gemm_naive", "-i")
        crash = tool.faults(GEMMCL_CRASHING_RUN="gemm_naive")
        said = self.ends(0, *shape, 19, **crash).stdout
        self.assertIn("Runs     19 of each kernel, after one that does not count", said)
        self.ends(-signal.SIGKILL, *shape, 19, **crash, GEMMCL_CLAIMED_GPU="1")
        self.ends(0, *shape, 0, **crash, GEMMCL_CLAIMED_GPU="1")
        said = self.ends(0, *shape, 3, **tool.faults(GEMMCL_CLAIMED_GPU="1")).stdout
        self.assertIn("Runs     3 of each kernel, after 10 ms of runs that do not count", said)
        self.assertEqual(len(re.findall(r"(?m)^  run \d", said)), 3)

    def test_peak_and_bandwidth(self):
        (result,), said = self.bench(8, 8, 8, "--peak", "123.5", "--bandwidth", "measure")
        self.assertRegex(said, r"(?m)^Peak +123\.5 GFLOPS: .*--peak")
        rate, = re.findall(r"(?m)^Memory +([\d.]+) GB/s: .*clEnqueueCopyBuffer", said)
        self.assertGreater(float(rate), 0)
        self.assertAlmostEqual(result["bandwidth_gbs"], float(rate), delta=0.051)
        self.assertIn("clEnqueueCopyBuffer", result["bandwidth_source"])
        self.refuses(2, "--peak takes more than 0", "bench", "--peak", 0)
        self.refuses(2, "--bandwidth takes more than 0", "bench", "--bandwidth", -1)
        self.refuses(2, "--bandwidth takes a finite number", "bench", "--bandwidth", "much")
        self.refuses(1, "--bandwidth sets it. The device measured no time", "bench",
                     "--bandwidth", "measure", **tool.faults(GEMMCL_NO_TIME="0"))

    def test_several_kernels_by_name(self):
        names = [kernel["name"] for kernel in self.read("kernels", "--json") if kernel["here"]]
        for asked in (names[:2], names[::-1][:2]):
            # Sizes that fit every row, also those for narrow products.
            results, table = self.bench(1, 16, 16, "-k", ",".join(asked))
            self.assertEqual([result["kernel"] for result in results], asked)
            self.assertEqual({result["bandwidth_gbs"] for result in results}, {None})
            self.assertNotIn("choice", table)

    def list_kernels(self, asked):
        said = self.ends(0, "bench", "-M", 1, "-N", 1, "-K", 1, "-i", 0, "-k", asked, "--json", "-")
        return [result["kernel"] for result in json.loads(said.stdout)]

    def test_methods_patterns_and_sets(self):
        """Their kernels are in the table's order, and a ladder's in its own, each once."""
        kernels = {kernel["name"]: kernel for kernel in self.read("kernels", "--json")}
        slm = [name for name, kernel in kernels.items() if kernel["method"] == "slm"]
        self.assertEqual((self.list_kernels("slm"), len(slm)), (slm, 2))
        self.assertEqual(self.list_kernels("outputs_*,naive,outputs_a*,gemm_naive"), [
            *(name for name in kernels if name.startswith("outputs_")), "gemm_naive"])
        article = [name for name, kernel in kernels.items()
                   if "article SGEMM for Intel" in kernel["summary"]]
        self.assertEqual(sorted(self.list_kernels("article")), sorted(article))
        ladder = [re.match(r"ladder (\d+): ", kernels[name]["summary"])
                  for name in self.list_kernels("ladder")]
        self.assertIsNone(ladder[0])
        self.assertEqual([step and step[1] for step in ladder[1:]], list("23456"))

    def test_ladder_has_speedups(self):
        sizes = "--sweep", "8,16", "-i", 1, "--peak", 10, "-k"
        said = self.ends(0, "bench", *sizes, "ladder", "--json", "-")
        results = json.loads(said.stdout)
        for size in 8, 16:
            steps = [result for result in results if result["m"] == size]
            times = [step["time_ms"]["median"] for step in steps]
            for step, before, now in zip(steps, [times[0], *times], times):
                self.assertAlmostEqual(step["step_speedup"] * now / before, 1, places=5)
                self.assertAlmostEqual(step["cumulative_speedup"] * now / times[0], 1, places=5)
            self.assertRegex(said.stderr, rf"(?m)^{size} x {size} x {size} +gemm_naive .* 1\.00x"
                                          r" +1\.00x +\d+\.\d %$")
            self.assertRegex(said.stderr, rf"(?m)^{size} x {size} x {size} +peak +"
                                          rf"{2 * size**3 / 1e7:.4f} .* 10\.00$")
        self.assertNotIn("cumulative", self.ends(0, "bench", *sizes, "slm,gemm_naive").stdout)

    def test_launches(self):
        """The table of -v is what an article's table of a profiler has. The last thread of a
        work-group may have less to do."""
        names = "slm_4x4_16x16,L3_SIMD_8x4_1x8"
        items, groups = ([48, 32, 1], [17, 24, 1]), ([16, 16, 1], [1, 8, 1])
        kernels = {kernel["name"]: kernel for kernel in self.read("kernels", "--json")}
        for simd, threads in (("12", (6 * 22, 51)), ("0", (None, None))):
            results, table = self.bench(130, 70, 8, "-v", "-k", names,
                                        **tool.faults(GEMMCL_SIMD=simd))
            for result, size, group, started in zip(results, items, groups, threads):
                self.assertEqual((result["global_size"], result["local_size"]), (size, group))
                self.assertEqual(result["level"], kernels[result["kernel"]]["here"])
                self.assertEqual((result["hardware_threads"], result["simd_width"]),
                                 (started, int(simd) or None))
                cells = [result["kernel"], result["level"], *(" x ".join(map(str, sizes))
                         for sizes in (size, group)), int(simd) or "-", started or "-",
                         *(result[f"{key}_bytes"] for key in ("local", "private", "spill"))]
                self.assertRegex(table, "(?m)^" + " +".join(map(str, cells)) + "$")
        _, table = self.bench(8, 8, 8, "-k", "naive")
        self.assertNotIn("work-items", table)

    def test_threads_of_the_article(self):
        """Work sizes (columns x rows) and threads of VTune's table, at 1024 x 1024."""
        for simd, rows in (16, {"gemm_naive": (1024, 1024, 65536)}), (8, {
                "L3_SIMD_8x4_1x8": (256, 128, 4096), "L3_SIMD_32x2_1x8": (512, 32, 2048),
                "L3_SLM_8x8_4x16": (128, 128, 2048), "L3_SIMD_16x2_1x8": (512, 64, 4096),
                "block_read_32x1_1x8": (1024, 32, 4096), "block_read_32x2_1x8": (512, 32, 2048)}):
            said = self.ends(0, "bench", "-i", 0, "-k", ",".join(rows), "--json", "-",
                             **tool.faults(GEMMCL_SIMD=str(simd)))
            for result in json.loads(said.stdout):
                rows_of_items, columns, parts = result["global_size"]
                self.assertEqual((columns, rows_of_items, result["hardware_threads"]),
                                 rows[result["kernel"]], result["kernel"])
                self.assertEqual(parts, 1)

    def test_automatic_choice_is_named(self):
        names = [kernel["name"] for kernel in self.read("kernels", "--json")]
        for requested, arguments in (("auto", ()), ("auto", ("-k", "auto")),
                                     ("rules", ("-k", "rules"))):
            (result,), table = self.bench(64, 64, 64, *arguments)
            self.assertIn(result["kernel"].split("/")[0], names)
            self.assertEqual(result["requested"], requested)
            self.assertIn(result["choice"], ("tuned", "shipped", "rules"))
            self.assertRegex(table, rf"(?m)^{result['kernel']} +{result['choice']} +\d")
        self.assertEqual(result["choice"], "rules")

    def test_sweep(self):
        kernels = ("gemm_naive", "vector_8x8_1x1")
        for sweep, fixed, shapes in (
            ("5,3:13", (), [(5, 5, 5), (3, 3, 3), (6, 6, 6), (12, 12, 12)]),
            ("4:10:3", ("-M", 2), [(2, 4, 4), (2, 7, 7), (2, 10, 10)]),
            ("9", ("--size3", 1, "--size2", 5), [(9, 1, 5)]),
        ):
            said = self.ends(0, "bench", "--sweep", sweep, *fixed, "-i", 1, "-v", "-k",
                             ",".join(kernels), "--json", "-")
            self.assertEqual([(r["m"], r["n"], r["k"], r["kernel"], r["verified"])
                              for r in json.loads(said.stdout)],
                             [(*shape, kernel, True) for shape in shapes for kernel in kernels])
            for m, n, k in shapes[1:]:
                self.assertRegex(said.stderr, rf"(?m)^{m} x {n} x {k} +gemm_naive .* ok$")

    def test_invalid_sweeps(self):
        for sweep in ("", "0", "8:4", "1:2:3:4", "1,,2", "a", "-3", "1:4:0", "99999999999", "8:"):
            with self.subTest(sweep=sweep):
                self.refuses(2, "--sweep takes sizes", "bench", f"--sweep={sweep}")
        self.refuses(2, "256 sizes at most", "bench", "--sweep", "1:2147483647:1")
        self.refuses(2, "Leave at least one out", "bench", "--sweep", 8, "-M", 1, "-N", 1, "-K", 1)


class Replay(tool.FolderTestCase):
    """The lines of GEMMCL_VERBOSE=1, and --replay, which reads them."""
    PLAN = "gemmcl_plan,m=3,n=2,k=5,kernel=gemm_naive"

    def write(self, *lines):
        path = self.path("plans.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        return path

    def plans(self, *arguments):
        said = self.ends(0, *arguments, GEMMCL_VERBOSE="1").stderr
        return re.findall("^gemmcl_plan,.*", said, re.M)

    def test_the_same_plans(self):
        bench = "bench", "-i", 0, "-M", 9, "-N", 8, "-K", 16
        lines = [line for command in (
            (*bench, "-k", "gemm_naive"), (*bench, "-k", "vector_i8_4x64_1x1", "--a-type", "u8"),
            (*bench, "-k", "naive", "--layout", "col", "--transpose-a", "--transpose-b"),
            ("warm", "5,7,9", "--batch", 3, "--activation", "gelu", "-k", "naive"),
        ) for line in self.plans(*command)]
        self.assertIn("gemmcl_plan,m=5,n=7,k=9,batch=3,activation=gelu,precision=f32,"
                      "kernel=gemm_naive,choice=named,device=", "".join(lines))
        path = self.write("other text", *lines, lines[0], "gemmcl_planet")
        once = list(dict.fromkeys(lines))
        self.assertEqual(self.plans("bench", "--replay", path, "-i", 0), once)
        results = self.read("bench", "--replay", path, "-v", "-i", 1, "--json", "-")
        self.assertEqual([result["verified"] for result in results], [True] * len(once))
        self.assertEqual([result["batch"] for result in results][-1], 3)
        self.assertEqual(self.ends(0, *bench, "-k", "naive", GEMMCL_VERBOSE="0").stderr, "")

    def test_what_is_left_out(self):
        path = self.write(self.PLAN + ",a_type=i16,bias=1,d_format=RGB,choice=rules,device=A, B=1")
        said = self.ends(0, "bench", "--replay", path, "-i", 1)
        self.assertIn(f"{path}:1: measured without bias=1 d_format=RGB a_type=i16\n", said.stderr)
        unfit = self.ends(0, "bench", "--replay", path, **tool.faults(GEMMCL_UNFIT_KERNEL="*naive"))
        self.assertRegex(unfit.stdout, "gemm_naive +Kernel gemm_naive needs more")

    def test_what_is_not_known(self):
        for field, pattern in (("colour=red", 'a key of .* "colour"'), ("m", 'value, found "m"'),
                               ("m=0", "-M takes"), ("trans_a=2", 'trans_a is 1, not "2"'),
                               ("batch=x", 'batch is a whole .* "x"'), ("layout=x", "row or col"),
                               ("precision=f8", "f32, f16"), ("kernel=x", 'no kernel "x"'),
                               ("=", 'found ""')):
            self.refuses(2, f"plans.txt:2: .*{pattern}", "bench", "--replay",
                         self.write(self.PLAN, f"{self.PLAN},{field}"))
        for field, key in ("m=4", "m"), ("bias=1,bias=1", "bias"), ("kernel=gemm_naive", "kernel"):
            self.refuses(2, f'plans.txt:1: Expected each key once, found "{key}" again', "bench",
                         "--replay", self.write(f"{self.PLAN},{field}"))
        self.refuses(2, "plans.txt:1: Expected m, n, k and kernel", "bench", "--replay",
                     self.write("gemmcl_plan,m=3,n=2,kernel=gemm_naive"))
        self.refuses(2, "begin with gemmcl_plan,", "bench", "--replay", self.write("nothing"))
        self.refuses(2, "plans.txt: .* zero byte", "bench", "--replay",
                     self.write(self.PLAN, "\0", self.PLAN + ",batch=2"))
        self.refuses(1, "none.txt", "bench", "--replay", self.path("none.txt"))
        for option in (("-M", 1), ("-k", "naive"), ("--sweep", 1), ("--alpha", 2), ("--beta", 0),
                       ("--precision", "f32"), ("--transpose-a",)):
            self.refuses(2, "leave out --kernel", "bench", "--replay", self.write(self.PLAN),
                         *option)


class Failures(tool.FolderTestCase):
    def test_unknown_kernel_lists_near_ones(self):
        self.refuses(2, "gemm_naiv.*gemm_naive", "bench", "-M", "8", "-k", "gemm_naiv")
        self.refuses(2, "gemm_naiv.*gemm_naive", "bench", "-M", "8", "-k", "gemm_naive,gemm_naiv")

    def test_mismatch(self):
        said = self.ends(1, "bench", "-M", 8, "-i", 1, "-k", "gemm_naive", "-v", "--json", "-",
                         **tool.faults(GEMMCL_WRONG_RESULTS=""))
        self.assertRegex(said.stderr, r"(?m)^gemm_naive .* 0\.5 +0\.25  MISMATCH$")
        self.assertIn("1 of 1 results are outside their error bounds", said.stderr)
        result, = json.loads(said.stdout)
        self.assertIs(result["verified"], False)
        self.assertEqual((result["max_error"], result["error_bound"]), (0.5, 0.25))

    def test_too_large(self):
        self.refuses(1, "too large", "bench", "-M", 2147483647, "-K", 2147483647, "-i", 0)
        most = self.read("devices", "--json")[0]["max_alloc_bytes"] // 4
        # The largest buffer of a device can exceed the range of sizes.
        rows = most // 2**30 + 1
        self.refuses(1, "too large", "bench", "-M", rows, "-N", 1, "-K", most // rows + 1, "-i", 0)
        # This A of bytes takes a third of the largest buffer, and would be too large in f32. PoCL
        # 7.1 gives all memory to one buffer, and the host keeps a copy. The next obstacle is the
        # file.
        self.refuses(1, "No such file", "bench", "-M", 2**16, "-N", 1, "-K", most // 2**14 // 3,
                     "--a-type", "u8", "-i", 0, "--json", self.path("none/bench.json"))

    def test_output_that_cannot_be_written(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        for path in (self.path("none/bench.json"), self.folder, pipe):
            says = rf"^gemmcl bench: .*{path}.*: \S.*\n$"
            self.refuses(1, says, "bench", "-M", 8, "--json", path)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            said = subprocess.run([tool.TOOL, "kernels"], stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False)
        self.assertEqual(said.returncode, 1)
        self.assertIn("written", said.stderr)

    def test_killed(self):
        """The file is a whole list at any moment, and has each result before the table shows it."""
        path = self.path("bench.json")
        with tool.start("bench", "-N", 8, "-K", 8, "--sweep", "1:256:1", "-i", 999, "-k",
                        "gemm_naive", "--json", path) as process:
            self.wait_for(process, process.stdout, "kernel ")
            for row in range(1, 6):
                self.wait_for(process, process.stdout, "gemm_naive ")
                self.assertGreaterEqual(len(self.load(path)), row)
            process.kill()
        results = self.load(path)
        self.assertGreaterEqual(len(results), 5)
        self.assertEqual({result["kernel"] for result in results}, {"gemm_naive"})

    def test_progress(self):
        size = "-M", 8, "-N", 8, "-K", 8, "-i", 1
        said = self.ends(0, "bench", *size, "-k", "gemm_naive,auto")
        self.assertRegex(said.stderr,
                         r"\A1 of 2: gemm_naive\n2 of 2: auto, \d+ (s|min) left\n\Z")
        self.assertEqual(self.ends(0, "bench", *size, "-k", "gemm_naive").stderr, "")
        # The terminal's line is erased before each row of the table.
        for kind, pattern in (
            ("xterm", r"\A\|1 of 2: gemm_naive\|+2 of 2: auto, \d+ (s|min) left\|+\Z"),
            ("dumb", r"\A1 of 2: gemm_naive\r\n2 of 2: auto, \d+ (s|min) left\r\n\Z"),
        ):
            control, terminal = os.openpty()
            with os.fdopen(control, "rb"), os.fdopen(terminal, "wb") as errors:
                subprocess.run([tool.TOOL, "bench", *map(str, size), "-k", "gemm_naive,auto"],
                               stdout=subprocess.DEVNULL, stderr=errors, check=True,
                               env={**os.environ, "TERM": kind})
                said = os.read(control, 4096).decode()
            self.assertRegex(said.replace("\r\033[K", "|"), pattern)

    def test_forms_of_the_table(self):
        """CSV has plain numbers and one line of titles; text with commas is quoted."""
        problem = "-M", 8, "-N", 8, "-K", 8, "-i", 3, "-k", "all", "-v", "--table"
        unfit = tool.faults(GEMMCL_UNFIT_KERNEL="*_*x*")
        said = self.ends(0, "bench", *problem, "csv", **unfit)
        self.assertIn("Problem  8 x 8 x 8", said.stderr)
        rows = list(csv.DictReader(said.stdout.splitlines()))
        self.assertEqual({row["kernel"] for row in rows},
                         {kernel["name"] for kernel in self.read("kernels", "--json")})
        for row in rows:
            if row["check"] == "ok":
                for column in ("min ms", "median ms", "spread %", "GFLOPS", "max error"):
                    self.assertGreaterEqual(float(row[column]), 0)
            else:
                self.assertTrue(row["min ms"].endswith("."), row)
        needs = csv.DictReader(self.ends(0, "kernels", "--table", "csv").stdout.splitlines())
        self.assertEqual([row["needs"].replace("-", "") for row in needs],
                         [kernel["needs"] for kernel in self.read("kernels", "--json")])
        titles, marks, *lines = self.ends(0, "bench", *problem, "markdown",
                                          **unfit).stdout.splitlines()
        self.assertTrue(titles.startswith("| kernel | min ms | median ms | spread | "))
        self.assertRegex(marks, r"^\|---(\|--:)+\|---\|$")
        self.assertEqual({line.count("|") for line in lines}, {titles.count("|")})
        self.refuses(2, 'text, markdown or csv, not "html"', "bench", "--table", "html")

    def test_interrupt(self):
        path = self.path("bench.json")
        with tool.start("bench", "-M", "8", "-k", "gemm_naive", "-i", "1000000000",
                        "--json", path) as process:
            # The runs begin after the titles are printed.
            self.wait_for(process, process.stdout, "kernel ")
            self.interrupted(process)
        self.assertEqual(self.load(path), [])


tool.main()
