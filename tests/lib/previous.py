# SPDX-License-Identifier: LGPL-2.1-or-later
"""D = alpha A B + beta times the previous result, which the plan keeps."""

from gemmcl import TestCase, call, np
from pixels import make_frame
from problem import ARG_MAX, MAX, NORM_D, SUM, Operand, Problem
from tap_unittest import main

BATCH = 2
ALL = SUM | MAX | ARG_MAX
FRAMES = ["RGB", "GRAY8", "RGBx", "BGRA", "GRAY16_LE"]


class Feedback(Problem):
    """A plan's problem, what its previous result should be, and runs of it. A is 0 to 255. form is
    the pixel format of D: frames of 7 x 5, or a square."""

    def __init__(self, m, n, k, kernel=None, form=None, **fields):
        if form:
            width = 7 if m == 35 else int(m**0.5)
            fields["d_frame"] = make_frame(width, m // width, form)
            samples = 1 if form.startswith("GRAY") else len(form)
            self.frames = np.zeros((BATCH, m // width, width * samples),
                                   "u2" if form == "GRAY16_LE" else "u1")
            self.channels = [0] if samples == 1 else [form.index(c) for c in "RGBA" if c in form]
        super().__init__(m, n, k, addend="previous", a_stride=m * k, **fields)
        self.form = form
        self.draw()
        self.forget()
        self.kernel = kernel
        self.renew()

    def draw(self, step=1, start=0):
        a = self.a.elements.ravel()
        a[start::step] = np.random.default_rng(start).integers(0, 256, len(a[start::step]))
        self.a.elements[...] = a.reshape(self.a.elements.shape)

    def forget(self):
        self.state = np.zeros(self.d.elements.shape)

    def renew(self):
        self.plan = self.make_plan(self.kernel)

    def update(self, alpha, beta, m=None, batch=None):
        self.gemm.alpha, self.gemm.beta = alpha, beta
        for at in range(batch or len(self.state)):
            self.state[at, :m] = self.expect(at, self.state[at])[0][:m]

    def wrong(self, share=None, m=None, batch=None):
        """Compares D with the next result, within this share. Returns what is wrong, or None."""
        share = share or (self.gemm.k + 8) * 2.0**-22
        for at in range(batch or len(self.state)):
            if self.form:
                pixels = self.frames[at].reshape(len(self.state[at]), -1)
                self.d.elements[at] = pixels[:, self.channels]
                if self.form == "RGBx" and (pixels[:m, 3] != 255).any():
                    return "the x of a pixel is not 255"
            bound = share * (np.abs(self.state[at]) + 255)
            wrong = self.compare(at, self.state[at], bound, m) or self.compare_rows(at, m)
            if wrong:
                return wrong
        return None

    def compare(self, at, expected, bound, m=None):
        if self.form:  # an integer that is stored in a float
            high = np.iinfo(self.frames.dtype).max
            expected, bound = np.clip(expected, 0, high), bound + 0.5
        return super().compare(at, expected, bound, m)

    def run(self, alpha, beta, m=None, batch=None):
        self.update(alpha, beta, m, batch)
        others = {"d": list(self.frames)} if self.form else {}
        if not alpha:
            others["a"] = None
        self.run_plan(plan=self.plan, m=m or 0, batch=batch or 0, **others)
        return self.wrong(m=m, batch=batch)


class Previous(TestCase):
    def feed_back(self, problem):
        """200 runs. A changes during the first half; then D converges to A B."""
        for i in range(200):
            if i < 100:
                problem.draw(7, i % problem.a.elements.size)
            self.assertIsNone(problem.run(0.2, 0.8))
        problem.forget()
        problem.update(1, 0)
        self.assertIsNone(problem.wrong(1e-5))

    def test_types(self):
        for i, kind in enumerate(("i16", "f32", "u8", "f16", "f64")):
            self.feed_back(Feedback(9, 7, 3, ldd=11 if i % 2 else 0, batch=BATCH, d_type=kind))

    def test_frames(self):
        for form in FRAMES:
            n = 1 if form.startswith("GRAY") else 4 if "A" in form else 3
            self.feed_back(Feedback(35, n, 4, form=form, batch=BATCH))
        self.feed_back(Feedback(35, 3, 17, form="RGBx", batch=BATCH))

    def test_scaled(self):
        """Integers with a scale. The previous result is not rounded; row outputs are those of D."""
        for i in range(4):
            self.feed_back(Feedback(9, 7, 3, layout=i % 2, batch=BATCH, row_outputs=ALL,
                                    d_type="i8" if i // 2 else "i16",
                                    d_scale=3.5 if i // 2 else 0.125, d_shift=0 if i % 2 else -5))

    def test_fixed_point(self):
        """A GRAY8 frame that is fed back converges to its input, to the last bit."""
        problem = Feedback(256, 1, 1, form="GRAY8")
        problem.a.elements[0, :, 0] = np.arange(256)
        problem.b.elements[...] = 1
        problem.renew()
        for _ in range(200):
            self.assertIsNone(problem.run(0.2, 0.8))
        np.testing.assert_array_equal(problem.frames[0].ravel(), np.arange(256))

    def test_normalized(self):
        problem = Feedback(1, 2, 2, normalize=NORM_D, d_type="i8")
        problem.a.elements[...] = 3, 4
        problem.b.elements[0] = np.eye(2)
        problem.renew()
        self.assertIsNone(problem.run(1, 0))
        first = problem.plan
        problem.gemm.normalize = 0
        problem.renew()
        call("plan_adopt_previous", problem.plan, first)
        self.assertIsNone(problem.run(0, 100))
        np.testing.assert_array_equal(problem.d.elements[0], [[60, 80]])

    def test_scalars(self):
        """With alpha or beta 0 its matrix is not read; the next run has a previous result."""
        problem = Feedback(5, 3, 4, d_type="i16")
        for scalars in (1, 1), (1, 0), (0, 0.5), (0, 0), (0.3, 1):
            self.assertIsNone(problem.run(*scalars))

    def test_smaller(self):
        """Runs of fewer rows and problems do not change the previous result of the others."""
        for i in range(4):
            problem = Feedback(6, 5, 2, batch=BATCH, ldd=8 if i // 2 else 0, layout=i % 2,
                               d_type="i16")
            for m, batch, *scalars in ((2, 1, 1, 0), (6, 1, 0.5, 0.5), (None, None, 0.5, 0.5),
                                       (3, 2, 0.5, 0.5), (None, None, 0.5, 0.5)):
                self.assertIsNone(problem.run(*scalars, m, batch))

    def test_steps(self):
        """Steps after the product: softmax, parts of K, and row outputs of the stored D."""
        for i in range(12):
            problem = Feedback(6, 700 if i % 3 == 2 else 5, 32, None if i % 3 else "gemm_naive/2",
                               batch=BATCH if i % 3 else 1, row_outputs=ALL,
                               activation="softmax" if i % 2 else "none",
                               d_type="i16" if i // 6 else "f32")
            for _ in range(3):
                self.assertIsNone(problem.run(0.01, 0.8))

    def test_omitted(self):
        """Row outputs, D of any type, of a plan whose runs have no D."""
        for i in range(8):
            problem = Feedback(6, 700 if i % 4 == 3 else 5, 32, batch=BATCH, row_outputs=ALL,
                               activation="softmax" if i % 2 else "none",
                               d_type="i16" if i // 4 else "f32")
            problem.gemm.omit_d = 1
            plan = problem.make_plan()
            problem.gemm.omit_d = 0
            for _ in range(3):
                self.assertIsNone(problem.run(0.01, 0.8))
                rows = problem.rows.copy()
                plan.run(a=list(problem.a.elements), row_outputs=list(problem.rows), alpha=0.01,
                         beta=0.8)
                np.testing.assert_array_equal(problem.rows, rows)

    def test_given(self):
        """A run may bring its previous result, in host memory or in a buffer, strided as D is."""
        for i in range(8):
            problem = Feedback(6, 5, 3, batch=BATCH if i % 2 else 1, ldd=7 if i // 4 else 0,
                               row_outputs=ALL, d_type="i16")
            self.assertIsNone(problem.run(1, 0))
            given = Operand(np.random.default_rng(i), "i16", problem.d.elements.shape, False,
                            (problem.gemm.ldd, 0, None))
            given.elements //= 4
            problem.state = given.read()
            problem.update(0.5, 0.5)
            if i // 2 % 2:
                problem.run_device(plan=problem.plan, previous=given.flat)
            else:
                problem.run_plan(plan=problem.plan, previous=list(given.elements))
            self.assertIsNone(problem.wrong(1e-5))
            self.assertIsNone(problem.run(0.5, 0.5))

    def test_adopt(self):
        """Another plan can take over the previous result; and a plan can forget it."""
        problem = Feedback(5, 3, 4, d_type="i16")
        self.assertIsNone(problem.run(1, 1))
        call("plan_reset_previous", problem.plan)
        problem.forget()
        self.assertIsNone(problem.run(0.2, 0.8))
        other = Feedback(5, 3, 4)
        other.a.elements[...] = problem.a.elements
        other.state = problem.state
        call("plan_adopt_previous", other.plan, problem.plan)
        self.assertIsNone(other.run(0.2, 0.8))
        # The state of another size is none.
        call("plan_adopt_previous", other.plan, Feedback(4, 3, 4).plan)
        other.forget()
        self.assertIsNone(other.run(0.2, 0.8))
        # A plan whose state was given away begins with zeros.
        call("plan_adopt_previous", problem.plan, other.plan)
        other.forget()
        self.assertIsNone(other.run(0.2, 0.8))


main()
