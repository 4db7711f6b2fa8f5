#pragma once
// What every expression has to satisfy.

#include <map>
#include <optional>
#include <string>

#include "tests/differential/expression.h"

namespace minigpt::differential {

// What has been looked at, to be printed at the end.
struct Statistics {
  std::int64_t expressions = 0;
  std::map<std::string, std::int64_t> steps;  // by operation
  std::int64_t numbers = 0;                   // compared with the specification
  std::int64_t loose = 0;                     // of these, with a tolerance beyond 1 % of the largest number
  std::int64_t near_kinks = 0;      // gradients not compared, because rounding could decide a branch
  std::int64_t differences = 0;     // expressions compared with finite differences
  std::int64_t second = 0;          // expressions whose second derivative was compared
  std::int64_t edits_refused = 0;   // values changed in place before backward: the error came
  std::int64_t edits_harmless = 0;  // or nothing needed them
  double tightest = 0;              // the largest difference, as a part of its tolerance

  std::string str() const;
};

// An expression that depends on nothing but the seed.
Expression generate(std::uint64_t seed);

// Computes the expression in every way and compares. The first difference as a sentence, or nothing.
std::optional<std::string> check_expression(const Expression& e, Statistics& statistics);

// A smaller expression that fails as well: roots, steps and unusual layouts are taken away as long as it does.
Expression shrink(const Expression& e);

}  // namespace minigpt::differential
