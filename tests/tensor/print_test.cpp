#include "tensor/print.h"

#include <doctest/doctest.h>

#include <limits>

#include "tensor/arithmetic.h"
#include "tensor/views.h"

using namespace minigpt;

// Every text on the right-hand side was printed by PyTorch 1.13 for the same tensor.

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("a number alone") {
  CHECK(to_string(Tensor::scalar(3.14159265f)) == "tensor(3.1416)");
  CHECK(to_string(Tensor::scalar(2.0f)) == "tensor(2.)");
  CHECK(to_string(Tensor::scalar(1e-5f)) == "tensor(1.0000e-05)");
  CHECK(to_string(Tensor::scalar(-0.5)) == "tensor(-0.5000, dtype=torch.float64)");
  CHECK(to_string(Tensor::scalar(7)) == "tensor(7, dtype=torch.int32)");
  CHECK(to_string(Tensor::scalar(true)) == "tensor(True)");
}

TEST_CASE("floats have four decimals, or none if all of them are whole") {
  CHECK(to_string(Tensor::from({0.1f, 2.f, 3.f, 4.f}, {2, 2})) ==
        R"(tensor([[0.1000, 2.0000],
        [3.0000, 4.0000]]))");
  CHECK(to_string(Tensor::from({1.f, -2.f, 300.f}, {3})) == "tensor([  1.,  -2., 300.])");
  CHECK(to_string(Tensor::from({0.f, -0.f}, {2})) == "tensor([0., -0.])");
  CHECK(to_string(Tensor::from({0.5f, -12.25f}, {2})) == "tensor([  0.5000, -12.2500])");
  CHECK(to_string(Tensor::from({0.00005f, 0.5f}, {2})) == "tensor([5.0000e-05, 5.0000e-01])");
  CHECK(to_string(Tensor::from({0.001f, 0.5f}, {2})) == "tensor([0.0010, 0.5000])");
}

TEST_CASE("scientific notation starts at a ratio of 1000, above 1e8 and below 1e-4") {
  CHECK(to_string(Tensor::from({1e-5f, 1.f}, {2})) == "tensor([1.0000e-05, 1.0000e+00])");
  CHECK(to_string(Tensor::from({0.5f, 501.f}, {2})) == "tensor([5.0000e-01, 5.0100e+02])");
  CHECK(to_string(Tensor::from({0.5f, 500.f}, {2})) == "tensor([  0.5000, 500.0000])");
  CHECK(to_string(Tensor::from({1.f, 1001.f}, {2})) == "tensor([1.0000e+00, 1.0010e+03])");
  CHECK(to_string(Tensor::from({1e8f, 2e8f, -3e8f}, {3})) ==
        "tensor([ 1.0000e+08,  2.0000e+08, -3.0000e+08])");
  CHECK(to_string(Tensor::from({1e-300, 1e300}, {2})) ==
        "tensor([1.0000e-300, 1.0000e+300], dtype=torch.float64)");
}

TEST_CASE("NaN and infinity have no say in the format, and NaN has no sign") {
  CHECK(to_string(Tensor::from({kNaN, kInf, -kInf}, {3})) == "tensor([nan, inf, -inf])");
  CHECK(to_string(Tensor::from({-kNaN, 1.f, 0.f}, {3})) == "tensor([nan, 1., 0.])");
  CHECK(to_string(Tensor::from({kNaN, 1.5f, -kInf}, {3})) == "tensor([   nan, 1.5000,   -inf])");
  CHECK(to_string(Tensor::from({kInf, 1e-6f, -1.f}, {3})) ==
        "tensor([        inf,  1.0000e-06, -1.0000e+00])");
}

TEST_CASE("columns are as wide as their widest number, and other types than float32 and bool are named") {
  CHECK(to_string(Tensor::from<std::int32_t>({1, -20, 300}, {3})) ==
        "tensor([  1, -20, 300], dtype=torch.int32)");
  CHECK(to_string(Tensor::from({true, false}, {2, 1})) ==
        R"(tensor([[ True],
        [False]]))");
  CHECK(to_string(Tensor::from({0.1, 0.2}, {2})) == "tensor([0.1000, 0.2000], dtype=torch.float64)");
}

TEST_CASE("an empty tensor shows its shape and type") {
  CHECK(to_string(zeros({0})) == "tensor([])");
  CHECK(to_string(zeros({0, 3})) == "tensor([], size=(0, 3))");
  CHECK(to_string(zeros({2, 0}, DType::f64)) == "tensor([], size=(2, 0), dtype=torch.float64)");
  CHECK(to_string(zeros({0}, DType::i32)) == "tensor([], dtype=torch.int32)");
  CHECK(to_string(zeros({0}, DType::boolean)) == "tensor([], dtype=torch.bool)");
}

