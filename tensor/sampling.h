#pragma once
// Distributions drawn from a Generator, with PyTorch's numbers (1.13, CPU, build without MKL).

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/generator.h"

namespace minigpt {

// out[i] = 1 with probability p, else 0: unit_double() < p, 2 words each, whatever the type of `out`.
// Throws Error unless p is in [0, 1].
void bernoulli(Generator& rng, std::span<float> out, double p);
void bernoulli(Generator& rng, std::span<double> out, double p);

// out[i] = 1 with probability p[i]: here the uniform has the type of p, so 1 word for float and 2 for double.
// Throws Error if the sizes differ or a p[i] is not in [0, 1]; nothing is drawn then.
void bernoulli(Generator& rng, std::span<const float> p, std::span<float> out);
void bernoulli(Generator& rng, std::span<const double> p, std::span<double> out);

// Exponential waiting times: -ln(1 - unit_double()) / lambda, in double, 2 words each.
// Throws Error unless lambda > 0.
void exponential(Generator& rng, std::span<float> out, double lambda = 1);
void exponential(Generator& rng, std::span<double> out, double lambda = 1);

// Draws k indices from each row of `weights` (rows x V, any positive sum) and returns them as rows x k.
//
// Without replacement: every index gets the score weight / Exp(1) and the k largest win, largest first; the
// chance of coming first is weight / sum (an exponential race). 2 words per weight, zero weights included.
// With replacement: k binary searches in the cumulative sum, 2 words each. (PyTorch 2 runs a race for k = 1
// here too.)
//
// weights.size() = rows * V. Throws Error if rows < 1, weights cannot be cut into rows, k < 1, k > V without
// replacement, or a row has a negative or infinite weight or no positive one.
std::vector<std::int64_t> multinomial(Generator& rng, std::span<const float> weights, std::int64_t rows,
                                      std::int64_t k, bool replacement = false);
std::vector<std::int64_t> multinomial(Generator& rng, std::span<const double> weights, std::int64_t rows,
                                      std::int64_t k, bool replacement = false);

// Normal(mean, std) restricted to [a, b]; F is the standard normal distribution function:
//   u uniform in (2 F((a - mean) / std) - 1, 2 F((b - mean) / std) - 1),  out = erfinv(u) std sqrt(2) + mean,
//   clamped.
// 1 word per float, 2 per double. Throws Error unless std > 0 and a <= b.
void trunc_normal(Generator& rng, std::span<float> out, double mean = 0, double std = 1, double a = -2,
                  double b = 2);
void trunc_normal(Generator& rng, std::span<double> out, double mean = 0, double std = 1, double a = -2,
                  double b = 2);

// The inverse error function, erf(erfinv(y)) = y; -1 and 1 give -inf and inf, anything outside NaN.
// Start: S. Winitzki, "A handy approximation for the error function and its inverse" (2008); then Newton
// steps.
double erfinv(double y);

}  // namespace minigpt
