#include "tensor/gather.h"

#include <doctest/doctest.h>

#include <limits>

#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

Tensor ids(std::initializer_list<std::int32_t> list, const Shape& shape) {
  return Tensor::from<std::int32_t>(list, shape);
}

// Every index of a shape, in row-major order.
template <class Fn>
void for_each_index(const Shape& shape, Fn fn) {
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    Dims at = shape;
    std::int64_t rest = i;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    fn(at);
  }
}

double inner_product(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = values(a), y = values(b);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

TEST_CASE("gather picks one element per index, along any axis") {
  const Tensor x = random_tensor<double>({4, 5, 6}, 1);
  for (const int axis : {0, 1, 2, -1, -3}) {
    const int a = normalize_axis("test", axis, 3);
    Shape shape{3, 2, 4};
    shape[a] = 7;  // longer than the table along the axis, shorter elsewhere
    const Tensor index = random_indices(shape, static_cast<int>(x.shape()[a]), 2);
    const Tensor y = gather(x, axis, index);
    REQUIRE(y.shape() == shape);
    for_each_index(shape, [&](Dims at) {
      Dims from = at;
      from[a] = static_cast<std::int64_t>(index.at(at));
      CHECK(y.at(at) == x.at(from));
    });
  }
}

TEST_CASE("gather by hand, as in PyTorch's manual") {
  const Tensor x = ids({1, 2, 3, 4}, {2, 2});
  CHECK(gather(x, 1, ids({0, 0, 1, 0}, {2, 2})).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{1, 1, 4, 3});
}

TEST_CASE("scatter_add is the transpose of gather: <gather(x), s> = <x, scatter_add(s)>") {
  for (const int axis : {0, 1, 2}) {
    Shape shape{3, 5, 4};
    shape[axis] = 9;  // indices repeat
    const Tensor x = random_tensor<double>({4, 5, 6}, 3), s = random_tensor<double>(shape, 4);
    const Tensor index = random_indices(shape, static_cast<int>(x.shape()[axis]), 5);
    const Tensor back = scatter_add(x.shape(), axis, index, s);
    CHECK(back.shape() == x.shape());
    CHECK(inner_product(gather(x, axis, index), s) == doctest::Approx(inner_product(x, back)));
  }
}

TEST_CASE("index_select takes whole slices, index_add is its transpose") {
  const Tensor x = random_tensor<double>({4, 5, 6}, 6);
  for (const int axis : {0, 1, 2}) {
    const Tensor index = random_indices({8}, static_cast<int>(x.shape()[axis]), 7);
    const Tensor y = index_select(x, axis, index);
    for (int i = 0; i < 8; ++i) {
      const auto from = static_cast<std::int64_t>(index.at({i}));
      CHECK(values(select(y, axis, i)) == values(select(x, axis, from)));
    }
    const Tensor s = random_tensor<double>(y.shape(), 8);
    CHECK(inner_product(y, s) == doctest::Approx(inner_product(x, index_add(x.shape(), axis, index, s))));
  }
}

TEST_CASE("embedding_rows copies a table row per index of any shape") {
  const Tensor table = random_tensor<float>({10, 7}, 9);
  const Tensor index = random_indices({2, 3}, 10, 10);
  const Tensor y = embedding_rows(table, index);
  REQUIRE(y.shape() == Shape{2, 3, 7});
  for_each_index({2, 3}, [&](Dims at) {
    const Tensor row = select(select(y, 0, at[0]), 0, at[1]);
    CHECK(values(row) == values(select(table, 0, static_cast<std::int64_t>(index.at(at)))));
  });
  CHECK(embedding_rows(table, Tensor::scalar<std::int32_t>(3)).shape() == Shape{7});
  CHECK(embedding_rows(transpose(table), ids({6}, {1})).shape() == Shape{1, 10});
}

TEST_CASE("repeated indices add up, untouched rows are exactly 0") {
  const Tensor index = ids({2, 2, 0, 2}, {4});
  CHECK(values(embedding_backward(ones({4, 1}), index, 4)) == std::vector<double>{1, 0, 3, 0});
  const Tensor dy = Tensor::from<float>({1, 10, 2, 20, 3, 30, 4, 40}, {4, 2});
  CHECK(values(embedding_backward(dy, index, 4)) == std::vector<double>{3, 30, 0, 0, 7, 70, 0, 0});
}

TEST_CASE("repeated indices are added in the order in which they occur") {
  // In float, (1e8 + 1) - 1e8 = 0 and (1e8 - 1e8) + 1 = 1.
  const Tensor index = ids({1, 1, 1}, {3});
  CHECK(values(embedding_backward(Tensor::from<float>({1e8f, 1, -1e8f}, {3, 1}), index, 2)) ==
        std::vector<double>{0, 0});
  CHECK(values(embedding_backward(Tensor::from<float>({1e8f, -1e8f, 1}, {3, 1}), index, 2)) ==
        std::vector<double>{0, 1});
}

TEST_CASE("the number of threads does not change a bit") {
  const Tensor index = random_indices({3, 50}, 11, 11), dy = random_tensor<float>({3, 50, 40}, 12);
  const Tensor flat = reshape(index, {150}), wide = random_tensor<float>({5, 150, 3}, 13);
  const Tensor lines = random_indices({5, 150, 3}, 11, 14), table = random_tensor<float>({11, 40}, 15);
  check_threads_do_not_matter([&] {
    return std::vector<Tensor>{embedding_rows(table, index), embedding_backward(dy, index, 11),
                               index_add({5, 11, 3}, 1, flat, wide), scatter_add({5, 11, 3}, 1, lines, wide),
                               gather(random_tensor<float>({5, 11, 3}, 16), 1, lines)};
  });
}

TEST_CASE("an index outside the table is refused with its position and the size of the table") {
  const Tensor table = zeros({10, 4});
  for (const std::int32_t bad : {-1, 10, std::numeric_limits<std::int32_t>::max()}) {
    const std::string text =
        fmt::format("index {} at position (0, 2) is outside [0, 10) of the table (10, 4)", bad);
    CHECK_THROWS_WITH_AS(embedding_rows(table, ids({0, 9, bad, 1}, {1, 4})), ("[embedding] " + text).c_str(),
                         Error);
    CHECK_THROWS_WITH_AS(embedding_backward(zeros({1, 4, 4}), ids({0, 9, bad, 1}, {1, 4}), 10),
                         ("[embedding_backward] " + text).c_str(), Error);
    CHECK_THROWS_WITH_AS(gather(table, 0, ids({0, 0, bad, 1}, {1, 4})), ("[gather] " + text).c_str(), Error);
    CHECK_THROWS_WITH_AS(scatter_add({10, 4}, 0, ids({0, 0, bad, 1}, {1, 4}), zeros({1, 4})),
                         ("[scatter_add] " + text).c_str(), Error);
  }
  CHECK_THROWS_WITH_AS(index_select(table, 1, ids({0, 4}, {2})),
                       "[index_select] index 4 at position (1) is outside [0, 4) of the table (10, 4)",
                       Error);
}

TEST_CASE("operands must fit each other") {
  const Tensor table = zeros({10, 4}), index = ids({0, 1}, {2});
  CHECK_THROWS_WITH_AS(embedding_rows(table, zeros({2})), "[embedding] indices must be int32, got float32",
                       Error);
  CHECK_THROWS_WITH_AS(embedding_backward(zeros({3, 4}), index, 10),
                       "[embedding_backward] dy must be (2, 4), got (3, 4)", Error);
  CHECK_THROWS_WITH_AS(gather(table, 0, index),
                       "[gather] index and table need equally many dimensions, got (2) and (10, 4)", Error);
  CHECK_THROWS_WITH_AS(gather(table, 0, zeros({1, 5}, DType::i32)),
                       "[gather] index (1, 5) is longer than the table (10, 4) on axis 1", Error);
  CHECK_THROWS_WITH_AS(index_add({10, 4}, 0, index, zeros({2, 3})),
                       "[index_add] src must be (2, 4), got (2, 3)", Error);
}

TEST_CASE("empty indices are legal") {
  CHECK(embedding_rows(zeros({10, 4}), zeros({0}, DType::i32)).shape() == Shape{0, 4});
  CHECK(values(embedding_backward(zeros({0, 4}), zeros({0}, DType::i32), 2)) == std::vector<double>(8, 0.0));
}
