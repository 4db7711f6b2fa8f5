#include "tensor/reduce.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tensor/recycling.h"
#include "tensor/storage.h"
#include "tests/tensor/layouts.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Every set of axes of three, in several orders, also counted from the end. Empty means all.
const std::vector<Dims> kAxes = {{},     {0},    {1},    {2},      {-1},    {-3},      {0, 1},    {1, 0},
                                 {0, 2}, {2, 0}, {1, 2}, {-1, -2}, {0, -1}, {0, 1, 2}, {2, 1, 0}, {-2, 0, 2}};

Shape shape_without(const Shape& shape, const Dims& axes, bool keepdim) {
  const Dims gone = normalize_axes("test", axes, shape.size());
  Shape out;
  for (int i = 0; i < shape.size(); ++i)
    if (!gone.contains(i) || keepdim) out.push_back(gone.contains(i) ? 1 : shape[i]);
  return out;
}

// The elements that go into each result, in row-major order of both.
std::vector<std::vector<double>> groups(const Tensor& x, const Dims& axes) {
  const Dims gone = normalize_axes("test", axes, x.rank());
  std::map<std::vector<std::int64_t>, std::vector<double>> found;
  for_each_index(x.shape(), [&](const Dims& index) {
    std::vector<std::int64_t> key;
    for (int i = 0; i < x.rank(); ++i)
      if (!gone.contains(i)) key.push_back(index[i]);
    found[key].push_back(x.at(index));
  });
  std::vector<std::vector<double>> all;
  for (const auto& [key, group] : found) all.push_back(group);
  return all;
}

double plain_sum(const std::vector<double>& v) {
  long double sum = 0;
  for (double x : v) sum += x;
  return static_cast<double>(sum);
}
double plain_mean(const std::vector<double>& v) { return plain_sum(v) / static_cast<double>(v.size()); }
double plain_var(const std::vector<double>& v) {
  const double mean = plain_mean(v);
  double sum = 0;
  for (double x : v) sum += (x - mean) * (x - mean);
  return sum / static_cast<double>(v.size() - 1);
}
double plain_max(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }
double plain_min(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double plain_argmax(const std::vector<double>& v) {
  return static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin());
}

// The worst error of a reduction over all lists of axes, layouts and shapes.
template <class Reduce, class Plain>
double worst(const Tensor& x, Reduce reduce, Plain plain) {
  double error = 0;
  for (const Dims& axes : kAxes)
    for (const bool keepdim : {false, true})
      for (const Tensor& window : layouts(x)) {
        const Tensor y = reduce(window, axes, keepdim);
        if (!(y.shape() == shape_without(x.shape(), axes, keepdim))) return kInf;
        std::vector<double> expected;
        for (const std::vector<double>& group : groups(x, axes)) expected.push_back(plain(group));
        error = std::max(error, worst_error(values(y), expected));
      }
  return error;
}

template <class T>
void check_axes(double tolerance) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{3, 5, 67}, Shape{4, 1, 9}}) {
    const Tensor x = random_tensor<T>(shape, 1);
    CAPTURE(shape.str());
    CHECK(worst(
              x, [](const Tensor& t, const Dims& a, bool k) { return sum(t, a, k); }, plain_sum) < tolerance);
    CHECK(worst(
              x, [](const Tensor& t, const Dims& a, bool k) { return mean(t, a, k); }, plain_mean) <
          tolerance);
    CHECK(worst(
              x, [](const Tensor& t, const Dims& a, bool k) { return max(t, a, k); }, plain_max) == 0);
    CHECK(worst(
              x, [](const Tensor& t, const Dims& a, bool k) { return min(t, a, k); }, plain_min) == 0);
    CHECK(worst(
              x, [](const Tensor& t, const Dims& a, bool k) { return argmax(t, a, k); }, plain_argmax) == 0);
    if (shape[1] > 1)
      CHECK(worst(
                x, [](const Tensor& t, const Dims& a, bool k) { return var(t, a, 1, k); }, plain_var) <
            tolerance);
  }
}

}  // namespace

TEST_CASE("every list of axes, in every layout, on every kernel set (A-09)") {
  for_each_kernel_set([] {
    check_axes<float>(2e-6);
    check_axes<double>(1e-14);
  });
}

