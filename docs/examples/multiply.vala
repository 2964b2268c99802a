/* gemmcl: a layer of 3 inputs and 2 outputs on two rows of data: D = max (A B + bias, 0).
 * SPDX-License-Identifier: LGPL-2.1-or-later */
int main () {
  float a[6] = {1, 2, 3, 4, 5, 6};
  float d[4];
  var gemm = new Gemmcl.Gemm ();

  gemm.m = 2;
  gemm.n = 2;
  gemm.k = 3;
  gemm.bias = true;
  gemm.activation = Gemmcl.Activation.RELU;
  try {
    var context = new Gemmcl.Context (null);
    var plan = new Gemmcl.Plan (context, gemm, null);

    plan.set (Gemmcl.PlanOperand.B, Gemmcl.Matrix.load ("[[1,0],[0,1],[1,-1]]"));
    plan.set (Gemmcl.PlanOperand.BIAS, Gemmcl.Matrix.load ("[0.5,0]"));
    for (int i = 0; i < 2; i++) {
      plan.run_host (1, 0, a, d, null);
      print ("%g %g\n%g %g\n", d[0], d[1], d[2], d[3]);
      a[0] += 10;
    }
  } catch (Error error) {
    printerr ("%s\n", error.message);
    return 1;
  }
  return 0;
}
