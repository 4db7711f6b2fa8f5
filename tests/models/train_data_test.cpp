#include "models/train_data.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

using test::tiny_run;
using test::TinyData;

std::vector<std::int32_t> ids(const Tensor& x) { return x.to_vector<std::int32_t>(); }

TrainConfig documents_run() {
  TrainConfig config = tiny_run();
  config.documents = true;
  config.batch_size = 1;
  config.train_fraction = 0.5;
  return config;
}

TEST_CASE("train data: a batch is windows of the text, and targets are one character further") {
  const TrainConfig config = tiny_run();  // B = 3, T = 8, 90 % of 400 characters
  const TinyData tiny(config);
  Generator rng(1);
  const TokenBatch batch = tiny.data.train_batch(0, rng);
  CHECK(batch.inputs.shape() == Shape{3, 8});
  CHECK(batch.targets.shape() == Shape{3, 8});
  CHECK(batch.offsets.size() == 3);
  const auto tokens = tiny.data.tokens(Split::kTrain);
  CHECK(tokens.size() == 360);
  CHECK(tiny.data.tokens(Split::kValidation).size() == 40);
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t t = 0; t < 8; ++t) {
      const auto at = static_cast<std::size_t>(batch.offsets[static_cast<std::size_t>(b)] + t);
      CHECK(batch.inputs.at({b, t}) == tokens[at]);
      CHECK(batch.targets.at({b, t}) == tokens[at + 1]);
    }
}

TEST_CASE("train data: a batch can be made again from its offsets") {
  for (const bool documents : {false, true}) {
    TrainConfig config = documents ? documents_run() : tiny_run();
    const TinyData tiny(config, documents ? U"anna\nbob\ncarla\ndora\n" : test::random_text(400));
    Generator rng(4);
    for (std::int64_t i = 0; i < 5; ++i) {
      const TokenBatch batch = tiny.data.train_batch(i, rng), again = tiny.data.train_batch_at(batch.offsets);
      CHECK(ids(again.inputs) == ids(batch.inputs));
      CHECK(ids(again.targets) == ids(batch.targets));
      CHECK(again.offsets == batch.offsets);
    }
    CHECK_THROWS_AS(tiny.data.train_batch_at({}), Error);
    CHECK_THROWS_AS(tiny.data.train_batch_at({-1}), Error);
  }
  const TinyData tiny(tiny_run());
  CHECK_NOTHROW(tiny.data.train_batch_at({351}));  // the last window: 351 + 8 is the last training character
  CHECK_THROWS_AS(tiny.data.train_batch_at({352}), Error);
}

TEST_CASE("train data: each window is one draw; a document draws nothing") {
  const TinyData windows(tiny_run());
  Generator rng(5), other(5);
  windows.data.train_batch(0, rng);
  for (int i = 0; i < 3; ++i) other.u32();
  CHECK(rng.state() == other.state());
  windows.data.eval_batch(Split::kValidation, 0, 4, &rng);
  for (int i = 0; i < 3; ++i) other.u32();
  CHECK(rng.state() == other.state());

  const TinyData documents(documents_run(), U"anna\nbob\ncarla\ndora\n");
  documents.data.train_batch(0, rng);
  documents.data.eval_batch(Split::kTrain, 0, 4, &rng);
  CHECK(rng.state() == other.state());
}

TEST_CASE("train data: without a stream, evaluation reads the same windows, spread over the part") {
  const TinyData tiny(tiny_run());
  std::set<std::int64_t> starts;
  for (std::int64_t i = 0; i < 4; ++i) {
    const TokenBatch batch = tiny.data.eval_batch(Split::kTrain, i, 4, nullptr);
    CHECK(tiny.data.eval_batch(Split::kTrain, i, 4, nullptr).offsets == batch.offsets);
    starts.insert(batch.offsets.begin(), batch.offsets.end());
  }
  CHECK(starts.size() == 12);
  CHECK(*starts.begin() == 0);
  CHECK(*starts.rbegin() == 352 * 11 / 12);
  // More windows wanted than there are: some come twice, none is outside.
  for (std::int64_t i = 0; i < 100; ++i)
    CHECK_NOTHROW(tiny.data.eval_batch(Split::kValidation, i, 100, nullptr));
}

TEST_CASE("train data: documents are shuffled by the seed, cut at the window, and come round again") {
  TrainConfig config = documents_run();
  config.model.block_size = 4;
  const TinyData tiny(config, U"anna\nbob\ncarla\ndora\n");
  Generator rng(1);
  std::set<std::vector<std::int32_t>> seen;
  for (std::int64_t i = 0; i < 4; ++i) {
    const TokenBatch batch = tiny.data.train_batch(i, rng);
    CHECK(batch.inputs.dim(0) == 1);
    CHECK(batch.inputs.dim(1) == 4);  // <doc> and three letters, whatever the length beyond
    CHECK(batch.inputs.at({0, 0}) == tiny.tokenizer.document_id());
    seen.insert(ids(batch.inputs));
  }
  CHECK(seen.size() == 2);  // half of four documents, twice
  CHECK(tiny.data.has_validation());
  CHECK(tiny.data.tokens(Split::kTrain).front() == tiny.tokenizer.document_id());
  CHECK(tiny.data.tokens(Split::kTrain).back() == tiny.tokenizer.document_id());

  config.seed = 2;
  std::set<std::string> orders;
  for (config.seed = 0; config.seed < 8; ++config.seed) {
    const TrainData other(config, tiny.tokenizer, tiny.text, "text");
    orders.insert(tiny.tokenizer.decode(other.tokens(Split::kTrain)));
  }
  CHECK(orders.size() > 1);
}

TEST_CASE("train data: a part that is too short is said, once, and is no error; too little to train on is") {
  TrainConfig config = tiny_run();
  const TinyData short_validation(config, test::random_text(80));  // 8 characters, 9 are needed
  CHECK_FALSE(short_validation.data.has_validation());
  CHECK(short_validation.data.validation_note().find("8 characters, but one window needs 9") !=
        std::string::npos);
  config.train_fraction = 1;
  const TinyData all(config);
  CHECK_FALSE(all.data.has_validation());
  CHECK(all.data.validation_note() != "");
  CHECK(TinyData(tiny_run()).data.validation_note() == "");
  config.train_fraction = 0.9;
  CHECK_THROWS_WITH_AS(TinyData(config, test::random_text(9)), doctest::Contains("too short"), Error);
}

TEST_CASE("train data: a character outside the vocabulary is refused with its place") {
  const TinyData tiny(tiny_run());
  CHECK_THROWS_WITH_AS(TrainData(tiny_run(), tiny.tokenizer, U"abcX", "other.txt"),
                       doctest::Contains("other.txt"), Error);
}

TEST_CASE(
    "train data: the fingerprint tells texts apart, and the same text from another seed is the same text") {
  TrainConfig config = tiny_run();
  const TinyData a(config), b(config), c(config, test::random_text(400, 2)),
      d(config, test::random_text(401));
  CHECK(a.data.fingerprint() == b.data.fingerprint());
  CHECK(a.data.fingerprint() != c.data.fingerprint());
  CHECK(a.data.fingerprint() != d.data.fingerprint());
  CHECK(a.data.fingerprint().starts_with("400-"));
  config.seed = 99;
  CHECK(TinyData(config).data.fingerprint() == a.data.fingerprint());
}

}  // namespace
}  // namespace minigpt
