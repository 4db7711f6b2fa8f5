#include "autograd/ops/to_dtype.h"

#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

TEST_CASE("to_dtype: values are converted, gradients come back in the first type") {
  const Variable x(Tensor::from<float>({0.1f, 2}, {2}), true);
  const Variable y = to_dtype(x, DType::f64);
  CHECK(y.dtype() == DType::f64);
  CHECK(values(y) == std::vector<double>{static_cast<double>(0.1f), 2});
  (void)gradient_of(y, x);
  CHECK(x.grad().dtype() == DType::f32);
  check_elementwise([](const Variable& v) { return to_dtype(v, DType::f64); });
  CHECK_THROWS_WITH_AS(to_dtype(x, DType::i32), doctest::Contains("int32"), Error);
}

}  // namespace
}  // namespace minigpt
