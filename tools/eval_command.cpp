// minigpt eval: the loss of a trained model over a whole text.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "models/evaluate.h"
#include "models/plural.h"
#include "models/train_data.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inputs.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string model, data;
  TextOption threads;
  bool json = false;
};

// With documents, each line between two boundaries.
std::vector<std::int32_t> tokens_of(const LoadedModel& loaded, std::u32string_view text,
                                    const std::string& source) {
  if (!loaded.config.documents) return loaded.tokenizer.encode(text, source);
  std::vector<std::int32_t> tokens = {loaded.tokenizer.document_id()};
  for (const std::u32string_view line : split_lines(text)) {
    const std::vector<std::int32_t> ids = loaded.tokenizer.encode(line, source);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    tokens.push_back(loaded.tokenizer.document_id());
  }
  return tokens;
}

int run(const Options& o) {
  apply_threads(o.threads);
  Remarks remarks;
  const LoadedModel loaded = read_model(o.model, Weights::finite, remarks);
  const LoadedText text = read_text(o.data, remarks);
  check(text.text.size() >= 2, "eval", "{}: {}, but at least 2 are needed", o.data,
        count_of(text.text.size(), "character"));
  const std::vector<std::int32_t> tokens = tokens_of(loaded, text.text, o.data);
  work_begins();
  const TextScore result = loaded.config.documents
                               ? score_documents(*loaded.model, tokens, loaded.tokenizer.document_id())
                               : score_text(*loaded.model, tokens);
  if (!std::isfinite(result.loss()))
    throw RunError(
        fmt::format("[eval] the loss is {}: the model's numbers have become too large", result.loss()));
  remarks.print();
  if (o.json) {
    nlohmann::ordered_json line;
    line["loss"] = result.loss();
    line["bits_per_character"] = result.bits();
    line["perplexity"] = result.perplexity();
    line["characters"] = result.count;
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("loss {:.4f} nats per character, {:.4f} bits per character, perplexity {:.3f} ({} scored)\n",
               result.loss(), result.bits(), result.perplexity(), count_of(result.count, "character"));
  }
  return 0;
}

}  // namespace

Command add_eval(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "Scores a text with a trained model: every character but the first, each with at least half a "
      "context.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->required();
  app.add_option("--data", o->data, "UTF-8 text file")->type_name("FILE")->required();
  app.add_flag("--json", o->json, "print one JSON object");
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
