# SPDX-License-Identifier: LGPL-2.1-or-later
"""Uses the library from Python, through its typelib. TAP out."""

import ctypes
import gc
import sys
import unittest

try:
    import gi
    import numpy
    from gi.repository import GLib
except ImportError as error:
    print(f"1..0 # SKIP {error.name} is not installed (python3-gi, python3-numpy)")
    sys.exit(0)

gi.require_version("Gemmcl", "1.0")
import library  # noqa: E402
from gi.repository import Gemmcl  # noqa: E402
from tap_unittest import main  # noqa: E402

A = numpy.array([[1, 2, 3], [4, 5, 6]], "f4")
B = numpy.array([[1, 0], [0, 1], [1, -1]], "f4")
BIAS = numpy.array([0.5, 0], "f4")


def describe(m=2, n=2, k=3):
    gemm = Gemmcl.Gemm.new()
    gemm.m, gemm.n, gemm.k = m, n, k
    return gemm


def make_matrix(values):
    rows, cols = values.shape
    return Gemmcl.Matrix.new(Gemmcl.Type.F32, rows, cols, values.ctypes.data)


class Introspection(unittest.TestCase):
    def setUp(self):
        try:
            self.context = Gemmcl.Context.new(None)
        except GLib.Error as error:
            self.skipTest(error.message)

    def test_infos_outlive_their_list(self):
        infos = Gemmcl.list_devices(None)
        names = [info.name for info in infos]
        gc.collect()
        assert names and all(info.name == name for info, name in zip(infos, names)), names
        assert self.context.get_device_info().name == names[0]
        assert len(infos[0].max_work_item_sizes) == 3 and infos[0].max_work_item_sizes[0] > 0

    def test_one_call_multiplies(self):
        d = numpy.zeros((2, 2), "f4")
        Gemmcl.gemm_run(self.context, describe(), None, A.ctypes.data, B.ctypes.data, None, None,
                        d.ctypes.data)
        numpy.testing.assert_array_equal(d, A @ B)

    def test_a_plan_takes_prepared_operands(self):
        gemm = describe()
        gemm.bias = True
        gemm.addend = Gemmcl.Addend.OUTPUT
        gemm.activation = Gemmcl.Activation.RELU
        gemm.row_outputs = Gemmcl.RowOutput.SUM | Gemmcl.RowOutput.MAX
        plan = Gemmcl.Plan.new(self.context, gemm, None)
        plan.set(Gemmcl.PlanOperand.BIAS, make_matrix(BIAS[None]))
        rows = numpy.zeros((2, 2), "f4")
        for scale in 1, 2:
            prepared = plan.prepare(Gemmcl.PlanOperand.B, make_matrix(scale * B))
            plan.use(prepared)
            del prepared
            gc.collect()
            d = numpy.ones((2, 2), "f4")
            plan.run_host(2, 3, A.ctypes.data, d.ctypes.data, rows.ctypes.data)
            expected = numpy.maximum(2 * A @ (scale * B) + 3 + BIAS, 0)
            numpy.testing.assert_array_equal(d, expected)
            numpy.testing.assert_array_equal(rows, list(zip(expected.sum(1), expected.max(1))))
        assert plan.get_stats().runs == 2, plan.get_stats().runs

    def test_a_run_has_the_values_of_its_macro(self):
        gemm, run, options = Gemmcl.Gemm.new(), Gemmcl.Run.new(), Gemmcl.TuningOptions.new()
        assert (gemm.alpha, gemm.beta, gemm.a_scale, gemm.m) == (1, 0, 1, 0)
        assert run.alpha == 1 and run.size > 0 and run.copy().size == run.size
        assert options.candidates == 5 and options.size > 0

    def test_structures_are_those_of_ctypes(self):
        """The sizes and offsets of the public structures do not change by mistake: programs that
        were compiled with them, and the tests, would read and write other fields."""
        for name, other in (("Gemm", library.Gemm), ("Frame", library.Frame), ("Run", library.Run),
                            ("Data", library.Data), ("DeviceQuery", library.Query),
                            ("DeviceInfo", library.Info)):
            info = getattr(Gemmcl, name).__info__
            offsets = [field.get_offset() for field in info.get_fields()]
            others = [getattr(other, field).offset for field, _ in other._fields_]
            if other is library.Info:  # its first fields
                offsets = offsets[:len(others)]
            else:
                assert info.get_size() == ctypes.sizeof(other), (name, info.get_size())
            assert offsets == others, (name, offsets, others)

    def test_errors_have_their_domain(self):
        with self.assertRaises(GLib.Error) as caught:
            Gemmcl.Matrix.load("[1,")
        self.assertTrue(caught.exception.matches(Gemmcl.error_quark(), Gemmcl.Error.FORMAT))
        self.assertEqual(caught.exception.domain, "gemmcl-error-quark")

    def test_results_of_searches_outlive_them(self):
        gemm = describe(32, 32, 32)
        options = Gemmcl.TuningOptions.new()
        options.candidates, options.seconds, options.share = 2, 0.01, 1
        result = Gemmcl.tuning_search(self.context, gemm, options, None)
        del options, gemm
        gc.collect()
        names = [candidate.kernel for candidate in result.candidates]
        assert result.first.kernel in names, names
        assert result.device_seconds > 0
        stored = [entry.kernel for entry in Gemmcl.tuning_list(self.context)]
        gc.collect()
        assert not result.stored or result.best.kernel in stored, (result.best.kernel, stored)


main()
