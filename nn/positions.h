#pragma once
// Positions: what tells attention, which sees a set of words, in which order they stand.

#include <cmath>

#include "autograd/ops/add.h"
#include "autograd/ops/slice.h"
#include "nn/embedding.h"

namespace minigpt {

// table[t, 2i] = sin(t / 10000^(2i / C)),   table[t, 2i + 1] = cos(t / 10000^(2i / C)).   float32 (T, C)
// Waves from length 2 pi to 10000 * 2 pi: fast columns tell neighbours apart, slow ones the beginning from the end, and
// a shift by k positions is a rotation of each pair of columns, the same one wherever it starts.
// Vaswani et al. 2017, section 3.5.
inline Tensor sinusoidal_positions(std::int64_t T, std::int64_t C) {
  Tensor table = Tensor::empty({T, C});
  float* out = table.mutable_data<float>();
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t c = 0; c < C; ++c) {
      const double pair = static_cast<double>(c / 2 * 2) / static_cast<double>(C);
      const double angle = static_cast<double>(t) / std::pow(10000.0, pair);
      out[t * C + c] = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

// y = x + table[first .. first + T - 1].   x, y: (B, T, C)
// Nothing to learn. Throws Error if the positions run past the end of the table.
struct SinusoidalPositions : Module {
  Tensor table;  // (longest text, C)

  SinusoidalPositions() = default;
  SinusoidalPositions(std::int64_t longest, std::int64_t width)
      : table(sinusoidal_positions(longest, width)) {}

  template <class V>
  void visit(V&&) {}

  // first: the number of x's first position in its text.
  Variable forward(const Variable& x, std::int64_t first = 0) const {
    const Scope scope(path);
    const std::int64_t T = x.dim(-2);
    check(first >= 0 && first + T <= table.dim(0), "positions",
          "{} positions from {} on do not fit a table of {}", T, first, table.dim(0));
    return x + Variable(slice(table, 0, first, first + T).to(x.dtype()));
  }
};

// y = x + weight[first .. first + T - 1].   x, y: (B, T, C)
// A learned vector for each position, which starts as an Embedding does, N(0, 1) (Gehring et al. 2017, section 3.1;
// Radford et al. 2018, section 3.1). Throws Error past the last position.
struct LearnedPositions : Module {
  Variable weight;  // (longest text, C)

  LearnedPositions() = default;
  LearnedPositions(std::int64_t longest, std::int64_t width, Generator& rng)
      : weight(Embedding(longest, width, rng).weight) {}

  template <class V>
  void visit(V&& v) {
    v("weight", weight);
  }

  Variable forward(const Variable& x, std::int64_t first = 0) const {
    const Scope scope(path);
    const std::int64_t T = x.dim(-2);
    check(first >= 0 && first + T <= weight.dim(0), "positions",
          "{} positions from {} on do not fit a table of {}", T, first, weight.dim(0));
    return x + slice(weight, 0, first, first + T);
  }
};

}  // namespace minigpt