TEST_CASE("lines end before column 80") {
  CHECK(to_string(arange(30)) ==
        R"(tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29], dtype=torch.int32))");
  CHECK(to_string(arange(22, DType::f32)) ==
        R"(tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21.]))");
  CHECK(to_string(reshape(arange(24, DType::f64) / 7, {2, 12})) ==
        R"(tensor([[0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,
         1.2857, 1.4286, 1.5714],
        [1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286, 2.5714, 2.7143, 2.8571,
         3.0000, 3.1429, 3.2857]], dtype=torch.float64))");
  CHECK(to_string(zeros({12}, DType::f64)) ==
        "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.], dtype=torch.float64)");
  CHECK(to_string(zeros({13}, DType::f64)) ==
        R"(tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],
       dtype=torch.float64))");
}

TEST_CASE("blocks are set apart by a line for each axis inside them") {
  CHECK(to_string(reshape(arange(12, DType::f32), {2, 2, 3})) ==
        R"(tensor([[[ 0.,  1.,  2.],
         [ 3.,  4.,  5.]],

        [[ 6.,  7.,  8.],
         [ 9., 10., 11.]]]))");
  CHECK(to_string(reshape(arange(8), {2, 2, 2, 1})) ==
        R"(tensor([[[[0],
          [1]],

         [[2],
          [3]]],


        [[[4],
          [5]],

         [[6],
          [7]]]], dtype=torch.int32))");
}

TEST_CASE("more than 1000 elements are summarised") {
  CHECK(to_string(arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000], dtype=torch.int32)");
  CHECK(to_string(reshape(arange(2000, DType::f32), {40, 50})) ==
        R"(tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 4.7000e+01, 4.8000e+01,
         4.9000e+01],
        [5.0000e+01, 5.1000e+01, 5.2000e+01,  ..., 9.7000e+01, 9.8000e+01,
         9.9000e+01],
        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.4700e+02, 1.4800e+02,
         1.4900e+02],
        ...,
        [1.8500e+03, 1.8510e+03, 1.8520e+03,  ..., 1.8970e+03, 1.8980e+03,
         1.8990e+03],
        [1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9470e+03, 1.9480e+03,
         1.9490e+03],
        [1.9500e+03, 1.9510e+03, 1.9520e+03,  ..., 1.9970e+03, 1.9980e+03,
         1.9990e+03]]))");
  CHECK(to_string(reshape(arange(1200, DType::f32), {2, 300, 2})) ==
        R"(tensor([[[0.0000e+00, 1.0000e+00],
         [2.0000e+00, 3.0000e+00],
         [4.0000e+00, 5.0000e+00],
         ...,
         [5.9400e+02, 5.9500e+02],
         [5.9600e+02, 5.9700e+02],
         [5.9800e+02, 5.9900e+02]],

        [[6.0000e+02, 6.0100e+02],
         [6.0200e+02, 6.0300e+02],
         [6.0400e+02, 6.0500e+02],
         ...,
         [1.1940e+03, 1.1950e+03],
         [1.1960e+03, 1.1970e+03],
         [1.1980e+03, 1.1990e+03]]]))");
  CHECK(to_string(expand(Tensor::scalar(0.25f), {7, 1, 200})) ==
        R"(tensor([[[0.2500, 0.2500, 0.2500,  ..., 0.2500, 0.2500, 0.2500]],

        [[0.2500, 0.2500, 0.2500,  ..., 0.2500, 0.2500, 0.2500]],

        [[0.2500, 0.2500, 0.2500,  ..., 0.2500, 0.2500, 0.2500]],

        ...,

        [[0.2500, 0.2500, 0.2500,  ..., 0.2500, 0.2500, 0.2500]],

        [[0.2500, 0.2500, 0.2500,  ..., 0.2500, 0.2500, 0.2500]],

        [[0.2500, 0.2500, 0.2500,  ..., 0.2500, 0.2500, 0.2500]]]))");
}

TEST_CASE("the layout does not show") {
  CHECK(to_string(transpose(reshape(arange(6), {2, 3}))) ==
        R"(tensor([[0, 3],
        [1, 4],
        [2, 5]], dtype=torch.int32))");
}

TEST_CASE("1000 elements are shown in full") {
  CHECK(to_string(zeros({10, 100})).find("...") == std::string::npos);
  CHECK(to_string(zeros({7, 143})).find("...") != std::string::npos);
}

TEST_CASE("an undefined tensor can be printed") { CHECK(to_string(Tensor()) == "tensor(undefined)"); }
