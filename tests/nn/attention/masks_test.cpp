#include "nn/attention/masks.h"

#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

std::vector<bool> values(const Tensor& mask) { return mask.to_vector<bool>(); }

TEST_CASE("masks: the causal one is the lower triangle, here 5 x 5 (S7)") {
  const Tensor mask = causal_mask(5);
  CHECK(mask.shape() == Shape{5, 5});
  CHECK(values(mask) == std::vector<bool>{1, 0, 0, 0, 0,  //
                                          1, 1, 0, 0, 0,  //
                                          1, 1, 1, 0, 0,  //
                                          1, 1, 1, 1, 0,  //
                                          1, 1, 1, 1, 1});
}

TEST_CASE("masks: padding from lengths, with axes for heads and queries (S15)") {
  const Tensor mask = padding_mask(std::vector<std::int64_t>{3, 1, 0}, 3);
  CHECK(mask.shape() == Shape{3, 1, 1, 3});
  CHECK(values(mask) == std::vector<bool>{1, 1, 1, 1, 0, 0, 0, 0, 0});
  CHECK_THROWS_WITH_AS(padding_mask(std::vector<std::int64_t>{4}, 3),
                       "[padding_mask] text 0 has length 4, with room for 3", Error);
  CHECK_THROWS_AS(padding_mask(std::vector<std::int64_t>{-1}, 3), Error);
}

TEST_CASE("masks: two of any kind become one") {
  const Tensor causal = causal_mask(2), padding = padding_mask(std::vector<std::int64_t>{2, 1}, 2);
  const Tensor both = combine_masks(causal, padding);
  CHECK(both.shape() == Shape{2, 1, 2, 2});
  CHECK(values(both) == std::vector<bool>{1, 0, 1, 1, 1, 0, 1, 0});
  CHECK(!combine_masks(Tensor(), Tensor()).defined());
  CHECK(values(combine_masks(causal, Tensor())) == values(causal));
  CHECK(values(combine_masks(Tensor(), causal)) == values(causal));
  // Floats: what is hidden stays hidden, the rest is summed.
  const Tensor penalty = Tensor::from<float>({0, -1, -2, 0}, {2, 2});
  const std::vector<float> wanted = {0, -INFINITY, -2, 0};
  CHECK(combine_masks(causal, penalty).to_vector<float>() == wanted);
  CHECK(combine_masks(penalty, causal).to_vector<float>() == wanted);
  CHECK(combine_masks(penalty, additive_mask(causal)).to_vector<float>() == wanted);
  CHECK(combine_masks(penalty, penalty.to(DType::f64)).to_vector<float>() ==
        std::vector<float>{0, -2, -4, 0});
  CHECK_THROWS_WITH_AS(combine_masks(causal, ones({2, 2}, DType::i32)), doctest::Contains("int32"), Error);
}

TEST_CASE("masks: from numbers, and to what is added") {
  const Tensor mask = mask_from_numbers(Tensor::from<double>({1, 0, 1}, {3}));
  CHECK(values(mask) == std::vector<bool>{1, 0, 1});
  CHECK(additive_mask(mask, DType::f64).to_vector<double>() == std::vector<double>{0, -INFINITY, 0});
}

}  // namespace
}  // namespace minigpt
