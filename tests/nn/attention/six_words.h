#pragma once
// The running example of Raschka's book, chapter 3, and its numbers as printed.

#include <string>
#include <vector>

#include "autograd/variable.h"

namespace minigpt::testing {

// "Your journey starts with one step", a 3-dimensional vector for each word.
inline Tensor six_words() {
  return Tensor::from<float>({0.43f, 0.15f, 0.89f, 0.55f, 0.87f, 0.66f, 0.57f, 0.85f, 0.64f, 0.22f, 0.58f,
                              0.33f, 0.77f, 0.25f, 0.10f, 0.05f, 0.80f, 0.55f},
                             {6, 3});
}

// Row t of the last two axes (of the first matrix, if there are several), with 4 decimals.
inline std::vector<std::string> row(const Variable& x, std::int64_t t) {
  std::vector<std::string> texts;
  for (std::int64_t c = 0; c < x.dim(-1); ++c) {
    Dims index;
    for (int i = 0; i < x.rank() - 2; ++i) index.push_back(0);
    index.push_back(t);
    index.push_back(c);
    texts.push_back(fmt::format("{:.4f}", x.value().at(index)));
  }
  return texts;
}

}  // namespace minigpt::testing
