#include "tensor/dropout.h"

#include <doctest/doctest.h>

#include <vector>

#include "tensor/dropout_mask.h"
#include "tensor/parallel.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

Tensor mask_of(std::int64_t n, double p) {
  Tensor bits = Tensor::empty({mask_words(n)}, DType::i32);
  philox_keep_bits(reinterpret_cast<std::uint32_t*>(bits.mutable_data<std::int32_t>()), n, p, {.seed = 3});
  return bits;
}

TEST_CASE("apply_dropout: the factor is 1 / (1 - p) in the tensor's own type") {
  for (std::int64_t n : {1, 4, 5, 31, 32, 33, 100}) {
    CAPTURE(n);
    const Tensor bits = mask_of(n, 0.3), x = full({n}, 3);
    const auto words = bits.to_vector<std::int32_t>();
    const auto y = apply_dropout(x, bits, 0.3).to_vector<float>();
    const float factor = 1 / static_cast<float>(1 - 0.3);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool kept = mask_bit(reinterpret_cast<const std::uint32_t*>(words.data()), i);
      CHECK(y[static_cast<std::size_t>(i)] == (kept ? 3 * factor : 0.0F));
    }
  }
}

TEST_CASE("apply_dropout: threads change nothing") {
  const Tensor bits = mask_of(1000, 0.5), x = arange(1000, DType::f32);
  const auto alone = apply_dropout(x, bits, 0.5).to_vector<float>();
  const ScopedNumThreads threads(3);
  const ScopedForceGrainOne split;
  CHECK(apply_dropout(x, bits, 0.5).to_vector<float>() == alone);
}

TEST_CASE("apply_dropout: an empty tensor has an empty mask") {
  CHECK(apply_dropout(zeros({0, 3}), mask_of(0, 0.5), 0.5).shape() == Shape{0, 3});
}

TEST_CASE("apply_dropout: the mask must have the right type and size, p must be a probability") {
  const Tensor x = zeros({33});
  CHECK_THROWS_WITH_AS(apply_dropout(x, mask_of(32, 0.5), 0.5),
                       "[dropout] the dropout mask of 33 elements has 2 int32 words, got (1)", Error);
  CHECK_THROWS_AS(apply_dropout(x, zeros({2}), 0.5), Error);
  CHECK_THROWS_AS(apply_dropout(x, mask_of(33, 0.5), 1.5), Error);
  CHECK_THROWS_AS(apply_dropout(zeros({33}, DType::i32), mask_of(33, 0.5), 0.5), Error);
}

}  // namespace
}  // namespace minigpt
