#include "tensor/copy.h"

#include <doctest/doctest.h>

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
