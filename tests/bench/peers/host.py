# gemmcl: GEMM on OpenCL
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contenders on the CPU. run() computes D in the problem's memory. Libraries in C are called
through ctypes, so that no headers are needed."""

import ctypes
import os
import pathlib
import sys
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_void_p

import numpy
from contenders import TOP
from library import Failure, Missing, load

ROW_MAJOR, NO_TRANS, TRANS, PACKED, B_MATRIX = 101, 111, 112, 151, 162  # of cblas.h and MKL


class Blas:
    """A library with CBLAS. For M = 1 sgemv is called, which their sgemm does not use by itself."""

    def __init__(self, problem, *names):
        self.library = load(*names)
        m, n, k = problem.shape
        a, b, d = map(c_void_p, (problem.a, problem.b, problem.d))
        one, zero = c_float(1), c_float(0)
        if problem.m == 1:
            self.function = self.library.cblas_sgemv
            self.arguments = ROW_MAJOR, TRANS, k, n, one, b, n, a, 1, zero, d, 1
        else:
            self.function = self.library.cblas_sgemm
            self.arguments = ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, one, a, k, b, n, zero, d, n

    def run(self):
        """Runs it."""
        self.function(*self.arguments)


class OpenBlas(Blas):
    """OpenBLAS, which packs B in each call; it has no function for packed weights."""

    def __init__(self, problem):
        super().__init__(problem, "libopenblas.so.0")
        for name in ("openblas_get_config", "openblas_get_corename"):
            getattr(self.library, name).restype = ctypes.c_char_p
        core = self.library.openblas_get_corename().decode()
        self._choose_core(core)
        self.library.openblas_set_num_threads(problem.threads)
        self.about = (f"{self.library.openblas_get_config().decode()}, kernels for {core}, threads:"
                      f" {self.library.openblas_get_num_threads()}")

    @staticmethod
    def _choose_core(core):
        """Starts the process again with another core, which OpenBLAS reads when it is loaded. An
        OpenBLAS that does not know the CPU would use its oldest core, at a quarter of the speed."""
        text = pathlib.Path("/proc/cpuinfo").read_text("utf-8").partition("flags")[2]
        flags = set(text.split("\n")[0].split())
        better = ("SkylakeX" if {"avx512dq", "avx512vl"} <= flags
                  else "Haswell" if {"avx2", "fma"} <= flags else None)
        if better and core == "Prescott" and "OPENBLAS_CORETYPE" not in os.environ:
            os.environ["OPENBLAS_CORETYPE"] = better
            os.execv(sys.executable, [sys.executable, *sys.argv])


class Mkl(Blas):
    """MKL, which packs B in each call; "mkl-packed" packs it once, as gemmcl does."""

    def __init__(self, problem):
        super().__init__(problem, *(f"libmkl_rt.so.{version}" for version in (3, 2, 1)))
        m, n, k = problem.shape
        a, b, d = map(c_void_p, (problem.a, problem.b, problem.d))
        if problem.options.variant == "mkl-packed":
            self.library.cblas_sgemm_pack_get_size.restype = c_size_t
            self.library.MKL_malloc.restype = c_void_p
            size = self.library.cblas_sgemm_pack_get_size(B_MATRIX, m, n, k)
            packed = c_void_p(self.library.MKL_malloc(c_size_t(size), 64))
            self.library.cblas_sgemm_pack(ROW_MAJOR, B_MATRIX, NO_TRANS, m, n, k, c_float(1), b, n,
                                          packed)
            self.function = self.library.cblas_sgemm_compute
            self.arguments = (ROW_MAJOR, NO_TRANS, PACKED, m, n, k, a, k, packed, n, c_float(0), d,
                              n)
        version = ctypes.create_string_buffer(198)
        self.library.MKL_Get_Version_String(version, 197)
        self.about = (f"{version.value.decode().strip()}, threads:"
                      f" {self.library.MKL_Get_Max_Threads()}")


class Memcpy:
    """memcpy of A to D by one thread. problem.py then expects D = A."""

    about = "memcpy of the C library"

    def __init__(self, problem):
        if problem.k != problem.n:
            raise Missing("A and D differ in size.")
        self.arguments = problem.d, problem.a, problem.d_bytes

    def run(self):
        """Runs it."""
        ctypes.memmove(*self.arguments)


class OneDnn:
    """oneDNN 2 or 3, which chooses the order of the packed weights itself, while A and D are
    row-major. The variants are its two primitives for this: matmul and inner-product."""

    CPU, F32, ANY, INFERENCE, WEIGHTS_QUERY, NAME_QUERY = 1, 3, 1, 96, 131, 8
    RELU = {2: 0x1f, 3: 0x20}
    SOURCE, WEIGHTS, TARGET, BIAS = 1, 33, 17, 41

    def __init__(self, problem):
        self.library = load("libdnnl.so.3", "libdnnl.so.2")
        self.library.dnnl_version.restype = ctypes.POINTER(c_int * 3)
        version = self.library.dnnl_version().contents[:]
        self.major = version[0]
        self.engine = self._make("engine_create", self.CPU, c_size_t(0))
        self.stream = self._make("stream_create", self.engine, 1)
        m, n, k = problem.shape
        matmul = problem.options.variant == "matmul"
        # The weights of an inner product are N x K, the transpose of B, and its bias has one
        # dimension; that of matmul has two.
        sizes = (k, n) if matmul else (n, k)
        a, d = self._layout((m, k), (k, 1)), self._layout((m, n), (n, 1))
        b = self._layout(sizes, (n, 1) if matmul else (1, n))
        wanted = self._layout(sizes)
        bias = self._layout(*(((1, n), (n, 1)) if matmul else ((n,), (1,))))
        description = self._describe(matmul, a, wanted, bias if problem.layer else None, d,
                                     self._attributes(problem.layer))
        self.primitive = self._make("primitive_create", description)
        packed = self._pack(b, problem.b, description)
        self.arguments = self._arguments({
            self.SOURCE: self._memory(a, problem.a), self.WEIGHTS: packed,
            self.TARGET: self._memory(d, problem.d),
            **({self.BIAS: self._memory(bias, problem.bias)} if problem.layer else {})})
        name = ctypes.c_char_p()
        self._call("primitive_desc_query", description, self.NAME_QUERY, 0, byref(name))
        self.about = (f"oneDNN {'.'.join(map(str, version))}, {name.value.decode()}, threads:"
                      f" {problem.threads}")

    def _call(self, name, *arguments):
        status = getattr(self.library, "dnnl_" + name)(*arguments)
        if status:
            raise Failure(f"dnnl_{name} failed: {status}.")

    def _make(self, name, *arguments):
        result = c_void_p()
        self._call(name, byref(result), *arguments)
        return result

    def _layout(self, sizes, steps=None):
        """A memory descriptor; without steps oneDNN chooses the order. oneDNN 2 has a structure of
        the caller for it, and oneDNN 3 a handle."""
        dims, steps = ((c_int64 * 12)(*each) if each else None for each in (sizes, steps))
        last = (self.F32, steps) if steps else (self.F32, self.ANY)
        if self.major > 2:
            return self._make("memory_desc_create_with_" + ("strides" if steps else "tag"),
                              len(sizes), dims, *last)
        result = ctypes.create_string_buffer(1024)
        self._call("memory_desc_init_by_" + ("strides" if steps else "tag"), result, len(sizes),
                   dims, *last)
        return result

    def _attributes(self, layer):
        result = self._make("primitive_attr_create")
        if layer:
            operations = self._make("post_ops_create")
            scale = () if self.major > 2 else (c_float(1),)
            self._call("post_ops_append_eltwise", operations, *scale, self.RELU[self.major],
                       c_float(0), c_float(0))
            self._call("primitive_attr_set_post_ops", result, operations)
        return result

    def _describe(self, matmul, *arguments):
        kind = "matmul" if matmul else "inner_product_forward"
        before = () if matmul else (self.INFERENCE,)
        if self.major > 2:
            return self._make(kind + "_primitive_desc_create", self.engine, *before, *arguments)
        problem = ctypes.create_string_buffer(1 << 14)
        self._call(kind + "_desc_init", problem, *before, *arguments[:-1])
        return self._make("primitive_desc_create", problem, arguments[-1], self.engine, None)

    def _memory(self, layout, address):
        return self._make("memory_create", layout, self.engine, c_void_p(address))

    def _pack(self, layout, address, description):
        """B in the order that the primitive chose."""
        self.library.dnnl_primitive_desc_query_md.restype = c_void_p
        chosen = c_void_p(self.library.dnnl_primitive_desc_query_md(
            description, self.WEIGHTS_QUERY, 0))
        result = self._memory(chosen, c_size_t(-1).value)  # DNNL_MEMORY_ALLOCATE
        reorder = self._make("primitive_create", self._make(
            "reorder_primitive_desc_create", layout, self.engine, chosen, self.engine, None))
        self._execute(reorder, self._arguments({
            self.SOURCE: self._memory(layout, address), self.TARGET: result}))
        return result

    @staticmethod
    def _arguments(memories):
        class Argument(ctypes.Structure):
            """dnnl_exec_arg_t."""
            _fields_ = [("which", c_int), ("memory", c_void_p)]
        return (Argument * len(memories))(*((which, each.value)
                                            for which, each in memories.items()))

    def _execute(self, primitive, arguments):
        self._call("primitive_execute", primitive, self.stream, len(arguments), arguments)
        self._call("stream_wait", self.stream)

    def run(self):
        """Runs it."""
        self._execute(self.primitive, self.arguments)


class Onnxruntime:
    """onnxruntime, with Gemm and Relu. A and D stay in the same memory, as with gemmcl."""

    def __init__(self, problem):
        import onnx_layer  # pylint: disable=import-outside-toplevel

        m, n, k = problem.shape
        a, d = problem.array("a", m, k), problem.array("d", m, n)
        session = onnx_layer.make_session(problem.array("b", k, n), problem.array("bias", n), m,
                                          problem.threads)
        binding = session.io_binding()
        binding.bind_input("a", "cpu", 0, a.dtype, a.shape, a.ctypes.data)
        binding.bind_output("d", "cpu", 0, d.dtype, d.shape, d.ctypes.data)
        self.about = f"onnxruntime {onnx_layer.VERSION}, threads: {problem.threads}"
        self.run = lambda: session.run_with_iobinding(binding)


class Openvino:
    """openvino, with MatMul, Add and Relu. A and D stay in the same memory, as with gemmcl."""

    def __init__(self, problem):
        # pylint: disable=import-outside-toplevel
        import openvino
        from openvino import opset8

        m, n, k = problem.shape
        a = opset8.parameter((m, k), openvino.Type.f32)
        product = opset8.matmul(a, opset8.constant(problem.array("b", k, n)), False, False)
        d = opset8.relu(opset8.add(product, opset8.constant(problem.array("bias", n))))
        # Otherwise openvino uses bf16 on some CPUs.
        compiled = openvino.Core().compile_model(openvino.Model([d], [a]), "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": problem.threads})
        self.request = compiled.create_infer_request()
        self.request.set_input_tensor(openvino.Tensor(problem.array("a", m, k), shared_memory=True))
        self.request.set_output_tensor(openvino.Tensor(problem.array("d", m, n),
                                                       shared_memory=True))
        self.about = (f"openvino {openvino.__version__.split('-')[0]}, threads: {problem.threads}")

    def run(self):
        """Runs it, without the conversions of infer()."""
        self.request.start_async()
        self.request.wait()


class Numpy:
    """A search by NumPy."""

    def __init__(self, problem):
        m, n, k = problem.shape
        self.gallery, self.queries = problem.array("b", n, k), problem.array("a", m, k)
        self.d = problem.array("d", m, 2 * TOP)
        self.about = f"NumPy {numpy.__version__}"

    def run(self):
        """Runs it."""
        norms = numpy.linalg.norm(self.queries, axis=1, keepdims=True)
        scores = self.queries / norms @ self.gallery.T
        columns = numpy.argpartition(-scores, TOP - 1, axis=1)[:, :TOP]
        values = numpy.take_along_axis(scores, columns, axis=1)
        order = numpy.argsort(-values, axis=1)
        self.d[:, :TOP] = numpy.take_along_axis(values, order, axis=1)
        self.d[:, TOP:] = numpy.take_along_axis(columns, order, axis=1)


class Faiss:
    """faiss' exact search, which keeps a copy of the vectors."""

    def __init__(self, problem):
        # The loader of faiss asks NumPy 2 for the CPU; its library chooses what the CPU has. Its
        # threads would spin where other load has the CPUs.
        os.environ |= {"FAISS_OPT_LEVEL": "generic", "OMP_WAIT_POLICY": "passive"}
        import faiss  # pylint: disable=import-outside-toplevel

        self.faiss = faiss
        m, n, k = problem.shape
        self.index = faiss.IndexFlatIP(k)
        self.index.add(problem.array("b", n, k))
        self.queries, self.d = problem.array("a", m, k), problem.array("d", m, 2 * TOP)
        self.about = f"faiss {faiss.__version__}, IndexFlatIP"

    def run(self):
        """Runs it."""
        queries = self.queries.copy()
        self.faiss.normalize_L2(queries)
        self.d[:, :TOP], self.d[:, TOP:] = self.index.search(queries, TOP)
