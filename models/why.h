#pragma once
// autograd/explain.h for a parameter of a GPT and a batch of text: why is its gradient what it is?

#include <string_view>

#include "autograd/explain.h"
#include "models/gpt.h"
#include "models/tokenizer.h"

namespace minigpt {

struct WhyRequest {
  std::string_view tensor;    // name of a parameter, or of another it is tied to
  std::optional<Dims> index;  // one element of it
  Tensor inputs, targets;     // int32 (B, T)
  double grad_clip = 0;       // the run's limit for the gradient norm, 0 for none
  // Masks of dropout as in training, from this seed; none: no dropout.
  std::optional<std::uint64_t> dropout_seed;
};

struct WhyAnswer {
  GradientExplanation explanation;
  double loss = 0;
  double grad_norm = 0, clip = 1;  // of all parameters, and what clipping multiplies them with
};

// Throws Error, with the nearest name, if there is no such parameter or no such element: what why() would throw later.
void check_request(Gpt& model, const WhyRequest& request);

// A gradient of exactly zero is looked at again in float64: if it is there, the cause is underflow. The model's gradients are
// dropped. Throws Error for what check_request() refuses.
WhyAnswer why(Gpt& model, const CharTokenizer& tokenizer, const WhyRequest& request);

}  // namespace minigpt
