#pragma once
// The parts of matrix multiplication that depend on the instruction set. tensor/gemm.cpp puts them together.
//
// Sources: K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM TOMS 34(3),
// 2008 (packing, the choice of what stays in which cache); F. Van Zee and R. van de Geijn, BLIS, ACM TOMS
// 41(3), 2015 (the micro-kernel as the only part that is written for a machine).

#include <stdint.h>

namespace minigpt {

// What may follow a matrix product while its tile is still in the cache (simd/activation.h has the formulas).
enum class Activation : uint8_t { none, relu, relu_squared, silu, gelu_erf, gelu_tanh };

// C (m x n) = A (m x k) * B (k x n), or C += A * B. C is row-major with leading dimension ldc.
//
// A and B are cut into tiles of row_tile rows and panels of column_tile columns. Tile i begins at a + i *
// a_tile, and its element (r, p) lies at r * a_row + p * a_depth from there, so that A may be packed (a_row =
// 1, a_depth = row_tile) or lie anywhere in memory. Panel j of B begins at b + j * b_panel; its row p lies at
// p * b_depth from there and is contiguous. Every element of C is one sum over k in rising order, the same
// for any position in any tile.
//
// On the way out z = A B becomes, in this order: bias + z if there is a bias (n numbers; not with accumulate);
// then, if there is an activation f, C = f(z), and kept = z where `kept` is given (laid out like C).
template <class T>
struct GemmBlock {
  int64_t m, n, k;
  const T* a;
  int64_t a_tile, a_row, a_depth;
  const T* b;
  int64_t b_panel, b_depth;
  T* c;
  int64_t ldc;
  bool accumulate;
  const T* bias;
  Activation activation;
  T* kept;
};

template <class T>
struct GemmKernels {
  int64_t row_tile, column_tile;   // the part of C that one micro-kernel call keeps in registers
  int64_t row_block, depth_block;  // the part of A that stays in the L2 cache
  // How many values of k one packed number holds: 1, or 2 where a float carries a pair of bf16. The counts k
  // of a block, and depth_block, are in packed numbers.
  int64_t depth_unit;
  bool packed_only;  // the kernel reads another format than T, so that A and B must pass through `pack`

  // Computes one block.
  void (*block)(const GemmBlock<T>& block);

  // Copies x (count x depth), element (i, p) at i * stride + p * depth_stride, into panels of `width` along
  // i: in each panel, `width` values of column 0, then of column 1, and so on. Missing values of the last
  // panel become 0. `out` holds ceil(count / width) * width * ceil(depth / depth_unit) numbers.
  void (*pack)(int64_t width, int64_t count, int64_t depth, const T* x, int64_t stride, int64_t depth_stride,
               T* out);

  // y (n) = or += x (k) * B (k x n), without packing: B is read once, as a stream. Element (p, j) of B lies
  // at p * b_depth + j * b_column, and one of the two strides is 1. x is contiguous. Null if packed_only.
  void (*row)(int64_t n, int64_t k, const T* x, const T* b, int64_t b_depth, int64_t b_column, T* y,
              bool accumulate);

  // The activation of a GemmBlock alone: kept = C unless null, then C (m x n) = f(C).
  void (*activate)(Activation activation, int64_t m, int64_t n, T* c, T* kept, int64_t ldc);

  // y (n) = f(z) unless y is null, and dz = dy * f'(z). dz may be dy. `activation` is not none.
  void (*activate_backward)(Activation activation, int64_t n, const T* z, const T* dy, T* y, T* dz);
};

}  // namespace minigpt
