#pragma once
// The lower rungs of the lesson on matrix products: three ways to write three loops. All matrices are kN x kN, row-major.
//
// A fixed size keeps them short. The library's own product, for any shape, is tensor/gemm.h.

#include <algorithm>
#include <cstdint>

namespace minigpt::lessons {

inline constexpr std::int64_t kN = 512;
inline constexpr double kOperations = 2.0 * kN * kN * kN;

// C = A B, the definition: c[i][j] = sum over p of a[i][p] * b[p][j].
inline void naive(const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < kN; ++i)
    for (std::int64_t j = 0; j < kN; ++j) {
      float total = 0;
      for (std::int64_t p = 0; p < kN; ++p) total += a[i * kN + p] * b[p * kN + j];
      c[i * kN + j] = total;
    }
}

// The same products in another order: the innermost loop now walks along a row of B and a row of C.
inline void reordered(const float* a, const float* b, float* c) {
  std::fill(c, c + kN * kN, 0.0F);
  for (std::int64_t i = 0; i < kN; ++i)
    for (std::int64_t p = 0; p < kN; ++p)
      for (std::int64_t j = 0; j < kN; ++j) c[i * kN + j] += a[i * kN + p] * b[p * kN + j];
}

// A tile of 4 rows and 16 columns of C stays in registers while p runs over a block of 128, whose 128 x 16 numbers of B (8 kB)
// stay in the nearest cache for all rows.
inline void blocked(const float* a, const float* b, float* c) {
  constexpr std::int64_t kRows = 4, kColumns = 16, kDepth = 128;
  std::fill(c, c + kN * kN, 0.0F);
  for (std::int64_t p0 = 0; p0 < kN; p0 += kDepth)
    for (std::int64_t j0 = 0; j0 < kN; j0 += kColumns)
      for (std::int64_t i0 = 0; i0 < kN; i0 += kRows) {
        float tile[kRows][kColumns] = {};
        for (std::int64_t p = p0; p < p0 + kDepth; ++p)
          for (std::int64_t i = 0; i < kRows; ++i)
            for (std::int64_t j = 0; j < kColumns; ++j)
              tile[i][j] += a[(i0 + i) * kN + p] * b[p * kN + j0 + j];
        for (std::int64_t i = 0; i < kRows; ++i)
          for (std::int64_t j = 0; j < kColumns; ++j) c[(i0 + i) * kN + j0 + j] += tile[i][j];
      }
}

}  // namespace minigpt::lessons
