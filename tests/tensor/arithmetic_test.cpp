#include "tensor/arithmetic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tensor/recycling.h"
#include "tensor/storage.h"
#include "tests/tensor/layouts.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();

// Pairs that broadcast in every way, with the shape they broadcast to.
struct Pair {
  Shape a, b, out;
};
const std::vector<Pair> kPairs = {
    {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
    {{1}, {5, 4}, {5, 4}},
    {{4, 1}, {1, 4}, {4, 4}},
    {{3}, {2, 3}, {2, 3}},
    {{}, {2, 3, 4}, {2, 3, 4}},
    {{1, 1, 5}, {2, 3, 1}, {2, 3, 5}},
    {{2, 3, 4}, {4}, {2, 3, 4}},
    {{2, 3, 4}, {2, 3, 1}, {2, 3, 4}},
    {{2, 1, 4}, {3, 1}, {2, 3, 4}},
    {{2, 1, 3, 1}, {4, 1, 5}, {2, 4, 3, 5}},
    {{}, {}, {}},
    {{1, 1}, {1}, {1, 1}},
    {{0, 3}, {3}, {0, 3}},
    {{3, 0}, {1, 1}, {3, 0}},
    {{37}, {37}, {37}},
    {{3, 37}, {37}, {3, 37}},
};

// op on tensors of type T against the same formula, index by index, in every layout of both operands.
template <class T, class Op, class Formula>
int wrong_elements(const Op& op, const Formula& formula) {
  int wrong = 0;
  for (const Pair& pair : kPairs)
    for (const Tensor& a : layouts(random_tensor<T>(pair.a, 1)))
      for (const Tensor& b : layouts(random_tensor<T>(pair.b, 2)))
        wrong += std::abs(mismatches(op(a, b), pair.out, [&](const Dims& i) {
          return formula(static_cast<T>(broadcast_at(a, i)), static_cast<T>(broadcast_at(b, i)));
        }));
  return wrong;
}

template <class Op, class Formula>
void check_formula(const Op& op, const Formula& formula) {
  for_each_kernel_set([&] {
    CHECK(wrong_elements<float>(op, formula) == 0);
    CHECK(wrong_elements<double>(op, formula) == 0);
  });
}

}  // namespace

TEST_CASE("sums, differences, products and quotients broadcast, in every layout and on every kernel set") {
  check_formula([](const Tensor& a, const Tensor& b) { return a + b; }, [](auto x, auto y) { return x + y; });
  check_formula([](const Tensor& a, const Tensor& b) { return a - b; }, [](auto x, auto y) { return x - y; });
  check_formula([](const Tensor& a, const Tensor& b) { return a * b; }, [](auto x, auto y) { return x * y; });
  check_formula([](const Tensor& a, const Tensor& b) { return a / b; }, [](auto x, auto y) { return x / y; });
}

TEST_CASE("maximum and minimum broadcast, in every layout and on every kernel set") {
  check_formula([](const Tensor& a, const Tensor& b) { return maximum(a, b); },
                [](auto x, auto y) { return std::max(x, y); });
  check_formula([](const Tensor& a, const Tensor& b) { return minimum(a, b); },
                [](auto x, auto y) { return std::min(x, y); });
}

TEST_CASE("an expanded operand is read like any other") {
  const Tensor row = Tensor::from({1.f, 2.f, 3.f}, {3, 1});
  const Tensor sum = expand(row, {3, 4}) + expand(row, {2, 3, 4});
  CHECK(mismatches(sum, {2, 3, 4}, [](const Dims& i) { return 2 * (static_cast<double>(i[1]) + 1); }) == 0);
}

TEST_CASE("maximum and minimum are NaN where either operand is") {
  // Nineteen elements, so that NaN meets whole vectors and the rest of one.
  const Tensor numbers = random_tensor<float>({19}, 3), nan = full({19}, kNaN);
  for_each_kernel_set([&] {
    for (const Tensor& y : {maximum(numbers, nan), maximum(nan, numbers), minimum(numbers, nan),
                            minimum(nan, numbers), maximum(nan, 0), minimum(nan, 0)})
      CHECK(mismatches(y, {19}, [](const Dims&) { return kNaN; }) == 0);
  });
}

