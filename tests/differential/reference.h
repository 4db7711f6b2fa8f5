#pragma once
// What an expression is by the specification, and comparisons with it.

#include "tests/differential/check.h"
#include "tests/differential/run.h"

namespace minigpt::differential {

using Numbers = std::vector<double>;
using Failure = std::optional<std::string>;

// Numbers and how far off they may be.
struct Bounded {
  Numbers value, error;
};

struct Reference {
  std::vector<Bounded> values, gradients;  // of the roots; of the leaves that want one
  bool doubtful = false, stepped = false;  // see Tape
  double margin = 0;
};

// `one_by_one`: each root's gradients are computed by themselves and then added up. The numbers are the same, but not how far
// off they may be: what cancels between the roots was rounded before.
Reference reference(const Expression& e, const Rounding& rounding, bool one_by_one = false);

// The first number that is too far off. Gradients are left out where rounding could decide a branch.
Failure compare(const Expression& e, const Reference& r, const Outcome& o, DType dtype,
                Statistics& statistics);

}  // namespace minigpt::differential
