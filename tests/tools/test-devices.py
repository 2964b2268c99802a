# SPDX-License-Identifier: LGPL-2.1-or-later
"""`gemmcl devices` and `gemmcl kernels`, read by people and by programs. TAP out."""

import json
import re

import tool

PRECISIONS = {"f16": "f16", "bf16": "bf16", "tf32": "tf32", "i8": "i8", "dot": "i8"}
ENGINES = "cl_intel_subgroup_matrix_multiply_accumulate"
TF32 = f"{ENGINES} {ENGINES}_tf32"


class Json(tool.FolderTestCase):
    def test_file_and_standard_output(self):
        """--json FILE is a file, --json - and --json alone the standard output, in each command."""
        path = self.path("list.json")
        for command in (("devices",), ("kernels", "-d", "0"), ("kernels", "--source", "gemm_naive"),
                        ("bench", "-M", 8, "-i", 0), ("tune", "--list")):
            with self.subTest(command=command):
                listed = self.read(*command, "--json", "-")
                self.assertIsInstance(listed, list)
                name, *rest = command
                for arguments in (name, "--json", *rest), (*command, "--json"):
                    self.assertEqual(self.read(*arguments), listed)
                for arguments in ("--json", path), (f"--json={path}",):
                    said = self.ends(0, *command, *arguments).stdout
                    self.assertNotIn("[\n", said)
                    self.assertEqual(self.load(path), listed)


class Devices(tool.TestCase):
    def test_json_and_text(self):
        devices, text = self.read("devices", "--json"), self.ends(0, "devices").stdout
        self.assertTrue(devices)
        for index, device in enumerate(devices):
            self.assertEqual(device["device"], index)
            self.assertIn(device["type"], ("CPU", "GPU", "accelerator", "other"))
            for key in "compute_units", "global_bytes", "local_bytes":
                self.assertGreater(device[key], 0)
            self.assertGreaterEqual(device["eus"], 0)
            self.assertEqual(device["subgroup_sizes"], sorted(device["subgroup_sizes"]))
            required = "cl_intel_required_subgroup_size" in device["extensions"]
            self.assertEqual(bool(device["subgroup_sizes"]), required)
            self.assertTrue(all(name.startswith("cl_") for name in device["extensions"]))
            self.assertTrue(device["peak_gflops"] is None or device["peak_gflops"] > 0)
            self.assertTrue(device["peak_source"])
            for words in f"{index}  {device['name']}\n", device["platform"], device["peak_source"]:
                self.assertIn(words, text)
            # The number is that of the option.
            said = self.ends(0, "kernels", "-d", index).stdout
            self.assertIn(f"Here: {device['name']} (", said)

    def test_choice_by_part_of_a_name(self):
        device = self.read("devices", "--json")[0]
        part = device["platform"][:8].lower()
        for rest in ((), ("-t", "auto"), ("-t", "all", "-d", "auto")):
            self.assertIn("Here: ", self.ends(0, "kernels", "-p", part, *rest).stdout)
        self.ends(0, "kernels", "-p", "auto")
        self.refuses(1, "no-such-device", "kernels", "-d", "no-such-device")
        self.refuses(1, "no-such-platform", "kernels", "-p", "no-such-platform")

    def test_passed_over(self):
        """Devices that the library passed over since they make no context cause a warning."""
        said = self.ends(0, "kernels", **tool.faults(GEMMCL_PROBLEM="It is lost.")).stderr
        self.assertIn("gemmcl: A device was skipped. It is lost.\n", said)
        self.assertNotIn("skipped", self.ends(0, "kernels").stderr)

    def test_types_as_words_constants_and_numbers(self):
        kind = self.read("devices", "--json")[0]["type"]
        spellings = {
            "CPU": ("cpu", "CPU", "CL_DEVICE_TYPE_CPU", "2", "0x2"),
            "GPU": ("gpu", "GPU", "CL_DEVICE_TYPE_GPU", "4", "0x4"),
        }.get(kind, ("accelerator", "acc", "CL_DEVICE_TYPE_ACCELERATOR", "8"))
        any_type = ("auto", "all", "CL_DEVICE_TYPE_ALL", "4294967295")
        for spelling in (*spellings, *any_type, "default", "1"):
            with self.subTest(spelling=spelling):
                self.ends(0, "kernels", "-t", spelling)


