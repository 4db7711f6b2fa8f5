#pragma once
// gradcheck: does the backward of a function agree with the function?
//
// Every element of every input that requires a gradient is moved a little both ways, and the slope this gives
// is compared with what the backward pass says:
//   numeric = (L(x + eps) - L(x - eps)) / (2 eps),      L = sum_i w_i f(x)_i,      w_i = cos(i + 1)
// The fixed weights w make one number of an output of any shape, and make it unlikely that errors in
// different elements cancel. Slopes are wrong by about eps^2 (the third derivative) plus rounding / eps,
// which in float64 leaves 9 or 10 good digits and in float32 hardly 3: inputs are float64 unless asked
// otherwise. Keep inputs away from kinks (relu at 0, ties of max), where there is no slope.

#include <functional>
#include <string>
#include <vector>

#include "autograd/variable.h"

namespace minigpt {

// The function under test. It must depend on nothing but the inputs: dropout needs a fixed mask.
using GradcheckFunction = std::function<Variable(const std::vector<Variable>& inputs)>;

struct GradcheckOptions {
  double eps = 1e-6;  // how far an element is moved
  double atol =
      1e-8;  // an element passes if |analytic - numeric| <= atol + rtol * max |analytic| over its input
  double rtol = 1e-6;
  std::int64_t max_elements_per_input = 0;  // checks this many, evenly spread; 0 checks all
  bool allow_float32 = false;

  // Settings with which a correct float32 backward passes; errors below some percent stay unseen.
  static GradcheckOptions float32();
};

struct GradcheckResult {
  bool ok = true;
  std::int64_t checked = 0;  // elements compared
  // The worst element: the one whose error exceeds its tolerance by the largest factor.
  int input = -1;
  std::string name;           // of that input, if it has one
  std::int64_t element = -1;  // row-major
  double analytic = 0;
  double numeric = 0;
  double tolerance = 0;

  explicit operator bool() const { return ok; }
  // "gradcheck failed: input 0 (wte.weight), element 5: analytic 2, numeric 3, differ by 1 > 3e-06".
  std::string str() const;
};

// Compares the gradients of f with finite differences. The inputs are moved in place and put back exactly,
// also after an exception, so parameters that f reaches by another way than its argument can be checked too;
// gradients stored in them are left alone.
// Throws Error on float32 inputs without allow_float32, on an input whose elements share memory (expand), if
// no input requires a gradient, and if f gives two results for the same inputs.
GradcheckResult gradcheck(const GradcheckFunction& f, const std::vector<Variable>& inputs,
                          const GradcheckOptions& options = {});

// Checks second derivatives: gradcheck of the function (inputs, v) -> d(f(inputs) * v)/d(inputs), with v
// counted as one more input behind the others.
GradcheckResult gradgradcheck(const GradcheckFunction& f, const std::vector<Variable>& inputs,
                              const GradcheckOptions& options = {});

}  // namespace minigpt
