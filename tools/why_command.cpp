// minigpt why: the reason for a gradient, in plain words and numbers.

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "models/plural.h"
#include "models/why.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inputs.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string model, data, tensor, index;
  TextOption batch, seed, threads;
  bool json = false, dropout = false;
};

Dims parse_index(const std::string& text) {
  Dims index;
  const char *at = text.data(), *const end = at + text.size();
  for (;;) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    check(error == std::errc() && value >= 0 && (next == end || *next == ',') && index.size() < 4, "why",
          "--index: '{}' is not a list of numbers such as 3,7", text);
    index.push_back(value);
    if (next == end) return index;
    at = next + 1;
  }
}

struct Batch {
  Tensor inputs, targets;
};

// Rows of equal length; what follows the end of a shorter one is not scored.
Batch batch_of(const std::vector<std::vector<std::int32_t>>& rows, std::int32_t filler) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  const Shape shape{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest) - 1};
  std::vector<std::int32_t> inputs, targets;
  for (const auto& row : rows)
    for (std::size_t t = 0; t + 1 < longest; ++t) {
      inputs.push_back(t < row.size() ? row[t] : filler);
      targets.push_back(t + 1 < row.size() ? row[t + 1] : -1);
    }
  return {Tensor::from<std::int32_t>(inputs, shape), Tensor::from<std::int32_t>(targets, shape)};
}

// `count` passages of the text from random places, as training draws them; or its first documents.
Batch draw_batch(const LoadedModel& loaded, std::u32string_view text, const std::string& source,
                 std::int64_t count, std::uint64_t seed) {
  const auto block = static_cast<std::size_t>(loaded.config.model.block_size);
  std::vector<std::vector<std::int32_t>> rows;
  if (loaded.config.documents) {
    const std::int32_t boundary = loaded.tokenizer.document_id();
    for (const std::u32string_view line : split_lines(text)) {
      if (static_cast<std::int64_t>(rows.size()) == count) break;
      std::vector<std::int32_t> row = loaded.tokenizer.encode(line, source);
      row.insert(row.begin(), boundary);
      row.push_back(boundary);
      row.resize(std::min(row.size(), block + 1));
      rows.push_back(std::move(row));
    }
    check(!rows.empty(), "why", "{}: there is no line with a character in it", source);
    return batch_of(rows, boundary);
  }
  check(text.size() >= 2, "why", "{}: {}, but at least 2 are needed", source,
        count_of(text.size(), "character"));
  const std::vector<std::int32_t> tokens = loaded.tokenizer.encode(text, source);
  const std::size_t length = std::min(block + 1, tokens.size());
  Generator rng(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto places = static_cast<std::int64_t>(tokens.size() - length + 1);
    const auto start = static_cast<std::ptrdiff_t>(places > 1 ? rng.randint(0, places) : 0);
    rows.emplace_back(tokens.begin() + start, tokens.begin() + start + static_cast<std::ptrdiff_t>(length));
  }
  return batch_of(rows, 0);
}

std::string verdict(const GradientExplanation& e, bool element) {
  const std::string what = element ? "this element" : "it";
  switch (e.state) {
    case GradientState::missing:
      return "it has no gradient";
    case GradientState::zero:
      return what + " is exactly zero";
    case GradientState::not_finite:
      return "something is infinite or not a number";
    case GradientState::tiny:
      return fmt::format("{} is tiny beside the others (typical rms {:.3g})", what, e.reference);
    case GradientState::huge:
      return fmt::format("{} is huge beside the others (typical rms {:.3g})", what, e.reference);
    case GradientState::ordinary:
      break;
  }
  return fmt::format("{} is ordinary (typical rms of all parameters {:.3g})", what, e.reference);
}

