#include "models/encoder_decoder.h"

#include <algorithm>

#include "nn/optim/adam.h"
#include "tensor/parallel.h"
#include "tests/nn/layer_testing.h"

namespace minigpt {
namespace {

using namespace testing;
using Sequences = std::vector<std::vector<std::int32_t>>;

EncoderDecoderConfig tiny() {
  EncoderDecoderConfig c;
  c.source_vocab = 7;
  c.target_vocab = 6;
  c.longest = 8;
  c.d_model = 4;
  c.n_head = 2;
  c.n_layer = 1;
  c.d_hidden = 5;
  return c;
}

// In float64, so that rounding hides nothing.
EncoderDecoder tiny_model(std::uint64_t seed, EncoderDecoderConfig config = tiny()) {
  Generator rng(seed);
  EncoderDecoder model(config, rng);
  convert_parameters(model, DType::f64);
  return model;
}

const Sequences kSources = {{3, 4, 5, 6}, {5}, {6, 3}};
const Sequences kTargets = {{4, 3}, {5, 5, 4}, {}};

TEST_CASE("pad_sequences fills up to the longest, marks included") {
  const PaddedBatch batch = pad_sequences(kTargets, kStartId, kEndId);
  CHECK(batch.ids.shape() == Shape{3, 5});
  CHECK(batch.ids.to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{1, 4, 3, 2, 0, 1, 5, 5, 4, 2, 1, 2, 0, 0, 0});
  CHECK(batch.lengths == std::vector<std::int64_t>{4, 5, 2});
  const Tensor last = slice(batch.hidden(), 0, 2, 3).contiguous();
  CHECK(last.to_vector<bool>() == std::vector<bool>{false, false, true, true, true});
  CHECK(pad_sequences(Sequences{{}}).ids.shape() == Shape{1, 1});
  CHECK_THROWS_WITH_AS(pad_sequences(Sequences{}), "[pad_sequences] there are no sequences", Error);
}

TEST_CASE("EncoderDecoder: gradients of all parameters, several lengths at once, with dropout fixed") {
  for (const double dropout : {0.0, 0.3}) {
    EncoderDecoderConfig config = tiny();
    config.dropout = dropout;
    EncoderDecoder model = tiny_model(1, config);
    FixedDropout masks;
    std::vector<Variable> parameters;
    for (const NamedParameter& p : model.parameters()) parameters.push_back(p.variable);
    const GradcheckResult result = gradcheck(
        [&](const std::vector<Variable>&) {
          return model.loss(kSources, kTargets, dropout > 0 ? masks.fixed() : Mode());
        },
        parameters);
    CHECK_MESSAGE(result.ok, result.str());
  }
}

TEST_CASE("EncoderDecoder: padding has no influence and gets no gradient, exactly") {
  EncoderDecoder model = tiny_model(2);
  const Variable before = model.loss(kSources, kTargets);
  before.backward();
  for (const Embedding* table : {&model.source_embedding, &model.target_embedding}) {
    CHECK(largest(slice(table->weight.grad().value(), 0, kPadId, kPadId + 1)) == 0);
    CHECK(largest(slice(table->weight.grad().value(), 0, kFirstSymbol, kFirstSymbol + 1)) > 0);
  }
  // Another vector for the padding: the same bits.
  for (Embedding* table : {&model.source_embedding, &model.target_embedding})
    slice(table->weight.mutable_value(), 0, kPadId, kPadId + 1).fill_(3);
  CHECK(model.loss(kSources, kTargets).item() == before.item());
}

TEST_CASE("EncoderDecoder: the loss of a batch is the mean over all symbols to be written") {
  const EncoderDecoder model = tiny_model(3);
  double nats = 0, symbols = 0;
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    const double count = static_cast<double>(kTargets[i].size()) + 1;  // and the end
    nats += count * model.loss(Sequences{kSources[i]}, Sequences{kTargets[i]}).item();
    symbols += count;
  }
  CHECK(std::abs(model.loss(kSources, kTargets).item() - nats / symbols) < 1e-12);
}

TEST_CASE("EncoderDecoder: the loss is that of PyTorch's encoder and decoder") {
  // PyTorch 1.13: nn.TransformerEncoder and nn.TransformerDecoder of two pre-norm layers with a final LayerNorm, given
  // these weights and key padding masks; its cross-entropy ignores the padding.
  EncoderDecoderConfig config;
  config.source_vocab = 11;
  config.target_vocab = 9;
  config.longest = 12;
  config.d_model = 16;
  config.d_hidden = 24;
  Generator rng(5);
  const EncoderDecoder model(config, rng);
  const Variable loss =
      model.loss(Sequences{{3, 4, 5, 6, 10}, {7}, {8, 9, 3}}, Sequences{{3, 8}, {4, 5, 6, 7}, {}});
  CHECK(std::abs(loss.item() - 2.328892) < 3e-6);
}

TEST_CASE("EncoderDecoder: greedy writing is what teacher forcing scores highest at every position") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const EncoderDecoder model = tiny_model(seed);
    const Sequences written = model.greedy(kSources, 6);
    // Given what it wrote, all positions at once.
    const PaddedBatch source = pad_sequences(kSources), given = pad_sequences(written, kStartId);
    const Tensor logits = model.decode(given, model.encode(source), source).value();
    const Tensor best = argmax(slice(logits, 2, kEndId, logits.dim(2)), {-1}) + kEndId;
    for (std::int64_t b = 0; b < source.size(); ++b) {
      const auto& text = written[static_cast<std::size_t>(b)];
      const auto length = static_cast<std::int64_t>(text.size());
      CHECK(length <= 6);
      for (std::int64_t t = 0; t < length; ++t)
        CHECK(best.at({b, t}) == static_cast<double>(text[static_cast<std::size_t>(t)]));
      if (length < 6) CHECK(best.at({b, length}) == static_cast<double>(kEndId));
      // Beside others or alone.
      CHECK(model.greedy(Sequences{kSources[static_cast<std::size_t>(b)]}, 6)[0] == text);
    }
  }
}

