#include "models/ngram.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "models/text_dataset.h"
#include "models/text_file.h"
#include "models/tokenizer.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

using Ids = std::vector<std::int32_t>;

// The definition, read off the header: counts by whole n-gram in a map, p_n by recursion.
struct Oracle {
  Ids train;
  double vocab;
  std::map<Ids, double> total;                 // context -> how often it was followed by anything
  std::map<Ids, std::map<int, double>> count;  // context -> token -> how often

  Oracle(const Ids& tokens, std::int64_t v, std::size_t max_order)
      : train(tokens), vocab(static_cast<double>(v)) {
    for (std::size_t i = 0; i < train.size(); ++i) {
      for (std::size_t n = 0; n < max_order && n <= i; ++n) {
        const Ids h(train.begin() + static_cast<std::ptrdiff_t>(i - n),
                    train.begin() + static_cast<std::ptrdiff_t>(i));
        ++total[h];
        ++count[h][train[i]];
      }
    }
  }
  double additive(const Ids& h, int c, double a) { return (count[h][c] + a) / (total[h] + a * vocab); }
  double witten_bell(const Ids& h, int c) {
    const double shorter = h.empty() ? 1 / vocab : witten_bell(Ids(h.begin() + 1, h.end()), c);
    if (total[h] == 0) return shorter;
    double t = 0;
    for (const auto& [token, n] : count[h]) t += n > 0 ? 1 : 0;
    return (count[h][c] + t * shorter) / (total[h] + t);
  }
};

TEST_CASE("ngram: a text small enough for pencil and paper") {
  // Training "abab", validation "ab" of an alphabet of two: one character is scored, the b after a.
  const NgramLadder ladder = ngram_ladder(Ids{0, 1, 0, 1}, Ids{0, 1}, 2, 3);
  REQUIRE(ladder.rows.size() == 3);
  CHECK(ladder.scored == 1);
  CHECK(ladder.uniform == doctest::Approx(std::log(2.0)));
  // Order 1: b is 2 of 4 with any constant; Witten-Bell (2 + 2 * 1/2) / (4 + 2).
  CHECK(ladder.rows[0].order == 1);
  CHECK(ladder.rows[0].additive_constant == kAdditiveGrid[0]);  // of equal ones the first
  CHECK(ladder.rows[0].additive_loss == doctest::Approx(std::log(2.0)));
  CHECK(ladder.rows[0].witten_bell_loss == doctest::Approx(std::log(2.0)));
  // Order 2: b followed a 2 times of 2, so the smallest constant is the best; Witten-Bell (2 + 1 * 1/2) / (2
  // + 1).
  CHECK(ladder.rows[1].additive_constant == 0.001);
  CHECK(ladder.rows[1].additive_loss == doctest::Approx(-std::log(2.001 / 2.002)));
  CHECK(ladder.rows[1].witten_bell_loss == doctest::Approx(-std::log(5.0 / 6.0)));
  // Order 3: only one character precedes, so nothing changes.
  CHECK(ladder.rows[2].additive_loss == ladder.rows[1].additive_loss);
  CHECK(ladder.rows[2].witten_bell_loss == ladder.rows[1].witten_bell_loss);
  CHECK(ladder.best() == ladder.rows[1].additive_loss);
  CHECK(ladder.best_witten_bell() == ladder.rows[1].witten_bell_loss);
}

TEST_CASE("ngram: a context that training never saw") {
  // The character 2 is new: additive knows nothing, Witten-Bell falls back to p_1(0) = (2 + 2 * 1/3) / (4 +
  // 2).
  const NgramLadder ladder = ngram_ladder(Ids{0, 1, 0, 1}, Ids{2, 0}, 3, 2);
  CHECK(ladder.rows[1].additive_loss == doctest::Approx(std::log(3.0)));
  CHECK(ladder.rows[1].witten_bell_loss == doctest::Approx(-std::log(4.0 / 9.0)));
  // "1" ends the training part and is followed by nothing there: known, but without followers.
  const NgramLadder end = ngram_ladder(Ids{0, 0, 1}, Ids{1, 0}, 2, 2);
  CHECK(end.rows[1].additive_loss == doctest::Approx(std::log(2.0)));
  CHECK(end.rows[1].witten_bell_loss == end.rows[0].witten_bell_loss);
}

