// minigpt heads: what each head of attention of a trained model looks at, and what the model loses without it.

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/evaluate.h"
#include "models/head_analysis.h"
#include "models/plural.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inputs.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string model, text;
  TextOption characters, top_k, threads;
  bool json = false, by_layer = false, no_ablation = false;
};

// The text as the model was trained on it: windows to look at, and all of it to measure the loss on.
struct Material {
  std::vector<std::vector<std::int32_t>> windows;
  std::vector<std::int32_t> tokens;
  std::size_t characters = 0;
};

Material documents(const LoadedModel& loaded, std::u32string_view text, const std::string& source) {
  const std::int32_t boundary = loaded.tokenizer.document_id();
  Material m{{}, {boundary}, text.size()};
  for (const std::u32string_view line : split_lines(text)) {
    std::vector<std::int32_t> window = loaded.tokenizer.encode(line, source);
    m.tokens.insert(m.tokens.end(), window.begin(), window.end());
    m.tokens.push_back(boundary);
    window.insert(window.begin(), boundary);
    window.resize(std::min(window.size(), static_cast<std::size_t>(loaded.config.model.block_size)));
    if (window.size() >= 2) m.windows.push_back(std::move(window));
  }
  check(!m.windows.empty(), "heads", "{}: there is no line with a character in it", source);
  return m;
}

Material material(const LoadedModel& loaded, std::u32string_view text, const std::string& source) {
  if (loaded.config.documents) return documents(loaded, text, source);
  const auto block = static_cast<std::size_t>(loaded.config.model.block_size);
  check(text.size() > block, "heads", "{}: {}, but the model's context is {}: needs at least {}", source,
        count_of(text.size(), "character"), block, block + 1);
  Material m{{}, loaded.tokenizer.encode(text, source), text.size()};
  for (std::size_t at = 0; at + block <= m.tokens.size() && block >= 2; at += block)
    m.windows.emplace_back(m.tokens.begin() + static_cast<std::ptrdiff_t>(at),
                           m.tokens.begin() + static_cast<std::ptrdiff_t>(at + block));
  check(!m.windows.empty(), "heads",
        "the model's context is one token: its heads have nothing to choose from");
  return m;
}

double loss_on(const Gpt& model, const LoadedModel& loaded, const Material& m) {
  const double loss =
      (loaded.config.documents ? score_documents(model, m.tokens, loaded.tokenizer.document_id())
                               : score_text(model, m.tokens))
          .loss();
  if (!std::isfinite(loss))
    throw RunError(fmt::format("[heads] the loss is {}: the model's numbers have become too large", loss));
  return loss;
}

// The offset, beyond the token itself, with the most weight above what uniform attention gives.
std::size_t best_offset(const HeadScores& s) {
  std::size_t best = 1;
  for (std::size_t k = 2; k < s.offset.size(); ++k)
    if (s.offset[k].lift() > s.offset[best].lift()) best = k;
  return best;
}

struct Column {
  const char* name;
  const Score HeadScores::*score;
};
constexpr Column kColumns[] = {{"sink", &HeadScores::sink},       {"top", &HeadScores::top},
                               {"entropy", &HeadScores::entropy}, {"local", &HeadScores::local},
                               {"same", &HeadScores::duplicate},  {"follow", &HeadScores::induction},
                               {"line", &HeadScores::line_end},   {"punct", &HeadScores::punctuation},
                               {"blank", &HeadScores::blank},     {"distance", &HeadScores::distance}};

nlohmann::ordered_json to_json(const Score& s) {
  if (s.rows == 0) return {{"value", nullptr}, {"uniform", nullptr}, {"rows", 0}};
  return {{"value", s.value()}, {"uniform", s.uniform()}, {"rows", s.rows}};
}

void print_json(const std::vector<HeadReport>& reports, const Material& m, double loss,
                const GptConfig& config) {
  nlohmann::ordered_json out;
  out["characters"] = m.characters;
  out["windows"] = m.windows.size();
  out["loss"] = loss;
  for (std::int64_t l = 0; l < config.n_layer; ++l) out["mean_distance"].push_back(mean_distance(reports, l));
  for (const HeadReport& r : reports) {
    nlohmann::ordered_json head = {{"layer", r.layer}, {"head", r.head}, {"type", r.type}};
    head["loss_rise"] = r.measured ? nlohmann::ordered_json(r.loss_rise) : nullptr;
    for (const Column& c : kColumns) head[c.name] = to_json(r.scores.*c.score);
    head["top_k"] = r.scores.top_k;
    for (const Score& s : r.scores.offset) head["offset"].push_back(to_json(s));
    out["heads"].push_back(std::move(head));
  }
  fmt::print("{}\n", out.dump());
}

std::string cell(const Score& s, int digits) {
  return s.rows == 0 ? "-" : fmt::format("{:.{}f}", s.value(), digits);
}

