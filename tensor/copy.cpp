#include "tensor/copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tensor/parallel.h"

namespace minigpt {
namespace {

// The common shape with neighbouring axes merged where both layouts allow it: a copy of (B, T, C) into (B, T,
// C) is one loop, and a transposed head layout needs as few nested loops as possible.
struct Layout {
  Shape shape;
  Strides in;
  Strides out;
};

Layout merge(const Tensor& source, const Tensor& out) {
  Layout merged;
  for (int i = 0; i < source.rank(); ++i) {
    const std::int64_t n = source.shape()[i];
    if (n == 1) continue;
    const std::int64_t s = source.strides()[i];
    const std::int64_t o = out.strides()[i];
    const int last = merged.shape.size() - 1;
    if (last >= 0 && merged.in[last] == s * n && merged.out[last] == o * n) {
      merged.shape[last] *= n;
      merged.in[last] = s;
      merged.out[last] = o;
    } else {
      merged.shape.push_back(n);
      merged.in.push_back(s);
      merged.out.push_back(o);
    }
  }
  if (merged.shape.empty()) merged = {{1}, {1}, {1}};
  return merged;
}

template <class From, class To>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>)
    return value != From{0};
  else if constexpr (std::is_same_v<To, BFloat16>)
    return BFloat16(static_cast<float>(value));
  else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>)
    return converted<To>("to", static_cast<double>(value));
  else
    return static_cast<To>(value);
}

template <class From, class To>
void copy_row(const From* in, std::int64_t in_step, To* out, std::int64_t out_step, std::int64_t n) {
  if (in_step == 1 && out_step == 1) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(To));
    } else {
      for (std::int64_t i = 0; i < n; ++i) out[i] = convert<From, To>(in[i]);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i * out_step] = convert<From, To>(in[i * in_step]);
  }
}

template <class From, class To>
void copy_typed(const From* in, To* out, const Layout& layout) {
  const int inner = layout.shape.size() - 1;
  const std::int64_t n = layout.shape[inner];
  std::int64_t rows = 1;
  for (int i = 0; i < inner; ++i) rows *= layout.shape[i];
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(n, 1));
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row;
      std::int64_t from = 0;
      std::int64_t to = 0;
      for (int i = inner - 1; i >= 0; --i) {
        const std::int64_t index = rest % layout.shape[i];
        rest /= layout.shape[i];
        from += index * layout.in[i];
        to += index * layout.out[i];
      }
      copy_row(in + from, layout.in[inner], out + to, layout.out[inner], n);
    }
  });
}

}  // namespace

void copy_elements(const Tensor& source, Tensor& out) {
  check(source.defined() && out.defined(), "copy", "the tensor is undefined");
  check(source.shape() == out.shape(), "copy", "shapes differ: {} and {}", source.shape(), out.shape());
  if (source.numel() == 0) return;
  const Layout layout = merge(source, out);
  visit_stored_dtype(source.dtype(), [&](auto from) {
    visit_stored_dtype(out.dtype(), [&](auto to) {
      using To = decltype(to);
      To* target = reinterpret_cast<To*>(out.storage().data()) + out.offset();
      copy_typed(source.data<decltype(from)>(), target, layout);
    });
  });
}

void check_no_repetition(std::string_view op, const Tensor& y) {
  if (y.numel() == 0) return;
  for (int i = 0; i < y.rank(); ++i)
    check(y.strides()[i] != 0 || y.shape()[i] <= 1, op,
          "the tensor written to repeats its elements along axis {} of {}; clone() it first", i, y.shape());
}

}  // namespace minigpt
