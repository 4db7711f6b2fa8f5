// A few rows times a matrix, against sums in double, for every kernel set.
#include "tensor/gemv.h"

#include "tensor/views.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

// y[b][n] = sum_k x[b][k] w[n][k] + bias[n] + before[b][n], in double; an undefined bias or before adds nothing.
std::vector<double> naive(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& before) {
  std::vector<double> y;
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t n = 0; n < w.dim(0); ++n) {
      double sum = bias.defined() ? bias.at({n}) : 0;
      for (std::int64_t k = 0; k < x.dim(1); ++k) sum += x.at({b, k}) * w.at({n, k});
      y.push_back(sum + (before.defined() ? before.at({b, n}) : 0));
    }
  return y;
}

Tensor product(const Tensor& x, const Tensor& w, const Tensor& bias = Tensor()) {
  Tensor y = Tensor::empty({x.dim(0), w.dim(0)}, x.dtype());
  gemv(x, w, bias, y);
  return y;
}

// The same numbers, not at the beginning of an aligned block.
template <class T>
Tensor shifted(const Tensor& t) {
  Tensor memory = Tensor::empty({t.numel() + 1}, t.dtype());
  Tensor view = Tensor::view_of(memory.storage(), 1, t.shape(), contiguous_strides(t.shape()), t.dtype());
  view.copy_(t);
  return view;
}

template <class T>
double worst(std::int64_t B, std::int64_t N, std::int64_t K, DType weights) {
  const Tensor x = shifted<T>(random_tensor<T>({B, K}, 1)),
               w = shifted<T>(random_tensor<T>({N, K}, 2).to(weights));
  const Tensor bias = shifted<T>(random_tensor<T>({N}, 3)), before = random_tensor<T>({B, N}, 4);
  double error = worst_error(values(product(x, w)), naive(x, w, Tensor(), Tensor()));
  error = std::max(error, worst_error(values(product(x, w, bias)), naive(x, w, bias, Tensor())));
  Tensor y = before.clone();
  gemv(x, w, bias, y, true);
  return std::max(error, worst_error(values(y), naive(x, w, bias, before)));
}

}  // namespace

TEST_CASE("gemv: y = x W^T + b, and y += the same, for any width and number of rows") {
  for_each_kernel_set([] {
    for (const std::int64_t B : {1, 2, 3, 5, 8, 9, 17})
      for (const std::int64_t N : {1, 7, 8, 9, 33})
        for (const std::int64_t K : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 130}) {
          CAPTURE(B);
          CAPTURE(N);
          CAPTURE(K);
          CHECK(worst<float>(B, N, K, DType::f32) < 1e-5);
          CHECK(worst<float>(B, N, K, DType::bf16) < 1e-5);
          CHECK(worst<double>(B, N, K, DType::f64) < 1e-14);
        }
  });
}

TEST_CASE("gemv: a row has the same bits alone and among others, and whoever computes it") {
  for_each_kernel_set([] {
    for (const DType type : {DType::f32, DType::bf16}) {
      const Tensor x = random_tensor<float>({11, 67}, 1), w = random_tensor<float>({45, 67}, 2).to(type);
      const Tensor together = product(x, w);
      for (std::int64_t b = 0; b < x.dim(0); ++b)
        CHECK(bitwise_equal(product(slice(x, 0, b, b + 1), w), slice(together, 0, b, b + 1)));
      for (const std::int64_t n : {1, 3, 8, 44})
        CHECK(bitwise_equal(product(x, slice(w, 0, 0, n)), slice(together, 1, 0, n)));
      check_threads_do_not_matter([&] { return std::vector<Tensor>{product(x, w)}; });
    }
  });
}

TEST_CASE("gemv: what does not fit is refused") {
  const auto error = [](const Tensor& x, const Tensor& w, const Tensor& bias, Tensor y) {
    try {
      gemv(x, w, bias, y);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Tensor x = zeros({2, 3}), w = zeros({4, 3}), y = zeros({2, 4});
  CHECK(error(x, w, Tensor(), y) == "");
  CHECK(error(x, zeros({4, 5}), Tensor(), y) == "[gemv] inner dimensions differ: (2, 3) x (4, 5)^T");
  CHECK(error(x, w, Tensor(), zeros({2, 5})) == "[gemv] the result of (2, 3) x (4, 3)^T cannot be (2, 5)");
  CHECK(error(x, w, zeros({3}), y) == "[gemv] the bias must be (4), got (3)");
  CHECK(error(x, zeros({4, 3}, DType::f64), Tensor(), y) == "[gemv] types differ: float32 x float64");
  const Tensor x64 = zeros({2, 3}, DType::f64), y64 = zeros({2, 4}, DType::f64);
  CHECK(error(x64, zeros({4, 3}, DType::bf16), Tensor(), y64) == "[gemv] types differ: float64 x bfloat16");
  CHECK(error(x, transpose(zeros({3, 4})), Tensor(), y) == "[gemv] needs contiguous tensors");
}
