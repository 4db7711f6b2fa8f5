// Bytes that are taken for text: what is trained on, a prompt, a name that an error quotes.

#include <optional>

#include "models/text_file.h"
#include "models/tokenizer.h"
#include "models/train_config.h"
#include "tests/fuzz/properties.h"

namespace minigpt::test {

void fuzz_text(Bytes input) {
  const std::string_view bytes = text_of(input);
  if (!bytes.empty()) require_message(one_line(bytes));
  accepted([&] { unescape(bytes); });
  nearest_name(bytes, {"steps", "batch_size", "learning_rate"});

  LoadedText loaded;
  if (!accepted([&] { loaded = decode_text(bytes, "text.txt"); })) return;
  const std::string back = utf8_encode(loaded.text);
  require(bytes == (loaded.had_bom ? "\xEF\xBB\xBF" : "") + back, "encoding undoes decoding");
  require(unescape(escape(loaded.text)) == loaded.text, "unescape undoes escape");
  for (const std::string& note : loaded.notes) require_message(note);
  for (const std::u32string_view line : split_lines(loaded.text))
    require(!line.empty() && line.find(U'\n') == line.npos, "a line is not empty and holds no line break");

  for (const bool documents : {false, true}) {
    std::optional<CharTokenizer> tokenizer;
    if (!accepted([&] { tokenizer = CharTokenizer::from_text(loaded.text, documents); })) continue;
    require(documents || tokenizer->decode(tokenizer->encode(loaded.text)) == back,
            "a vocabulary made of a text can say it");
    require(CharTokenizer::from_json(tokenizer->to_json(), "written") == *tokenizer,
            "a vocabulary survives writing and reading");
  }
}

}  // namespace minigpt::test
