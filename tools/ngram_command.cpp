// minigpt ngram: how far counting gets on a text.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "models/ngram.h"
#include "models/text_dataset.h"
#include "models/text_file.h"
#include "models/tokenizer.h"
#include "tools/arguments.h"
#include "tools/commands.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string data;
  TextOption train_fraction, order;
  bool json = false;
};

void print_json(const NgramLadder& ladder) {
  nlohmann::ordered_json out;
  out["uniform"] = ladder.uniform;
  out["characters"] = ladder.scored;
  for (const NgramLadder::Row& row : ladder.rows)
    out["orders"].push_back({{"order", row.order},
                             {"additive", row.additive_loss},
                             {"additive_constant", row.additive_constant},
                             {"witten_bell", row.witten_bell_loss}});
  out["best"] = ladder.best();
  fmt::print("{}\n", out.dump());
}

void print_table(const NgramLadder& ladder) {
  fmt::print("loss on the validation part ({} characters), nats per character\n", ladder.scored);
  fmt::print("  {:<22}{:>8.4f}\n", "guessing evenly", ladder.uniform);
  fmt::print("  {:<22}{:>8}  {:>10}  {:>12}\n", "", "additive", "(constant)", "Witten-Bell");
  for (const NgramLadder::Row& row : ladder.rows)
    fmt::print("  {:<22}{:>8.4f}  {:>10}  {:>12.4f}\n", fmt::format("{}-gram", row.order), row.additive_loss,
               fmt::format("({})", row.additive_constant), row.witten_bell_loss);
}

int run(const Options& o) {
  const LoadedText text = load_text(o.data);
  for (const std::string& note : text.notes) fmt::print(stderr, "note: {}\n", note);
  const CharTokenizer tokenizer = CharTokenizer::from_text(text.text);
  const TextDataset data(tokenizer.encode(text.text, o.data), o.train_fraction.real(1e-6, 1), 1);
  check(data.has_validation(), "ngram", "{}", data.validation_note());
  const auto order = static_cast<int>(o.order.whole(1, kMaxNgramOrder));
  work_begins();
  const NgramLadder ladder = ngram_ladder(data.tokens(Split::kTrain), data.tokens(Split::kValidation),
                                          tokenizer.vocab_size(), order);
  if (o.json)
    print_json(ladder);
  else
    print_table(ladder);
  return 0;
}

}  // namespace

Command add_ngram(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "Scores a text with counting models (n-grams), the marks that a trained model has to beat.");
  app.add_option("--data", o->data, "UTF-8 text file")->type_name("FILE")->required();
  add_text_option(app, o->train_fraction, "--train-fraction", "NUMBER",
                  "share of the text, from its start, to count in", "0.9");
  add_text_option(app, o->order, "--order", "INT", "longest n-gram", "5");
  app.add_flag("--json", o->json, "print one JSON object");
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
