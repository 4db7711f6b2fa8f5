#include "tensor/compare.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/tensor/layouts.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Bools = std::vector<bool>;

Tensor bools(std::initializer_list<bool> values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

// Small whole numbers, so that equality is common, with a few NaN where the type has them.
template <class T>
Tensor digits(const Shape& shape, unsigned seed) {
  Tensor x = random_indices(shape, 3, seed).to(dtype_of<T>);
  if (std::is_floating_point_v<T> && x.numel() > 4) x.mutable_data<T>()[3] = static_cast<T>(kNaN);
  return x;
}

struct Comparison {
  Tensor (*tensors)(const Tensor&, const Tensor&);
  Tensor (*scalar)(const Tensor&, double);
  bool (*plain)(double, double);
};
const std::vector<Comparison> kComparisons = {
    {lt, lt, [](double a, double b) { return a < b; }},  {le, le, [](double a, double b) { return a <= b; }},
    {eq, eq, [](double a, double b) { return a == b; }}, {ne, ne, [](double a, double b) { return a != b; }},
    {gt, gt, [](double a, double b) { return a > b; }},  {ge, ge, [](double a, double b) { return a >= b; }},
};

template <class T>
int wrong_comparisons() {
  int wrong = 0;
  const Tensor a = digits<T>({2, 3, 37}, 1);
  for (const Comparison& c : kComparisons) {
    for (const Shape& shape : {Shape{2, 3, 37}, Shape{37}, Shape{3, 1}, Shape{}}) {
      const Tensor b = digits<T>(shape, 2);
      for (const Tensor& x : layouts(a))
        for (const Tensor& y : layouts(b)) {
          wrong += std::abs(mismatches(c.tensors(x, y), a.shape(),
                                       [&](const Dims& i) { return c.plain(a.at(i), broadcast_at(b, i)); }));
          wrong += std::abs(mismatches(c.tensors(y, x), a.shape(),
                                       [&](const Dims& i) { return c.plain(broadcast_at(b, i), a.at(i)); }));
        }
    }
    for (const Tensor& x : layouts(a))
      wrong +=
          std::abs(mismatches(c.scalar(x, 1), a.shape(), [&](const Dims& i) { return c.plain(a.at(i), 1); }));
  }
  return wrong;
}

template <class T>
int wrong_choices() {
  int wrong = 0;
  const Shape out{2, 3, 21};
  for (const Shape& condition : {Shape{2, 3, 21}, Shape{21}, Shape{3, 1}, Shape{2, 1, 1}, Shape{}})
    for (const Shape& first : {Shape{2, 3, 21}, Shape{21}, Shape{3, 1}, Shape{}})
      for (const Shape& second : {Shape{2, 3, 21}, Shape{2, 3, 1}}) {
        if (first.size() < 3 && second[2] == 1 && first != Shape{21})
          continue;  // nothing gives the result 21 columns
        const Tensor c = random_indices(condition, 2, 3).to(DType::boolean);
        const Tensor a = digits<T>(first, 4), b = digits<T>(second, 5);
        for (const Tensor& c_window : layouts(c))
          for (const Tensor& a_window : layouts(a))
            wrong += std::abs(mismatches(where(c_window, a_window, b), out, [&](const Dims& i) {
              return broadcast_at(c, i) != 0 ? broadcast_at(a, i) : broadcast_at(b, i);
            }));
      }
  return wrong;
}

}  // namespace

TEST_CASE("comparisons broadcast, for every type and layout, and NaN equals nothing") {
  for_each_kernel_set([] {
    CHECK(wrong_comparisons<float>() == 0);
    CHECK(wrong_comparisons<double>() == 0);
    CHECK(wrong_comparisons<std::int32_t>() == 0);
    CHECK(wrong_comparisons<bool>() == 0);
  });
  CHECK(eq(full({1}, kNaN), full({1}, kNaN)).to_vector<bool>() == Bools{false});
  CHECK(ne(full({1}, kNaN), kNaN).to_vector<bool>() == Bools{true});
}

TEST_CASE("logic works on bool tensors, and broadcasts") {
  const Tensor a = bools({false, false, true, true}), b = bools({false, true, false, true});
  CHECK(logical_and(a, b).to_vector<bool>() == Bools{false, false, false, true});
  CHECK(logical_or(a, b).to_vector<bool>() == Bools{false, true, true, true});
  CHECK(logical_not(a).to_vector<bool>() == Bools{true, true, false, false});
  const Tensor column = reshape(bools({false, true}), {2, 1});
  CHECK(mismatches(logical_and(column, a), {2, 4}, [&](const Dims& i) { return i[0] == 1 && i[1] >= 2; }) ==
        0);
}

TEST_CASE("isnan and isfinite tell the three kinds of numbers apart") {
  const Tensor x = Tensor::from({1.0, kNaN, kInf, -kInf, 0.0, -1e300}, {6});
  for (const Tensor& window : layouts(x)) {
    CHECK(isnan(window).to_vector<bool>() == Bools{false, true, false, false, false, false});
    CHECK(isfinite(window).to_vector<bool>() == Bools{true, false, false, false, true, true});
  }
  // The largest float is finite; what float cannot hold is not.
  CHECK(isfinite(full({1}, std::numeric_limits<float>::max())).item() == 1);
  CHECK(isfinite(full({1}, 1e300)).item() == 0);
}