class Peaks(tool.TestCase):
    """The peaks of matrix engines are the vendors' figures, TFLOPS or TOPS of dense products."""

    def peaks(self, extensions="", sizes="", **numbers):
        info = " ".join(f"{key}={value}" for key, value in numbers.items())
        variables = tool.faults(GEMMCL_INFO=info, GEMMCL_EXTENSIONS=extensions,
                                **({"GEMMCL_SUBGROUP_SIZES": sizes} if sizes else {}))
        device, text = (self.ends(0, "devices", *options, **variables).stdout
                        for options in (("--json",), ()))
        peaks = json.loads(device)[0]["peaks_gflops"]
        self.assertEqual(list(peaks), ["f32", "f16", "bf16", "tf32", "i8"])
        for precision, peak in peaks.items():
            if precision != "f32":
                self.assertEqual(f" GFLOPS in {precision}: " in text, peak is not None)
        return [peak and peak / 1000 for peak in peaks.values()][1:]

    def test_published(self):
        def intel(major, minor, eus, clock):
            return {"ip_version": major << 22 | minor << 14, "eus": eus, "clock_mhz": clock}

        def nvidia(capability, units, clock):
            return {"nvidia_capability": capability, "compute_units": units, "clock_mhz": clock}
        for name, expected, extensions, sizes, numbers in (
            ("Arc A770", (137.6, 137.6, None, 275), ENGINES, "8 16", intel(12, 55, 512, 2100)),
            ("Max 1550", (839, 839, 419, 1678), TF32, "16 32", intel(12, 60, 1024, 1600)),
            ("Arc B580", (116.7, 116.7, 58.4, 233), TF32, "16 32", intel(20, 1, 160, 2850)),
            ("no engines", (None,) * 4, "", "8 16", intel(12, 70, 128, 2000)),
            ("of another time", (None,) * 4, TF32, "16 32", intel(99, 0, 128, 2000)),
            ("V100", (125, None, None, None), "", "", nvidia(70, 80, 1530)),
            ("T4", (65, None, None, 130), "", "", nvidia(75, 40, 1590)),
            ("A100", (312, 312, 156, 624), "", "", nvidia(80, 108, 1410)),
            ("RTX A6000", (155, 155, 77.4, 309.7), "", "", nvidia(86, 84, 1800)),
            ("H100 SXM", (989, 989, 495, 1979), "", "", nvidia(90, 132, 1830)),
            ("P100", (None,) * 4, "", "", nvidia(60, 56, 1480)),
            ("without a clock", (None,) * 4, "", "", nvidia(90, 132, 0)),
        ):
            with self.subTest(name=name):
                found = self.peaks(extensions, sizes, **numbers)
                for peak, published in zip(found, expected):
                    self.assertEqual(peak is None, published is None, found)
                    self.assertAlmostEqual((peak or 1) / (published or 1), 1, delta=0.02)


