# SPDX-License-Identifier: LGPL-2.1-or-later
"""oneDNN 2 or 3, by two primitives. It chooses the packed weights' order; A and D are row-major."""

import ctypes
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_void_p

from library import Failure, load

CPU, F32, ANY, INFERENCE, WEIGHTS_QUERY, NAME_QUERY = 1, 3, 1, 96, 131, 8
RELU = {2: 0x1f, 3: 0x20}
SOURCE, TARGET, WEIGHTS, BIAS = 1, 17, 33, 41
ALLOCATE = c_size_t(-1)  # DNNL_MEMORY_ALLOCATE


class Argument(ctypes.Structure):
    _fields_ = [("which", c_int), ("memory", c_void_p)]


class Matmul:
    """The primitive matmul, whose bias has two dimensions."""

    primitive, before = "matmul", ()

    def __init__(self, problem, settings):
        self.library = load("libdnnl.so.3", "libdnnl.so.2")
        self.library.dnnl_version.restype = ctypes.POINTER(c_int * 3)
        version = self.library.dnnl_version().contents[:]
        self.major = version[0]
        self.engine = self._make("engine_create", CPU, c_size_t(0))
        self.stream = self._make("stream_create", self.engine, 1)
        m, n, k = problem.shape
        a, d = self._describe((m, k), (k, 1)), self._describe((m, n), (n, 1))
        b, wanted, bias = self._describe_weights(n, k)
        chosen = self._choose(a, wanted, bias if problem.is_layer else None, d)
        memories = {SOURCE: self._take(a, problem.a), WEIGHTS: self._pack(b, problem.b, chosen),
                    TARGET: self._take(d, problem.d)}
        if problem.is_layer:
            memories[BIAS] = self._take(bias, problem.bias)
        self.run = self._prepare(chosen, memories)
        name = ctypes.c_char_p()
        self._call("primitive_desc_query", chosen, NAME_QUERY, 0, byref(name))
        self.about = (f"oneDNN {'.'.join(map(str, version))}, {name.value.decode()}, threads:"
                      f" {settings.threads}")

    def _call(self, name, *arguments):
        status = getattr(self.library, "dnnl_" + name)(*arguments)
        if status:
            raise Failure(f"dnnl_{name} failed: {status}.")

    def _make(self, name, *arguments):
        result = c_void_p()
        self._call(name, byref(result), *arguments)
        return result

    def _describe(self, sizes, strides=None):
        """A memory descriptor; without strides oneDNN chooses the order. The caller owns the
        structure in oneDNN 2 and gets a handle in oneDNN 3."""
        by = "strides" if strides else "tag"
        order = (c_int64 * 12)(*strides) if strides else ANY
        layout = len(sizes), (c_int64 * 12)(*sizes), F32, order
        if self.major > 2:
            return self._make(f"memory_desc_create_with_{by}", *layout)
        result = ctypes.create_string_buffer(1024)
        self._call(f"memory_desc_init_by_{by}", result, *layout)
        return result

    def _describe_weights(self, n, k):
        """B as it is, B in the order that oneDNN chooses, and the bias."""
        return (self._describe((k, n), (n, 1)), self._describe((k, n)),
                self._describe((1, n), (n, 1)))

    def _choose(self, *layouts):
        """The description of the primitive for A, B, the bias, which may be None, and D."""
        attributes = self._make("primitive_attr_create")
        if layouts[2]:
            operations = self._make("post_ops_create")
            scale = () if self.major > 2 else (c_float(1),)
            self._call("post_ops_append_eltwise", operations, *scale, RELU[self.major], c_float(0),
                       c_float(0))
            self._call("primitive_attr_set_post_ops", attributes, operations)
        if self.major > 2:
            return self._make(f"{self.primitive}_primitive_desc_create", self.engine, *self.before,
                              *layouts, attributes)
        problem = ctypes.create_string_buffer(1 << 14)
        self._call(f"{self.primitive}_desc_init", problem, *self.before, *layouts)
        return self._make("primitive_desc_create", problem, attributes, self.engine, None)

    def _take(self, layout, array):
        return self._make("memory_create", layout, self.engine, c_void_p(array.ctypes.data))

    def _pack(self, layout, b, description):
        self.library.dnnl_primitive_desc_query_md.restype = c_void_p
        wanted = c_void_p(self.library.dnnl_primitive_desc_query_md(description, WEIGHTS_QUERY, 0))
        result = self._make("memory_create", wanted, self.engine, ALLOCATE)
        reorder = self._make("reorder_primitive_desc_create", layout, self.engine, wanted,
                             self.engine, None)
        self._prepare(reorder, {SOURCE: self._take(layout, b), TARGET: result})()
        return result

    def _prepare(self, description, memories):
        primitive = self._make("primitive_create", description)
        arguments = (Argument * len(memories))(
            *((which, memory.value) for which, memory in memories.items()))

        def run():
            self._call("primitive_execute", primitive, self.stream, len(arguments), arguments)
            self._call("stream_wait", self.stream)
        return run


class InnerProduct(Matmul):
    """The primitive inner_product: the weights are B's transpose, the bias has one dimension."""

    primitive, before = "inner_product_forward", (INFERENCE,)

    def _describe_weights(self, n, k):
        return self._describe((n, k), (1, n)), self._describe((n, k)), self._describe((n,), (1,))
