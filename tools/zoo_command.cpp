// minigpt zoo: faults to be found. Each is planted in an operation (tools/zoo/mutant.h), shown in training, tried on the
// gradient check, and named by whoever looks for it.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/text_file.h"
#include "models/utf8.h"
#include "tools/arguments.h"
#include "tools/builtin_text.h"
#include "tools/commands.h"
#include "tools/rehearsal.h"
#include "tools/zoo/answer.h"
#include "tools/zoo/task.h"

namespace minigpt::tools {
namespace {

using Json = nlohmann::ordered_json;
using zoo::Mutant;

// What all subcommands take.
struct ZooOptions {
  std::string number, language = "en", data;
  std::vector<std::string> answer;
  bool json = false, answers = false, healthy = false;
  TextOption elements, seed, threads;
  ConfigOptions config;

  const char* pick(zoo::Text text) const { return language == "zh" ? text.zh : text.en; }
  void check_language() const {
    check(language == "en" || language == "zh", "option", "--lang: '{}' is not one of en | zh", language);
  }
  std::int64_t n() const {
    const auto last = static_cast<double>(zoo::mutants().size());
    check(!number.empty(), "zoo", "needs the number of a fault (1 to {}); see minigpt zoo list", last);
    return whole_number("N", number, 1, last);
  }
  const Mutant& mutant() const { return zoo::mutant(n()); }
};

Json explanation(const Mutant& m) {
  return {{"operations", std::string(m.at)},
          {"right", m.right},
          {"wrong", m.wrong},
          {"find", {{"en", m.find.en}, {"zh", m.find.zh}}}};
}

void explain(const ZooOptions& o, const Mutant& m) {
  fmt::print("  {}: {}\n", o.pick({"operation", "算子"}), m.at == "*" ? "(engine)" : m.at);
  fmt::print("  {}: {}\n  {}: {}\n", o.pick({"right", "正确"}), m.right, o.pick({"wrong", "错误"}), m.wrong);
  fmt::print("  {}\n", o.pick(m.find));
}

int list(const ZooOptions& o) {
  o.check_language();
  work_begins();
  Json out = Json::array();
  if (!o.json)
    fmt::print("{}\n\n",
               o.pick({"Faults to be found, by what one sees. minigpt zoo start N trains with one planted.",
                       "等着被找到的错误，只写症状。minigpt zoo start N 植入其中一个并训练。"}));
  for (std::size_t i = 0; i < zoo::mutants().size(); ++i) {
    const Mutant& m = *zoo::mutants()[i];
    if (o.json) {
      Json entry = {{"number", i + 1}, {"en", m.title.en}, {"zh", m.title.zh}};
      if (o.answers) entry.update(explanation(m));
      out.push_back(std::move(entry));
      continue;
    }
    fmt::print("{:>3}  {}\n", i + 1, o.pick(m.title));
    if (o.answers) explain(o, m);
  }
  if (o.json) fmt::print("{}\n", Json{{"faults", out}}.dump());
  return 0;
}

Json to_json(const zoo::TrainOutcome& outcome) {
  Json steps = Json::array();
  for (const zoo::TrainStep& s : outcome.steps)
    steps.push_back({{"loss", s.loss}, {"grad_norm", s.grad_norm}});
  Json out = {{"steps", steps}, {"stopped", outcome.stopped}};
  out["validation"] = outcome.validation ? Json(*outcome.validation) : Json();
  out["writing"] = outcome.writing ? Json(*outcome.writing) : Json();
  return out;
}

void print_runs(const ZooOptions& o, const zoo::TrainOutcome& healthy, const zoo::TrainOutcome& faulty) {
  fmt::print("{:>6}{:>22}{:>26}\n{:>6}{:>11}{:>11}{:>15}{:>11}\n", "", o.pick({"loss", "损失"}),
             o.pick({"gradient norm", "梯度范数"}), o.pick({"step", "步"}), o.pick({"healthy", "健康"}),
             o.pick({"fault", "有错"}), o.pick({"healthy", "健康"}), o.pick({"fault", "有错"}));
  const std::size_t n = healthy.steps.size(), stride = std::max<std::size_t>(1, n / 12);
  // Losses of single batches jump about: each row shows the mean since the row before.
  for (std::size_t begin = 0; begin < n; begin += stride) {
    const std::size_t end = std::min(n, begin + stride);
    const auto mean_of = [&](const zoo::TrainOutcome& run, double zoo::TrainStep::*field) {
      double total = 0;
      for (std::size_t i = begin; i < end; ++i) {
        if (i >= run.steps.size()) return std::string("-");
        total += run.steps[i].*field;
      }
      return fmt::format("{:.4g}", total / static_cast<double>(end - begin));
    };
    fmt::print("{:>6}{:>11}{:>11}{:>15}{:>11}\n", end, mean_of(healthy, &zoo::TrainStep::loss),
               mean_of(faulty, &zoo::TrainStep::loss), mean_of(healthy, &zoo::TrainStep::grad_norm),
               mean_of(faulty, &zoo::TrainStep::grad_norm));
  }
  const auto show = [](const std::optional<double>& x) {
    return x ? fmt::format("{:.4f}", *x) : std::string("-");
  };
  if (healthy.validation)
    fmt::print("{}: {} / {}\n", o.pick({"validation loss, healthy / fault", "验证损失，健康 / 有错"}),
               show(healthy.validation), show(faulty.validation));
  if (healthy.writing)
    fmt::print("{}: {} / {}\n",
               o.pick({"the same when writing, one character at a time", "写作时（一次一个字符）"}),
               show(healthy.writing), show(faulty.writing));
  if (!faulty.stopped.empty())
    fmt::print("{}: {}\n", o.pick({"the run with the fault stopped", "有错的训练停了"}), faulty.stopped);
}

int start(const ZooOptions& o) {
  o.check_language();
  apply_threads(o.threads);
  const Mutant& m = o.mutant();
  TrainConfig config = zoo::small_run();
  o.config.apply(config);
  if (!o.config.given("lr_decay_steps")) config.lr_decay_steps = config.steps;
  if (!o.config.given("warmup_steps")) config.warmup_steps = std::min(config.warmup_steps, config.steps / 10);
  if (!o.config.given("min_lr")) config.min_lr = std::min(config.min_lr, config.learning_rate);
  const std::u32string text =
      o.data.empty() ? utf8_decode(builtin_text(), "the built-in text").text : load_text(o.data).text;
  config.validate();
  work_begins();
  if (!o.json) {
    fmt::print("{} {}: {}\n", o.pick({"fault", "错误"}), o.n(), o.pick(m.title));
    fmt::print(
        "{}\n\n",
        o.pick(m.task == zoo::Task::net
                   ? zoo::Text{"A small classifier (tools/zoo/net.cpp) learns without and with the fault.",
                               "一个小分类器（tools/zoo/net.cpp）在健康和有错两种情况下训练。"}
                   : zoo::Text{"A small GPT learns without and with the fault, from the same seed.",
                               "一个小 GPT 用同一个种子，在健康和有错两种情况下训练。"}));
    std::fflush(stdout);
  }
  const zoo::TrainOutcome healthy = zoo::train(m, false, config, text),
                          faulty = zoo::train(m, true, config, text);
  if (o.json) {
    fmt::print("{}\n",
               Json{{"number", o.n()}, {"healthy", to_json(healthy)}, {"fault", to_json(faulty)}}.dump());
    return 0;
  }
  print_runs(o, healthy, faulty);
  fmt::print(
      "\n{}\n  minigpt zoo gradcheck {}\n  minigpt zoo check {} \"OPERATION, WHAT IS WRONG WITH IT\"\n",
      o.pick({"Which gradients are wrong, and your diagnosis:", "哪些梯度不对，以及你的诊断："}), o.n(),
      o.n());
  return 0;
}

std::string ratio_text(const zoo::Slope& s) {
  if (s.wrong == 0 || (s.low == 0 && s.high == 0)) return "";
  if (std::fabs(s.high - s.low) <= 1e-4 * std::fabs(s.middle))
    return fmt::format("analytic / numeric = {:.5g}", s.middle);
  return fmt::format("analytic / numeric from {:.4g} to {:.4g}", s.low, s.high);
}

int gradcheck_zoo(const ZooOptions& o) {
  o.check_language();
  apply_threads(o.threads);
  const Mutant& m = o.mutant();
  const std::int64_t elements = o.elements.whole(0, 1e12);
  const auto seed = static_cast<std::uint64_t>(o.seed.whole(0, 1e15));
  work_begins();
  const zoo::Inspection found = zoo::inspect(m, !o.healthy, elements, seed);
  bool ok = found.see_the_future.value_or(0) == 0;
  Json list = Json::array();
  for (const zoo::Slope& s : found.slopes) {
    ok = ok && s.wrong == 0;
    if (o.json)
      list.push_back({{"name", s.name},
                      {"checked", s.checked},
                      {"wrong", s.wrong},
                      {"analytic", s.analytic},
                      {"numeric", s.numeric},
                      {"ratio_low", s.low},
                      {"ratio_middle", s.middle},
                      {"ratio_high", s.high}});
    else if (s.wrong == 0)
      fmt::print("{:<44} ok\n", s.name);
    else
      fmt::print("{:<44} {} of {} WRONG, worst: analytic {:.4g}, numeric {:.4g}  {}\n", s.name, s.wrong,
                 s.checked, s.analytic, s.numeric, ratio_text(s));
  }
  if (o.json) {
    const Json future = found.see_the_future ? Json(*found.see_the_future) : Json();
    fmt::print("{}\n", Json{{"number", o.n()},
                            {"parameters", list},
                            {"see_the_future", future},
                            {"attention", found.attention},
                            {"ok", ok}}
                           .dump());
    return ok ? 0 : 1;
  }
  if (found.see_the_future)
    fmt::print("{}: {}\n",
               o.pick({"earlier positions whose output changes with the last character",
                       "输出随最后一个字符改变的靠前位置"}),
               *found.see_the_future == 0 ? "0, ok" : fmt::format("{} WRONG", *found.see_the_future));
  if (!found.attention.empty())
    fmt::print("{}\n", o.pick({"attention of one head, a row for each position, and its sum:",
                               "一个头的注意力，每个位置一行，以及该行之和："}));
  for (const std::vector<double>& row : found.attention)
    fmt::print("  {:.3f}   {:.3f}\n", fmt::join(row, " "), std::accumulate(row.begin(), row.end(), 0.0));
  if (o.healthy) return ok ? 0 : 1;
  fmt::print(
      "{}\n",
      o.pick({"A fault spoils whatever lies before it: begin with the last parameters, and look where wrong "
              "ones start.",
              "一个错误会弄坏它之前的一切：从最后的参数看起，找到错误开始的地方。"}));
  return ok ? 0 : 1;
}

int check_answer(const ZooOptions& o) {
  o.check_language();
  const Mutant& m = o.mutant();
  const std::string answer = fmt::format("{}", fmt::join(o.answer, " "));
  check(!answer.empty(), "zoo", "needs your diagnosis: minigpt zoo check {} \"softmax, wrong sign\"",
        o.number);
  work_begins();
  const zoo::Verdict v = zoo::judge(m, answer);
  if (o.json) {
    Json out = {{"number", o.n()}, {"operation", v.operation}, {"fault", v.fault}, {"right", v.right()}};
    if (v.right()) out.update(explanation(m));
    fmt::print("{}\n", out.dump());
    return v.right() ? 0 : 1;
  }
  if (v.right()) {
    fmt::print("{}\n", o.pick({"Right.", "对。"}));
    explain(o, m);
    return 0;
  }
  zoo::Text say = {"Wrong: it is another operation, or one that goes by another name.",
                   "不对：是别的算子，或者叫别的名字。"};
  if (v.operation)
    say = {"Partly right: that is the operation. What is wrong with it?",
           "对了一半：就是这个算子。它错在哪里？"};
  if (v.too_many) say = {"That names many operations. Which one is it?", "提到的算子太多了。是哪一个？"};
  fmt::print("{}\n", o.pick(say));
  return 1;
}

using Options = std::shared_ptr<ZooOptions>;

Options common(CLI::App& app, bool numbered) {
  auto o = std::make_shared<ZooOptions>();
  if (numbered)
    app.add_option("N", o->number, "the number of the fault; see minigpt zoo list")->type_name("INT");
  app.add_option("--lang", o->language, "en or zh")->type_name("NAME")->capture_default_str();
  app.add_flag("--json", o->json, "print one JSON object");
  return o;
}

Command add_list(CLI::App& app) {
  app.description("Lists the faults by what one sees, without naming them.");
  const Options o = common(app, false);
  app.add_flag("--answers", o->answers, "also show what is wrong, and how to find it");
  return [o] { return list(*o); };
}

Command add_start(CLI::App& app) {
  app.description("Trains something small without and with fault N, and shows both. Writes no file.");
  const Options o = common(app, true);
  app.add_option("--data", o->data, "UTF-8 text file; without it, minigpt's own source code")
      ->type_name("FILE");
  add_threads_option(app, o->threads);
  o->config.add_to(app, zoo::small_run());
  return [o] { return start(*o); };
}

Command add_gradcheck_zoo(CLI::App& app) {
  app.description(
      "Compares every gradient of a tiny model with finite differences while fault N is planted, and tests "
      "whether positions see the future. Exit code 1 if something is wrong.");
  const Options o = common(app, true);
  add_text_option(app, o->elements, "--elements", "INT", "elements to check per parameter, 0 for all", "24");
  add_text_option(app, o->seed, "--seed", "INT", "start of the random stream", "1337");
  app.add_flag("--healthy", o->healthy, "without the fault, to compare");
  add_threads_option(app, o->threads);
  return [o] { return gradcheck_zoo(*o); };
}

Command add_check(CLI::App& app) {
  app.description(
      "Says whether a diagnosis of fault N is right: the operation, and what is wrong with it, in your own "
      "words. Exit code 0 if it is, 1 if not.");
  const Options o = common(app, true);
  app.add_option("answer", o->answer, "\"layer_norm, the mean term is missing\"")->type_name("WORDS");
  return [o] { return check_answer(*o); };
}

}  // namespace

Command add_zoo(CLI::App& app) {
  app.description(
      "Faults in backward passes and masks, to be found. `minigpt zoo NAME --help` explains a part.");
  const std::pair<const char*, Command (*)(CLI::App&)> parts[] = {
      {"list", add_list}, {"start", add_start}, {"gradcheck", add_gradcheck_zoo}, {"check", add_check}};
  auto entries = std::make_shared<std::vector<std::pair<CLI::App*, Command>>>();
  for (const auto& [name, add] : parts) {
    CLI::App* sub = app.add_subcommand(name);
    sub->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    entries->emplace_back(sub, add(*sub));
  }
  return [entries]() -> int {
    for (const auto& [sub, run] : *entries)
      if (sub->parsed()) return run();
    fail("zoo", "needs one of: list, start, gradcheck, check");
  };
}

}  // namespace minigpt::tools
