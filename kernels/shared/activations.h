/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The activations, for the host's compiler and OpenCL's: a macro for each, and the list
 * ACTIVATIONS in the order of GemmclActivation.
 *
 *   ACTIVATION_X (PICK, T, x)  expands to PICK (name, text, kind, value, slope, growth):
 *
 *   name    the name that users type
 *   text    the formula as users read it
 *   kind    ACTIVATION_SHORT: a few instructions; ACTIVATION_CALL: library functions;
 *           ACTIVATION_ROW: depends on a whole row; computed by softmax.cl and whole_rows.clh
 *   value   the value for x, a T: on devices float or a vector of floats, in the reference double;
 *           the limit if x is infinite (x / (1 + |x|) would be NaN there); NaN if x is NaN
 *   slope   the largest absolute value of the derivative, which must have a bound
 *   growth  the factor by which its exponential amplifies a relative error of x: exp (z)
 *           amplifies a relative error of z by |z|
 *
 * Softmax stays last, since GEMMCL_N_ACTIVATIONS counts up to it: a new one stands before it.
 * The compiler's option is -DACTIVATION=ACTIVATION_RELU.
 */
#pragma once

#define ACTIVATION_SHORT 0
#define ACTIVATION_CALL  1
#define ACTIVATION_ROW   2

/* REAL (c): a constant. IF_LESS: then if x < limit, else x. Comparisons with NaN are false, so that
 * NaN passes through; max () would hide it. */
#ifdef __OPENCL_C_VERSION__
  #define REAL(c)                       c##f
  #define IF_LESS(T, x, limit, then)    select (x, then, isless (x, (T)(limit)))
  #define IF_GREATER(T, x, limit, then) select (x, then, isgreater (x, (T)(limit)))
#else
  #define REAL(c)                       c
  #define IF_LESS(T, x, limit, then)    ((x) < (limit) ? (then) : (x))
  #define IF_GREATER(T, x, limit, then) ((x) > (limit) ? (then) : (x))
#endif
#define ABOVE(T, x, low)  IF_LESS (T, x, low, (T)(low))
#define BELOW(T, x, high) IF_GREATER (T, x, high, (T)(high))

#define ACTIVATION_NONE(PICK, T, x) PICK ("none", "x", ACTIVATION_SHORT, (x), 1, 0)

#define ACTIVATION_RELU(PICK, T, x)                                                                \
  PICK ("relu", "max (x, 0)", ACTIVATION_SHORT, ABOVE (T, x, REAL (0.0)), 1, 0)

#define ACTIVATION_LEAKY_RELU(PICK, T, x)                                                          \
  PICK ("leaky-relu", "x if x >= 0, else 0.01 x", ACTIVATION_SHORT,                                \
        IF_LESS (T, x, REAL (0.0), (x)*REAL (0.01)), 1, 0)

/* x is clamped from below where another factor reaches 0: -infinity times 0 would be NaN. At the
 * bound that factor is less than the smallest float, so the clamp changes no other result. */
#define ACTIVATION_GELU(PICK, T, x)                                                                \
  PICK ("gelu", "x (1 + erf (x / sqrt 2)) / 2", ACTIVATION_CALL,                                   \
        (ABOVE (T, x, -REAL (15.0)) * REAL (0.5) * erfc ((x) * -REAL (0.7071067811865476))), 1.13, \
        x *x)

#define ACTIVATION_GELU_TANH(PICK, T, x)                                                           \
  PICK ("gelu-tanh", "x (1 + tanh (sqrt (2 / pi) (x + 0.044715 x^3))) / 2", ACTIVATION_CALL,       \
        (ABOVE (T, x, -REAL (15.0)) /                                                              \
         (REAL (1.0) +                                                                             \
          exp (-REAL (1.5957691216057308) * (x) * ((x) * (x)*REAL (0.044715) + REAL (1.0))))),     \
        1.13, 1.6 * fabs (x) * (1 + 0.044715 * x * x))

#define ACTIVATION_SIGMOID(PICK, T, x)                                                             \
  PICK ("sigmoid", "1 / (1 + exp (-x))", ACTIVATION_CALL,                                          \
        (REAL (1.0) / (REAL (1.0) + exp (-(x)))), 0.25, fabs (x))

#define ACTIVATION_SILU(PICK, T, x)                                                                \
  PICK ("silu", "x / (1 + exp (-x))", ACTIVATION_CALL,                                             \
        (ABOVE (T, x, -REAL (100.0)) / (REAL (1.0) + exp (-(x)))), 1.1, fabs (x))

#define ACTIVATION_TANH(PICK, T, x) PICK ("tanh", "tanh x", ACTIVATION_CALL, tanh (x), 1, 0)

#define ACTIVATION_HARD_SWISH(PICK, T, x)                                                          \
  PICK ("hard-swish", "x min (max (x + 3, 0), 6) / 6", ACTIVATION_SHORT,                           \
        (ABOVE (T, x, -REAL (3.0)) *                                                               \
         (BELOW (T, ABOVE (T, x, -REAL (3.0)) + REAL (3.0), REAL (6.0)) *                          \
          (REAL (1.0) / REAL (6.0)))),                                                             \
        1.5, 0)

#define ACTIVATION_RELU6(PICK, T, x)                                                               \
  PICK ("relu6", "min (max (x, 0), 6)", ACTIVATION_SHORT,                                          \
        BELOW (T, ABOVE (T, x, REAL (0.0)), REAL (6.0)), 1, 0)

#define ACTIVATION_ELU(PICK, T, x)                                                                 \
  PICK ("elu", "x if x >= 0, else exp (x) - 1", ACTIVATION_CALL,                                   \
        IF_LESS (T, x, REAL (0.0), expm1 (x)), 1, 0)

#define ACTIVATION_SOFTMAX(PICK, T, x)                                                             \
  PICK ("softmax", "exp (x) / sum of exp (x), over the N of each row", ACTIVATION_ROW, (x), 1, 0)

#define ACTIVATIONS(ROW)                                                                           \
  ROW (NONE)                                                                                       \
  ROW (RELU)                                                                                       \
  ROW (LEAKY_RELU)                                                                                 \
  ROW (GELU)                                                                                       \
  ROW (GELU_TANH)                                                                                  \
  ROW (SIGMOID)                                                                                    \
  ROW (SILU)                                                                                       \
  ROW (TANH)                                                                                       \
  ROW (HARD_SWISH)                                                                                 \
  ROW (RELU6)                                                                                      \
  ROW (ELU)                                                                                        \
  ROW (SOFTMAX)

#define ACTIVATION_KIND(name, text, kind, value, slope, growth)  kind
#define ACTIVATION_VALUE(name, text, kind, value, slope, growth) value
