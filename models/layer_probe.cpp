#include "models/layer_probe.h"

#include <cmath>

#include "models/attention_weights.h"
#include "tensor/arithmetic.h"
#include "tensor/dispatch.h"
#include "tensor/reduce.h"

namespace minigpt {
namespace {

constexpr double kAlmostNoGradient = 0.01;

double root_mean_square(const Tensor& x) {
  return std::sqrt(sum_of_squares(x) / static_cast<double>(std::max<std::int64_t>(1, x.numel())));
}

// The hidden values z = W1 ln_2(x + attention) + b1 of a block.   input: (B, T, C)   ->   (B T, 4C)
Tensor hidden_values(const Block& block, const Tensor& input) {
  const Variable x(input);
  const ResidualNorm middle =
      block.ln_2.forward(x, block.attn.attend(block.ln_1.then(block.attn.c_attn, x), Mode{}));
  const Tensor z = block.mlp.c_fc.forward(middle.normed).value();
  return reshape(z.contiguous(), {z.numel() / z.dim(-1), z.dim(-1)});
}

void count_inactive(const Tensor& z, Activation f, LayerReport& report) {
  const std::int64_t rows = z.dim(0), units = z.dim(1);
  Tensor slope = Tensor::empty(z.shape(), z.dtype());
  const Tensor one = ones(z.shape(), z.dtype());
  visit_floating("probe_layers", z.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* s = slope.mutable_data<T>();
    kernels<T>().gemm.activate_backward(f, z.numel(), z.data<T>(), one.data<T>(), nullptr, s);
    std::int64_t inactive = 0, dead = 0;
    for (std::int64_t j = 0; j < units; ++j) {
      std::int64_t here = 0;
      for (std::int64_t i = 0; i < rows; ++i)
        here += std::fabs(static_cast<double>(s[i * units + j])) < kAlmostNoGradient;
      inactive += here;
      dead += here == rows;
    }
    report.inactive = static_cast<double>(inactive) / static_cast<double>(z.numel());
    report.dead = static_cast<double>(dead) / static_cast<double>(units);
  });
}

// weights: (B, H, T, T), causal
std::vector<double> entropies(const Tensor& weights) {
  const std::int64_t B = weights.dim(0), H = weights.dim(1), T = weights.dim(2);
  std::vector<double> mean(static_cast<std::size_t>(H));
  if (T < 2) return mean;
  visit_floating("probe_layers", weights.dtype(), [&](auto zero) {
    using F = decltype(zero);
    const F* w = weights.data<F>();
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t t = 1; t < T; ++t) {
          const F* row = w + ((b * H + h) * T + t) * T;
          double entropy = 0;
          for (std::int64_t s = 0; s <= t; ++s)
            if (row[s] > 0) entropy -= static_cast<double>(row[s]) * std::log(static_cast<double>(row[s]));
          mean[static_cast<std::size_t>(h)] += entropy / std::log(static_cast<double>(t + 1));
        }
  });
  for (double& m : mean) m /= static_cast<double>(B * (T - 1));
  return mean;
}

}  // namespace

std::vector<LayerReport> probe_layers(const Gpt& model, const Tensor& tokens) {
  const NoGrad no_grad;
  std::vector<LayerReport> reports;
  visit_block_inputs(model, tokens, [&](std::int64_t layer, const Tensor& input, const Tensor& output) {
    const Block& block = model.transformer.h[static_cast<std::size_t>(layer)];
    LayerReport report;
    report.residual = root_mean_square(output);
    report.branch = root_mean_square(sub(output, input));
    count_inactive(hidden_values(block, input), block.mlp.activation, report);
    report.entropy = entropies(attention_weights_of(block, input).contiguous());
    reports.push_back(std::move(report));
  });
  return reports;
}

}  // namespace minigpt
