#include "tools/lessons/word_model.h"

#include <algorithm>

#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/reshape.h"
#include "nn/optim/adam.h"
#include "nn/schedule.h"
#include "tensor/reduce.h"
#include "tensor/views.h"

namespace minigpt::lessons {
Vocabulary::Vocabulary() {
  for (const std::string& word : all_words())
    if (ids_.emplace(word, static_cast<std::int32_t>(size())).second) words_.push_back(word);
}

std::int32_t Vocabulary::id(const std::string& word) const {
  const auto found = ids_.find(word);
  check(found != ids_.end(), "vocabulary", "there is no word '{}'", word);
  return found->second;
}

PaddedBatch Vocabulary::ids(const std::vector<Sentence>& sentences) const {
  std::vector<std::vector<std::int32_t>> rows;
  for (const Sentence& s : sentences) {
    rows.emplace_back();
    for (const std::string& word : s.words) rows.back().push_back(id(word));
  }
  return pad_sequences(rows);
}

Tensor Vocabulary::answers(const std::vector<Sentence>& sentences) const {
  const std::int64_t T = ids(sentences).ids.dim(1);
  Tensor answers = full({static_cast<std::int64_t>(sentences.size()), T}, kNotAsked, DType::i32);
  std::int32_t* row = answers.mutable_data<std::int32_t>();
  for (const Sentence& s : sentences) {
    for (std::size_t t = 0; t < s.words.size(); ++t)
      if (!s.answers[t].empty()) row[t] = id(s.answers[t]);
    row += T;
  }
  return answers;
}

WordModel::WordModel(std::int64_t vocabulary, bool causal_, Generator& rng) : causal(causal_) {
  constexpr std::int64_t kChannels = 48, kHeads = 4, kLongest = 16;
  embedding = Embedding(vocabulary, kChannels, rng);
  positions = LearnedPositions(kLongest, kChannels, rng);
  layer = TransformerEncoderLayer({.d_model = kChannels,
                                   .nhead = kHeads,
                                   .dim_feedforward = 4 * kChannels,
                                   .dropout = 0,
                                   .norm_first = true},
                                  rng);
  norm = LayerNorm(kChannels);
  read_out = Linear(kChannels, vocabulary, /*with_bias=*/true, rng);
  stamp_paths(*this);
}

Variable WordModel::forward(const PaddedBatch& batch) const {
  return read_out.forward(norm.forward(layer.forward(embedded(batch), masks(batch))));
}

Tensor WordModel::weights(const Sentence& sentence, const Vocabulary& words) const {
  const NoGrad no_grad;
  const PaddedBatch batch = words.ids({sentence});
  const Variable y = layer.norm1.forward(embedded(batch));
  return select(layer.self_attn.forward(y, y, y, masks(batch), {}, WeightsOf::each_head).weights.value(), 0,
                0);
}

Tensor answers_by(const WordModel& model, const PaddedBatch& batch) {
  const NoGrad no_grad;
  return argmax(model.forward(batch).value(), {-1});
}

std::map<std::string, double> exam(const WordModel& model, const Vocabulary& words,
                                   const std::vector<Sentence>& sentences) {
  const Tensor given = answers_by(model, words.ids(sentences)), right = words.answers(sentences);
  std::map<std::string, std::pair<double, double>> counts;
  for (std::size_t b = 0; b < sentences.size(); ++b)
    for (std::size_t t = 0; t < sentences[b].words.size(); ++t) {
      if (sentences[b].answers[t].empty()) continue;
      const std::string& word = sentences[b].words[t];
      const bool named = word == "it" || word == "whose" || word == ".";
      auto& [good, all] = counts[named ? word : sentences[b].words[0] == "The" ? "comfortable" : "snow"];
      const std::int64_t i = static_cast<std::int64_t>(b), j = static_cast<std::int64_t>(t);
      good += given.at({i, j}) == right.at({i, j}) ? 1 : 0;
      all += 1;
    }
  std::map<std::string, double> percent;
  for (const auto& [word, count] : counts) percent[word] = 100 * count.first / count.second;
  return percent;
}

void teach(WordModel& model, const Vocabulary& words, std::int64_t steps, Generator& rng) {
  const std::vector<NamedParameter> parameters = named_parameters(model);
  Adam optimizer({{parameters, 3e-3, 0.1}}, {0.9, 0.99, 1e-8, true});
  const Schedule rate = {Schedule::Kind::wsd, 3e-3, 0, 20, steps, steps / 2};
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::vector<Sentence> sentences = draw_sentences(32, true, rng);
    const Variable scores = model.forward(words.ids(sentences));  // (B, T, V)
    const Variable loss = cross_entropy(flatten(scores, 0, 1), flatten(words.answers(sentences), 0, 1),
                                        Reduction::mean, kNotAsked);
    optimizer.zero_grad();
    loss.backward();
    optimizer.set_learning_rate(rate.at(step));
    optimizer.step(clip_factor(grad_norm(parameters), 1));
  }
}

Tensor mean_of_heads(const WordModel& model, const Sentence& s, const Vocabulary& words) {
  return mean(model.weights(s, words), {0});
}

double on_next(const Tensor& weights) {
  double sum = 0;
  const std::int64_t T = weights.dim(0);
  for (std::int64_t i = 0; i + 1 < T; ++i) sum += weights.at({i, i + 1});
  return sum / static_cast<double>(T - 1);
}

std::int64_t place_of(const Sentence& s, const std::string& word) {
  return std::find(s.words.begin(), s.words.end(), word) - s.words.begin();
}

}  // namespace minigpt::lessons
