#include "tensor/rotary.h"

#include <cmath>

#include "tensor/parallel.h"

namespace minigpt {
namespace {

// The heads of one position: x, y (count, D); c, s (D / 2). sign -1 turns back.
template <class T>
void rotate_position(const T* x, T* y, const T* c, const T* s, T sign, std::int64_t count,
                     std::int64_t half) {
  for (std::int64_t h = 0; h < count; ++h) {
    const T* a = x + 2 * half * h;
    T* b = y + 2 * half * h;
    for (std::int64_t i = 0; i < half; ++i) {
      b[i] = c[i] * a[i] - sign * s[i] * a[i + half];
      b[i + half] = sign * s[i] * a[i] + c[i] * a[i + half];
    }
  }
}

}  // namespace

Tensor rotary_table(std::int64_t positions, std::int64_t head_dim, double base) {
  check(head_dim >= 2 && head_dim % 2 == 0, "rotary", "heads must have an even size, got {}", head_dim);
  const std::int64_t half = head_dim / 2;
  Tensor table = Tensor::empty({2, positions, half});
  float* values = table.mutable_data<float>();
  for (std::int64_t t = 0; t < positions; ++t)
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) *
                           std::pow(base, -static_cast<double>(2 * i) / static_cast<double>(head_dim));
      values[t * half + i] = static_cast<float>(std::cos(angle));
      values[(positions + t) * half + i] = static_cast<float>(std::sin(angle));
    }
  return table;
}

Tensor rotary(const Tensor& qkv, std::int64_t heads, const Tensor& table, std::int64_t first, bool inverse) {
  constexpr const char* kOp = "rotary";
  check(qkv.rank() == 3 && heads >= 1 && qkv.dim(2) % (3 * heads) == 0, kOp,
        "needs (B, T, 3C) with C a multiple of the heads, got {} and {} heads", qkv.shape(), heads);
  const std::int64_t positions = qkv.dim(1), width = qkv.dim(2), half = width / 3 / heads / 2;
  check(table.rank() == 3 && table.dim(0) == 2 && table.dim(2) * 2 == width / 3 / heads, kOp,
        "heads of {} numbers need a table (2, positions, {}), got {}", width / 3 / heads, half,
        table.shape());
  check(first >= 0 && first + positions <= table.dim(1), kOp,
        "positions {} to {} do not fit in a table of {}", first, first + positions, table.dim(1));
  const Tensor x = qkv.contiguous();
  const Tensor angles = table.to(x.dtype()).contiguous();
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  visit_floating(kOp, x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    const T* cosines = angles.data<T>() + first * half;
    const T* sines = cosines + table.dim(1) * half;
    T* to = y.mutable_data<T>();
    const T sign = inverse ? T{-1} : T{1};
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, width));
    parallel_for(qkv.dim(0) * positions, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t at = row % positions * half;
        const T* a = from + row * width;
        rotate_position(a, to + row * width, cosines + at, sines + at, sign, 2 * heads, half);
        std::copy(a + width / 3 * 2, a + width, to + row * width + width / 3 * 2);
      }
    });
  });
  return y;
}

}  // namespace minigpt
