#include "tensor/join.h"

#include <doctest/doctest.h>

#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

TEST_CASE("concat by hand") {
  const Tensor a = Tensor::from<float>({1, 2, 3, 4}, {2, 2}), b = Tensor::from<float>({5, 6}, {1, 2});
  CHECK(values(concat({a, b})) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(values(concat({a, transpose(b)}, 1)) == std::vector<double>{1, 2, 5, 3, 4, 6});
}

TEST_CASE("splitting what concat joined gives the pieces back, on every axis, type and layout") {
  for (const DType type : {DType::f32, DType::f64, DType::i32, DType::boolean})
    for (const int axis : {0, 1, 2, -1}) {
      const int a = normalize_axis("test", axis, 3);
      std::vector<Tensor> pieces;
      std::vector<std::int64_t> sizes;
      for (const std::int64_t n : {2, 1, 0, 5}) {
        Shape shape{4, 3, 6};
        shape[a] = n;
        pieces.push_back(random_tensor<float>(shape, static_cast<unsigned>(n), 2).to(type));
        sizes.push_back(n);
      }
      pieces[0] = transpose(transpose(pieces[0], 0, 2).contiguous(), 0, 2);
      const std::vector<Tensor> back = split(concat(pieces, axis), sizes, axis);
      for (std::size_t i = 0; i < pieces.size(); ++i) CHECK(bitwise_equal(back[i], pieces[i]));
    }
}

TEST_CASE("stack adds an axis, and select gives the tensors back") {
  const std::vector<Tensor> tensors{random_tensor<float>({2, 3}, 1), random_tensor<float>({2, 3}, 2),
                                    transpose(random_tensor<float>({3, 2}, 3)),
                                    random_tensor<float>({2, 3}, 4)};
  const Shape expected[] = {{4, 2, 3}, {2, 4, 3}, {2, 3, 4}};
  for (const int axis : {0, 1, 2}) {
    const Tensor stacked = stack(tensors, axis);
    CHECK(stacked.shape() == expected[axis]);
    for (int i = 0; i < 4; ++i)
      CHECK(bitwise_equal(select(stacked, axis, i), tensors[static_cast<std::size_t>(i)]));
  }
  CHECK(stack(tensors, -1).shape() == Shape{2, 3, 4});
  CHECK(values(stack({Tensor::scalar(1.0f), Tensor::scalar(2.0f)})) == std::vector<double>{1, 2});
}

TEST_CASE("results own their numbers") {
  Tensor a = ones({2});
  const Tensor joined = concat({a}), stacked = stack({a});
  a.fill_(7);
  CHECK(values(joined) == std::vector<double>{1, 1});
  CHECK(values(stacked) == std::vector<double>{1, 1});
}

TEST_CASE("tensors that do not fit are refused") {
  CHECK_THROWS_WITH_AS(concat({}), "[concat] needs at least one tensor", Error);
  CHECK_THROWS_WITH_AS(concat({zeros({2, 3}), zeros({2, 4})}),
                       "[concat] shapes of tensors 0 and 1 do not fit: (2, 3) and (2, 4)", Error);
  CHECK_THROWS_WITH_AS(concat({zeros({2}), zeros({2, 1})}),
                       "[concat] shapes of tensors 0 and 1 do not fit: (2) and (2, 1)", Error);
  CHECK_THROWS_WITH_AS(concat({zeros({2}), zeros({2}, DType::f64)}),
                       "[concat] types of tensors 0 and 1 differ: float32 and float64", Error);
  CHECK_THROWS_WITH_AS(stack({zeros({2}), zeros({3})}),
                       "[stack] shapes of tensors 0 and 1 do not fit: (2) and (3)", Error);
  CHECK_THROWS_WITH_AS(concat({zeros({2}), Tensor()}), "[concat] tensor 1 is undefined", Error);
  CHECK_THROWS_AS(concat({zeros({2})}, 1), Error);
}
