#include "tensor/shape.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tests/tensor/layouts.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr std::int64_t kOne = 1;

}  // namespace

TEST_CASE("Dims is a short list that knows how to print itself") {
  Dims d{2, 3};
  d.push_back(5);
  CHECK(d == Dims{2, 3, 5});
  CHECK(d.str() == "(2, 3, 5)");
  CHECK(Dims{}.str() == "()");
  CHECK(Dims{7}.str() == "(7)");
  d.insert(0, 9);
  d.insert(4, 8);
  CHECK(d == Dims{9, 2, 3, 5, 8});
  d.erase(0);
  d.erase(3);
  CHECK(d == Dims{2, 3, 5});
  CHECK(d.back() == 5);
  CHECK(d.contains(3));
  CHECK_FALSE(d.contains(4));
  CHECK_FALSE(d == Dims{2, 3});
  CHECK_FALSE(Dims{2, 3} == Dims{3, 2});
}

TEST_CASE("more than eight dimensions are refused") {
  const std::vector<std::int64_t> twos(64, 2);
  CHECK(error_of([&] { Dims(twos.begin(), twos.end()); }) == "[shape] at most 8 dimensions are supported");
}

TEST_CASE("numel multiplies, and refuses what no memory can hold") {
  CHECK(numel({}) == 1);
  CHECK(numel({2, 3, 4}) == 24);
  CHECK(numel({0}) == 0);
  CHECK(numel({0, kOne << 62}) == 0);
  CHECK(numel({kOne << 62, 4, 0}) == 0);
  CHECK(error_of([] { numel({2, -1}); }) == "[shape] extents must not be negative: (2, -1)");
  CHECK(error_of([] { numel({0, -1}); }) == "[shape] extents must not be negative: (0, -1)");
  // Products that wrap around to 0, to something small, or to a negative number in 64 bits.
  CHECK(error_of([] {
          numel({kOne << 33, kOne << 31});
        }) == "[shape] too many elements: (8589934592, 2147483648)");
  CHECK(error_of([] { numel({kOne << 62, 4}); }) == "[shape] too many elements: (4611686018427387904, 4)");
  CHECK(error_of([] {
          numel({(kOne << 32) + 1, (kOne << 32) + 1});
        }) == "[shape] too many elements: (4294967297, 4294967297)");
  CHECK(error_of([] { numel({std::numeric_limits<std::int64_t>::max()}); }) ==
        "[shape] too many elements: (9223372036854775807)");
}

TEST_CASE("row-major strides") {
  CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
  CHECK(contiguous_strides({}) == Strides{});
  CHECK(contiguous_strides({2, 1, 3}) == Strides{3, 3, 1});
  CHECK(contiguous_strides({kOne << 62, 4, 0}).size() == 3);  // no overflow on the way
}

TEST_CASE("shapes broadcast when each axis is equal or 1, aligned from the right") {
  CHECK(broadcast_shapes("op", {2, 3}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast_shapes("op", {1}, {5, 4}) == Shape{5, 4});
  CHECK(broadcast_shapes("op", {4, 1}, {1, 4}) == Shape{4, 4});
  CHECK(broadcast_shapes("op", {}, {2, 3, 4}) == Shape{2, 3, 4});
  CHECK(broadcast_shapes("op", {1, 1, 5}, {2, 3, 1}) == Shape{2, 3, 5});
  CHECK(broadcast_shapes("op", {0, 1}, {1, 3}) == Shape{0, 3});
  CHECK(error_of([] {
          broadcast_shapes("op", {2, 3}, {4});
        }) == "[op] shapes do not broadcast: (2, 3) and (4)");
  CHECK(error_of([] {
          broadcast_shapes("op", {2}, {2, 3});
        }) == "[op] shapes do not broadcast: (2) and (2, 3)");
  CHECK(error_of([] { broadcast_shapes("op", {0}, {3}); }) == "[op] shapes do not broadcast: (0) and (3)");
  CHECK(error_of([] { broadcast_shapes("op", {3}, {0}); }) == "[op] shapes do not broadcast: (3) and (0)");
}

TEST_CASE("axes count from either end") {
  CHECK(normalize_axis("op", 1, 3) == 1);
  CHECK(normalize_axis("op", -1, 3) == 2);
  CHECK(normalize_axis("op", -3, 3) == 0);
  CHECK(error_of([] { normalize_axis("op", 3, 3); }) == "[op] axis 3 is out of range for 3 dimensions");
  CHECK(error_of([] { normalize_axis("op", -4, 3); }) == "[op] axis -4 is out of range for 3 dimensions");
  CHECK(error_of([] { normalize_axis("op", 0, 0); }) == "[op] axis 0 is out of range for 0 dimensions");
  CHECK(normalize_axes("op", {-1, 0}, 3) == Dims{0, 2});
  CHECK(normalize_axes("op", {}, 3) == Dims{0, 1, 2});
  CHECK(error_of([] { normalize_axes("op", {1, -2}, 3); }) == "[op] axis -2 is given twice in (1, -2)");
}
