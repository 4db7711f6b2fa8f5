// Compiled once per instruction set: fills the table that tensor/dispatch.cpp chooses from.
#include "tensor/kernels/kernel_set.h"

#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

void bind(GemmKernels<float>&), bind(GemmKernels<double>&);
void bind_bf16(GemmKernels<float>&), bind_bf16(PeakKernels<float>&);
void bind(UnaryKernels<float>&), bind(UnaryKernels<double>&);
void bind(BinaryKernels<float>&), bind(BinaryKernels<double>&);
void bind(ReduceKernels<float>&), bind(ReduceKernels<double>&);
void bind(AttentionKernels<float>&), bind(AttentionKernels<double>&);
void bind(LossKernels<float>&), bind(LossKernels<double>&);
void bind(NormsKernels<float>&), bind(NormsKernels<double>&);
void bind(OptimizerKernels<float>&), bind(OptimizerKernels<double>&);
void bind(PeakKernels<float>&), bind(PeakKernels<double>&);
void bind(RowsKernels<float>&), bind(RowsKernels<double>&);
void bind(GemvKernels<float>&), bind(GemvKernels<double>&);
void bind(DecodeAttentionKernels<float>&), bind(DecodeAttentionKernels<double>&);

template <class T>
static void bind_all(Kernels<T>& k) {
  bind(k.gemm);
  bind(k.unary);
  bind(k.binary);
  bind(k.reduce);
  bind(k.attention);
  bind(k.loss);
  bind(k.norms);
  bind(k.optimizer);
  bind(k.peak);
  bind(k.rows);
  bind(k.gemv);
  bind(k.decode_attention);
}

void fill(KernelSet& set) {
  set.name = MINIGPT_ISA_NAME;
  bind_all(set.f32);
  bind_all(set.f64);
  bind_bf16(set.gemm_bf16);
  bind_bf16(set.peak_bf16);
}

}  // namespace minigpt::MINIGPT_ISA
