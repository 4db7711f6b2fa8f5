#pragma once
// Muon: matrices take steps of equal size in every direction, because their momentum is orthogonalised first.

#include "nn/optim/adam.h"

namespace minigpt {

struct MuonOptions {
  double momentum = 0.95;
  // Root mean square of an update's elements, per unit of learning rate. 0.2 is about what AdamW's updates have, so that
  // one rate and one weight decay serve both (Liu et al. 2025, "Muon is scalable for LLM training", section 2.2).
  double scale = 0.2;
};

// Matrices (M, N):
//   v = momentum * v + g;   u = g + momentum * v                         (Nesterov's form)
//   w = w * (1 - lr * weight_decay) - lr * scale * sqrt(max(M, N)) * orthogonal(u)
// where orthogonal(u) = U V^T of u = U S V^T: all singular values become 1, so that rare directions learn as fast as
// the few that dominate the gradient. Everything else (embeddings, read-out, vectors) is stepped by AdamW.
// Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks".
// Throws Error if a parameter among `matrices` is not of rank 2.
class Muon : public Optimizer {
 public:
  Muon(std::vector<ParameterGroup> matrices, std::vector<ParameterGroup> others, const MuonOptions& options,
       const AdamOptions& adam);

 private:
  // "momentum.<parameter>" of the matrices, "exp_avg.<parameter>" and "exp_avg_sq.<parameter>" of the others.
  std::vector<NamedTensor> memory() const override;
  void update(std::size_t index, std::int64_t t, Variable& parameter, const Tensor& gradient,
              const ParameterGroup& group, double grad_scale) override;
  // The matrices are stepped together, each by one thread.
  void finish_step() override;
  struct MatrixStep {
    Tensor* value;
    Tensor gradient;
    Tensor* momentum;
    double learning_rate, weight_decay, grad_scale;
  };
  void step_matrix(const MatrixStep& step) const;

  MuonOptions options_;
  AdamOptions adam_;
  std::vector<MatrixStep> matrices_;    // of the step being made
  std::size_t matrix_count_ = 0;        // parameters before this index are matrices
  std::vector<Tensor> first_, square_;  // momentum, or Adam's averages; square_ is undefined for matrices
};

// U V^T of x = U S V^T (M, N), nearly: five steps of the Newton-Schulz iteration, with X = x / |x| and M <= N (else x^T),
//   A = X X^T;   X = a X + (b A + c A^2) X,   a, b, c = 3.4445, -4.7750, 2.0315
// which maps each singular value s to a s + b s^3 + c s^5. The coefficients are chosen to lift small ones fast; they
// end between about 0.7 and 1.2 instead of at 1, which training does not notice (Jordan et al. 2024).
// float32 or float64. Throws Error unless x has rank 2.
Tensor orthogonalise(const Tensor& x);

}  // namespace minigpt
