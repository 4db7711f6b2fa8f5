#include "autograd/ops/norm_linear.h"

#include "tensor/storage.h"
#include "tests/autograd/op_testing.h"

namespace minigpt {
namespace {

using namespace testing;

// The operands after x that are given, in order; bit i of `given` says whether optional operand i is.
Variable optional(const std::vector<Variable>& v, std::size_t& next, bool given) {
  return given ? v[next++] : Variable();
}

TEST_CASE("layer_norm_linear: equals layer_norm and linear one after the other") {
  for (const int given : {0, 1, 3, 4, 7}) {  // gain, shift, bias
    const auto with = [given](const std::vector<Variable>& v, bool fused) {
      std::size_t next = 2;
      const Variable gain = optional(v, next, given & 1), shift = optional(v, next, given & 2),
                     bias = optional(v, next, given & 4);
      return fused ? layer_norm_linear(v[0], gain, shift, v[1], bias)
                   : linear(layer_norm(v[0], Shape{v[0].dim(-1)}, gain, shift), v[1], bias);
    };
    const auto fused = [&](const std::vector<Variable>& v) { return with(v, true); };
    const auto composed = [&](const std::vector<Variable>& v) { return with(v, false); };
    for (const Shape& shape : {Shape{7}, Shape{3, 7}, Shape{2, 3, 7}}) {
      CAPTURE(shape.str());
      std::vector<Variable> in = {leaf(shape, 1), leaf({5, 7}, 2)};
      if (given & 1) in.push_back(leaf({7}, 3));
      if (given & 2) in.push_back(leaf({7}, 4));
      if (given & 4) in.push_back(leaf({5}, 5));
      check_agree(fused, composed, in);
      if (shape.size() == 3) {
        check_derivatives(fused, in);
        check_layouts(fused, in);
      }
    }
  }
}

TEST_CASE("rms_norm_linear: equals rms_norm and linear one after the other") {
  for (const int given : {0, 1, 2, 3}) {  // gain, bias
    const auto with = [given](const std::vector<Variable>& v, bool fused) {
      std::size_t next = 2;
      const Variable gain = optional(v, next, given & 1), bias = optional(v, next, given & 2);
      return fused ? rms_norm_linear(v[0], gain, v[1], bias) : linear(rms_norm(v[0], gain), v[1], bias);
    };
    const auto fused = [&](const std::vector<Variable>& v) { return with(v, true); };
    const auto composed = [&](const std::vector<Variable>& v) { return with(v, false); };
    for (const Shape& shape : {Shape{7}, Shape{2, 3, 7}}) {
      CAPTURE(shape.str());
      std::vector<Variable> in = {leaf(shape, 1), leaf({5, 7}, 2)};
      if (given & 1) in.push_back(leaf({7}, 3));
      if (given & 2) in.push_back(leaf({5}, 5));
      check_agree(fused, composed, in);
      if (shape.size() == 3) {
        check_derivatives(fused, in);
        check_layouts(fused, in);
      }
    }
  }
}

TEST_CASE("norm and linear as one op keep no tensor between them") {
  const Variable x = leaf({200, 50}, 1), gain = leaf({50}, 2), w = leaf({2, 50}, 3);
  const std::int64_t before = memory_stats().live_bytes;
  const Variable y = layer_norm_linear(x, gain, Variable(), w, Variable());
  CHECK(memory_stats().live_bytes - before < x.numel() * 8 / 2);
}

}  // namespace
}  // namespace minigpt