TEST_CASE("rows of every length around the vector width (N-11)") {
  for_each_kernel_set([] {
    for (std::int64_t n = 1; n <= 1100; n += n < 140 ? 1 : 37) {
      CAPTURE(n);
      const Tensor rows = random_tensor<float>({2, n}, 2), columns = random_tensor<float>({n, 3}, 3);
      const auto by_hand = [&](const Tensor& x, const Dims& axes, auto plain) {
        std::vector<double> expected;
        for (const auto& group : groups(x, axes)) expected.push_back(plain(group));
        return expected;
      };
      CHECK(worst_error(values(sum(rows, {1})), by_hand(rows, {1}, plain_sum)) < 4e-6);
      CHECK(worst_error(values(sum(columns, {0})), by_hand(columns, {0}, plain_sum)) < 4e-6);
      CHECK(worst_error(values(sum(transpose(columns), {0})), by_hand(transpose(columns), {0}, plain_sum)) <
            2e-6);
      CHECK(values(max(rows, {1})) == by_hand(rows, {1}, plain_max));
      CHECK(values(min(rows, {1})) == by_hand(rows, {1}, plain_min));
      CHECK(values(argmax(rows, {1})) == by_hand(rows, {1}, plain_argmax));
    }
  });
}

TEST_CASE("a million floats are summed as exactly as one float can tell") {
  constexpr std::int64_t kN = 1 << 20;
  Tensor x = random_tensor<float>({kN}, 4);
  for (float *p = x.mutable_data<float>(), *end = p + kN; p < end; ++p) *p = std::abs(*p);
  const std::vector<double> numbers = values(x);
  const double total = plain_sum(numbers);
  for_each_kernel_set([&] {
    CHECK(sum(x).item() == doctest::Approx(total).epsilon(2e-7));
    CHECK(mean(x).item() == doctest::Approx(total / kN).epsilon(2e-7));
    CHECK(var(x).item() == doctest::Approx(plain_var(numbers)).epsilon(1e-6));
    CHECK(sum(reshape(x, {kN, 1}), {0}).item() == doctest::Approx(total).epsilon(2e-7));
    const Tensor columns = sum(reshape(x, {kN / 4, 4}), {0});
    CHECK(plain_sum(values(columns)) == doctest::Approx(total).epsilon(2e-7));
  });
}

TEST_CASE("sums of int32 and bool are int32, and refuse to overflow") {
  const Tensor counts = sum(arange(10));
  CHECK(counts.dtype() == DType::i32);
  CHECK(counts.item() == 45);
  const Tensor flags = Tensor::from({true, false, true, true}, {2, 2});
  CHECK(sum(flags, {0}).to_vector<std::int32_t>() == std::vector<std::int32_t>{2, 1});
  CHECK(sum(full({5000}, 3, DType::i32)).item() == 15000);  // more than one chunk
  const Tensor big = full({2}, 2e9, DType::i32);
  CHECK(error_of([&] { sum(big); }) == "[sum] the total 4000000000 does not fit int32");
}

TEST_CASE("reductions over no elements") {
  const Tensor none = zeros({0, 3});
  CHECK(sum(none, {0}).to_vector<float>() == std::vector<float>{0, 0, 0});
  CHECK(sum(none, {1}).shape() == Shape{0});
  CHECK(sum(none).item() == 0);
  CHECK(sum(none, {0}, true).shape() == Shape{1, 3});
  CHECK(mismatches(mean(none, {0}), {3}, [](const Dims&) { return kNaN; }) == 0);
  CHECK(mismatches(var(none, {0}), {3}, [](const Dims&) { return kNaN; }) == 0);
  CHECK(max(none, {1}).shape() == Shape{0});
  CHECK(argmax(none, {1}).shape() == Shape{0});
  CHECK(error_of([&] { max(none, {0}); }) == "[max] no elements along axes (0) of shape (0, 3)");
  CHECK(error_of([&] { min(none); }) == "[min] no elements along axes (0, 1) of shape (0, 3)");
  CHECK(error_of([&] { argmax(none); }) == "[argmax] no elements along axes (0, 1) of shape (0, 3)");
  CHECK(error_of([&] { max_along(none, 0); }) == "[max_along] no elements along axes (0) of shape (0, 3)");
}

TEST_CASE("a tensor without axes is its own sum") {
  const Tensor x = Tensor::scalar(2.5f);
  CHECK(sum(x).item() == 2.5);
  CHECK(mean(x).item() == 2.5);
  CHECK(max(x).item() == 2.5);
  CHECK(argmax(x).item() == 0);
}

