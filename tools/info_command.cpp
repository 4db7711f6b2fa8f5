// minigpt info: about this machine and this build, or about a model.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "models/plural.h"
#include "models/utf8.h"
#include "tensor/cpu.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inputs.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string model;
  bool json = false;
};

int machine(bool as_json) {
  work_begins();
  const CpuFeatures& cpu = cpu_features();
  nlohmann::ordered_json out;
  out["version"] = MINIGPT_VERSION;
  out["build_type"] = MINIGPT_BUILD_TYPE;
  out["cpu"] = cpu.brand;
  out["avx2_fma"] = cpu.avx2_fma;
  out["avx512f"] = cpu.avx512f;
  out["kernels"] = kernel_set().name;
  out["kernels_available"] = available_kernel_sets();
  out["threads"] = num_threads();
  if (as_json) {
    fmt::print("{}\n", out.dump());
    return 0;
  }
  std::string sets;
  for (const std::string& name : available_kernel_sets()) sets += (sets.empty() ? "" : ", ") + name;
  fmt::print("{}\n", version_text());
  if (cpu.neon)
    fmt::print("cpu: {} (NEON: yes)\n", cpu.brand);
  else
    fmt::print("cpu: {} (AVX2 and FMA: {}, AVX-512F: {})\n", cpu.brand, cpu.avx2_fma ? "yes" : "no",
               cpu.avx512f ? "yes" : "no");
  fmt::print("kernels: {} (available: {}; MINIGPT_ISA=NAME chooses another)\n", kernel_set().name, sets);
  fmt::print("threads: {}\n", num_threads());
  return 0;
}

// One entry of the listing, where blanks separate: a space is escaped too, and what is not ASCII has its code point
// beside it, since many letters look alike.
std::string listed(const CharTokenizer& tokenizer, std::int32_t id) {
  const std::string label = tokenizer.label(id);
  const auto index = static_cast<std::size_t>(id);
  if (index >= tokenizer.characters().size()) return label;  // <doc>
  const char32_t c = tokenizer.characters()[index];
  if (c == U' ') return "\\u{0020}";
  return c < 0x80 || label.front() == '\\' ? label : fmt::format("{}({})", label, code_point_name(c));
}

int about_model(const Options& o) {
  Remarks remarks;
  LoadedModel loaded = read_model(o.model, Weights::any, remarks);
  remarks.print();
  work_begins();
  const std::vector<NamedParameter> parameters = loaded.model->parameters();
  if (o.json) {
    auto out = nlohmann::ordered_json::parse(to_json(loaded.config));
    out["parameters"] = parameter_count(parameters);
    for (std::int32_t id = 0; id < loaded.tokenizer.vocab_size(); ++id)
      out["vocabulary"].push_back(loaded.tokenizer.label(id));
    for (const NamedParameter& p : parameters)
      out["tensors"].push_back(
          {{"name", p.name},
           {"shape", std::vector<std::int64_t>(p.variable.shape().begin(), p.variable.shape().end())},
           {"also", p.aliases}});
    fmt::print("{}\n", out.dump());
    return 0;
  }
  const GptConfig& c = loaded.config.model;
  fmt::print("layers {}, heads {}, channels {}, context {}: {}\n", c.n_layer, c.n_head, c.n_embd,
             c.block_size, count_of(parameter_count(parameters), "parameter"));
  for (const NamedParameter& p : parameters) {
    std::string also;
    for (const std::string& alias : p.aliases) also += " = " + alias;
    fmt::print("  {:<40} {:>14} {:>10}{}\n", p.name, p.variable.shape().str(), p.variable.numel(), also);
  }
  fmt::print("vocabulary of {}:", loaded.tokenizer.vocab_size());
  for (std::int32_t id = 0; id < loaded.tokenizer.vocab_size(); ++id)
    fmt::print(" {}", listed(loaded.tokenizer, id));
  fmt::print("\n");
  return 0;
}

}  // namespace

Command add_info(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "Tells about this machine and build or, with --model, about a model: parameters and vocabulary.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR");
  app.add_flag("--json", o->json, "print one JSON object");
  return [o] { return o->model.empty() ? machine(o->json) : about_model(*o); };
}

}  // namespace minigpt::tools
