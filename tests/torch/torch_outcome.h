#pragma once
// An expression computed by libtorch, behind an interface without its headers.

#include <optional>

#include "tests/differential/run.h"

namespace minigpt::differential {

// Values of the roots and gradients of the leaves in float64. Nothing if the expression has a meaning of its own here:
// a row that is masked as a whole is 0 after softmax, and NaN in libtorch.
std::optional<Outcome> torch_outcome(const Expression& e);

// The operations that torch_outcome has no counterpart for.
std::vector<std::string> unknown_to_torch();

}  // namespace minigpt::differential
