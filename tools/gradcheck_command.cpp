// minigpt gradcheck: every gradient of a GPT against finite differences.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "autograd/gradcheck.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inputs.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string model = "tiny";
  TextOption elements, seed, threads;
  bool json = false;
};

// Two layers, biases, every kind of parameter, small enough to move each of its numbers in turn.
GptConfig tiny() {
  GptConfig c;
  c.block_size = 6;
  c.vocab_size = 7;
  c.n_layer = 2;
  c.n_head = 2;
  c.n_embd = 8;
  c.bias = true;
  c.init_std = 0.3;  // far enough from zero for every part to matter
  return c;
}

Tensor random_tokens(const Shape& shape, std::int64_t vocab, Generator& rng) {
  Tensor t = Tensor::empty(shape, DType::i32);
  rng.randint(std::span(t.mutable_data<std::int32_t>(), static_cast<std::size_t>(t.numel())), 0, vocab);
  return t;
}

int run(const Options& o) {
  apply_threads(o.threads);
  Generator rng(static_cast<std::uint64_t>(o.seed.whole()));
  Remarks remarks;
  std::unique_ptr<Gpt> model = o.model == "tiny" ? std::make_unique<Gpt>(tiny(), rng)
                                                 : read_model(o.model, rng, Weights::finite, remarks).model;
  remarks.print();
  convert_parameters(*model, DType::f64);
  const std::int64_t width = std::min<std::int64_t>(model->config.block_size, 16);
  const Tensor inputs = random_tokens({2, width}, model->config.vocab_size, rng);
  const Tensor targets = random_tokens({2, width}, model->config.vocab_size, rng);
  const GradcheckFunction loss = [&](const std::vector<Variable>&) { return model->loss(inputs, targets); };

  GradcheckOptions options;
  options.max_elements_per_input = o.elements.whole();
  if (o.model != "tiny" && !o.elements.given()) options.max_elements_per_input = 20;
  work_begins();
  bool ok = true;
  nlohmann::ordered_json out;
  for (const NamedParameter& p : model->parameters()) {
    const GradcheckResult result = gradcheck(loss, {p.variable}, options);
    ok = ok && result.ok;
    const double error = std::fabs(result.analytic - result.numeric);
    if (o.json)
      out["parameters"].push_back({{"name", p.name},
                                   {"checked", result.checked},
                                   {"ok", result.ok},
                                   {"worst_element", result.element},
                                   {"analytic", result.analytic},
                                   {"numeric", result.numeric},
                                   {"tolerance", result.tolerance}});
    else
      fmt::print("{:<38} {:>7} checked  worst difference {:.2e} of {:.2e} allowed  {}\n", p.name,
                 result.checked, error, result.tolerance, result.ok ? "ok" : "WRONG");
  }
  out["ok"] = ok;
  if (o.json)
    fmt::print("{}\n", out.dump());
  else
    fmt::print("{}\n", ok ? "every gradient agrees with finite differences" : "some gradients are wrong");
  return ok ? 0 : 1;
}

}  // namespace

Command add_gradcheck(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description("Compares every gradient of a GPT with finite differences, in float64.");
  app.add_option("--model", o->model, "'tiny' (2 layers, all elements) or a model folder")
      ->type_name("DIR")
      ->default_str("tiny");
  add_number_option(app, o->elements, "--elements", "INT",
                    "elements to check per parameter, 0 for all; 20 for a model folder", "0",
                    between(0, kCount));
  add_number_option(app, o->seed, "--seed", "INT", "start of the random stream", "1337", between(0, kSeed));
  app.add_flag("--json", o->json, "print one JSON object");
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
