# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders on the CPU, except oneDNN. run() computes D in the problem's memory. MKL is called
through ctypes, so that no headers are needed."""

import concurrent.futures
import ctypes
import functools
import os
from ctypes import c_float, c_size_t, c_void_p

import numpy

from library import Missing, load
from problem import TOP, place

ROW_MAJOR, NO_TRANS, TRANS, PACKED, B_MATRIX = 101, 111, 112, 151, 162  # of mkl_cblas.h


class OpenBlas:
    """OpenBLAS by NumPy, which packs B in each call; it has no function for packed weights."""

    def __init__(self, problem, _settings):
        import threadpoolctl  # pylint: disable=import-outside-toplevel
        about = {each["internal_api"]: each for each in threadpoolctl.threadpool_info()}
        if "openblas" not in about:
            raise Missing("NumPy multiplies by another library.")
        about = about["openblas"]
        # On CPUs that it does not know, it uses its oldest kernels, at a quarter of the speed.
        if about["architecture"] == "Prescott" and "OPENBLAS_CORETYPE" not in os.environ:
            raise Missing("OpenBLAS does not know this CPU: set OPENBLAS_CORETYPE to one that it"
                          " knows, such as SkylakeX with AVX-512, or Haswell.")
        self.about = (f"OpenBLAS {about['version']}, kernels for {about['architecture']}, threads:"
                      f" {about['num_threads']}")
        self.run = functools.partial(numpy.matmul, problem.a, problem.b, problem.d)


class Mkl:
    """MKL, which packs B in each call; for M = 1 its sgemv, which its sgemm does not call."""

    def __init__(self, problem, _settings):
        self.library = load(*(f"libmkl_rt.so.{version}" for version in (3, 2, 1)))
        self.arrays = [c_void_p(each.ctypes.data) for each in (problem.a, problem.b, problem.d)]
        (m, n, k), (a, b, d) = problem.shape, self.arrays
        one, zero = c_float(1), c_float(0)
        if m == 1:
            self.function = self.library.cblas_sgemv
            self.arguments = ROW_MAJOR, TRANS, k, n, one, b, n, a, 1, zero, d, 1
        else:
            self.function = self.library.cblas_sgemm
            self.arguments = ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, one, a, k, b, n, zero, d, n
        version = ctypes.create_string_buffer(198)
        self.library.MKL_Get_Version_String(version, 197)
        self.about = (f"{version.value.decode().strip()}, threads:"
                      f" {self.library.MKL_Get_Max_Threads()}")

    def run(self):
        self.function(*self.arguments)


class MklPacked(Mkl):
    def __init__(self, problem, settings):
        super().__init__(problem, settings)
        (m, n, k), (a, b, d) = problem.shape, self.arrays
        for name in "cblas_sgemm_pack_get_size", "MKL_malloc":
            getattr(self.library, name).restype = c_size_t
        size = self.library.cblas_sgemm_pack_get_size(B_MATRIX, m, n, k)
        packed = c_void_p(self.library.MKL_malloc(c_size_t(size), 64))
        self.library.cblas_sgemm_pack(ROW_MAJOR, B_MATRIX, NO_TRANS, m, n, k, c_float(1), b, n,
                                      packed)
        self.function = self.library.cblas_sgemm_compute
        self.arguments = (ROW_MAJOR, NO_TRANS, PACKED, m, n, k, a, k, packed, n, c_float(0), d, n)


class Memcpy:
    """memcpy of A to D by one thread. The check then expects D = A."""

    about = "memcpy of the C library"

    def __init__(self, problem, _settings):
        if problem.k != problem.n:
            raise Missing("A and D differ in size.")
        self.run = functools.partial(ctypes.memmove, problem.d.ctypes.data, problem.a.ctypes.data,
                                     problem.d.nbytes)


class Onnxruntime:
    """onnxruntime, with Gemm and Relu. A and D stay in the same memory, as with gemmcl."""

    def __init__(self, problem, settings):
        import onnxruntime  # pylint: disable=import-outside-toplevel
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(self._make_model(problem), options,
                                               providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        a, d = problem.a, problem.d
        binding.bind_input("a", "cpu", 0, a.dtype, a.shape, a.ctypes.data)
        binding.bind_output("d", "cpu", 0, d.dtype, d.shape, d.ctypes.data)
        self.about = f"onnxruntime {onnxruntime.__version__}, threads: {settings.threads}"
        self.run = functools.partial(session.run_with_iobinding, binding)

    @staticmethod
    def _make_model(problem):
        from onnx import TensorProto, helper, numpy_helper  # pylint: disable=C0415
        nodes = [helper.make_node("Gemm", ["a", "b", "bias"], ["sum"]),
                 helper.make_node("Relu", ["sum"], ["d"])]
        a, d = (helper.make_tensor_value_info(name, TensorProto.FLOAT, getattr(problem, name).shape)
                for name in ("a", "d"))
        graph = helper.make_graph(nodes, "layer", [a], [d], [
            numpy_helper.from_array(getattr(problem, name), name) for name in ("b", "bias")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)],
                                 ir_version=8).SerializeToString()


class Numpy:
    about = f"NumPy {numpy.__version__}"

    def __init__(self, problem, _settings):
        self.problem = problem

    def run(self):
        queries, found = self.problem.a, self.problem.found
        scores = queries / numpy.linalg.norm(queries, axis=1, keepdims=True) @ self.problem.b.T
        columns = numpy.argpartition(-scores, TOP - 1, axis=1)[:, :TOP]
        values = numpy.take_along_axis(scores, columns, axis=1)
        order = numpy.argsort(-values, axis=1)
        found[:, :TOP] = numpy.take_along_axis(values, order, axis=1)
        found[:, TOP:] = numpy.take_along_axis(columns, order, axis=1)


class Faiss:
    """faiss' exact search, which keeps a copy of the vectors."""

    def __init__(self, problem, _settings):
        # faiss's loader needs NumPy 2 to recognise the CPU; the generic library chooses by itself.
        # Its threads would spin while other load has the CPUs.
        os.environ |= {"FAISS_OPT_LEVEL": "generic", "OMP_WAIT_POLICY": "passive"}
        import faiss  # pylint: disable=import-outside-toplevel
        self.faiss, self.problem = faiss, problem
        self.index = self.make(faiss, problem.k)
        self.index.train(problem.b)
        self.index.add(problem.b)
        del problem.b  # A gallery is large.
        self.about = f"faiss {faiss.__version__}, {type(self.index).__name__}"

    @staticmethod
    def make(faiss, size):
        return faiss.IndexFlatIP(size)

    def run(self):
        queries, found = self.problem.a.copy(), self.problem.found
        self.faiss.normalize_L2(queries)
        found[:, :TOP], found[:, TOP:] = self.index.search(queries, TOP)


class FaissBytes(Faiss):
    """The vectors in bytes, with a range for each of their columns."""

    @staticmethod
    def make(faiss, size):
        return faiss.IndexScalarQuantizer(size, faiss.ScalarQuantizer.QT_8bit,
                                          faiss.METRIC_INNER_PRODUCT)


class Reading:
    """A thread for each CPU reads as many bytes as B has elements, in search of another byte."""

    about = "memchr of the C library"

    def __init__(self, problem, settings):
        part = problem.n * problem.k // settings.threads
        self.bytes = place((settings.threads, part), "u1", 1)
        self.pool = concurrent.futures.ThreadPoolExecutor(settings.threads)
        self.find = ctypes.CDLL(None).memchr

    def run(self):
        list(self.pool.map(lambda part: self.find(c_void_p(part.ctypes.data), 0,
                                                  c_size_t(part.size)), self.bytes))
