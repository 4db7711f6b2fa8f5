#pragma once
// Second derivatives of an expression.

#include "tests/differential/check.h"

namespace minigpt::differential {

// The library differentiates its recorded backward pass; the specification's gradients are differenced.
std::optional<std::string> check_second_order(const Expression& e, Statistics& statistics);

}  // namespace minigpt::differential
