#pragma once
// The text of a run as a source of batches: windows of one long text, or one line at a time.

#include <optional>

#include "models/document_dataset.h"
#include "models/text_dataset.h"
#include "models/train_config.h"
#include "tensor/tensor.h"

namespace minigpt {

// A batch as tensors, int32 (B, T).
struct TokenBatch {
  Tensor inputs, targets;
  std::vector<std::int64_t> offsets;  // where its windows start; what a checkpoint keeps of it
  Batch memory;                       // reused when the next batch is drawn into this one
};

class TrainData {
 public:
  // Cuts the text as the configuration says. Throws Error if it is too short for one window, or holds a character that
  // the tokenizer does not know.
  TrainData(const TrainConfig& config, const CharTokenizer& tokenizer, std::u32string_view text,
            std::string_view source);

  bool has_validation() const;
  std::string validation_note() const;
  // All ids of a part; for documents, with their separators.
  std::span<const std::int32_t> tokens(Split split) const;

  // Training batch number `index`: random windows (one draw each), or the next document (no draw).
  TokenBatch train_batch(std::int64_t index, Generator& rng) const;
  // The same, into a batch that is no longer needed, whose memory is reused: a training step does not allocate.
  void train_batch(std::int64_t index, Generator& rng, TokenBatch& out) const;
  // A batch made before, from its offsets.
  TokenBatch train_batch_at(const std::vector<std::int64_t>& offsets) const;
  // Evaluation batch number `index` of `count`: drawn from rng if there is one, else windows spread evenly over the part
  // (or the first documents), always the same.
  TokenBatch eval_batch(Split split, std::int64_t index, std::int64_t count, Generator* rng) const;

  // Identifies the text: a resumed run must see the same one.
  std::string fingerprint() const;

 private:
  std::int64_t batch_size_;
  std::optional<TextDataset> text_;
  std::optional<DocumentDataset> documents_;
};

}  // namespace minigpt
