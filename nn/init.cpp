#include "nn/init.h"

#include <cmath>
#include <numbers>

#include "tensor/sampling.h"

namespace minigpt::init {
namespace {

double fan_of(std::string_view op, const Variable& p, Fan fan) {
  check(p.rank() == 2, op, "needs a (out, in) matrix, got shape {}", p.shape());
  return static_cast<double>(p.dim(fan == Fan::in ? 1 : 0));
}

// Calls fill with the parameter's numbers as a span. Parameters are row-major from birth.
template <class Fill>
void with_values(std::string_view op, Variable& p, const Fill& fill) {
  Tensor& t = p.mutable_value();
  check(t.is_contiguous(), op, "needs a row-major parameter");
  visit_floating(op, t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    fill(std::span<T>(t.mutable_data<T>(), static_cast<std::size_t>(t.numel())));
  });
}

}  // namespace

void uniform_(Variable& p, double low, double high, Generator& rng) {
  with_values("uniform", p, [&](auto values) { rng.uniform(values, low, high); });
}

void normal_(Variable& p, double mean, double std, Generator& rng) {
  with_values("normal", p, [&](auto values) { rng.normal(values, mean, std); });
}

void trunc_normal_(Variable& p, double mean, double std, double low, double high, Generator& rng) {
  with_values("trunc_normal", p, [&](auto values) { trunc_normal(rng, values, mean, std, low, high); });
}

void constant_(Variable& p, double value) { p.mutable_value().fill_(value); }

double leaky_relu_gain(double slope) { return std::sqrt(2.0 / (1.0 + slope * slope)); }

void kaiming_uniform_(Variable& p, double slope, Generator& rng, Fan fan) {
  const double bound =
      std::sqrt(3.0) * (leaky_relu_gain(slope) / std::sqrt(fan_of("kaiming_uniform", p, fan)));
  uniform_(p, -bound, bound, rng);
}

void kaiming_normal_(Variable& p, double slope, Generator& rng, Fan fan) {
  normal_(p, 0, leaky_relu_gain(slope) / std::sqrt(fan_of("kaiming_normal", p, fan)), rng);
}

void xavier_uniform_(Variable& p, double gain, Generator& rng) {
  const double fans = fan_of("xavier_uniform", p, Fan::in) + fan_of("xavier_uniform", p, Fan::out);
  const double bound = std::sqrt(3.0) * gain * std::sqrt(2.0 / fans);
  uniform_(p, -bound, bound, rng);
}

void xavier_normal_(Variable& p, double gain, Generator& rng) {
  const double fans = fan_of("xavier_normal", p, Fan::in) + fan_of("xavier_normal", p, Fan::out);
  normal_(p, 0, gain * std::sqrt(2.0 / fans), rng);
}

}  // namespace minigpt::init