TEST_CASE("a number stands on either side") {
  const Tensor x = Tensor::from({1.f, 2.f, 4.f}, {3});
  CHECK((x + 1).to_vector<float>() == std::vector<float>{2, 3, 5});
  CHECK((1 + x).to_vector<float>() == std::vector<float>{2, 3, 5});
  CHECK((x - 1).to_vector<float>() == std::vector<float>{0, 1, 3});
  CHECK((1 - x).to_vector<float>() == std::vector<float>{0, -1, -3});
  CHECK((x * 3).to_vector<float>() == std::vector<float>{3, 6, 12});
  CHECK((3 * x).to_vector<float>() == std::vector<float>{3, 6, 12});
  CHECK((x / 2).to_vector<float>() == std::vector<float>{0.5, 1, 2});
  CHECK((2 / x).to_vector<float>() == std::vector<float>{2, 1, 0.5});
  CHECK(maximum(x, 2).to_vector<float>() == std::vector<float>{2, 2, 4});
  CHECK(minimum(x, 2).to_vector<float>() == std::vector<float>{1, 2, 2});
  // It takes the tensor's type: 0.1 is a float here.
  CHECK((zeros({1}) + 0.1).item() == static_cast<double>(0.1f));
  for (const Tensor& window : layouts(arange(6, DType::f64)))
    CHECK((10 - window).to_vector<double>() == std::vector<double>{10, 9, 8, 7, 6, 5});
}

TEST_CASE("int32 wraps around, and division cuts the fraction off") {
  const Tensor a = Tensor::from<std::int32_t>({7, -7, kHighest, kLowest}, {4});
  const Tensor b = Tensor::from<std::int32_t>({-2, 2, 1, -1}, {4});
  using Ints = std::vector<std::int32_t>;
  CHECK((a + b).to_vector<std::int32_t>() == Ints{5, -5, kLowest, kHighest});
  CHECK((a - b).to_vector<std::int32_t>() == Ints{9, -9, kHighest - 1, kLowest + 1});
  CHECK((a * 2).to_vector<std::int32_t>() == Ints{14, -14, -2, 0});
  CHECK((a / b).to_vector<std::int32_t>() == Ints{-3, -3, kHighest, kLowest});
  CHECK(maximum(a, b).to_vector<std::int32_t>() == Ints{7, 2, kHighest, -1});
  CHECK(minimum(a, 0).to_vector<std::int32_t>() == Ints{0, -7, 0, kLowest});
}

TEST_CASE("errors name the operation, the rule and both values") {
  const Tensor x = zeros({2, 3}), ints = arange(3), flags = zeros({3}, DType::boolean);
  CHECK(error_of([&] { add(x, zeros({4})); }) == "[add] shapes do not broadcast: (2, 3) and (4)");
  CHECK(error_of([&] { mul(x, ints); }) == "[mul] dtypes differ: float32 and int32");
  CHECK(error_of([&] { sub(flags, flags); }) == "[sub] needs float32, float64 or int32, got bool");
  CHECK(error_of([&] { add(flags, 1); }) == "[add] needs float32, float64 or int32, got bool");
  CHECK(error_of([&] { div(ints, ints); }) == "[div] int32 division by zero: 0 / 0");
  CHECK(error_of([&] { div(7, ints); }) == "[div] int32 division by zero: 7 / 0");
  CHECK(error_of([&] { mul(ints, 2.5); }) == "[mul] the scalar 2.5 is not an element of int32");
  CHECK(error_of([&] { add(ints, 1e10); }) == "[add] the scalar 10000000000 is not an element of int32");
  CHECK(error_of([&] { maximum(ints, std::nan("")); }) ==
        "[maximum] the scalar nan is not an element of int32");
  CHECK(error_of([&] { add(Tensor(), Tensor()); }) == "[data] the tensor is undefined");
}

TEST_CASE("add_ adds a multiple in place, whatever the layouts") {
  for_each_kernel_set([&] {
    const Tensor start = random_tensor<double>({3, 2, 5}, 4);
    for (const Shape& shape : {Shape{3, 2, 5}, Shape{5}, Shape{2, 1}, Shape{3, 1, 1}, Shape{}})
      for (const Tensor& x : layouts(random_tensor<double>(shape, 5)))
        for (Tensor y : layouts(start)) {
          add_(y, x, 0.5);  // a power of two: the product is exact, fused or not
          CHECK(mismatches(y, {3, 2, 5},
                           [&](const Dims& i) { return start.at(i) + 0.5 * broadcast_at(x, i); }) == 0);
        }
  });
  Tensor counts = arange(3);
  add_(counts, arange(3), -2);
  CHECK(counts.to_vector<std::int32_t>() == std::vector<std::int32_t>{0, -1, -2});
}

