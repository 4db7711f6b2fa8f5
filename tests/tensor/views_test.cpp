#include "tensor/views.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/tensor/layouts.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

// Every view is checked against what it means for an index, on every layout of its input.

namespace {

const Shape kShape{2, 3, 4};

Tensor numbers() { return reshape(arange(24), kShape); }

// The input in every layout, and as a window that is itself a view of a view.
std::vector<Tensor> inputs() {
  std::vector<Tensor> all = layouts(numbers());
  Tensor wide = zeros({4, 2, 7, 3}, DType::i32);
  Tensor nested = permute(slice(select(slice(wide, 2, 1, 7), 3, 1), 2, 1, 4), {1, 2, 0});
  nested.copy_(numbers());
  all.push_back(nested);
  return all;
}

// All elements of y are those of numbers() at map(index), and y shares x's storage.
template <class Map>
void check_view(const Tensor& x, const Tensor& y, const Shape& shape, Map map) {
  const Tensor plain = numbers();
  CHECK(mismatches(y, shape, [&](const Dims& i) { return plain.at(map(i)); }) == 0);
  CHECK(y.storage() == x.storage());
}

// Equal as row-major lists: what reshape promises.
bool same_order(const Tensor& a, const Tensor& b) {
  return a.to_vector<std::int32_t>() == b.to_vector<std::int32_t>();
}

}  // namespace

TEST_CASE("transpose swaps two axes") {
  for (const Tensor& x : inputs()) {
    check_view(x, transpose(x), {2, 4, 3}, [](const Dims& i) { return Dims{i[0], i[2], i[1]}; });
    check_view(x, transpose(x, 0, -1), {4, 3, 2}, [](const Dims& i) { return Dims{i[2], i[1], i[0]}; });
    check_view(x, transpose(x, 1, 1), {2, 3, 4}, [](const Dims& i) { return i; });
  }
}

TEST_CASE("permute reorders the axes") {
  for (const Tensor& x : inputs()) {
    check_view(x, permute(x, {2, 0, 1}), {4, 2, 3}, [](const Dims& i) { return Dims{i[1], i[2], i[0]}; });
    check_view(x, permute(x, {-2, -1, 0}), {3, 4, 2}, [](const Dims& i) { return Dims{i[2], i[0], i[1]}; });
  }
}

