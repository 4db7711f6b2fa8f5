#pragma once
// All heads of a GPT on a text: their scores, a name for what each does, and what the model loses without it.

#include <functional>
#include <string>

#include "models/attention_weights.h"
#include "models/head_scores.h"
#include "models/tokenizer.h"

namespace minigpt {

struct HeadReport {
  std::int64_t layer = 0, head = 0;
  HeadScores scores;
  std::string type;  // in plain words: "previous character", "line ends", "broad"; see head_type()
  double loss_rise =
      0;  // validation loss without the head minus the loss with it, nats per token; set by measure_ablation
  bool measured = false;  // loss_rise was measured
};

struct HeadAnalysisOptions {
  std::int64_t top_k = 4;        // of the score `top`
  std::int64_t max_offset = 16;  // offsets 0 .. max_offset are scored
};

// What kind of token each id is: line breaks and <doc> end lines; ASCII and general punctuation, CJK punctuation; blank, tab
// and ideographic space.
std::vector<TokenKind> token_kinds(const CharTokenizer& tokenizer);

// The scores of every layer and head, in that order, over texts of 2 to block_size tokens each.
// Throws Error for a text of another length or an id outside the vocabulary.
std::vector<HeadReport> analyse_heads(const Gpt& model, std::span<const TokenKind> kinds,
                                      std::span<const std::vector<std::int32_t>> texts,
                                      const HeadAnalysisOptions& options = {});

// What a head does, in plain words: the pattern with the largest lift if that is at least 0.25,
//   "itself", "previous character", "N characters back", "sink on the first character", "same character earlier",
//   "what followed earlier" (induction), "line ends", "punctuation", "blanks"
// and else
//   "the last few characters"  local.lift() >= 0.35       "broad"  entropy >= 0.85
//   "a few, by content"        top.lift() >= 0.5          "mixed"
std::string head_type(const HeadScores& scores);

// The model without one head: a copy that shares all parameters but c_proj.weight of that layer, whose columns h D .. (h+1) D - 1
// are 0, so that nothing of the head's result reaches the residual stream.
Gpt without_head(const Gpt& model, std::int64_t layer, std::int64_t head);

// Sets loss_rise of every report from loss(model), called once for the whole model and once without each head. Returns the loss
// of the whole model.
double measure_ablation(const Gpt& model, std::vector<HeadReport>& reports,
                        const std::function<double(const Gpt&)>& loss);

// Those first that the model can spare least.
void sort_by_loss_rise(std::vector<HeadReport>& reports);

// Mean over the heads of one layer of their attention distance, in tokens: low layers tend to look near, high ones far.
double mean_distance(std::span<const HeadReport> reports, std::int64_t layer);

}  // namespace minigpt
