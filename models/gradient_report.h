#pragma once
// One backward pass, looked at: every parameter's gradient in numbers, and what is wrong with them in words.

#include <span>
#include <string>
#include <vector>

#include "models/gpt.h"
#include "models/statistics.h"

namespace minigpt {

struct ParameterGradient {
  std::string name;
  Shape shape;
  bool has_gradient = false;  // false: nothing on the way to the loss used it
  Statistics grad, weight;
  double ratio() const;  // |gradient| / |weight|, 0 for a weight of zeros
};

struct GradientReport {
  double loss = 0;
  double norm = 0;  // of all gradients together: what clipping compares with grad_clip
  std::vector<ParameterGradient> parameters;
};

// The gradients of the mean loss of one batch, without dropout. Gradients that the model had are dropped.
// tokens, targets: int32 (B, T)
GradientReport inspect_gradients(const Gpt& model, const Tensor& tokens, const Tensor& targets);

struct Verdict {
  std::string id;     // one of the list below
  std::string where;  // a parameter or "transformer.h.0"
  std::string text;   // a sentence with its numbers
};

// What stands out, worst first; empty if nothing does.
//   not-finite   a gradient holds NaN or infinity                     missing   a parameter has no gradient
//   zero         a gradient is 0 everywhere                           sparse    more than half of a matrix gradient is exactly 0
//   vanishing, exploding   root mean square of the gradients of the matrices of the first block over that of the last:
//                below 1/30, above 30
//   clipped      the norm of all gradients is beyond grad_clip (0: no limit)
std::vector<Verdict> gradient_verdicts(const GradientReport& report, double grad_clip);

}  // namespace minigpt
