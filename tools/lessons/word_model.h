#pragma once
// A small model of whole words that is asked, at some words of a sentence, which other word they are about.

#include <map>
#include <string>
#include <vector>

#include "models/encoder_decoder.h"
#include "tools/lessons/sentences.h"

namespace minigpt::lessons {

inline constexpr std::int32_t kNotAsked = -100;

// All words that the sentences use, numbered from kFirstSymbol on.
class Vocabulary {
 public:
  Vocabulary();
  std::int64_t size() const { return kFirstSymbol + static_cast<std::int64_t>(words_.size()); }
  std::int32_t id(const std::string& word) const;
  const std::string& word(std::int32_t id) const {
    return words_.at(static_cast<std::size_t>(id - kFirstSymbol));
  }
  PaddedBatch ids(const std::vector<Sentence>& sentences) const;
  // The answers to be given, filled up like the ids: (B, T), kNotAsked where nothing is asked.
  Tensor answers(const std::vector<Sentence>& sentences) const;

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::int32_t> ids_;
};

// Embedding + positions -> one layer of four heads -> a score for every word of the vocabulary as the answer. With a single
// layer there are no go-betweens: what a word learns of the others, it reads from them itself.
struct WordModel : Module {
  Embedding embedding;
  LearnedPositions positions;
  TransformerEncoderLayer layer;
  LayerNorm norm;
  Linear read_out;
  bool causal = false;  // may a word look at later ones?

  WordModel(std::int64_t vocabulary, bool causal, Generator& rng);

  template <class V>
  void visit(V&& v) {
    v("embedding", embedding);
    v("positions", positions);
    v("layer", layer);
    v("norm", norm);
    v("read_out", read_out);
  }

  // (B, T) -> (B, T, V)
  Variable forward(const PaddedBatch& batch) const;
  // The attention weights of one sentence: (H, T, T).
  Tensor weights(const Sentence& sentence, const Vocabulary& words) const;

 private:
  Variable embedded(const PaddedBatch& batch) const {
    return positions.forward(embedding.forward(batch.ids));
  }
  HiddenMasks masks(const PaddedBatch& batch) const {
    return {.key_padding_mask = batch.hidden(), .causal = causal};
  }
};

// Trains it on random sentences for so many steps.
void teach(WordModel& model, const Vocabulary& words, std::int64_t steps, Generator& rng);
// The attention weights of a sentence, mean of the heads: (T, T).
Tensor mean_of_heads(const WordModel& model, const Sentence& sentence, const Vocabulary& words);
// The mean weight that a word gives the next one; weights: (T, T).
double on_next(const Tensor& weights);
// Where a word stands in a sentence.
std::int64_t place_of(const Sentence& sentence, const std::string& word);
// The likeliest answer at each word of some sentences: ids (B, T).
Tensor answers_by(const WordModel& model, const PaddedBatch& batch);
// The share of right answers, in percent, by the word that is asked; all reasons count as "comfortable", all likenesses as
// "snow".
std::map<std::string, double> exam(const WordModel& model, const Vocabulary& words,
                                   const std::vector<Sentence>& sentences);

}  // namespace minigpt::lessons
