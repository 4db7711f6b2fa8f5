#include "models/gradient_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/models/tiny_models.h"

namespace minigpt::test {
namespace {

const Tensor kTokens = Tensor::from<std::int32_t>({0, 3, 1, 4}, {1, 4});
const Tensor kTargets = Tensor::from<std::int32_t>({3, 1, 4, 2}, {1, 4});

const Verdict* find(const std::vector<Verdict>& verdicts, std::string_view id) {
  const auto found =
      std::find_if(verdicts.begin(), verdicts.end(), [&](const Verdict& v) { return v.id == id; });
  return found == verdicts.end() ? nullptr : &*found;
}

TEST_CASE("gradients: the report holds those of backward(), and leaves none behind") {
  Gpt gpt = lively_model(tiny_config(), 1);
  const GradientReport report = inspect_gradients(gpt, kTokens, kTargets);
  for (const NamedParameter& p : gpt.parameters()) CHECK_FALSE(p.variable.has_grad());
  const Variable loss = gpt.loss(kTokens, kTargets);
  CHECK(report.loss == loss.item());
  loss.backward();
  double squares = 0;
  const std::vector<NamedParameter> parameters = gpt.parameters();
  REQUIRE(report.parameters.size() == parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterGradient& row = report.parameters[i];
    CHECK(row.name == parameters[i].name);
    CHECK(row.grad.norm == doctest::Approx(statistics(parameters[i].variable.grad().value()).norm));
    CHECK(row.ratio() == doctest::Approx(row.grad.norm / row.weight.norm));
    squares += row.grad.norm * row.grad.norm;
  }
  CHECK(report.norm == doctest::Approx(std::sqrt(squares)));
}

TEST_CASE("verdicts: a healthy model gets none") {
  CHECK(gradient_verdicts(inspect_gradients(lively_model(tiny_config(), 1), kTokens, kTargets), 0).empty());
}

TEST_CASE("verdicts: a projection of zeros hides what stands before it") {
  Gpt gpt = lively_model(tiny_config(), 1);
  gpt.transformer.h[1].mlp.c_proj.weight.mutable_value().fill_(0);
  const Verdict* verdict = nullptr;
  const auto all = gradient_verdicts(inspect_gradients(gpt, kTokens, kTargets), 0);
  verdict = find(all, "zero");
  REQUIRE(verdict);
  CHECK(verdict->where.starts_with("transformer.h.1."));
}

TEST_CASE("verdicts: NaN, clipping, sparse rows, a parameter that is not used") {
  Gpt gpt = lively_model(tiny_config(), 1);
  GradientReport report = inspect_gradients(gpt, kTokens, kTargets);
  REQUIRE(find(gradient_verdicts(report, report.norm / 2), "clipped"));
  CHECK(find(gradient_verdicts(report, report.norm / 2), "clipped")
            ->text.ends_with("a step would use 0.5 of them."));
  report.parameters[0].grad.zeros = 0.6;
  CHECK(find(gradient_verdicts(report, 0), "sparse")->where == report.parameters[0].name);
  report.parameters[1].has_gradient = false;
  CHECK(find(gradient_verdicts(report, 0), "missing")->where == report.parameters[1].name);
  gpt.transformer.h[0].mlp.c_fc.weight.mutable_value().fill_(std::numeric_limits<double>::quiet_NaN());
  CHECK(gradient_verdicts(inspect_gradients(gpt, kTokens, kTargets), 0)[0].id == "not-finite");
}

TEST_CASE("verdicts: blocks whose gradients differ by more than 30 times") {
  GradientReport report = inspect_gradients(lively_model(tiny_config(), 1), kTokens, kTargets);
  const auto scale_first_block = [&](double factor) {
    for (ParameterGradient& p : report.parameters)
      if (p.name.starts_with("transformer.h.0.")) p.grad.norm *= factor;
  };
  // Equal blocks first, then just within and just beyond the limits. Vectors do not count.
  for (ParameterGradient& p : report.parameters) {
    p.grad.norm = p.shape.size() < 2 && p.name.starts_with("transformer.h.0.") ? 1e6 : 1;
    p.grad.count = 1;
  }
  for (const double factor : {1.0, 29.0, 1 / 29.0}) {
    CAPTURE(factor);
    scale_first_block(factor);
    CHECK_FALSE(find(gradient_verdicts(report, 0), "vanishing"));
    CHECK_FALSE(find(gradient_verdicts(report, 0), "exploding"));
    scale_first_block(1 / factor);
  }
  scale_first_block(31);
  CHECK(find(gradient_verdicts(report, 0), "exploding"));
  scale_first_block(1 / 31.0 / 31.0);
  CHECK(find(gradient_verdicts(report, 0), "vanishing"));
  scale_first_block(0);  // told as zero, not as vanishing
  CHECK_FALSE(find(gradient_verdicts(report, 0), "vanishing"));
  CHECK(find(gradient_verdicts(report, 0), "zero"));

  report = inspect_gradients(lively_model(tiny_config(), 1), kTokens, kTargets);
  scale_first_block(1e-4);
  REQUIRE(find(gradient_verdicts(report, 0), "vanishing"));
  CHECK(find(gradient_verdicts(report, 0), "vanishing")->where == "transformer.h.0");
  scale_first_block(1e8);
  CHECK(find(gradient_verdicts(report, 0), "exploding"));
}

}  // namespace
}  // namespace minigpt::test
