#include "nn/attention_block.h"

#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;

TEST_CASE("AttentionBlock: shape in = shape out, with the third text's sizes (S16)") {
  Generator rng(1);
  const AttentionBlock block(512, 8, 0.1, rng);
  const NoGrad no_grad;
  CHECK(block.forward(Variable(random({4, 16, 512}, 1, DType::f32))).shape() == Shape{4, 16, 512});
}

TEST_CASE("AttentionBlock: gradients, with masks and fixed dropout") {
  Generator rng(2);
  FixedDropout dropout;
  AttentionBlock block(4, 2, 0.3, rng);
  const Tensor padding = padding_mask(std::vector<std::int64_t>{3, 1}, 3);
  for (const Tensor& mask : {Tensor(), causal_mask(3), padding, combine_masks(causal_mask(3), padding)}) {
    check_layer_gradients(block, {2, 3, 4}, [&](const Variable& x) { return block.forward(x, mask); });
    check_layer_gradients(block, {2, 3, 4},
                          [&](const Variable& x) { return block.forward(x, mask, dropout.fixed()); });
  }
}

TEST_CASE("AttentionBlock: every row leaves with mean 0 and variance 1, as post-norm wants it") {
  Generator rng(3);
  const AttentionBlock block(64, 4, 0.0, rng);
  const Variable y = block.forward(Variable(random({1, 3, 64}, 1, DType::f32)));
  for (int t = 0; t < 3; ++t) {
    double sum = 0, squares = 0;
    for (int c = 0; c < 64; ++c) {
      const double v = y.value().at({0, t, c});
      sum += v;
      squares += v * v;
    }
    CHECK(std::abs(sum / 64) < 1e-5);
    CHECK(squares / 64 == doctest::Approx(1).epsilon(1e-3));
  }
}

}  // namespace
}  // namespace minigpt
