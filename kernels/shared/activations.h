/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The activations, for the host's compiler and OpenCL's: a macro for each, and the list
 * ACTIVATIONS in the order of GemmclActivation, whose documentation has the formulas.
 *
 *   ACTIVATION_X (PICK, T, x)  expands to PICK (name, kind, kernel, reference, slope, growth):
 *
 *   name       the name that users type
 *   kind       ACTIVATION_SHORT: a few instructions; ACTIVATION_CALL: library functions;
 *              ACTIVATION_ROW: depends on a whole row; computed by softmax.cl and whole_rows.clh
 *   kernel     the value for x, a T: float or any vector of floats
 *   reference  the value for x, a double; held is x clamped to at least -1e6 (see ACTIVATION_GELU)
 *   slope      the largest absolute value of the derivative
 *   growth     the factor by which its exponential amplifies a relative error of x: exp (z)
 *              amplifies a relative error of z by |z|
 *
 * The compiler's option is -DACTIVATION=ACTIVATION_RELU.
 */
#pragma once

#define ACTIVATION_SHORT 0
#define ACTIVATION_CALL  1
#define ACTIVATION_ROW   2

/* Comparisons with NaN are false, so that NaN passes through; max () would hide it. */
#define ABOVE(T, x, low)  select (x, (T)(low), isless (x, (T)(low)))
#define BELOW(T, x, high) select (x, (T)(high), isgreater (x, (T)(high)))

#define ACTIVATION_NONE(PICK, T, x) PICK ("none", ACTIVATION_SHORT, (x), x, 1, 0)

#define ACTIVATION_RELU(PICK, T, x)                                                                \
  PICK ("relu", ACTIVATION_SHORT, ABOVE (T, x, 0.0f), x < 0 ? 0 : x, 1, 0)

#define ACTIVATION_LEAKY_RELU(PICK, T, x)                                                          \
  PICK ("leaky-relu", ACTIVATION_SHORT, select (x, (x)*0.01f, isless (x, (T)(0.0f))),              \
        x < 0 ? 0.01 * x : x, 1, 0)

/* x is clamped from below where another factor reaches 0: -infinity times 0 would be NaN. At the
 * bound that factor is 0 already, so the clamp changes no other result. */
#define ACTIVATION_GELU(PICK, T, x)                                                                \
  PICK ("gelu", ACTIVATION_CALL, (ABOVE (T, x, -15.0f) * 0.5f * erfc ((x) * -0.70710678f)),        \
        held * 0.5 * erfc (-x * M_SQRT1_2), 1.13, x * x)

#define ACTIVATION_GELU_TANH(PICK, T, x)                                                           \
  PICK ("gelu-tanh", ACTIVATION_CALL,                                                              \
        (ABOVE (T, x, -15.0f) /                                                                    \
         (1.0f + exp (-1.59576912f * (x)*MAD ((x) * (x), (T)(0.044715f), (T)(1.0f))))),            \
        held / (1 + exp (-2 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x))), 1.13,         \
        1.6 * fabs (x) * (1 + 0.044715 * x * x))

#define ACTIVATION_SIGMOID(PICK, T, x)                                                             \
  PICK ("sigmoid", ACTIVATION_CALL, (1.0f / (1.0f + exp (-(x)))), 1 / (1 + exp (-x)), 0.25,        \
        fabs (x))

#define ACTIVATION_SILU(PICK, T, x)                                                                \
  PICK ("silu", ACTIVATION_CALL, (ABOVE (T, x, -100.0f) / (1.0f + exp (-(x)))),                    \
        held / (1 + exp (-x)), 1.1, fabs (x))

#define ACTIVATION_TANH(PICK, T, x) PICK ("tanh", ACTIVATION_CALL, tanh (x), tanh (x), 1, 0)

#define ACTIVATION_HARD_SWISH(PICK, T, x)                                                          \
  PICK ("hard-swish", ACTIVATION_SHORT,                                                            \
        (ABOVE (T, x, -3.0f) * (BELOW (T, ABOVE (T, x, -3.0f) + 3.0f, 6.0f) * (1.0f / 6.0f))),     \
        held *(x + 3 < 0   ? 0                                                                     \
               : x + 3 > 6 ? 6                                                                     \
                           : x + 3) /                                                              \
            6,                                                                                     \
        1.5, 0)

#define ACTIVATION_SOFTMAX(PICK, T, x) PICK ("softmax", ACTIVATION_ROW, (x), x, 1, 0)

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
  ROW (SOFTMAX)

#define ACTIVATION_NAME(name, kind, kernel, reference, slope, growth)   name
#define ACTIVATION_KIND(name, kind, kernel, reference, slope, growth)   kind
#define ACTIVATION_KERNEL(name, kind, kernel, reference, slope, growth) kernel
