#include "tests/differential/check.h"

#include <algorithm>
#include <cstring>

#include "tensor/parallel.h"
#include "tests/differential/reference.h"
#include "tests/differential/second_order.h"
#include "tests/tensor/scoped_kernel_set.h"

namespace minigpt::differential {
namespace {

bool same_bits(const std::vector<Numbers>& a, const std::vector<Numbers>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].size() != b[i].size() ||
        std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(double)) != 0)
      return false;
  return true;
}
Failure same(const Outcome& a, const Outcome& b, const std::string& how) {
  if (!same_bits(a.values, b.values)) return how + ": the values have other bits";
  if (!same_bits(a.gradients, b.gradients)) return how + ": the gradients have other bits";
  return std::nullopt;
}

const char* variant_name(const RunOptions& o) {
  if (o.composed) return ", composed";
  if (o.create_graph) return ", create_graph";
  if (o.accumulate) return ", backward() of each root";
  return "";
}

// The specification in both types.
struct References {
  Rounding f32_rounding, f64_rounding;
  Reference f32, f64;
  std::optional<Reference> f32_one_by_one, f64_one_by_one;

  explicit References(const Expression& e)
      : f32_rounding{.unit = 0x1p-24, .product = e.bf16_products ? 0x1p-7 : 0},
        f64_rounding{.unit = 0x1p-53},
        f32(reference(e, f32_rounding)),
        f64(reference(e, f64_rounding)) {}

  const Reference& of(const Expression& e, const RunOptions& options) {
    const bool is_f32 = options.dtype == DType::f32;
    if (!options.accumulate) return is_f32 ? f32 : f64;
    std::optional<Reference>& r = is_f32 ? f32_one_by_one : f64_one_by_one;
    if (!r) r = reference(e, is_f32 ? f32_rounding : f64_rounding, true);
    return *r;
  }
};

// Every kernel set and both types against the specification; of the forms of a run, the plain one and one other.
Failure against_specification(const Expression& e, References& references, Statistics& s) {
  Draw draw(e.seed + 1);
  for (const std::string& set : available_kernel_sets()) {
    const ScopedKernelSet use(set);
    for (const DType dtype : {DType::f64, DType::f32}) {
      RunOptions plain{.dtype = dtype}, other = plain;
      const std::int64_t form = draw.between(0, 2);
      (form == 0 ? other.composed : form == 1 ? other.create_graph : other.accumulate) = true;
      for (const RunOptions& options : {plain, other})
        if (const Failure f = compare(e, references.of(e, options), run(e, options), dtype, s))
          return fmt::format("{}, {}{}: {}", set, name_of(dtype), variant_name(options), *f);
    }
  }
  return std::nullopt;
}

// What must not change a single bit.
Failure same_in_every_way(const Expression& e, DType dtype) {
  RunOptions options{.dtype = dtype};
  const Outcome expected = run(e, options);
  if (const Failure f = same(run(e, options), expected, "computed again")) return f;
  if (!same_bits(run_unrecorded(e, dtype), expected.values))
    return "with recording off: the values have other bits";
  options.joined = true;
  const Outcome joined = run(e, options);
  options.checkpoint = true;
  if (const Failure f = same(run(e, options), joined, "under checkpoint")) return f;
  options = {.dtype = dtype};
  const ScopedForceGrainOne grain;
  for (const int threads : {1, 2, 7}) {
    const ScopedNumThreads use(threads);
    if (const Failure f = same(run(e, options), expected, fmt::format("{} threads, grain 1", threads)))
      return f;
  }
  return std::nullopt;
}

Failure in_place(const Expression& e, DType dtype, Statistics& s) {
  switch (edited_before_backward(e, run(e, {.dtype = dtype}), dtype, Draw(e.seed + 3).next())) {
    case EditOutcome::refused:
      ++s.edits_refused;
      break;
    case EditOutcome::harmless:
      ++s.edits_harmless;
      break;
    case EditOutcome::wrong:
      return "a value changed in place before backward: neither an error nor the right gradient";
  }
  return std::nullopt;
}

// Slopes of the library's own values, with a few distances: one of them must be neither too long for the curvature nor
// too short for rounding.
Failure slopes(const Expression& e, const Reference& r, Statistics& s) {
  if (r.stepped || r.margin < 1e-3) return std::nullopt;
  double rounding = 0;
  for (const Bounded& v : r.values)
    for (double error : v.error) rounding += error;
  GradcheckResult result;
  for (const double eps : {1e-6, 1e-5, 1e-4, 1e-7}) {
    result = finite_differences(e, {.eps = eps,
                                    .atol = 4 * rounding / eps + 1e-8,
                                    .rtol = eps > 3e-5 ? 1e-3 : 1e-5,
                                    .max_elements_per_input = 2,
                                    .allow_float32 = false});
    if (result.ok) {
      ++s.differences;
      return std::nullopt;
    }
  }
  return result.str();
}

Failure checks(const Expression& e, Statistics& s) {
  const ScopedNumThreads alone(1);
  References references(e);
  if (const Failure f = against_specification(e, references, s)) return f;
  const DType dtype = Draw(e.seed + 2).chance(0.5) ? DType::f32 : DType::f64;
  if (const Failure f = same_in_every_way(e, dtype)) return fmt::format("{}, {}", name_of(dtype), *f);
  if (const Failure f = in_place(e, dtype, s)) return f;
  if (std::none_of(e.leaves.begin(), e.leaves.end(), [](const Leaf& l) { return l.wants_gradient; }))
    return std::nullopt;
  if (const Failure f = slopes(e, references.f64, s)) return f;
  return check_second_order(e, s);
}

}  // namespace

Failure check_expression(const Expression& e, Statistics& statistics) {
  ++statistics.expressions;
  for (const Step& step : e.steps) ++statistics.steps[step.op->name];
  try {
    return checks(e, statistics);
  } catch (const std::exception& error) {
    return fmt::format("error: {}", error.what());
  }
}

std::string Statistics::str() const {
  std::string text = fmt::format(
      "{} expressions, {} numbers compared with the specification ({:.2g} % with a tolerance beyond 1 % of "
      "the largest;\n"
      "the tightest used {:.0f} % of its tolerance), {} runs too near a kink for their gradients, {} with "
      "finite\n"
      "differences, {} with second derivatives, {} changes in place refused and {} harmless\n",
      expressions, numbers,
      100.0 * static_cast<double>(loose) / static_cast<double>(std::max<std::int64_t>(numbers, 1)),
      100 * tightest, near_kinks, differences, second, edits_refused, edits_harmless);
  int column = 0;
  for (const auto& [op, count] : steps)
    text += fmt::format("  {:<22}{:>6}{}", op, count, ++column % 4 == 0 ? "\n" : "");
  return text + (column % 4 == 0 ? "" : "\n");
}

}  // namespace minigpt::differential
