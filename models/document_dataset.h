#pragma once
// Short documents, one a line (a list of names): each is a training example of its own.
//
//   line "emma"  ->  <doc> e m m a <doc>        inputs  <doc> e m m a
//                                               targets e m m a <doc>
//
// The model learns how documents begin and end, and nothing ever runs from one document into the next.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text_dataset.h"
#include "models/tokenizer.h"

namespace minigpt {

class DocumentDataset {
 public:
  // The non-empty lines of `text`, shuffled (a list is often sorted, and its end is no fair sample): one
  // randperm of `rng`. Of D documents the first int(D * train_fraction) of the shuffled order are for
  // training, at least one. A document longer than the window keeps its first `block` predictions. Throws
  // Error when block < 1, train_fraction is outside (0, 1], the text has no documents, the tokenizer has no
  // document token or not all the characters, and when no document is left for training.
  DocumentDataset(std::u32string_view text, const CharTokenizer& tokenizer, double train_fraction,
                  std::int64_t block, Generator& rng);

  std::int64_t count(Split split) const;
  bool has_validation() const { return count(Split::kValidation) > 0; }
  // Why there is none, in one line; "" when there is.
  std::string validation_note() const;
  // Documents cut to the window, for a note to the user.
  std::int64_t cut_count() const { return cut_count_; }

  // Document `step` of a part, in order and starting over at its end: B = 1, T = min(length + 1, block), and
  // offsets = {document number}.
  // Throws Error when step < 0 or the part is empty.
  Batch at_step(Split split, std::int64_t step) const;
  // The same, into a batch whose memory is reused.
  void at_step(Split split, std::int64_t step, Batch& out) const;

  // A part as one stream, <doc> emma <doc> olivia <doc>: what counting models read.
  std::span<const std::int32_t> tokens(Split split) const;

 private:
  std::vector<std::int32_t>
      tokens_;  // all documents in shuffled order; neighbours share the <doc> between them
  std::vector<std::int64_t> starts_;  // (D + 1): the position of the <doc> before each, and of the last one
  std::int64_t train_count_ = 0;
  std::int64_t block_ = 0;
  std::int64_t cut_count_ = 0;
};

}  // namespace minigpt
