#include "nn/dropout_stream.h"

#include <doctest/doctest.h>

#include <limits>

namespace minigpt {
namespace {

std::vector<int> kept(const DropoutMask& mask, std::int64_t n) {
  const auto words = mask.bits.to_vector<std::int32_t>();
  std::vector<int> out;
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(mask_bit(reinterpret_cast<const std::uint32_t*>(words.data()), i) ? 1 : 0);
  return out;
}

TEST_CASE("dropout stream: PyTorch's masks, in the order of the calls") {
  Generator rng(123);
  DropoutStream stream = DropoutStream::torch(rng);
  // torch.manual_seed(123); dropout(ones(12), 0.5), cut into three calls.
  CHECK(kept(stream.next({4}, 0.5), 4) == std::vector<int>{1, 1, 0, 1});
  stream.begin(7, 1);  // PyTorch knows no steps: the stream goes on
  CHECK(kept(stream.next({2, 2}, 0.5), 4) == std::vector<int>{1, 0, 0, 0});
  CHECK(kept(stream.next({4}, 0.5), 4) == std::vector<int>{0, 1, 0, 1});

  rng.seed(42);  // dropout(ones(12), 0.1)
  CHECK(kept(stream.next({12}, 0.1), 12) == std::vector<int>{1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("dropout stream: PyTorch draws nothing for p = 0 and p = 1") {
  Generator rng(1), untouched(1);
  DropoutStream stream = DropoutStream::torch(rng);
  CHECK(stream.next({100}, 0).p == 0);
  CHECK(kept(stream.next({100}, 1), 100) == std::vector<int>(100, 0));
  CHECK(rng.state() == untouched.state());
}

TEST_CASE("dropout stream: a counter-based pass can be repeated, and every part of the key matters") {
  const auto two_masks = [](std::uint64_t seed, std::uint64_t step, std::uint32_t micro_step) {
    DropoutStream stream = DropoutStream::counter(seed);
    stream.begin(step, micro_step);
    std::vector<int> out = kept(stream.next({64}, 0.5), 64), second = kept(stream.next({64}, 0.5), 64);
    CHECK(out != second);
    out.insert(out.end(), second.begin(), second.end());
    return out;
  };
  const std::vector<int> base = two_masks(1, 10, 0);
  CHECK(two_masks(1, 10, 0) == base);
  CHECK(two_masks(2, 10, 0) != base);
  CHECK(two_masks(1, 11, 0) != base);
  CHECK(two_masks(1, 10, 1) != base);
}

TEST_CASE("dropout stream: begin() starts the calls over; a call counts whatever its p") {
  DropoutStream stream = DropoutStream::counter(5);
  stream.begin(3);
  const std::vector<int> first = kept(stream.next({40}, 0.3), 40), second = kept(stream.next({40}, 0.3), 40);
  stream.begin(3);
  CHECK(kept(stream.next({40}, 0.3), 40) == first);
  stream.begin(3);
  stream.next({9}, 0);  // no dropout here this time: the masks of the other layers stay the same
  CHECK(kept(stream.next({40}, 0.3), 40) == second);
}

TEST_CASE("dropout stream: the share of kept elements is 1 - p (N-07)") {
  DropoutStream stream = DropoutStream::counter(1);
  const std::int64_t n = 100000;
  for (double p : {0.1, 0.5, 0.9}) {
    CAPTURE(p);
    double sum = 0;
    for (int bit : kept(stream.next({n}, p), n)) sum += bit;
    CHECK(sum / static_cast<double>(n) == doctest::Approx(1 - p).epsilon(0.01));
  }
}

TEST_CASE("dropout stream: probabilities outside [0, 1] are refused (N-07)") {
  DropoutStream stream = DropoutStream::counter(1);
  for (double p : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(stream.next({3}, p), Error);
}

}  // namespace
}  // namespace minigpt
