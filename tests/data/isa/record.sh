#!/bin/bash
# Makes the figures of this folder anew, and from them the tables of docs/model.md:
#
#   tools/ocloc.sh tests/data/isa/record.sh build
#
#   article.json  article.cl for the HD 4400
#   hd4400.json   our kernels of the same names
#   dg1.json      our kernels that are the steps of the DG1's ladder
#   large.json    a kernel for each of several GPUs
set -euo pipefail

build=${1:?usage: record.sh BUILD}
gemmcl=$build/tools/gemmcl
here=$(dirname "$0")
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# article NAME METHOD DEFINES
article () {
  "$gemmcl" isa --target bdw --source "$here/article.cl" --entry "$1" --json "$scratch/$1.json" \
    --build-options "-cl-std=CL1.2 -cl-mad-enable -DNAME=$1 -D$2 $3" >/dev/null
}

# join FILE...: of their lists one
join () {
  python3 -c 'import json, sys
print(json.dumps([f for name in sys.argv[1:] for f in json.load(open(name))], indent=2))' "$@"
}

lanes='-DGROUP_N=8 -DSUBGROUP_SIZE=8'
slm='-DTILE_M=8 -DTILE_N=8 -DTILE_K=64 -DWIDTH=4 -DGROUP_N=16'
article gemm_naive NAIVE '-DTILE_M=1 -DTILE_N=1 -DGROUP_M=1 -DGROUP_N=16'
article L3_SIMD_8x4_1x8 L3_SIMD "-DTILE_M=8 -DTILE_N=4 -DGROUP_M=1 -DDEPTH=2 $lanes"
article L3_SIMD_8x4_8x8 L3_SIMD "-DTILE_M=8 -DTILE_N=4 -DGROUP_M=8 -DDEPTH=2 $lanes"
article L3_SIMD_8x4_8x8_barrier L3_SIMD \
  "-DTILE_M=8 -DTILE_N=4 -DGROUP_M=8 -DDEPTH=2 -DBARRIER $lanes"
article L3_SIMD_32x2_1x8 L3_SIMD "-DTILE_M=32 -DTILE_N=2 -DGROUP_M=1 -DDEPTH=2 $lanes"
article L3_SIMD_16x2_1x8 L3_SIMD "-DTILE_M=16 -DTILE_N=2 -DGROUP_M=1 -DDEPTH=2 $lanes"
article L3_SIMD_16x2_4x8 L3_SIMD "-DTILE_M=16 -DTILE_N=2 -DGROUP_M=4 -DDEPTH=2 $lanes"
article block_read_32x2_1x8 BLOCK "-DTILE_M=32 -DTILE_N=2 -DGROUP_M=1 -DDEPTH=1 $lanes"
article block_read_32x1_1x8 BLOCK "-DTILE_M=32 -DTILE_N=1 -DGROUP_M=1 -DDEPTH=1 $lanes"
article L3_SLM_8x8_4x16 SLM "-DGROUP_M=4 $slm"
article L3_SLM_8x8_8x16 SLM "-DGROUP_M=8 $slm"
article L3_SLM_8x8_16x16 SLM "-DGROUP_M=16 $slm"
join "$scratch"/*.json >"$here/article.json"

names=$(cd "$scratch" && ls ./*.json | sed 's,^./,,; s,.json$,,' | paste -sd,)
"$gemmcl" isa --target bdw -k "$names" --json "$here/hd4400.json"
"$gemmcl" isa --target dg1 -M 1280 -N 1280 -K 1280 --json "$here/dg1.json" \
  -k gemm_naive,outputs_4x4_16x16,outputs_permuted_4x4_16x16,slm_4x4_16x16,slm_padded_4x4_16x16
"$gemmcl" isa --target skl,dg2 -k L3_SIMD_8x4_8x8 --json "$scratch/small"
"$gemmcl" isa --target pvc,lnl,bmg,ptl -k L3_SIMD_8x4_8x16 --json "$scratch/wide"
join "$scratch/small" "$scratch/wide" >"$here/large.json"
GEMMCL_ISA_DATA=$here GEMMCL_MODEL_DOCUMENT=$here/../../../docs/model.md \
  "$build/tests/tools/test-model" --write
