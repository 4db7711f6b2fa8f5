#include "tools/zoo/net.h"

#include "autograd/ops.h"
#include "nn/init.h"

namespace minigpt::zoo {
namespace {

Variable matrix(std::int64_t rows, std::int64_t columns, Generator& rng) {
  Variable w(Tensor::empty({rows, columns}), true);
  init::normal_(w, 0, 1 / std::sqrt(static_cast<double>(columns)), rng);
  return w;
}

Variable vector(std::int64_t n, double value) { return Variable(full({n}, value), true); }

// Some of the second half of the features are blanked out, always the same ones.
Tensor blanks() {
  std::vector<double> mask(48);
  for (std::size_t i = 40; i < mask.size(); i += 2) mask[i] = 1;
  return Tensor::from<double>(mask, {48}).to(DType::boolean);
}

}  // namespace

NetBatch net_batch(std::int64_t n, DType dtype, Generator& rng) {
  std::vector<double> x(static_cast<std::size_t>(n * 8));
  std::vector<std::int32_t> kind(static_cast<std::size_t>(n)), target(kind);
  rng.normal(std::span<double>(x));
  rng.randint(std::span<std::int32_t>(kind), 0, 6);
  for (std::size_t i = 0; i < kind.size(); ++i) {
    const double* row = x.data() + 8 * i;
    const bool product = row[0] * row[1] > 0, sum = row[2] + row[3] + 0.5 * kind[i] > 1.25;
    target[i] = i % 8 == 7 ? -1 : 2 * product + sum;
  }
  return {Tensor::from<double>(x, {n, 8}).to(dtype), Tensor::from<std::int32_t>(kind, {n}),
          Tensor::from<std::int32_t>(target, {n})};
}

Net::Net(Generator& rng)
    : in_weight(matrix(16, 8, rng)),
      in_bias(vector(16, 0.1)),
      gate_weight(matrix(16, 8, rng)),
      gate_bias(vector(16, 0.2)),
      scale(vector(16, 1)),
      shift(vector(16, 0.1)),
      left(matrix(8, 16, rng)),
      right(matrix(8, 16, rng)),
      wave(matrix(8, 16, rng)),
      table(matrix(6, 8, rng)),
      hidden_weight(matrix(24, 48, rng)),
      hidden_bias(vector(24, 0.1)),
      out_weight(matrix(4, 24, rng)),
      out_bias(vector(4, 0)) {
  stamp_paths(*this);
}

Variable Net::loss(const NetBatch& batch) const {
  const std::int64_t N = batch.x.dim(0);
  const Variable x(batch.x);

  // Gated units, normalised row by row.
  const Variable gated = tanh(linear(x, in_weight, in_bias)) * sigmoid(linear(x, gate_weight, gate_bias));
  const Variable centred = gated - mean(gated, {-1}, true);
  const Variable normed = centred / sqrt(var(gated, {-1}, 0, true) + 0.05);
  const Variable h = normed * expand(scale, {N, 16}) + shift;

  // Six groups of eight features.
  const Variable u = matmul(h, transpose(left)), v = matmul(h, transpose(right));
  const Variable w = cos(matmul(h, transpose(wave)));
  const Tensor positive = gt(batch.x, 0.0);
  const Tensor rows = expand(unsqueeze(batch.kind, 1), {N, 8}).contiguous();
  const std::vector<Variable> features = {amax(reshape(h * scale, {N, 8, 2}), {-1}),
                                          maximum(u, v),
                                          where(positive, u, w),
                                          gather(table, 0, rows),
                                          abs(v - w),
                                          pow(exp(u * 0.3), 1.5)};
  const Variable all = masked_fill(concat(features, 1), blanks(), 0.5);
  const Variable hidden = linear_activation(all, hidden_weight, hidden_bias, Activation::silu);
  const Variable logits = linear(hidden, out_weight, out_bias);

  // The same loss three times. Rows without a class count as class 0 where the loss cannot leave them out.
  const Tensor target = unsqueeze(masked_fill(batch.target, lt(batch.target, 0.0), 0), 1).contiguous();
  const Variable e = exp(logits);
  const Variable by_hand = log(e / sum(e, {-1}, true));
  const Variable by_op = log_softmax(logits);
  const Variable fused = cross_entropy(logits, batch.target, Reduction::mean, -1);
  const Variable penalty = mean(out_weight * out_weight);
  return fused - mean(gather(by_op, 1, target)) * 0.1 - mean(gather(by_hand, 1, target)) * 0.1 +
         penalty * 0.01;
}

}  // namespace minigpt::zoo
