#pragma once
// Why is this gradient zero, missing, not a number, tiny or huge? An answer in plain words, with numbers.
//
//   const GradientExplanation e = explain_gradient([&] { return model.loss(x, y); }, weight, "c_fc.weight");
//   for (const GradientCause& c : e.causes) fmt::print("{}: {}\n", c.id, c.text);
//
// The loss is computed once more with every fused operation in its elementary steps (ScopedComposition), its backward pass
// is watched, and the graph is walked from the tensor towards the loss. Where a gradient arrives and nothing comes out, the
// numbers that the operation kept for its backward tell the reason.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograd/variable.h"

namespace minigpt {

// ids of causes, in the order in which they are looked for:
//   no_grad            the tensor does not want a gradient, or it is used where recording is off
//   detached           what was made of it is cut off from the loss (detach())
//   not_on_path        nothing that the loss is made of depends on it
//   not_finite         the first value that is infinite or not a number, forward or backward
//   row_not_in_batch   a row of an embedding that no index names
//   masked_causal, masked_padding, masked     hidden by a mask: of the future; of whole keys; another one
//   dropped_out        removed by dropout
//   relu_inactive      a rectifier whose inputs are not positive
//   activation_flat    GELU, SiLU, tanh or sigmoid where they are flat
//   softmax_saturated  one weight is (nearly) 1: p (1 - p) is (nearly) 0
//   zero_weight        multiplied by weights that are all zero, such as a projection that begins at zero
//   zero_input         multiplied by activations that are all zero
//   not_selected       an element that slice, gather, max, min or clamp did not take
//   cancellation       parts that are not zero add up to exactly zero
//   underflow          not zero in higher precision
//   vanishing, exploding     the operation where the size of the gradient changes most, for tiny and huge ones
//   clipped            gradients were scaled down after the backward pass
//   unknown            the operation where it becomes zero, if none of the above fits
struct GradientCause {
  std::string id;
  std::string where;  // "transformer.h.0.mlp relu", or the name of a leaf
  std::string text;   // one sentence with numbers
};

// From the tensor towards the loss, always along the edge with the largest gradient.
struct GradientStep {
  std::string where;
  double rms;  // sqrt(mean of squares) of the gradient of what that operation made
};

enum class GradientState { ordinary, missing, zero, not_finite, tiny, huge };
const char* name_of(GradientState state);

struct GradientExplanation {
  GradientState state = GradientState::ordinary;
  Shape shape;
  double norm = 0, rms = 0;     // of the whole gradient
  double zeros = 0;             // share of exact zeros in it
  std::optional<double> value;  // at the index asked for
  double reference = 0;         // median rms of all leaves' gradients
  std::vector<GradientCause> causes;
  std::vector<GradientStep> path;
};

struct ExplainOptions {
  std::optional<Dims> index;  // ask for one element instead of the whole tensor
  double clip = 1;            // the factor that the update multiplies gradients with
  // Says what a row of an embedding stands for: "character 'X'". May be empty.
  std::function<std::string(std::int64_t row)> row_name;
};

// Throws Error if the index is not one of an element of `target`.
void check_index(const Variable& target, const Dims& index);

// loss: makes a single number, whenever it is called the same one   target: a leaf that it may depend on
// Gradients of leaves stay as they are. Tiny and huge: an rms below a hundredth or above a hundred times the median of all leaves.
// Throws Error if the loss is not a single number that wants a gradient, or the index does not fit.
GradientExplanation explain_gradient(const std::function<Variable()>& loss, const Variable& target,
                                     const ExplainOptions& options = {});

}  // namespace minigpt
