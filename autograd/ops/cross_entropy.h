#pragma once
// cross_entropy: the loss of a classifier, from its logits.

#include "autograd/composition.h"
#include "autograd/ops/gather.h"
#include "autograd/ops/log_softmax.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/neg.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/sum.h"
#include "tensor/loss.h"
#include "tensor/reduce.h"

namespace minigpt {

// What becomes of the losses of the rows: their mean, their sum, or all of them.
enum class Reduction { mean, sum, none };

// The formula below in elementary ops: the specification of the fused op, and what a second derivative goes
// through.
inline Variable cross_entropy_composed(const Variable& logits, const Tensor& targets,
                                       Reduction reduction = Reduction::mean, int ignore_index = -100) {
  const Tensor ignored = eq(targets, ignore_index);
  const Tensor column = unsqueeze(ignored, 1);
  // Ignored rows are emptied first: multiplied by a gradient of 0, a NaN in them would stay NaN.
  const Variable log_p = log_softmax(masked_fill(logits, column, 0));
  const Variable picked = gather(log_p, 1, masked_fill(unsqueeze(targets, 1), column, 0));
  const Variable losses = masked_fill(-reshape(picked, targets.shape()), ignored, 0);
  if (reduction == Reduction::none) return losses;
  if (reduction == Reduction::sum) return sum(losses);
  const double kept = static_cast<double>(targets.numel()) - sum(ignored.to(DType::f64)).item();
  return sum(losses) * (1 / kept);
}

// loss_i = -log(softmax(x_i)[target_i]) = log(sum_k exp(x_ik)) - x_i[target_i]
//   dx_i = (softmax(x_i) - onehot(target_i)) * dloss_i
// logits x: (N, V)   targets: int32 (N)   ->   () for mean and sum, (N) for none. Flatten (B, T, V) and (B, T)
// first: nothing is broadcast in a loss.
// Rows whose target is ignore_index have loss and gradient exactly 0, whatever their logits hold. mean divides
// by the number of the other rows; if there is none, that is 0 / 0 = NaN, as in PyTorch: a batch without any
// target is a mistake worth seeing. The gradient is 0 even then.
// Throws Error on other shapes, and on a target outside [0, V), naming it and its position.
inline Variable cross_entropy(const Variable& logits, const Tensor& targets,
                              Reduction reduction = Reduction::mean, int ignore_index = -100) {
  CrossEntropyOutput f = cross_entropy(logits.value(), targets, ignore_index);
  const auto kept = static_cast<double>(f.counted);
  Tensor loss = reduction == Reduction::none ? f.losses : sum(f.losses);
  if (reduction == Reduction::mean) loss = loss / kept;
  return record("cross_entropy", std::move(loss), {logits}, save(input(0), targets, f.log_sum_exp),
                [reduction, ignore_index, kept](const Saved& s, const Variable& dy) {
                  const Tensor classes = s.other(0);
                  if (recording())
                    return differentiate(
                        [&](const std::vector<Variable>& v) {
                          return cross_entropy_composed(v[0], classes, reduction, ignore_index);
                        },
                        {s.input(0)}, dy);
                  const Tensor dloss = reduction == Reduction::mean ? dy.value() / kept : dy.value();
                  return Grads{Variable(
                      cross_entropy_backward(s.input(0).value(), classes, s.other(1), dloss, ignore_index))};
                });
}

}  // namespace minigpt
