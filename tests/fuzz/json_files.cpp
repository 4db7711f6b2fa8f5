// config.json, tokenizer.json and state.json from anywhere.

#include <optional>

#include "models/model_folder.h"
#include "tests/fuzz/properties.h"

namespace minigpt::test {

void fuzz_config(Bytes input) {
  // A file of settings for a new run may leave out most of them; that of a model folder is complete.
  for (const bool complete : {false, true}) {
    TrainConfig config;
    if (!accepted([&] { apply_json(config, text_of(input), "config.json", complete); })) {
      static const std::string before = to_json(TrainConfig());
      // Not each time, since writing them takes as long as all the rest.
      require(input.size() % 8 != 0 || to_json(config) == before, "settings that are refused change nothing");
      continue;
    }
    accepted([&] { config.validate(); });
    accepted([&] { config.model.validate(); });
    if (config.model.vocab_size == 0) config.model.vocab_size = 1;  // was left out
    const std::string written = to_json(config);
    TrainConfig again;
    apply_json(again, written, "written", true);
    require(to_json(again) == written, "settings survive writing and reading");
  }
}

void fuzz_tokenizer(Bytes input) {
  std::optional<CharTokenizer> tokenizer;
  if (!accepted([&] { tokenizer = CharTokenizer::from_json(text_of(input), "tokenizer.json"); })) return;
  require(CharTokenizer::from_json(tokenizer->to_json(), "written") == *tokenizer,
          "a vocabulary survives writing and reading");
  require(tokenizer->start_id() >= 0 && tokenizer->start_id() < tokenizer->vocab_size(),
          "texts start with a symbol of the vocabulary");
  const std::vector<std::int32_t> ids = tokenizer->encode(tokenizer->characters());
  for (std::size_t i = 0; i < ids.size(); ++i)
    require(ids[i] == static_cast<std::int32_t>(i), "the symbols are numbered in their order");
  require(tokenizer->decode(ids) == utf8_encode(tokenizer->characters()), "decoding undoes encoding");
  for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) require_message(tokenizer->label(id));
}

void fuzz_state(Bytes input) {
  TrainState state;
  if (!accepted([&] { state = train_state_from_json(text_of(input), "state.json"); })) return;
  const std::string written = to_json(state);
  require(to_json(train_state_from_json(written, "written")) == written,
          "a state survives writing and reading");
  Generator generator(1);
  generator.set_state(state.generator);
  generator.randint(0, 10);
}

}  // namespace minigpt::test