void print_json(const Options& o, const WhyAnswer& a) {
  const GradientExplanation& e = a.explanation;
  nlohmann::ordered_json j;
  j["tensor"] = o.tensor;
  j["shape"] = std::vector<std::int64_t>(e.shape.begin(), e.shape.end());
  if (!o.index.empty()) {
    const Dims index = parse_index(o.index);
    j["index"] = std::vector<std::int64_t>(index.begin(), index.end());
  }
  j["state"] = name_of(e.state);
  j["loss"] = a.loss;  // null if it is not finite
  j["norm"] = e.norm;
  j["rms"] = e.rms;
  j["zeros"] = e.zeros;
  j["value"] = e.value ? nlohmann::ordered_json(*e.value) : nlohmann::ordered_json();
  j["typical_rms"] = e.reference;
  j["grad_norm"] = a.grad_norm;
  j["clip"] = a.clip;
  j["causes"] = nlohmann::ordered_json::array();
  for (const GradientCause& c : e.causes)
    j["causes"].push_back({{"id", c.id}, {"where", c.where}, {"text", c.text}});
  j["path"] = nlohmann::ordered_json::array();
  for (const GradientStep& s : e.path) j["path"].push_back({{"where", s.where}, {"rms", s.rms}});
  fmt::print("{}\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(const Options& o, const Batch& batch, const WhyAnswer& a) {
  const GradientExplanation& e = a.explanation;
  fmt::print("{} {}{}, {} x {} tokens of {}, loss {:.4f}\n", o.tensor, e.shape,
             o.index.empty() ? "" : " at " + o.index, batch.inputs.dim(0), batch.inputs.dim(1), o.data,
             a.loss);
  const bool measured = e.state != GradientState::missing && e.state != GradientState::not_finite;
  if (measured) {
    if (e.value) fmt::print("gradient there: {:.6g}\n", *e.value);
    fmt::print("gradient: norm {:.4g}, rms {:.4g}, {:.2f} % exact zeros\n", e.norm, e.rms, 100 * e.zeros);
  }
  fmt::print("\n{}.\n", verdict(e, e.value.has_value()));
  for (const GradientCause& c : e.causes) fmt::print("  {}: {}\n", c.id, c.text);
  if (e.path.empty()) return;
  fmt::print("\nfrom the {} towards the loss, always along the largest part (rms of the gradient there):\n",
             e.value ? "whole tensor" : "tensor");
  for (const GradientStep& s : e.path) fmt::print("  {:>10.3g}  {}\n", s.rms, s.where);
}

int run(const Options& o) {
  apply_threads(o.threads);
  Remarks remarks;
  LoadedModel loaded = read_model(o.model, Weights::any, remarks);
  WhyRequest request;
  request.tensor = o.tensor;
  if (!o.index.empty()) request.index = parse_index(o.index);
  const LoadedText text = read_text(o.data, remarks);
  const auto seed = static_cast<std::uint64_t>(o.seed.whole());
  if (loaded.config.documents && o.seed.given() && !o.dropout)
    remarks.note("--seed has no effect: the batch is the first documents of the text");
  const Batch batch = draw_batch(loaded, text.text, o.data, o.batch.whole(), seed);
  request.inputs = batch.inputs;
  request.targets = batch.targets;
  request.grad_clip = loaded.config.grad_clip;
  if (o.dropout) request.dropout_seed = seed;
  check_request(*loaded.model, request);
  work_begins();
  const WhyAnswer answer = why(*loaded.model, loaded.tokenizer, request);
  remarks.print();
  if (o.json)
    print_json(o, answer);
  else
    print_text(o, batch, answer);
  return 0;
}

}  // namespace

Command add_why(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "Says why the gradient of a parameter is zero, missing, not a number, tiny or huge: walks the recorded "
      "graph of one "
      "batch from the parameter towards the loss, to where gradients stop.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->required();
  app.add_option("--data", o->data, "UTF-8 text file to take a batch from")->type_name("FILE")->required();
  app.add_option("--tensor", o->tensor, "parameter, as minigpt info lists them")
      ->type_name("NAME")
      ->required();
  app.add_option("--index", o->index, "one element of it, such as 3,7 (row 3, column 7)")->type_name("I,J");
  add_number_option(app, o->batch, "--batch", "INT", "passages of the text in the batch", "4",
                    between(1, 1024));
  add_number_option(app, o->seed, "--seed", "INT", "where they begin, and what dropout drops", "1337",
                    between(0, kSeed));
  app.add_flag("--dropout", o->dropout, "drop activations as training does");
  app.add_flag("--json", o->json, "print one JSON object");
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
