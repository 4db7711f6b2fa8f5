#include "nn/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "nn/optim/adam_step.h"
#include "tensor/gemm.h"
#include "tensor/optimizer_kernels.h"
#include "tensor/parallel.h"
#include "tensor/reduce.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

std::vector<ParameterGroup> joined(std::vector<ParameterGroup> a, const std::vector<ParameterGroup>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One step of the iteration; x: (M, N) with M <= N, y and the M x M scratch a and p are overwritten, y holds the result.
template <class T>
void newton_schulz_step(const T* x, T* y, T* a, T* p, std::int64_t m, std::int64_t n) {
  const Matrix<T> X{x, m, n, n, 1};
  gemm(X, X.transposed(), a, m);  // A
  const Matrix<T> A{a, m, m, m, 1};
  gemm(A, A, p, m);  // A^2
  // a X + (b A + c A^2) X is one product once a stands on the diagonal.
  for (std::int64_t i = 0; i < m * m; ++i) p[i] = T(-4.7750) * a[i] + T(2.0315) * p[i];
  for (std::int64_t i = 0; i < m; ++i) p[i * m + i] += T(3.4445);
  gemm(Matrix<T>{p, m, m, m, 1}, X, y, n);
}

}  // namespace

Tensor orthogonalise(const Tensor& x) {
  check(x.rank() == 2, "orthogonalise", "needs a matrix, got {}", x.shape());
  const bool tall = x.dim(0) > x.dim(1);
  Tensor now = (tall ? transpose(x) : x).clone();
  const std::int64_t m = now.dim(0), n = now.dim(1);
  visit_floating("orthogonalise", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    // A matrix of zeros stays one.
    const double norm = std::sqrt(sum_of_squares(now));
    const T scale = static_cast<T>(1 / std::max(norm, 1e-30));
    T* values = now.mutable_data<T>();
    for (std::int64_t i = 0; i < m * n; ++i) values[i] *= scale;
    Tensor next = Tensor::empty({m, n}, x.dtype());
    Tensor a = Tensor::empty({m, m}, x.dtype()), p = Tensor::empty({m, m}, x.dtype());
    for (int i = 0; i < 5; ++i) {
      newton_schulz_step(now.data<T>(), next.mutable_data<T>(), a.mutable_data<T>(), p.mutable_data<T>(), m,
                         n);
      std::swap(now, next);
    }
  });
  return tall ? transpose(now).contiguous() : now;
}

Muon::Muon(std::vector<ParameterGroup> matrices, std::vector<ParameterGroup> others,
           const MuonOptions& options, const AdamOptions& adam)
    : Optimizer(joined(matrices, others)), options_(options), adam_(adam) {
  check(options.momentum >= 0 && options.momentum < 1, "muon", "momentum must be in [0, 1), got {}",
        options.momentum);
  check(std::isfinite(options.scale) && options.scale > 0, "muon", "scale must be positive, got {}",
        options.scale);
  for (const ParameterGroup& group : matrices) matrix_count_ += group.parameters.size();
  for (const NamedParameter& p : all_parameters()) {
    const bool matrix = first_.size() < matrix_count_;
    check(!matrix || p.variable.rank() == 2, "muon", "{} is not a matrix: {}", p.name, p.variable.shape());
    first_.push_back(zeros_like(p.variable.value()));
    square_.push_back(matrix ? Tensor() : zeros_like(p.variable.value()));
  }
}

void Muon::update(std::size_t index, std::int64_t t, Variable& parameter, const Tensor& gradient,
                  const ParameterGroup& group, double grad_scale) {
  Tensor& value = parameter.mutable_value();
  visit_floating("muon", value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (index >= matrix_count_) {
      const double time = static_cast<double>(t);
      const AdamStep step = detail::adam_step(adam_, group, 1 - std::pow(adam_.beta1, time),
                                              1 - std::pow(adam_.beta2, time), grad_scale);
      adamw_step(value.mutable_data<T>(), gradient.data<T>(), first_[index].template mutable_data<T>(),
                 square_[index].template mutable_data<T>(), value.numel(), step);
      return;
    }
    matrices_.push_back(
        {&value, gradient, &first_[index], group.learning_rate, group.weight_decay, grad_scale});
  });
}

// The products of one matrix are too small to be split well, so every thread takes whole matrices.
void Muon::finish_step() {
  parallel_for(static_cast<std::int64_t>(matrices_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) step_matrix(matrices_[static_cast<std::size_t>(i)]);
  });
  matrices_.clear();
}

void Muon::step_matrix(const MatrixStep& s) const {
  visit_floating("muon", s.value->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = s.value->numel();
    T *w = s.value->mutable_data<T>(), *v = s.momentum->mutable_data<T>();
    const T* g = s.gradient.data<T>();
    const T momentum = static_cast<T>(options_.momentum), scale = static_cast<T>(s.grad_scale);
    Tensor u = Tensor::empty(s.value->shape(), s.value->dtype());
    T* ahead = u.mutable_data<T>();
    for (std::int64_t i = 0; i < n; ++i) {
      v[i] = momentum * v[i] + scale * g[i];
      ahead[i] = scale * g[i] + momentum * v[i];
    }
    const Tensor direction = orthogonalise(u);
    const T* d = direction.data<T>();
    const T keep = static_cast<T>(1 - s.learning_rate * s.weight_decay);
    const auto longest = static_cast<double>(std::max(s.value->dim(0), s.value->dim(1)));
    const T rate = static_cast<T>(s.learning_rate * options_.scale * std::sqrt(longest));
    for (std::int64_t i = 0; i < n; ++i) w[i] = w[i] * keep - rate * d[i];
  });
}

std::vector<NamedTensor> Muon::memory() const {
  std::vector<NamedTensor> tensors;
  const std::vector<NamedParameter> parameters = all_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    tensors.push_back({(i < matrix_count_ ? "momentum." : "exp_avg.") + name, first_[i]});
    if (i >= matrix_count_) tensors.push_back({"exp_avg_sq." + name, square_[i]});
  }
  return tensors;
}

}  // namespace minigpt
