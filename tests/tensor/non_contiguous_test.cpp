// O-01, O-03: tensors whose numbers do not lie in row-major order, through everything that reads numbers.

#include "nn/tensor_file.h"
#include "tensor/compare.h"
#include "tensor/matmul.h"
#include "tensor/print.h"
#include "tensor/views.h"
#include "tests/nn/temporary_folder.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

// The same (2, 3, 4) numbers in every kind of memory: transposed, cut out of something larger, every second of a longer
// row, and, with equal rows, repeated with a stride of 0.
struct Layout {
  const char* name;
  Tensor tensor;
};
std::vector<Layout> layouts() {
  const Tensor plain = random_tensor<float>({2, 3, 4}, 1);
  Tensor wide = random_tensor<float>({4, 5, 9}, 2);
  Tensor cut = slice(slice(slice(wide, 0, 1, 3), 1, 2, 5), 2, 5, 9);
  cut.copy_(plain);
  Tensor long_rows = random_tensor<float>({2, 3, 9}, 3);
  Tensor stepped = slice(long_rows, 2, 1, 9, 2);
  stepped.copy_(plain);
  return {{"transposed", transpose(transpose(plain, 0, 2).contiguous(), 0, 2)},
          {"permuted", permute(permute(plain, {1, 2, 0}).contiguous(), {2, 0, 1})},
          {"cut out", cut},
          {"every second", stepped},
          {"repeated", expand(random_tensor<float>({1, 3, 1}, 4), {2, 3, 4})}};
}

}  // namespace

TEST_CASE("O-03: view says what to use instead, reshape and flatten copy if they must") {
  for (const Layout& layout : layouts()) {
    CAPTURE(layout.name);
    const Tensor& x = layout.tensor;
    REQUIRE_FALSE(x.is_contiguous());
    CHECK_THROWS_WITH_AS(view(x, {24}), doctest::Contains("reshape"), Error);
    CHECK(values(reshape(x, {24})) == values(x.clone()));
    CHECK(values(reshape(x, {4, -1})) == values(x.clone()));
    CHECK(values(flatten(x)) == values(x.clone()));
    CHECK(values(flatten(x, 1, 2)) == values(x.clone()));
  }
}

TEST_CASE("O-03: printing, comparing, converting and saving give the numbers, not the memory") {
  const test::TemporaryFolder folder;
  for (const Layout& layout : layouts()) {
    CAPTURE(layout.name);
    const Tensor &x = layout.tensor, plain = x.clone();
    CHECK(to_string(x) == to_string(plain));
    CHECK(bitwise_equal(eq(x, plain), ones({2, 3, 4}, DType::boolean)));
    CHECK(values(x.to(DType::f64)) == values(plain));
    save_tensors(folder / "x.safetensors", {{"x", x}});
    const std::vector<NamedTensor> read = load_tensors(folder / "x.safetensors");
    REQUIRE(read.size() == 1);
    CHECK(bitwise_equal(read[0].tensor, plain));
  }
}

TEST_CASE("O-03: heads are split and merged again, through any layout in between") {
  const std::int64_t B = 2, T = 3, H = 2, D = 2;
  const Tensor x = random_tensor<float>({B, T, H * D}, 5);
  const Tensor heads = transpose(view(x, {B, T, H, D}), 1, 2);  // (B, H, T, D)
  CHECK(heads.at({1, 1, 2, 0}) == x.at({1, 2, 2}));
  CHECK_THROWS_WITH_AS(view(heads, {B, H * T, D}), doctest::Contains("reshape"), Error);
  CHECK(bitwise_equal(reshape(transpose(heads, 1, 2), {B, T, H * D}), x));
  CHECK(bitwise_equal(reshape(transpose(heads.contiguous(), 1, 2), {B, T, H * D}), x));
}

TEST_CASE("O-01: a transposed matrix times ones") {
  const Tensor a = Tensor::from<double>({1.5, -2, 0.25, -0.5, 3, 1}, {2, 3});
  CHECK(values(matmul(transpose(a), ones({2, 2}, DType::f64))) ==
        std::vector<double>{1, 1, 1, 1, 1.25, 1.25});
}

TEST_CASE(
    "O-01: every small product, with either operand plain, transposed, sliced or repeated, is a triple "
    "loop") {
  // Integers, so that equality is exact. A repeated operand has one row, or one column, many times.
  using Make = Tensor (*)(std::int64_t, std::int64_t, unsigned);
  const Make makes[] = {[](std::int64_t r, std::int64_t c, unsigned seed) {
                          return random_indices({r, c}, 9, seed).to(DType::f32);
                        },
                        [](std::int64_t r, std::int64_t c, unsigned seed) {
                          return transpose(random_indices({c, r}, 9, seed).to(DType::f32));
                        },
                        [](std::int64_t r, std::int64_t c, unsigned seed) {
                          return slice(
                              slice(random_indices({r + 2, 2 * c + 3}, 9, seed).to(DType::f32), 0, 1, r + 1),
                              1, 1, 2 * c + 1, 2);
                        },
                        [](std::int64_t r, std::int64_t c, unsigned seed) {
                          return expand(random_indices({1, c}, 9, seed).to(DType::f32), {r, c});
                        },
                        [](std::int64_t r, std::int64_t c, unsigned seed) {
                          return expand(random_indices({r, 1}, 9, seed).to(DType::f32), {r, c});
                        }};
  for_each_kernel_set([&] {
    int wrong = 0;
    for (std::int64_t m = 1; m <= 9; ++m)
      for (std::int64_t k = 1; k <= 9; ++k)
        for (std::int64_t n = 1; n <= 9; ++n)
          for (const Make left : makes)
            for (const Make right : makes) {
              const Tensor a = left(m, k, 1), b = right(k, n, 2);
              const std::vector<double> x = values(a), y = values(b), actual = values(matmul(a, b));
              for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) {
                  double expected = 0;
                  for (std::int64_t p = 0; p < k; ++p)
                    expected +=
                        x[static_cast<std::size_t>(i * k + p)] * y[static_cast<std::size_t>(p * n + j)];
                  wrong += actual[static_cast<std::size_t>(i * n + j)] != expected;
                }
            }
    CHECK(wrong == 0);
  });
}
