#include <algorithm>
#include <cmath>

#include "autograd/composition.h"
#include "tools/zoo/net.h"
#include "tools/zoo/task.h"

namespace minigpt::zoo {
namespace {

// Two layers, biases, every kind of parameter.
GptConfig tiny(const Mutant& mutant) {
  TrainConfig c = small_run();
  apply_json(c, mutant.settings, "settings of the fault");
  c.model.block_size = 6;
  c.model.vocab_size = 7;
  c.model.n_embd = 8;
  c.model.init_std = 0.3;  // far enough from zero for every part to matter
  return c.model;
}

Tensor random_tokens(const Shape& shape, std::int64_t vocab, Generator& rng) {
  Tensor t = Tensor::empty(shape, DType::i32);
  rng.randint(std::span(t.mutable_data<std::int32_t>(), static_cast<std::size_t>(t.numel())), 0, vocab);
  return t;
}

double numeric_slope(const std::function<Variable()>& loss, double& element) {
  constexpr double kEps = 1e-5;
  const double before = element;
  element = before + kEps;
  const double above = loss().item();
  element = before - kEps;
  const double below = loss().item();
  element = before;
  return (above - below) / (2 * kEps);
}

// Elements first..first + count - 1 of a parameter.
Slope check_slope(const std::string& name, Variable parameter, const Tensor& gradient, std::int64_t first,
                  std::int64_t count, std::int64_t wanted, const std::function<Variable()>& loss) {
  Slope slope;
  slope.name = name;
  const std::int64_t n = wanted == 0 ? count : std::min(wanted, count);
  std::vector<std::pair<double, double>> pairs;
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = first + i * count / n;
    const NoGrad no_grad;
    const double numeric = numeric_slope(loss, parameter.mutable_value().mutable_data<double>()[at]);
    pairs.emplace_back(gradient.data<double>()[at], numeric);
    largest = std::max({largest, std::fabs(pairs.back().first), std::fabs(numeric)});
  }
  const double tolerance = 1e-8 + 1e-6 * largest;
  double worst = -1;
  std::vector<double> ratios;
  for (const auto& pair : pairs) {
    const double error = std::fabs(pair.first - pair.second);
    ++slope.checked;
    if (error > worst) {
      worst = error;
      slope.analytic = pair.first;
      slope.numeric = pair.second;
    }
    if (error <= tolerance) continue;
    ++slope.wrong;
    if (std::fabs(pair.second) > tolerance) ratios.push_back(pair.first / pair.second);
  }
  std::sort(ratios.begin(), ratios.end());
  if (!ratios.empty()) {
    slope.low = ratios.front();
    slope.middle = ratios[ratios.size() / 2];
    slope.high = ratios.back();
  }
  return slope;
}

void check_all(std::vector<NamedParameter> parameters, std::int64_t wanted,
               const std::function<Variable()>& loss, std::vector<Slope>& out) {
  zero_grad(parameters);
  loss().backward();
  for (const NamedParameter& p : parameters) {
    const Tensor gradient =
        p.variable.has_grad() ? p.variable.grad().value().contiguous() : zeros_like(p.variable.value());
    const bool thirds = p.name.find("c_attn.") != p.name.npos;
    const std::int64_t parts = thirds ? 3 : 1, count = p.variable.numel() / parts;
    for (std::int64_t i = 0; i < parts; ++i) {
      const char* part[] = {" (queries)", " (keys)", " (values)"};
      out.push_back(check_slope(p.name + (thirds ? part[i] : ""), p.variable, gradient, i * count, count,
                                wanted, loss));
    }
  }
  zero_grad(parameters);
}

// Keeps the first attention weights that it sees, of one head.
struct FirstWeights : Watcher {
  Tensor weights;
  void on_forward(const char* op, const Variable& y, const Variable*, std::size_t) override {
    if (std::string_view(op) == "softmax" && y.rank() == 4 && !weights.defined())
      weights = select(select(y.value(), 0, 0), 0, 0).clone();
  }
  std::vector<std::vector<double>> rows() const {
    std::vector<std::vector<double>> all;
    for (std::int64_t t = 0; weights.defined() && t < weights.dim(0); ++t)
      all.push_back(select(weights, 0, t).contiguous().to_vector<double>());
    return all;
  }
};

// How many logits before the last change with the last character.
int positions_that_see(const Gpt& model, Tensor tokens) {
  const NoGrad no_grad;
  const Tensor before = model.forward(tokens).value().clone();
  std::int32_t& last = tokens.mutable_data<std::int32_t>()[tokens.numel() - 1];
  last = static_cast<std::int32_t>((last + 1) % model.config.vocab_size);
  const Tensor after = model.forward(tokens).value();
  const std::int64_t T = tokens.dim(1), b = tokens.dim(0) - 1;
  int changed = 0;
  for (std::int64_t t = 0; t + 1 < T; ++t) {
    bool same = true;
    for (std::int64_t v = 0; v < before.dim(2); ++v)
      same = same && before.at({b, t, v}) == after.at({b, t, v});
    changed += !same;
  }
  return changed;
}

}  // namespace

Inspection inspect(const Mutant& mutant, bool planted, std::int64_t elements, std::uint64_t seed) {
  Generator rng(seed);
  Inspection out;
  if (mutant.task == Task::net) {
    Net net(rng);
    convert_parameters(net, DType::f64);
    const NetBatch batch = net_batch(16, DType::f64, rng);
    std::optional<Planted> fault;
    if (planted) fault.emplace(mutant);
    check_all(
        named_parameters(net), elements, [&] { return net.loss(batch); }, out.slopes);
    return out;
  }
  Gpt model(tiny(mutant), rng);
  convert_parameters(model, DType::f64);
  const Tensor inputs = random_tokens({2, model.config.block_size}, model.config.vocab_size, rng);
  const Tensor targets = random_tokens(inputs.shape(), model.config.vocab_size, rng);
  std::optional<ScopedComposition> in_steps;
  if (mutant.task == Task::gpt) in_steps.emplace();
  std::optional<Planted> fault;
  if (planted) fault.emplace(mutant);
  const auto loss = [&] {
    DropoutStream masks = DropoutStream::counter(seed);
    Mode mode;
    mode.training = true;
    mode.dropout = &masks;
    return model.loss(inputs, targets, mode);
  };
  {
    FirstWeights first;
    loss();
    out.attention = first.rows();
  }
  check_all(model.parameters(), elements, loss, out.slopes);
  out.see_the_future = positions_that_see(model, inputs.clone());
  return out;
}

}  // namespace minigpt::zoo
