#pragma once
// Initial values, drawn from a generator in PyTorch's order, so that the same seed gives PyTorch's weights
// (torch.nn.init). All functions fill a parameter in place, row by row.
//
// fan_in and fan_out of a (out, in) weight are `in` and `out`: the number of terms summed into one output,
// and the number of outputs one input feeds. Scaling by them keeps the variance of activations (or gradients)
// from layer to layer the same (Glorot & Bengio 2010; He et al. 2015).

#include "autograd/variable.h"
#include "tensor/generator.h"

namespace minigpt::init {

// U(low, high).
void uniform_(Variable& p, double low, double high, Generator& rng);
// N(mean, std^2).
void normal_(Variable& p, double mean, double std, Generator& rng);
// N(mean, std^2) cut to [low, high].
void trunc_normal_(Variable& p, double mean, double std, double low, double high, Generator& rng);
void constant_(Variable& p, double value);
inline void zeros_(Variable& p) { constant_(p, 0); }
inline void ones_(Variable& p) { constant_(p, 1); }

enum class Fan { in, out };
// Gains sqrt(2 / (1 + slope^2)) of a leaky ReLU: slope 0 for ReLU, sqrt(5) for PyTorch's Linear.
double leaky_relu_gain(double slope);
// U(-b, b) with b = sqrt(3) * gain / sqrt(fan).
void kaiming_uniform_(Variable& p, double slope, Generator& rng, Fan fan = Fan::in);
// N(0, (gain / sqrt(fan))^2).
void kaiming_normal_(Variable& p, double slope, Generator& rng, Fan fan = Fan::in);
// U(-b, b) with b = gain * sqrt(6 / (fan_in + fan_out)).
void xavier_uniform_(Variable& p, double gain, Generator& rng);
// N(0, gain^2 * 2 / (fan_in + fan_out)).
void xavier_normal_(Variable& p, double gain, Generator& rng);

}  // namespace minigpt::init
