#include "nn/attention/kv_cache.h"

#include <doctest/doctest.h>

#include <cmath>

#include "nn/attention/causal_self_attention.h"
#include "tensor/attention.h"
#include "tensor/views.h"
#include "tests/autograd/op_testing.h"
#include "tests/tensor/row_testing.h"

namespace minigpt {
namespace {

using testing::difference;
using testing::random;

// Feeds x (B, T, C) in pieces of the given lengths and puts the outputs side by side.
Tensor in_pieces(const CausalSelfAttention& attention, const Tensor& x,
                 const std::vector<std::int64_t>& lengths, KvCache& cache) {
  Tensor out = zeros(x.shape(), x.dtype());
  std::int64_t at = 0;
  for (const std::int64_t n : lengths) {
    const Tensor piece = slice(x, 1, at, at + n).contiguous();
    slice(out, 1, at, at + n).copy_(attention.forward(Variable(piece), Mode{}, &cache.layers[0]).value());
    at += n;
  }
  return out;
}

TEST_CASE("key/value cache: step by step, or in pieces, is the same as all at once") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    Generator rng(1);
    CausalSelfAttention attention(12, 3, true, 0.0, rng);
    convert_parameters(attention, dtype);
    const Tensor x = random({2, 35, 12}, 5, dtype);  // three groups of keys
    const Tensor whole = attention.forward(Variable(x), Mode{}).value();
    const double tolerance = dtype == DType::f64 ? 1e-14 : 1e-6;
    const std::vector<std::vector<std::int64_t>> ways = {
        {35}, std::vector<std::int64_t>(35, 1), {4, 31}, {1, 15, 2, 17}};
    for (const auto& lengths : ways) {
      KvCache cache(1, 2, 3, 40, 12, dtype);
      CHECK(difference(in_pieces(attention, x, lengths, cache), whole) <= tolerance);
      CHECK(cache.length() == 35);
    }
  }
}

TEST_CASE("key/value cache: cleared, it starts over; what was in it has no influence") {
  Generator rng(1);
  CausalSelfAttention attention(8, 2, false, 0.0, rng);
  KvCache used(1, 1, 2, 4, 8, DType::f32), fresh(1, 1, 2, 4, 8, DType::f32);
  CHECK(used.capacity() == 4);
  const Tensor other = random({1, 4, 8}, 7, DType::f32), x = random({1, 3, 8}, 8, DType::f32);
  in_pieces(attention, other, {4}, used);
  used.clear();
  CHECK(used.length() == 0);
  CHECK(in_pieces(attention, x, {2, 1}, used).to_vector<float>() ==
        in_pieces(attention, x, {2, 1}, fresh).to_vector<float>());
}

TEST_CASE("key/value cache: a full one is an error, before anything changes") {
  Generator rng(1);
  CausalSelfAttention attention(8, 2, false, 0.0, rng);
  KvCache cache(1, 1, 2, 3, 8, DType::f32);
  in_pieces(attention, random({1, 2, 8}, 3, DType::f32), {2}, cache);
  const Variable two(random({1, 2, 8}, 4, DType::f32)), one(random({1, 1, 8}, 4, DType::f32));
  CHECK_THROWS_WITH_AS(attention.forward(two, Mode{}, &cache.layers[0]),
                       doctest::Contains("2 positions do not fit: 2 of 3 are used"), Error);
  CHECK(cache.length() == 2);
  CHECK_NOTHROW(attention.forward(one, Mode{}, &cache.layers[0]));  // exactly full
  CHECK_THROWS_AS(attention.forward(one, Mode{}, &cache.layers[0]), Error);
}

TEST_CASE("key/value cache: no more positions can look back than were given, or are there") {
  KvCache::Layer layer(1, 2, 8, 8, DType::f32);
  const Tensor qkv = random({1, 3, 24}, 3, DType::f32);
  CHECK_THROWS_WITH_AS(layer.attend_last(qkv, 2), doctest::Contains("2 of 3 positions, but 0 are cached"),
                       Error);
  layer.append(qkv);
  layer.append(qkv);
  CHECK_NOTHROW(layer.attend_last(qkv, 3));
  CHECK_THROWS_WITH_AS(layer.attend_last(qkv, 4), doctest::Contains("4 of 3 positions"), Error);
}

TEST_CASE("key/value cache: by hand, one head of width 1") {
  KvCache::Layer layer(1, 1, 2, 1, DType::f32);
  const auto attend = [&](float q, float k, float v) {
    return layer.attend(Tensor::from<float>({q, k, v}, {1, 1, 3})).item();
  };
  CHECK(attend(1, 0, 10) == 10);  // alone: all the weight
  // Scores 1*0 and 1*ln(3): weights 1/4 and 3/4.
  CHECK(attend(1, std::log(3.0f), 20) == doctest::Approx(17.5).epsilon(1e-6));
}

TEST_CASE("key/value cache: heads of any width, any number of positions, every kernel set") {
  testing::for_each_kernel_set([] {
    for (const std::int64_t D : {1, 2, 3, 8, 9, 16, 31, 33, 64, 65}) {
      CAPTURE(D);
      const std::int64_t T = 34, H = 2;
      const Tensor qkv = random({1, T, 3 * H * D}, 9, DType::f64);
      const Tensor expected = causal_attention(qkv, H, 1 / std::sqrt(static_cast<double>(D))).out;
      for (const DType dtype : {DType::f64, DType::f32}) {
        KvCache::Layer layer(1, H, T, H * D, dtype);
        for (std::int64_t t = 0; t < T; ++t) {
          const Tensor out = layer.attend(slice(qkv, 1, t, t + 1).to(dtype));
          CHECK(difference(out.to(DType::f64), slice(expected, 1, t, t + 1)) <
                (dtype == DType::f64 ? 1e-14 : 1e-5));
        }
      }
    }
  });
}

TEST_CASE("key/value cache: positions and heads may be shared out among threads") {
  const Tensor qkv = random({2, 9, 24}, 3, DType::f32), later = random({2, 3, 24}, 4, DType::f32);
  testing::check_threads_do_not_matter([&] {
    KvCache::Layer layer(2, 4, 12, 8, DType::f32);
    return std::vector<Tensor>{layer.attend(qkv), layer.attend(later)};
  });
}

TEST_CASE("key/value cache: an empty one has neither length nor capacity") {
  const KvCache none;
  CHECK(none.length() == 0);
  CHECK(none.capacity() == 0);
}

}  // namespace
}  // namespace minigpt
