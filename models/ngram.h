#pragma once
// What counting alone achieves: n-gram models as the ladder a trained model has to climb.
//
// An n-gram model predicts token c from the n - 1 tokens before it, h, by how often c followed h in the
// training part. Counts of zero need smoothing, here in the two classic ways:
//
//   additive       p(c | h) = (count(h c) + a) / (total(h) + a V)
//                  one constant `a` per order, the best on the validation part out of kAdditiveGrid
//   Witten-Bell    p_n(c | h) = (count(h c) + t p_{n-1}(c | h')) / (total(h) + t),    p_0 = 1 / V
//                  t = number of distinct tokens seen after h; h' = h without its oldest token; where h was
//                  never seen, p_n = p_{n-1}. Contexts with many different followers trust the shorter
//                  context more. Nothing is tuned, so of the two this is the honest mark.
//
// Sources: Witten and Bell, "The zero-frequency problem", IEEE Trans. Information Theory 37(4), 1991 (method
// C);
//          Chen and Goodman, "An empirical study of smoothing techniques for language modeling", 1998,
//          section 2.
//
// Which characters are scored: those a model scored with scoring_windows() is scored on, all of the
// validation part except its first. No context reaches back before the validation part; near its start, where
// fewer than n - 1 tokens precede, the longest context there is takes their place.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace minigpt {

inline constexpr std::array kAdditiveGrid = {10.0, 1.0, 0.1, 0.01, 0.001};
inline constexpr int kMaxNgramOrder = 16;

// All losses are mean nats per character on the validation part.
struct NgramLadder {
  struct Row {
    int order = 0;  // n: 1 knows only how common each character is
    double additive_loss = 0;
    double additive_constant = 0;  // a
    double witten_bell_loss = 0;
  };
  std::vector<Row> rows;    // orders 1, 2, ...
  double uniform = 0;       // ln V: every character equally likely, an untrained model
  std::int64_t scored = 0;  // number of characters the losses are means over

  // The smallest loss of all rows.
  double best() const;
  // The smallest Witten-Bell loss: the mark without any constant chosen on the validation part.
  double best_witten_bell() const;
};

// Counts `train` and scores `val`. Time and memory grow with the number of tokens; V does not matter.
// Throws Error when train is empty, val has fewer than 2 tokens, a token is outside 0..vocab-1, or max_order
// is outside 1..kMaxNgramOrder.
NgramLadder ngram_ladder(std::span<const std::int32_t> train, std::span<const std::int32_t> val,
                         std::int64_t vocab, int max_order = 5);

}  // namespace minigpt
