// The random expressions of tests/differential against libtorch, in float64: values and gradients.
//
//   test_torch                                2000 expressions
//   test_torch --seed 1234                    one of them
//   test_torch --start 5 --expressions 100    seeds 5 to 104
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/differential/reference.h"
#include "tests/torch/torch_outcome.h"

namespace minigpt::differential {
namespace {

// How libtorch rounds within an operation is not known here, so it may be off by more than the specification allows; a wrong
// formula is off by far more than this.
Reference widened(Reference r) {
  for (std::vector<Bounded>* all : {&r.values, &r.gradients})
    for (Bounded& b : *all) {
      double largest = 1;
      for (const double x : b.value) largest = std::max(largest, std::abs(x));
      for (double& error : b.error) error = 100 * error + 1e-12 * largest;
    }
  return r;
}

// What the library and libtorch each say, against the bounds of the specification.
Failure compare_with_torch(const Expression& e, Statistics& statistics, std::int64_t& compared) {
  ++statistics.expressions;
  const std::optional<Outcome> theirs = torch_outcome(e);
  if (!theirs) return std::nullopt;
  ++compared;
  const Reference r = reference(e, {});
  if (const Failure f = compare(e, widened(r), *theirs, DType::f64, statistics)) return "libtorch: " + *f;
  if (const Failure f = compare(e, r, run(e, {.dtype = DType::f64}), DType::f64, statistics))
    return "minigpt: " + *f;
  return std::nullopt;
}

int main_of(int argc, char** argv) {
  std::uint64_t start = 1, count = 2000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--seed")
      start = number, count = 1;
    else if (name == "--start")
      start = number;
    else if (name == "--expressions")
      count = number;
    else
      argc = 0;
  }
  if (argc % 2 == 0) {
    fmt::print(stderr, "usage: test_torch [--seed S | --start S --expressions N]\n");
    return 2;
  }
  int failures = 0;
  for (const std::string& name : unknown_to_torch()) {
    fmt::print("FAILED: {} has no counterpart in tests/torch/\n", name);
    ++failures;
  }
  Statistics statistics;
  std::int64_t compared = 0;
  for (std::uint64_t seed = start; seed < start + count && failures < 10; ++seed) {
    const Expression e = generate(seed);
    Failure failure;
    try {
      failure = compare_with_torch(e, statistics, compared);
    } catch (const std::exception& error) {
      failure = std::string("error: ") + error.what();
    }
    if (!failure && count > 1) continue;
    fmt::print("{}{}", e.str(), failure ? "FAILED: " + *failure + "\n" : "agrees\n");
    failures += failure.has_value();
  }
  fmt::print("{} expressions compared with libtorch, {} numbers; {} failed\n", compared, statistics.numbers,
             failures);
  return failures == 0 && 10 * compared >= 9 * statistics.expressions ? 0 : 1;
}

}  // namespace
}  // namespace minigpt::differential

int main(int argc, char** argv) { return minigpt::differential::main_of(argc, argv); }
