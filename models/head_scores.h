#pragma once
// What a head of attention looks at, in numbers: patterns that can be read off its weights.
//
// Each score is a mean over query positions i, w_ij being the weight of i on j <= i. Positions where the pattern cannot exist
// are left out, and beside each score stands what uniform attention (w_ij = 1 / (i + 1)) would get at the same positions: a
// text full of blanks gives every head some weight on blanks.
//
//   offset[k]    w_(i, i-k)                                            rows i >= max(k, 1)     (k = 1: the previous token)
//   sink         w_(i, 0)                                              rows i >= kFarFrom
//   top          sum of the k largest w_ij: sparse heads               rows i + 1 >= 4 k
//   entropy      -sum_j w_ij ln w_ij / ln(i + 1): 1 is uniform         rows i >= 1
//   distance     sum_j w_ij (i - j), in tokens                         rows i >= 1
//   local        weight on the kNear tokens up to i                    rows i + 1 >= 4 kNear
//   duplicate    weight on all j < i with token j = token i            rows with such a j
//   induction    weight on all j < i with token j-1 = token i          rows with such a j      (what followed last time)
//   line_end, punctuation, blank: weight on all j < i of that kind     rows with such a j
//
// Clark et al. 2019, "What Does BERT Look At?", sections 3 and 4 (offsets, broadcast, delimiters); Olsson et al. 2022,
// "In-context Learning and Induction Heads" (duplicate, induction); Xiao et al. 2024, "Efficient Streaming Language Models
// with Attention Sinks".

#include <cstdint>
#include <span>
#include <vector>

namespace minigpt {

inline constexpr std::int64_t kFarFrom = 8;  // a sink is near for the first few queries
inline constexpr std::int64_t kNear = 8;

// A mean over rows, and the same for uniform attention. Not a number while there is no row.
struct Score {
  double sum = 0, uniform_sum = 0;
  std::int64_t rows = 0;

  void add(double value, double uniform);
  double value() const { return sum / static_cast<double>(rows); }
  double uniform() const { return uniform_sum / static_cast<double>(rows); }
  // How much of what uniform attention lacks of weight 1 the head has: 0 for a uniform head, 1 for one with all its weight on
  // the pattern, negative for one that avoids it. 0 while there is no row.
  double lift() const;
};

enum class TokenKind : std::uint8_t { other, line_end, punctuation, blank };

struct HeadScores {
  std::vector<Score> offset;  // [k]
  Score sink, top, entropy, distance, local, duplicate, induction, line_end, punctuation, blank;
  std::int64_t top_k = 4;

  // Adds the rows of one text. weights: T x T row-major; tokens and kinds: T each.
  void add(std::span<const double> weights, std::span<const std::int32_t> tokens,
           std::span<const TokenKind> kinds);

 private:
  void add_row(std::span<const double> row);  // what depends on places alone
  void add_kinds(std::span<const double> row, std::span<const std::int32_t> tokens,
                 std::span<const TokenKind> kinds);
};

}  // namespace minigpt