TEST_CASE("var divides by n - correction, without cancellation") {
  const Tensor x = Tensor::from({1.0, 2.0, 4.0, 9.0}, {4});
  CHECK(var(x).item() == doctest::Approx(38.0 / 3));
  CHECK(var(x, {}, 0).item() == doctest::Approx(38.0 / 4));
  CHECK(std::isnan(var(Tensor::scalar(3.0)).item()));  // 0 / 0
  CHECK(var(x, {}, 4).item() == kInf);
  // A spread of 1 around ten million: sum(x^2) - n mean^2 has no correct digit left in float.
  const Tensor far = Tensor::from({10000000.f, 10000001.f, 10000002.f}, {3});
  for_each_kernel_set([&] { CHECK(var(far).item() == 1); });
}

TEST_CASE("max_along gives values and the first index of each; NaN is largest") {
  for_each_kernel_set([] {
    const Tensor x =
        Tensor::from({1.0, 7.0, 7.0, 3.0, kNaN, 9.0, 2.0, kNaN, -kInf, -kInf, -kInf, -kInf}, {3, 4});
    const MaxAlong rows = max_along(x, -1);
    CHECK(mismatches(rows.values, {3}, [](const Dims& i) {
            return i[0] == 0 ? 7 : i[0] == 1 ? kNaN : -kInf;
          }) == 0);
    CHECK(rows.indices.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 0, 0});
    const MaxAlong columns = max_along(x, 0, true);
    CHECK(columns.values.shape() == Shape{1, 4});
    CHECK(columns.indices.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 1, 0, 1});
    CHECK(argmax(x).item() == 4);
    // In rows of more than one chunk as well.
    Tensor line = zeros({10000});
    for (const std::int64_t at : {5000, 5001, 9999}) line.mutable_data<float>()[at] = 1;
    CHECK(argmax(line).item() == 5000);
    line.mutable_data<float>()[9000] = line.mutable_data<float>()[9001] = static_cast<float>(kNaN);
    CHECK(argmax(line).item() == 9000);
    CHECK(std::isnan(max(line).item()));
    CHECK(std::isnan(min(line).item()));
  });
}

TEST_CASE("NaN anywhere in a row is found, in every lane") {
  for_each_kernel_set([] {
    for (std::int64_t n : {1, 7, 16, 33, 70})
      for (std::int64_t at = 0; at < n; ++at) {
        Tensor x = random_tensor<float>({n}, 5);
        CHECK(all_finite(x));
        x.mutable_data<float>()[at] = static_cast<float>(kNaN);
        CHECK(std::isnan(max(x).item()));
        CHECK(std::isnan(min(x).item()));
        CHECK(argmax(x).item() == static_cast<double>(at));
        CHECK_FALSE(all_finite(x));
        x.mutable_data<float>()[at] = -static_cast<float>(kInf);
        CHECK_FALSE(all_finite(x));
      }
  });
}

TEST_CASE("int32 has extremes too") {
  const Tensor x = Tensor::from<std::int32_t>({3, -5, 8, 8, 0, 1}, {2, 3});
  CHECK(max(x, {1}).to_vector<std::int32_t>() == std::vector<std::int32_t>{8, 8});
  CHECK(min(x, {0}).to_vector<std::int32_t>() == std::vector<std::int32_t>{3, -5, 1});
  CHECK(argmax(x, {1}).to_vector<std::int32_t>() == std::vector<std::int32_t>{2, 0});
}

TEST_CASE("sum_to undoes broadcasting") {
  const Tensor x = random_tensor<double>({2, 3, 4}, 6);
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{3, 4}, Shape{4}, Shape{}, Shape{1}, Shape{2, 1, 4},
                             Shape{3, 1}, Shape{1, 3, 1}, Shape{2, 1, 1}, Shape{1, 1, 1}}) {
    CAPTURE(shape.str());
    for (const Tensor& window : layouts(x)) {
      // <x, expand(z)> = <sum_to(x), z> for every z: the definition of a gradient.
      const Tensor z = random_tensor<double>(shape, 7), reduced = sum_to(window, shape);
      REQUIRE(reduced.shape() == shape);
      double left = 0, right = 0;
      for_each_index(x.shape(), [&](const Dims& i) { left += x.at(i) * broadcast_at(z, i); });
      for_each_index(shape, [&](const Dims& i) { right += reduced.at(i) * z.at(i); });
      CHECK(left == doctest::Approx(right).epsilon(1e-12));
    }
  }
  CHECK(sum_to(ones({1, 3}), {3}).to_vector<float>() == std::vector<float>{1, 1, 1});
  CHECK(sum_to(zeros({0, 3}), {3}).to_vector<float>() == std::vector<float>{0, 0, 0});
  CHECK(error_of([&] { sum_to(x, {3}); }) == "[sum_to] (3) does not broadcast to (2, 3, 4)");
  CHECK(error_of([&] {
          sum_to(x, {1, 2, 3, 4});
        }) == "[sum_to] (1, 2, 3, 4) does not broadcast to (2, 3, 4)");
}

