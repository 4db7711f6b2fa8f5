#pragma once
// How reductions walk a tensor; shared by reduce.cpp and reduce_max.cpp.

#include <algorithm>
#include <string_view>

#include "tensor/broadcast.h"
#include "tensor/tensor.h"

namespace minigpt::detail {

// A reduction brought into the form (outer, n, inner): the middle axis is reduced, the result is (outer,
// inner).
struct ReducePlan {
  Tensor x;  // row-major
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
  Shape shape;  // of the result
};

// Brings x into that form. Reduced axes that lie together in a row-major x stay where they are: the last ones
// make rows (inner = 1), others columns. Anything else, such as axes 0 and 2 of three, is copied with the
// reduced axes last. rows_only: the caller cannot reduce columns, and they are copied as well.
ReducePlan make_plan(std::string_view op, const Tensor& x, const Dims& wanted, bool keepdim, bool rows_only);

// Rows longer than this are cut into chunks of it, which are reduced side by side and combined in order. The
// cuts depend on the length alone, so the result does not depend on the number of threads.
inline constexpr std::int64_t kReduceChunk = 4096;

// out[r] = finish(chunks of row r combined in order), for rows of n elements.
//   part(p, count, r, start)   reduces `count` elements of row r, of which p is the one at position `start`
//   combine(a, b)              joins the result a with that of the chunk behind it, b
template <class T, class Part, class Reduce, class Combine, class Finish>
void reduce_rows(const T* x, std::int64_t rows, std::int64_t n, Reduce part, Combine combine, Finish finish) {
  const std::int64_t chunks = std::max<std::int64_t>(1, (n + kReduceChunk - 1) / kReduceChunk);
  if (chunks == 1) {
    const std::int64_t grain =
        std::max<std::int64_t>(1, detail::kElementGrain / std::max<std::int64_t>(n, 1));
    parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) finish(r, part(x + r * n, n, r, 0));
    });
    return;
  }
  const Storage storage(static_cast<std::size_t>(rows * chunks) * sizeof(Part));
  Part* parts = reinterpret_cast<Part*>(storage.data());
  parallel_for(
      rows * chunks, detail::kElementGrain / kReduceChunk, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t start = i % chunks * kReduceChunk;
          parts[i] = part(x + i / chunks * n + start, std::min(kReduceChunk, n - start), i / chunks, start);
        }
      });
  for (std::int64_t r = 0; r < rows; ++r) {
    Part total = parts[r * chunks];
    for (std::int64_t i = 1; i < chunks; ++i) total = combine(total, parts[r * chunks + i]);
    finish(r, total);
  }
}

}  // namespace minigpt::detail
