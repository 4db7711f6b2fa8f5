#include "models/document_dataset.h"

#include <algorithm>

#include "models/plural.h"
#include "models/text_file.h"
#include "tensor/error.h"
#include "tensor/generator.h"

namespace minigpt {

DocumentDataset::DocumentDataset(std::u32string_view text, const CharTokenizer& tokenizer,
                                 double train_fraction, std::int64_t block, Generator& rng)
    : block_(block) {
  check(block >= 1, "dataset", "block must be at least 1: {}", block);
  check(train_fraction > 0 && train_fraction <= 1, "dataset", "the training fraction must be in (0, 1]: {}",
        train_fraction);
  const std::vector<std::u32string_view> lines = split_lines(text);
  const auto documents = static_cast<std::int64_t>(lines.size());
  check(documents > 0, "dataset", "the text has no documents: every line is empty");
  train_count_ = static_cast<std::int64_t>(static_cast<double>(documents) * train_fraction);
  check(train_count_ >= 1, "dataset", "no document is left for training: {}, fraction {}",
        count_of(documents, "document"), train_fraction);

  const std::int32_t doc = tokenizer.document_id();
  tokens_.reserve(text.size() + lines.size() + 1);
  starts_.reserve(lines.size() + 1);
  for (const std::int64_t index : rng.randperm(documents)) {
    const std::u32string_view line = lines[static_cast<std::size_t>(index)];
    starts_.push_back(static_cast<std::int64_t>(tokens_.size()));
    tokens_.push_back(doc);
    const std::vector<std::int32_t> ids = tokenizer.encode(line, fmt::format("document {}", index + 1));
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    cut_count_ += static_cast<std::int64_t>(ids.size()) + 1 > block ? 1 : 0;
  }
  starts_.push_back(static_cast<std::int64_t>(tokens_.size()));
  tokens_.push_back(doc);
}

std::int64_t DocumentDataset::count(Split split) const {
  const auto documents = static_cast<std::int64_t>(starts_.size()) - 1;
  return split == Split::kTrain ? train_count_ : documents - train_count_;
}

std::string DocumentDataset::validation_note() const {
  return has_validation() ? "" : "no validation loss: all documents are used for training";
}

Batch DocumentDataset::at_step(Split split, std::int64_t step) const {
  Batch out;
  at_step(split, step, out);
  return out;
}

void DocumentDataset::at_step(Split split, std::int64_t step, Batch& out) const {
  check(step >= 0, "dataset", "the step must not be negative: {}", step);
  check(count(split) > 0, "dataset", "the validation part has no documents");
  const std::int64_t number = step % count(split);
  const auto index = static_cast<std::size_t>(split == Split::kTrain ? number : train_count_ + number);
  out.offsets.assign(1, number);
  out.batch = 1;
  // From one <doc> to the next there are starts_[i + 1] - starts_[i] predictions: the characters and the
  // closing <doc>.
  out.block = std::min(starts_[index + 1] - starts_[index], block_);
  const auto first = tokens_.begin() + starts_[index];
  out.inputs.assign(first, first + out.block);
  out.targets.assign(first + 1, first + out.block + 1);
}

std::span<const std::int32_t> DocumentDataset::tokens(Split split) const {
  const std::span<const std::int32_t> all(tokens_);
  const auto cut = static_cast<std::size_t>(starts_[static_cast<std::size_t>(train_count_)]);
  return split == Split::kTrain ? all.first(cut + 1) : all.subspan(cut);
}

}  // namespace minigpt
