#pragma once
// One table of kernels per instruction set.
//
// A kernel family is a header `tensor/kernels/NAME.h` that declares `struct NameKernels<T>` (function
// pointers, T is float or double) and a source `tensor/kernels/NAME.cpp` that is compiled once per
// instruction set and defines `bind(NameKernels<float>&)` and `bind(NameKernels<double>&)` in the namespace
// of that set. To add a family, add its member here, and its declaration and its call to kernel_set.cpp: one
// line each.
//
// Kernel files include only simd/, kernels/ and C headers. A C++ header instantiated under AVX-512 flags
// could leave a function that the linker keeps for every caller, and an older CPU would meet an illegal
// instruction.

#include "tensor/kernels/attention.h"
#include "tensor/kernels/binary.h"
#include "tensor/kernels/decode_attention.h"
#include "tensor/kernels/gemm.h"
#include "tensor/kernels/gemv.h"
#include "tensor/kernels/loss.h"
#include "tensor/kernels/norms.h"
#include "tensor/kernels/optimizer.h"
#include "tensor/kernels/peak.h"
#include "tensor/kernels/reduce.h"
#include "tensor/kernels/rows.h"
#include "tensor/kernels/unary.h"
#include "tensor/simd/no_fast_math.h"

namespace minigpt {

template <class T>
struct Kernels {
  GemmKernels<T> gemm;
  UnaryKernels<T> unary;
  BinaryKernels<T> binary;
  ReduceKernels<T> reduce;
  AttentionKernels<T> attention;
  LossKernels<T> loss;
  NormsKernels<T> norms;
  OptimizerKernels<T> optimizer;
  PeakKernels<T> peak;
  RowsKernels<T> rows;
  GemvKernels<T> gemv;
  DecodeAttentionKernels<T> decode_attention;
};

struct KernelSet {
  const char* name;  // "scalar", "avx2", "avx512", "avx512_bf16", "neon"
  Kernels<float> f32;
  Kernels<double> f64;
  GemmKernels<float> gemm_bf16;  // products of factors rounded to bf16
  PeakKernels<float> peak_bf16;
};

}  // namespace minigpt