TEST_CASE("slice takes every step-th element of a range, with Python's rules for its ends") {
  for (const Tensor& x : inputs()) {
    check_view(x, slice(x, 1, 1, 3), {2, 2, 4}, [](const Dims& i) { return Dims{i[0], i[1] + 1, i[2]}; });
    check_view(x, slice(x, -1, 0, 4, 2), {2, 3, 2}, [](const Dims& i) { return Dims{i[0], i[1], i[2] * 2}; });
    check_view(x, slice(x, -1, 1, 4, 2), {2, 3, 2}, [](const Dims& i) {
      return Dims{i[0], i[1], i[2] * 2 + 1};
    });
    check_view(x, slice(x, 2, -3, -1), {2, 3, 2}, [](const Dims& i) { return Dims{i[0], i[1], i[2] + 1}; });
    check_view(x, slice(x, 2, -99, 99), {2, 3, 4}, [](const Dims& i) { return i; });
    check_view(x, slice(x, 2, 3, 1), {2, 3, 0}, [](const Dims& i) { return i; });
    check_view(x, slice(x, 2, 99, 100), {2, 3, 0}, [](const Dims& i) { return i; });
    check_view(x, slice(x, 2, 0, 4, std::numeric_limits<std::int64_t>::max()), {2, 3, 1},
               [](const Dims& i) { return i; });
    check_view(
        x, slice(x, 2, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
        {2, 3, 4}, [](const Dims& i) { return i; });
    check_view(x, slice(slice(x, 2, 1, 4), 2, 1, 3), {2, 3, 2}, [](const Dims& i) {
      return Dims{i[0], i[1], i[2] + 2};
    });
  }
}

TEST_CASE("select takes one element of an axis, which disappears") {
  for (const Tensor& x : inputs()) {
    check_view(x, select(x, 0, 1), {3, 4}, [](const Dims& i) { return Dims{1, i[0], i[1]}; });
    check_view(x, select(x, 1, -1), {2, 4}, [](const Dims& i) { return Dims{i[0], 2, i[1]}; });
    check_view(x, select(select(select(x, 2, 3), 1, 0), 0, 1), {}, [](const Dims&) { return Dims{1, 0, 3}; });
  }
}

TEST_CASE("split cuts an axis into consecutive pieces") {
  for (const Tensor& x : inputs()) {
    const std::vector<Tensor> even = split(x, 3, 2);
    REQUIRE(even.size() == 2);
    check_view(x, even[0], {2, 3, 3}, [](const Dims& i) { return i; });
    check_view(x, even[1], {2, 3, 1}, [](const Dims& i) { return Dims{i[0], i[1], i[2] + 3}; });
    const std::vector<Tensor> sized = split(x, std::vector<std::int64_t>{1, 0, 2}, -2);
    REQUIRE(sized.size() == 3);
    check_view(x, sized[0], {2, 1, 4}, [](const Dims& i) { return i; });
    CHECK(sized[1].shape() == Shape{2, 0, 4});
    check_view(x, sized[2], {2, 2, 4}, [](const Dims& i) { return Dims{i[0], i[1] + 1, i[2]}; });
  }
  CHECK(split(zeros({0, 3}), 2).size() == 1);
}

TEST_CASE("expand repeats axes of extent 1 and adds axes on the left") {
  for (const Tensor& x : inputs())
    check_view(x, expand(x, {5, 2, 3, 4}), {5, 2, 3, 4}, [](const Dims& i) {
      return Dims{i[1], i[2], i[3]};
    });
  for (const Tensor& x : layouts(Tensor::from({1.f, 2.f, 3.f}, {3, 1}))) {
    const auto row = [](int axis) {
      return [axis](const Dims& i) { return static_cast<double>(i[axis]) + 1; };
    };
    CHECK(mismatches(expand(x, {3, 4}), {3, 4}, row(0)) == 0);
    CHECK(mismatches(expand(x, {2, -1, 4}), {2, 3, 4}, row(1)) == 0);
    CHECK(mismatches(expand(x, {3, 0}), {3, 0}, row(0)) == 0);
    CHECK(expand(x, {3, 4}).storage() == x.storage());
  }
  CHECK(expand(Tensor::scalar(7.f), {2, 2}).to_vector<float>() == std::vector<float>{7, 7, 7, 7});
}

TEST_CASE("squeeze and unsqueeze drop and insert axes of extent 1") {
  for (const Tensor& x : inputs()) {
    check_view(x, unsqueeze(x, 0), {1, 2, 3, 4}, [](const Dims& i) { return Dims{i[1], i[2], i[3]}; });
    check_view(x, unsqueeze(x, -1), {2, 3, 4, 1}, [](const Dims& i) { return Dims{i[0], i[1], i[2]}; });
    check_view(x, unsqueeze(x, 2), {2, 3, 1, 4}, [](const Dims& i) { return Dims{i[0], i[1], i[3]}; });
    check_view(x, squeeze(unsqueeze(x, 1), 1), {2, 3, 4}, [](const Dims& i) { return i; });
    check_view(x, squeeze(x, 1), {2, 3, 4}, [](const Dims& i) { return i; });
    check_view(x, squeeze(unsqueeze(unsqueeze(x, 0), -1)), {2, 3, 4}, [](const Dims& i) { return i; });
  }
  CHECK(squeeze(ones({1, 1})).shape() == Shape{});
}

TEST_CASE("reshape keeps the row-major order on every layout, and view does or says that it cannot (O-03)") {
  const std::vector<Shape> shapes = {{24},      {4, 6},       {6, 4},       {2, 12},
                                     {8, 3},    {2, 3, 4},    {2, 3, 2, 2}, {1, 24, 1},
                                     {3, 2, 4}, {2, 1, 3, 4}, {12, 1, 2},   {2, 3, 1, 4, 1}};
  for (const Tensor& x : inputs())
    for (const Shape& shape : shapes) {
      CAPTURE(x.strides().str());
      CAPTURE(shape.str());
      const Tensor y = reshape(x, shape);
      CHECK(y.shape() == shape);
      CHECK(same_order(x, y));
      // view succeeds exactly where reshape did not have to copy.
      const std::string error = error_of([&] {
        const Tensor z = view(x, shape);
        CHECK(z.storage() == x.storage());
        CHECK(same_order(x, z));
      });
      CHECK((error == "no error") == (y.storage() == x.storage()));
    }
}

TEST_CASE("reshape finds the views that exist") {
  const Tensor heads = transpose(zeros({2, 5, 3, 4}), 1, 2);  // (B, H, T, D) of attention, not contiguous
  CHECK(reshape(heads, {2, 3, 5, 2, 2}).storage() == heads.storage());   // D can be cut
  CHECK_FALSE(reshape(heads, {2, 5, 12}).storage() == heads.storage());  // H and T cannot be merged
  const Tensor merged = transpose(heads, 1, 2);
  CHECK(reshape(merged, {2, 5, 12}).storage() == merged.storage());
  const Tensor columns = slice(zeros({6, 8}), 1, 0, 4);
  CHECK(reshape(columns, {2, 3, 4}).storage() == columns.storage());
  CHECK_FALSE(reshape(columns, {24}).storage() == columns.storage());
  const Tensor repeated = expand(zeros({1}), {6});
  CHECK(reshape(repeated, {2, 3}).storage() == repeated.storage());
  CHECK(error_of([&] { view(columns, {24}); }) ==
        "[view] (6, 4) with strides (8, 1) cannot be seen as (24) without a copy; use reshape");
}

TEST_CASE("one extent can be inferred") {
  const Tensor x = numbers();
  CHECK(reshape(x, {-1}).shape() == Shape{24});
  CHECK(reshape(x, {2, -1, 2}).shape() == Shape{2, 6, 2});
  CHECK(view(x, {-1, 24}).shape() == Shape{1, 24});
  CHECK(reshape(zeros({0, 3}), {-1, 3}).shape() == Shape{0, 3});
  CHECK(reshape(Tensor::scalar(1.f), {1, 1}).shape() == Shape{1, 1});
  CHECK(reshape(ones({1}), {}).shape() == Shape{});
}

TEST_CASE("flatten merges neighbouring axes") {
  for (const Tensor& x : inputs()) {
    CHECK(flatten(x).shape() == Shape{24});
    CHECK(flatten(x, 0, 1).shape() == Shape{6, 4});
    CHECK(flatten(x, -2).shape() == Shape{2, 12});
    CHECK(flatten(x, 1, 1).shape() == Shape{2, 3, 4});
    CHECK(same_order(flatten(x, 0, 1), x));
  }
  CHECK(flatten(Tensor::scalar(1.f)).shape() == Shape{1});
}

TEST_CASE("splitting into heads and merging them back is the identity") {
  const Tensor x = random_tensor<float>({2, 5, 12}, 1);  // (B, T, C)
  const Tensor heads = transpose(reshape(x, {2, 5, 3, 4}), 1, 2);
  CHECK(mismatches(heads, {2, 3, 5, 4}, [&](const Dims& i) {
          return x.at({i[0], i[2], i[1] * 4 + i[3]});
        }) == 0);
  CHECK(bitwise_equal(reshape(transpose(heads, 1, 2), {2, 5, 12}), x));
}

TEST_CASE("a write through a view is seen by all") {
  const Tensor x = zeros({2, 3});
  Tensor y = select(transpose(x), 0, 1);
  y.fill_(1);
  CHECK(x.to_vector<float>() == std::vector<float>{0, 1, 0, 0, 1, 0});
}

TEST_CASE("errors name the operation, the rule and both values") {
  const Tensor x = numbers();
  CHECK(error_of([&] {
          reshape(x, {5, 5});
        }) == "[reshape] cannot view (2, 3, 4) as (5, 5): 24 elements into 25");
  CHECK(error_of([&] { reshape(x, {-1, -1}); }) == "[reshape] only one extent may be -1: (-1, -1)");
  CHECK(error_of([&] { reshape(x, {-1, 5}); }) == "[reshape] cannot view (2, 3, 4) as (-1, 5): 24 elements");
  CHECK(error_of([&] { reshape(x, {-2, -12}); }) == "[shape] extents must not be negative: (-2, -12)");
  CHECK(error_of([&] {
          reshape(zeros({0}), {-1, 0});
        }) == "[reshape] cannot view (0) as (-1, 0): 0 elements");
  CHECK(error_of([&] { transpose(arange(3)); }) == "[transpose] axis -2 is out of range for 1 dimensions");
  CHECK(error_of([&] {
          permute(x, {0, 1});
        }) == "[permute] order (0, 1) does not name every axis of (2, 3, 4)");
  CHECK(error_of([&] { permute(x, {0, 1, -2}); }) == "[permute] order (0, 1, -2) names axis -2 twice");
  CHECK(error_of([&] { slice(x, 0, 0, 1, 0); }) == "[slice] step must be at least 1, got 0");
  CHECK(error_of([&] { slice(x, 3, 0, 1); }) == "[slice] axis 3 is out of range for 3 dimensions");
  CHECK(error_of([&] { select(x, 1, 3); }) == "[select] index 3 is outside axis 1 of (2, 3, 4)");
  CHECK(error_of([&] { select(x, 1, -4); }) == "[select] index -4 is outside axis 1 of (2, 3, 4)");
  CHECK(error_of([&] { split(x, 0); }) == "[split] size must be at least 1, got 0");
  CHECK(error_of([&] {
          split(x, std::vector<std::int64_t>{1, 2});
        }) == "[split] sizes add up to 3, axis 0 of (2, 3, 4) has 2");
  CHECK(error_of([&] {
          split(x, std::vector<std::int64_t>{3, -1});
        }) == "[split] sizes must not be negative, got -1");
  CHECK(error_of([&] { expand(x, {3, 3, 4}); }) == "[expand] (2, 3, 4) does not expand to (3, 3, 4): 2 != 3");
  CHECK(error_of([&] { expand(x, {3, 4}); }) == "[expand] (3, 4) has fewer axes than (2, 3, 4)");
  CHECK(error_of([&] {
          expand(x, {-1, 2, 3, 4});
        }) == "[expand] -1 stands for no axis of (2, 3, 4) in (-1, 2, 3, 4)");
  CHECK(error_of([&] { squeeze(x, 3); }) == "[squeeze] axis 3 is out of range for 3 dimensions");
  CHECK(error_of([&] { unsqueeze(x, 4); }) == "[unsqueeze] axis 4 is out of range for 4 dimensions");
  CHECK(error_of([&] { flatten(x, 2, 1); }) == "[flatten] first axis 2 lies behind the last axis 1");
}
