#pragma once
// Cross-entropy of logits with class numbers, row by row. Averaging over rows is left to the caller.

#include "tensor/tensor.h"

namespace minigpt {

struct CrossEntropyOutput {
  Tensor losses;  // (N)
  Tensor
      log_sum_exp;  // (N, 2): the maximum of the row, and log(sum exp(x - max)); their sum is the log-sum-exp
  std::int64_t counted;  // rows that are not ignored: what a mean divides by
};

// Negative log-probability of the target of each row.
//   loss = log(sum_k exp(x_k)) - x_target = log(sum_k exp(x_k - max x)) - (x_target - max x)
// logits: (N, V) float32 or float64; targets: (N) int32. The second form is the one computed: logits of 1e8
// lose nothing, and the log-sum-exp is kept in two parts for the same reason. A row whose target is
// ignore_index has loss exactly 0, whatever its logits hold, even NaN.
// Throws Error on other shapes or types, and on a target outside [0, V) that is not ignore_index, naming
// value and position.
CrossEntropyOutput cross_entropy(const Tensor& logits, const Tensor& targets, std::int32_t ignore_index);

// Gradient of the sum of dloss_i * loss_i:
//   dlogits_j = (softmax(x)_j - [j == target]) * dloss
// dloss: (N), or () for the same factor in every row (1 / counted for a mean). The probabilities are computed
// again from the logits, which costs less than storing (N, V) numbers. Ignored rows give exactly 0.
Tensor cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& log_sum_exp,
                              const Tensor& dloss, std::int32_t ignore_index);

}  // namespace minigpt