TEST_CASE("ngram: all orders agree with the definition on random texts") {
  std::mt19937 random(7);
  struct Sizes {
    int vocab, train, val;
  };
  for (const Sizes size : {Sizes{1, 5, 5}, {2, 1, 9}, {2, 60, 30}, {3, 4, 20}, {5, 400, 80}, {40, 300, 60}}) {
    CAPTURE(size.vocab);
    CAPTURE(size.train);
    const auto draw = [&](int n) {
      Ids ids(static_cast<std::size_t>(n));
      for (auto& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(size.vocab));
      return ids;
    };
    const Ids train = draw(size.train);
    const Ids val = draw(size.val);
    const NgramLadder ladder = ngram_ladder(train, val, size.vocab, 6);
    Oracle oracle(train, size.vocab, 6);
    for (const NgramLadder::Row& row : ladder.rows) {
      CAPTURE(row.order);
      double witten_bell = 0;
      std::map<double, double> additive;
      for (std::size_t i = 1; i < val.size(); ++i) {
        const std::size_t n = std::min(i, static_cast<std::size_t>(row.order - 1));
        const Ids h(val.begin() + static_cast<std::ptrdiff_t>(i - n),
                    val.begin() + static_cast<std::ptrdiff_t>(i));
        witten_bell -= std::log(oracle.witten_bell(h, val[i])) / (size.val - 1);
        for (const double a : kAdditiveGrid)
          additive[a] -= std::log(oracle.additive(h, val[i], a)) / (size.val - 1);
      }
      CHECK(row.witten_bell_loss == doctest::Approx(witten_bell).epsilon(1e-12));
      CHECK(row.additive_loss == doctest::Approx(additive.at(row.additive_constant)).epsilon(1e-12));
      for (const auto& [a, loss] : additive) CHECK(row.additive_loss <= loss + 1e-12);
    }
  }
}

TEST_CASE("ngram: large vocabularies do not make keys collide") {
  // The same text in other symbols: with V unchanged the losses must not move.
  const std::int64_t vocab = 2147483647;
  Ids small, large;
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    small.push_back(static_cast<std::int32_t>(random() % 7));
    large.push_back(2147483646 - 306783378 * small.back());
  }
  const std::span<const std::int32_t> a(small), b(large);
  const NgramLadder left = ngram_ladder(a.first(2000), a.subspan(2000), vocab);
  const NgramLadder right = ngram_ladder(b.first(2000), b.subspan(2000), vocab);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(left.rows[i].additive_loss == right.rows[i].additive_loss);
    CHECK(left.rows[i].witten_bell_loss == right.rows[i].witten_bell_loss);
  }
}

TEST_CASE("ngram: what is refused") {
  CHECK_THROWS_AS(ngram_ladder(Ids{}, Ids{0, 0}, 1), Error);
  CHECK_THROWS_AS(ngram_ladder(Ids{0}, Ids{0}, 1), Error);
  CHECK_THROWS_AS(ngram_ladder(Ids{0}, Ids{0, 0}, 0), Error);
  CHECK_THROWS_AS(ngram_ladder(Ids{0}, Ids{0, 0}, 1, 0), Error);
  CHECK_THROWS_AS(ngram_ladder(Ids{0}, Ids{0, 0}, 1, kMaxNgramOrder + 1), Error);
  CHECK_THROWS_WITH_AS(ngram_ladder(Ids{0, 2}, Ids{0, 0}, 2),
                       "[ngram] token 2 at position 1 of the training part is outside 0..1", Error);
  CHECK_THROWS_AS(ngram_ladder(Ids{0}, Ids{0, -1}, 2), Error);
}

TEST_CASE("ngram: tiny Shakespeare") {
  const char* folder = std::getenv("MINIGPT_DATA");
  if (folder == nullptr) {
    MESSAGE("skipped: MINIGPT_DATA does not name a folder with tinyshakespeare.txt");
    return;
  }
  const LoadedText loaded = load_text(std::filesystem::path(folder) / "tinyshakespeare.txt");
  const CharTokenizer tokenizer = CharTokenizer::from_text(loaded.text);
  REQUIRE(tokenizer.vocab_size() == 65);
  const TextDataset data(tokenizer.encode(loaded.text), 0.9, 64);
  const NgramLadder ladder = ngram_ladder(data.tokens(Split::kTrain), data.tokens(Split::kValidation), 65);
  const double additive[] = {3.347, 2.482, 2.046, 1.784, 1.770};
  for (std::size_t i = 0; i < 5; ++i) CHECK(std::abs(ladder.rows[i].additive_loss - additive[i]) < 0.0006);
  CHECK(std::abs(ladder.rows[4].witten_bell_loss - 1.669) < 0.0006);
  CHECK(ladder.best() == ladder.rows[4].witten_bell_loss);
  CHECK(ladder.uniform == doctest::Approx(4.1744).epsilon(1e-4));
}

}  // namespace
}  // namespace minigpt
