#include "models/text_dataset.h"

#include <algorithm>
#include <utility>

#include "models/plural.h"
#include "tensor/error.h"
#include "tensor/generator.h"

namespace minigpt {
namespace {

// Far above any context window, far below where block + 1 or batch * block could overflow.
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 30;

const char* name_of(Split split) { return split == Split::kTrain ? "training" : "validation"; }

void check_block(std::int64_t block) {
  check(block >= 1 && block <= kMaxBlock, "dataset", "block must be 1 .. {}: {}", kMaxBlock, block);
}

}  // namespace

TextDataset::TextDataset(std::vector<std::int32_t> tokens, double train_fraction, std::int64_t block)
    : tokens_(std::move(tokens)), block_(block) {
  check_block(block);
  check(train_fraction > 0 && train_fraction <= 1, "dataset", "the training fraction must be in (0, 1]: {}",
        train_fraction);
  const auto size = static_cast<std::int64_t>(tokens_.size());
  train_size_ = static_cast<std::int64_t>(static_cast<double>(size) * train_fraction);
  if (train_size_ < block + 1)
    throw TextTooShort(fmt::format(
        "[dataset] the text is too short: {}, of which {} {} for training (fraction {}), but {} are needed "
        "(block {} + 1)",
        count_of(size, "character"), train_size_, train_size_ == 1 ? "is" : "are", train_fraction, block + 1,
        block));
}

std::span<const std::int32_t> TextDataset::tokens(Split split) const {
  const std::span<const std::int32_t> all(tokens_);
  const auto cut = static_cast<std::size_t>(train_size_);
  return split == Split::kTrain ? all.first(cut) : all.subspan(cut);
}

std::string TextDataset::validation_note() const {
  if (has_validation()) return "";
  const std::size_t size = tokens(Split::kValidation).size();
  if (size == 0) return "no validation loss: the whole text is used for training";
  return fmt::format("no validation loss: its part holds {}, but one window needs {} (block {} + 1)",
                     count_of(size, "character"), block_ + 1, block_);
}

std::int64_t TextDataset::window_count(Split split) const {
  return std::max<std::int64_t>(static_cast<std::int64_t>(tokens(split).size()) - block_, 0);
}

// Inputs and targets of the windows at out.offsets.
void TextDataset::fill(Split split, Batch& out) const {
  check(!out.offsets.empty(), "dataset", "a batch needs at least one window");
  const std::int64_t windows = window_count(split);
  for (const std::int64_t offset : out.offsets) {
    check(offset >= 0 && offset < windows, "dataset", "window {} is outside the {} windows of the {} part",
          offset, windows, name_of(split));
  }
  out.batch = static_cast<std::int64_t>(out.offsets.size());
  out.block = block_;
  out.inputs.resize(out.offsets.size() * static_cast<std::size_t>(block_));
  out.targets.resize(out.inputs.size());
  const std::span<const std::int32_t> part = tokens(split);
  for (std::int64_t b = 0; b < out.batch; ++b) {
    // With N tokens the last window starts at N - block - 1: its inputs end at token N - 2 and its targets,
    // one further, at N - 1, the last token of all. Hence N - block windows, not N - block + 1.
    const auto first = part.begin() + out.offsets[static_cast<std::size_t>(b)];
    std::copy(first, first + block_, out.inputs.begin() + b * block_);
    std::copy(first + 1, first + block_ + 1, out.targets.begin() + b * block_);
  }
}

void TextDataset::batch_at(Split split, std::span<const std::int64_t> offsets, Batch& out) const {
  out.offsets = std::vector(offsets.begin(), offsets.end());  // a copy first: `offsets` may be out.offsets
  fill(split, out);
}

Batch TextDataset::batch_at(Split split, std::span<const std::int64_t> offsets) const {
  Batch out;
  batch_at(split, offsets, out);
  return out;
}

void TextDataset::draw(Split split, std::int64_t batch, Generator& rng, Batch& out) const {
  check(batch >= 1, "dataset", "the batch size must be at least 1: {}", batch);
  const std::int64_t windows = window_count(split);
  check(windows > 0, "dataset", "the {} part has no window of block {} to draw", name_of(split), block_);
  out.offsets.resize(static_cast<std::size_t>(batch));
  rng.randint(out.offsets, 0, windows);
  fill(split, out);
}

Batch TextDataset::draw(Split split, std::int64_t batch, Generator& rng) const {
  Batch out;
  draw(split, batch, rng, out);
  return out;
}

std::vector<ScoringWindow> scoring_windows(std::int64_t n_tokens, std::int64_t block) {
  check_block(block);
  check(n_tokens >= 2, "dataset", "a text of {} has nothing to score: at least 2 are needed",
        count_of(n_tokens, "token"));
  const std::int64_t predictions = n_tokens - 1;
  const std::int64_t stride = std::max<std::int64_t>(block / 2, 1);
  std::vector<ScoringWindow> windows = {{0, std::min(block, predictions), 0}};
  // `counted` predictions are done; the next window ends `stride` further, or with the text.
  for (std::int64_t counted = windows[0].length; counted < predictions;) {
    const std::int64_t end = std::min(counted + stride, predictions);
    const std::int64_t start = end - block;
    windows.push_back({start, block, counted - start});
    counted = end;
  }
  return windows;
}

}  // namespace minigpt
