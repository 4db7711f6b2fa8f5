// N-11: every row length from 1 to 1100, and one far beyond, against plain double loops. Vector code goes wrong at the
// ends of rows, and which lengths have such an end depends on widths and unrolling that may change.

#include <algorithm>
#include <cmath>

#include "tensor/matmul.h"
#include "tensor/reduce.h"
#include "tensor/rows.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

std::vector<std::int64_t> all_lengths() {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 1100; ++n) lengths.push_back(n);
  lengths.push_back(65537);
  return lengths;
}

// How far each result lies from the plain loop over x (n numbers), relative to `tolerance`; "" if all are within.
template <class T>
std::string complaint(std::int64_t n, double tolerance) {
  const Tensor x = random_tensor<T>({n}, static_cast<unsigned>(n), 2);
  const std::vector<double> v = values(x);
  double total = 0, largest = v[0], magnitude = 0, exponentials = 0;
  for (const double a : v) {
    total += a;
    magnitude += std::abs(a);
    largest = std::max(largest, a);
  }
  for (const double a : v) exponentials += std::exp(a - largest);
  const std::vector<double> y = values(softmax(x)), log_y = values(log_softmax(x));
  double rows = 0, worst = 0, worst_log = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double expected = std::exp(v[i] - largest) / exponentials;
    worst = std::max(worst, std::abs(y[i] - expected) / expected);
    worst_log = std::max(worst_log, std::abs(log_y[i] - (v[i] - largest - std::log(exponentials))));
    rows += y[i];
  }
  if (!(worst <= tolerance)) return "softmax";
  if (!(worst_log <= 10 * tolerance)) return "log_softmax";
  if (!(std::abs(rows - 1) <= 1e-6)) return "softmax: a row that does not add up to 1";
  if (!(std::abs(sum(x).item() - total) <= tolerance * magnitude)) return "sum";
  if (max(x).item() != largest) return "max";
  return "";
}

// Products in which n is the inner extent, the number of columns, and the number of rows; integers, so exactly.
template <class T>
std::string product_complaint(std::int64_t n) {
  const Tensor a = random_indices({2, n}, 7, 1).to(dtype_of<T>),
               b = random_indices({n, 3}, 7, 2).to(dtype_of<T>);
  const std::vector<double> x = values(a), y = values(b), inner = values(matmul(a, b));
  const auto size = static_cast<std::size_t>(n);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double expected = 0;
      for (std::size_t p = 0; p < size; ++p) expected += x[i * size + p] * y[p * 3 + j];
      if (inner[i * 3 + j] != expected) return "matmul over n products";
    }
  const Tensor left = random_indices({3, 2}, 7, 3).to(dtype_of<T>),
               right = random_indices({3, 2}, 7, 4).to(dtype_of<T>);
  const std::vector<double> l = values(left), r = values(right), wide = values(matmul(left, a)),
                            tall = values(matmul(b, right));
  for (std::size_t j = 0; j < size; ++j)
    for (std::size_t i = 0; i < 3; ++i) {
      if (wide[i * size + j] != l[2 * i] * x[j] + l[2 * i + 1] * x[size + j]) return "matmul with n columns";
      const std::size_t c = i % 2;
      if (tall[j * 2 + c] != y[j * 3] * r[c] + y[j * 3 + 1] * r[2 + c] + y[j * 3 + 2] * r[4 + c])
        return "matmul with n rows";
    }
  return "";
}

}  // namespace

TEST_CASE("N-11: softmax, log_softmax, sum and max for every length from 1 to 1100, and for 65,537") {
  for_each_kernel_set([] {
    for (const std::int64_t n : all_lengths()) {
      CAPTURE(n);
      CHECK(complaint<double>(n, 1e-13) == "");
      CHECK(complaint<float>(n, 3e-6) == "");
    }
  });
}

TEST_CASE("N-11: matmul for every length from 1 to 1100, and for 65,537") {
  for_each_kernel_set([] {
    for (const std::int64_t n : all_lengths()) {
      CAPTURE(n);
      CHECK(product_complaint<double>(n) == "");
      if (n < 65537) CHECK(product_complaint<float>(n) == "");
    }
  });
}