TEST_CASE("sum_of_squares does not overflow") {
  for_each_kernel_set([] {
    CHECK(sum_of_squares(Tensor::from({3.f, 4.f}, {2})) == 25);
    CHECK(sum_of_squares(full({4}, 1e30)) == doctest::Approx(4e60));
    CHECK(sum_of_squares(zeros({0})) == 0);
    const Tensor x = random_tensor<float>({3, 5000}, 8);
    double expected = 0;
    for (double v : values(x)) expected += v * v;
    for (const Tensor& window : layouts(x))
      CHECK(sum_of_squares(window) == doctest::Approx(expected).epsilon(1e-12));
  });
}

TEST_CASE("all_finite looks at all of a tensor, and types without infinity are finite") {
  Tensor x = zeros({3, 4096});
  CHECK(all_finite(x));
  CHECK(all_finite(zeros({0})));
  CHECK(all_finite(full({2}, 1e300, DType::f64)));
  CHECK(all_finite(arange(3)));
  x.mutable_data<float>()[3 * 4096 - 1] = static_cast<float>(kInf);
  CHECK_FALSE(all_finite(x));
  CHECK(all_finite(slice(x, 1, 0, 4095)));  // the infinity lies in the storage, but not in the window
}

TEST_CASE("errors name the operation and the axis (A-09)") {
  const Tensor x = zeros({2, 3, 4});
  CHECK(error_of([&] { sum(x, {3}); }) == "[sum] axis 3 is out of range for 3 dimensions");
  CHECK(error_of([&] { mean(x, {-4}); }) == "[mean] axis -4 is out of range for 3 dimensions");
  CHECK(error_of([&] { var(x, {1, -2}); }) == "[var] axis -2 is given twice in (1, -2)");
  CHECK(error_of([&] { max_along(x, 3); }) == "[max_along] axis 3 is out of range for 3 dimensions");
  CHECK(error_of([&] { mean(arange(3)); }) == "[mean] needs float32 or float64, got int32");
  CHECK(error_of([&] { max(zeros({2}, DType::boolean)); }) ==
        "[max] needs float32, float64 or int32, got bool");
}

TEST_CASE("the number of threads does not change a bit (P-04)") {
  for_each_kernel_set([] {
    const Tensor x = random_tensor<float>({5, 3, 157}, 9), line = random_tensor<float>({30011}, 10);
    check_threads_do_not_matter([&] {
      const MaxAlong along = max_along(x, 1);
      return std::vector<Tensor>{sum(x),
                                 sum(x, {0}),
                                 sum(x, {1}),
                                 sum(x, {2}),
                                 sum(x, {0, 2}),
                                 mean(x, {0, 1}),
                                 var(x, {2}),
                                 var(line),
                                 sum(line),
                                 max(line),
                                 argmax(line),
                                 along.values,
                                 along.indices,
                                 min(x, {0}),
                                 sum(line.to(DType::i32)),
                                 Tensor::scalar(sum_of_squares(line)),
                                 Tensor::scalar(all_finite(line))};
    });
  });
}

TEST_CASE("repeated reductions take their memory from the cache") {
  const Tensor x = ones({100, 200});
  const auto work = [&] { return sum(x).item() + sum(x, {0}).at({0}) + sum_of_squares(x); };
  CHECK(work() == 20000 + 100 + 20000);
#if !defined(MINIGPT_ASAN)
  const std::int64_t before = memory_stats().system_allocations;
  for (int i = 0; i < 100; ++i) work();
  CHECK(memory_stats().system_allocations == before);
#endif
}
