#include "autograd/anomaly.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "autograd/ops.h"
#include "autograd/scope.h"

namespace minigpt::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Variable vector(std::initializer_list<float> values, bool gradient = true) {
  return Variable(Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())}), gradient);
}

// What anomaly mode reports of a piece of work at step 7.
AnomalyReport report_of(const std::function<void()>& work) {
  const AnomalyMode mode(7);
  try {
    work();
  } catch (const Anomaly& anomaly) {
    CHECK(std::string(anomaly.what()) == anomaly.report.text());
    return anomaly.report;
  }
  FAIL("no anomaly was found");
  return {};
}

TEST_CASE("anomaly: forward, the operation that made the first NaN, with the values it was made from") {
  const AnomalyReport r = report_of([] {
    const Scope scope(intern("block.0"));
    const Variable x = vector({4, -1, 9});
    sum(log(x) * 2).backward();
  });
  CHECK(r.step == 7);
  CHECK_FALSE(r.backward);
  CHECK(r.op == "log");
  CHECK(r.module == "block.0");
  CHECK(r.tensor == "output");
  CHECK(r.index == Dims{1});
  CHECK(std::isnan(r.value));
  REQUIRE(r.sources.size() == 1);
  CHECK(r.sources[0].values == std::vector<double>{-1});
  CHECK(r.sources[0].min == -1);
  CHECK(r.sources[0].max == 9);
}

TEST_CASE("anomaly: a NaN planted in a weight is found in the weight, by its name") {
  const AnomalyReport r = report_of([] {
    Variable w(Tensor::from<float>({1, 2, 3, kNan, 5, 6}, {3, 2}), true);
    w.set_name("fc.weight");
    const Variable x(Tensor::from<float>({1, 1, 2, 2}, {2, 2}));
    linear(x, w, Variable());
  });
  CHECK(r.op == "linear");
  CHECK(r.index == Dims{0, 1});
  REQUIRE(r.sources.size() == 2);
  CHECK(r.sources[0].values == std::vector<double>{1, 1});  // the row of x
  CHECK(r.sources[1].name == "fc.weight");
  CHECK(r.sources[1].not_finite == 1);
  CHECK(*r.sources[1].first == Dims{1, 1});
  CHECK(r.sources[1].values[0] == 3);  // the row of w
  CHECK(r.text().find("input 1, fc.weight (3, 2): 1 value not finite, nan at (1, 1); others in [1, 6]; at "
                      "(1, 0) 3, nan") != std::string::npos);
}

TEST_CASE("anomaly: an overflow is found where it happens, not where it becomes a NaN") {
  const AnomalyReport r = report_of([] {
    const Variable e = exp(vector({1, 100}));
    e - e;
  });
  CHECK(r.op == "exp");
  CHECK(r.value == kInf);
  CHECK(r.sources[0].values == std::vector<double>{100});
}

TEST_CASE("anomaly: infinities that were put there on purpose pass") {
  const AnomalyMode mode;
  const Variable x(Tensor::from<float>({1, 2, 3, 4}, {2, 2}), true);
  const Tensor future = Tensor::from<bool>({false, true, false, false}, {2, 2});
  sum(softmax(masked_fill(x, future, -kInf) * 0.5) * x).backward();
  const Variable mask(Tensor::from<float>({0, -kInf, 0, 0}, {2, 2}));  // an additive mask
  sum(softmax(x + mask)).backward();
  CHECK(x.has_grad());
  // `where` puts them in as well, from a constant of its own.
  sum(softmax(where(future, Variable(full({2, 2}, -kInf)), x)) * x).backward();
}

TEST_CASE("anomaly: an infinity is not on purpose in a parameter, and a NaN never is") {
  const AnomalyReport parameter = report_of([] {
    Variable w = vector({1, kInf});
    w.set_name("w");
    w * 2;
  });
  CHECK(parameter.op == "mul");
  CHECK(parameter.sources[0].name == "w");
  const Tensor second = Tensor::from<bool>({false, true}, {2});
  CHECK(report_of([&] { where(second, vector({1, kInf}), vector({1, 2})); }).op == "where");
  const AnomalyReport constant = report_of([] { vector({1, kNan}, false) * vector({1, 2}); });
  CHECK(constant.op == "mul");
  const AnomalyReport filled = report_of([] {
    masked_fill(vector({1, 2}), Tensor::from<bool>({false, true}, {2}), kNan);
  });
  CHECK(filled.op == "masked_fill");
  // inf - inf: the mask is on purpose, what becomes of it is not.
  const AnomalyReport both = report_of([] { vector({0, -kInf}, false) - vector({0, -kInf}, false); });
  CHECK(both.op == "sub");
}

TEST_CASE("anomaly: backward, the operation whose gradient is not finite though what it was given is") {
  const AnomalyReport r = report_of([] {
    Variable x = vector({4, 0, 9});
    x.set_name("x");
    const Scope scope(intern("norm"));
    sum(sqrt(x)).backward();
  });
  CHECK(r.backward);
  CHECK(r.op == "sqrt");
  CHECK(r.module == "norm");
  CHECK(r.tensor == "gradient of input 0");
  CHECK(r.name == "x");
  CHECK(r.index == Dims{1});
  CHECK(r.value == kInf);
  REQUIRE(r.sources.size() == 2);
  CHECK(r.sources[0].role == "gradient of the output");
  CHECK(r.sources[0].values == std::vector<double>{1});
  CHECK(r.sources[1].values == std::vector<double>{0});  // what sqrt saved
  CHECK(r.text().starts_with(
      "[anomaly] step 7: backward of norm sqrt: gradient of input 0, x (3) holds inf at (1)"));
}

TEST_CASE("anomaly: a gradient that a hook spoils is found before the next operation uses it") {
  const AnomalyReport r = report_of([] {
    const Variable x = vector({1, 2});
    Variable y = x * 3;
    y.on_grad([](const Variable& g) { return g * static_cast<double>(kNan); });
    sum(y * y).backward();
  });
  CHECK(r.backward);
  CHECK(r.op == "mul");
  CHECK(r.tensor.starts_with("gradient of the output"));
}

TEST_CASE("anomaly: gone, nothing is looked at; the same graph then works as ever") {
  const Variable x = vector({0, 4});
  const Variable loss = sum(sqrt(x));
  BackwardOptions keep;
  keep.retain_graph = true;
  CHECK(report_of([&] { loss.backward(keep); }).op == "sqrt");
  CHECK_FALSE(x.has_grad());
  loss.backward();
  CHECK(x.grad().value().at({0}) == static_cast<double>(kInf));
}

}  // namespace
}  // namespace minigpt::test