TEST_CASE("where chooses among three broadcast operands of any type and layout") {
  for_each_kernel_set([] {
    CHECK(wrong_choices<float>() == 0);
    CHECK(wrong_choices<double>() == 0);
    CHECK(wrong_choices<std::int32_t>() == 0);
    CHECK(wrong_choices<bool>() == 0);
  });
  CHECK(where(zeros({0, 3}, DType::boolean), ones({3}), zeros({3})).shape() == Shape{0, 3});
}

TEST_CASE("masked_fill writes where the mask is true") {
  // The causal mask of attention: scores (heads, query, key), mask (query, key).
  const Tensor scores = random_tensor<float>({2, 3, 3}, 6);
  const Tensor future = Tensor::from({false, true, true, false, false, true, false, false, false}, {3, 3});
  for (const Tensor& x : layouts(scores))
    for (const Tensor& mask : layouts(future))
      CHECK(mismatches(masked_fill(x, mask, -kInf), {2, 3, 3},
                       [&](const Dims& i) { return i[2] > i[1] ? -kInf : scores.at(i); }) == 0);
  CHECK(masked_fill(arange(3), bools({true, false, true}), 7).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{7, 1, 7});
  CHECK(scores.at({0, 0, 1}) != -kInf);  // x itself is left alone
}

TEST_CASE("clamp keeps NaN, and the upper bound wins") {
  for_each_kernel_set([] {
    // Behind nineteen others, so that the vector and the rest of one are both met.
    Tensor x = random_tensor<float>({40}, 7, 2);
    x.mutable_data<float>()[3] = x.mutable_data<float>()[38] = static_cast<float>(kNaN);
    const auto expect = [&](const Tensor& y, double lo, double hi) {
      return mismatches(y, {40}, [&](const Dims& i) {
        const double v = x.at(i);
        return std::isnan(v) ? v : std::min(std::max(v, lo), hi);
      });
    };
    CHECK(expect(clamp(x, -0.5, 1), -0.5, 1) == 0);
    CHECK(expect(clamp(x, -0.5), -0.5, kInf) == 0);
    CHECK(expect(clamp(x, std::nullopt, 1), -kInf, 1) == 0);
    CHECK(expect(clamp(x, 1, -1), 1, -1) == 0);
    for (const Tensor& window : layouts(x)) CHECK(expect(clamp(window, 0, 1), 0, 1) == 0);
  });
  CHECK(clamp(arange(5), 1, 3).to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 1, 2, 3, 3});
}

TEST_CASE("errors name the operation, the rule and both values") {
  const Tensor x = zeros({2, 3}), mask = zeros({2, 3}, DType::boolean);
  CHECK(error_of([&] { lt(x, zeros({4})); }) == "[lt] shapes do not broadcast: (2, 3) and (4)");
  CHECK(error_of([&] { eq(x, arange(3)); }) == "[eq] dtypes differ: float32 and int32");
  CHECK(error_of([&] { ge(arange(3), 0.5); }) == "[ge] the scalar 0.5 is not an element of int32");
  CHECK(error_of([&] { logical_or(mask, x); }) == "[logical_or] operands must be bool, got float32");
  CHECK(error_of([&] { logical_not(x); }) == "[logical_not] operands must be bool, got float32");
  CHECK(error_of([&] { isnan(arange(3)); }) == "[isnan] needs float32 or float64, got int32");
  CHECK(error_of([&] { where(x, x, x); }) == "[where] condition must be bool, got float32");
  CHECK(error_of([&] { where(mask, x, arange(3)); }) == "[where] dtypes differ: float32 and int32");
  CHECK(error_of([&] { where(mask, x, zeros({2})); }) == "[where] shapes do not broadcast: (2, 3) and (2)");
  CHECK(error_of([&] { masked_fill(x, x, 0); }) == "[masked_fill] mask must be bool, got float32");
  CHECK(error_of([&] { masked_fill(arange(3), zeros({3}, DType::boolean), 0.5); }) ==
        "[masked_fill] the scalar 0.5 is not an element of int32");
  CHECK(error_of([&] { clamp(x, std::nullopt); }) == "[clamp] needs at least one bound");
  CHECK(error_of([&] { clamp(x, kNaN); }) == "[clamp] bounds must not be NaN");
  CHECK(error_of([&] { clamp(mask, 0); }) == "[clamp] needs float32, float64 or int32, got bool");
}

TEST_CASE("the number of threads does not change a bit") {
  for_each_kernel_set([] {
    const Tensor a = random_tensor<float>({3, 5, 7}, 8), b = random_tensor<float>({5, 1}, 9);
    check_threads_do_not_matter([&] {
      return std::vector<Tensor>{lt(a, b), where(gt(a, 0), a, b), clamp(a, -1, 1), isnan(a),
                                 logical_not(lt(b, a))};
    });
  });
}
