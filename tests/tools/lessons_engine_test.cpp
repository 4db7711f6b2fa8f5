// The numbers of the lessons that come before attention, and of the first two on it.

#include "tests/tools/lesson_testing.h"

namespace minigpt::test {
namespace {

TEST_CASE("lesson scalar-autograd: micrograd's README, by the library's own variables") {
  check_lesson_shows("scalar-autograd",
                     {"g = 24.7041", "dg/da = 138.8338", "dg/db = 645.5773", "L = 16.0000", "dy/dx = 7.0000",
                      "dL/da = -24.0000 dL/db = 16.0000 dL/dc = 8.0000"});
}

TEST_CASE("lesson tensors: a write through one view is seen through another; broadcast gradients add up") {
  check_lesson_shows("tensors",
                     {"[-1., -1., -1.], [-1., -1., -1.]]", "shape (3, 4) strides (0, 1) offset 4",
                      "[add] shapes do not broadcast: (3, 4) and (3)", "[[11., 12., 13., 14.],", "[5., 5.]"});
  CHECK(lesson_page("tensors").find("the first shares y's memory") != std::string::npos);
  CHECK(lesson_page("tensors").find("the second is a copy") != std::string::npos);
}

TEST_CASE("lesson gradcheck: attention passes, the deliberate mistake is found") {
  check_lesson_shows("gradcheck",
                     {"gradcheck passed for 72 elements", "gradcheck failed: input 0", "= 0.5000"});
}

TEST_CASE("lesson matmul: every rung gives the same product, and threads the same bits") {
  // A rung that is off by more than rounding throws; speeds are not tested.
  const std::string page = lesson_page("matmul");
  for (const char* rung : {"naive", "loops reordered", "blocked", "library, scalar", "library, avx2",
                           "library, avx512", "library, neon", "of peak"})
    CHECK_MESSAGE(page.find(rung) != std::string::npos, rung);
  CHECK(page.find("between 1 and 3 threads = 0.0000") != std::string::npos);
  CHECK(lesson_page("matmul", true).find("占峰值") != std::string::npos);
}

TEST_CASE("lesson layer-norm: the formula's gradient is the library's") {
  check_lesson_shows(
      "layer-norm",
      {"[-1.0690, -0.5345, 0.0000, 1.6036]",
       "(2, 4) [[0.6109, 0.0382, -1.0690, 0.4200], [-0.0086, 0.0258, -0.0200, 0.0029]]", "gradcheck passed"});
}

TEST_CASE("lesson cross-entropy: the gradient is p - y") {
  check_lesson_shows("cross-entropy", {"[[0.6439, 0.2369, 0.0871, 0.0321],", "-ln p(b) = 1.4402",
                                       "[[0.3220, -0.3816, 0.0436, 0.0160],", "= 4.1744", "= 1.3133"});
}

TEST_CASE("lesson adamw: five steps by hand are the library's") {
  check_lesson_shows("adamw", {"0.8900 0.8900", "0.4700 0.4700", "[0.8500, 0.8500]", "[0.9000, 0.9000]"});
}

TEST_CASE("S27: lesson soft-dictionary: hard look-up is the limit of low temperature") {
  check_lesson_shows("soft-dictionary",
                     {"[0.5421, 0.3782, 0.0492, 0.0304]", "[1.0000, 0.0000, 0.0000, 0.0000]",
                      "T = 0.001 = 0.0000", "[2.0000, 2.0000, 3.0585]"});
  // A query of the reader's choice.
  CHECK(lesson_page("soft-dictionary", false, 3) != lesson_page("soft-dictionary", false, 4));
}

TEST_CASE("S1, S2: lesson simple-attention") {
  check_lesson_shows("simple-attention", {"[0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]",
                                          "[0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]",
                                          "[0.4419, 0.6515, 0.5683]", "= 1.0000"});
}

}  // namespace
}  // namespace minigpt::test
