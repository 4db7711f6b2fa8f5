#include "models/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/reshape.h"
#include "models/text_dataset.h"

namespace minigpt {
namespace {

constexpr std::int32_t kUncounted = -1;

// Adds the losses of a (B, T) batch; targets of kUncounted are left out.
void add_batch(const Gpt& model, const std::vector<std::int32_t>& inputs,
               const std::vector<std::int32_t>& targets, std::int64_t width, TextScore& score) {
  const auto n = static_cast<std::int64_t>(inputs.size());
  const Variable logits = model.forward(Tensor::from<std::int32_t>(inputs, {n / width, width}));
  const Tensor flat = Tensor::from<std::int32_t>(targets, {n});
  score.nats +=
      cross_entropy(reshape(logits, {n, model.config.vocab_size}), flat, Reduction::sum, kUncounted).item();
  score.count += n - std::count(targets.begin(), targets.end(), kUncounted);
}

}  // namespace

double TextScore::bits() const { return loss() / std::numbers::ln2; }
double TextScore::perplexity() const { return std::exp(loss()); }

TextScore score_text(const Gpt& model, std::span<const std::int32_t> tokens) {
  const NoGrad no_grad;
  TextScore score;
  const std::vector<ScoringWindow> windows =
      scoring_windows(static_cast<std::int64_t>(tokens.size()), model.config.block_size);
  // Enough windows at once to keep the cores busy, few enough to stay small.
  const std::int64_t group = std::max<std::int64_t>(1, 2048 / model.config.block_size);
  std::vector<std::int32_t> inputs, targets;
  for (std::size_t first = 0; first < windows.size(); first += static_cast<std::size_t>(group)) {
    const std::size_t last = std::min(windows.size(), first + static_cast<std::size_t>(group));
    inputs.clear();
    targets.clear();
    for (std::size_t w = first; w < last; ++w)
      for (std::int64_t i = 0; i < windows[w].length; ++i) {
        const auto at = static_cast<std::size_t>(windows[w].start + i);
        inputs.push_back(tokens[at]);
        targets.push_back(i < windows[w].first_counted ? kUncounted : tokens[at + 1]);
      }
    add_batch(model, inputs, targets, windows[first].length, score);
  }
  return score;
}

TextScore score_documents(const Gpt& model, std::span<const std::int32_t> tokens, std::int32_t document_id) {
  const NoGrad no_grad;
  TextScore score;
  std::size_t start = 0;
  while (start + 1 < tokens.size()) {
    std::size_t end = start + 1;
    while (end + 1 < tokens.size() && tokens[end] != document_id) ++end;
    const std::span<const std::int32_t> document = tokens.subspan(start, end - start + 1);
    const TextScore one = score_text(model, document);
    score.nats += one.nats;
    score.count += one.count;
    start = end;
  }
  return score;
}

}  // namespace minigpt