void print_table(const std::vector<HeadReport>& reports, const Material& m, double loss,
                 const GptConfig& config) {
  fmt::print("{} in {}; loss {:.4f} nats per character\n", count_of(m.characters, "character"),
             count_of(m.windows.size(), "window"), loss);
  fmt::print("{:>4} {:>6} {:>8} {:>5} {:>8}", "rank", "head", "rise", "prev", "best");
  for (const Column& c : kColumns)
    fmt::print(" {:>{}}", c.name, std::max<std::size_t>(6, std::string_view(c.name).size()));
  fmt::print("  type\n");
  int rank = 0;
  for (const HeadReport& r : reports) {
    const HeadScores& s = r.scores;
    const std::size_t best = best_offset(s);
    fmt::print("{:>4} {:>6} {:>8} {:>5} {:>8}", ++rank, fmt::format("{}.{}", r.layer, r.head),
               r.measured ? fmt::format("{:+.4f}", r.loss_rise) : "-", cell(s.offset[1], 2),
               s.offset[best].rows == 0 ? "-" : fmt::format("{}: {:.2f}", best, s.offset[best].value()));
    for (const Column& c : kColumns)
      fmt::print(" {:>{}}", cell(s.*c.score, c.score == &HeadScores::distance ? 1 : 2),
                 std::max<std::size_t>(6, std::string_view(c.name).size()));
    fmt::print("  {}\n", r.type);
  }
  const HeadScores& s = reports[0].scores;  // uniform attention gives the same in every head
  fmt::print("{:>20} {:>5} {:>8}", "uniform attention",
             s.offset[1].rows == 0 ? "-" : fmt::format("{:.2f}", s.offset[1].uniform()), "");
  for (const Column& c : kColumns) {
    const Score& score = s.*c.score;
    fmt::print(" {:>{}}",
               score.rows == 0
                   ? "-"
                   : fmt::format("{:.{}f}", score.uniform(), c.score == &HeadScores::distance ? 1 : 2),
               std::max<std::size_t>(6, std::string_view(c.name).size()));
  }
  fmt::print("\n\nmean distance by layer:");
  for (std::int64_t l = 0; l < config.n_layer; ++l) fmt::print(" {:.1f}", mean_distance(reports, l));
  fmt::print("\n");
}

int run(const Options& o) {
  apply_threads(o.threads);
  const auto most = static_cast<std::size_t>(o.characters.whole());
  const std::int64_t top_k = o.top_k.whole();
  Remarks remarks;
  if (o.by_layer && o.no_ablation)
    remarks.note("--by-layer has no effect: without measured losses, heads are in that order anyway");
  const LoadedModel loaded = read_model(o.model, Weights::finite, remarks);
  const LoadedText text = read_text(o.text, remarks);
  const Material m = material(loaded, std::u32string_view(text.text).substr(0, most), o.text);
  remarks.print();
  work_begins();

  HeadAnalysisOptions options;
  options.top_k = top_k;
  std::vector<HeadReport> reports =
      analyse_heads(*loaded.model, token_kinds(loaded.tokenizer), m.windows, options);
  const auto loss = [&](const Gpt& model) { return loss_on(model, loaded, m); };
  const double whole = o.no_ablation ? loss(*loaded.model) : measure_ablation(*loaded.model, reports, loss);
  if (!o.by_layer && !o.no_ablation) sort_by_loss_rise(reports);
  if (o.json)
    print_json(reports, m, whole, loaded.config.model);
  else
    print_table(reports, m, whole, loaded.config.model);
  return 0;
}

}  // namespace

Command add_heads(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "What each attention head (LAYER.HEAD, from 0, lowest layer first) looks at in a text, a name for "
      "that, and how much the "
      "loss rises without it. Columns are mean weights: on the previous character (prev), on the offset with "
      "the most beyond "
      "chance (best), the first character (sink), the heaviest --top-k (top), the nearest 8 (local), earlier "
      "places of the same "
      "character (same), what followed those (follow), line ends, punctuation and blanks; entropy 1 is "
      "uniform.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->required();
  app.add_option("--text,--data", o->text, "UTF-8 text file, best one that the model was not trained on")
      ->type_name("FILE")
      ->required();
  add_number_option(app, o->characters, "--characters", "INT",
                    "look at this many characters from the start of the text", "16384", between(2, kCount));
  add_number_option(app, o->top_k, "--top-k", "INT",
                    "how many of the heaviest weights count for sparse heads", "4", between(1, 65536));
  app.add_flag("--no-ablation", o->no_ablation, "do not switch heads off: faster");
  app.add_flag("--by-layer", o->by_layer, "in the order of layers and heads, not by what they are worth");
  app.add_flag("--json", o->json, "print one JSON object");
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
