#include "models/interval.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace minigpt;

TEST_CASE("an interval says what it contains") {
  CHECK(between(1, 1000).text() == "1 to 1000");
  CHECK(at_least(0).text() == "0 or more");
  CHECK(above(0, 1).text() == "above 0, at most 1");
  CHECK(below(0, 1).text() == "0 or more, below 1");
  CHECK(between(0, 1e15).text() == "0 to 1000000000000000");
  CHECK(between(1e-6, 0.5).text() == "1e-06 to 0.5");
  CHECK(Interval{}.text() == "");
}

TEST_CASE("ends belong to an interval unless they are left out; nan belongs to none") {
  CHECK(between(0, 1).contains(0));
  CHECK(between(0, 1).contains(1));
  CHECK_FALSE(between(0, 1).contains(1.5));
  CHECK_FALSE(above(0, 1).contains(0));
  CHECK(above(0, 1).contains(1));
  CHECK(below(0, 1).contains(0));
  CHECK_FALSE(below(0, 1).contains(1));
  CHECK(Interval{}.contains(-1e300));
  CHECK_FALSE(Interval{}.contains(std::nan("")));
}