class MatrixShapes(tool.TestCase):
    """The products of matrix engines, from a device's extensions and smallest subgroup."""

    def shapes(self, extensions, sizes):
        device = self.read("devices", "--json", **tool.faults(
            GEMMCL_EXTENSIONS=extensions, GEMMCL_SUBGROUP_SIZES=sizes))[0]
        self.assertLessEqual(set(extensions.split()), set(device["extensions"]))
        return device["matrix_shapes"]

    def test_of_extensions(self):
        narrow = {("bf16", "f32", 8, 16), ("f16", "f32", 8, 16), ("i8", "i32", 8, 32),
                  ("u4", "i32", 8, 64)}
        wide = {("bf16", "f32", 16, 16), ("f16", "f16", 16, 16), ("i8", "i32", 16, 32)}
        tf32 = {("tf32", "f32", 16, 8)}
        for extensions, sizes, number, among, not_among in (
            (ENGINES, "8 16", 10, narrow, {("bf16", "bf16", 8, 16)}),
            (ENGINES, "16 32", 12, wide, tf32), (TF32, "16 32", 13, wide | tf32, set()),
            ("", "8 16", 0, set(), set()), (ENGINES, "4 8", 0, set(), set()),
        ):
            with self.subTest(extensions=extensions, sizes=sizes):
                shapes = self.shapes(extensions, sizes)
                found = {(shape["type_a"], shape["accumulator"], shape["n"], shape["k"])
                         for shape in shapes if shape["type_a"] == shape["type_b"]}
                self.assertEqual(len(shapes), number)
                self.assertLessEqual(among, found)
                self.assertTrue(found.isdisjoint(not_among))
                self.assertLessEqual({shape["m"] for shape in shapes}, {8})

    def test_used(self):
        """One shape is used for each precision that has kernels for matrix engines."""
        wanted = {kernel["precisions"] for kernel in self.read("kernels", "--json")
                  if "matrix engines" in kernel["needs"]}
        used = {shape["type_b"] for shape in self.shapes(TF32, "16 32") if shape["used"]}
        self.assertEqual(used, wanted)


class Kernels(tool.TestCase):
    """The table itself is tested by tests/lib/kernel-table.py."""

    def test_json_and_text(self):
        kernels = self.read("kernels", "--json")
        rows = self.ends(0, "kernels").stdout.splitlines()
        self.assertEqual((kernels[0]["name"], kernels[0]["here"]), ("gemm_naive", "native"))
        for kernel in kernels:
            last = kernel["method"].split("_")[-1]
            self.assertEqual(kernel["precisions"], PRECISIONS.get(last, "f32"))
            self.assertEqual(kernel["here"] is None, bool(kernel["why_not"]))
            row = next(row for row in rows if row.split()[:1] == [kernel["name"]])
            self.assertTrue(row.endswith(kernel["here"] or kernel["why_not"]), row)


class Programs(tool.TestCase):
    """gemmcl kernels --source, which needs no device."""

    def test_text_tells_the_same(self):
        names = "naive,tiled_8x8_8x8"
        said = self.ends(0, "kernels", "--source", names, OCL_ICD_VENDORS="/nowhere").stdout
        programs = self.read("kernels", "--json", "--source", names)
        self.assertEqual([program["name"] for program in programs], ["gemm_naive", "tiled_8x8_8x8"])
        self.assertEqual(
            said, "".join("// {name}: {options}\n{source}".format(**each) for each in programs))

    def test_problem(self):
        # The second kernel's N and K are 16 at most.
        for name, arguments, defined in (
            ("tiled_8x8_8x8", (), "-DA_TYPE=F32 -DA_UNIT_COL -DA_FLOAT4 -DD_FLOAT4"),
            ("tiled_8x8_8x8", ("--a-type", "bf16", "-N", 1023), "-DA_TYPE=BF16 -DA_UNIT_COL"),
            ("tiled_8x8_8x8", ("--layout", "col"), "-DA_TYPE=F32"),
            ("skinny_512x16_1x1", (), "-DN=16 -DK=16 -DA_TYPE=F32 -DA_UNIT_COL"),
            ("skinny_512x16_1x1", ("-N", 8, "-K", 4), "-DN=8 -DK=4 -DA_TYPE=F32 -DA_UNIT_COL"),
        ):
            with self.subTest(name=name, arguments=arguments):
                (program,) = self.read("kernels", "--json", "--source", name, *arguments)
                found = re.findall(r"-DA_\S+|-D[NK]=\S+|-DD_FLOAT4", program["options"])
                self.assertEqual(set(found), set(defined.split()))


tool.main()
