#include "models/train_data.h"

#include <fmt/format.h>

#include "tensor/generator.h"

namespace minigpt {
namespace {

// Makes tensors of out.memory. New ones: a graph may still hold those of the batch before.
void to_tensors(TokenBatch& out) {
  const Shape shape = {out.memory.batch, out.memory.block};
  out.inputs = Tensor::from<std::int32_t>(out.memory.inputs, shape);
  out.targets = Tensor::from<std::int32_t>(out.memory.targets, shape);
  out.offsets = out.memory.offsets;
}

TokenBatch to_tensors(Batch batch) {
  TokenBatch out;
  out.memory = std::move(batch);
  to_tensors(out);
  return out;
}

}  // namespace

TrainData::TrainData(const TrainConfig& config, const CharTokenizer& tokenizer, std::u32string_view text,
                     std::string_view source)
    : batch_size_(config.batch_size) {
  if (config.documents) {
    // A generator of its own, so that the order of documents does not move the model's initial values.
    Generator order(static_cast<std::uint64_t>(config.seed));
    documents_.emplace(text, tokenizer, config.train_fraction, config.model.block_size, order);
  } else {
    text_.emplace(tokenizer.encode(text, source), config.train_fraction, config.model.block_size);
  }
}

bool TrainData::has_validation() const {
  return text_ ? text_->has_validation() : documents_->has_validation();
}

std::string TrainData::validation_note() const {
  return text_ ? text_->validation_note() : documents_->validation_note();
}

std::span<const std::int32_t> TrainData::tokens(Split split) const {
  return text_ ? text_->tokens(split) : documents_->tokens(split);
}

TokenBatch TrainData::train_batch(std::int64_t index, Generator& rng) const {
  TokenBatch out;
  train_batch(index, rng, out);
  return out;
}

void TrainData::train_batch(std::int64_t index, Generator& rng, TokenBatch& out) const {
  if (documents_)
    documents_->at_step(Split::kTrain, index, out.memory);
  else
    text_->draw(Split::kTrain, batch_size_, rng, out.memory);
  to_tensors(out);
}

TokenBatch TrainData::train_batch_at(const std::vector<std::int64_t>& offsets) const {
  if (documents_) {
    check(offsets.size() == 1, "data", "a document batch has one offset, got {}", offsets.size());
    return to_tensors(documents_->at_step(Split::kTrain, offsets[0]));
  }
  return to_tensors(text_->batch_at(Split::kTrain, offsets));
}

TokenBatch TrainData::eval_batch(Split split, std::int64_t index, std::int64_t count, Generator* rng) const {
  if (documents_) return to_tensors(documents_->at_step(split, index));
  if (rng) return to_tensors(text_->draw(split, batch_size_, *rng));
  const std::int64_t windows = text_->window_count(split);
  const std::int64_t wanted = count * batch_size_;
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = index * batch_size_; i < (index + 1) * batch_size_; ++i)
    offsets.push_back(static_cast<std::int64_t>(static_cast<double>(windows) * static_cast<double>(i) /
                                                static_cast<double>(wanted)));
  return to_tensors(text_->batch_at(split, offsets));
}

std::string TrainData::fingerprint() const {
  // FNV-1a over the ids: it only has to notice a mix-up.
  std::uint64_t hash = 1469598103934665603ull;
  std::int64_t count = 0;
  for (const Split split : {Split::kTrain, Split::kValidation})
    for (const std::int32_t id : tokens(split)) {
      hash = (hash ^ static_cast<std::uint64_t>(id)) * 1099511628211ull;
      ++count;
    }
  return fmt::format("{}-{:016x}", count, hash);
}

}  // namespace minigpt
