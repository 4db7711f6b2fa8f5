#include "tensor/dropout.h"

#include <algorithm>
#include <array>

#include "tensor/dropout_mask.h"
#include "tensor/parallel.h"

namespace minigpt {
namespace {

// Words per range of a parallel loop: 16 thousand elements, some 10 microseconds.
constexpr std::int64_t kGrain = 512;

// The factors that four mask bits stand for, by their value: a product of four elements at a time with a row
// of this table is faster than testing bits one by one.
template <class T>
std::array<std::array<T, 4>, 16> factor_table(T scale) {
  std::array<std::array<T, 4>, 16> table{};
  for (unsigned bits = 0; bits < 16; ++bits)
    for (unsigned i = 0; i < 4; ++i) table[bits][i] = (bits >> i & 1u) ? scale : T(0);
  return table;
}

}  // namespace

void check_dropout_mask(std::string_view op, const Tensor& keep_bits, double p, std::int64_t n) {
  check(p >= 0 && p <= 1, op, "p must be in [0, 1], got {}", p);
  if (!keep_bits.defined() && (p == 0 || p == 1)) return;
  check(keep_bits.defined() && keep_bits.dtype() == DType::i32 && keep_bits.numel() == mask_words(n), op,
        "the dropout mask of {} elements has {} int32 words, got {}", n, mask_words(n),
        keep_bits.defined() ? keep_bits.shape().str() : "an undefined tensor");
}

Tensor apply_dropout(const Tensor& x, const Tensor& keep_bits, double p) {
  check_dropout_mask("dropout", keep_bits, p, x.numel());
  if (p == 1) return zeros(x.shape(), x.dtype());
  if (p == 0) return x;
  return visit_floating("dropout", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor from = x.contiguous(), words = keep_bits.contiguous();
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    const auto table = factor_table(T(1) / static_cast<T>(1 - p));
    const T* in = from.data<T>();
    const std::int32_t* mask = words.data<std::int32_t>();
    T* out = y.mutable_data<T>();
    parallel_for(words.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t w = begin; w < end; ++w) {
        const auto bits = static_cast<std::uint32_t>(mask[w]);
        const std::int64_t first = w * 32, last = std::min(first + 32, x.numel());
        std::int64_t i = first;
        for (; i + 4 <= last; i += 4) {
          const auto& factors = table[bits >> (i - first) & 15u];
          for (std::int64_t k = 0; k < 4; ++k) out[i + k] = in[i + k] * factors[static_cast<std::size_t>(k)];
        }
        for (; i < last; ++i) out[i] = in[i] * table[bits >> (i - first) & 1u][0];
      }
    });
    return y;
  });
}

}  // namespace minigpt
