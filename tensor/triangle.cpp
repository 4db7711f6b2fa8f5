#include "tensor/triangle.h"

#include <algorithm>

#include "tensor/parallel.h"

namespace minigpt {
namespace {

// Copies of the rows of x in which only columns [first(i), last(i)) are kept; i is the row in its matrix.
template <class First, class Last>
Tensor keep_columns(std::string_view op, const Tensor& x, First first, Last last) {
  check(x.defined() && x.rank() >= 2, op, "needs at least two dimensions, got {}", x.shape());
  const std::int64_t rows = x.dim(-2), columns = x.dim(-1);
  const Tensor in = x.contiguous();
  Tensor out = Tensor::empty(x.shape(), x.dtype());
  if (x.numel() == 0) return out;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / columns);
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = in.data<T>();
    T* to = out.mutable_data<T>();
    parallel_for(x.numel() / columns, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* a = from + row * columns;
        T* b = to + row * columns;
        const std::int64_t start = first(row % rows), stop = last(row % rows);
        for (std::int64_t j = 0; j < columns; ++j) b[j] = j >= start && j < stop ? a[j] : T{};
      }
    });
  });
  return out;
}

// Beyond the matrix every diagonal means the same, and i + diagonal must not overflow.
std::int64_t clamp_diagonal(const Tensor& x, std::int64_t diagonal) {
  if (!x.defined() || x.rank() < 2) return diagonal;  // refused in keep_columns
  return std::clamp(diagonal, -x.dim(-2) - 1, x.dim(-1) + 1);
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  diagonal = clamp_diagonal(x, diagonal);
  return keep_columns(
      "tril", x, [](std::int64_t) { return 0; }, [=](std::int64_t i) { return i + diagonal + 1; });
}

Tensor triu(const Tensor& x, std::int64_t diagonal) {
  diagonal = clamp_diagonal(x, diagonal);
  const std::int64_t columns = x.rank() >= 2 ? x.dim(-1) : 0;
  return keep_columns(
      "triu", x, [=](std::int64_t i) { return i + diagonal; }, [=](std::int64_t) { return columns; });
}

Tensor tril_mask(std::int64_t T, std::int64_t S, std::int64_t diagonal) {
  return tril(ones({T, S}, DType::boolean), diagonal);
}

}  // namespace minigpt