TEST_CASE("add_ may add a tensor to itself, or another window on the same numbers") {
  Tensor y = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  add_(y, y);
  CHECK(y.to_vector<float>() == std::vector<float>{2, 4, 6, 8});
  add_(y, transpose(y));
  CHECK(y.to_vector<float>() == std::vector<float>{4, 10, 10, 16});
  add_(y, select(y, 0, 0));
  CHECK(y.to_vector<float>() == std::vector<float>{8, 20, 14, 26});
}

TEST_CASE("mul_ scales in place, whatever the layout") {
  for_each_kernel_set([&] {
    const Tensor start = random_tensor<float>({3, 7}, 6);
    for (Tensor y : layouts(start)) {
      mul_(y, -3);
      CHECK(mismatches(y, {3, 7}, [&](const Dims& i) { return static_cast<float>(start.at(i)) * -3; }) == 0);
    }
  });
}

TEST_CASE("writing in place raises the version, and leaves neighbours alone") {
  Tensor matrix = zeros({3, 4});
  Tensor column = slice(matrix, 1, 1, 2);
  const std::uint64_t before = matrix.version();
  add_(column, ones({3, 1}));
  CHECK(matrix.version() > before);
  CHECK(matrix.to_vector<float>() == std::vector<float>{0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0});
  const std::uint64_t between = matrix.version();
  mul_(matrix, 2);
  CHECK(matrix.version() > between);
}

TEST_CASE("in place operations on nothing do nothing, whatever the strides") {
  Tensor none = expand(zeros({1, 0}), {4, 0});
  add_(none, none);
  mul_(none, 2);
  none.copy_(zeros({4, 0}));
  CHECK(none.numel() == 0);
}

TEST_CASE("in place operations refuse what they cannot do") {
  Tensor y = zeros({2, 3}), repeated = expand(zeros({3}), {2, 3}), ints = arange(3);
  CHECK(error_of([&] { add_(y, zeros({4, 2, 3})); }) == "[add_] (4, 2, 3) does not broadcast to (2, 3)");
  CHECK(error_of([&] { add_(y, zeros({2})); }) == "[add_] shapes do not broadcast: (2, 3) and (2)");
  CHECK(error_of([&] { add_(y, ints); }) == "[add_] dtypes differ: float32 and int32");
  CHECK(error_of([&] { add_(ints, ints, 0.5); }) == "[add_] the scalar 0.5 is not an element of int32");
  CHECK(error_of([&] { add_(repeated, y); }) ==
        "[add_] the tensor written to repeats its elements along axis 0 of (2, 3); clone() it first");
  CHECK(error_of([&] { mul_(repeated, 2); }) ==
        "[mul_] the tensor written to repeats its elements along axis 0 of (2, 3); clone() it first");
}

TEST_CASE("the number of threads does not change a bit") {
  for_each_kernel_set([&] {
    const Tensor a = random_tensor<float>({7, 3, 13}, 7), b = random_tensor<float>({3, 1}, 8);
    check_threads_do_not_matter([&] {
      Tensor y = a.clone(), z = a.clone();
      add_(y, b, 0.3);
      add_(z, a, 0.3);
      return std::vector<Tensor>{a * b, b - a, transpose(a) / transpose(a), a + 0.1, maximum(a, b), y, z};
    });
  });
}

TEST_CASE("repeated operations take their memory from the cache") {
  const Tensor a = ones({16}), b = ones({4, 4}), c = ones({4});
  const auto work = [&] { return ((a + a) * 2).numel() + (b + c).numel(); };
  CHECK(work() == 32);
#if !defined(MINIGPT_ASAN)  // under which every block goes back to the system
  const std::int64_t before = memory_stats().system_allocations;
  for (int i = 0; i < 100; ++i) work();
  CHECK(memory_stats().system_allocations == before);
#endif
}
