// Compiled once per instruction set; see peak.h.
#include "tensor/kernels/peak.h"

#include "tensor/kernels/gemm_tile.h"
#include "tensor/kernels/peak_loop.h"

namespace minigpt::MINIGPT_ISA {

void bind(PeakKernels<float>& k) { bind_peak<FusedMultiplyAdd>(k, 1); }
void bind(PeakKernels<double>& k) { bind_peak<FusedMultiplyAdd>(k, 1); }

}  // namespace minigpt::MINIGPT_ISA
