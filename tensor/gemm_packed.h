#pragma once
// A factor that several products share, copied once into the order in which the micro-kernel reads it.

#include "tensor/gemm.h"
#include "tensor/storage.h"

namespace minigpt {

// The second factor B (k, n) of several products, packed.
//
//   const PackedFactor<float> b(as_matrix<float>(weight).transposed(), Precision::full);   // by all threads
//   parallel_for(m, 48, [&](int64_t i, int64_t end) { b.multiply({x + i * k, end - i, k, k, 1}, y + i * n, n, {}); });
template <class T>
class PackedFactor {
 public:
  PackedFactor(const Matrix<T>& b, Precision precision);

  // C = A B with A (m, k), or what the options make of it, on the calling thread. The bits are those of gemm() with more
  // than three rows. The precision is the one that B was packed for. Throws Error if the inner dimensions differ.
  void multiply(const Matrix<T>& a, T* c, std::int64_t ldc, const GemmOptions<T>& options) const;

 private:
  const GemmKernels<T>& kernel_;
  std::int64_t depth_, columns_;  // k and n
  std::int64_t panel_;            // numbers in a panel
  Storage packed_;
};

}  // namespace minigpt
