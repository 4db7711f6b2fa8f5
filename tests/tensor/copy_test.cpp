#include "tensor/copy.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "tensor/arithmetic.h"
#include "tensor/print.h"
#include "tensor/triangle.h"
#include "tests/tensor/layouts.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

TEST_CASE("copy_elements goes between any two layouts and types") {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{5, 1, 3}, Shape{17}, Shape{}, Shape{0, 3}}) {
    CAPTURE(shape.str());
    for (const DType from : {DType::f32, DType::f64, DType::i32, DType::boolean})
      for (const DType to : {DType::f32, DType::f64, DType::i32, DType::boolean}) {
        int wrong = 0;
        for (const Tensor& source : layouts(random_indices(shape, 3, 1).to(from)))
          for (Tensor target : layouts(zeros(shape, to))) {
            copy_elements(source, target);
            wrong += std::abs(mismatches(target, shape, [&](const Dims& i) {
              return to == DType::boolean ? source.at(i) != 0 : source.at(i);
            }));
          }
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE("float32 -> bfloat16 rounds to the nearest, ties to even; the way back is exact") {
  const float x[] = {1.0f,        1.00390625f,     1.01171875f, 1.0039064f,
                     -3.1415927f, 0x1.fffffep127f, -0.0f,       0x1p-133f};
  // 1 + 2^-8 lies midway between 1 and 1 + 2^-7: the even one is 1; 1 + 3 * 2^-8 goes up for the same reason.
  const std::vector<float> expected = {1, 1, 1.015625f, 1.0078125f, -3.140625f, INFINITY, -0.0f, 0x1p-133f};
  const Tensor stored = Tensor::from<float>(x, {8}).to(DType::bf16);
  CHECK(stored.to(DType::f32).to_vector<float>() == expected);
  CHECK(std::signbit(stored.at({6})));
  const Tensor nan = full({1}, std::bit_cast<float>(0x7fffffffu)).to(DType::bf16);
  CHECK(std::isnan(nan.item()));
}

TEST_CASE("bfloat16 is a type for storage: arithmetic refuses it") {
  const Tensor x = full({2, 2}, 1.5, DType::bf16);
  CHECK(size_of(x.dtype()) == 2);
  CHECK(x.to(DType::i32).to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 1, 1, 1});
  CHECK(to_string(x).find("dtype=torch.bfloat16") != std::string::npos);
  CHECK(error_of([&] { add(x, x); }) == "[add] needs float32, float64 or int32, got bfloat16");
  CHECK(error_of([&] { triu(x, 0); }) ==
        "[dtype] this operation does not take bfloat16: convert it to float32 first");
}

TEST_CASE("copying from an expanded source repeats its elements") {
  Tensor out = zeros({2, 3, 2});
  copy_elements(expand(Tensor::from({1.f, 2.f, 3.f}, {3, 1}), {2, 3, 2}), out);
  CHECK(out.to_vector<float>() == std::vector<float>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3});
}

TEST_CASE("shapes must agree") {
  Tensor out = zeros({3, 2});
  CHECK(error_of([&] { copy_elements(zeros({2, 3}), out); }) == "[copy] shapes differ: (2, 3) and (3, 2)");
}

TEST_CASE("the number of threads does not matter") {
  const Tensor x = random_tensor<float>({7, 5, 3}, 2);
  check_threads_do_not_matter([&] {
    return std::vector<Tensor>{permute(x, {2, 0, 1}).clone(), transpose(x).to(DType::f64), x.to(DType::i32)};
  });
}
