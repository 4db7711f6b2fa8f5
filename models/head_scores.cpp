#include "models/head_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tensor/error.h"

namespace minigpt {
namespace {

// Weight of the columns that belong to a pattern, and how many they are.
struct Share {
  double weight = 0;
  std::int64_t columns = 0;
  void take(double w) {
    weight += w;
    ++columns;
  }
  void add_to(Score& score, double uniform_weight) const {
    if (columns > 0) score.add(weight, static_cast<double>(columns) * uniform_weight);
  }
};

}  // namespace

void Score::add(double value, double uniform) {
  sum += value;
  uniform_sum += uniform;
  ++rows;
}

double Score::lift() const {
  const double room = static_cast<double>(rows) - uniform_sum;
  return room > 0 ? (sum - uniform_sum) / room : 0;
}

void HeadScores::add(std::span<const double> weights, std::span<const std::int32_t> tokens,
                     std::span<const TokenKind> kinds) {
  const std::size_t T = tokens.size();
  check(weights.size() == T * T && kinds.size() == T, "head_scores", "{} weights and {} kinds for {} tokens",
        weights.size(), kinds.size(), T);
  for (std::size_t i = 1; i < T; ++i) {  // the first token can look only at itself
    const std::span<const double> row = weights.subspan(i * T, i + 1);
    add_row(row);
    add_kinds(row, tokens, kinds);
  }
}

void HeadScores::add_row(std::span<const double> row) {
  const auto i = static_cast<std::int64_t>(row.size()) - 1;
  const auto n = static_cast<double>(row.size());
  for (std::size_t k = 0; k < std::min(offset.size(), row.size()); ++k)
    offset[k].add(row[row.size() - 1 - k], 1 / n);
  if (i >= kFarFrom) sink.add(row[0], 1 / n);

  double h = 0, d = 0, near = 0;
  for (std::int64_t j = 0; j <= i; ++j) {
    const double w = row[static_cast<std::size_t>(j)];
    if (w > 0) h -= w * std::log(w);
    d += w * static_cast<double>(i - j);
    if (i - j < kNear) near += w;
  }
  entropy.add(h / std::log(n), 1);
  distance.add(d, static_cast<double>(i) / 2);
  if (i + 1 >= 4 * kNear) local.add(near, kNear / n);

  if (i + 1 < 4 * top_k) return;
  std::vector<double> largest(row.begin(), row.end());
  std::nth_element(largest.begin(), largest.begin() + (top_k - 1), largest.end(), std::greater<>());
  double mass = 0;
  for (std::int64_t k = 0; k < top_k; ++k) mass += largest[static_cast<std::size_t>(k)];
  top.add(mass, static_cast<double>(top_k) / n);
}

void HeadScores::add_kinds(std::span<const double> row, std::span<const std::int32_t> tokens,
                           std::span<const TokenKind> kinds) {
  const std::size_t i = row.size() - 1;
  Share same, followed, of_kind[4];
  for (std::size_t j = 0; j < i; ++j) {
    if (tokens[j] == tokens[i]) same.take(row[j]);
    if (j > 0 && tokens[j - 1] == tokens[i]) followed.take(row[j]);
    of_kind[static_cast<std::size_t>(kinds[j])].take(row[j]);
  }
  const double uniform_weight = 1 / static_cast<double>(row.size());
  same.add_to(duplicate, uniform_weight);
  followed.add_to(induction, uniform_weight);
  of_kind[static_cast<std::size_t>(TokenKind::line_end)].add_to(line_end, uniform_weight);
  of_kind[static_cast<std::size_t>(TokenKind::punctuation)].add_to(punctuation, uniform_weight);
  of_kind[static_cast<std::size_t>(TokenKind::blank)].add_to(blank, uniform_weight);
}

}  // namespace minigpt
