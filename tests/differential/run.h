#pragma once
// An expression computed by the library.

#include "autograd/gradcheck.h"
#include "tests/differential/expression.h"

namespace minigpt::differential {

struct RunOptions {
  DType dtype = DType::f64;
  bool composed = false;      // the compositions in place of fused operations
  bool create_graph = false;  // the backward pass is recorded
  bool joined = false;        // the roots are put together into one vector
  bool checkpoint = false;  // that, and the whole expression is computed a second time for its backward pass
  bool accumulate = false;  // one backward() for each root, in place of grad() of all
};

struct Outcome {
  std::vector<std::vector<double>> values;     // of the roots
  std::vector<std::vector<double>> gradients;  // of the leaves that want one; empty where it depends on none
};

// Values of the roots, and gradients of the leaves. Throws Error, as the library does.
Outcome run(const Expression& e, const RunOptions& options);
// Values alone, with recording off.
std::vector<std::vector<double>> run_unrecorded(const Expression& e, DType dtype);

// d/dh of the gradients as every leaf moves by h times its direction (in float64): with g the gradients,
// the gradient of sum_i g_i . direction_i, as the library differentiates its backward pass.
std::vector<std::vector<double>> second_derivative(const Expression& e,
                                                   const std::vector<std::vector<double>>& directions,
                                                   bool under_checkpoint);

// Finite differences of some elements of each leaf by autograd/gradcheck.h. Leaves whose elements share memory are
// replaced by copies.
GradcheckResult finite_differences(const Expression& e, const GradcheckOptions& options);

// Backward after a value in use, an index or a mask was changed in place: either the error, or the gradients as without
// the change.
enum class EditOutcome { refused, harmless, wrong };
EditOutcome edited_before_backward(const Expression& e, const Outcome& expected, DType dtype,
                                   std::uint64_t choice);

}  // namespace minigpt::differential
