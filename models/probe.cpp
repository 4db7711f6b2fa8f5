#include "models/probe.h"

#include <algorithm>

#include "autograd/engine.h"

namespace minigpt {
namespace {

// Values that the model hands out itself, with the bits of the step.
bool handed_out(const std::string& name) { return name.empty() || name == "attn" || name == "mlp"; }

std::string inner_name(const Block& block, const std::string& name) {
  return name.empty() ? block.path : fmt::format("{}.{}", block.path, name);
}

}  // namespace

std::vector<std::string> Probe::names(const Gpt& model) {
  std::vector<std::string> all = {model.transformer.drop.path};
  for (const Block& block : model.transformer.h)
    for (const std::string& name : open_block_names()) all.push_back(inner_name(block, name));
  all.emplace_back(model.transformer.ln_f.path);
  all.emplace_back(model.lm_head.path);
  return all;
}

Probe::Probe(const Gpt& model, std::vector<std::string> patterns)
    : model_(model), patterns_(std::move(patterns)) {
  const std::vector<std::string> all = names(model);
  for (const std::string& pattern : patterns_)
    check(std::any_of(all.begin(), all.end(), [&](const std::string& n) { return glob_match(pattern, n); }),
          "probe", "'{}' fits nothing in this model; names are {}, {}, ... {}", pattern, all[0], all[1],
          all.back());
  for (const Block& block : model.transformer.h) {
    bool any = false;
    for (const std::string& name : open_block_names())
      any = any || (!handed_out(name) && wanted(inner_name(block, name)));
    inside_.push_back(any);
  }
  blocks_.resize(inside_.size());
  hooks_.on_forward("*", [this](const char* path, const Variable& output) { on_output(path, output); });
  hooks_.on_backward("*", [this](const char* path, const Variable& gradient) {
    if (wanted(path)) seen_[path].gradient = gradient.value();
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (inside_[i] && std::string_view(path) == model_.transformer.h[i].path)
        blocks_[i].output_gradient = gradient.value();
    return Variable();
  });
}

bool Probe::wanted(std::string_view name) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const std::string& pattern) { return glob_match(pattern, name); });
}

Mode Probe::watching(const Mode& mode) {
  const bool draws = mode.training && model_.config.dropout > 0 && mode.dropout;
  check(!draws || mode.dropout->repeatable() ||
            std::find(inside_.begin(), inside_.end(), true) == inside_.end(),
        "probe",
        "values inside of blocks need dropout masks that can be drawn again, and PyTorch's stream cannot");
  mode_ = mode;
  return hooks_.watching(mode);
}

void Probe::on_output(const char* path, const Variable& output) {
  const Gpt::Transformer& t = model_.transformer;
  if (std::string_view(path) == t.drop.path) {  // a forward pass begins
    seen_.clear();
    std::fill(blocks_.begin(), blocks_.end(), BlockRun());
    precision_ = matmul_precision();
  }
  if (wanted(path)) seen_[path] = {path, output.value(), Tensor()};
  // The output of one is the input of the next.
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (!inside_[i] || std::string_view(path) != (i == 0 ? t.drop.path : t.h[i - 1].path)) continue;
    blocks_[i].input = output.value();
    if (mode_.dropout) blocks_[i].masks = *mode_.dropout;
  }
}

void Probe::open(std::size_t index, std::map<std::string, Captured>& into) const {
  const BlockRun& run = blocks_[index];
  const Block& block = model_.transformer.h[index];
  Mode mode = mode_;
  std::optional<DropoutStream> masks = run.masks;
  mode.dropout = masks ? &*masks : nullptr;
  mode.observe = nullptr;
  const ScopedMatmulPrecision precision(precision_);
  const detail::Recording on(true);
  const std::vector<NamedValue> all = open_block(block, Variable(run.input, true), mode);
  std::vector<NamedValue> chosen;
  std::vector<Variable> targets;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (handed_out(open_block_names()[i]) || !wanted(all[i].name)) continue;
    chosen.push_back(all[i]);
    targets.push_back(all[i].value);
  }
  std::vector<Variable> gradients(chosen.size());
  if (run.output_gradient.defined()) {
    GradOptions options;
    options.gradients = {Variable(run.output_gradient)};
    gradients = grad({all.back().value}, targets, options);
  }
  for (std::size_t i = 0; i < chosen.size(); ++i)
    into[chosen[i].name] = {chosen[i].name, chosen[i].value.value(),
                            gradients[i].defined() ? gradients[i].value() : Tensor()};
}

std::vector<Captured> Probe::finish() const {
  std::map<std::string, Captured> found = seen_;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (inside_[i] && blocks_[i].input.defined()) open(i, found);
  std::vector<Captured> all;
  for (const std::string& name : names(model_))
    if (const auto c = found.find(name); c != found.end()) all.push_back(c->second);
  return all;
}

}  // namespace minigpt
