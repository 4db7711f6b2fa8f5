#include "tensor/tensor.h"

#include <doctest/doctest.h>

#include <limits>
#include <utility>

#include "tests/tensor/layouts.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr std::int64_t kOne = 1;

}  // namespace

TEST_CASE("a tensor is made of values and a shape") {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.strides() == Strides{3, 1});
  CHECK(x.rank() == 2);
  CHECK(x.dim(0) == 2);
  CHECK(x.dim(-1) == 3);
  CHECK(x.numel() == 6);
  CHECK(x.dtype() == DType::f32);
  CHECK(x.is_contiguous());
  CHECK(x.at({1, 0}) == 4);
  CHECK(x.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("the common ways to make one") {
  CHECK(zeros({2}).to_vector<float>() == std::vector<float>{0, 0});
  CHECK(ones({2}, DType::f64).to_vector<double>() == std::vector<double>{1, 1});
  CHECK(full({2}, 2.5).to_vector<float>() == std::vector<float>{2.5, 2.5});
  CHECK(full({2}, 7, DType::i32).to_vector<std::int32_t>() == std::vector<std::int32_t>{7, 7});
  CHECK(full({2}, 1, DType::boolean).to_vector<bool>() == std::vector<bool>{true, true});
  CHECK(arange(4).to_vector<std::int32_t>() == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(arange(3, DType::f64).to_vector<double>() == std::vector<double>{0, 1, 2});
  CHECK(eye(2).to_vector<float>() == std::vector<float>{1, 0, 0, 1});
  CHECK(zeros_like(arange(3)).to_vector<std::int32_t>() == std::vector<std::int32_t>{0, 0, 0});
  CHECK(ones_like(zeros({1, 2}, DType::f64)).shape() == Shape{1, 2});
  CHECK(Tensor::scalar(4.0).item() == 4);
  CHECK(Tensor::scalar(4.0).rank() == 0);
}

TEST_CASE("empty tensors are legal") {
  for (const Shape& shape :
       {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{0, kOne << 62}, Shape{kOne << 62, 4, 0}}) {
    const Tensor x = zeros(shape);
    CHECK(x.numel() == 0);
    CHECK(x.shape() == shape);
    CHECK(x.is_contiguous());
    CHECK(x.to_vector<float>().empty());
    CHECK(x.clone().shape() == shape);
    CHECK(x.to(DType::i32).dtype() == DType::i32);
  }
  CHECK(arange(0).shape() == Shape{0});
  CHECK(eye(0).shape() == Shape{0, 0});
}

TEST_CASE("shapes that no memory can hold are refused before anything is allocated") {
  const std::int64_t before = memory_stats().live_bytes;
  CHECK(error_of([] {
          zeros({kOne << 33, kOne << 31});
        }) == "[shape] too many elements: (8589934592, 2147483648)");
  CHECK(error_of([] { zeros({kOne << 62, 4}); }) == "[shape] too many elements: (4611686018427387904, 4)");
  CHECK(error_of([] { zeros({kOne << 57}, DType::f64); }) ==
        "[storage] cannot allocate 1152921504606846976 bytes");
  CHECK(error_of([] { zeros({-1}); }) == "[shape] extents must not be negative: (-1)");
  CHECK(memory_stats().live_bytes == before);
}

TEST_CASE("copying a tensor copies the window, clone copies the numbers") {
  Tensor x = zeros({2});
  Tensor window = x;
  const Tensor copy = x.clone();
  window.fill_(3);
  CHECK(x.at({0}) == 3);
  CHECK(copy.at({0}) == 0);
  CHECK(x.storage() == window.storage());
  CHECK_FALSE(x.storage() == copy.storage());
}

TEST_CASE("numbers are read the same through every layout") {
  const Tensor x = Tensor::from({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  for (const Tensor& window : layouts(x)) {
    CHECK(window.to_vector<double>() == std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK(window.contiguous().is_contiguous());
    CHECK(window.contiguous().to_vector<double>() == x.to_vector<double>());
    CHECK(window.clone().to_vector<double>() == x.to_vector<double>());
    CHECK(window.clone().offset() == 0);
    CHECK(window.to(DType::f32).to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(mismatches(window, {2, 3}, [&](const Dims& i) { return x.at(i); }) == 0);
  }
  CHECK(x.contiguous().storage() == x.storage());  // nothing to do, nothing copied
  CHECK(x.to(DType::f64).storage() == x.storage());
}

TEST_CASE("is_contiguous does not mind the stride of a single element") {
  const Tensor x = zeros({3, 4});
  CHECK(slice(x, 0, 1, 2).is_contiguous());
  CHECK_FALSE(slice(x, 1, 1, 2).is_contiguous());
  CHECK(slice(slice(x, 1, 1, 2), 0, 0, 1).is_contiguous());
  CHECK_FALSE(transpose(x).is_contiguous());
  CHECK(transpose(zeros({1, 4})).is_contiguous());
}

TEST_CASE("a number that is no int32 is refused: C++ leaves open what it would become") {
  const Tensor edges = Tensor::from({-2147483648.9, 2147483647.9}, {2});
  CHECK(edges.to(DType::i32).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{-2147483647 - 1, 2147483647});
  using L = std::numeric_limits<double>;
  for (const double x : {-2147483649.0, 2147483648.0, 1e300, L::infinity(), -L::infinity(), L::quiet_NaN()}) {
    CAPTURE(x);
    const std::string ending = fmt::format(" {} does not fit int32", x);
    CHECK(error_of([&] { full({3}, x, DType::f64).to(DType::i32); }) == "[to]" + ending);
    CHECK(error_of([&] { transpose(full({3, 2}, x, DType::f64)).to(DType::i32); }) == "[to]" + ending);
    CHECK(error_of([&] { full({3}, x, DType::i32); }) == "[fill_]" + ending);
  }
  CHECK(error_of([] { full({1}, 1e20f).to(DType::bf16).to(DType::i32); }).find("does not fit int32") !=
        std::string::npos);
}

TEST_CASE("types are converted on request only") {
  const Tensor x = Tensor::from({-1.7f, 0.f, 2.9f, 1e9f}, {4});
  CHECK(x.to(DType::i32).to_vector<std::int32_t>() == std::vector<std::int32_t>{-1, 0, 2, 1000000000});
  CHECK(x.to(DType::boolean).to_vector<bool>() == std::vector<bool>{true, false, true, true});
  CHECK(full({1}, 0.5).to(DType::boolean).item() == 1);
  CHECK(full({1}, std::numeric_limits<double>::quiet_NaN()).to(DType::boolean).item() == 1);
  CHECK(Tensor::from({true, false}, {2}).to(DType::f64).to_vector<double>() == std::vector<double>{1, 0});
  CHECK(error_of([&] { x.data<double>(); }) == "[data] the tensor holds float32, not float64");
  CHECK(error_of([&] { x.to_vector<std::int32_t>(); }) == "[data] the tensor holds float32, not int32");
}

TEST_CASE("fill_ and copy_ write through every layout, and nowhere else") {
  Tensor matrix = zeros({3, 4});
  Tensor column = select(matrix, 1, 2);
  column.fill_(5);
  CHECK(matrix.to_vector<float>() == std::vector<float>{0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 5, 0});
  Tensor corner = slice(slice(matrix, 0, 1, 3), 1, 0, 2);
  corner.copy_(Tensor::from({7.0, 8.0}, {2}));  // broadcast, and converted from float64
  CHECK(matrix.to_vector<float>() == std::vector<float>{0, 0, 5, 0, 7, 8, 5, 0, 7, 8, 5, 0});
  CHECK(error_of([&] { corner.copy_(zeros({3})); }) == "[expand] (3) does not expand to (2, 2): 3 != 2");
}

TEST_CASE("copy_ reads an overlapping source before it writes") {
  Tensor x = arange(6);
  Tensor tail = slice(x, 0, 1, 6);
  tail.copy_(slice(x, 0, 0, 5));
  CHECK(x.to_vector<std::int32_t>() == std::vector<std::int32_t>{0, 0, 1, 2, 3, 4});
  Tensor square = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  square.copy_(transpose(square));
  CHECK(square.to_vector<float>() == std::vector<float>{1, 3, 2, 4});
}

TEST_CASE("writing to repeated elements is refused") {
  Tensor repeated = expand(zeros({3}), {2, 3});
  CHECK(error_of([&] { repeated.fill_(1); }) ==
        "[copy_] the tensor written to repeats its elements along axis 0 of (2, 3); clone() it first");
  CHECK(error_of([&] {
          repeated.copy_(zeros({2, 3}));
        }) == "[copy_] the tensor written to repeats its elements along axis 0 of (2, 3); clone() it first");
}

TEST_CASE("every write raises the version, seen by all windows on the storage") {
  Tensor x = zeros({4});
  const Tensor window = slice(x, 0, 1, 3);
  std::uint64_t last = window.version();
  const auto raised = [&] { return window.version() > std::exchange(last, window.version()); };
  x.fill_(1);
  CHECK(raised());
  x.copy_(ones({4}));
  CHECK(raised());
  *x.mutable_data<float>() = 2;
  CHECK(raised());
  Tensor(slice(x, 0, 0, 1)).fill_(3);
  CHECK(raised());
  x.data<float>();
  CHECK_FALSE(raised());
}

TEST_CASE("view_of stays inside the storage") {
  const Storage storage(6 * 4);
  CHECK(Tensor::view_of(storage, 0, {2, 3}, {3, 1}, DType::f32).numel() == 6);
  CHECK(Tensor::view_of(storage, 5, {6}, {-1}, DType::f32).numel() == 6);        // backwards
  CHECK(Tensor::view_of(storage, 0, {5, 2}, {1, 1}, DType::f32).numel() == 10);  // overlapping windows
  const auto error = [&](std::int64_t offset, const Shape& shape, const Strides& strides,
                         DType type = DType::f32) {
    return error_of([&] { Tensor::view_of(storage, offset, shape, strides, type); });
  };
  CHECK(error(0, {7}, {1}) ==
        "[view] shape (7) with strides (1) from element 0 on lies outside the storage of 24 bytes");
  CHECK(error(1, {2, 3}, {3, 1}).find("lies outside") != std::string::npos);
  CHECK(error(-1, {2}, {1}).find("lies outside") != std::string::npos);
  CHECK(error(1, {3}, {-1}).find("lies outside") != std::string::npos);
  CHECK(error(0, {4}, {1}, DType::f64).find("lies outside") != std::string::npos);
  CHECK(error(0, {3}, {kOne << 62}).find("lies outside") != std::string::npos);  // 2 * 2^62 overflows
  CHECK(error(kOne << 62, {2}, {kOne << 62}).find("lies outside") != std::string::npos);
  CHECK(error(0, {2, 3}, {1}) == "[view] shape (2, 3) and strides (1) differ in length");
}

TEST_CASE("errors name the operation, the rule and both values") {
  const Tensor x = zeros({2, 3});
  CHECK(error_of([] { Tensor::from({1.f, 2.f}, {3}); }) == "[tensor] shape (3) needs 3 values, got 2");
  CHECK(error_of([&] { x.item(); }) == "[item] needs exactly one element, shape is (2, 3)");
  CHECK(error_of([&] { x.at({0}); }) == "[at] index (0) does not fit shape (2, 3)");
  CHECK(error_of([&] { x.at({0, 3}); }) == "[at] index (0, 3) is outside shape (2, 3)");
  CHECK(error_of([&] { x.at({-1, 0}); }) == "[at] index (-1, 0) is outside shape (2, 3)");
  CHECK(error_of([&] { x.dim(2); }) == "[dim] axis 2 is out of range for 2 dimensions");
  CHECK(error_of([] { arange(-1); }) == "[shape] extents must not be negative: (-1)");
}

TEST_CASE("an undefined tensor is refused, never read") {
  Tensor nothing;
  CHECK_FALSE(nothing.defined());
  CHECK(error_of([&] { nothing.data<float>(); }) == "[data] the tensor is undefined");
  CHECK(error_of([&] { nothing.item(); }) == "[item] needs exactly one element, shape is ()");
  CHECK(error_of([&] { nothing.at({}); }) == "[data] the tensor is undefined");
  CHECK(error_of([&] { nothing.clone(); }) == "[copy] the tensor is undefined");
  CHECK(error_of([&] { nothing.to(DType::f64); }) == "[copy] the tensor is undefined");
  CHECK(error_of([&] { reshape(nothing, {1}); }) == "[view] the tensor is undefined");
  CHECK(error_of([&] { zeros({1}).copy_(nothing); }) == "[view] the tensor is undefined");
}
