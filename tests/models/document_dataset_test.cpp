#include "models/document_dataset.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tensor/error.h"
#include "tensor/generator.h"

namespace minigpt {
namespace {

using Ids = std::vector<std::int32_t>;

// Ten documents, named after their place in the file.
const std::u32string kDigits = U"0\n1\n2\n3\n4\n\n5\r\n6\n7\n8\n9";

TEST_CASE("documents: each runs from <doc> to <doc>") {
  const std::u32string text = U"emma\n";
  const CharTokenizer tokenizer = CharTokenizer::from_text(text, true);  // a 0, e 1, m 2, <doc> 3
  Generator rng(1);
  const DocumentDataset data(text, tokenizer, 1.0, 16, rng);
  const Batch batch = data.at_step(Split::kTrain, 0);
  CHECK(batch.batch == 1);
  CHECK(batch.block == 5);
  CHECK(batch.inputs == Ids{3, 1, 2, 2, 0});
  CHECK(batch.targets == Ids{1, 2, 2, 0, 3});
  CHECK(data.cut_count() == 0);
}

TEST_CASE("documents: one PyTorch randperm decides the order; steps walk it and start over") {
  const CharTokenizer tokenizer = CharTokenizer::from_text(kDigits, true);
  Generator rng(123);
  const DocumentDataset data(kDigits, tokenizer, 0.7, 16, rng);
  CHECK(data.count(Split::kTrain) == 7);
  CHECK(data.count(Split::kValidation) == 3);
  const std::string order = "2081374956";  // torch.randperm(10), seed 123
  for (std::int64_t step = 0; step < 20; ++step) {
    CHECK(tokenizer.decode(data.at_step(Split::kTrain, step).targets) ==
          order.substr(static_cast<std::size_t>(step % 7), 1) + "\n");
    CHECK(data.at_step(Split::kTrain, step).offsets[0] == step % 7);
    CHECK(tokenizer.decode(data.at_step(Split::kValidation, step).targets) ==
          order.substr(static_cast<std::size_t>(7 + step % 3), 1) + "\n");
  }
  CHECK(tokenizer.decode(data.tokens(Split::kTrain)) == "\n2\n0\n8\n1\n3\n7\n4\n");
  CHECK(tokenizer.decode(data.tokens(Split::kValidation)) == "\n9\n5\n6\n");
  CHECK_THROWS_AS(data.at_step(Split::kTrain, -1), Error);
}

TEST_CASE("documents: what does not fit the window is cut, and counted") {
  const std::u32string text = U"abcd\nab";
  const CharTokenizer tokenizer = CharTokenizer::from_text(text, true);
  Generator rng(1);
  const DocumentDataset data(text, tokenizer, 1.0, 4, rng);
  CHECK(data.cut_count() == 1);  // "abcd" has five predictions, "ab" three
  CHECK(DocumentDataset(text, tokenizer, 1.0, 5, rng).cut_count() == 0);  // fits to the last place
  CHECK(DocumentDataset(text, tokenizer, 1.0, 2, rng).cut_count() == 2);
  for (std::int64_t step = 0; step < 2; ++step) {
    const Batch batch = data.at_step(Split::kTrain, step);
    if (batch.block == 4) {
      CHECK(batch.inputs == Ids{4, 0, 1, 2});
      CHECK(batch.targets == Ids{0, 1, 2, 3});
    } else {
      CHECK(batch.targets == Ids{0, 1, 4});
    }
  }
}

TEST_CASE("documents: without validation, and what is refused") {
  const CharTokenizer tokenizer = CharTokenizer::from_text(kDigits, true);
  Generator rng(1);
  const DocumentDataset all(kDigits, tokenizer, 1.0, 4, rng);
  CHECK_FALSE(all.has_validation());
  CHECK(all.validation_note() == "no validation loss: all documents are used for training");
  CHECK_THROWS_AS(all.at_step(Split::kValidation, 0), Error);

  CHECK_THROWS_WITH_AS(DocumentDataset(U"\n\n", tokenizer, 0.9, 4, rng), doctest::Contains("no documents"),
                       Error);
  CHECK_THROWS_WITH_AS(DocumentDataset(U"1", tokenizer, 0.9, 4, rng),
                       doctest::Contains("no document is left"), Error);
  CHECK_THROWS_WITH_AS(DocumentDataset(U"1\n2x", tokenizer, 1.0, 4, rng),
                       doctest::Contains("document 2: character 'x' (U+0078) at position 1"), Error);
  CHECK_THROWS_AS(DocumentDataset(kDigits, tokenizer, 0.0, 4, rng), Error);
  CHECK_THROWS_AS(DocumentDataset(kDigits, tokenizer, 0.9, 0, rng), Error);
  CHECK_THROWS_WITH_AS(DocumentDataset(kDigits, CharTokenizer::from_text(kDigits), 0.9, 4, rng),
                       doctest::Contains("no document token"), Error);
}

}  // namespace
}  // namespace minigpt
