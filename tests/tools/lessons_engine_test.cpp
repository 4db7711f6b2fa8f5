// The numbers of the lessons that come before attention, and of the first one on it.

#include "tests/tools/lesson_testing.h"

namespace minigpt::test {
namespace {

TEST_CASE("S1, S2: lesson simple-attention") {
  check_lesson_shows("simple-attention", {"[0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]",
                                          "[0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]",
                                          "[0.4419, 0.6515, 0.5683]", "sum of the weights = 1.0000"});
}

}  // namespace
}  // namespace minigpt::test
