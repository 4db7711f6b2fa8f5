#include "models/predictions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/engine.h"
#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/reshape.h"

namespace minigpt {
namespace {

// A forward pass of one text, with the residual stream after each layer.
struct Pass {
  std::vector<Variable> stream;  // L + 1 of (1, T, C)
  Variable losses;               // (T)
  Tensor logits;                 // (T, V)
  Tensor targets;                // (T)
};

Pass pass_of(const Gpt& model, std::span<const std::int32_t> tokens) {
  const auto T = static_cast<std::int64_t>(tokens.size()) - 1;
  check(T >= 1 && T <= model.config.block_size, "predict", "{} tokens; needs 2 to {}", tokens.size(),
        model.config.block_size + 1);
  const Gpt::Transformer& t = model.transformer;
  Pass pass;
  pass.stream.resize(t.h.size() + 1);
  const std::function<void(const char*, const Variable&)> observe = [&](const char* path, const Variable& y) {
    for (std::size_t l = 0; l <= t.h.size(); ++l)
      if (std::string_view(path) == (l == 0 ? t.drop.path : t.h[l - 1].path)) pass.stream[l] = y;
  };
  Mode mode;
  mode.observe = &observe;
  pass.targets = Tensor::from<std::int32_t>(tokens.subspan(1), {T});
  const Variable logits =
      model.forward(Tensor::from<std::int32_t>(tokens.first(tokens.size() - 1), {1, T}), mode);
  const Variable rows = reshape(logits, {T, model.config.vocab_size});
  pass.losses = cross_entropy(rows, pass.targets, Reduction::none);
  pass.logits = rows.value();
  return pass;
}

// exp(x_k - max) / sum, in double: probabilities of one row of logits.
std::vector<double> softmax_row(std::span<const double> logits) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  for (const double x : logits) p.push_back(std::exp(x - highest));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

std::vector<Candidate> likeliest(std::span<const double> p, std::size_t k) {
  std::vector<std::int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  k = std::min(k, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const double pa = p[static_cast<std::size_t>(a)], pb = p[static_cast<std::size_t>(b)];
                      return pa > pb || (pa == pb && a < b);
                    });
  std::vector<Candidate> best;
  for (std::size_t i = 0; i < k; ++i) best.push_back({order[i], p[static_cast<std::size_t>(order[i])]});
  return best;
}

// Calls visit(position, probabilities) for each row of (T, V) logits.
template <class Visit>
void for_each_row(const Tensor& logits, Visit visit) {
  const std::vector<double> all = logits.to(DType::f64).to_vector<double>();
  const auto V = static_cast<std::size_t>(logits.dim(1));
  for (std::size_t i = 0; i * V < all.size(); ++i)
    visit(i, softmax_row(std::span<const double>(all).subspan(i * V, V)));
}

// Euclidean norm of each row of (1, T, C).
std::vector<double> row_norms(const Tensor& x) {
  const std::vector<double> all = x.to(DType::f64).to_vector<double>();
  const auto C = static_cast<std::size_t>(x.dim(2));
  std::vector<double> norms(all.size() / C);
  for (std::size_t i = 0; i < all.size(); ++i) norms[i / C] += all[i] * all[i];
  for (double& n : norms) n = std::sqrt(n);
  return norms;
}

}  // namespace

double Predictions::mean_loss() const {
  return std::accumulate(loss.begin(), loss.end(), 0.0) / static_cast<double>(loss.size());
}

Predictions predict(const Gpt& model, std::span<const std::int32_t> tokens, int top_k) {
  const Pass pass = pass_of(model, tokens);
  const std::int64_t T = pass.targets.numel(), V = model.config.vocab_size;
  Predictions out;
  out.loss = pass.losses.value().to(DType::f64).to_vector<double>();
  for_each_row(pass.logits, [&](std::size_t, const std::vector<double>& p) {
    out.top.push_back(likeliest(p, static_cast<std::size_t>(top_k)));
  });
  {
    const NoGrad no_grad;
    for (const Variable& x : pass.stream) {
      const Variable logits = model.lm_head.forward(model.transformer.ln_f.forward(x.detach()));
      std::vector<LensReading>& layer = out.lens.emplace_back();
      for_each_row(reshape(logits.value(), {T, V}), [&](std::size_t i, const std::vector<double>& p) {
        layer.push_back({likeliest(p, 1)[0], p[static_cast<std::size_t>(tokens[i + 1])]});
      });
    }
  }
  const Variable mean = sum(pass.losses) * (1.0 / static_cast<double>(T));
  out.saliency = row_norms(grad({mean}, {pass.stream[0]})[0].value());
  return out;
}

std::vector<double> saliency_by_token(const Gpt& model, std::span<const std::int32_t> tokens) {
  const Pass pass = pass_of(model, tokens);
  const std::int64_t T = pass.targets.numel();
  std::vector<double> rows;
  for (std::int64_t i = 0; i < T; ++i) {
    Tensor only = zeros({T}, pass.losses.dtype());
    slice(only, 0, i, i + 1).fill_(1);
    GradOptions options;
    options.gradients = {Variable(only)};
    options.retain_graph = i + 1 < T;
    const std::vector<double> row = row_norms(grad({pass.losses}, {pass.stream[0]}, options)[0].value());
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

double saliency_flops(const Gpt& model, std::int64_t length) {
  Gpt shared = model;  // parameters() is not const; a copy shares them
  const auto T = static_cast<double>(length);
  return 4 * static_cast<double>(parameter_count(shared.parameters())) * T * T;
}

}  // namespace minigpt
