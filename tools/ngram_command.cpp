// minigpt ngram: how far counting gets on a text.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "models/ngram.h"
#include "models/plural.h"
#include "models/text_dataset.h"
#include "models/tokenizer.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inputs.h"

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
  fmt::print("loss on the validation part ({}), nats per character\n", count_of(ladder.scored, "character"));
  fmt::print("  {:<22}{:>8.4f}\n", "guessing evenly", ladder.uniform);
  fmt::print("  {:<22}{:>8}  {:>10}  {:>12}\n", "", "additive", "(constant)", "Witten-Bell");
  for (const NgramLadder::Row& row : ladder.rows)
    fmt::print("  {:<22}{:>8.4f}  {:>10}  {:>12.4f}\n", fmt::format("{}-gram", row.order), row.additive_loss,
               fmt::format("({})", row.additive_constant), row.witten_bell_loss);
}

int run(const Options& o) {
  Remarks remarks;
  const LoadedText text = read_text(o.data, remarks);
  const CharTokenizer tokenizer = CharTokenizer::from_text(text.text);
  const double fraction = o.train_fraction.real();
  // Counting needs a pair to count, and a pair to test on.
  const auto train = static_cast<std::size_t>(static_cast<double>(text.text.size()) * fraction);
  check(train >= 2 && text.text.size() - train >= 2, "ngram",
        "{}: {}, of which {} are to count in and {} to test on (--train-fraction {}): each part needs 2",
        o.data, count_of(text.text.size(), "character"), train, text.text.size() - train, fraction);
  const TextDataset data(tokenizer.encode(text.text, o.data), fraction, 1);
  const auto order = static_cast<int>(o.order.whole());
  remarks.print();
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
  add_number_option(app, o->train_fraction, "--train-fraction", "NUMBER",
                    "share of the text, from its start, to count in", "0.9", between(1e-6, 1));
  add_number_option(app, o->order, "--order", "INT", "longest n-gram", "5", between(1, kMaxNgramOrder));
  app.add_flag("--json", o->json, "print one JSON object");
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
