#pragma once
// A text as training data: token ids, cut into a training and a validation part, read in windows of `block`
// tokens.
//
// Windows start anywhere, so in a file made of several documents some windows run from one document into the
// next and the model learns those joins too. That is a known simplification: put a separator character
// between documents, or use DocumentDataset (models/document_dataset.h), which never mixes them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/error.h"

namespace minigpt {

// What can be done about it depends on who asked, and is theirs to say.
class TextTooShort : public Error {
 public:
  using Error::Error;
};

class Generator;

enum class Split { kTrain, kValidation };

// B windows of T = block tokens, row-major (B, T): targets[b][t] is the token that follows inputs[b][t].
struct Batch {
  std::vector<std::int64_t> offsets;  // (B): where each window starts within its part
  std::vector<std::int32_t> inputs;   // (B, T)
  std::vector<std::int32_t> targets;  // (B, T)
  std::int64_t batch = 0;
  std::int64_t block = 0;
};

class TextDataset {
 public:
  // The first int(N * train_fraction) of the N tokens are for training, the rest for validation (nanoGPT's
  // split). Throws Error when block < 1 and when train_fraction is outside (0, 1], and TextTooShort, with both
  // lengths, when the training part cannot hold one window and its last target, block + 1 tokens.
  TextDataset(std::vector<std::int32_t> tokens, double train_fraction, std::int64_t block);

  std::int64_t block() const { return block_; }
  std::span<const std::int32_t> tokens(Split split) const;

  // False when the validation part holds no window; then validation_note() says why, in one line, and the
  // loss on it is "not available", which is not 0.
  bool has_validation() const { return window_count(Split::kValidation) > 0; }
  std::string validation_note() const;

  // The number of windows in a part of N tokens: N - block, or 0 when that is negative.
  std::int64_t window_count(Split split) const;

  // The windows that start at `offsets`, each 0 .. window_count - 1.
  // Throws Error for no offsets, a bad offset, and a part without windows.
  Batch batch_at(Split split, std::span<const std::int64_t> offsets) const;
  // The same, into a batch whose memory is reused.
  void batch_at(Split split, std::span<const std::int64_t> offsets, Batch& out) const;

  // `batch` random windows: each start one rng.randint(0, window_count), in order (nanoGPT's get_batch).
  Batch draw(Split split, std::int64_t batch, Generator& rng) const;
  void draw(Split split, std::int64_t batch, Generator& rng, Batch& out) const;

 private:
  void fill(Split split, Batch& out) const;

  std::vector<std::int32_t> tokens_;
  std::int64_t train_size_ = 0;
  std::int64_t block_ = 0;
};

// Inputs are the tokens start .. start + length - 1. The prediction made at index j is of token start + j +
// 1; it counts for first_counted <= j < length.
struct ScoringWindow {
  std::int64_t start = 0;
  std::int64_t length = 0;
  std::int64_t first_counted = 0;
  bool operator==(const ScoringWindow&) const = default;
};

// Windows that score a whole text once: every token but the first (nothing precedes it) is counted exactly
// once. The first window counts whole; each next one moves on by s = max(1, block / 2) and counts its last s
// predictions, so these see at least block - s tokens of context, where windows laid end to end would give
// the first of each one. The last window is moved back to end with the text and counts what is left; so all
// windows are `block` long, except that a text of fewer than block + 1 tokens is one short window. Throws
// Error when block < 1 or n_tokens < 2.
std::vector<ScoringWindow> scoring_windows(std::int64_t n_tokens, std::int64_t block);

}  // namespace minigpt
