#include "models/text_dataset.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tensor/error.h"
#include "tensor/generator.h"

namespace minigpt {
namespace {

using Ids = std::vector<std::int32_t>;
using Offsets = std::vector<std::int64_t>;

// Tokens 0, 1, 2, ...: a token's value is its position.
Ids counting(std::int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Ids part(const TextDataset& data, Split split) {
  const auto tokens = data.tokens(split);
  return Ids(tokens.begin(), tokens.end());
}

TEST_CASE("dataset: the first int(N * fraction) tokens are for training") {
  const TextDataset data(counting(19), 0.9, 2);  // 17.1
  CHECK(part(data, Split::kTrain) == counting(17));
  CHECK(part(data, Split::kValidation) == Ids{17, 18});
}

TEST_CASE("dataset: N tokens have N - block windows, and the last target is the last token (D-03)") {
  for (std::int64_t block = 1; block <= 5; ++block) {
    for (std::int64_t n = block + 1; n <= 12; ++n) {
      const TextDataset data(counting(n), 1.0, block);
      REQUIRE(data.window_count(Split::kTrain) == n - block);
      for (std::int64_t start = 0; start < n - block; ++start) {
        const Batch batch = data.batch_at(Split::kTrain, Offsets{start});
        REQUIRE(batch.inputs.size() == static_cast<std::size_t>(block));
        for (std::int64_t t = 0; t < block; ++t) {
          REQUIRE(batch.inputs[static_cast<std::size_t>(t)] == start + t);
          REQUIRE(batch.targets[static_cast<std::size_t>(t)] == start + t + 1);
        }
      }
      CHECK(data.batch_at(Split::kTrain, Offsets{n - block - 1}).targets.back() == n - 1);
      CHECK_THROWS_AS(data.batch_at(Split::kTrain, Offsets{n - block}), Error);
    }
  }
}

TEST_CASE("dataset: a batch is row-major, one window a row") {
  const TextDataset data(counting(10), 0.6, 2);
  const Batch batch = data.batch_at(Split::kTrain, Offsets{3, 0, 3});
  CHECK(batch.batch == 3);
  CHECK(batch.block == 2);
  CHECK(batch.offsets == Offsets{3, 0, 3});
  CHECK(batch.inputs == Ids{3, 4, 0, 1, 3, 4});
  CHECK(batch.targets == Ids{4, 5, 1, 2, 4, 5});
  CHECK(data.batch_at(Split::kValidation, Offsets{1}).inputs == Ids{7, 8});  // offsets count within the part
  CHECK_THROWS_WITH_AS(data.batch_at(Split::kTrain, Offsets{0, 4}),
                       "[dataset] window 4 is outside the 4 windows of the training part", Error);
  CHECK_THROWS_AS(data.batch_at(Split::kTrain, Offsets{-1}), Error);
  CHECK_THROWS_AS(data.batch_at(Split::kTrain, Offsets{}), Error);
}

TEST_CASE("dataset: a reused batch takes the new shape") {
  const TextDataset data(counting(10), 1.0, 2);
  Batch batch = data.batch_at(Split::kTrain, Offsets{0, 1, 2});
  data.batch_at(Split::kTrain, Offsets{5}, batch);
  CHECK(batch.batch == 1);
  CHECK(batch.inputs == Ids{5, 6});
  CHECK(batch.targets == Ids{6, 7});
  // Its own offsets may be handed back in.
  data.batch_at(Split::kTrain, batch.offsets, batch);
  CHECK(batch.inputs == Ids{5, 6});
}

TEST_CASE("dataset: a text too short for one window is refused before anything else (D-01)") {
  for (const std::int64_t n : {0, 1, 20, 64}) {
    CAPTURE(n);
    CHECK_THROWS_AS(TextDataset(counting(n), 1.0, 64), Error);
  }
  CHECK(TextDataset(counting(65), 1.0, 64).window_count(Split::kTrain) == 1);
  CHECK_THROWS_WITH_AS(
      TextDataset(counting(20), 0.9, 64),
      "[dataset] the text is too short: 20 characters, of which 18 are for training (fraction 0.9), but "
      "65 are needed (block 64 + 1)",
      Error);
  // 65 characters would do, were they all for training.
  CHECK_THROWS_WITH_AS(TextDataset(counting(65), 0.9, 64),
                       doctest::Contains("65 characters, of which 58 are for training"), TextTooShort);
  CHECK_THROWS_WITH_AS(TextDataset(counting(1), 1, 64),
                       doctest::Contains(": 1 character, of which 1 is for training"), TextTooShort);
}

TEST_CASE("dataset: a validation part without a window is said once, in words (D-02)") {
  const TextDataset small(counting(300), 0.9, 64);
  CHECK_FALSE(small.has_validation());
  CHECK(small.window_count(Split::kValidation) == 0);
  CHECK(small.validation_note() ==
        "no validation loss: its part holds 30 characters, but one window needs 65 (block 64 + 1)");
  Generator rng(1);
  CHECK_THROWS_AS(small.draw(Split::kValidation, 1, rng), Error);

  const TextDataset whole(counting(300), 1.0, 64);
  CHECK_FALSE(whole.has_validation());
  CHECK(whole.validation_note() == "no validation loss: the whole text is used for training");

  const TextDataset enough(counting(650), 0.9, 64);  // 65 for validation
  CHECK(enough.window_count(Split::kValidation) == 1);
  CHECK(enough.has_validation());
  CHECK(enough.validation_note().empty());
}

TEST_CASE("dataset: fractions and blocks out of range") {
  for (const double fraction : {0.0, -0.5, 1.5, std::nan("")}) {
    CAPTURE(fraction);
    CHECK_THROWS_WITH_AS(TextDataset(counting(99), fraction, 4),
                         doctest::Contains("fraction must be in (0, 1]"), Error);
  }
  for (const std::int64_t block : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX}) {
    CAPTURE(block);
    CHECK_THROWS_WITH_AS(TextDataset(counting(99), 0.9, block), doctest::Contains("block must be 1"), Error);
  }
}

TEST_CASE("dataset: random windows are PyTorch's randint(N - block), in order") {
  const TextDataset data(counting(14), 1.0, 4);  // 10 windows
  Generator rng(123);
  const Batch batch = data.draw(Split::kTrain, 5, rng);
  CHECK(batch.offsets == Offsets{2, 9, 2, 0, 0});
  CHECK(batch.inputs.front() == 2);
  CHECK(batch.targets.size() == 20);
  CHECK_THROWS_AS(data.draw(Split::kTrain, 0, rng), Error);
}

TEST_CASE("scoring windows: an example") {
  using Windows = std::vector<ScoringWindow>;
  // 12 tokens, 11 predictions, block 4: the last window is moved back by one and counts what is left.
  CHECK(scoring_windows(12, 4) == Windows{{0, 4, 0}, {2, 4, 2}, {4, 4, 2}, {6, 4, 2}, {7, 4, 3}});
  CHECK(scoring_windows(3, 4) == Windows{{0, 2, 0}});
  CHECK(scoring_windows(5, 4) == Windows{{0, 4, 0}});
  CHECK(scoring_windows(4, 1) == Windows{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}});
}

TEST_CASE(
    "scoring windows: every token but the first is counted once, with at least half a block of context") {
  for (std::int64_t block = 1; block <= 9; ++block) {
    for (std::int64_t n = 2; n <= 4 * block; ++n) {
      CAPTURE(block);
      CAPTURE(n);
      std::vector<int> counted(static_cast<std::size_t>(n), 0);
      for (const ScoringWindow& window : scoring_windows(n, block)) {
        REQUIRE(window.start >= 0);
        REQUIRE(window.length == std::min(block, n - 1));
        REQUIRE(window.start + window.length <= n - 1);  // the last target exists
        REQUIRE(window.first_counted < window.length);
        for (std::int64_t j = window.first_counted; j < window.length; ++j) {
          ++counted[static_cast<std::size_t>(window.start + j + 1)];
          if (window.start > 0) REQUIRE(j + 1 >= (block + 1) / 2);
        }
      }
      CHECK(counted[0] == 0);
      for (std::size_t i = 1; i < counted.size(); ++i) CHECK(counted[i] == 1);
    }
  }
  CHECK_THROWS_AS(scoring_windows(1, 4), Error);
  CHECK_THROWS_AS(scoring_windows(10, 0), Error);
}

}  // namespace
}  // namespace minigpt