// Trains a small model to write words of 3 or 4 letters backwards.
struct Backwards {
  Generator rng;
  EncoderDecoder model;
  Adam optimizer;

  static EncoderDecoderConfig config() {
    EncoderDecoderConfig c;
    c.source_vocab = c.target_vocab = kFirstSymbol + 8;
    c.longest = 6;
    c.d_model = 32;
    c.n_head = 2;
    c.d_hidden = 64;
    return c;
  }
  // Words that begin and end with the same letter are kept from it.
  static bool kept_back(const std::vector<std::int32_t>& word) { return word.front() == word.back(); }

  explicit Backwards(std::uint64_t seed)
      : rng(seed),
        model(config(), rng),
        optimizer({{model.parameters(), 4e-3, 0}}, {0.9, 0.98, 1e-8, true}) {}

  Sequences words(std::size_t count, bool unseen) {
    Sequences out;
    while (out.size() < count) {
      std::vector<std::int32_t> word(static_cast<std::size_t>(rng.randint(3, 5)));
      rng.randint(std::span<std::int32_t>(word), kFirstSymbol, kFirstSymbol + 8);
      if (kept_back(word) == unseen) out.push_back(word);
    }
    return out;
  }
  static Sequences answers(Sequences words) {
    for (auto& word : words) std::reverse(word.begin(), word.end());
    return words;
  }
  double step() {
    const Sequences batch = words(32, false);
    optimizer.zero_grad();
    const Variable loss = model.loss(batch, answers(batch));
    loss.backward();
    optimizer.step(clip_factor(grad_norm(model.parameters()), 1));
    return loss.item();
  }
};

TEST_CASE("EncoderDecoder: learns to write words backwards that it has not seen") {
  Backwards task(1);
  for (int i = 0; i < 300; ++i) task.step();
  const Sequences questions = task.words(500, true);
  const Sequences wanted = Backwards::answers(questions), written = task.model.greedy(questions, 5);
  std::size_t right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) right += wanted[i] == written[i] ? 1 : 0;
  CAPTURE(right);
  CHECK(static_cast<double>(right) > 0.95 * static_cast<double>(wanted.size()));
}

TEST_CASE("EncoderDecoder: training gives the same bits with any number of threads") {
  std::vector<double> losses[2];
  for (const int threads : {1, 3}) {
    const ScopedNumThreads scope(threads);
    Backwards task(5);
    for (int i = 0; i < 5; ++i) losses[threads / 3].push_back(task.step());
  }
  CHECK(losses[0] == losses[1]);
}

TEST_CASE("EncoderDecoder: what does not fit is said") {
  Generator rng(1);
  EncoderDecoderConfig config = tiny();
  config.source_vocab = 3;
  CHECK_THROWS_WITH_AS(EncoderDecoder(config, rng),
                       "[encoder_decoder] vocabularies need a symbol beside the 3 special ids, got 3 and 6",
                       Error);
  config = tiny();
  config.n_head = 3;
  CHECK_THROWS_WITH_AS(EncoderDecoder(config, rng),
                       "[encoder_decoder] 4 channels cannot be split into 3 heads", Error);
  const EncoderDecoder model = tiny_model(1);
  CHECK_THROWS_WITH_AS(model.loss(kSources, Sequences{{3}}), "[encoder_decoder] 3 sources, but 1 targets",
                       Error);
  CHECK_THROWS_WITH_AS(model.greedy(kSources, 8),
                       "[encoder_decoder] 8 symbols and a start mark do not fit into 8 places", Error);
  CHECK_THROWS_AS(model.greedy(Sequences{std::vector<std::int32_t>(9, 3)}, 2), Error);  // source too long
}

}  // namespace
}  // namespace minigpt
