// The arithmetic that was compiled is that of the source, as far as a running program can tell (N-09). A program that is
// linked with -ffast-math starts with subnormal numbers switched off, whatever its files were compiled with.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

TEST_CASE_TEMPLATE("N-09: subnormal numbers, signs of zero, infinities and NaN are kept by every kernel set",
                   T, float, double) {
  using L = std::numeric_limits<T>;
  for_each_kernel_set([] {
    const BinaryKernels<T>& k = kernels<T>().binary;
    const std::vector<T> x = {L::denorm_min(), L::min(), -T(0), L::infinity(), L::quiet_NaN(), L::max()};
    const auto n = static_cast<std::int64_t>(x.size());
    const T one = 1, half = T(0.5);
    std::vector<T> y(x.size());
    k.mul(x.data(), 1, &one, 0, y.data(), n);
    CHECK(y[0] == L::denorm_min());
    CHECK(y[2] == 0);
    CHECK(std::signbit(y[2]));
    CHECK(y[3] == L::infinity());
    CHECK(std::isnan(y[4]));
    k.mul(x.data(), 1, &half, 0, y.data(), n);
    CHECK(std::fpclassify(y[1]) == FP_SUBNORMAL);
    CHECK(y[1] + y[1] == L::min());
    k.sub(x.data(), 1, x.data(), 1, y.data(), n);
    CHECK(y[0] == 0);
    CHECK(std::isnan(y[3]));  // inf - inf
  });
}
